//! The page around all sections, and what the script of the map is given.

use local2global::evaluate::Contender;
use local2global::graph::{NodeId, NodeIds};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::base64::base64;
use crate::charts::put;
use crate::html::{self, escaped, grouped};
use crate::nodes::Nodes;
use crate::pack::{self, Square};
use crate::story::Story;
use crate::{curves, patches, picture, sections};

const STYLE: &str = include_str!("page/style.css");

const SCRIPT: &str =
    concat!(include_str!("page/data.js"), include_str!("page/plot.js"), include_str!("page/map.js"));

/// The map in the page before the script has drawn it.
const MAP: &str = include_str!("page/map.html");

/// The most bytes of a page: packed columns that do not fit are left out, and named.
const MOST_BYTES: usize = 11_990_000;

/// Above so many nodes points have fewer bits.
const MANY: usize = 250_000;

/// Integers above this are no numbers in JavaScript.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// The page of a run.
pub(crate) fn of_run(story: &Story, nodes: &Nodes) -> String {
    let name = escaped(&story.name);
    let mut sections = String::new();
    let mut section = |id: &str, title: &str, content: &str| {
        put!(sections, "<section id={id}><h2>{title}</h2>\n{content}\n</section>\n");
    };
    section("scores", "How good it is", &sections::scores(story));
    section("patches", "Patches", &patches::section(story, nodes));
    section("copies", "Agreement of copies", &sections::agreement(story, nodes));
    section("training", "Training", &curves::section(story));
    section("done", "What was done", &sections::done(story));
    let mut body = format!("<header><h1>{name}</h1>{}</header>\n<main>\n", sections::figures(story));
    let room = MOST_BYTES.saturating_sub(body.len() + sections.len() + SCRIPT.len() + STYLE.len());
    put!(
        body,
        "<section id=map aria-labelledby=map-title><h2 id=map-title>Map</h2>\n{}</section>\n",
        map(nodes, room)
    );
    put!(body, "{sections}</main>\n");
    whole(&format!("{name} – local2global"), &body, Some(SCRIPT))
}

/// A page without a map.
pub(crate) fn plain(title: &str, content: &str) -> String {
    let title = escaped(title);
    whole(&title, &format!("<header><h1>{title}</h1></header>\n<main>\n{content}\n</main>\n"), None)
}

/// The whole page; the title is HTML already.
fn whole(title: &str, body: &str, script: Option<&str>) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let scripts = script.map_or("'none'".to_owned(), hash);
    let policy = format!(
        "default-src 'none'; script-src {scripts}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE)
    );
    let script = script.map_or(String::new(), |script| format!("<script>{script}</script>\n"));
    format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}{script}</body>\n</html>\n"
    )
}

/// The map: controls, a static picture, and the data of the script, in so many bytes at most.
fn map(nodes: &Nodes, room: usize) -> String {
    let picture = picture::map(nodes, picture::Colours::Page);
    let Columns { meta, elements } = Columns::of(nodes, room.saturating_sub(picture.len() + MAP.len()));
    let sample = match nodes.shown.len() < nodes.num_nodes {
        true => format!(
            "<p class=note>A sample of {} of {} nodes is shown, of every patch its share.</p>",
            grouped(nodes.shown.len()),
            grouped(nodes.num_nodes)
        ),
        false => String::new(),
    };
    let meta = html::json(&meta);
    MAP.replace("{picture}", &picture)
        + &sample
        + &format!("<script type=\"application/json\" id=meta>{meta}</script>\n{elements}")
}

/// What the script is given: a description, and packed columns as elements of the page.
struct Columns {
    meta: Value,
    elements: String,
}

impl Columns {
    fn of(nodes: &Nodes, room: usize) -> Self {
        let mut columns = Self {
            meta: json!({ "nodes": nodes.shown.len(), "method": nodes.method.name(), "palette": picture::PALETTE }),
            elements: String::new(),
        };
        let mut left_out: Vec<&str> = Vec::new();
        let mut add = |name: &'static str, told: Value, bytes: &[u8], columns: &mut Self| {
            let text = pack::packed(bytes);
            if columns.elements.len() + text.len() > room {
                return left_out.push(name);
            }
            columns.meta[name] = told;
            put!(columns.elements, "<script type=\"text/plain\" id=\"data-{name}\">{text}</script>\n");
        };
        let is_large = nodes.shown.len() > MANY;
        for layout in nodes.layouts.iter().take(1) {
            add_layout(layout, if is_large { 12 } else { 16 }, &mut columns, &mut add);
        }
        add_ids(&nodes.ids, &mut columns, &mut add);
        if let Some((names, labels)) = &nodes.labels {
            let (width, bytes) = pack::numbers(labels);
            add("label", json!({ "width": width, "names": names }), &bytes, &mut columns);
        }
        let mut number = |name: &'static str, values: &Option<Vec<u32>>, columns: &mut Self| {
            if let Some(values) = values {
                let (width, bytes) = pack::numbers(values);
                add(name, json!({ "width": width }), &bytes, columns);
            }
        };
        number("patch", &nodes.patches, &mut columns);
        number("degree", &Some(nodes.degrees.clone()), &mut columns);
        number("community", &nodes.communities, &mut columns);
        if let Some(spread) = &nodes.spread {
            let most = spread.iter().copied().fold(0.0_f32, f32::max).max(f32::MIN_POSITIVE);
            let steps = if is_large { 15.0 } else { 255.0 };
            let values: Vec<u8> = spread.iter().map(|value| (value / most * steps).round() as u8).collect();
            add("spread", json!({ "most": most, "steps": steps }), &values, &mut columns);
        }
        for layout in nodes.layouts.iter().skip(1) {
            add_layout(layout, if is_large { 10 } else { 16 }, &mut columns, &mut add);
        }
        if !nodes.edges.is_empty() {
            let ends: Vec<u32> = nodes.edges.iter().flatten().copied().collect();
            let (width, bytes) = pack::numbers(&ends);
            add("edges", json!({ "width": width, "count": nodes.edges.len() }), &bytes, &mut columns);
        }
        columns.meta["left_out"] = json!(left_out);
        columns
    }
}

/// Appends a column, unless the page would be too large.
type Add<'a> = &'a mut dyn FnMut(&'static str, Value, &[u8], &mut Columns);

fn add_layout(layout: &crate::nodes::Layout, bits: u32, columns: &mut Columns, add: Add<'_>) {
    let square = Square::around(&layout.points);
    let key = match layout.contender {
        Contender::NoTrans => "no_trans",
        Contender::Full => "full",
        _ => "l2g",
    };
    add(
        key,
        json!({ "bits": bits, "name": layout.contender.name() }),
        &pack::points(&layout.points, &square, bits),
        columns,
    );
}

fn add_ids(ids: &NodeIds, columns: &mut Columns, add: Add<'_>) {
    match ids {
        NodeIds::Range(_) => columns.meta["ids"] = json!({ "kind": "range" }),
        NodeIds::Integers(ids) if ids.iter().all(|&id| id <= LARGEST_INTEGER) => {
            add("ids", json!({ "kind": "integers" }), &pack::differences(ids.iter().copied()), columns);
        }
        ids => {
            let texts: Vec<String> =
                (0..ids.len()).map(|node| ids.get(NodeId::new(node)).to_string()).collect();
            add("ids", json!({ "kind": "texts" }), &pack::texts(texts.iter().map(String::as_str)), columns);
        }
    }
}
