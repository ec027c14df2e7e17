//! The text format of word2vec: a line `nodes dim`, then `id x0 x1 ...` for each node.
//!
//! Fields are separated by single spaces and there are no quotes, so a name that is empty
//! or has white space is refused. Files whose name ends in `.gz` or `.zst` are packed.
//!
//! Source: Mikolov et al., the program `word2vec`, 2013; gensim reads it with
//! `KeyedVectors.load_word2vec_format`.

use std::path::{Path, PathBuf};

use super::lines::{push_row, write_lines};
use super::{ExportError, Vectors};
use crate::progress::Progress;

const FORMAT: &str = "word2vec text";

/// Writes vectors as word2vec text.
///
/// # Errors
/// [`ExportError::Name`] for a name with white space, [`ExportError::File`] if writing fails.
pub fn write(
    vectors: &Vectors<'_>,
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, ExportError> {
    vectors.check_names(FORMAT, |name| match name {
        "" => Some("is empty"),
        name => name.contains(char::is_whitespace).then_some("has a space"),
    })?;
    let header = format!("{} {}\n", vectors.num_nodes(), vectors.dim);
    write_lines(path, &header, vectors.num_nodes(), progress, |line, node| {
        line.extend_from_slice(vectors.ids.get(node).to_string().as_bytes());
        line.push(b' ');
        push_row(line, vectors, node, b' ');
    })?;
    Ok(vec![path.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeIds;
    use crate::progress::Silent;
    use crate::scratch::scratch;

    #[test]
    fn counts_come_first() {
        let path = scratch("a.vec");
        let ids = NodeIds::Strings(["ann", "\"b,o\"#b"].into_iter().collect());
        write(&Vectors::new(&ids, &[0.5, -1.0, 2.0, 1e-9], 2).unwrap(), &path, &Silent).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "2 2\nann 0.5 -1.0\n\"b,o\"#b 2.0 1e-9\n");
    }

    #[test]
    fn names_with_spaces_are_refused() {
        let path = scratch("a.vec");
        let message = |name: &str| {
            let ids = NodeIds::Strings(["ann", name].into_iter().collect());
            let vectors = Vectors::new(&ids, &[0.5, 2.0], 1).unwrap();
            write(&vectors, &path, &Silent).unwrap_err().to_string()
        };
        assert_eq!(message("a b"), "node id \"a b\" has a space; word2vec text cannot hold it");
        assert_eq!(message(""), "node id \"\" is empty; word2vec text cannot hold it");
        assert!(message("a\nb").contains(r#""a\nb""#));
        assert!(!path.exists());
    }
}
