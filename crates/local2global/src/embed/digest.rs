//! A digest that changes when a patch, its settings or its seed change.
//!
//! A finished patch keeps it beside its coordinates; a rerun embeds again only where
//! it differs.

use super::EmbedConfig;
use crate::digest::Digest;
use crate::graph::{Features, Graph, NodeId};
use crate::seed::Seed;

/// The digest of a patch: nodes, their rows and features, settings and seed, and the digest of the
/// common frame, if there is one.
///
/// `config` are the settings of this patch; limits of memory and time do not count, since they do
/// not change the result.
pub fn of_patch(
    graph: &Graph,
    nodes: impl ExactSizeIterator<Item = NodeId>,
    config: &EmbedConfig,
    frame: Option<&str>,
    seed: Seed,
) -> String {
    let mut digest = Digest::default();
    digest.add_text(&serde_json::to_string(&config.without_limits()).expect("settings are plain values"));
    digest.add_text(env!("CARGO_PKG_VERSION"));
    digest.add(seed.0);
    if let Some(frame) = frame {
        digest.add_text(frame);
    }
    digest.add(graph.features().map_or(0, Features::width) as u64);
    for script in config.scripts() {
        // One that cannot be read is told by whoever runs it.
        let _ = digest.add_file(script);
    }
    digest.add(nodes.len() as u64);
    for node in nodes {
        digest.add(node.0);
        graph.add_row(node, &mut digest);
    }
    digest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::EmbedMethod;
    use crate::scratch::scratch;

    #[test]
    fn nodes_settings_and_seed_change_the_digest_and_limits_do_not() {
        let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        let config = EmbedConfig::default();
        let all: Vec<NodeId> = graph.nodes().collect();
        let digest = |nodes: &[NodeId], config: &EmbedConfig, seed| {
            of_patch(&graph, nodes.iter().copied(), config, None, seed)
        };
        let reference = digest(&all, &config, Seed(1));
        let limited = EmbedConfig { memory_bytes: 9, command_timeout: 2.5, ..config.clone() };
        assert_eq!(reference, digest(&all, &limited, Seed(1)));
        assert_ne!(reference, digest(&all[1..], &config, Seed(1)));
        assert_ne!(reference, digest(&all, &EmbedConfig { epochs: Some(7), ..config.clone() }, Seed(1)));
        assert_ne!(reference, digest(&all, &config, Seed(2)));

        let script = scratch("embed.py");
        let words = vec!["python".into(), script.display().to_string()];
        let by_script = EmbedConfig { method: EmbedMethod::Command, command: words, ..config };
        let written = |text: &str| {
            std::fs::write(&script, text).unwrap();
            digest(&all, &by_script, Seed(1))
        };
        assert_eq!(written("one"), written("one"));
        assert_ne!(written("one"), written("two"));
    }
}
