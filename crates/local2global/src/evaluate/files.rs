//! The stage on disk: graph and embeddings of a run folder, scores back into it.
//!
//! ```text
//! 1-graph/                    the graph, with labels and held-out edges
//! 5-alignment/embedding.npy   contender l2g
//! 5-alignment/no_trans.npy    contender no_trans, if it is there
//! 6-evaluation/full.npy       contender full, if somebody trained one
//! 6-evaluation/untrained.npy  contender untrained, if the method has one
//! 6-evaluation/scores.json    what comes out
//! ```
//!
//! Embeddings of `f32` are mapped, others are read. The scores hold no times, so that the
//! same seed gives the same bytes.

use std::path::{Path, PathBuf};

use super::{ByContender, Contender, Coordinates, EvaluateConfig, EvaluateError, Scores, evaluate};
use crate::graph::store;
use crate::npy::{self, Array, ArrayReader, NpyError};
use crate::progress::Progress;
use crate::run_dir::{RunDir, write_json};
use crate::seed::Seed;

/// Where the embedding of a contender lies; a baseline would lie beside the scores.
pub fn embedding_path(run: &RunDir, contender: Contender) -> PathBuf {
    match contender {
        Contender::L2g => run.alignment().embedding(),
        Contender::NoTrans => run.alignment().unaligned(),
        other => run.evaluation().embedding(&other.to_string()),
    }
}

/// Scores the embeddings of a run folder, and writes the scores into it.
///
/// # Errors
/// [`EvaluateError`], naming the file: no graph, no embedding, one that does not fit the
/// graph, or as [`evaluate`].
pub fn evaluate_run(
    run: &RunDir,
    config: &EvaluateConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Scores, EvaluateError> {
    config.check()?;
    let (graph, _) = store::open(&run.graph())?;
    let arrays = read_embeddings(run)?;
    let embeddings: ByContender<Coordinates<'_>> = arrays
        .iter()
        .map(|(&contender, (dim, array))| (contender, Coordinates::new(&array.values, *dim)))
        .collect();
    let scores = evaluate(&graph, &embeddings, config, seed, progress)?;
    write_json(&run.evaluation().scores(), &scores)?;
    Ok(scores)
}

/// The embeddings that are there, each with its number of columns.
fn read_embeddings(run: &RunDir) -> Result<ByContender<(usize, Array<f32>)>, EvaluateError> {
    let path = embedding_path(run, Contender::L2g);
    if !path.exists() {
        return Err(EvaluateError::NoEmbedding { path });
    }
    let mut arrays = ByContender::new();
    for contender in Contender::EMBEDDINGS {
        let path = embedding_path(run, contender);
        if path.exists() {
            let array = read_embedding(&path).map_err(|source| EvaluateError::Array { path, source })?;
            arrays.insert(contender, array);
        }
    }
    Ok(arrays)
}

/// Opens an embedding, with its number of columns: mapped if it holds `f32`, else read.
///
/// # Errors
/// [`NpyError`] if it is no array with two axes and at least one column.
pub fn read_embedding(path: &Path) -> Result<(usize, Array<f32>), NpyError> {
    let array = match npy::map::<f32>(path) {
        Err(NpyError::Type { .. }) => {
            let reader = npy::open(path)?;
            let shape = reader.header().shape.clone();
            Array { shape, values: ArrayReader::floats::<f32>(reader)?.into() }
        }
        mapped => mapped?,
    };
    match array.rows_and_columns()? {
        (_, 0) => Err(NpyError::Shape { found: array.shape, needed: "at least one column".into() }),
        (_, columns) => Ok((columns, array)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::evaluate::Task;
    use crate::graph::builtin;
    use crate::graph::load::GraphConfig;
    use crate::progress::Silent;
    use crate::run_dir::{read_json, write_array};

    /// Cora with held-out edges; the embedding counts the classes of neighbours.
    fn run() -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        let cora = cora.hold_out(0.1, Seed(1)).unwrap();
        store::write(&run.graph(), &cora.graph, &cora.summary).unwrap();
        let graph = &cora.graph;
        let crate::graph::labels::LabelKind::Single(classes) = graph.labels().unwrap().kind() else {
            panic!("Cora has one class per node")
        };
        let mut values = vec![0_f32; graph.num_nodes() * 7];
        for node in graph.nodes() {
            for neighbor in graph.neighbors(node) {
                values[node.index() * 7 + classes[neighbor.index()] as usize] += 1.0;
            }
        }
        write_array(&embedding_path(&run, Contender::L2g), &[graph.num_nodes(), 7], &values).unwrap();
        (folder, run)
    }

    fn score(run: &RunDir, config: &EvaluateConfig) -> Result<Scores, EvaluateError> {
        evaluate_run(run, config, Seed(5), &Silent)
    }

    #[test]
    fn all_tasks_that_the_graph_allows_are_done_and_written() {
        let (_folder, run) = run();
        let scores = score(&run, &EvaluateConfig { repeats: Some(2), ..Default::default() }).unwrap();
        let accuracy = scores.classification.as_ref().unwrap().accuracy[&Contender::L2g].mean;
        assert!(accuracy > 0.75 && scores.auc[&Contender::L2g] > 0.75, "{scores:?}");
        assert!(
            scores.link_prediction.as_ref().unwrap().uniform.by_score.auc[&Contender::L2g] > 0.75,
            "{scores:?}"
        );
        let read: Scores = read_json(&run.evaluation().scores()).unwrap();
        assert!((read.auc[&Contender::L2g] - scores.auc[&Contender::L2g]).abs() < 1e-12);
    }

    #[test]
    fn a_full_embedding_of_another_type_is_scored_too() {
        let (_folder, run) = run();
        let values: Vec<f64> = (0..2485).map(f64::from).collect();
        write_array(&embedding_path(&run, Contender::Full), &[2485, 1], &values).unwrap();
        let config = EvaluateConfig { tasks: Some(vec![Task::Reconstruction]), ..Default::default() };
        let scores = score(&run, &config).unwrap();
        assert!(scores.auc.keys().eq(&[Contender::Full, Contender::L2g, Contender::Degrees]));
        assert!(scores.classification.is_none() && scores.link_prediction.is_none());
    }

    #[test]
    fn embeddings_that_do_not_fit_are_named() {
        let (_folder, run) = run();
        let no_trans = embedding_path(&run, Contender::NoTrans);
        let mut values = vec![0_f32; 2485];
        let error = || score(&run, &EvaluateConfig::default()).unwrap_err().to_string();
        write_array(&no_trans, &[2484, 1], &values[1..]).unwrap();
        assert_eq!(error(), "embedding `no_trans` has 2484 rows, but the graph has 2485 nodes");
        values[7] = f32::NAN;
        write_array(&no_trans, &[2485, 1], &values).unwrap();
        assert_eq!(error(), "embedding `no_trans` has a coordinate that is not finite in row 7");
        write_array(&no_trans, &[2485, 0], &[0_f32; 0]).unwrap();
        assert!(error().ends_with("needed at least one column"), "{}", error());
        fs::remove_file(embedding_path(&run, Contender::L2g)).unwrap();
        assert!(error().starts_with("there is no embedding to evaluate"), "{}", error());
    }

    #[test]
    fn tasks_that_the_graph_does_not_allow_are_refused() {
        let (_folder, run) = run();
        let (graph, description) = store::open(&run.graph()).unwrap();
        let mut summary = description.summary;
        (summary.held_out_edges, summary.classes) = (0, 0);
        let bare = graph.with_held_out(None).with_labels(None).unwrap();
        let elsewhere = RunDir::new(run.root().join("bare"));
        store::write(&elsewhere.graph(), &bare, &summary).unwrap();
        fs::create_dir_all(elsewhere.alignment()).unwrap();
        fs::copy(embedding_path(&run, Contender::L2g), embedding_path(&elsewhere, Contender::L2g)).unwrap();
        let of = |task| score(&elsewhere, &EvaluateConfig { tasks: Some(vec![task]), ..Default::default() });
        assert!(matches!(of(Task::LinkPrediction), Err(EvaluateError::NothingHeldOut)));
        assert!(matches!(of(Task::Classification), Err(EvaluateError::NoLabels)));
        let scores = score(&elsewhere, &EvaluateConfig::default()).unwrap();
        assert!(scores.reconstruction.is_some() && scores.classification.is_none());
    }
}
