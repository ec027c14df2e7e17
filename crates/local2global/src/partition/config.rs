//! The settings of the stage: the table `[partition]`.
//!
//! ```toml
//! [partition]
//! method = "fennel"     # "auto" (default), "metis", "buffered", "louvain", "given"
//! clusters = 10         # or patch_size = 2000; "auto" (default) follows from the graph
//! passes = 3            # the method's own keys
//! ```
//!
//! A key that the method does not have is refused.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::metis::{self, Metis};
use super::{
    Buffered, Fennel, GivenClusters, Graph, Louvain, Partition, PartitionError, PartitionSize, PartitionTask,
    Partitioner,
};
use crate::memory;

/// How many clusters to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumClusters {
    /// This many.
    Clusters(usize),
    /// As many as it takes for clusters of about this many nodes.
    PatchSize(usize),
    /// As many as it takes for clusters of about [`USUAL_PATCH_SIZE`] nodes, but at least
    /// [`USUAL_CLUSTERS`], as long as each is twice as large as it must be.
    Auto,
}

/// The nodes of a cluster, unless told otherwise.
pub const USUAL_PATCH_SIZE: usize = 2000;

/// The fewest clusters, unless told otherwise or the graph is too small.
pub const USUAL_CLUSTERS: usize = 10;

// By hand, because one key holds a number or the word "auto".
impl Serialize for NumClusters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Clusters(count) => map.serialize_entry("clusters", count)?,
            Self::PatchSize(size) => map.serialize_entry("patch_size", size)?,
            Self::Auto => map.serialize_entry("clusters", "auto")?,
        }
        map.end()
    }
}

/// The partitioners a configuration can name, as in `method = "fennel"`.
///
/// To add one, write its file and a variant here; the compiler lists the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum PartitionMethod {
    /// METIS, with these settings, while it fits in memory, and passes within a buffer above.
    Auto(Metis),
    /// Multilevel k-way partitioning by METIS.
    Metis(Metis),
    /// Passes over the graph and a buffer, for graphs larger than memory.
    Buffered(Buffered),
    /// Streaming, with the least memory.
    Fennel(Fennel),
    /// Communities of high modularity.
    Louvain(Louvain),
    /// Clusters that somebody else made.
    Given(GivenClusters),
}

/// The settings of the stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionConfig {
    /// The partitioner with its own settings.
    #[serde(flatten)]
    pub method: PartitionMethod,
    /// How many clusters.
    #[serde(flatten)]
    pub size: NumClusters,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self { method: PartitionMethod::default(), size: NumClusters::Auto }
    }
}

impl PartitionConfig {
    /// The usual method with this many clusters.
    pub fn with_clusters(clusters: usize) -> Self {
        Self { size: NumClusters::Clusters(clusters), ..Self::default() }
    }

    /// The number of clusters for a graph of `num_nodes` nodes, if each is to have at least
    /// `min_size` nodes.
    ///
    /// # Errors
    /// [`PartitionError`] if it is zero or larger than the number of nodes.
    pub fn num_clusters(&self, num_nodes: usize, min_size: usize) -> Result<usize, PartitionError> {
        let zero = |key| PartitionError::Setting { key, found: "0".into(), needed: "at least 1" };
        match self.size {
            NumClusters::Clusters(0) => Err(zero("clusters")),
            NumClusters::PatchSize(0) => Err(zero("patch_size")),
            NumClusters::Clusters(clusters) if clusters > num_nodes => {
                Err(PartitionError::TooManyClusters { clusters, nodes: num_nodes })
            }
            NumClusters::Clusters(clusters) => Ok(clusters),
            NumClusters::PatchSize(size) => Ok((num_nodes + size / 2).div_euclid(size).max(1)),
            NumClusters::Auto => {
                let usual = (num_nodes / USUAL_PATCH_SIZE).max(USUAL_CLUSTERS);
                Ok(usual.min(num_nodes / (2 * min_size.max(1))).max(1))
            }
        }
    }
}

impl Default for PartitionMethod {
    fn default() -> Self {
        Self::Auto(Metis::default())
    }
}

impl PartitionMethod {
    /// The method that `auto` stands for on this machine; any other is itself.
    pub fn for_graph(&self, graph: &Graph) -> Self {
        self.within(graph, memory::total_bytes().unwrap_or(u64::MAX))
    }

    /// The method that `auto` stands for where `limit` bytes of memory may be used: METIS if what it
    /// needs fits, and it can count the edges; any other method is itself.
    pub fn within(&self, graph: &Graph, limit: u64) -> Self {
        let Self::Auto(metis) = self else { return self.clone() };
        // A directed graph is partitioned with every edge both ways.
        let entries = graph.num_directed_edges() * if graph.is_symmetric() { 1 } else { 2 };
        let fits = self.memory_need(&PartitionSize::of(graph)).most <= limit;
        match fits && metis::can_count(graph.num_nodes(), entries) {
            true => Self::Metis(metis.clone()),
            false => Self::Buffered(Buffered::within(graph.num_nodes(), entries / 2, limit)),
        }
    }

    /// The name of the method, as the configuration spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Metis(_) => "metis",
            Self::Buffered(_) => "buffered",
            Self::Fennel(_) => "fennel",
            Self::Louvain(_) => "louvain",
            Self::Given(_) => "given",
        }
    }
}

impl Partitioner for PartitionMethod {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        match self {
            Self::Auto(_) => self.for_graph(graph).partition(graph, task),
            Self::Metis(method) => method.partition(graph, task),
            Self::Buffered(method) => method.partition(graph, task),
            Self::Fennel(method) => method.partition(graph, task),
            Self::Louvain(method) => method.partition(graph, task),
            Self::Given(method) => method.partition(graph, task),
        }
    }
}

// By hand, because the method may be left out, and because each method shall refuse the
// keys of the others; a derived, flattened form does neither.
impl<'de> Deserialize<'de> for PartitionConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = Map::deserialize(deserializer)?;
        let size = match (keys.remove("clusters"), keys.remove("patch_size")) {
            (Some(_), Some(_)) => return Err(D::Error::custom("set either `clusters` or `patch_size`")),
            (Some(Value::String(text)), None) if text == "auto" => NumClusters::Auto,
            (Some(count), None) => NumClusters::Clusters(whole_number("clusters", count)?),
            (None, Some(count)) => NumClusters::PatchSize(whole_number("patch_size", count)?),
            (None, None) => Self::default().size,
        };
        keys.entry("method").or_insert_with(|| "auto".into());
        let method = serde_json::from_value(Value::Object(keys)).map_err(D::Error::custom)?;
        Ok(Self { method, size })
    }
}

fn whole_number<E: serde::de::Error>(key: &str, value: Value) -> Result<usize, E> {
    let found = value.as_u64().and_then(|number| usize::try_from(number).ok());
    found.ok_or_else(|| E::custom(format!("`{key}` is {value}; needed a whole number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<PartitionConfig, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_has_a_default() {
        assert_eq!(parse("{}").unwrap(), PartitionConfig::default());
    }

    #[test]
    fn settings_survive_a_round_trip() {
        for json in [
            r#"{"method": "fennel", "patch_size": 50, "passes": 4}"#,
            r#"{"method": "louvain", "clusters": 7}"#,
            r#"{"method": "given", "file": "clusters.csv"}"#,
            r#"{"method": "metis", "clusters": "auto"}"#,
            r#"{"method": "auto", "attempts": 3}"#,
            r#"{"method": "buffered", "load_limit": 1.05, "buffer": 1000}"#,
        ] {
            let config = parse(json).unwrap();
            assert_eq!(parse(&serde_json::to_string(&config).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(parse(r#"{"method": "metis", "passes": 4}"#).unwrap_err().contains("passes"));
        assert!(parse(r#"{"method": "spectral"}"#).unwrap_err().contains("spectral"));
        assert!(parse(r#"{"clusters": 2, "patch_size": 3}"#).unwrap_err().contains("either"));
        assert!(parse(r#"{"clusters": -1}"#).unwrap_err().contains("whole number"));
    }

    #[test]
    fn metis_is_taken_as_long_as_it_fits() {
        let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        let auto = parse(r#"{"attempts": 3}"#).unwrap().method;
        let needed = metis::metis_bytes(3, 4);
        let metis = Metis { attempts: 3, ..Default::default() };
        assert_eq!(auto.within(&graph, needed), PartitionMethod::Metis(metis.clone()));
        assert_eq!(auto.for_graph(&graph), PartitionMethod::Metis(metis));
        let buffered = PartitionMethod::Buffered(Buffered::default());
        assert_eq!(auto.within(&graph, needed - 1), buffered);
        assert_eq!(buffered.within(&graph, needed), buffered);
        // Both ways, the two arrows take as much as the two edges.
        let directed = Graph::from_rows(vec![0, 1, 2, 2].into(), vec![1_u32, 2].into(), false).unwrap();
        assert_eq!(auto.within(&directed, needed - 1), buffered);
    }

    #[test]
    fn the_number_of_clusters_follows_from_the_patch_size() {
        let auto = PartitionConfig::default();
        // Cora in 128 dimensions gets the ten clusters of the paper.
        assert_eq!(auto.num_clusters(2485, 65).unwrap(), 10);
        assert_eq!(auto.num_clusters(1_000_000, 65).unwrap(), 500);
        assert_eq!(auto.num_clusters(300, 65).unwrap(), 2);
        let config = PartitionConfig { size: NumClusters::PatchSize(100), ..Default::default() };
        assert_eq!(config.num_clusters(1049, 1).unwrap(), 10);
        assert_eq!(config.num_clusters(1050, 1).unwrap(), 11);
        assert_eq!(config.num_clusters(3, 1).unwrap(), 1);
    }
}
