//! Line charts as SVG, below each other: values against a logarithmic axis.
//!
//! The horizontal axis is logarithmic with a tick at every given number; the vertical one
//! has ticks at round numbers around the values. Curves have markers, so that they can be
//! told apart without colour, and each point says its value when the pointer rests on it.
//! Values with a spread have bars; the curves of their chart stand a little beside each other, so
//! that bars can be told apart. The legend stands beside the first chart, where no curve can run
//! into it. The same values give the same text.

use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 470.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 570.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 400.0;
/// How far the first and last point stay from the edges of the chart.
const INSET: f64 = 24.0;
/// Half the size of a marker.
const MARKER: f64 = 4.5;
/// How far curves with bars stand beside each other.
const BESIDE: f64 = 5.0;
/// Half the width of the ends of a bar.
const BAR_END: f64 = 3.0;

/// Appends a line; memory takes every text.
macro_rules! line {
    ($svg:expr, $($text:tt)*) => { writeln!($svg, $($text)*).expect("memory takes every text") };
}

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The line above the chart.
    pub title: &'a str,
    /// What the horizontal axis is.
    pub x_label: &'a str,
    /// What the vertical axis is.
    pub y_label: &'a str,
    /// The places of the points, positive and ascending.
    pub x: Vec<usize>,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: &'static str,
    /// Its colour, as SVG spells it.
    pub colour: &'static str,
    /// The shape of its points.
    pub marker: Marker,
    /// Whether its line is dashed and its markers are hollow.
    pub dashed: bool,
    /// One value per place.
    pub values: Vec<f64>,
    /// How far up and down the bar of each value goes; empty for a curve without bars.
    pub spread: Vec<f64>,
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Marker {
    Circle,
    Square,
    Triangle,
}

/// The vertical axis: ticks at whole multiples of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    first: i64,
    last: i64,
    step: f64,
    decimals: usize,
}

/// Draws charts below each other; curves have the names of those in the first.
///
/// # Panics
/// If there is no chart, or a curve has not one value per place, or some spreads but not all.
pub fn draw(charts: &[Chart<'_>]) -> String {
    let height = HEIGHT * charts.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#333333\" \
         role=\"img\">\n<title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        title = escape(charts[0].title)
    );
    push_chart(&mut svg, &charts[0]);
    push_legend(&mut svg, &charts[0].curves);
    for (index, chart) in charts.iter().enumerate().skip(1) {
        line!(svg, "<g transform=\"translate(0 {})\">", HEIGHT * index as f64);
        push_chart(&mut svg, chart);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_chart(svg: &mut String, chart: &Chart<'_>) {
    let fits = |curve: &Curve| {
        let spreads = curve.spread.len();
        curve.values.len() == chart.x.len() && (spreads == 0 || spreads == chart.x.len())
    };
    assert!(chart.curves.iter().all(fits), "a value per place, and a spread or none");
    let ends = |curve: &Curve| -> Vec<f64> {
        let ends = |(place, &value): (usize, &f64)| {
            let spread = curve.spread.get(place).copied().unwrap_or(0.0);
            [value - spread, value + spread]
        };
        curve.values.iter().enumerate().flat_map(ends).collect()
    };
    let axis = Axis::around(chart.curves.iter().flat_map(ends));
    push_frame(svg, chart, &axis);
    let bars = chart.curves.iter().any(|curve| !curve.spread.is_empty());
    for (index, curve) in chart.curves.iter().enumerate() {
        let from_middle = index as f64 - (chart.curves.len() as f64 - 1.0) / 2.0;
        let beside = if bars { BESIDE * from_middle } else { 0.0 };
        push_curve(svg, curve, &chart.x, beside, &axis);
    }
}

/// Title, labels, grid and ticks.
fn push_frame(svg: &mut String, chart: &Chart<'_>, axis: &Axis) {
    let middle = (LEFT + RIGHT) / 2.0;
    text(svg, [middle, TOP - 24.0], "middle", "font-size=\"17\" font-weight=\"600\"", chart.title);
    text(svg, [middle, BOTTOM + 48.0], "middle", "", chart.x_label);
    let (x, y) = (LEFT - 56.0, (TOP + BOTTOM) / 2.0);
    text(svg, [x, y], "middle", &format!("transform=\"rotate(-90 {x} {y})\""), chart.y_label);
    for tick in axis.first..=axis.last {
        let value = tick as f64 * axis.step;
        let y = axis.place(value);
        line!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e2e2e2\"/>");
        text(svg, [LEFT - 10.0, y + 5.0], "end", "", &format!("{value:.*}", axis.decimals));
    }
    for &number in &chart.x {
        let x = place_on_log_axis(number, &chart.x);
        line!(svg, "<path d=\"M{x:.1} {BOTTOM}v6\" stroke=\"#333333\"/>");
        text(svg, [x, BOTTOM + 24.0], "middle", "", &number.to_string());
    }
    line!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#333333\"/>");
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, extra: &str, content: &str) {
    let space = if extra.is_empty() { "" } else { " " };
    let content = escape(content);
    line!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{space}{extra}>{content}</text>");
}

fn push_curve(svg: &mut String, curve: &Curve, x: &[usize], beside: f64, axis: &Axis) {
    let points: Vec<[f64; 2]> = curve
        .values
        .iter()
        .zip(x)
        .map(|(&value, &number)| [place_on_log_axis(number, x) + beside, axis.place(value)])
        .collect();
    push_line(svg, curve, &points);
    for (place, ((point, value), number)) in points.iter().zip(&curve.values).zip(x).enumerate() {
        let mut says = format!("{}, {number}: {value:.4}", curve.name);
        if let Some(spread) = curve.spread.get(place) {
            says += &format!(" ± {spread:.4}");
            push_bar(svg, curve, point[0], [value + spread, value - spread].map(|end| axis.place(end)));
        }
        push_marker(svg, curve, *point, Some(&says));
    }
}

/// The bar of a value, from one height to another, with short lines at its ends.
fn push_bar(svg: &mut String, curve: &Curve, x: f64, [top, bottom]: [f64; 2]) {
    let (left, width, colour) = (x - BAR_END, 2.0 * BAR_END, curve.colour);
    line!(
        svg,
        "<path class=\"bar\" d=\"M{left:.1} {top:.1}h{width}M{x:.1} {top:.1}V{bottom:.1}\
         M{left:.1} {bottom:.1}h{width}\" stroke=\"{colour}\"/>"
    );
}

fn push_line(svg: &mut String, curve: &Curve, points: &[[f64; 2]]) {
    let dashes = if curve.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
    let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
    let (points, colour) = (points.join(" "), curve.colour);
    line!(
        svg,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
    );
}

/// A marker: a point of the curve, which says its value, or part of the legend.
fn push_marker(svg: &mut String, curve: &Curve, [x, y]: [f64; 2], says: Option<&str>) {
    let (m, size) = (MARKER, 2.0 * MARKER);
    let fill = if curve.dashed { "#ffffff" } else { curve.colour };
    let style = format!("fill=\"{fill}\" stroke=\"{}\" stroke-width=\"2\"", curve.colour);
    let (name, shape) = match curve.marker {
        Marker::Circle => ("circle", format!("cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{m}\"")),
        Marker::Square => {
            let (left, top) = (x - m, y - m);
            ("rect", format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{size}\" height=\"{size}\""))
        }
        Marker::Triangle => {
            let (top, left) = (y - m - 1.0, x - m - 0.5);
            ("path", format!("d=\"M{x:.1} {top:.1}L{left:.1} {:.1}h{}z\"", y + m, size + 1.0))
        }
    };
    match says {
        None => line!(svg, "<{name} {shape} {style}/>"),
        Some(says) => {
            line!(svg, "<{name} class=\"point\" {shape} {style}><title>{}</title></{name}>", escape(says))
        }
    }
}

fn push_legend(svg: &mut String, curves: &[Curve]) {
    let left = RIGHT + 28.0;
    for (index, curve) in curves.iter().enumerate() {
        let y = TOP + 20.0 + 26.0 * index as f64;
        push_line(svg, curve, &[[left, y], [left + 36.0, y]]);
        push_marker(svg, curve, [left + 18.0, y], None);
        text(svg, [left + 46.0, y + 5.0], "start", "", curve.name);
    }
}

/// Where a number stands on the horizontal axis.
fn place_on_log_axis(number: usize, all: &[usize]) -> f64 {
    let log = |number: Option<&usize>| (number.copied().unwrap_or(1).max(1) as f64).log2();
    let (first, last) = (log(all.first()), log(all.last()));
    let share = if last > first { (log(Some(&number)) - first) / (last - first) } else { 0.5 };
    LEFT + INSET + share * (RIGHT - LEFT - 2.0 * INSET)
}

impl Axis {
    /// Round numbers around some values, some five of them.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let rough = ((high - low) / 5.0).max(1e-3);
        let power = 10_f64.powi(rough.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        Self { first, last: last.max(first + 1), step, decimals }
    }

    /// Where a value stands.
    fn place(&self, value: f64) -> f64 {
        let share = (value / self.step - self.first as f64) / (self.last - self.first) as f64;
        BOTTOM - share * (BOTTOM - TOP)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(marker: Marker, dashed: bool, values: &[f64]) -> Curve {
        let (name, colour, values) = ("full & more", "#333333", values.to_vec());
        Curve { name, colour, marker, dashed, values, spread: vec![] }
    }

    fn chart(x: &[usize], curves: Vec<Curve>) -> String {
        let (title, x_label, y_label) = ("\"a\" < b", "d", "AUC");
        draw(&[Chart { title, x_label, y_label, x: x.to_vec(), curves }])
    }

    /// Walks through all tags: each is closed in order, and quotes of attributes are even.
    fn is_well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let Some((tag, content)) = part.split_once('>') else { return false };
            let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap_or_default();
            let sound = tag.matches('"').count() % 2 == 0 && !content.contains('>');
            let nested = match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => open.pop() == Some(name),
                (_, true) => true,
                _ => {
                    open.push(name);
                    true
                }
            };
            if !sound || !nested {
                return false;
            }
        }
        open.is_empty()
    }

    #[test]
    fn every_curve_has_a_point_per_place() {
        let values = [0.8, 0.9, 0.99];
        let markers = [Marker::Circle, Marker::Square, Marker::Triangle];
        let curves: Vec<Curve> =
            markers.map(|marker| curve(marker, marker == Marker::Square, &values)).to_vec();
        let svg = chart(&[2, 8, 128], curves);
        assert!(is_well_formed(&svg), "{svg}");
        assert_eq!(svg.matches("class=\"point\"").count(), 9);
        assert_eq!(svg.matches("<polyline").count(), 3 + 3);
        assert!(svg.contains("&quot;a&quot; &lt; b") && svg.contains("full &amp; more, 128: 0.9900"));
        assert!(!is_well_formed(&svg.replace("</svg>", "")));
    }

    #[test]
    fn a_chart_of_one_place_or_none_is_drawn() {
        for x in [&[16][..], &[]] {
            let svg = chart(x, vec![curve(Marker::Circle, false, &vec![0.5; x.len()])]);
            assert!(is_well_formed(&svg) && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn charts_below_each_other_have_one_legend_and_bars_that_fit() {
        let plain = curve(Marker::Circle, false, &[0.8, 0.9]);
        let barred = Curve { spread: vec![0.05, 0.15], ..plain.clone() };
        let chart = |curves| Chart { title: "t", x_label: "d", y_label: "y", x: vec![2, 4], curves };
        let one = draw(&[chart(vec![plain.clone()])]);
        let two = draw(&[chart(vec![plain]), chart(vec![barred.clone(), barred])]);
        assert!(is_well_formed(&two), "{two}");
        assert_eq!((one.matches("class=\"bar\"").count(), two.matches("class=\"bar\"").count()), (0, 4));
        // Three curves, and one line of the legend.
        assert_eq!(two.matches("<polyline").count(), 4);
        assert!(two.contains("viewBox=\"0 0 860 940\"") && two.contains("translate(0 470)"), "{two}");
        assert!(two.contains("full &amp; more, 4: 0.9000 ± 0.1500"), "{two}");
        let axis = Axis::around([0.75, 1.05].into_iter());
        assert!(axis.place(1.05) >= TOP && axis.place(0.75) <= BOTTOM);
    }

    #[test]
    fn doubling_is_a_constant_step() {
        let places = [2, 4, 8].map(|number| place_on_log_axis(number, &[2, 4, 8]));
        assert!((places[1] - places[0] - (places[2] - places[1])).abs() < 1e-9);
        assert_eq!((places[0], places[2]), (LEFT + INSET, RIGHT - INSET));
    }

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let axis = Axis::around([0.811, 0.999].into_iter());
        assert_eq!((axis.first, axis.last, axis.decimals), (16, 20, 2));
        assert!((axis.step - 0.05).abs() < 1e-12);
        assert!(axis.place(0.999) >= TOP && axis.place(0.811) <= BOTTOM);
        assert!(axis.place(0.9) < axis.place(0.85));
        let flat = Axis::around([1.0, 1.0].into_iter());
        assert!(flat.last > flat.first);
    }
}
