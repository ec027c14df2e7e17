//! What was done, and how good it is: the stages in a table, the scores in charts.

use local2global::evaluate::{ByContender, Contender, Spread};
use local2global::pipeline::StageName;

use crate::charts::{Dot, columns, dots, histogram, put};
use crate::html::{Column, bytes, escaped, grouped, percent, seconds, table};
use crate::nodes::Nodes;
use crate::story::{StageStory, Story};

/// A handful of figures about the run.
pub(crate) fn figures(story: &Story) -> String {
    let graph = &story.graph;
    let mut figures = vec![("nodes", grouped(graph.nodes)), ("edges", grouped(graph.edges))];
    if graph.features > 0 {
        figures.push(("features", grouped(graph.features)));
    }
    if graph.classes > 0 {
        figures.push(("classes", grouped(graph.classes)));
    }
    figures.extend(story.patches.as_ref().map(|patches| ("patches", grouped(patches.patches))));
    figures.extend(story.alignment.as_ref().map(|found| ("dimensions", grouped(found.dim))));
    figures.extend(story.alignment.as_ref().map(|found| ("misfit", percent(found.misfit_after))));
    let figure = |(name, value): (&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    format!("<dl class=figures>{}</dl>", figures.into_iter().map(figure).collect::<String>())
}

/// The section about what was done.
pub(crate) fn done(story: &Story) -> String {
    let heading = [
        ("stage", Column::Text),
        ("what came out", Column::Text),
        ("time", Column::Number),
        ("peak memory", Column::Number),
        ("on disk", Column::Number),
    ];
    let total: f64 = story.stages.iter().filter_map(|stage| Some(stage.stamp.as_ref()?.seconds)).sum();
    let size: u64 = story.stages.iter().map(|stage| stage.bytes).sum();
    let peak = story.stages.iter().filter_map(|stage| stage.stamp.as_ref()?.peak_bytes).max();
    let mut rows: Vec<Vec<String>> = story.stages.iter().map(|stage| row(story, stage)).collect();
    rows.push(vec!["all".into(), String::new(), seconds(total), memory(peak), bytes(size)]);
    let mut html = table(&heading, &rows);
    html.push_str("<p class=note>Peak memory is that of the program so far when a stage was over.</p>");
    let versions: std::collections::BTreeSet<&str> =
        story.stages.iter().filter_map(|stage| Some(stage.stamp.as_ref()?.inputs.version())).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    put!(
        html,
        "<p>Made by local2global {}; this page by {}. Again, to the byte:</p>\
         <pre class=command><code>l2g run --config {}/run.toml</code></pre>",
        escaped(&versions.join(" and ")),
        env!("CARGO_PKG_VERSION"),
        escaped(&story.folder)
    );
    if let Some(settings) = &story.settings {
        put!(
            html,
            "<details><summary>All settings (run.toml)</summary><pre><code>{}</code></pre></details>",
            escaped(settings)
        );
    }
    html
}

fn row(story: &Story, stage: &StageStory) -> Vec<String> {
    let time = stage.stamp.as_ref().map_or_else(
        || if stage.bytes > 0 { "not finished here".to_owned() } else { "not done".to_owned() },
        |stamp| seconds(stamp.seconds),
    );
    let peak = stage.stamp.as_ref().and_then(|stamp| stamp.peak_bytes);
    vec![stage.stage.name().into(), outcome(story, stage.stage), time, memory(peak), bytes(stage.bytes)]
}

fn memory(peak: Option<u64>) -> String {
    peak.map_or("–".into(), bytes)
}

/// What a stage came to, in words.
fn outcome(story: &Story, stage: StageName) -> String {
    let graph = &story.graph;
    match stage {
        StageName::Graph => format!("{} nodes, {} edges", grouped(graph.nodes), grouped(graph.edges)),
        StageName::Partition => story.patches.as_ref().map_or(String::new(), |patches| {
            format!(
                "{} clusters, {} of the edges between them",
                grouped(patches.patches),
                percent(patches.cut)
            )
        }),
        StageName::Patch => story.patches.as_ref().map_or(String::new(), |patches| {
            let smallest = patches.sizes.iter().min().copied().unwrap_or(0);
            let largest = patches.sizes.iter().max().copied().unwrap_or(0);
            format!(
                "patches of {} to {} nodes; a node is in {:.1} of them on average",
                grouped(smallest),
                grouped(largest),
                patches.copies()
            )
        }),
        StageName::Embed => match story.training.len() {
            0 => String::new(),
            count => format!("{} patches trained", grouped(count)),
        },
        StageName::Align => story.alignment.as_ref().map_or(String::new(), |found| {
            format!(
                "{} patches, misfit {} before and {} after",
                grouped(found.patches),
                percent(found.misfit_before),
                percent(found.misfit_after)
            )
        }),
        StageName::Evaluate => story.scores.as_ref().map_or(String::new(), |scores| {
            let told = scores.auc.get(&Contender::L2g);
            told.map_or(String::new(), |auc| format!("reconstruction AUC {auc:.3}"))
        }),
    }
}

/// The section about scores.
pub(crate) fn scores(story: &Story) -> String {
    let Some(scores) = &story.scores else {
        return "<p class=missing>The embedding has not been scored: <code>l2g evaluate</code> does so.</p>"
            .into();
    };
    let mut html = String::new();
    if !scores.findings.is_empty() {
        let items = scores.findings.iter().map(|finding| format!("<li>{}</li>", escaped(finding)));
        put!(html, "<ul class=findings>{}</ul>", items.collect::<String>());
    }
    html.push_str("<div class=charts>");
    let mut chart = |title: &str, values: Vec<Dot>| {
        if !values.is_empty() {
            html.push_str(&dots(title, &values));
        }
    };
    if let Some(links) = &scores.link_prediction {
        let best = links.uniform.best.iter().map(|(&contender, best)| (contender, best.auc));
        chart("Link prediction: AUC on held-out edges", single(best));
        if let Some(matched) = &links.matched {
            let best = matched.best.iter().map(|(&contender, best)| (contender, best.auc));
            chart("The same against non-edges of like degree", single(best));
        }
    }
    if let Some(classes) = &scores.classification {
        chart("Classification: accuracy", spreads(&classes.accuracy));
        chart("Classification: macro F1", spreads(&classes.macro_f1));
    }
    if let Some(pairs) = &scores.reconstruction {
        chart("Reconstruction: AUC on all edges", single(pairs.auc.iter().map(|(&who, &auc)| (who, auc))));
    }
    html.push_str("</div><p class=note>AUC is how often an edge scores above a non-edge: 0.5 is guessing, 1 perfect. \
        <b>Stitched</b> is the result; <b>unaligned</b> the same patches averaged without moving them; \
        <b>untrained</b> the model before training; <b>smoothed features</b> features averaged over neighbours, \
        twice.</p>");
    for (task, reason) in &scores.left_out {
        put!(html, "<p class=note>Left out: {} ({}).</p>", task.name(), escaped(reason));
    }
    html
}

fn dot(contender: Contender, value: f64, spread: Option<f64>) -> Dot {
    let class = if contender == Contender::L2g { "own" } else { "other" };
    Dot { name: contender.name(), class, value, spread }
}

fn single(values: impl Iterator<Item = (Contender, f64)>) -> Vec<Dot> {
    values.map(|(contender, value)| dot(contender, value, None)).collect()
}

fn spreads(values: &ByContender<Spread>) -> Vec<Dot> {
    values.iter().map(|(&contender, spread)| dot(contender, spread.mean, spread.std)).collect()
}

/// The section about how well copies agree.
pub(crate) fn agreement(story: &Story, nodes: &Nodes) -> String {
    let mut html = String::from("<div class=charts>");
    let copies: Vec<f32> = nodes.spread.iter().flatten().copied().filter(|&spread| spread > 0.0).collect();
    if !copies.is_empty() {
        html.push_str(&histogram(
            &format!("Distance between the copies of a node ({} nodes with several)", grouped(copies.len())),
            "root mean square distance from their centre",
            &copies,
            40,
        ));
    }
    let found = story.alignment.as_ref();
    if let Some(found) = found.filter(|found| !found.eigenvalues.is_empty()) {
        let name = |k: usize| format!("eigenvalue {}", k + 1);
        let bars: Vec<(String, f64)> =
            found.eigenvalues.iter().enumerate().map(|(k, &value)| (name(k), value)).collect();
        html.push_str(&columns(
            "Leading eigenvalues of the patch graph",
            "number",
            &bars,
            [0.0, bars.len() as f64],
        ));
    }
    html.push_str("</div>");
    if let Some(found) = found {
        html.push_str(&eigenvalues_in_words(found));
    }
    html
}

fn eigenvalues_in_words(found: &local2global::align::diagnostics::Diagnostics) -> String {
    match (
        found.eigenvalues.first(),
        found.eigenvalues.get(found.dim.saturating_sub(1)),
        found.eigenvalues.get(found.dim),
    ) {
        (Some(first), Some(last), Some(next)) => format!(
            "<p class=note>Rotations that agree everywhere have {} eigenvalues of 1. Here they go from {first:.4} to \
             {last:.4}; the next is {next:.4}, a gap of {:.4}.</p>",
            found.dim,
            last - next
        ),
        (Some(first), Some(last), None) => format!(
            "<p class=note>Rotations that agree everywhere have {} eigenvalues of 1. Here they go from {first:.4} to \
             {last:.4}.</p>",
            found.dim
        ),
        _ => "<p class=note>Rotations did not come from eigenvectors here, so there are none to show.</p>"
            .into(),
    }
}
