//! Which columns of a table are the ends of an edge and its weight, and what separates them.
//!
//! A user names a column as the header does, or by its number, counted from 1. What is not named is
//! found by the usual names, or without a header by position: source, target and, if there are
//! three columns, weight.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::fields::Separator;

const SOURCE_NAMES: [&str; 9] =
    ["src", "source", "from", "fromnodeid", "u", "node1", "id1", "head", "sourcenodeid"];
const TARGET_NAMES: [&str; 10] =
    ["dst", "target", "to", "tonodeid", "v", "node2", "id2", "tail", "targetnodeid", "dest"];
const WEIGHT_NAMES: [&str; 3] = ["weight", "w", "value"];

/// The columns of an edge: the setting `graph.columns`, as in `src,dst` or `2,3,weight`.
///
/// # Examples
/// ```
/// use l2g_graph::graph::io::EdgeColumns;
///
/// let columns: EdgeColumns = "from,to,3".parse().unwrap();
/// assert_eq!(columns.to_string(), "from,to,3");
/// assert!("from".parse::<EdgeColumns>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EdgeColumns {
    source: String,
    target: String,
    weight: Option<String>,
}

impl FromStr for EdgeColumns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        match names[..] {
            _ if names.contains(&"") => Err(format!("found `{text}`, needed SOURCE,TARGET[,WEIGHT]")),
            [source, target] => Ok(Self { source: source.into(), target: target.into(), weight: None }),
            [source, target, weight] => {
                Ok(Self { source: source.into(), target: target.into(), weight: Some(weight.into()) })
            }
            _ => Err(format!("found {} columns, needed SOURCE,TARGET[,WEIGHT]", names.len())),
        }
    }
}

impl TryFrom<String> for EdgeColumns {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for EdgeColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.source, self.target)?;
        self.weight.iter().try_for_each(|weight| write!(f, ",{weight}"))
    }
}

impl From<EdgeColumns> for String {
    fn from(columns: EdgeColumns) -> Self {
        columns.to_string()
    }
}

/// Where weights come from: the setting `graph.weights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SpelledWeights", into = "String")]
pub enum Weights {
    /// From the third of `graph.columns`; without those, from the column with a usual name, or the
    /// third of three columns without names.
    #[default]
    Auto,
    /// Edges have no weights, whatever the file says.
    None,
    /// From this column.
    Column(String),
}

/// A name, or a number as TOML has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum SpelledWeights {
    Name(String),
    Number(u32),
}

impl From<SpelledWeights> for Weights {
    fn from(spelled: SpelledWeights) -> Self {
        match spelled {
            SpelledWeights::Name(name) if name == "auto" => Self::Auto,
            SpelledWeights::Name(name) if name == "none" => Self::None,
            SpelledWeights::Name(name) => Self::Column(name),
            SpelledWeights::Number(number) => Self::Column(number.to_string()),
        }
    }
}

impl From<Weights> for String {
    fn from(weights: Weights) -> Self {
        match weights {
            Weights::Auto => "auto".into(),
            Weights::None => "none".into(),
            Weights::Column(name) => name,
        }
    }
}

/// What separates the fields of a text: the setting `graph.delimiter`, a character, or `tab`,
/// `space`, `comma`, `semicolon` or `pipe`.
///
/// A space stands for any run of blanks and tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delimiter(Separator);

impl Delimiter {
    pub(crate) fn separator(self) -> Separator {
        self.0
    }
}

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let separator = match text {
            "tab" | "\\t" => Separator::Byte(b'\t'),
            "space" | "whitespace" | " " => Separator::Whitespace,
            "comma" => Separator::Byte(b','),
            "semicolon" => Separator::Byte(b';'),
            "pipe" => Separator::Byte(b'|'),
            _ => match text.as_bytes() {
                &[byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\n\r".contains(&byte) => {
                    Separator::Byte(byte)
                }
                _ => {
                    return Err(format!("found `{text}`, needed one character such as `,`, or tab or space"));
                }
            },
        };
        Ok(Self(separator))
    }
}

impl TryFrom<String> for Delimiter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Delimiter> for String {
    fn from(delimiter: Delimiter) -> Self {
        match delimiter.0 {
            Separator::Whitespace => "space".into(),
            Separator::Byte(b'\t') => "tab".into(),
            Separator::Byte(byte) => char::from(byte).into(),
        }
    }
}

/// The columns of a table that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundColumns {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
}

/// What the user says about columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnOptions {
    pub(crate) columns: Option<EdgeColumns>,
    pub(crate) weights: Weights,
}

impl ColumnOptions {
    /// Whether a first line names the columns that are looked for.
    pub(crate) fn are_named(&self, first: &[String]) -> bool {
        match &self.columns {
            None => find_known(first, &SOURCE_NAMES).is_some() && find_known(first, &TARGET_NAMES).is_some(),
            Some(columns) => {
                let named = |name: &str| name.parse::<usize>().is_err();
                let told = [&columns.source, &columns.target];
                told.iter().any(|name| named(name))
                    && told.iter().all(|name| !named(name) || has(first, name))
            }
        }
    }

    /// The columns of the ends of an edge by their position, where no header names them.
    pub(crate) fn positions(&self, num_columns: usize) -> Result<[usize; 2], Problem> {
        match &self.columns {
            Some(columns) => Ok([
                position(&columns.source, None, num_columns)?,
                position(&columns.target, None, num_columns)?,
            ]),
            None if num_columns == 2 || num_columns == 3 => Ok([0, 1]),
            None => Err(Problem::Fields { needed: "2 or 3".into(), found: num_columns }),
        }
    }

    /// The columns of a table with these names.
    pub(crate) fn find(&self, names: &[String]) -> Result<FoundColumns, Problem> {
        let [source, target] = self.ends(names)?;
        let weight = self.weight(Some(names), names.len())?;
        Ok(FoundColumns { source, target, weight })
    }

    /// The columns of the ends of an edge by their names.
    pub(crate) fn ends(&self, names: &[String]) -> Result<[usize; 2], Problem> {
        if let Some(EdgeColumns { source, target, .. }) = &self.columns {
            return Ok([
                position(source, Some(names), names.len())?,
                position(target, Some(names), names.len())?,
            ]);
        }
        let known = |known: &[&str]| {
            let missing = || Problem::MissingColumn { name: known[0].to_owned(), found: names.join(", ") };
            find_known(names, known).ok_or_else(missing)
        };
        Ok([known(&SOURCE_NAMES)?, known(&TARGET_NAMES)?])
    }

    /// The column of weights, of a table with these names or without any.
    pub(crate) fn weight(
        &self,
        names: Option<&[String]>,
        num_columns: usize,
    ) -> Result<Option<usize>, Problem> {
        let told = self.columns.as_ref().and_then(|columns| columns.weight.as_ref());
        Ok(match (&self.weights, told) {
            (Weights::None, _) => None,
            (Weights::Column(name), _) => Some(position(name, names, num_columns)?),
            (Weights::Auto, Some(name)) => Some(position(name, names, num_columns)?),
            (Weights::Auto, None) if self.columns.is_some() => None,
            (Weights::Auto, None) => match names {
                Some(names) => find_known(names, &WEIGHT_NAMES),
                None => (num_columns == 3).then_some(2),
            },
        })
    }
}

/// The column with one of the known names.
fn find_known(names: &[String], known: &[&str]) -> Option<usize> {
    names.iter().position(|name| known.contains(&name.to_ascii_lowercase().as_str()))
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The column that a user names: as the header spells it, or else by its number.
fn position(name: &str, names: Option<&[String]>, num_columns: usize) -> Result<usize, Problem> {
    let names_or_none = names.unwrap_or_default();
    let exact = names_or_none.iter().position(|known| known == name);
    let named = exact.or_else(|| names_or_none.iter().position(|known| known.eq_ignore_ascii_case(name)));
    let numbered =
        || name.parse().ok().filter(|number| (1..=num_columns).contains(number)).map(|n: usize| n - 1);
    named.or_else(numbered).ok_or_else(|| Problem::MissingColumn {
        name: name.to_owned(),
        found: names.map_or_else(|| format!("{num_columns} columns without names"), |names| names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(columns: &str, weights: Weights) -> ColumnOptions {
        let columns = (!columns.is_empty()).then(|| columns.parse().unwrap());
        ColumnOptions { columns, weights }
    }

    fn found(
        options: &ColumnOptions,
        names: &[&str],
        num_columns: usize,
    ) -> Result<[Option<usize>; 3], String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let found = match names.is_empty() {
            false => options.find(&names),
            true => options.positions(num_columns).and_then(|[source, target]| {
                Ok(FoundColumns { source, target, weight: options.weight(None, num_columns)? })
            }),
        };
        let found = found.map_err(|problem| problem.to_string())?;
        Ok([Some(found.source), Some(found.target), found.weight])
    }

    #[test]
    fn columns_are_found_by_usual_names_and_positions() {
        let auto = ColumnOptions::default();
        assert_eq!(found(&auto, &["w", "to", "From", "x"], 4).unwrap(), [Some(2), Some(1), Some(0)]);
        assert_eq!(found(&auto, &[], 3).unwrap(), [Some(0), Some(1), Some(2)]);
        assert_eq!(found(&auto, &[], 2).unwrap(), [Some(0), Some(1), None]);
        assert_eq!(found(&auto, &[], 5).unwrap_err(), "expected 2 or 3 fields, found 5");
        assert_eq!(found(&auto, &["src", "x"], 2).unwrap_err(), "found no column `dst` among src, x");
    }

    #[test]
    fn columns_are_taken_as_told() {
        let named = options("b,C,2", Weights::Auto);
        assert_eq!(found(&named, &["a", "b", "c"], 3).unwrap(), [Some(1), Some(2), Some(1)]);
        let numbered = options("3,1", Weights::Auto);
        assert_eq!(found(&numbered, &[], 3).unwrap(), [Some(2), Some(0), None]);
        assert_eq!(
            found(&numbered, &[], 2).unwrap_err(),
            "found no column `3` among 2 columns without names"
        );
        assert_eq!(found(&options("", Weights::None), &["u", "v", "w"], 3).unwrap()[2], None);
        let year = options("", Weights::Column("year".into()));
        assert_eq!(found(&year, &["u", "v", "w", "year"], 4).unwrap()[2], Some(3));
    }

    #[test]
    fn settings_are_written_as_they_are_read() {
        for text in ["auto", "none", "year"] {
            assert_eq!(String::from(Weights::from(SpelledWeights::Name(text.into()))), text);
        }
        for (text, written) in [(",", ","), ("\\t", "tab"), (" ", "space"), ("pipe", "|")] {
            assert_eq!(String::from(text.parse::<Delimiter>().unwrap()), written);
        }
        for wrong in ["", "ab", "x", "\"", "7"] {
            assert!(wrong.parse::<Delimiter>().is_err(), "{wrong}");
        }
    }
}
