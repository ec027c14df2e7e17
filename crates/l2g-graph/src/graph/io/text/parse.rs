//! A block of lines -> edges.
//!
//! Most lines of most files are two integers and a separator; those are read without
//! looking at them twice. Every other line, and every error, takes the slow way.

use rustc_hash::FxHashMap;

use super::super::error::Problem;
use super::super::fields::{self, Separator};
use super::super::lines::{Block, LineProblem};
use super::super::raw::RawPairs;
use super::layout::{Layout, has_leading_zeros};
use crate::graph::StringTable;

/// The edges of one block.
#[derive(Debug)]
pub(crate) struct ParsedBlock {
    pub(crate) pairs: RawPairs,
    /// One per edge if the layout has weights, else none.
    pub(crate) weights: Vec<f32>,
}

/// Reads all edges of a block.
///
/// # Errors
/// The first bad line of the block.
pub(crate) fn parse_block(block: &Block, layout: &Layout) -> Result<ParsedBlock, LineProblem> {
    match layout.string_ids {
        true => parse_names(block, layout),
        false => parse_integers(&block.bytes, block.first_line, layout),
    }
}

fn parse_integers(block: &[u8], first_line: u64, layout: &Layout) -> Result<ParsedBlock, LineProblem> {
    let mut pairs = Pairs { narrow: Vec::with_capacity(block.len() / 12), wide: Vec::new() };
    let mut weights = Vec::with_capacity(layout.weight.map_or(0, |_| block.len() / 16));
    let (mut rest, mut number) = (block, 0);
    while !rest.is_empty() {
        let (num_lines, num_bytes) = simple_lines(rest, layout, &mut pairs);
        number += num_lines;
        rest = &rest[num_bytes..];
        if rest.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if !layout.passes_over(line, first_line + number) {
            let (pair, weight) = integer_line(line, layout).map_err(|problem| (number, problem))?;
            pairs.push(pair);
            weights.extend(weight);
        }
        number += 1;
    }
    Ok(ParsedBlock { pairs: pairs.finish(), weights })
}

/// Pairs of integers, narrow as long as all of them are.
#[derive(Default)]
pub(crate) struct Pairs {
    narrow: Vec<[u32; 2]>,
    wide: Vec<[u64; 2]>,
}

impl Pairs {
    #[inline]
    pub(crate) fn push(&mut self, pair: [u64; 2]) {
        match (self.wide.is_empty(), u32::try_from(pair[0]), u32::try_from(pair[1])) {
            (true, Ok(source), Ok(target)) => self.narrow.push([source, target]),
            _ => {
                self.wide.extend(self.narrow.drain(..).map(|pair| pair.map(u64::from)));
                self.wide.push(pair);
            }
        }
    }

    pub(crate) fn finish(mut self) -> RawPairs {
        self.narrow.shrink_to_fit();
        if self.wide.is_empty() { RawPairs::Narrow(self.narrow) } else { RawPairs::Wide(self.wide) }
    }
}

/// Reads lines of two integers and nothing else, as long as there are such lines;
/// returns how many lines and bytes those were.
fn simple_lines(block: &[u8], layout: &Layout, pairs: &mut Pairs) -> (u64, usize) {
    if layout.num_fields != 2 || [layout.source, layout.target] != [0, 1] || layout.matrix_size.is_some() {
        return (0, 0);
    }
    let separators = match layout.separator {
        Separator::Whitespace => [b' ', b'\t'],
        Separator::Byte(byte) => [byte, byte],
    };
    let (mut rest, mut num_lines) = (block, 0);
    while let Some((pair, after)) = simple_line(rest, separators) {
        pairs.push(pair);
        rest = after;
        num_lines += 1;
    }
    (num_lines, block.len() - rest.len())
}

/// The two integers of a line, and what comes after its end.
#[inline]
fn simple_line(text: &[u8], separators: [u8; 2]) -> Option<([u64; 2], &[u8])> {
    let (first, rest) = leading_integer(text)?;
    let (separator, rest) = rest.split_first()?;
    if !separators.contains(separator) {
        return None;
    }
    let (second, rest) = leading_integer(rest)?;
    match rest {
        [b'\n', after @ ..] | [b'\r', b'\n', after @ ..] => Some(([first, second], after)),
        _ => None,
    }
}

/// The rows of a matrix entry, which counts from 1.
fn matrix_entry(pair: [u64; 2], size: u64) -> Result<[u64; 2], Problem> {
    match pair.into_iter().find(|id| !(1..=size).contains(id)) {
        None => Ok(pair.map(|id| id - 1)),
        Some(id) => Err(Problem::OutsideMatrix { id, num_nodes: size }),
    }
}

/// The integer at the front, of at most 18 digits so that it cannot overflow, without leading
/// zeros.
#[inline]
fn leading_integer(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut len = 0;
    while let Some(digit) = text.get(len).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        len += 1;
    }
    ((1..=18).contains(&len) && (len == 1 || text[0] != b'0')).then(|| (value, &text[len..]))
}

/// An edge between integers, with its weight if the layout has one.
fn integer_line(line: &[u8], layout: &Layout) -> Result<([u64; 2], Option<f32>), Problem> {
    let (ids, weight) = edge_fields(line, layout)?;
    if let Some(id) = ids.iter().find(|id| layout.guessed_integers && has_leading_zeros(id)) {
        return Err(Problem::NotInteger(String::from_utf8_lossy(id).into_owned()));
    }
    let source = parse_id(&ids[0])?;
    let target = parse_id(&ids[1])?;
    match layout.matrix_size {
        None => Ok(([source, target], weight)),
        Some(size) => Ok((matrix_entry([source, target], size)?, weight)),
    }
}

/// The fields that matter: the two ids, and the weight already read.
#[expect(clippy::type_complexity, reason = "borrowed where possible, told apart by position")]
fn edge_fields<'a>(
    line: &'a [u8],
    layout: &Layout,
) -> Result<([std::borrow::Cow<'a, [u8]>; 2], Option<f32>), Problem> {
    check_text(line)?;
    let mut ids = [std::borrow::Cow::Borrowed(&line[..0]), std::borrow::Cow::Borrowed(&line[..0])];
    let mut weight = None;
    let mut column = 0;
    let found = fields::for_each(line, layout.separator, |field| {
        if column == layout.source {
            ids[0] = field;
        } else if column == layout.target {
            ids[1] = field;
        } else if Some(column) == layout.weight {
            weight = Some(parse_weight(&field));
        }
        column += 1;
    })?;
    if found != layout.num_fields {
        return Err(Problem::Fields { needed: layout.num_fields.to_string(), found });
    }
    Ok((ids, weight.transpose()?))
}

/// Checks that a line has no zero bytes, and no `\r` but at its end.
pub(crate) fn check_text(line: &[u8]) -> Result<(), Problem> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match memchr::memchr2(0, b'\r', line) {
        None => Ok(()),
        Some(position) if line[position] == 0 => Err(Problem::NotText),
        Some(_) => Err(Problem::StrayReturn),
    }
}

/// Reads a node id that must be a non-negative integer.
pub(crate) fn parse_id(field: &[u8]) -> Result<u64, Problem> {
    let text = || String::from_utf8_lossy(field).into_owned();
    if field.is_empty() {
        return Err(Problem::EmptyId);
    }
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(name_of(field).err().unwrap_or_else(|| Problem::NotInteger(text())));
    }
    if negative {
        return Err(Problem::NegativeId(text()));
    }
    let value = digits
        .iter()
        .try_fold(0_u64, |value, &digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    value.ok_or_else(|| Problem::HugeId(text()))
}

/// Reads a weight, which must be finite and not negative.
pub(crate) fn parse_weight(field: &[u8]) -> Result<f32, Problem> {
    let weight: f32 = fast_float2::parse(field)
        .map_err(|_| Problem::NotNumber(String::from_utf8_lossy(field).into_owned()))?;
    check_weight(weight)
}

/// Checks that a weight is finite and not negative.
pub(crate) fn check_weight(weight: f32) -> Result<f32, Problem> {
    match weight {
        _ if !weight.is_finite() => Err(Problem::WeightNotFinite(weight)),
        _ if weight < 0.0 => Err(Problem::WeightNegative(weight)),
        _ => Ok(weight),
    }
}

/// Numbers names within the block, by first appearance.
fn parse_names(block: &Block, layout: &Layout) -> Result<ParsedBlock, LineProblem> {
    let mut numbers: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let mut names = StringTable::new();
    let mut pairs = Vec::new();
    let mut weights = Vec::new();
    let holds_data = |&(number, line): &(u64, &[u8])| !layout.passes_over(line, block.first_line + number);
    for (number, line) in block.lines().filter(holds_data) {
        let (ids, weight) = edge_fields(line, layout).map_err(|problem| (number, problem))?;
        let mut pair = [0; 2];
        for (slot, id) in pair.iter_mut().zip(&ids) {
            *slot = match numbers.get(id.as_ref()) {
                Some(&known) => known,
                None => {
                    let name = name_of(id).map_err(|problem| (number, problem))?;
                    let new = numbers.len() as u32;
                    names.push(name);
                    numbers.insert(id.to_vec(), new);
                    new
                }
            };
        }
        pairs.push(pair);
        weights.extend(weight);
    }
    Ok(ParsedBlock { pairs: RawPairs::Names(pairs, names), weights })
}

fn name_of(id: &[u8]) -> Result<&str, Problem> {
    match std::str::from_utf8(id) {
        Ok("") => Err(Problem::EmptyId),
        Ok(name) => Ok(name),
        Err(_) => Err(Problem::NotUtf8),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{LayoutOptions, detect};
    use super::*;

    fn parse(text: &str) -> Result<ParsedBlock, LineProblem> {
        let block = Block { first_line: 0, bytes: text.into() };
        let layout = detect(&block, &LayoutOptions::default()).unwrap();
        parse_block(&block, &layout)
    }

    fn problem(text: &str) -> String {
        let (line, problem) = parse(text).unwrap_err();
        format!("{}: {problem}", line + 1)
    }

    #[test]
    fn integers_are_read_with_comments_blank_lines_and_odd_spaces() {
        let parsed = parse("# c\n1 2\n\n 3   4 \r\n% x\n5\t6").unwrap();
        assert!(matches!(&parsed.pairs, RawPairs::Narrow(pairs) if pairs == &[[1, 2], [3, 4], [5, 6]]));
        assert!(parsed.weights.is_empty());
    }

    #[test]
    fn large_integers_widen_the_block() {
        let parsed = parse("1,2\n3,18446744073709551615\n4,5\n").unwrap();
        let RawPairs::Wide(pairs) = &parsed.pairs else { panic!("wide") };
        assert_eq!(pairs, &[[1, 2], [3, u64::MAX], [4, 5]]);
    }

    #[test]
    fn weights_are_read() {
        assert_eq!(parse("1 2 0.5\n2 3 1e3\n").unwrap().weights, [0.5, 1000.0]);
    }

    #[test]
    fn names_are_numbered_by_appearance() {
        let parsed = parse("ann,bob\neve,ann\n").unwrap();
        let RawPairs::Names(pairs, names) = &parsed.pairs else { panic!("names") };
        assert_eq!(pairs, &[[0, 1], [2, 0]]);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["ann", "bob", "eve"]);
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(problem("1 2\n3 4 5\n"), "2: expected 2 fields, found 3");
        assert_eq!(problem("1 2\n\n3\n"), "3: expected 2 fields, found 1");
        assert_eq!(problem("1 2\n3 -4\n"), "2: node id -4 is negative");
        assert_eq!(
            problem("1 99999999999999999999\n"),
            "1: node id 99999999999999999999 is too large; integers go up to 18446744073709551615"
        );
        assert_eq!(problem("1 2 0.5\n1 3 nan\n"), "2: weight NaN is not finite");
        assert_eq!(problem("1 2 0.5\n1 3 -1\n"), "2: weight -1 is negative");
        assert_eq!(problem("1 2 0.5\n1 3 abc\n"), "2: weight `abc` is not a number");
        assert_eq!(problem("1,2\n3,\n"), "2: expected a node id, found nothing");
        assert_eq!(problem("1 2\n3 \0\n"), "2: found a zero byte, so this is not text");
        assert_eq!(problem("1 2 3\n4 5\r6\n"), "2: found a carriage return inside a line");
    }

    #[test]
    fn matrix_entries_count_from_one() {
        assert_eq!(matrix_entry([1, 3], 3).unwrap(), [0, 2]);
        assert_eq!(matrix_entry([0, 1], 3).unwrap_err().to_string(), "node id 0 is outside 1..=3");
        assert!(matrix_entry([1, 4], 3).is_err());
    }

    #[test]
    fn a_word_among_integers_is_named() {
        let text = "1 2\n".repeat(1000) + "3 x\n";
        assert_eq!(problem(&text), "1001: node id `x` is not a plain integer, as the others are");
    }
}
