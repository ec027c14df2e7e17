//! Vectors to look for, from a file: a `.npy` array of one or two axes, or text with the numbers of
//! one vector a line, separated by spaces, tabs, commas or semicolons.

use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

use super::NearError;
use crate::graph::io::open_stream;
use crate::npy::{ArrayReader, NpyError};

/// The first bytes of every `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The vectors of a file or a pipe (`-` is standard input), packed or not.
///
/// # Errors
/// [`NearError::Vector`], naming the file, if it cannot be read or holds no vectors of numbers.
pub fn read(path: &Path) -> Result<Vec<Vec<f32>>, NearError> {
    let named = |problem: String| NearError::Vector { problem: format!("`{}`: {problem}", path.display()) };
    let source = open_stream(path).map_err(|error| NearError::Vector { problem: error.to_string() })?;
    let vectors = parse(source).map_err(named)?;
    match vectors.is_empty() {
        true => Err(named("there are no vectors".into())),
        false => Ok(vectors),
    }
}

fn parse(mut source: impl Read) -> Result<Vec<Vec<f32>>, String> {
    let mut start = Vec::new();
    source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start).map_err(|error| error.to_string())?;
    let is_array = start == MAGIC;
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(start).chain(source);
    match is_array {
        true => array(whole).map_err(|error| error.to_string()),
        false => text(BufReader::new(whole)),
    }
}

fn array(source: impl Read) -> Result<Vec<Vec<f32>>, NpyError> {
    let reader = ArrayReader::new(source)?;
    let shape = reader.header().shape.clone();
    let columns = match shape[..] {
        [columns] | [_, columns] if columns > 0 => columns,
        _ => return Err(NpyError::Shape { found: shape, needed: "one vector, or rows of vectors".into() }),
    };
    let values = reader.floats::<f32>()?;
    Ok(values.chunks_exact(columns).map(<[f32]>::to_vec).collect())
}

fn text(source: impl BufRead) -> Result<Vec<Vec<f32>>, String> {
    let mut vectors = Vec::new();
    for (line, content) in source.lines().enumerate() {
        let content = content.map_err(|error| error.to_string())?;
        let is_separator = |letter: char| letter.is_whitespace() || letter == ',' || letter == ';';
        let fields = content.split(is_separator).filter(|field| !field.is_empty());
        let number = |field: &str| match field.parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(format!("line {}: found `{field}`, needed a number", line + 1)),
        };
        let vector: Vec<f32> = fields.map(number).collect::<Result<_, _>>()?;
        if !vector.is_empty() {
            vectors.push(vector);
        }
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy;

    fn array_of(shape: &[usize], values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        npy::write(&mut bytes, shape, values).unwrap();
        bytes
    }

    #[test]
    fn vectors_come_as_arrays_and_as_text() {
        let both = vec![vec![0.5, -1.0], vec![2.0, 1e-9]];
        assert_eq!(parse(&b"0.5, -1\n\n2\t1e-9\n"[..]).unwrap(), both);
        assert_eq!(parse(&array_of(&[2, 2], &[0.5, -1.0, 2.0, 1e-9])[..]).unwrap(), both);
        assert_eq!(parse(&array_of(&[2], &[0.5, -1.0])[..]).unwrap(), both[..1]);
        assert!(parse(&b""[..]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_vector_is_named() {
        assert_eq!(parse(&b"1 2\n1 x\n"[..]).unwrap_err(), "line 2: found `x`, needed a number");
        assert_eq!(parse(&b"NaN\n"[..]).unwrap_err(), "line 1: found `NaN`, needed a number");
        let error = parse(&array_of(&[1, 1, 2], &[0.5, -1.0])[..]).unwrap_err();
        assert!(error.contains("needed one vector, or rows of vectors"), "{error}");
        let whole = array_of(&[2, 2], &[0.5, -1.0, 2.0, 1e-9]);
        assert!(parse(&whole[..whole.len() - 8]).is_err());
        let error = read(Path::new("nowhere.npy")).unwrap_err().to_string();
        assert!(error.contains("nowhere.npy"), "{error}");
    }
}
