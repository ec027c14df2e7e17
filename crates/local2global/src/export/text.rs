//! Text separated by commas or tabs: a header `id, x0, x1, ...`, then a line per node; with a layout, `x` and `y`
//! come last.
//!
//! A name goes into quotes where it holds the separator, a quote or a line break, or
//! could be taken for a comment; quotes inside are doubled, as in RFC 4180. Files whose
//! name ends in `.gz` or `.zst` are packed.

use std::path::{Path, PathBuf};

use super::lines::{push_number, push_row, write_lines};
use super::{ExportError, Vectors};
use crate::progress::Progress;
use crate::write::push_name;

/// Writes vectors as text with the given separator.
///
/// # Errors
/// [`ExportError::File`] if writing fails.
pub fn write(
    vectors: &Vectors<'_>,
    separator: u8,
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, ExportError> {
    let mut header = "id".to_owned();
    for column in 0..vectors.dim {
        header.push(char::from(separator));
        header.push_str(&format!("x{column}"));
    }
    if vectors.places.is_some() {
        for name in ["x", "y"] {
            header.push(char::from(separator));
            header.push_str(name);
        }
    }
    header.push('\n');
    write_lines(path, &header, vectors.num_nodes(), progress, |line, node| {
        push_name(line, vectors.ids, node, separator);
        line.push(separator);
        push_row(line, vectors, node, separator);
        for value in vectors.places.map(|places| places[node.index()]).into_iter().flatten() {
            line.push(separator);
            push_number(line, value);
        }
    })?;
    Ok(vec![path.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeIds;
    use crate::progress::Silent;
    use crate::scratch::scratch;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["plain", "a,b", "a\tb", "say \"hi\"", "two\nlines", ""];
        let ids = NodeIds::Strings(names.into_iter().collect());
        let vectors = Vectors::new(&ids, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 1).unwrap();
        let written = |separator, name: &str| {
            let path = folder.path().join(name);
            write(&vectors, separator, &path, &Silent).unwrap();
            std::fs::read_to_string(path).unwrap()
        };
        let common = "\"say \"\"hi\"\"\"|3.0\n\"two\nlines\"|4.0\n\"\"|5.0\n";
        let csv = "id|x0\nplain|0.0\n\"a,b\"|1.0\na\tb|2.0\n".to_owned() + common;
        assert_eq!(written(b',', "a.csv"), csv.replace('|', ","));
        let tsv = "id|x0\nplain|0.0\na,b|1.0\n\"a\tb\"|2.0\n".to_owned() + common;
        assert_eq!(written(b'\t', "a.tsv"), tsv.replace('|', "\t"));
    }

    #[test]
    fn places_come_last() {
        let path = scratch("a.csv");
        let ids = NodeIds::Range(2);
        let vectors =
            Vectors::new(&ids, &[0.5, 1.0], 1).unwrap().with_places(Some(&[[1.0, 2.0], [-3.5, 4.0]]));
        write(&vectors, b',', &path, &Silent).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "id,x0,x,y\n0,0.5,1.0,2.0\n1,1.0,-3.5,4.0\n");
    }

    #[test]
    fn numbers_read_back_as_they_were() {
        let path = scratch("a.csv");
        let values = [f32::MIN_POSITIVE, -0.1, 16_777_217.0, f32::MAX, 1.0 / 3.0, -0.0];
        let ids = NodeIds::Integers(vec![7, u64::MAX].into());
        write(&Vectors::new(&ids, &values, 3).unwrap(), b',', &path, &Silent).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let read = text.lines().skip(1).flat_map(|line| line.split(',').skip(1));
        assert!(read.map(|number| number.parse::<f32>().unwrap().to_bits()).eq(values.map(f32::to_bits)));
        assert!(text.contains("\n18446744073709551615,"));
    }
}
