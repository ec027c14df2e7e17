//! Charts as SVG. Colours come from the style sheet of the page, by class, so that they follow light and dark;
//! every mark says its value when the pointer rests on it.

use crate::html::escaped;

/// Appends text; memory takes every text.
macro_rules! put {
    ($to:expr, $($text:tt)*) => {
        ::std::fmt::Write::write_fmt(&mut $to, format_args!($($text)*)).expect("memory takes every text")
    };
}

pub(crate) use put;

/// A number as SVG takes it: two digits after the point, no more than needed.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A chart of a size, which shrinks with the page.
pub(crate) fn svg(width: f64, height: f64, label: &str, content: &str) -> String {
    format!(
        "<svg class=chart viewBox=\"0 0 {} {}\" width={} role=img aria-label=\"{}\">{content}</svg>",
        short(width),
        short(height),
        short(width),
        escaped(label)
    )
}

/// A value with its spread, and who has it.
pub(crate) struct Dot {
    pub(crate) name: &'static str,
    /// The class of the mark: `own` for the result, else `other`.
    pub(crate) class: &'static str,
    pub(crate) value: f64,
    pub(crate) spread: Option<f64>,
}

/// Values beside each other on one axis, a line each, with bars for their spread.
pub(crate) fn dots(title: &str, dots: &[Dot]) -> String {
    const LEFT: f64 = 130.0;
    const RIGHT: f64 = 330.0;
    const LINE: f64 = 24.0;
    let low = dots.iter().map(|dot| dot.value - dot.spread.unwrap_or(0.0)).fold(f64::INFINITY, f64::min);
    let high = dots.iter().map(|dot| dot.value + dot.spread.unwrap_or(0.0)).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (low - 0.05 * (high - low) - 1e-3, high + 0.05 * (high - low) + 1e-3);
    let x = |value: f64| LEFT + (value - low) / (high - low) * (RIGHT - LEFT);
    let bottom = LINE * (dots.len() as f64 + 1.0) + 4.0;
    let mut content = format!("<text class=title x=0 y=14>{}</text>", escaped(title));
    for tick in ticks(low, high, 4) {
        let (x, y) = (short(x(tick)), short(bottom));
        put!(content, "<path class=grid d=\"M{x} 22V{y}\"/>");
        put!(
            content,
            "<text class=tick x={x} y={} text-anchor=middle>{}</text>",
            short(bottom + 14.0),
            short_tick(tick)
        );
    }
    for (line, dot) in dots.iter().enumerate() {
        let y = LINE * (line as f64 + 1.5);
        let (place, class) = (x(dot.value), dot.class);
        let spread = dot.spread.map_or(String::new(), |spread| format!(" ± {spread:.3}"));
        put!(content, "<g class={class}><title>{}: {:.3}{spread}</title>", dot.name, dot.value);
        put!(
            content,
            "<text x={} y={} text-anchor=end>{}</text>",
            short(LEFT - 10.0),
            short(y + 4.0),
            dot.name
        );
        if let Some(spread) = dot.spread {
            let (from, to) = (short(x(dot.value - spread)), short(x(dot.value + spread)));
            put!(content, "<path class=bar d=\"M{from} {y}H{to}\"/>", y = short(y));
        }
        put!(content, "<circle cx={} cy={} r=5 />", short(place), short(y));
        put!(
            content,
            "<text class=value x={} y={}>{:.3}{spread}</text></g>",
            short(RIGHT + 14.0),
            short(y + 4.0),
            dot.value
        );
    }
    svg(440.0, bottom + 22.0, title, &content)
}

/// How often values fall into bins of equal width.
pub(crate) fn histogram(title: &str, axis: &str, values: &[f32], bins: usize) -> String {
    let most = values.iter().copied().fold(0.0_f32, f32::max);
    let width = f64::from(if most > 0.0 { most } else { 1.0 }) / bins as f64;
    let mut counts = vec![0_usize; bins];
    for &value in values {
        counts[((f64::from(value) / width) as usize).min(bins - 1)] += 1;
    }
    let named = |bin: usize| format!("{:.3} to {:.3}", bin as f64 * width, (bin + 1) as f64 * width);
    let bars: Vec<(String, f64)> =
        counts.iter().enumerate().map(|(bin, &count)| (named(bin), count as f64)).collect();
    columns(title, axis, &bars, [0.0, width * bins as f64])
}

/// Columns side by side; the axis below goes evenly over a range.
pub(crate) fn columns(title: &str, axis: &str, bars: &[(String, f64)], range: [f64; 2]) -> String {
    const WIDTH: f64 = 420.0;
    const HEIGHT: f64 = 150.0;
    let highest = bars.iter().map(|&(_, value)| value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let step = WIDTH / bars.len().max(1) as f64;
    let mut content = format!("<text class=title x=0 y=14>{}</text>", escaped(title));
    for (place, (name, value)) in bars.iter().enumerate() {
        let height = value / highest * (HEIGHT - 34.0);
        let (x, y) = (short(place as f64 * step), short(HEIGHT - height));
        let (width, height) = (short((step - 1.0).max(0.6)), short(height));
        let told = if *value >= 10.0 { format!("{value:.0}") } else { format!("{value:.4}") };
        put!(
            content,
            "<rect class=column x={x} y={y} width={width} height={height}><title>{name}: {told}</title></rect>"
        );
    }
    put!(content, "<path class=axis d=\"M0 {HEIGHT}H{WIDTH}\"/>");
    for tick in ticks(range[0], range[1], 5) {
        let x = (tick - range[0]) / (range[1] - range[0]) * WIDTH;
        put!(
            content,
            "<text class=tick x={} y={} text-anchor=middle>{}</text>",
            short(x),
            short(HEIGHT + 14.0),
            short_tick(tick)
        );
    }
    put!(
        content,
        "<text class=tick x={} y={} text-anchor=end>{}</text>",
        short(WIDTH),
        short(HEIGHT + 30.0),
        escaped(axis)
    );
    svg(WIDTH + 10.0, HEIGHT + 34.0, title, &content)
}

/// A curve without axes, as wide as a cell of a table.
pub(crate) fn sparkline(values: &[f64], label: &str) -> String {
    let line = polyline(values, [160.0, 30.0], range_of([values].into_iter()));
    svg(160.0, 32.0, label, &format!("<title>{}</title><path class=curve d=\"{line}\"/>", escaped(label)))
}

/// The least and the largest of all finite values.
pub(crate) fn range_of<'a>(curves: impl Iterator<Item = &'a [f64]>) -> [f64; 2] {
    let values = curves.flatten().copied().filter(|value| value.is_finite());
    let [low, high] = values
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
    if low < high { [low, high] } else { [low - 0.5, low + 0.5] }
}

/// The path of values over a width and a height; of many some are left out.
pub(crate) fn polyline(values: &[f64], [width, height]: [f64; 2], [low, high]: [f64; 2]) -> String {
    const MOST: usize = 120;
    let last = values.len().saturating_sub(1).max(1);
    let count = values.len().min(MOST);
    let mut path = String::new();
    for k in 0..count {
        let at = if count > 1 { k * (values.len() - 1) / (count - 1) } else { 0 };
        if values[at].is_finite() {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let (x, y) = (at as f64 / last as f64 * width, (high - values[at]) / (high - low) * height + 1.0);
            put!(path, "{letter}{} {}", short(x), short(y));
        }
    }
    path
}

/// Round numbers within a range, about so many.
pub(crate) fn ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let rough = (high - low) / wanted as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|&step| step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|&tick| tick <= high + 1e-9 * step).collect()
}

fn short_tick(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.783, 0.84, 3), [0.8, 0.8200000000000001, 0.84]);
        assert!(ticks(1.0, 1.0, 3).is_empty());
    }

    #[test]
    fn curves_have_few_points_and_no_nan() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(polyline(&values, [10.0, 10.0], [0.0, 999.0]).matches(['M', 'L']).count(), 120);
        assert_eq!(polyline(&[1.0, f64::NAN, 0.0], [10.0, 10.0], [0.0, 1.0]), "M0 1L10 11");
    }

    #[test]
    fn titles_are_text() {
        assert!(
            dots("<b>", &[Dot { name: "a", class: "own", value: 0.5, spread: None }]).contains("&lt;b&gt;")
        );
        assert_eq!(histogram("", "", &[0.1, 0.2, 1.0], 2).matches("<rect").count(), 2);
    }
}
