//! The tasks as tables and as panels of a figure: reconstruction, links, classes.
//!
//! Every task is one [`Panel`]. With reconstruction alone, as in the paper, there is one table and
//! one chart; otherwise each table has a heading, and charts with bars for the spread stand below
//! each other.

use std::path::Path;

use super::svg::{Chart, Curve, Marker, draw};
use super::{Curves, Row, Table};
use crate::evaluate::Spread;

/// The curves: name, colour, marker, whether it is the paper's setting. Colours are those
/// of Okabe and Ito, which colour-blind people can tell apart.
const CURVES: [(&str, &str, Marker, bool); 5] = [
    ("full", "#333333", Marker::Circle, false),
    ("l2g", "#d55e00", Marker::Square, false),
    ("no-trans", "#0072b2", Marker::Triangle, false),
    ("l2g, as in the paper", "#d55e00", Marker::Square, true),
    ("no-trans, as in the paper", "#0072b2", Marker::Triangle, true),
];

/// One task with its scores.
struct Panel {
    /// The line above its table.
    heading: String,
    /// The line above its chart.
    title: String,
    y_label: &'static str,
    /// Dimensions with their scores in the order of the curves.
    rows: Vec<(usize, [Spread; 5])>,
}

impl Panel {
    /// The scores as a Markdown table.
    fn to_markdown(&self) -> String {
        let names = std::iter::once("d").chain(CURVES.map(|curve| curve.0)).map(str::to_owned).collect();
        let cells = |(dim, scores): &(usize, [Spread; 5])| -> Vec<String> {
            std::iter::once(dim.to_string()).chain(scores.map(cell)).collect()
        };
        let lines: Vec<Vec<String>> = std::iter::once(names).chain(self.rows.iter().map(cells)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: Vec<usize> = (0..=CURVES.len()).map(|column| width(column).unwrap_or(0).max(6)).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width - 1) + ":").collect();
        let mut text = line(&lines[0]) + &line(&rule);
        lines[1..].iter().for_each(|cells| text += &line(cells));
        text
    }

    fn chart(&self) -> Chart<'_> {
        let curve = |index: usize| {
            let (name, colour, marker, dashed) = CURVES[index];
            let scores = || self.rows.iter().map(move |(_, scores)| scores[index]);
            let spread: Option<Vec<f64>> = scores().map(|score| score.std).collect();
            let values = scores().map(|score| score.mean).collect();
            Curve { name, colour, marker, dashed, values, spread: spread.unwrap_or_default() }
        };
        Chart {
            title: &self.title,
            x_label: "embedding dimension d",
            y_label: self.y_label,
            x: self.rows.iter().map(|&(dim, _)| dim).collect(),
            curves: (0..CURVES.len()).map(curve).collect(),
        }
    }
}

/// The mean, with its spread if there is one.
fn cell(score: Spread) -> String {
    let std = score.std.map_or(String::new(), |std| format!(" ± {std:.4}"));
    format!("{:.4}{std}", score.mean)
}

impl Table {
    /// The tasks that were scored.
    fn panels(&self) -> Vec<Panel> {
        let runs = if self.runs == 1 { "one run" } else { &format!("best of {} runs", self.runs) };
        let name = Path::new(&self.graph).file_name().unwrap_or_default().to_string_lossy();
        let exact =
            |row: &Row| (row.dim, row.reconstruction.in_order().map(|mean| Spread { mean, std: None }));
        let mut panels = vec![Panel {
            heading: "Reconstruction, AUC:".into(),
            title: format!("{name}: {runs}, {} patches", self.ours.patches),
            y_label: "reconstruction AUC",
            rows: self.rows.iter().map(exact).collect(),
        }];
        let over = match self.splits.len() {
            1 => "one split of the edges".to_owned(),
            count => format!("mean ± standard deviation over {count} splits of the edges"),
        };
        let mut push = |task: &str, y_label, of: fn(&Row) -> Option<Curves<Spread>>| {
            let scored = self.rows.iter().filter_map(|row| Some((row.dim, of(row)?.in_order())));
            let rows: Vec<_> = scored.collect();
            if !rows.is_empty() {
                let heading = format!("{task}, {over}:");
                panels.push(Panel { heading, title: format!("{name}: {over}"), y_label, rows });
            }
        };
        push("Link prediction, AUC", "link prediction AUC", |row| row.link_prediction);
        push("Classification, accuracy", "classification accuracy", |row| row.classification);
        panels
    }

    /// The scores as Markdown tables, one for each task.
    ///
    /// ```text
    /// |   d | full   | l2g    | no-trans | l2g, as in the paper | no-trans, as in the paper |
    /// | --: | -----: | -----: | -------: | -------------------: | ------------------------: |
    /// |  16 | 0.9957 | 0.9912 |   0.9500 |               0.9811 |                    0.9479 |
    /// ```
    pub fn to_markdown(&self) -> String {
        match &self.panels()[..] {
            [only] => only.to_markdown(),
            panels => {
                let parts =
                    panels.iter().map(|panel| format!("{}\n\n{}", panel.heading, panel.to_markdown()));
                parts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The scores as a figure in the manner of the paper's, in SVG, with a chart for each task.
    pub fn figure(&self) -> String {
        let panels = self.panels();
        draw(&panels.iter().map(Panel::chart).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;

    #[test]
    fn the_table_lines_up() {
        let text = table(0).to_markdown();
        assert!(text.ends_with(
            "|     16 | 0.9957 | 0.9912 |   0.9500 |               0.9811 |                    0.9479 |\n"
        ));
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.iter().all(|&width| width == widths[0]) && widths.len() == 4, "{text}");
    }

    #[test]
    fn every_task_has_a_table_with_its_spread() {
        let text = table(3).to_markdown();
        let parts: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(parts.len(), 6, "{text}");
        assert_eq!((parts[0], parts[1]), ("Reconstruction, AUC:", table(0).to_markdown().trim_end()));
        assert_eq!(parts[2], "Link prediction, AUC, mean ± standard deviation over 3 splits of the edges:");
        assert!(parts[3].contains("|     16 | 0.9000 ± 0.0000 | 0.8750 ± 0.1250 |"), "{text}");
        for part in [parts[3], parts[5].trim_end()] {
            let widths: Vec<usize> = part.lines().map(|line| line.chars().count()).collect();
            assert!(widths.iter().all(|&width| width == widths[0]) && widths.len() == 4, "{part}");
        }
        let one = table(1).to_markdown();
        assert!(one.contains("accuracy, one split of the edges:") && !one.contains('±'), "{one}");
    }

    #[test]
    fn the_figure_has_a_point_per_dimension_curve_and_task() {
        let points = |splits| table(splits).figure().matches("class=\"point\"").count();
        assert_eq!([0, 1, 3].map(points), [1, 3, 3].map(|tasks| 2 * CURVES.len() * tasks));
        let figure = table(3).figure();
        assert!(figure.contains("a&lt;b: best of 10 runs, 10 patches"));
        assert!(figure.contains("l2g, 16: 0.8750 ± 0.1250"), "{figure}");
    }
}
