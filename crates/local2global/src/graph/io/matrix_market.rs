//! Matrix Market coordinate files: a banner, a size line, then `row column [value]`,
//! counted from 1.

use std::path::Path;

use super::Input;
use super::error::{Place, Problem, ReadError};
use super::raw::RawEdgesBuilder;
use super::source::first_bytes;
use super::text::fields::{Separator, split};
use super::text::layout::{Layout, is_comment};
use super::text::{Start, for_each_block};
use crate::progress::Progress;

/// What stands before the entries.
struct Preamble {
    num_nodes: u64,
    num_entries: u64,
    has_values: bool,
    start: Start,
}

/// Reads a square sparse matrix as a graph.
pub(crate) fn read(path: &Path, progress: &dyn Progress) -> Result<Input, ReadError> {
    let sample = first_bytes(path, 1 << 16)?;
    let preamble =
        parse_preamble(&sample).map_err(|(line, problem)| problem.at(path, Place::Line(line as u64 + 1)))?;
    let layout = Layout {
        separator: Separator::Whitespace,
        num_fields: if preamble.has_values { 3 } else { 2 },
        source: 0,
        target: 1,
        weight: preamble.has_values.then_some(2),
        string_ids: false,
        guessed_integers: false,
        header_line: None,
        first_line: 0,
        matrix_size: Some(preamble.num_nodes),
    };
    let mut builder = RawEdgesBuilder::default();
    let mut num_found = 0;
    for_each_block(path, preamble.start, &layout, progress, |parsed| {
        num_found += parsed.pairs.len() as u64;
        builder.push(parsed.pairs, parsed.weights);
    })?;
    if num_found != preamble.num_entries {
        let problem = format!("found {num_found} entries, but the size line says {}", preamble.num_entries);
        return Err(Problem::Damaged(problem).in_file(path));
    }
    let edges = builder.finish();
    let num_nodes = Some(preamble.num_nodes as usize);
    Ok(Input { edges, num_nodes, ids: None, features: None, labels: None })
}

fn parse_preamble(sample: &[u8]) -> Result<Preamble, (usize, Problem)> {
    let mut lines = sample.split_inclusive(|&byte| byte == b'\n').enumerate();
    let banner =
        lines.next().map(|(_, line)| String::from_utf8_lossy(line).to_lowercase()).unwrap_or_default();
    let has_values = parse_banner(&banner).map_err(|problem| (0, problem))?;
    let (number, line) = lines
        .find(|(_, line)| !is_comment(line))
        .ok_or_else(|| (0, Problem::Damaged("found no size line".into())))?;
    let sizes = split(line, Separator::Whitespace).map_err(|problem| (number, problem))?;
    let sizes: Option<Vec<u64>> = sizes.iter().map(|size| size.parse().ok()).collect();
    let Some(&[rows, columns, num_entries]) = sizes.as_deref() else {
        return Err((number, Problem::Damaged("expected the size line `rows columns entries`".into())));
    };
    if rows != columns {
        return Err((number, Problem::NotSquare { rows, columns }));
    }
    let bytes = sample.split_inclusive(|&byte| byte == b'\n').take(number + 1).map(<[u8]>::len).sum();
    let start = Start { bytes, lines: number as u64 + 1 };
    Ok(Preamble { num_nodes: rows, num_entries, has_values, start })
}

/// Whether entries have values.
fn parse_banner(banner: &str) -> Result<bool, Problem> {
    let words: Vec<&str> = banner.split_whitespace().collect();
    match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, symmetry] => match (field, symmetry) {
            (_, "skew-symmetric" | "hermitian") => {
                Err(Problem::Damaged(format!("a {symmetry} matrix is not a graph")))
            }
            ("pattern", _) => Ok(false),
            ("real" | "integer" | "double", _) => Ok(true),
            _ => Err(Problem::Damaged(format!("values of type `{field}`; needed real, integer or pattern"))),
        },
        ["%%matrixmarket", ..] => {
            Err(Problem::Damaged("expected `%%MatrixMarket matrix coordinate FIELD SYMMETRY`".into()))
        }
        _ => Err(Problem::Damaged("expected a first line that begins with %%MatrixMarket".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(sample: &str) -> String {
        let (line, problem) = parse_preamble(sample.as_bytes()).err().unwrap();
        format!("{}: {problem}", line + 1)
    }

    #[test]
    fn the_preamble_is_understood() {
        let sample = b"%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 2\n1 2\n2 3\n";
        let found = parse_preamble(sample).unwrap();
        assert_eq!((found.num_nodes, found.num_entries, found.has_values), (3, 2, false));
        assert_eq!(&sample[found.start.bytes..], b"1 2\n2 3\n");
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        assert!(error("1 2\n").contains("begins with %%MatrixMarket"));
        assert!(error("%%MatrixMarket matrix array real general\n2 2\n").contains("coordinate"));
        assert!(error("%%MatrixMarket matrix coordinate complex general\n2 2 1\n").contains("complex"));
        let rectangle = "%%MatrixMarket matrix coordinate real general\n2 3 1\n";
        assert!(error(rectangle).starts_with("2: adjacency matrix has 2 rows and 3 columns"));
    }
}
