//! `walks` as an embedder: with the common frame, or from the patch alone.

use std::sync::Arc;
use std::time::Instant;

use super::{
    WalkFrame, WalkSettings, local_memory_bytes, local_walk_coordinates, walk_coordinates, walk_memory_bytes,
};
use crate::embed::memory::PatchSize;
use crate::embed::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record, check_finite};

/// Embeds patches by random walks.
#[derive(Clone, Debug)]
pub struct WalkEmbedder {
    settings: WalkSettings,
    /// What was sent; without, each patch is embedded for itself.
    frame: Option<Arc<WalkFrame>>,
}

impl WalkEmbedder {
    /// An embedder with a common frame, or without.
    pub fn new(settings: WalkSettings, frame: Option<Arc<WalkFrame>>) -> Self {
        Self { settings, frame }
    }
}

impl Embedder for WalkEmbedder {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, seed, progress, .. } = task;
        let start = Instant::now();
        let coordinates = match &self.frame {
            Some(frame) => walk_coordinates(patch.whole, patch.rows, frame, progress)?,
            None => {
                let settings = WalkSettings { dim, ..self.settings };
                local_walk_coordinates(patch.graph, &settings, seed, progress)?
            }
        };
        check_finite(patch, &coordinates)?;
        progress.advance(1);
        let record = Record { seconds: start.elapsed().as_secs_f64(), ..Record::default() };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    fn is_random(&self) -> bool {
        self.frame.is_none()
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let walks = match &self.frame {
            Some(frame) => walk_memory_bytes(size, frame.num_clusters(), dim),
            None => local_memory_bytes(size, dim),
        };
        size.graph_bytes() + walks
    }
}
