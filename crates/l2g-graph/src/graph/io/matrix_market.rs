//! Matrix Market coordinate files: a banner, a size line, then `row column [value]`,
//! counted from 1.
//!
//! A symmetric matrix lists one triangle only. Where edges stay as they are directed, each of its entries
//! stands for both directions.

use super::error::{Problem, ReadError};
use super::fields::{Separator, split};
use super::lines::{Block, LineBlocks, at_line, for_each_block};
use super::raw::Piece;
use super::source::Source;
use super::text::layout::{Layout, is_comment};
use super::text::parse::parse_block;
use super::{About, Reading};

/// What stands before the entries.
struct Preamble {
    num_nodes: u64,
    num_entries: u64,
    banner: Banner,
}

/// What the first line says about the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Banner {
    has_values: bool,
    is_symmetric: bool,
}

/// Reads a square sparse matrix as a graph.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let name = source.name().to_owned();
    let mut blocks = LineBlocks::new(source)?;
    let preamble = read_preamble(&mut blocks)?;
    let Banner { has_values, is_symmetric } = preamble.banner;
    let goes_both_ways = is_symmetric && options.keep_directions;
    let layout = Layout {
        separator: Separator::Whitespace,
        num_fields: if has_values { 3 } else { 2 },
        source: 0,
        target: 1,
        weight: has_values.then_some(2),
        weights_from: has_values.then(|| "column 3".to_owned()),
        string_ids: false,
        guessed_integers: false,
        header_line: None,
        first_line: 0,
        matrix_size: Some(preamble.num_nodes),
    };
    let mut num_found = 0;
    let parse = |block: &_| parse_block(block, &layout);
    for_each_block(blocks, progress, parse, |mut parsed, share| {
        num_found += parsed.pairs.len() as u64;
        if goes_both_ways {
            parsed.pairs.put_both_ways(&mut parsed.weights);
        }
        let piece = Piece { pairs: parsed.pairs, weights: parsed.weights, share };
        builder.push_read(piece, progress).map_err(|problem| problem.in_file(&name))
    })?;
    if num_found != preamble.num_entries {
        let problem = format!("found {num_found} entries, but the size line says {}", preamble.num_entries);
        return Err(Problem::Damaged(problem).in_file(&name));
    }
    let num_nodes = Some(preamble.num_nodes as usize);
    Ok(About { num_nodes, ..About::weights_from(layout.weights_from) })
}

/// Reads the banner, comments and the size line; the entries come next.
fn read_preamble(blocks: &mut LineBlocks) -> Result<Preamble, ReadError> {
    let name = blocks.name().to_owned();
    let missing = |what: &str| Problem::Damaged(format!("found no {what}")).in_file(&name);
    let mut banner = None;
    while let Some(block) = blocks.next_block()? {
        let mut start = 0;
        for (number, line) in (block.first_line..).zip(block.bytes.split_inclusive(|&byte| byte == b'\n')) {
            start += line.len();
            match banner {
                None => {
                    let text = String::from_utf8_lossy(line).to_lowercase();
                    let found = parse_banner(&text).map_err(|problem| at_line(&name, number, problem))?;
                    banner = Some(found);
                }
                Some(_) if is_comment(line) => {}
                Some(banner) => {
                    let sizes = parse_sizes(line).map_err(|problem| at_line(&name, number, problem))?;
                    let bytes = block.bytes[start..].to_vec();
                    blocks.put_back(Block { first_line: number + 1, bytes });
                    return Ok(Preamble { num_nodes: sizes[0], num_entries: sizes[1], banner });
                }
            }
        }
    }
    Err(missing(if banner.is_some() { "size line" } else { "banner" }))
}

/// The number of nodes and of entries.
fn parse_sizes(line: &[u8]) -> Result<[u64; 2], Problem> {
    let sizes = split(line, Separator::Whitespace)?;
    let sizes: Option<Vec<u64>> = sizes.iter().map(|size| size.parse().ok()).collect();
    match sizes.as_deref() {
        Some(&[rows, columns, num_entries]) if rows == columns => Ok([rows, num_entries]),
        Some(&[rows, columns, _]) => Err(Problem::NotSquare { rows, columns }),
        _ => Err(Problem::Damaged("expected the size line `rows columns entries`".into())),
    }
}

fn parse_banner(banner: &str) -> Result<Banner, Problem> {
    let words: Vec<&str> = banner.split_whitespace().collect();
    match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, symmetry] => {
            let has_values = match field {
                "pattern" => false,
                "real" | "integer" | "double" => true,
                _ => {
                    let problem = format!("values of type `{field}`; needed real, integer or pattern");
                    return Err(Problem::Damaged(problem));
                }
            };
            match symmetry {
                "general" => Ok(Banner { has_values, is_symmetric: false }),
                "symmetric" => Ok(Banner { has_values, is_symmetric: true }),
                "skew-symmetric" | "hermitian" => {
                    Err(Problem::Damaged(format!("a {symmetry} matrix is not a graph")))
                }
                _ => Err(Problem::Damaged(format!("found `{symmetry}`, needed general or symmetric"))),
            }
        }
        ["%%matrixmarket", ..] => {
            Err(Problem::Damaged("expected `%%MatrixMarket matrix coordinate FIELD SYMMETRY`".into()))
        }
        _ => Err(Problem::Damaged("expected a first line that begins with %%MatrixMarket".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str, block_bytes: usize) -> LineBlocks {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        LineBlocks::of_reader("a.mtx".into(), source, block_bytes)
    }

    fn error(sample: &str) -> String {
        read_preamble(&mut blocks(sample, 1 << 10)).err().unwrap().to_string()
    }

    #[test]
    fn the_preamble_is_understood_in_blocks_of_any_size() {
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 2\n1 2\n2 3\n";
        for block_bytes in 52..100 {
            let mut blocks = blocks(text, block_bytes);
            let found = read_preamble(&mut blocks).unwrap();
            let banner = Banner { has_values: false, is_symmetric: true };
            assert_eq!((found.num_nodes, found.num_entries, found.banner), (3, 2, banner));
            let mut rest = Vec::new();
            while let Some(block) = blocks.next_block().unwrap() {
                rest.extend(block.bytes);
            }
            assert_eq!(rest, b"1 2\n2 3\n", "{block_bytes}");
        }
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        assert!(error("1 2\n").contains("begins with %%MatrixMarket"));
        assert!(error("%%MatrixMarket matrix array real general\n2 2\n").contains("coordinate"));
        assert!(error("%%MatrixMarket matrix coordinate complex general\n2 2 1\n").contains("complex"));
        assert!(error("%%MatrixMarket matrix coordinate real lopsided\n2 2 1\n").contains("`lopsided`"));
        assert!(error("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n").contains("hermitian"));
        let rectangle = "%%MatrixMarket matrix coordinate real general\n2 3 1\n";
        assert!(error(rectangle).starts_with("a.mtx:2: adjacency matrix has 2 rows and 3 columns"));
    }
}
