//! The two files of TensorBoard's embedding projector, in a folder of their own.
//!
//! ```text
//! vectors.tsv     the coordinates, separated by tabs, without a header
//! metadata.tsv    the id of each node; with labels, also its class, under the header id, label
//! ```
//!
//! The projector wants no header over a single column and one over several. A node with
//! several classes has them separated by commas, a node without has an empty field. There
//! are no quotes, so a name with a tab or a line break is refused. `metadata.tsv` is
//! written last.
//!
//! Source: the manual of the embedding projector, <https://projector.tensorflow.org>.

use std::path::{Path, PathBuf};

use super::lines::{push_row, write_lines};
use super::{ExportError, Vectors};
use crate::graph::{Labels, NodeId};
use crate::progress::{Progress, Silent};

const FORMAT: &str = "projector metadata";

/// Writes `vectors.tsv` and `metadata.tsv` into a folder.
///
/// # Errors
/// [`ExportError::Name`] for a name with a tab or a line break, [`ExportError::File`] if
/// writing fails.
pub fn write(
    vectors: &Vectors<'_>,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, ExportError> {
    vectors.check_names(FORMAT, problem)?;
    vectors.labels.map_or(Ok(()), check_classes)?;
    let [coordinates, metadata] = ["vectors.tsv", "metadata.tsv"].map(|name| folder.join(name));
    let num_nodes = vectors.num_nodes();
    write_lines(&coordinates, "", num_nodes, progress, |line, node| push_row(line, vectors, node, b'\t'))?;
    let header = if vectors.labels.is_some() { "id\tlabel\n" } else { "" };
    write_lines(&metadata, header, num_nodes, &Silent, |line, node| {
        line.extend_from_slice(vectors.ids.get(node).to_string().as_bytes());
        if let Some(labels) = vectors.labels {
            line.push(b'\t');
            push_classes(line, labels, node);
        }
    })?;
    Ok(vec![coordinates, metadata])
}

fn problem(name: &str) -> Option<&'static str> {
    name.contains(['\t', '\n', '\r']).then_some("has a tab or a line break")
}

fn check_classes(labels: &Labels) -> Result<(), ExportError> {
    let found = labels.class_names().iter().find_map(|name| Some((name, problem(name)?)));
    found.map_or(Ok(()), |(name, problem)| {
        Err(ExportError::Name { what: "class", name: format!("{name:?}"), problem, format: FORMAT })
    })
}

fn push_classes(line: &mut Vec<u8>, labels: &Labels, node: NodeId) {
    for (position, class) in labels.classes_of(node).enumerate() {
        if position > 0 {
            line.extend_from_slice(b", ");
        }
        line.extend_from_slice(labels.class_names()[class].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeIds;
    use crate::graph::labels::UNKNOWN;

    fn written(ids: &NodeIds, labels: Option<&Labels>) -> [String; 2] {
        let folder = tempfile::tempdir().unwrap();
        let vectors = Vectors::new(ids, &[0.5, -1.0, 2.0, 1e-9], 2).unwrap().with_labels(labels);
        let files = write(&vectors, folder.path(), &Silent).unwrap();
        [0, 1].map(|file: usize| std::fs::read_to_string(&files[file]).unwrap())
    }

    #[test]
    fn a_single_column_has_no_header() {
        let ids = NodeIds::Strings(["ann lee", "bob"].into_iter().collect());
        assert_eq!(written(&ids, None), ["0.5\t-1.0\n2.0\t1e-9\n", "ann lee\nbob\n"]);
    }

    #[test]
    fn labels_come_with_a_header() {
        let single = Labels::single(vec![UNKNOWN, 0].into(), vec!["tea".into()]);
        assert_eq!(written(&NodeIds::Range(2), Some(&single))[1], "id\tlabel\n0\t\n1\ttea\n");
        let multi = Labels::multi(vec![1, 1, 0, 1].into(), 2, vec!["tea".into(), "rum".into()]);
        assert_eq!(written(&NodeIds::Range(2), Some(&multi))[1], "id\tlabel\n0\ttea, rum\n1\trum\n");
    }

    #[test]
    fn names_that_break_lines_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let ids = NodeIds::Strings(["a\tb"].into_iter().collect());
        let error = write(&Vectors::new(&ids, &[1.0], 1).unwrap(), folder.path(), &Silent).unwrap_err();
        let expected = r#"node id "a\tb" has a tab or a line break; projector metadata cannot hold it"#;
        assert_eq!(error.to_string(), expected);
        let classes = Labels::single(vec![0].into(), vec!["a\nb".into()]);
        let ids = NodeIds::Range(1);
        let vectors = Vectors::new(&ids, &[1.0], 1).unwrap().with_labels(Some(&classes));
        assert!(write(&vectors, folder.path(), &Silent).unwrap_err().to_string().starts_with("class"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
