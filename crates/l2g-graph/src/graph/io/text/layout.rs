//! What the lines of an edge list look like: separator, header, columns, ids.
//!
//! Everything is found out from the first lines, unless the user says it. A header is
//! a first line whose words are known column names, or that has words where the lines
//! after it have integers. Lines that begin with `#` or `%` are comments before the first edge.
//! Below a header none are; without one, those that begin with `#`, and, where ids are integers,
//! with `%`.

use serde::{Deserialize, Serialize};

use super::super::columns::{ColumnOptions, Weights};
use super::super::error::Problem;
use super::super::fields::{Separator, split};
use super::super::lines::{Block, LineProblem};

/// Whether the first line names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderRow {
    /// Found out from the file.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// What names nodes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdKind {
    /// Found out from the file.
    #[default]
    Auto,
    /// Non-negative integers.
    Integer,
    /// Any text.
    String,
}

/// How to read a line of an edge list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) separator: Separator,
    /// The number of fields of every line.
    pub(crate) num_fields: usize,
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
    /// What messages call the column of weights.
    pub(crate) weights_from: Option<String>,
    /// Whether ids are text.
    pub(crate) string_ids: bool,
    /// Whether ids were taken for integers because all looked so. One with leading zeros, as in
    /// `007`, is then none: it would become another id.
    pub(crate) guessed_integers: bool,
    /// The line of the header, counted from 0, if there is one.
    pub(crate) header_line: Option<u64>,
    /// The first line that is no comment.
    pub(crate) first_line: u64,
    /// If the edges are entries of a matrix: its size. Ids then count from 1.
    pub(crate) matrix_size: Option<u64>,
}

/// The layout is found out from this many lines after the first.
const SAMPLE_LINES: usize = 999;

/// Whether a line holds no data.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [] | [b'#' | b'%', ..])
}

impl Layout {
    /// Whether a line holds no edge. After a header every line does: an id may begin with `#`.
    pub(crate) fn passes_over(&self, line: &[u8], number: u64) -> bool {
        match line.trim_ascii_start() {
            [] => true,
            [b'#', ..] if self.header_line.is_none() => true,
            [b'%', ..] if self.header_line.is_none() && !self.string_ids => true,
            _ => number < self.first_line || self.header_line == Some(number),
        }
    }
}

/// What the user says about the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayoutOptions {
    pub(crate) separator: Option<Separator>,
    pub(crate) columns: ColumnOptions,
    pub(crate) header: HeaderRow,
    pub(crate) ids: IdKind,
}

/// Finds the layout from the first lines of a file that are not only comments.
///
/// # Errors
/// The line of the block and what is wrong there.
pub(crate) fn detect(start: &Block, options: &LayoutOptions) -> Result<Layout, LineProblem> {
    let mut lines = start.lines().filter(|(_, line)| !line.trim_ascii().is_empty());
    let (first_number, first_line) =
        lines.find(|(_, line)| !is_comment(line)).ok_or((0, Problem::NoEdges))?;
    let at_first = |problem| (first_number, problem);
    let separator = options.separator.unwrap_or_else(|| Separator::guess(first_line));
    let first = split(first_line, separator).map_err(at_first)?;
    let (mut later, mut all_later): (Vec<Vec<String>>, _) = (Vec::new(), Vec::new());
    for (_, line) in lines.take(SAMPLE_LINES) {
        let Ok(fields) = split(line, separator) else { break };
        if !is_comment(line) {
            later.push(fields.clone());
        }
        all_later.push(fields);
    }

    let columns = &options.columns;
    let is_named = columns.are_named(&first);
    let header = match columns.positions(first.len()) {
        _ if is_named => options.header != HeaderRow::No,
        Ok(ends) => is_header(&first, &later, ends, options).map_err(at_first)?,
        Err(_) if options.header == HeaderRow::Yes => true,
        Err(problem) => {
            // A name that is not in the first line is told together with what is there.
            let told = columns.columns.as_ref().and_then(|_| columns.ends(&first).err());
            return Err(at_first(told.unwrap_or(problem)));
        }
    };
    let names = header.then_some(&first[..]);
    let by_name = names.filter(|_| is_named || columns.columns.is_some());
    let ends = by_name.map_or_else(|| columns.positions(first.len()), |names| columns.ends(names));
    let [source, target] = ends.map_err(at_first)?;
    let weight_names = if columns.weights == Weights::Auto { by_name } else { names };
    let weight = columns.weight(weight_names, first.len()).map_err(at_first)?;
    let weights_from = weight.map(|column| match header {
        true => format!("column `{}`", first[column]),
        false => format!("column {}", column + 1),
    });
    let later = if header { all_later } else { later };
    let data = later.iter().chain((!header).then_some(&first));
    let ids_are_integers = data
        .flat_map(|fields| [fields.get(source), fields.get(target)])
        .all(|id| id.is_none_or(|id| looks_like_integer(id) && !has_leading_zeros(id.as_bytes())));
    let string_ids = match options.ids {
        IdKind::Auto => !ids_are_integers,
        IdKind::Integer => false,
        IdKind::String => true,
    };
    let first_number = start.first_line + first_number;
    let header_line = header.then_some(first_number);
    let num_fields = first.len();
    let guessed_integers = !string_ids && options.ids == IdKind::Auto;
    Ok(Layout {
        separator,
        num_fields,
        source,
        target,
        weight,
        weights_from,
        string_ids,
        guessed_integers,
        header_line,
        first_line: first_number,
        matrix_size: None,
    })
}

/// Whether the first line is a header, though it does not name the columns as we know them.
fn is_header(
    first: &[String],
    later: &[Vec<String>],
    ends: [usize; 2],
    options: &LayoutOptions,
) -> Result<bool, Problem> {
    let is_word = |field: Option<&String>| field.is_some_and(|field| !looks_like_integer(field));
    let has_word = |fields: &[String]| ends.into_iter().any(|column| is_word(fields.get(column)));
    match options.header {
        HeaderRow::No => Ok(false),
        HeaderRow::Yes if !has_word(first) => Err(Problem::NoHeader(first.join(" "))),
        HeaderRow::Yes => Ok(true),
        // Words above integers: a header, unless ids are text and happen to be digits.
        HeaderRow::Auto => {
            let below_are_integers = !later.is_empty() && later.iter().all(|fields| !has_word(fields));
            let only_words = ends.into_iter().all(|column| is_word(first.get(column)));
            Ok(options.ids != IdKind::String && only_words && below_are_integers)
        }
    }
}

/// Whether an integer is written with zeros in front, as in `007`.
pub(crate) fn has_leading_zeros(digits: &[u8]) -> bool {
    matches!(digits, [b'0', _, ..])
}

fn looks_like_integer(field: &str) -> bool {
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, options: LayoutOptions) -> Result<Layout, LineProblem> {
        detect(&Block { first_line: 0, bytes: text.into() }, &options)
    }

    fn layout(text: &str) -> Layout {
        found(text, LayoutOptions::default()).unwrap()
    }

    #[test]
    fn separators_are_found() {
        assert_eq!(layout("1 2\n").separator, Separator::Whitespace);
        assert_eq!(layout("1\t2\n").separator, Separator::Byte(b'\t'));
        assert_eq!(layout("1,2,0.5\n").weight, Some(2));
        assert_eq!(layout("# a comment\n\n1;2\n").separator, Separator::Byte(b';'));
    }

    #[test]
    fn a_header_is_known_by_its_names() {
        let found = layout("weight,Source,target,year\n0.5,ann,bob,1999\n");
        assert_eq!((found.source, found.target, found.weight), (1, 2, Some(0)));
        assert_eq!(found.header_line, Some(0));
        assert!(found.string_ids);
    }

    #[test]
    fn a_header_is_known_by_words_above_integers() {
        let found = layout("% x\npaper cites\n1 2\n3 4\n");
        assert_eq!(found.header_line, Some(1));
        assert!(!found.string_ids);
        assert_eq!(layout("ann bob\nbob eve\n").header_line, None);
        assert_eq!(layout("1 2\n3 4\n").header_line, None);
    }

    #[test]
    fn columns_are_taken_as_told() {
        let options = |columns: &str| LayoutOptions {
            columns: ColumnOptions { columns: Some(columns.parse().unwrap()), ..Default::default() },
            ..Default::default()
        };
        let told = found("when,who,whom\n7,ann,bob\n", options("who,whom,when")).unwrap();
        assert_eq!((told.source, told.target, told.weight), (1, 2, Some(0)));
        assert_eq!((told.header_line, told.weights_from.as_deref()), (Some(0), Some("column `when`")));
        let told = found("0.5 x 1 2\n0.7 y 2 3\n", options("3,4,1")).unwrap();
        assert_eq!((told.source, told.target, told.weight), (2, 3, Some(0)));
        assert!(told.header_line.is_none() && !told.string_ids);
        let told = found("a b c d\n0.7 y 2 3\n", options("3,4")).unwrap();
        assert_eq!((told.header_line, told.weight), (Some(0), None));
        let (_, problem) = found("1 2 3 4\n", options("who,4")).unwrap_err();
        assert_eq!(problem.to_string(), "found no column `who` among 1, 2, 3, 4");
    }

    #[test]
    fn a_header_that_is_not_there_is_an_error() {
        let options = LayoutOptions { header: HeaderRow::Yes, ..Default::default() };
        let (line, problem) = found("1 2\n3 4\n", options).unwrap_err();
        assert_eq!(line, 0);
        assert_eq!(problem.to_string(), "expected a header, found numbers: `1 2`");
    }

    #[test]
    fn too_many_fields_without_a_header_are_an_error() {
        let (_, problem) = found("1 2 3 4 5\n", LayoutOptions::default()).unwrap_err();
        assert_eq!(problem.to_string(), "expected 2 or 3 fields, found 5");
    }

    #[test]
    fn after_a_header_no_line_is_a_comment() {
        let found = layout("src,dst\n1,2\n#tag,2\n");
        assert!(found.string_ids && !found.passes_over(b"#tag,2", 2));
        assert!(found.passes_over(b" ", 2) && found.passes_over(b"src,dst", 0));
        let found = layout("% by hand\n1 2\n# 3 edges more\n3 4\n");
        assert!(!found.string_ids && found.passes_over(b"# 3 edges more", 2));
        assert!(found.passes_over(b"% by hand", 0) && found.passes_over(b"% x y", 5));
        let named = layout("% by hand\na b\n%x a\n");
        assert!(named.passes_over(b"% by hand", 0) && !named.passes_over(b"%x a", 2));
    }

    #[test]
    fn ids_with_leading_zeros_are_names() {
        assert!(layout("1 2\n007 3\n").string_ids);
        assert!(!layout("0 10\n").string_ids && layout("0 10\n").guessed_integers);
        let options = LayoutOptions { ids: IdKind::Integer, ..Default::default() };
        let told = found("007 3\n", options).unwrap();
        assert!(!told.string_ids && !told.guessed_integers);
    }

    #[test]
    fn a_negative_integer_is_still_taken_for_an_integer() {
        assert!(!layout("1 -2\n").string_ids);
    }
}
