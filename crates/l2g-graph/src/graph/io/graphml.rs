//! GraphML: nodes, edges and, if there is one, the attribute that weighs edges.
//!
//! All nodes are kept, with or without edges. Edges that the file calls undirected go both ways,
//! whether edges are symmetrised or not. Other attributes, and those of nodes, are passed over;
//! nested graphs and hyperedges are refused.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::error::{Place, Problem, ReadError};
use super::raw::{NameTable, RawEdgesBuilder, RawPairs};
use super::source::Source;
use super::text::layout::{IdKind, has_leading_zeros};
use super::text::parse::{parse_id, parse_weight};
use super::{About, ReadOptions, Reading};
use crate::graph::external::ExternalError;
use crate::graph::{NodeIds, StringTable};
use crate::progress::Progress;

/// Edges are handed over in pieces of this many.
const CHUNK: usize = 1 << 20;

/// Whether to stop is asked after this many elements.
const CHECKED_EVENTS: u64 = 1 << 16;

/// Reads a graph.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let name = source.name().to_owned();
    let counted = CountedLines { source: BufReader::with_capacity(1 << 18, source.into_reader()), lines: 0 };
    let mut reader = Reader::from_reader(counted);
    let mut document = Document::new(options);
    let read = document.read(&mut reader, progress);
    let line = reader.get_ref().lines + 1;
    let about = read.and_then(|()| document.finish(builder));
    about.map_err(|problem| problem.at(&name, Place::Line(line)))
}

/// Counts the lines that have been read.
struct CountedLines<R> {
    source: BufReader<R>,
    lines: u64,
}

impl<R: Read> Read for CountedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.source.read(buffer)?;
        self.lines += memchr::memchr_iter(b'\n', &buffer[..found]).count() as u64;
        Ok(found)
    }
}

impl<R: Read> BufRead for CountedLines<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        let consumed = &self.source.buffer()[..len];
        self.lines += memchr::memchr_iter(b'\n', consumed).count() as u64;
        self.source.consume(len);
    }
}

/// What the text that is being read belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// The `<default>` of the key at this position.
    Default(usize),
    /// The `<data>` of the current edge that is its weight.
    Weight,
}

/// An attribute that edges may have.
#[derive(Debug)]
struct Key {
    id: String,
    name: String,
    default: Option<String>,
}

/// An edge whose end has not been reached.
struct OpenEdge {
    ends: [u32; 2],
    undirected: bool,
    weight: Option<String>,
}

/// What has been read.
struct Document<'a> {
    options: &'a ReadOptions,
    depth: usize,
    has_root: bool,
    keys: Vec<Key>,
    open_key: bool,
    /// The key that weighs edges, once the graph has begun.
    weight_key: Option<usize>,
    in_graph: bool,
    undirected: bool,
    nodes: NameTable,
    declared: Vec<bool>,
    edge: Option<OpenEdge>,
    pairs: Vec<[u32; 2]>,
    weights: Vec<Option<f32>>,
    inside: Inside,
    text: String,
}

impl<'a> Document<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        Self {
            options,
            depth: 0,
            has_root: false,
            keys: Vec::new(),
            open_key: false,
            weight_key: None,
            in_graph: false,
            undirected: false,
            nodes: NameTable::default(),
            declared: Vec::new(),
            edge: None,
            pairs: Vec::new(),
            weights: Vec::new(),
            inside: Inside::Nothing,
            text: String::new(),
        }
    }

    fn read<R: Read>(
        &mut self,
        reader: &mut Reader<CountedLines<R>>,
        progress: &dyn Progress,
    ) -> Result<(), Problem> {
        let mut buffer = Vec::new();
        for number in 0_u64.. {
            if number.is_multiple_of(CHECKED_EVENTS) {
                if progress.is_cancelled() {
                    return Err(Problem::Cancelled);
                }
                self.check_memory()?;
            }
            buffer.clear();
            match reader.read_event_into(&mut buffer).map_err(damaged)? {
                Event::Start(element) => {
                    self.depth += 1;
                    self.begin(&element)?;
                }
                Event::Empty(element) => {
                    self.begin(&element)?;
                    self.end(element.local_name().as_ref())?;
                }
                Event::End(element) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.end(element.local_name().as_ref())?;
                }
                Event::Text(text) if self.inside != Inside::Nothing => {
                    self.text.push_str(&text.xml10_content())
                }
                Event::CData(text) if self.inside != Inside::Nothing => {
                    self.text.push_str(&text.xml10_content())
                }
                Event::Eof => break,
                _ => {}
            }
        }
        match (self.depth, self.in_graph) {
            (0, true) => Ok(()),
            (0, false) => Err(Problem::Damaged("found no <graph>".into())),
            _ => Err(Problem::Damaged("ends inside an element".into())),
        }
    }

    /// Whether ids are integers shows at the end, so nodes and edges are in memory until then.
    fn check_memory(&self) -> Result<(), Problem> {
        let limit = self.options.spill.workspace.limit;
        let edge_bytes = size_of::<[u32; 2]>() + size_of::<Option<f32>>();
        let needed = self.nodes.num_bytes() + (self.pairs.len() * edge_bytes) as u64;
        match needed > limit {
            true => {
                let what = "GraphML, which is in memory until its end and so far".to_owned();
                Err(ExternalError::Memory { what, needed, limit }.into())
            }
            false => Ok(()),
        }
    }

    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), Problem> {
        let name = element.local_name();
        let name: &str = name.as_ref();
        if !self.has_root && name != "graphml" {
            return Err(Problem::Damaged(format!("expected <graphml>, found <{name}>")));
        }
        self.has_root = true;
        match name {
            "key" => {
                let applies = attribute(element, "for")?.is_none_or(|to| to == "edge" || to == "all");
                if let (true, Some(id)) = (applies, attribute(element, "id")?) {
                    let name = attribute(element, "attr.name")?.unwrap_or_else(|| id.clone());
                    self.keys.push(Key { id, name, default: None });
                    self.open_key = true;
                }
            }
            "default" if self.open_key => self.capture(Inside::Default(self.keys.len() - 1)),
            "graph" => self.begin_graph(element)?,
            "node" => {
                let node = self.node(&needed(element, "id")?);
                if std::mem::replace(&mut self.declared[node as usize], true) {
                    return Err(Problem::RepeatedNode(needed(element, "id")?));
                }
            }
            "edge" => {
                let undirected = match attribute(element, "directed")?.as_deref() {
                    Some("true" | "1") => false,
                    Some(_) => true,
                    None => self.undirected,
                };
                let ends = [self.node(&needed(element, "source")?), self.node(&needed(element, "target")?)];
                self.edge = Some(OpenEdge { ends, undirected, weight: None });
            }
            "hyperedge" => {
                return Err(Problem::Inconsistent("found a hyperedge, needed edges of two nodes".into()));
            }
            "data" if self.edge.is_some() => {
                let weighs = self.weight_key.map(|key| self.keys[key].id.clone());
                if weighs.is_some() && attribute(element, "key")? == weighs {
                    self.capture(Inside::Weight);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_graph(&mut self, element: &BytesStart<'_>) -> Result<(), Problem> {
        if self.in_graph {
            return Err(Problem::Inconsistent("found a second or nested graph, needed one".into()));
        }
        self.in_graph = true;
        self.undirected = attribute(element, "edgedefault")?.as_deref() == Some("undirected");
        let names: Vec<String> = self.keys.iter().map(|key| key.name.clone()).collect();
        self.weight_key = self.options.columns.weight(Some(&names), names.len())?;
        Ok(())
    }

    fn capture(&mut self, inside: Inside) {
        self.inside = inside;
        self.text.clear();
    }

    fn end(&mut self, name: &str) -> Result<(), Problem> {
        match (name, self.inside) {
            ("default", Inside::Default(key)) => {
                self.keys[key].default = Some(std::mem::take(&mut self.text));
                self.inside = Inside::Nothing;
            }
            ("data", Inside::Weight) => {
                if let Some(edge) = &mut self.edge {
                    edge.weight = Some(std::mem::take(&mut self.text));
                }
                self.inside = Inside::Nothing;
            }
            ("key", _) => self.open_key = false,
            ("edge", _) => self.end_edge()?,
            _ => {}
        }
        Ok(())
    }

    fn end_edge(&mut self) -> Result<(), Problem> {
        let Some(OpenEdge { ends, undirected, weight }) = self.edge.take() else { return Ok(()) };
        let default = || self.weight_key.and_then(|key| self.keys[key].default.as_ref());
        let weight =
            weight.as_ref().or_else(default).map(|text| parse_weight(text.trim().as_bytes())).transpose()?;
        self.pairs.push(ends);
        self.weights.push(weight);
        if undirected && self.options.keep_directions && ends[0] != ends[1] {
            self.pairs.push([ends[1], ends[0]]);
            self.weights.push(weight);
        }
        Ok(())
    }

    /// The number of a node, which may be declared later.
    fn node(&mut self, id: &str) -> u32 {
        let number = self.nodes.number(id);
        if self.declared.len() == number as usize {
            self.declared.push(false);
        }
        number
    }

    fn finish(self, builder: &mut RawEdgesBuilder) -> Result<About, Problem> {
        let names = self.nodes.into_names();
        if let Some(missing) = self.declared.iter().position(|declared| !declared) {
            let name = names.get(missing);
            return Err(Problem::Inconsistent(format!("an edge names node `{name}`, which is not declared")));
        }
        let is_weighted = self.weights.iter().any(Option::is_some);
        if is_weighted && let Some(edge) = self.weights.iter().position(Option::is_none) {
            let [from, to] = self.pairs[edge].map(|node| names.get(node as usize));
            let problem = format!("edge `{from}` to `{to}` has no weight, which others have");
            return Err(Problem::Inconsistent(problem));
        }
        let weights: Vec<f32> = self.weights.into_iter().flatten().collect();
        let weights_from = self.weight_key.filter(|_| is_weighted);
        let weights_from = weights_from.map(|key| format!("attribute `{}`", self.keys[key].name));
        let about = push_edges(self.pairs, &weights, names, self.options.ids, builder)?;
        Ok(About { weights_from, ..about })
    }
}

/// Hands over edges between nodes that are known by these names, which are integers if all look so.
fn push_edges(
    mut pairs: Vec<[u32; 2]>,
    weights: &[f32],
    names: StringTable,
    kind: IdKind,
    builder: &mut RawEdgesBuilder,
) -> Result<About, Problem> {
    let plain = |name: &str| !has_leading_zeros(name.as_bytes()) && parse_id(name.as_bytes()).is_ok();
    let are_integers = match kind {
        IdKind::Auto => names.iter().all(plain),
        IdKind::Integer => true,
        IdKind::String => false,
    };
    if !are_integers {
        push_chunks(&pairs, weights, builder)?;
        let num_nodes = Some(names.len());
        return Ok(About { num_nodes, ids: Some(NodeIds::Strings(names)), ..About::default() });
    }
    let ids: Vec<u64> = names.iter().map(|name| parse_id(name.as_bytes())).collect::<Result<_, _>>()?;
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    order.sort_unstable_by_key(|&node| ids[node as usize]);
    let mut rows = vec![0_u32; ids.len()];
    (0..).zip(&order).for_each(|(row, &node)| rows[node as usize] = row);
    pairs.iter_mut().for_each(|pair| *pair = pair.map(|node| rows[node as usize]));
    let sorted: Vec<u64> = order.iter().map(|&node| ids[node as usize]).collect();
    let are_rows = (0..).zip(&sorted).all(|(row, &id)| row == id);
    push_chunks(&pairs, weights, builder)?;
    let num_nodes = Some(sorted.len());
    let ids = (!are_rows).then(|| NodeIds::Integers(sorted.into()));
    Ok(About { num_nodes, ids, ..About::default() })
}

fn push_chunks(pairs: &[[u32; 2]], weights: &[f32], builder: &mut RawEdgesBuilder) -> Result<(), Problem> {
    for start in (0..pairs.len()).step_by(CHUNK) {
        let range = start..(start + CHUNK).min(pairs.len());
        let weights = weights.get(range.clone()).unwrap_or_default().to_vec();
        builder.push(RawPairs::Narrow(pairs[range].to_vec()), weights)?;
    }
    Ok(())
}

fn damaged(error: quick_xml::Error) -> Problem {
    match error {
        quick_xml::Error::Io(error) => {
            let error = io::Error::new(error.kind(), error.to_string());
            super::source::read_problem(error)
        }
        error => Problem::Damaged(error.to_string()),
    }
}

/// An attribute of an element, if it has it.
fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, Problem> {
    let found = element.try_get_attribute(name).map_err(|error| Problem::Damaged(error.to_string()))?;
    let value = found.map(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0)).transpose();
    value.map(|value| value.map(Into::into)).map_err(damaged)
}

/// An attribute that an element must have.
fn needed(element: &BytesStart<'_>, name: &str) -> Result<String, Problem> {
    let missing =
        || Problem::Damaged(format!("found a <{}> without `{name}`", element.local_name().as_ref()));
    match attribute(element, name)? {
        Some(value) if value.is_empty() => Err(Problem::EmptyId),
        Some(value) => Ok(value),
        None => Err(missing()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::RawEdges;
    use super::*;

    fn parsed(text: &str, options: &ReadOptions) -> Result<(RawEdges, About), String> {
        let source: Box<dyn Read> = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        let mut reader = Reader::from_reader(CountedLines { source: BufReader::new(source), lines: 0 });
        let mut document = Document::new(options);
        let read = document.read(&mut reader, &crate::progress::Silent);
        let mut builder = RawEdgesBuilder::default();
        let about =
            read.and_then(|()| document.finish(&mut builder)).map_err(|problem| problem.to_string())?;
        Ok((builder.finish(), about))
    }

    fn graph(inside: &str) -> String {
        let key = "<key id='d1' for='edge' attr.name='weight' attr.type='double'><default>2</default></key>";
        format!(
            "<?xml version='1.0'?>\n<graphml>{key}<graph edgedefault='undirected'>{inside}</graph></graphml>"
        )
    }

    const NODES: &str = "<node id='30'/><node id='4'><data key='d0'>x</data></node><node id='5'/>";

    #[test]
    fn all_nodes_are_kept_and_weights_are_found_by_name() {
        let edges =
            "<edge source='4' target='30'><data key='d1'> 0.5 </data></edge><edge source='30' target='4'/>";
        let (edges, about) = parsed(&graph(&format!("{NODES}{edges}")), &ReadOptions::default()).unwrap();
        let RawEdges::Narrow(edges) = edges else { panic!("integers") };
        assert_eq!(edges.chunks()[0].pairs, [[0, 2], [2, 0]]);
        assert_eq!(edges.chunks()[0].weights, [0.5, 2.0]);
        assert_eq!(about.ids, Some(NodeIds::Integers(vec![4, 5, 30].into())));
        assert_eq!(about.weights_from.as_deref(), Some("attribute `weight`"));
    }

    #[test]
    fn undirected_edges_go_both_ways_where_directions_are_kept() {
        let options = ReadOptions { keep_directions: true, ..Default::default() };
        let edges = "<edge source='4' target='5'/><edge source='5' target='30' directed='true'/>\
                     <edge source='30' target='30'/>";
        let (edges, _) = parsed(&graph(&format!("{NODES}{edges}")), &options).unwrap();
        let RawEdges::Narrow(edges) = edges else { panic!("integers") };
        assert_eq!(edges.chunks()[0].pairs, [[0, 1], [1, 0], [1, 2], [2, 2]]);
    }

    #[test]
    fn what_does_not_fit_the_limit_is_refused() {
        let mut options = ReadOptions::default();
        options.spill.workspace.limit = 1000;
        let nodes: String = (0..CHECKED_EVENTS).map(|node| format!("<node id='{node}'/>")).collect();
        let error = parsed(&graph(&nodes), &options).unwrap_err();
        assert!(error.starts_with("GraphML, which is in memory until its end and so far takes "), "{error}");
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let error = |text: &str| parsed(text, &ReadOptions::default()).unwrap_err();
        assert!(error("<html></html>").ends_with("expected <graphml>, found <html>"));
        assert!(error("<graphml></graphml>").ends_with("found no <graph>"));
        assert!(error("<graphml><graph>").contains("ends inside an element"));
        assert_eq!(error(&graph("<node id='a'/><node id='a'/>")), "names node `a` twice");
        let stranger = graph("<node id='a'/><edge source='a' target='b'/>");
        assert_eq!(error(&stranger), "an edge names node `b`, which is not declared");
        assert!(error(&graph("<node id='a'/><edge source='a'/>")).ends_with("a <edge> without `target`"));
        assert!(error(&graph("<graph/>")).contains("second or nested graph"));
        assert!(error(&graph("<hyperedge/>")).contains("hyperedge"));
        let weight = "<node id='a'/><edge source='a' target='a'><data key='d1'>much</data></edge>";
        assert_eq!(error(&graph(weight)), "weight `much` is not a number");
    }
}
