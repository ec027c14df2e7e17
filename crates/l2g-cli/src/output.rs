//! Results, on standard output: a table for people, or one JSON object for programs. Errors and
//! everything else that people are told go to standard error.

use std::io::{self, Write};
use std::time::SystemTime;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;

use crate::context::UsageError;
use crate::hints;
use crate::signals::Stop;

/// How results are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) log: Log,
}

/// How standard error is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Lines, tables and progress bars
    Text,
    /// One JSON object a line
    Json,
}

/// Writes one JSON object as a line of the log: the time in seconds since 1970, what
/// happened, and more about it.
#[expect(clippy::print_stderr, reason = "this is the place that prints")]
pub(crate) fn log_line(event: &str, more: &impl Serialize) {
    #[derive(Serialize)]
    struct Line<'a, T> {
        time: f64,
        event: &'a str,
        #[serde(flatten)]
        more: T,
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = now.map_or(0.0, |since| since.as_millis() as f64 / 1e3);
    let line = serde_json::to_string(&Line { time, event, more });
    eprintln!("{}", line.unwrap_or_else(|error| format!("{{\"event\":\"error\",\"error\":\"{error}\"}}")));
}

impl Output {
    /// Shows a result on standard output: as one JSON object if asked for, else as a table of
    /// rows. A log of JSON lines has the result too.
    pub(crate) fn show(&self, record: &impl Serialize, rows: &[(&str, String)]) -> anyhow::Result<()> {
        self.show_page(record, &table(rows))
    }

    /// Leaves standard output to the data of `--out -`.
    ///
    /// # Errors
    /// [`UsageError`] if a JSON object is wanted there.
    pub(crate) fn give_up_standard_output(&self) -> Result<(), UsageError> {
        match self.json {
            true => Err(UsageError("`--out -` and `--json` both want standard output; needed a file".into())),
            false => Ok(()),
        }
    }

    /// As [`Output::show`], for people who read a page instead of a table.
    pub(crate) fn show_page(&self, record: &impl Serialize, page: &str) -> anyhow::Result<()> {
        if self.json {
            return print(&(serde_json::to_string(record)? + "\n"));
        }
        if self.log == Log::Json && !self.quiet {
            log_line("result", record);
        }
        print(page)
    }
}

/// Writes to standard output. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

/// Two columns, the first as wide as its widest entry.
pub(crate) fn table(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// Any number of columns, each as wide as its widest entry.
pub(crate) fn columns(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|cells| Some(cells.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

/// A JSON object on standard output whose list is written as it grows, so that it takes no memory. Whatever
/// happens, it is one whole object in the end.
pub(crate) struct ListRecord {
    is_empty: bool,
}

/// A failure that the JSON object on standard output tells already.
#[derive(Debug)]
pub(crate) struct ToldInRecord;

impl std::fmt::Display for ToldInRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the list on standard output ends early")
    }
}

impl ListRecord {
    /// Begins with what is known before, an object, and the name of the list.
    pub(crate) fn begin(head: &impl Serialize, list: &str) -> anyhow::Result<Self> {
        let head = serde_json::to_string(head)?;
        let open = head.strip_suffix('}').context("the head of a record is an object")?;
        print(&format!("{open},\"{list}\":["))?;
        Ok(Self { is_empty: true })
    }

    /// Writes one more entry.
    pub(crate) fn push(&mut self, entry: &impl Serialize) -> anyhow::Result<()> {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        print(&format!("{comma}{}", serde_json::to_string(entry)?))
    }

    /// Ends the list, with what is known after it, an object, or with the error that ended it.
    pub(crate) fn end(self, rest: &impl Serialize, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        let rest = match &outcome {
            Ok(()) => serde_json::to_string(rest)?,
            Err(error) => serde_json::json!({ "error": causes_of(error).join(": ") }).to_string(),
        };
        print(&format!("],{}\n", rest.strip_prefix('{').context("the end of a record is an object")?))?;
        outcome.context(ToldInRecord)
    }
}

/// A number with a space between thousands: `10 138`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
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

/// Prints an error with its causes and, where there is one, a hint.
///
/// With `--json`, the object on standard output has the key `error`.
#[expect(clippy::print_stderr, reason = "this is the place that prints")]
pub(crate) fn print_error(error: &anyhow::Error, json: bool, log: Log) {
    let causes = causes_of(error);
    if json {
        let record = serde_json::json!({ "error": causes.join(": ") });
        // The error itself follows on standard error, whether or not anybody reads this.
        let _ = print(&format!("{record}\n"));
    }
    if log == Log::Json {
        let hint = hints::for_error(error);
        return log_line("error", &serde_json::json!({ "error": causes.join(": "), "hint": hint }));
    }
    for (index, cause) in causes.iter().enumerate() {
        eprintln!("{} {cause}", if index == 0 { "error:" } else { "  caused by:" });
    }
    if let Some(hint) = hints::for_error(error) {
        eprintln!("hint: {hint}");
    }
}

/// An error and its causes, the outermost first.
fn causes_of(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    // Some errors tell their cause themselves.
    causes.dedup_by(|cause, told| told.ends_with(cause.as_str()));
    causes
}

/// Says that a signal has come and the program is about to stop.
#[expect(clippy::print_stderr, reason = "this is the place that prints")]
pub(crate) fn print_stopping(stop: Stop, log: Log) {
    match log {
        Log::Json => log_line("stopping", &serde_json::json!({ "signal": stop.name() })),
        Log::Text => eprintln!(
            "{}: stopping at the next good place; once more, and the program stops at once",
            stop.name()
        ),
    }
}

/// Says what was stopped by a signal, and that nothing is lost.
///
/// With `--json`, the object on standard output has the key `error`.
#[expect(clippy::print_stderr, reason = "this is the place that prints")]
pub(crate) fn print_stopped(error: &anyhow::Error, stop: Stop, json: bool, log: Log) {
    const GO_ON: &str = "what was done is kept; run the same command again to go on";
    let text = format!("stopped by {}: {}", stop.name(), causes_of(error).join(": "));
    if json {
        let record = serde_json::json!({ "error": text });
        // The same follows on standard error, whether or not anybody reads this.
        let _ = print(&format!("{record}\n"));
    }
    match log {
        Log::Json => log_line("stopped", &serde_json::json!({ "error": text, "hint": GO_ON })),
        Log::Text => eprintln!("{text}\n{GO_ON}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(10138), "10 138");
        assert_eq!(grouped(1000000), "1 000 000");
    }

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3 << 20), "3.0 MiB");
    }

    #[test]
    fn columns_line_up() {
        let lines = [vec!["id".to_owned(), "score".into(), "label".into()], vec!["näme".into(), "1".into()]];
        assert_eq!(columns(&lines), "id    score  label\nnäme  1\n");
        assert_eq!(table(&[("nodes", "3".into()), ("k", "4".into())]), "nodes  3\nk      4\n");
    }
}
