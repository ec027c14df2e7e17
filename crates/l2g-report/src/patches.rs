//! The patch graph as a drawing, and its worst patches and edges by name.
//!
//! Patches begin at the mean of their own nodes on the map and are moved apart by springs (Fruchterman and
//! Reingold 1991), so that the drawing can be compared with the map and circles do not lie on each other.
//! Cost: `O(p²)` a round for `p` patches. No randomness.

use std::collections::BTreeMap;

use local2global::align::diagnostics::Diagnostics;

use crate::charts::{put, short, svg};
use crate::html::{Column, escaped, grouped, percent, table};
use crate::nodes::Nodes;
use crate::story::Story;

/// More patches are not drawn.
const MOST: usize = 2_000;

/// How many of the worst are named.
const WORST: usize = 8;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 460.0;

/// The section about patches.
pub(crate) fn section(story: &Story, nodes: &Nodes) -> String {
    let Some(found) = &story.alignment else {
        return "<p class=missing>The patches have not been aligned yet.</p>".into();
    };
    let mut html = format!("<p class=lead>{}</p>", escaped(&found.verdict));
    if found.patches > MOST {
        put!(html, "<p>There are {} patches; up to {} are drawn.</p>", grouped(found.patches), grouped(MOST));
    } else if found.patches > 1 {
        put!(
            html,
            "<figure>{}<figcaption>Each circle is a patch, as large as its number of nodes, each line a pair \
             of patches that share nodes, as wide as the number of these. The colour says how far apart the copies \
             of shared nodes end up: <span class=ramp></span> from {} to {} of their spread.</figcaption></figure>",
            drawing(found, nodes),
            percent(range(found)[0]),
            percent(range(found)[1])
        );
    }
    html.push_str("<div class=columns>");
    html.push_str(&worst_patches(found));
    html.push_str(&worst_edges(found));
    html.push_str("</div>");
    html
}

fn worst_patches(found: &Diagnostics) -> String {
    let mut patches: Vec<_> = found.patch_list.iter().collect();
    patches.sort_by(|a, b| b.misfit.total_cmp(&a.misfit));
    let row = |patch: &&local2global::align::diagnostics::PatchFit| {
        vec![
            escaped(&patch.patch).into_owned(),
            grouped(patch.nodes),
            patch.neighbors.to_string(),
            percent(patch.misfit),
        ]
    };
    let rows: Vec<_> = patches.iter().take(WORST).map(row).collect();
    let heading = [
        ("patch", Column::Text),
        ("nodes", Column::Number),
        ("neighbours", Column::Number),
        ("misfit", Column::Number),
    ];
    format!("<div><h3>Worst patches</h3>{}</div>", table(&heading, &rows))
}

fn worst_edges(found: &Diagnostics) -> String {
    if found.edge_list.is_empty() {
        return String::new();
    }
    let mut edges: Vec<_> = found.edge_list.iter().collect();
    edges.sort_by(|a, b| b.misfit.total_cmp(&a.misfit));
    let row = |edge: &&local2global::align::diagnostics::EdgeFit| {
        let [a, b] = &edge.patches;
        vec![format!("{} – {}", escaped(a), escaped(b)), grouped(edge.overlap), percent(edge.misfit)]
    };
    let rows: Vec<_> = edges.iter().take(WORST).map(row).collect();
    let heading =
        [("patch edge", Column::Text), ("shared nodes", Column::Number), ("misfit", Column::Number)];
    format!("<div><h3>Worst patch edges</h3>{}</div>", table(&heading, &rows))
}

/// The smallest and largest misfit of a patch.
fn range(found: &Diagnostics) -> [f64; 2] {
    let misfits = found.patch_list.iter().map(|patch| patch.misfit);
    misfits.fold([f64::INFINITY, 0.0], |[low, high], misfit| [low.min(misfit), high.max(misfit)])
}

/// The class of a colour, from 0, the best, to 6.
fn shade(misfit: f64, [low, high]: [f64; 2]) -> usize {
    let share = if high > low { (misfit - low) / (high - low) } else { 0.0 };
    (share.clamp(0.0, 1.0) * 6.0).round() as usize
}

fn drawing(found: &Diagnostics, nodes: &Nodes) -> String {
    let numbers: BTreeMap<&str, usize> =
        found.patch_list.iter().enumerate().map(|(number, patch)| (patch.patch.as_str(), number)).collect();
    let ends = |edge: &local2global::align::diagnostics::EdgeFit| {
        Some([*numbers.get(edge.patches[0].as_str())?, *numbers.get(edge.patches[1].as_str())?])
    };
    let edges: Vec<([usize; 2], _)> =
        found.edge_list.iter().filter_map(|edge| Some((ends(edge)?, edge))).collect();
    let pairs: Vec<[usize; 2]> = edges.iter().map(|&(ends, _)| ends).collect();
    let places = fitted(&relaxed(first_places(found.patch_list.len(), nodes), &pairs));
    let range = range(found);
    let widest = edges.iter().map(|(_, edge)| edge.overlap).max().unwrap_or(1).max(1) as f64;
    let mut content = String::new();
    for ([a, b], edge) in &edges {
        let ([xa, ya], [xb, yb]) = (places[*a], places[*b]);
        put!(
            content,
            "<path class=\"edge m{}\" stroke-width={} d=\"M{} {}L{} {}\"><title>{} – {}: {} shared nodes, misfit {}</title></path>",
            shade(edge.misfit, range),
            short(0.6 + 5.0 * edge.overlap as f64 / widest),
            short(xa),
            short(ya),
            short(xb),
            short(yb),
            escaped(&edge.patches[0]),
            escaped(&edge.patches[1]),
            grouped(edge.overlap),
            percent(edge.misfit)
        );
    }
    let largest = found.patch_list.iter().map(|patch| patch.nodes).max().unwrap_or(1).max(1) as f64;
    let full = (WIDTH * HEIGHT / found.patch_list.len().max(1) as f64).sqrt().min(150.0) * 0.17;
    let is_named = found.patch_list.len() <= 60;
    for (number, patch) in found.patch_list.iter().enumerate() {
        let [x, y] = places[number];
        let radius = (full * (patch.nodes as f64 / largest).sqrt()).max(1.5);
        let name = patch.patch.trim_start_matches("patch-").trim_start_matches('0');
        let name = if name.is_empty() { "0" } else { name };
        put!(
            content,
            "<g class=patch><circle class=m{} cx={} cy={} r={} /><title>{}: {} nodes, misfit {}</title>",
            shade(patch.misfit, range),
            short(x),
            short(y),
            short(radius),
            escaped(&patch.patch),
            grouped(patch.nodes),
            percent(patch.misfit)
        );
        if is_named {
            put!(
                content,
                "<text x={} y={} text-anchor=middle>{}</text>",
                short(x),
                short(y + 4.0),
                escaped(name)
            );
        }
        content.push_str("</g>");
    }
    svg(WIDTH, HEIGHT, "the patch graph", &content)
}

/// The mean of the nodes of each patch on the map, or a circle if that is not known.
fn first_places(count: usize, nodes: &Nodes) -> Vec<[f64; 2]> {
    let mut sums = vec![[0.0_f64; 3]; count];
    let own = nodes.patches.iter().flatten().zip(nodes.points());
    for (&patch, point) in own.filter(|(patch, _)| (**patch as usize) < count) {
        let sum = &mut sums[patch as usize];
        *sum = [sum[0] + f64::from(point[0]), sum[1] - f64::from(point[1]), sum[2] + 1.0];
    }
    let extent = sums.iter().map(|sum| (sum[0] / sum[2].max(1.0)).abs()).fold(1e-9, f64::max);
    let place = |(number, sum): (usize, &[f64; 3])| {
        // Nudged along a spiral, so that no two are in one place.
        let (turn, nudge) = (2.4 * number as f64, 0.02 * (1.0 + number as f64 / count as f64));
        let middle =
            if sum[2] > 0.0 { [sum[0] / sum[2] / extent, sum[1] / sum[2] / extent] } else { [0.0; 2] };
        [middle[0] + nudge * turn.cos(), middle[1] + nudge * turn.sin()]
    };
    sums.iter().enumerate().map(place).collect()
}

/// Moves places by springs along the edges and repulsion between all.
fn relaxed(mut places: Vec<[f64; 2]>, edges: &[[usize; 2]]) -> Vec<[f64; 2]> {
    let count = places.len();
    let rounds = (100_000_000 / (count * count).max(1)).clamp(20, 300);
    let wanted = 2.0 / (count as f64).sqrt().max(1.0);
    for round in 0..rounds {
        let mut forces = vec![[0.0_f64; 2]; count];
        for a in 0..count {
            for b in a + 1..count {
                let apart = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
                let push = wanted * wanted / (apart[0] * apart[0] + apart[1] * apart[1]).max(1e-6);
                add(&mut forces[a], push, apart);
                add(&mut forces[b], -push, apart);
            }
        }
        for &[a, b] in edges {
            let apart = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
            let pull = apart[0].hypot(apart[1]) / wanted;
            add(&mut forces[a], -pull, apart);
            add(&mut forces[b], pull, apart);
        }
        let longest = 0.1 * (1.0 - round as f64 / rounds as f64);
        for (place, force) in places.iter_mut().zip(forces) {
            let length = force[0].hypot(force[1]);
            let step = if length > longest { longest / length } else { 1.0 };
            place.iter_mut().zip(force).for_each(|(x, force)| *x += step * force);
        }
    }
    places
}

fn add(force: &mut [f64; 2], factor: f64, along: [f64; 2]) {
    force.iter_mut().zip(along).for_each(|(force, along)| *force += factor * along);
}

/// Scaled into the drawing.
fn fitted(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    const MARGIN: f64 = 36.0;
    let bounds = |axis: usize| {
        let along = places.iter().map(|place| place[axis]);
        along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let scaled = |[low, high]: [f64; 2], x: f64, size: f64| {
        let share = if high > low { (x - low) / (high - low) } else { 0.5 };
        MARGIN + share * (size - 2.0 * MARGIN)
    };
    let (across, down) = (bounds(0), bounds(1));
    places.iter().map(|&[x, y]| [scaled(across, x, WIDTH), scaled(down, y, HEIGHT)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_and_within_the_drawing() {
        let edges: Vec<[usize; 2]> = (0..29).map(|k| [k, k + 1]).collect();
        let first = (0..30).map(|k| [0.001 * f64::from(k), 0.0005 * f64::from(k * k % 7)]).collect();
        let places = fitted(&relaxed(first, &edges));
        assert!(places.iter().all(|[x, y]| (0.0..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y)));
        for a in 0..30 {
            for b in 0..a {
                assert!((places[a][0] - places[b][0]).hypot(places[a][1] - places[b][1]) > 10.0, "{a} {b}");
            }
        }
    }

    #[test]
    fn shades_go_from_best_to_worst() {
        assert_eq!([0.1, 0.2, 0.3].map(|misfit| shade(misfit, [0.1, 0.3])), [0, 3, 6]);
        assert_eq!(shade(0.1, [0.1, 0.1]), 0);
    }
}
