//! The scores of the five embeddings of one graph in one dimension.
//!
//! Reconstruction is scored on all edges and as many non-edges, by the decoder that training used,
//! as in the paper. Held-out edges and classes are scored by the functions and settings of the
//! stage `evaluate`, so that a split has the scores that a run has: the better of inner product and
//! cosine against uniform non-edges, and the mean accuracy over splits of the labels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::trial::Trials;
use super::{Curves, ExperimentError, Setting};
use crate::embed::nn::decoder::Decoder;
use crate::evaluate::classification::classification;
use crate::evaluate::link_prediction::link_prediction;
use crate::evaluate::reconstruction::{Score, reconstruction_auc};
use crate::evaluate::{ByContender, Contender, Contest, Coordinates, Entry, EvaluateError, Task};
use crate::npy::{self, Array};
use crate::progress::Progress;
use crate::run_dir::patch_name;
use crate::seed::Stage;

/// The scores of one split on the tasks that were asked for and the graph allows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SplitScores {
    pub(super) link_prediction: Option<Curves<f64>>,
    pub(super) classification: Option<Curves<f64>>,
    /// Tasks that nobody asked for by name and that are impossible here, with the reason.
    pub(super) left_out: BTreeMap<Task, String>,
}

impl Trials<'_> {
    /// The embeddings of one dimension, mapped.
    fn embeddings(&self, dim: usize) -> Result<Curves<Array<f32>>, ExperimentError> {
        let full = self.run_dir(dim, "full").embeddings().coordinates(&patch_name(0));
        let stitched = |setting: Setting| self.run_dir(dim, setting.name()).alignment();
        let map =
            |path: PathBuf| npy::map::<f32>(&path).map_err(|source| ExperimentError::Array { path, source });
        Ok(Curves {
            full: map(full)?,
            l2g: map(stitched(Setting::Ours).embedding())?,
            no_trans: map(stitched(Setting::Ours).unaligned())?,
            l2g_paper: map(stitched(Setting::Paper).embedding())?,
            no_trans_paper: map(stitched(Setting::Paper).unaligned())?,
        })
    }

    /// The reconstruction AUCs of one dimension; the non-edges are the same for all.
    pub(super) fn reconstruction(&self, dim: usize) -> Result<Curves<f64>, ExperimentError> {
        let score = match self.config.embed.decoder {
            Decoder::InnerProduct => Score::InnerProduct,
            Decoder::Distance => Score::Distance,
        };
        let auc = |embedding: Array<f32>| {
            let mut random = self.seed().stream(Stage::Evaluate, 0);
            reconstruction_auc(self.graph(), &embedding.values, dim, score, &mut random)
        };
        let [full, l2g, no_trans, l2g_paper, no_trans_paper] = self.embeddings(dim)?.in_order().map(auc);
        let found = || Some([full?, l2g?, no_trans?, l2g_paper?, no_trans_paper?].into());
        found().ok_or(ExperimentError::NoScore)
    }

    /// How well the embeddings of one dimension predict held-out edges and classes.
    pub(super) fn split_scores(
        &self,
        dim: usize,
        progress: &dyn Progress,
    ) -> Result<SplitScores, ExperimentError> {
        let embeddings = self.embeddings(dim)?;
        let ours = [
            (Contender::Full, entry(dim, &embeddings.full)),
            (Contender::L2g, entry(dim, &embeddings.l2g)),
            (Contender::NoTrans, entry(dim, &embeddings.no_trans)),
        ];
        let paper = [
            (Contender::L2g, entry(dim, &embeddings.l2g_paper)),
            (Contender::NoTrans, entry(dim, &embeddings.no_trans_paper)),
        ];
        // Both settings use the same names, so they are scored apart, on the same pairs and nodes.
        let entries = [ours.into(), paper.into()];
        let mut scores = SplitScores::default();
        for task in self.config.evaluate.tasks_for(self.graph()) {
            let [ours, paper] = match self.score_task(task, &entries, progress) {
                Err(error) if self.config.evaluate.tasks.is_none() && error.is_impossible() => {
                    scores.left_out.insert(task, error.to_string());
                    continue;
                }
                found => {
                    found.map_err(|source| ExperimentError::Evaluate { dim, source: Box::new(source) })?
                }
            };
            let curves = || {
                Some(Curves {
                    full: *ours.get(&Contender::Full)?,
                    l2g: *ours.get(&Contender::L2g)?,
                    no_trans: *ours.get(&Contender::NoTrans)?,
                    l2g_paper: *paper.get(&Contender::L2g)?,
                    no_trans_paper: *paper.get(&Contender::NoTrans)?,
                })
            };
            match (task, curves()) {
                (Task::Reconstruction, _) => {}
                (Task::LinkPrediction, curves) => scores.link_prediction = curves,
                (Task::Classification, None) => {
                    let reason =
                        format!("a classifier of {dim} coordinates and so many classes is too large");
                    scores.left_out.insert(task, reason);
                }
                (Task::Classification, curves) => scores.classification = curves,
            }
        }
        Ok(scores)
    }

    /// The scores of both settings on a task; reconstruction has its own, see above.
    fn score_task(
        &self,
        task: Task,
        [ours, paper]: &[ByContender<Entry<'_>>; 2],
        progress: &dyn Progress,
    ) -> Result<[ByContender<f64>; 2], EvaluateError> {
        let (graph, config, seed) = (self.graph(), &self.config.evaluate, self.seed());
        let score = |entries| -> Result<ByContender<f64>, EvaluateError> {
            let contest = Contest { graph, entries, config, seed };
            Ok(match task {
                Task::Reconstruction => ByContender::new(),
                Task::LinkPrediction => {
                    let found = link_prediction(&contest, progress)?.uniform.best;
                    found.into_iter().map(|(contender, best)| (contender, best.auc)).collect()
                }
                Task::Classification => {
                    let found = classification(&contest, progress)?.accuracy;
                    found.into_iter().map(|(contender, accuracy)| (contender, accuracy.mean)).collect()
                }
            })
        };
        Ok([score(ours)?, score(paper)?])
    }
}

fn entry(dim: usize, array: &Array<f32>) -> Entry<'_> {
    Entry::Rows(Coordinates::new(&array.values, dim))
}
