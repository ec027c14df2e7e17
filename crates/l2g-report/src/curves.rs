//! How training went: the losses of all patches in one chart, the worst and the slowest in tables.

use crate::charts::{polyline, put, range_of, short, sparkline, svg};
use crate::html::{Column, escaped, grouped, percent, seconds, table};
use crate::story::{Story, Training};

/// How many patches each table lists.
const LISTED: usize = 8;

/// The most curves in the chart.
const DRAWN: usize = 100;

/// The section about training.
pub(crate) fn section(story: &Story) -> String {
    let training = &story.training;
    let mut html = String::new();
    for choice in &story.choices {
        let (setting, chosen) = (escaped(&choice.setting), escaped(&choice.chosen));
        put!(html, "<p>Chosen: <code>embed.{setting} = {chosen}</code>. {}.</p>", escaped(&choice.reason));
    }
    if training.is_empty() {
        html.push_str("<p class=missing>The coordinates of the patches come from another program.</p>");
        return html;
    }
    if let Some(chart) = all_curves(training) {
        put!(
            html,
            "<figure>{chart}<figcaption>The loss of {} patches over the epochs; the red curve is the patch \
             with the lowest AUC.</figcaption></figure>",
            grouped(training.len())
        );
    } else {
        html.push_str("<p>The method has no epochs, so there are no losses to draw.</p>");
    }
    html.push_str("<div class=columns>");
    html.push_str(&list("Lowest AUC first", training, |one| one.auc.map(|auc| -auc)));
    html.push_str(&list("Slowest first", training, |one| one.seconds));
    html.push_str("</div>");
    html
}

/// A chart of all curves; none if there are no losses.
fn all_curves(training: &[Training]) -> Option<String> {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 190.0;
    let with_losses: Vec<&Training> = training.iter().filter(|one| one.losses.len() > 1).collect();
    let worst = with_losses.iter().copied().min_by(|a, b| {
        let auc = |one: &Training| one.auc.unwrap_or(f64::INFINITY);
        auc(a).total_cmp(&auc(b))
    })?;
    let step = with_losses.len().div_ceil(DRAWN);
    let drawn: Vec<&Training> = with_losses.iter().copied().step_by(step).chain([worst]).collect();
    let range = range_of(drawn.iter().map(|one| one.losses.as_slice()));
    let mut content = String::new();
    for (place, one) in drawn.iter().enumerate() {
        let class = if place + 1 == drawn.len() { "curve worst" } else { "curve faint" };
        let line = polyline(&one.losses, [WIDTH - 50.0, HEIGHT - 30.0], range);
        put!(
            content,
            "<path class=\"{class}\" transform=\"translate(44 4)\" d=\"{line}\"><title>{}</title></path>",
            escaped(&one.patch)
        );
    }
    for (y, value) in [(12.0, range[1]), (HEIGHT - 24.0, range[0])] {
        put!(content, "<text class=tick x=38 y={} text-anchor=end>{value:.3}</text>", short(y));
    }
    put!(content, "<path class=axis d=\"M44 4V{0}H{WIDTH}\"/>", short(HEIGHT - 25.0));
    put!(
        content,
        "<text class=tick x={WIDTH} y={} text-anchor=end>{} epochs</text>",
        short(HEIGHT - 8.0),
        worst.losses.len()
    );
    Some(svg(WIDTH, HEIGHT, "losses of the patches", &content))
}

/// The first patches by a key, largest first; those without one are left out.
fn list(title: &str, training: &[Training], key: impl Fn(&Training) -> Option<f64>) -> String {
    let mut ranked: Vec<(f64, &Training)> =
        training.iter().filter_map(|one| Some((key(one)?, one))).collect();
    if ranked.is_empty() {
        return String::new();
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let row = |&(_, one): &(f64, &Training)| {
        let curve = if one.losses.len() > 1 {
            sparkline(&one.losses, &format!("losses of {}", one.patch))
        } else {
            "–".into()
        };
        vec![
            escaped(&one.patch).into_owned(),
            grouped(one.nodes),
            grouped(one.edges),
            one.seconds.map_or("–".into(), seconds),
            one.auc.map_or("–".into(), percent),
            curve,
        ]
    };
    let rows: Vec<_> = ranked.iter().take(LISTED).map(row).collect();
    let heading = [
        ("patch", Column::Text),
        ("nodes", Column::Number),
        ("edges", Column::Number),
        ("time", Column::Number),
        ("AUC", Column::Number),
        ("losses", Column::Text),
    ];
    format!("<div><h3>{title}</h3>{}</div>", table(&heading, &rows))
}
