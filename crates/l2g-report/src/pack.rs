//! Columns of numbers as text in the page: few bits, packed, in base64.
//!
//! Points are quantised to `bits` bits a coordinate, bit after bit, lowest first; the script puts a point
//! anywhere in its cell, so that no grid is seen. Whole numbers have their bytes apart (all lowest bytes, then
//! all next ones), which packs well. Texts are their lengths and their bytes. Everything is packed by deflate,
//! which browsers unpack with `DecompressionStream`.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use local2global::layout::Point;

use crate::base64::base64;

/// Packed bytes as text.
pub(crate) fn packed(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    base64(&written.expect("memory takes all bytes"))
}

/// Points with so many bits a coordinate, x before y: the square that holds them all is cut evenly.
pub(crate) fn points(points: &[Point], square: &Square, bits: u32) -> Vec<u8> {
    let cells = (1_u32 << bits) as f32;
    let mut bytes = Vec::with_capacity(points.len() * bits as usize / 4 + 8);
    let (mut held, mut count) = (0_u64, 0);
    for &point in points {
        for along in square.within(point) {
            let cell = (along * cells).max(0.0) as u32;
            held |= u64::from(cell.min((1 << bits) - 1)) << count;
            count += bits;
            while count >= 8 {
                bytes.push(held as u8);
                held >>= 8;
                count -= 8;
            }
        }
    }
    bytes.push(held as u8);
    bytes
}

/// The smallest square that holds all points, and a little more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Square {
    pub(crate) corner: Point,
    pub(crate) size: f32,
}

impl Square {
    pub(crate) fn around(points: &[Point]) -> Self {
        let mut low = [f32::INFINITY; 2];
        let mut high = [f32::NEG_INFINITY; 2];
        for point in points {
            for axis in 0..2 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        if points.is_empty() {
            (low, high) = ([0.0; 2], [1.0; 2]);
        }
        let widest = (high[0] - low[0]).max(high[1] - low[1]);
        let size = if widest > 0.0 { widest * 1.0001 } else { 1.0 };
        let corner = [0, 1].map(|axis| (low[axis] + high[axis] - size) / 2.0);
        Self { corner, size }
    }

    /// A point within the square from 0 to 1.
    pub(crate) fn within(&self, point: Point) -> Point {
        [0, 1].map(|axis| (point[axis] - self.corner[axis]) / self.size)
    }
}

/// How many bytes the largest number takes, and the bytes of all numbers, the lowest first.
pub(crate) fn numbers(numbers: &[u32]) -> (usize, Vec<u8>) {
    let largest = numbers.iter().copied().max().unwrap_or(0);
    let width = (1..4).find(|width| largest < 1 << (8 * width)).unwrap_or(4);
    let bytes = (0..width).flat_map(|byte| numbers.iter().map(move |number| (number >> (8 * byte)) as u8));
    (width, bytes.collect())
}

/// Differences to the number before, in groups of seven bits; the lowest bit of each is its sign.
pub(crate) fn differences(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = 0_i64;
    for number in numbers {
        let difference = number as i64 - before;
        before = number as i64;
        push_varint(&mut bytes, (difference << 1 ^ difference >> 63) as u64);
    }
    bytes
}

/// The number of bytes of each text, then all bytes.
pub(crate) fn texts<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Vec<u8> {
    let mut bytes = Vec::new();
    texts.clone().for_each(|text| push_varint(&mut bytes, text.len() as u64));
    texts.for_each(|text| bytes.extend_from_slice(text.as_bytes()));
    bytes
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_take_their_bits() {
        let corners = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.25]];
        let square = Square { corner: [0.0; 2], size: 1.0 };
        assert_eq!(points(&corners, &square, 12), [0, 0, 0, 255, 255, 255, 0, 8, 64, 0]);
        assert_eq!(points(&corners[1..2], &square, 10).len(), 3);
    }

    #[test]
    fn squares_hold_all_points() {
        let square = Square::around(&[[1.0, 2.0], [5.0, 3.0]]);
        assert!(square.size > 4.0 && square.size < 4.001);
        assert_eq!(Square::around(&[[3.0, 4.0]]), Square { corner: [2.5, 3.5], size: 1.0 });
        assert_eq!(Square::around(&[]).size, 1.0001);
    }

    #[test]
    fn numbers_have_their_bytes_apart() {
        assert_eq!(numbers(&[1, 2]), (1, vec![1, 2]));
        assert_eq!(numbers(&[1, 258]), (2, vec![1, 2, 0, 1]));
        assert_eq!(numbers(&[]), (1, vec![]));
        assert_eq!(numbers(&[u32::MAX]), (4, vec![255; 4]));
    }

    #[test]
    fn differences_are_short_where_numbers_ascend() {
        assert_eq!(differences([5, 6, 6, 4].into_iter()), [10, 2, 0, 3]);
        assert_eq!(differences([300].into_iter()), [0xd8, 4]);
    }

    #[test]
    fn texts_are_lengths_and_bytes() {
        assert_eq!(texts(["ab", "", "雪"].into_iter()), [2, 0, 3, b'a', b'b', 0xe9, 0x9b, 0xaa]);
    }
}
