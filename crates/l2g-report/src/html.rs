//! Text of others inside a page, and tables.

use std::borrow::Cow;

/// Text that a browser shows as it is, between tags and in attributes.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    Cow::Owned(safe)
}

/// JSON that can stand inside a script element, whatever its strings hold.
pub(crate) fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Where the cells of a column stand.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Column {
    Text,
    Number,
}

/// A table; cells are HTML already.
pub(crate) fn table(heading: &[(&str, Column)], rows: &[Vec<String>]) -> String {
    let class = |column: Column| if column == Column::Number { " class=number" } else { "" };
    let head: String =
        heading.iter().map(|&(name, column)| format!("<th scope=col{}>{name}</th>", class(column))).collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(heading);
        let cells = cells.map(|(cell, &(_, column))| format!("<td{}>{cell}</td>", class(column)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let body: String = rows.iter().map(line).collect();
    format!("<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>")
}

/// A number with a thin space between thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Bytes in the largest unit that keeps the number above 1.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0);
    format!("{value:.decimals$} {}", units[unit])
}

/// Seconds to three digits.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 10.0 => format!("{seconds:.2} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.1} min", seconds / 60.0),
    }
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escaped("<script>alert(\"a\" & 'b')</script>"),
            "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;"
        );
        assert_eq!(escaped("größer 雪"), "größer 雪");
    }

    #[test]
    fn json_cannot_end_its_element() {
        let text = json(&serde_json::json!({ "a": "</script><!--\u{2028}" }));
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["a"], "</script><!--\u{2028}");
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!([bytes(512), bytes(3 << 20)], ["512 B", "3.0 MiB"]);
        assert_eq!([seconds(1.234), seconds(61.0), seconds(600.0)], ["1.23 s", "61 s", "10.0 min"]);
    }
}
