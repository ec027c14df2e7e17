//! Lines -> fields.

use super::error::Problem;

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Any run of spaces and tabs.
    Whitespace,
    /// Exactly one such byte; fields may be quoted.
    Byte(u8),
}

impl Separator {
    /// The separator a line seems to use.
    pub(crate) fn guess(line: &[u8]) -> Self {
        let candidates = [b'\t', b',', b';', b'|'];
        let found = candidates.into_iter().find(|&byte| memchr::memchr(byte, line).is_some());
        found.map_or(Self::Whitespace, Self::Byte)
    }
}

/// All fields of a line as text, quotes removed.
///
/// # Errors
/// If the line is not UTF-8, or a quote is not closed.
pub(crate) fn split(line: &[u8], separator: Separator) -> Result<Vec<String>, Problem> {
    let mut fields = Vec::new();
    for_each(line, separator, |field| fields.push(field))?;
    fields
        .into_iter()
        .map(|field| String::from_utf8(field.into_owned()).map_err(|_| Problem::NotUtf8))
        .collect()
}

/// A field, borrowed from the line unless quotes had to be removed.
type Field<'a> = std::borrow::Cow<'a, [u8]>;

/// Calls `visit` with every field of a line; returns their number.
#[inline]
pub(crate) fn for_each<'a>(
    line: &'a [u8],
    separator: Separator,
    mut visit: impl FnMut(Field<'a>),
) -> Result<usize, Problem> {
    let line = line.trim_ascii_end_keeping(separator);
    let mut count = 0;
    let mut take = |field: Field<'a>| {
        count += 1;
        visit(field);
    };
    match separator {
        Separator::Whitespace => {
            line.split(u8::is_ascii_whitespace)
                .filter(|field| !field.is_empty())
                .for_each(|field| take(Field::Borrowed(field)));
        }
        Separator::Byte(byte) if memchr::memchr(b'"', line).is_none() => {
            line.split(|&b| b == byte).for_each(|field| take(Field::Borrowed(field.trim_ascii())));
        }
        Separator::Byte(byte) => split_quoted(line, byte, take)?,
    }
    Ok(count)
}

/// Trimming that leaves alone what separates fields.
trait TrimEnd {
    fn trim_ascii_end_keeping(&self, separator: Separator) -> &[u8];
}

impl TrimEnd for [u8] {
    fn trim_ascii_end_keeping(&self, separator: Separator) -> &[u8] {
        match separator {
            Separator::Whitespace => self.trim_ascii_end(),
            // A trailing separator means an empty last field; only the line end goes.
            Separator::Byte(_) => self.strip_suffix(b"\r").unwrap_or(self),
        }
    }
}

/// Splits a line in which some fields are in double quotes, `""` being one quote.
fn split_quoted<'a>(line: &'a [u8], separator: u8, mut take: impl FnMut(Field<'a>)) -> Result<(), Problem> {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_ascii_start();
        if let Some(quoted) = trimmed.strip_prefix(b"\"") {
            let (field, after) = unquote(quoted)?;
            take(Field::Owned(field));
            match after.trim_ascii_start() {
                [] => return Ok(()),
                [next, tail @ ..] if *next == separator => rest = tail,
                _ => return Err(Problem::Damaged("text after a closing quote".into())),
            }
        } else {
            let end = memchr::memchr(separator, rest).unwrap_or(rest.len());
            take(Field::Borrowed(rest[..end].trim_ascii()));
            match rest.get(end + 1..) {
                Some(tail) => rest = tail,
                None => return Ok(()),
            }
        }
    }
}

/// The text up to the closing quote, and what comes after it.
fn unquote(text: &[u8]) -> Result<(Vec<u8>, &[u8]), Problem> {
    let mut field = Vec::new();
    let mut rest = text;
    loop {
        let Some(end) = memchr::memchr(b'"', rest) else {
            return Err(Problem::Damaged("a quote is not closed".into()));
        };
        field.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(b"\"") {
            Some(after_pair) => {
                field.push(b'"');
                rest = after_pair;
            }
            None => return Ok((field, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_and_trimmed() {
        assert_eq!(split(b"  1   22\t3 \r", Separator::Whitespace).unwrap(), ["1", "22", "3"]);
        assert_eq!(split(b"a, b ,\r", Separator::Byte(b',')).unwrap(), ["a", "b", ""]);
    }

    #[test]
    fn quotes_are_removed() {
        let line = br#""Miller, Ann",bob,"say ""hi""""#;
        assert_eq!(split(line, Separator::Byte(b',')).unwrap(), ["Miller, Ann", "bob", "say \"hi\""]);
        assert_eq!(split(br#""a","#, Separator::Byte(b',')).unwrap(), ["a", ""]);
        assert!(split(br#""a,b"#, Separator::Byte(b',')).is_err());
        assert!(split(br#""a"b,c"#, Separator::Byte(b',')).is_err());
    }

    #[test]
    fn separators_are_guessed() {
        assert_eq!(Separator::guess(b"a b"), Separator::Whitespace);
        assert_eq!(Separator::guess(b"a b,c"), Separator::Byte(b','));
    }
}
