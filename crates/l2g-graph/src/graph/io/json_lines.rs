//! JSON lines: one object a line, as in `{"source": 0, "target": 1, "weight": 0.5}`.
//!
//! The keys are those of the first lines: the usual names of the columns of an edge, or what the
//! user says. Other keys are passed over.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::error::{Problem, ReadError};
use super::lines::{Block, LineBlocks, LineProblem, at_line, for_each_block};
use super::raw::{NameTable, Piece, RawPairs};
use super::source::Source;
use super::text::layout::IdKind;
use super::text::parse::{Pairs, ParsedBlock, check_weight, parse_id};
use super::{About, ReadOptions, Reading};

/// Keys and kinds of ids are found out from this many lines.
const SAMPLE_LINES: usize = 1000;

/// How to read a line.
struct JsonLayout {
    source: String,
    target: String,
    weight: Option<String>,
    /// Whether ids are text.
    string_ids: bool,
}

/// Reads a list of edges.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let name = source.name().to_owned();
    let mut blocks = LineBlocks::new(source)?;
    let start = blocks.first_data(is_blank)?.ok_or_else(|| Problem::NoEdges.in_file(&name))?;
    let layout = JsonLayout::of(&start, options)
        .map_err(|(line, problem)| at_line(&name, start.first_line + line, problem))?;
    blocks.put_back(start);
    let parse = |block: &_| layout.parse(block);
    for_each_block(blocks, progress, parse, |parsed, share| {
        let piece = Piece { pairs: parsed.pairs, weights: parsed.weights, share };
        builder.push_read(piece, progress).map_err(|problem| problem.in_file(&name))
    })?;
    Ok(About::weights_from(layout.weight.map(|key| format!("key `{key}`"))))
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// The lines of a block that are not blank.
fn objects(block: &Block) -> impl Iterator<Item = (u64, &[u8])> {
    block.lines().filter(|(_, line)| !is_blank(line))
}

impl JsonLayout {
    fn of(start: &Block, options: &ReadOptions) -> Result<Self, LineProblem> {
        let mut keys: Vec<String> = Vec::new();
        let mut first_line = None;
        for (number, line) in objects(start).take(SAMPLE_LINES) {
            first_line.get_or_insert(number);
            let object: serde_json::Map<String, Value> =
                serde_json::from_slice(line).map_err(|error| (number, not_an_object(&error)))?;
            let new: Vec<String> =
                object.into_iter().map(|(key, _)| key).filter(|key| !keys.contains(key)).collect();
            keys.extend(new);
        }
        let found = options.columns.find(&keys);
        let found = found.map_err(|problem| (first_line.unwrap_or(0), problem))?;
        let mut layout = Self {
            source: keys[found.source].clone(),
            target: keys[found.target].clone(),
            weight: found.weight.map(|key| keys[key].clone()),
            string_ids: options.ids == IdKind::String,
        };
        if options.ids == IdKind::Auto {
            let sample = objects(start).take(SAMPLE_LINES).filter_map(|(_, line)| layout.fields(line).ok());
            layout.string_ids = sample.into_iter().any(|fields| fields.ids.iter().any(Value::is_string));
        }
        Ok(layout)
    }

    fn parse(&self, block: &Block) -> Result<ParsedBlock, LineProblem> {
        let mut names = NameTable::default();
        let (mut named, mut integers) = (Vec::new(), Pairs::default());
        let mut weights = Vec::new();
        for (number, line) in objects(block) {
            let at = |problem| (number, problem);
            let fields = self.fields(line).map_err(at)?;
            match self.string_ids {
                true => {
                    let [source, target] = fields.ids.map(name_of);
                    named.push([names.number(&source.map_err(at)?), names.number(&target.map_err(at)?)]);
                }
                false => {
                    let [source, target] = fields.ids.map(integer_of);
                    integers.push([source.map_err(at)?, target.map_err(at)?]);
                }
            }
            if let Some(weight) = fields.weight {
                weights.push(weight_of(&weight).map_err(at)?);
            }
        }
        let pairs = match self.string_ids {
            true => RawPairs::Names(named, names.into_names()),
            false => integers.finish(),
        };
        Ok(ParsedBlock { pairs, weights })
    }

    /// The values of a line that matter.
    fn fields(&self, line: &[u8]) -> Result<Fields, Problem> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let [source, target, weight] =
            self.deserialize(&mut deserializer).map_err(|error| not_an_object(&error))?;
        deserializer.end().map_err(|error| not_an_object(&error))?;
        let missing =
            |key: &str| Problem::Inconsistent(format!("found no key `{key}`, which other edges have"));
        let source = source.ok_or_else(|| missing(&self.source))?;
        let target = target.ok_or_else(|| missing(&self.target))?;
        if let (Some(key), None) = (&self.weight, &weight) {
            return Err(missing(key));
        }
        Ok(Fields { ids: [source, target], weight })
    }
}

/// The values of an edge.
struct Fields {
    ids: [Value; 2],
    weight: Option<Value>,
}

impl<'de> DeserializeSeed<'de> for &JsonLayout {
    type Value = [Option<Value>; 3];

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &JsonLayout {
    type Value = [Option<Value>; 3];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None, None, None];
        let keys = [Some(&self.source), Some(&self.target), self.weight.as_ref()];
        while let Some(key) = map.next_key::<String>()? {
            match keys.iter().position(|wanted| *wanted == Some(&key)) {
                Some(slot) => found[slot] = Some(map.next_value()?),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }
}

fn not_an_object(error: &serde_json::Error) -> Problem {
    // The line that the parser counts is always the first.
    let text = error.to_string();
    let told = text.split(" at line ").next().unwrap_or_default();
    Problem::Damaged(format!("expected one JSON object: {told}"))
}

fn name_of(id: Value) -> Result<String, Problem> {
    match id {
        Value::String(name) if name.is_empty() => Err(Problem::EmptyId),
        Value::String(name) => Ok(name),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Err(Problem::EmptyId),
        other => Err(Problem::Inconsistent(format!("node id {other} is neither a number nor text"))),
    }
}

fn integer_of(id: Value) -> Result<u64, Problem> {
    match id.as_u64() {
        Some(integer) => Ok(integer),
        None => parse_id(name_of(id)?.as_bytes()),
    }
}

fn weight_of(weight: &Value) -> Result<f32, Problem> {
    match weight.as_f64() {
        Some(weight) => check_weight(weight as f32),
        None => Err(Problem::NotNumber(weight.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ParsedBlock, String> {
        let block = Block { first_line: 0, bytes: text.into() };
        let told = |(line, problem): LineProblem| format!("{}: {problem}", line + 1);
        JsonLayout::of(&block, &ReadOptions::default()).and_then(|layout| layout.parse(&block)).map_err(told)
    }

    #[test]
    fn integers_names_and_weights_are_read() {
        let found =
            parsed("{\"source\": 3, \"target\": 4, \"year\": [1]}\n\n{\"target\":5,\"source\":3}").unwrap();
        assert!(matches!(&found.pairs, RawPairs::Narrow(pairs) if pairs == &[[3, 4], [3, 5]]));
        let found =
            parsed("{\"from\":\"a\",\"to\":1,\"w\":0.5}\n{\"from\":1,\"to\":\"b\",\"w\":2}\n").unwrap();
        let RawPairs::Names(pairs, names) = &found.pairs else { panic!("names") };
        assert_eq!(pairs, &[[0, 1], [1, 2]]);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "1", "b"]);
        assert_eq!(found.weights, [0.5, 2.0]);
    }

    #[test]
    fn bad_lines_are_named() {
        let error = |text: &str| parsed(text).unwrap_err();
        assert!(error("[1, 2]\n").starts_with("1: file is cut off or damaged: expected one JSON object: "));
        for (text, expected) in [
            (r#"{"source":1,"target":2}|{"source":1}"#, "2: found no key `target`, which other edges have"),
            (r#"{"a":1,"b":2}"#, "1: found no column `src` among a, b"),
            (r#"{"u":1,"v":-2}"#, "1: node id -2 is negative"),
            (r#"{"u":1,"v":2.5}"#, "1: node id `2.5` is not a plain integer, as the others are"),
            (r#"{"u":1,"v":2,"w":-1}"#, "1: weight -1 is negative"),
            (r#"{"u":1,"v":null}"#, "1: expected a node id, found nothing"),
        ] {
            assert_eq!(error(&text.replace('|', "\n")), expected, "{text}");
        }
    }
}
