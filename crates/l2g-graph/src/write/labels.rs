//! Labels in a file of their own: `id,label`, one line per node and class.
//!
//! Labels are the names of the classes. A node without a class has no line, one with
//! several has several.

use std::path::Path;

use super::WriteError;
use super::packed::{Packed, Packing};
use super::text::{check_names, push_field, push_name};
use crate::graph::{Labels, NodeId, NodeIds};
use crate::run_dir::write_atomically;

/// Lines are written in blocks of about this many bytes.
const BLOCK_BYTES: usize = 1 << 16;

/// Writes labels as comma-separated text, packed if the name ends in `.gz` or `.zst`.
///
/// # Errors
/// [`WriteError`] if the file cannot be written, or a name has a line break.
pub fn write_labels(labels: &Labels, ids: &NodeIds, path: &Path) -> Result<(), WriteError> {
    write_atomically(path, |file| {
        check_names(ids)?;
        let class_names = NodeIds::Strings(labels.class_names().iter().collect());
        check_names(&class_names)?;
        let mut packed = Packed::new(file, Packing::of_name(path))?;
        packed.write_all(b"id,label\n")?;
        let mut lines = Vec::new();
        for node in (0..labels.num_rows()).map(NodeId::new) {
            for class in labels.classes_of(node) {
                push_name(&mut lines, ids, node, b',');
                lines.push(b',');
                push_field(&mut lines, &labels.class_names()[class], b',');
                lines.push(b'\n');
            }
            if lines.len() > BLOCK_BYTES {
                packed.write_all(&lines)?;
                lines.clear();
            }
        }
        packed.write_all(&lines)?;
        packed.finish()
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::labels::UNKNOWN;
    use crate::scratch::scratch;

    fn written(labels: &Labels, ids: &NodeIds) -> String {
        let path = scratch("labels.csv");
        write_labels(labels, ids, &path).unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn nodes_are_listed_with_their_classes() {
        let ids = NodeIds::Strings(["ann", "bob", "c,d"].into_iter().collect());
        let single = Labels::single(vec![1, UNKNOWN, 0].into(), vec!["tea".into(), "a \"cup\"".into()]);
        assert_eq!(written(&single, &ids), "id,label\nann,\"a \"\"cup\"\"\"\n\"c,d\",tea\n");
        let multi = Labels::multi(vec![1, 1, 0, 0, 0, 1].into(), 2, vec![]);
        assert_eq!(written(&multi, &NodeIds::Range(3)), "id,label\n0,0\n0,1\n2,1\n");
    }
}
