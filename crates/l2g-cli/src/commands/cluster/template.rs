//! Texts with places in braces, such as `{JOBS}`.

/// Fills in places. Braces around anything else stay: shells have them too.
pub(super) fn filled(template: &str, places: &[(&str, String)]) -> String {
    let fill = |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    places.iter().fold(template.to_owned(), fill)
}

/// A word as shells read it back.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A text as YAML reads it back.
pub(super) fn in_yaml(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_braces_of_shells_stay() {
        let places = [("JOBS", "8".to_owned()), ("RUN", quoted("my runs/it's"))];
        let text = filled("${L2G:-l2g} {JOBS} {RUN} '{}'", &places);
        assert_eq!(text, r"${L2G:-l2g} 8 'my runs/it'\''s' '{}'");
        assert_eq!((quoted("runs/cora"), in_yaml("it's")), ("runs/cora".into(), "'it''s'".into()));
    }
}
