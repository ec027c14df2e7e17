//! Features as text: one node a line, its features separated as in an edge list.
//!
//! A column that the header calls `id` or the like, an unnamed first column below a header, or a
//! first column that is not a number names the node of each line. Otherwise lines are in the order
//! of the nodes.

use super::error::{Problem, ReadError};
use super::fields::{Separator, for_each, split};
use super::lines::{Block, LineBlocks, LineProblem, at_line, for_each_block};
use super::node_values::names_ids;
use super::source::Source;
use super::text::layout::is_comment;
use super::text::parse::check_text;
use crate::graph::features::DenseFeatures;
use crate::graph::{NodeIds, StringTable};
use crate::progress::Silent;

/// Features as the text gives them.
pub(crate) struct TextFeatures {
    /// The node of each line; without it, lines are in the order of the nodes.
    pub(crate) ids: Option<NodeIds>,
    pub(crate) features: DenseFeatures,
    /// Whether nothing says that the first column is not the nodes.
    pub(crate) is_bare: bool,
}

/// What a line looks like.
struct TableLayout {
    separator: Separator,
    num_fields: usize,
    id: Option<usize>,
    header_line: Option<u64>,
    first_line: u64,
}

/// The lines of a block.
struct Rows {
    ids: Vec<String>,
    values: Vec<f32>,
}

/// Reads features; their values may take up to `limit` bytes.
pub(crate) fn read(
    source: Source,
    separator: Option<Separator>,
    limit: u64,
) -> Result<TextFeatures, ReadError> {
    let name = source.name().to_owned();
    let in_file = |problem: Problem| problem.in_file(&name);
    let mut blocks = LineBlocks::new(source)?;
    let empty = || in_file(Problem::Inconsistent("found no features".into()));
    let start = blocks.first_data(is_comment)?.ok_or_else(empty)?;
    let layout = TableLayout::of(&start, separator)
        .map_err(|(line, problem)| at_line(&name, start.first_line + line, problem))?;
    blocks.put_back(start);
    let (mut ids, mut values) = (StringTable::new(), Vec::new());
    for_each_block(
        blocks,
        &Silent,
        |block| layout.parse(block),
        |rows, _| {
            rows.ids.iter().for_each(|id| ids.push(id));
            values.extend(rows.values);
            Ok(())
        },
    )?;
    let bytes = 4 * values.len() as u64;
    if bytes > limit {
        return Err(in_file(Problem::TooLarge { bytes, limit }));
    }
    let width = layout.num_fields - usize::from(layout.id.is_some());
    let features = DenseFeatures::new(values.len() / width.max(1), width, values.into());
    Ok(TextFeatures {
        ids: layout.id.map(|_| NodeIds::Strings(ids)),
        features: features.map_err(|error| in_file(error.into()))?,
        is_bare: layout.id.is_none() && layout.header_line.is_none(),
    })
}

impl TableLayout {
    fn of(start: &Block, separator: Option<Separator>) -> Result<Self, LineProblem> {
        let mut lines = start.lines().filter(|(_, line)| !is_comment(line));
        let (number, line) = lines.next().expect("a block of data has a line of data");
        let separator = separator.unwrap_or_else(|| Separator::guess(line));
        let at_first = |problem| (number, problem);
        let first = split(line, separator).map_err(at_first)?;
        let second = lines.next().and_then(|(_, line)| split(line, separator).ok());
        let starts_with_name = |fields: &[String]| fields.first().is_some_and(|field| !is_number(field));
        // Names above the features, or, if there is one column alone, a name above numbers.
        let has_header = match &first[..] {
            [only] => !is_number(only) && second.as_deref().is_some_and(|below| !starts_with_name(below)),
            [_, features @ ..] => features.iter().any(|field| !is_number(field)),
            [] => false,
        };
        let id = match has_header {
            true => first.iter().position(|name| names_ids(name)).or_else(|| {
                let unnamed = first[0].is_empty() || second.as_deref().is_some_and(starts_with_name);
                unnamed.then_some(0)
            }),
            false => starts_with_name(&first).then_some(0),
        };
        if first.len() == usize::from(id.is_some()) {
            return Err(at_first(Problem::Inconsistent("found a node without features".into())));
        }
        let number = start.first_line + number;
        let header_line = has_header.then_some(number);
        Ok(Self { separator, num_fields: first.len(), id, header_line, first_line: number })
    }

    fn passes_over(&self, line: &[u8], number: u64) -> bool {
        match line.trim_ascii_start() {
            [] => true,
            [b'#', ..] if self.header_line.is_none() => true,
            _ => number < self.first_line || self.header_line == Some(number),
        }
    }

    fn parse(&self, block: &Block) -> Result<Rows, LineProblem> {
        let mut rows = Rows { ids: Vec::new(), values: Vec::new() };
        for (number, line) in block.lines() {
            if !self.passes_over(line, block.first_line + number) {
                self.parse_line(line, &mut rows).map_err(|problem| (number, problem))?;
            }
        }
        Ok(rows)
    }

    fn parse_line(&self, line: &[u8], rows: &mut Rows) -> Result<(), Problem> {
        check_text(line)?;
        let mut column = 0;
        let mut bad = None;
        let found = for_each(line, self.separator, |field| {
            match (Some(column) == self.id, number(&field)) {
                (true, _) => match std::str::from_utf8(&field) {
                    Ok("") => bad = bad.take().or(Some(Problem::EmptyId)),
                    Ok(id) => rows.ids.push(id.to_owned()),
                    Err(_) => bad = bad.take().or(Some(Problem::NotUtf8)),
                },
                (false, Some(value)) => rows.values.push(value),
                (false, None) => {
                    let text = String::from_utf8_lossy(&field).into_owned();
                    bad = bad.take().or(Some(Problem::FeatureNotNumber(text)));
                }
            }
            column += 1;
        })?;
        match bad {
            _ if found != self.num_fields => {
                Err(Problem::Fields { needed: self.num_fields.to_string(), found })
            }
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }
}

/// A finite number.
fn number(field: &[u8]) -> Option<f32> {
    fast_float2::parse::<f32, _>(field).ok().filter(|value| value.is_finite())
}

/// Whether a field is a number, finite or not.
fn is_number(field: &str) -> bool {
    fast_float2::parse::<f64, _>(field).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids, if there are any, all values, and whether the file is bare of names.
    type Found = (Option<Vec<String>>, Vec<f32>, bool);

    fn read_text(text: &str) -> Result<Found, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, text).unwrap();
        let found = read(Source::open(&path).unwrap(), None, 1 << 20)
            .map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))?;
        let ids = found.ids.map(|ids| {
            (0..ids.len()).map(|row| ids.get(crate::graph::NodeId::new(row)).to_string()).collect()
        });
        Ok((ids, found.features.values().to_vec(), found.is_bare))
    }

    #[test]
    fn nodes_are_named_by_a_header_or_by_not_being_numbers() {
        let ids = Some(vec!["7".to_owned(), "3".to_owned()]);
        let values = vec![0.5, 1.0, 2.0, -3.0];
        for text in [
            "id,a,b\n7,0.5,1\n3,2,-3\n",
            "a,node_id,b\n0.5,7,1\n2,3,-3\n",
            ",a,b\n7,0.5,1\n3,2,-3\n",
            "Node\ta\tb\r\n7\t0.5\t1\r\n3\t2\t-3",
        ] {
            assert_eq!(read_text(text).unwrap(), (ids.clone(), values.clone(), false), "{text}");
        }
        let names = Some(vec!["ann".to_owned(), "bob".to_owned()]);
        for text in ["ann 0.5 1\nbob 2 -3\n", "who a b\nann 0.5 1\nbob 2 -3\n"] {
            assert_eq!(read_text(text).unwrap(), (names.clone(), values.clone(), false), "{text}");
        }
    }

    #[test]
    fn other_lines_are_in_order() {
        let values = vec![0.5, 1.0, 2.0, -3.0];
        assert_eq!(read_text("# c\n0.5;1\n2;-3\n").unwrap(), (None, values.clone(), true));
        assert_eq!(read_text("a;b\n0.5;1\n2;-3\n").unwrap(), (None, values, false));
        assert_eq!(read_text("x\n1\n2\n").unwrap(), (None, vec![1.0, 2.0], false));
    }

    #[test]
    fn bad_values_are_named_with_their_line() {
        assert_eq!(read_text("1,2\n3\n").unwrap_err(), "x.csv:2: expected 2 fields, found 1");
        assert_eq!(read_text("1,2\n3,nan\n").unwrap_err(), "x.csv:2: feature `nan` is not a finite number");
        assert_eq!(read_text("a,b\n1,2\n,4\n").unwrap_err(), "x.csv:3: feature `` is not a finite number");
        assert_eq!(read_text("# x\n").unwrap_err(), "x.csv: found no features");
    }
}
