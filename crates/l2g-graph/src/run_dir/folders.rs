//! The folders of a run, and what their files are called.
//!
//! ```text
//! run.toml           every setting                  .lock   who works in the folder
//! N-STAGE/stage.json what a stage was made from, and what it left
//!
//! 1-graph/           graph.json indptr.npy indices.npy weights.npy features*.npy labels.npy
//!                    ids.npy | ids.parquet held_out_edges.npy held_out_non_edges.npy
//! 2-partition/       clusters.npy partition.json
//! 3-patches/         NAME.npy NAME.weights.npy patch_graph.npy landmarks.npy patches.json
//! 4-embeddings/      NAME.npy NAME.json NAME.encoder.npz frame.npz frame.json
//! 5-alignment/       embedding.npy no_trans.npy spread.npy nodes.npy transforms.npz alignment.json
//! 6-evaluation/      scores.json full.npy full/ untrained.npy untrained.json
//! export/            embedding.FORMAT projector/
//! embedder/          coordinates that an embedder in Python makes
//! secret.npz         federated: what undoes the secret motion of this site's share; never leaves
//!
//! share/             federated, what leaves a site: share.json ids.npy coords.npy
//! frame/             federated, what comes back: frame.json ids.npy transforms.npz alignment.json
//! ```
//!
//! Each folder is a type of its own that knows the names of its files, and can be used as a path.
//! Folders outside a run that hold the same files (`l2g align --nodes DIR`) are the same types.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::FileError;

/// The name of a patch in file names: `patch-00003`.
pub fn patch_name(index: usize) -> String {
    format!("patch-{index:05}")
}

/// The number of a patch that the patch stage has named; none for other names.
pub fn patch_number(name: &str) -> Option<usize> {
    let number = name.strip_prefix("patch-")?.parse().ok()?;
    (patch_name(number) == name).then_some(number)
}

/// Declares folders: a type each, and a method for every file whose name is fixed.
macro_rules! folders {
    ($($(#[$doc:meta])* $name:ident { $($(#[$file_doc:meta])* $file:ident: $file_name:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(PathBuf);

        impl $name {
            /// The folder at a path, whether it exists or not.
            pub fn at(path: impl Into<PathBuf>) -> Self {
                Self(path.into())
            }

            $($(#[$file_doc])*
            pub fn $file(&self) -> PathBuf {
                self.join($file_name)
            })*
        }

        impl Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl From<$name> for PathBuf {
            fn from(folder: $name) -> Self {
                folder.0
            }
        }
    )* };
}

folders! {
    /// `1-graph`: the cleaned graph.
    GraphFolder {
        /// Counts, and which arrays there are.
        description: "graph.json",
        /// Where the row of each node begins.
        indptr: "indptr.npy",
        /// The neighbours, row after row.
        indices: "indices.npy",
        /// The weights of the edges, in the order of the neighbours.
        weights: "weights.npy",
        /// Features with all their zeros.
        features: "features.npy",
        /// Sparse features: where the row of each node begins.
        features_indptr: "features_indptr.npy",
        /// Sparse features: the columns of their entries.
        features_indices: "features_indices.npy",
        /// Sparse features: the values of their entries.
        features_data: "features_data.npy",
        /// The class or classes of each node.
        labels: "labels.npy",
        /// Node ids that are integers.
        ids: "ids.npy",
        /// Node ids that are text.
        text_ids: "ids.parquet",
        /// Edges that were taken out for link prediction.
        held_out_edges: "held_out_edges.npy",
        /// As many pairs without an edge.
        held_out_non_edges: "held_out_non_edges.npy",
    }
    /// `2-partition`: the cluster of each node.
    PartitionFolder {
        /// The cluster of each node.
        clusters: "clusters.npy",
        /// How good the clusters are.
        report: "partition.json",
    }
    /// `3-patches`: the overlapping patches.
    PatchFolder {
        /// Which patches are joined.
        patch_graph: "patch_graph.npy",
        /// The nodes that every patch holds.
        landmarks: "landmarks.npy",
        /// The report of the patch stage, which says how many patches there are.
        report: "patches.json",
    }
    /// `4-embeddings`: the coordinates of each patch.
    EmbeddingFolder {
        /// What every patch is sent before it trains.
        frame: "frame.npz",
        /// What the frame was made from, and what was chosen for the user.
        frame_record: "frame.json",
    }
    /// `5-alignment`: the stitched embedding.
    AlignmentFolder {
        /// The stitched embedding, one row per node.
        embedding: "embedding.npy",
        /// The same without transforms: the mean of the copies as they were trained.
        unaligned: "no_trans.npy",
        /// How far the copies of each node lie apart.
        spread: "spread.npy",
        /// The node of each row, if nodes are not 0, 1, 2, ...
        nodes: "nodes.npy",
        /// The motion of each patch.
        transforms: "transforms.npz",
        /// How well the patches fit.
        report: "alignment.json",
    }
    /// `6-evaluation`: the scores, and what the embedding is compared with.
    EvaluationFolder {
        /// The scores.
        scores: "scores.json",
        /// Says that the untrained embedding was made here and may be removed.
        untrained_mark: "untrained.json",
    }
    /// `export`: the embedding in the formats of other programs.
    ExportFolder {
        /// The folder for TensorBoard's embedding projector.
        projector: "projector",
    }
    /// A folder of bundles: patches on their way to other machines.
    BundleFolder {
        /// Which bundles there are, and what each takes.
        index: "bundles.json",
    }
    /// The folder of an experiment.
    ExperimentFolder {
        /// The scores of all dimensions.
        scores: "scores.json",
        /// How long training took.
        timings: "timings.json",
        /// The scores as a table for people.
        table: "table.md",
        /// The scores as a chart.
        figure: "figure.svg",
        /// Both as a page for a browser.
        report: "report.html",
    }
    /// What leaves a federated site.
    ShareFolder {
        /// What the share holds and what it does not, in words.
        record: "share.json",
        /// The blinded ids, ascending.
        ids: "ids.npy",
        /// The coordinates of each, moved by the secret of the site.
        coordinates: "coords.npy",
    }
    /// What the coordinator of federated sites sends back.
    FrameFolder {
        /// The sites, and the shares that they sent.
        record: "frame.json",
        /// The blinded ids of all nodes that sites have shared, ascending.
        ids: "ids.npy",
    }
    /// The rows of a federated site in the common frame.
    JoinedFolder {
        /// The rows, in the order of the site.
        embedding: "embedding.npy",
        /// How well the site fits the others.
        record: "join.json",
    }
}

impl FrameFolder {
    /// The motions of the sites and how well they fit, as any alignment leaves them.
    pub fn alignment(&self) -> AlignmentFolder {
        AlignmentFolder::at(&self.0)
    }
}

impl ShareFolder {
    /// The names of its files.
    pub fn file_names(&self) -> [String; 3] {
        [self.record(), self.ids(), self.coordinates()]
            .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}

/// The record of a finished stage in its folder.
pub fn stamp_path(stage_folder: &Path) -> PathBuf {
    stage_folder.join("stage.json")
}

impl GraphFolder {
    /// Every file that a graph can have, the description first.
    pub fn all(&self) -> [PathBuf; 13] {
        [
            self.description(),
            self.indptr(),
            self.indices(),
            self.weights(),
            self.features(),
            self.features_indptr(),
            self.features_indices(),
            self.features_data(),
            self.labels(),
            self.ids(),
            self.text_ids(),
            self.held_out_edges(),
            self.held_out_non_edges(),
        ]
    }
}

impl PatchFolder {
    /// The nodes of a patch.
    pub fn nodes(&self, name: &str) -> PathBuf {
        self.join(format!("{name}.npy"))
    }

    /// A weight for each of its nodes; the file need not exist in folders of other programs.
    pub fn weights(&self, name: &str) -> PathBuf {
        self.join(format!("{name}.weights.npy"))
    }

    /// The names of the files of a patch: its nodes, then their weights.
    pub fn file_names(&self, name: &str) -> [String; 2] {
        [self.nodes(name), self.weights(name)]
            .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}

impl EmbeddingFolder {
    /// The coordinates of a patch.
    pub fn coordinates(&self, name: &str) -> PathBuf {
        self.join(format!("{name}.npy"))
    }

    /// What they were made from, and how well training went. Coordinates without it were made by
    /// another program.
    pub fn record(&self, name: &str) -> PathBuf {
        self.join(format!("{name}.json"))
    }

    /// What a patch has learned, for methods that keep it.
    pub fn encoder(&self, name: &str) -> PathBuf {
        self.join(format!("{name}.encoder.npz"))
    }

    /// The files of a patch, the record first: coordinates without one would be taken for another
    /// program's.
    pub fn files_of(&self, name: &str) -> [PathBuf; 3] {
        [self.record(name), self.coordinates(name), self.encoder(name)]
    }

    /// The numbered patches that have a record, in no order.
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be read.
    pub fn recorded(&self) -> Result<Vec<String>, FileError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self).map_err(FileError::at("read", self))? {
            let file = entry.map_err(FileError::at("read", self))?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".json"));
            names.extend(name.filter(|name| patch_number(name).is_some()).map(str::to_owned));
        }
        Ok(names)
    }
}

impl EvaluationFolder {
    /// An embedding that the stitched one is compared with, such as `full`.
    pub fn embedding(&self, contender: &str) -> PathBuf {
        self.join(format!("{contender}.npy"))
    }

    /// Training on the whole graph works here: there is one patch.
    pub fn full(&self) -> EmbeddingFolder {
        EmbeddingFolder::at(self.join("full"))
    }
}

impl ExportFolder {
    /// The embedding in a format whose files end in this.
    pub fn embedding(&self, ending: &str) -> PathBuf {
        self.join(format!("embedding.{ending}"))
    }
}

impl BundleFolder {
    /// The name of the file of a bundle.
    pub fn file_name(index: usize) -> String {
        format!("job-{index:05}.l2g")
    }

    /// A bundle.
    pub fn bundle(&self, index: usize) -> PathBuf {
        self.join(Self::file_name(index))
    }

    /// The bundles that lie in the folder, in no order.
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be read.
    pub fn bundles(&self) -> Result<Vec<PathBuf>, FileError> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(self).map_err(FileError::at("read", self))? {
            let path = entry.map_err(FileError::at("read", self))?.path();
            let number = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.strip_prefix("job-")?.strip_suffix(".l2g")?.parse::<usize>().ok());
            if number.is_some() {
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

impl ExperimentFolder {
    /// The embeddings of one dimension.
    pub fn dimension(&self, dim: usize) -> PathBuf {
        self.join(format!("d={dim:03}"))
    }

    /// The common frame of one dimension.
    pub fn frame(&self, dim: usize) -> PathBuf {
        self.dimension(dim).join("frame")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_have_at_least_five_digits() {
        assert_eq!([7, 123_456].map(patch_name), ["patch-00007", "patch-123456"]);
        assert_eq!(["patch-00007", "patch-7", "mine"].map(patch_number), [Some(7), None, None]);
    }

    #[test]
    fn only_numbered_patches_with_a_record_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let folder = EmbeddingFolder::at(root.path());
        for path in [folder.record(&patch_name(3)), folder.coordinates(&patch_name(4)), folder.frame_record()]
        {
            fs::write(path, b"").unwrap();
        }
        assert_eq!(folder.recorded().unwrap(), ["patch-00003"]);
    }
}
