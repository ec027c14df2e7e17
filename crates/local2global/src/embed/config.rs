//! The settings of the stage: the table `[embed]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::hops::features::FeatureScaling;
use super::hops::late::Late;
use super::nn::decoder::Decoder;
use super::nn::input::Scaling;
use super::rates::Rates;
use super::{EmbedError, EmbedMethod, Start};
use crate::graph::Graph;
use crate::patch::{Cover, Landmarks};

/// What patches are sent before they train apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// A small summary of the whole graph, so that patches nearly agree from the start.
    #[default]
    Common,
    /// Nothing: every patch makes its own, and alignment joins them.
    None,
}

/// By what the best of several runs is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// The reconstruction AUC on the patch; the highest.
    #[default]
    Auc,
    /// The loss at the end of training; the lowest.
    Loss,
}

/// The settings of the stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbedConfig {
    /// How patches are embedded.
    pub method: EmbedMethod,
    /// The number of coordinates.
    pub dim: usize,
    /// The width of the hidden layer, as a multiple of `dim`.
    pub hidden: f64,
    /// How often training goes over the patch, at most. This and the other settings of
    /// training that may be left out are then as the method needs them, see
    /// [`Training`](super::training::Training).
    pub epochs: Option<u32>,
    /// The learning rate: one, a list to go through over the runs, or a range.
    pub learning_rate: Option<Rates>,
    /// How strongly weights are pulled towards zero.
    pub weight_decay: Option<f64>,
    /// Stop when the loss has not fallen for so many epochs, or, with `validation`, the score
    /// has not risen for so many checks; 0 means never. The best weights come back.
    pub patience: Option<u32>,
    /// The share of a patch's edges that is kept out of training; every few epochs weights are
    /// scored on them, and the best come back. Coordinates see all edges again. 0 means none.
    pub validation: Option<f64>,
    /// For `vgae` and `gae`: the share of the edges that each epoch hides and predicts from the
    /// others; 0 means that the edges seen are those predicted.
    pub hide: Option<f64>,
    /// Where first weights come from: `common` gives all patches the same, `own` each its own.
    pub start: Option<Start>,
    /// How often each patch is embedded; the best is kept.
    pub runs: u32,
    /// By what the best run is chosen.
    pub select: Select,
    /// How coordinates tell edges from non-edges.
    pub decoder: Decoder,
    /// How feature values enter training.
    pub normalise: Option<Scaling>,
    /// For `hops`, `walks` and `both`: what patches are sent before they train.
    pub frame: FrameKind,
    /// For `walks`: the number of steps of a walk; if not given, validation decides.
    pub window: Option<usize>,
    /// For `walks`: the number of small clusters that walks go to; if not given, a fifth of the
    /// nodes, at most 1000.
    pub walk_clusters: Option<usize>,
    /// For `hops`: how columns of features are weighed; if not given, validation decides.
    pub scaling: Option<FeatureScaling>,
    /// For `hops` with a common frame: how what patches learned is applied to the whole graph.
    pub late: Late,
    /// For `hops`: the most directions of the features that are used.
    pub basis: usize,
    /// For `spectral`: how often the basis is multiplied by the matrix.
    pub power_iterations: u32,
    /// For `command`: the program and its arguments, with `{edges} {features} {nodes}
    /// {dim} {seed} {out}` standing for paths and numbers.
    pub command: Vec<String>,
    /// For `command`: how many seconds the program may take for one run of one patch; 0 means no
    /// limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub command_timeout: f64,
    /// For `given`: the folder with a file `NAME.npy` for each patch.
    pub coordinates: PathBuf,
    /// The most memory that training may use at a time; 0 means no limit.
    pub memory_bytes: u64,
    /// Settings of single patches, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, PatchOverrides>,
}

impl Default for EmbedConfig {
    fn default() -> Self {
        Self {
            method: EmbedMethod::Auto,
            dim: 128,
            hidden: 2.0,
            epochs: None,
            learning_rate: None,
            weight_decay: None,
            patience: None,
            validation: None,
            hide: None,
            start: None,
            runs: 1,
            select: Select::Auc,
            decoder: Decoder::InnerProduct,
            normalise: None,
            frame: FrameKind::Common,
            window: None,
            walk_clusters: None,
            scaling: None,
            late: Late::Copies,
            basis: 512,
            power_iterations: 6,
            command: vec![],
            command_timeout: 0.0,
            coordinates: PathBuf::new(),
            memory_bytes: 0,
            patches: BTreeMap::new(),
        }
    }
}

/// Declares which settings a patch may have of its own: each of them optional, named as in
/// [`EmbedConfig`], and put in the place of the setting there.
macro_rules! overrides {
    ($($key:ident: $value:ty),* $(,)?) => {
        /// What one patch does differently; patches need only agree on the dimension.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[expect(missing_docs, reason = "the fields are those of EmbedConfig")]
        pub struct PatchOverrides {
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$value>,)*
        }

        impl PatchOverrides {
            fn put_into(self, config: &mut EmbedConfig) {
                $(if let Some(value) = self.$key {
                    config.$key = value.into();
                })*
            }
        }
    };
}

overrides! {
    method: EmbedMethod,
    hidden: f64,
    epochs: u32,
    learning_rate: Rates,
    weight_decay: f64,
    patience: u32,
    validation: f64,
    hide: f64,
    start: Start,
    runs: u32,
    select: Select,
    decoder: Decoder,
    normalise: Scaling,
    power_iterations: u32,
    command: Vec<String>,
    coordinates: PathBuf,
}

impl EmbedConfig {
    /// The settings of one patch: those of all, with its own put in their place.
    pub fn of_patch(&self, name: &str) -> Self {
        let mut config = Self { patches: BTreeMap::new(), ..self.clone() };
        if let Some(own) = self.patches.get(name) {
            own.clone().put_into(&mut config);
        }
        config
    }

    /// The same settings without limits of memory and time, which do not change the coordinates.
    pub fn without_limits(&self) -> Self {
        Self { memory_bytes: 0, command_timeout: 0.0, ..self.clone() }
    }

    /// Whether the method reads rows of the whole graph, with edges that leave the patch.
    pub fn reads_whole_rows(&self) -> bool {
        use EmbedMethod::{Auto, Both, Hops, Walks};
        self.each().any(|config| matches!(config.method, Auto | Hops | Walks | Both))
    }

    /// How many landmarks the patches of a graph should have that is split into so many clusters, unless
    /// told otherwise: as many as a cluster has nodes, and half as many with a common frame, where
    /// alignment has less to do. Walks with a common frame lead out of the patch, and need none.
    ///
    /// In a large graph clusters have more nodes than a rotation needs, and landmarks are what makes most
    /// copies: there, four for each dimension are enough, or a quarter of a cluster.
    pub fn usual_landmarks(&self, graph: &Graph, num_clusters: usize) -> Landmarks {
        let method = self.method.for_graph(graph);
        let share = match (method, self.has_common_frame(method)) {
            (EmbedMethod::Walks, true) => return Landmarks::NONE,
            (_, true) => 0.5,
            (_, false) => 1.0,
        };
        if graph.num_nodes() < Self::LARGE_GRAPH {
            return Landmarks::Share(share);
        }
        let cluster = graph.num_nodes() as f64 / num_clusters.max(1) as f64;
        let enough = 4.0 * (self.dim as f64 + 1.0) / cluster;
        // In hundredths, since people read it in the settings.
        Landmarks::Share(share.min((100.0 * enough.max(0.25)).ceil() / 100.0))
    }

    /// From so many nodes on, landmarks are fewer than a cluster has nodes.
    const LARGE_GRAPH: usize = 100_000;

    /// What the patches of a graph should cover, unless told otherwise: edges, so that some model
    /// sees them. With a common frame walks lead out of the patch, and see them anyway.
    pub fn usual_cover(&self, graph: &Graph) -> Cover {
        let method = self.method.for_graph(graph);
        match (method, self.has_common_frame(method)) {
            (EmbedMethod::Walks, true) => Cover::Nodes,
            _ => Cover::Edges,
        }
    }

    /// The files among the words of the command, if there is one; programs are found by their
    /// names.
    pub fn scripts(&self) -> impl Iterator<Item = &Path> {
        let words = if self.method == EmbedMethod::Command { &self.command[..] } else { &[] };
        words.iter().map(Path::new).filter(|path| path.is_file())
    }

    /// The settings of all patches that have some of their own, and those of the others.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        let own = self.patches.keys().map(|name| self.of_patch(name));
        std::iter::once(self.clone()).chain(own)
    }

    /// The most dimensions that patches can be embedded in: a rotation takes 32 GiB then.
    pub const MOST_DIMENSIONS: usize = 1 << 16;

    /// Checks all settings, those of single patches included.
    ///
    /// # Errors
    /// [`EmbedError::Setting`] for the first one that makes no sense.
    pub fn check(&self) -> Result<(), EmbedError> {
        self.each().try_for_each(|config| config.check_one())
    }

    fn check_one(&self) -> Result<(), EmbedError> {
        let require = |holds: bool, key, found: String, needed| match holds {
            true => Ok(()),
            false => Err(EmbedError::Setting { key, found, needed }),
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let dims = 1..=Self::MOST_DIMENSIONS;
        require(dims.contains(&self.dim), "dim", self.dim.to_string(), "1 to 65536")?;
        let hidden = positive(self.hidden) && self.hidden <= 1000.0;
        require(hidden, "hidden", self.hidden.to_string(), "a positive number, 1000 at most")?;
        let training = self.training();
        require(training.epochs > 0, "epochs", training.epochs.to_string(), "at least 1")?;
        for (key, share) in [("validation", training.validation), ("hide", training.hide)] {
            require((0.0..1.0).contains(&share), key, share.to_string(), "0 or more, and less than 1")?;
        }
        require(self.runs > 0, "runs", self.runs.to_string(), "at least 1")?;
        let rates = &training.learning_rate;
        require(rates.are_positive(), "learning_rate", rates.to_string(), "positive numbers")?;
        let decay = training.weight_decay;
        require(decay.is_finite() && decay >= 0.0, "weight_decay", decay.to_string(), "0 or more")?;
        let writes = self.command.iter().any(|argument| argument.contains("{out}"));
        let is_command = self.method == EmbedMethod::Command;
        let command =
            if self.command.is_empty() { "empty".into() } else { format!("`{}`", self.command.join(" ")) };
        require(
            !is_command || writes,
            "command",
            command,
            "a program with the word {out} among its arguments",
        )?;
        let timeout = self.command_timeout;
        let is_time = timeout.is_finite() && timeout >= 0.0;
        require(is_time, "command_timeout", timeout.to_string(), "a number of seconds, 0 for no limit")?;
        let has_folder = !self.coordinates.as_os_str().is_empty();
        let is_given = self.method == EmbedMethod::Given;
        require(!is_given || has_folder, "coordinates", "empty".into(), "a folder with coordinates")?;
        require(self.window != Some(0), "window", "0".into(), "at least 1")?;
        let clusters = self.walk_clusters.unwrap_or(2);
        require(clusters > 1, "walk_clusters", clusters.to_string(), "at least 2")?;
        let needs_two = matches!(self.method, EmbedMethod::Hops | EmbedMethod::Auto) && self.dim < 2;
        require(!needs_two, "dim", self.dim.to_string(), "at least 2 with method auto or hops")?;
        let needs_three = self.method == EmbedMethod::Both && self.dim < 3;
        require(!needs_three, "dim", self.dim.to_string(), "at least 3 with method both")?;
        require(self.basis > 0, "basis", "0".into(), "at least 1")
    }
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_patch_replace_those_of_all() {
        let json = r#"{"dim": 4, "epochs": 10, "patches": {"patch-00001": {"epochs": 20, "method": "gae"}}}"#;
        let config: EmbedConfig = serde_json::from_str(json).unwrap();
        let (first, second) = (config.of_patch("patch-00000"), config.of_patch("patch-00001"));
        assert_eq!((first.method, first.epochs, first.dim), (EmbedMethod::Auto, Some(10), 4));
        assert_eq!((second.method, second.epochs, second.dim), (EmbedMethod::Gae, Some(20), 4));
    }

    #[test]
    fn numbers_beyond_reason_are_refused() {
        for (key, value) in [("dim", "9223372036854775807"), ("dim", "65537"), ("hidden", "1e30")] {
            let config: EmbedConfig = serde_json::from_str(&format!("{{\"{key}\": {value}}}")).unwrap();
            let error = config.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("setting `embed.{key}` is ")), "{error}");
        }
    }

    #[test]
    fn learning_rates_are_a_number_a_list_or_a_range() {
        for text in ["0.01", "[0.01, 0.1]", r#"{"from": 0.001, "to": 0.1}"#] {
            let config: EmbedConfig =
                serde_json::from_str(&format!(r#"{{"learning_rate": {text}}}"#)).unwrap();
            config.check().unwrap();
            let again: EmbedConfig = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
            assert_eq!(again, config);
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let check =
            |json: &str| serde_json::from_str::<EmbedConfig>(json).unwrap().check().unwrap_err().to_string();
        assert_eq!(check(r#"{"dim": 0}"#), "setting `embed.dim` is 0; needed 1 to 65536");
        assert!(check(r#"{"learning_rate": [0.1, -1.0]}"#).contains("embed.learning_rate"));
        assert!(check(r#"{"patches": {"patch-00002": {"runs": 0}}}"#).contains("embed.runs"));
        assert!(check(r#"{"hide": 1.0}"#).contains("embed.hide"));
        assert!(check(r#"{"validation": -0.1}"#).contains("embed.validation"));
        assert_eq!(
            check(r#"{"method": "command", "command": ["mine", "{edges}"]}"#),
            "setting `embed.command` is `mine {edges}`; needed a program with the word {out} among its arguments"
        );
        assert!(check(r#"{"method": "command"}"#).contains("`embed.command` is empty"));
        assert!(check(r#"{"walk_clusters": 1}"#).contains("`embed.walk_clusters` is 1"));
        assert!(check(r#"{"command_timeout": -1}"#).contains("embed.command_timeout"));
        assert!(serde_json::from_str::<EmbedConfig>(r#"{"epoch": 3}"#).is_err());
    }
}
