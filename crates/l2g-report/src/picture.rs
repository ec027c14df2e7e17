//! The map as a static picture (SVG) of some thousand nodes.
//!
//! It stands in for the map where there is no WebGL, on paper, and in a notebook.

use local2global::layout::Point;

use crate::charts::{put, short};
use crate::nodes::Nodes;
use crate::pack::Square;

/// The most nodes that are drawn.
const MOST: usize = 6_000;

const SIZE: f32 = 640.0;

/// Colours of the largest classes, also of the script; others are grey.
pub(crate) const PALETTE: [&str; 12] = [
    "#4e79e6", "#f28e2b", "#2ca58d", "#e15759", "#9467bd", "#bcbd22", "#e377c2", "#17becf", "#8c6d4f",
    "#7f9c3b", "#d4a017", "#5b6c8f",
];

/// Where the colours come from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Colours {
    /// From the style sheet of the page.
    Page,
    /// From the picture itself.
    Own,
}

/// Draws the stitched embedding, coloured by label, else by community, else by patch.
pub(crate) fn map(nodes: &Nodes, colours: Colours) -> String {
    let points = nodes.points();
    let square = Square::around(points);
    let groups = groups(nodes);
    let mut paths = vec![String::new(); PALETTE.len() + 1];
    let step = points.len().div_ceil(MOST).max(1);
    for at in (0..points.len()).step_by(step) {
        let colour = groups.as_ref().map_or(PALETTE.len(), |groups| (groups[at] as usize).min(PALETTE.len()));
        let [x, y] = place(&square, points[at]);
        put!(paths[colour], "M{} {}h0", short(x), short(y));
    }
    let drawn = points.len().div_ceil(step);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" role=\"img\" \
         aria-label=\"map of {drawn} of {} nodes\" class=\"picture\"",
        nodes.num_nodes
    );
    if colours == Colours::Own {
        svg.push_str(" width=\"640\" style=\"max-width:100%;background:#fff\"");
    }
    let width = if drawn > 2000 { 3.0 } else { 4.5 };
    put!(svg, "><g fill=\"none\" stroke-linecap=\"round\" stroke-width=\"{width}\" stroke-opacity=\"0.75\">");
    for (colour, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let stroke = PALETTE.get(colour).copied().unwrap_or("#8a8f98");
        put!(svg, "<path stroke=\"{stroke}\" d=\"{path}\"/>");
    }
    svg.push_str("</g></svg>");
    svg
}

/// The number of the group of each node, from 0 on, if there are groups.
fn groups(nodes: &Nodes) -> Option<Vec<u32>> {
    let labels = nodes.labels.as_ref().map(|(_, labels)| {
        labels.iter().map(|&label| label.checked_sub(1).unwrap_or(u32::MAX)).collect::<Vec<u32>>()
    });
    labels.or_else(|| nodes.communities.clone()).or_else(|| nodes.patches.clone())
}

fn place(square: &Square, point: Point) -> [f64; 2] {
    let [x, y] = square.within(point);
    // The vertical axis of a picture points down.
    [x, 1.0 - y].map(|t| f64::from(8.0 + t * (SIZE - 16.0)))
}
