//! What the scores mean, in words.
//!
//! The stitched embedding is compared with training on the whole graph, with patches that
//! are not aligned, and with what costs no training. Differences are in points, hundredths
//! of an AUC or an accuracy. Convention: AUCs within 0.3 points of each other are as good,
//! and so are accuracies within one standard deviation over the splits, or within 0.7
//! points where there is only one split. Link AUCs are those against uniform non-edges, the
//! better of the inner product and the cosine for each contender.
//!
//! Nothing is chosen by these findings; they only tell.

use super::{Contender, Scores};

/// AUCs that are closer are as good.
const SAME_AUC: f64 = 0.003;

/// Accuracies of a single split that are closer are as good.
const SAME_ACCURACY: f64 = 0.007;

/// From this AUC on, degrees alone explain much of a link AUC.
const TELLING_DEGREES: f64 = 0.8;

/// How far two contenders lie apart in one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    measure: &'static str,
    /// Positive if the first is better.
    by: f64,
    /// Differences up to this are none.
    same: f64,
}

impl Difference {
    fn is_gain(self) -> bool {
        self.by > self.same
    }

    fn is_loss(self) -> bool {
        self.by < -self.same
    }

    /// `adds 1.2 points of link AUC`.
    fn words(self) -> String {
        let (points, measure) = (100.0 * self.by.abs(), self.measure);
        match self.by {
            _ if self.is_gain() => format!("adds {points:.1} points of {measure}"),
            _ if self.is_loss() => format!("loses {points:.1} points of {measure}"),
            _ => format!("is as good in {measure}"),
        }
    }
}

/// What the scores mean, a sentence each.
pub fn findings(scores: &Scores) -> Vec<String> {
    let baselines = [Contender::Untrained, Contender::Smoothed].into_iter();
    let mut found = Vec::new();
    found.extend(compared(scores, "stitching", Contender::Full));
    found.extend(aligned(scores));
    found.extend(baselines.filter_map(|baseline| compared(scores, "training", baseline)));
    let raw = differences(scores, Contender::L2g, Contender::Features);
    if raw.iter().any(|difference| difference.is_loss()) {
        found.extend(sentence("training", Contender::Features, &raw));
    }
    found.extend(by_cosine(scores));
    found.extend(degrees(scores));
    found
}

/// `against smoothed features, training adds 1.2 points of link AUC and is as good in accuracy`.
fn compared(scores: &Scores, subject: &str, other: Contender) -> Option<String> {
    sentence(subject, other, &differences(scores, Contender::L2g, other))
}

fn sentence(subject: &str, other: Contender, differences: &[Difference]) -> Option<String> {
    let against = match other {
        Contender::Full => "training on the whole graph",
        Contender::Untrained => "the untrained model",
        _ => other.name(),
    };
    let words: Vec<_> = differences.iter().map(|difference| difference.words()).collect();
    (!words.is_empty()).then(|| format!("against {against}, {subject} {}", words.join(" and ")))
}

/// What aligning brought, and what to use where it did harm.
fn aligned(scores: &Scores) -> Option<String> {
    let differences = differences(scores, Contender::L2g, Contender::NoTrans);
    let text = sentence("aligning", Contender::NoTrans, &differences)?;
    let worse = differences.iter().any(|difference| difference.is_loss());
    let better = differences.iter().any(|difference| difference.is_gain());
    Some(match worse && !better {
        true => format!("{text}: use 5-alignment/no_trans.npy"),
        false => text,
    })
}

fn by_cosine(scores: &Scores) -> Option<String> {
    let links = &scores.link_prediction.as_ref()?.uniform;
    let inner = links.by_score.auc.get(&Contender::L2g)?;
    let cosine = links.cosine.auc.get(&Contender::L2g)?;
    let gain = cosine - inner > SAME_AUC;
    gain.then(|| format!("pairs are told best by the cosine: {cosine:.3}, by the inner product {inner:.3}"))
}

fn degrees(scores: &Scores) -> Option<String> {
    let auc = *scores.link_prediction.as_ref()?.uniform.by_score.auc.get(&Contender::Degrees)?;
    (auc >= TELLING_DEGREES)
        .then(|| format!("degrees alone score {auc:.3} in link AUC: look at the degree-matched non-edges"))
}

/// How far the first contender is ahead of the second, in each measure that both have.
fn differences(scores: &Scores, first: Contender, second: Contender) -> Vec<Difference> {
    let link = scores.link_prediction.as_ref().and_then(|links| {
        let best = &links.uniform.best;
        let by = best.get(&first)?.auc - best.get(&second)?.auc;
        Some(Difference { measure: "link AUC", by, same: SAME_AUC })
    });
    let accuracy = scores.classification.as_ref().and_then(|classes| {
        let (a, b) = (classes.accuracy.get(&first)?, classes.accuracy.get(&second)?);
        let same = a.std.zip(b.std).map_or(SAME_ACCURACY, |(a, b)| a.max(b));
        Some(Difference { measure: "accuracy", by: a.mean - b.mean, same })
    });
    link.into_iter().chain(accuracy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::classification::ClassificationScores;
    use crate::evaluate::link_prediction::{BestScore, LinkRankings, LinkScores};
    use crate::evaluate::{ByContender, Score, Spread};

    type Figures<'a> = &'a [(Contender, f64)];

    /// Scores with these link AUCs, the same by the cosine, and accuracies ± 0.01.
    fn scores(links: Figures<'_>, accuracies: Figures<'_>) -> Scores {
        let auc: ByContender<f64> = links.iter().copied().collect();
        let best = links.iter().map(|&(who, auc)| (who, BestScore { auc, score: Score::InnerProduct }));
        let rankings = crate::evaluate::reconstruction::Rankings { auc, average_precision: [].into() };
        let uniform =
            LinkRankings { non_edges: 9, by_score: rankings.clone(), cosine: rankings, best: best.collect() };
        let links = LinkScores { edges: 9, of_edges: 9, score: Score::InnerProduct, uniform, matched: None };
        let spread = |&(who, mean): &(Contender, f64)| (who, Spread { mean, std: Some(0.01) });
        let accuracy: ByContender<Spread> = accuracies.iter().map(spread).collect();
        let classes = ClassificationScores {
            nodes: 9,
            of_nodes: 9,
            classes: 2,
            multi_label: false,
            train_nodes: 1,
            test_nodes: 8,
            given_split: false,
            repeats: 10,
            l2: 1.0,
            scale: Default::default(),
            unfinished_fits: 0,
            micro_f1: accuracy.clone(),
            macro_f1: accuracy.clone(),
            accuracy,
        };
        Scores { link_prediction: Some(links), classification: Some(classes), ..Default::default() }
    }

    #[test]
    fn small_differences_are_none_and_large_ones_are_told_in_points() {
        use Contender::{Full, L2g, Smoothed};
        let links = [(Full, 0.982), (L2g, 0.980), (Smoothed, 0.968)];
        let found = findings(&scores(&links, &[(Full, 0.84), (L2g, 0.81), (Smoothed, 0.805)]));
        assert_eq!(
            found,
            [
                "against training on the whole graph, stitching is as good in link AUC and loses 3.0 points \
                 of accuracy",
                "against smoothed features, training adds 1.2 points of link AUC and is as good in accuracy",
            ]
        );
    }

    #[test]
    fn where_aligning_does_harm_the_other_file_is_named() {
        use Contender::{L2g, NoTrans};
        let told = |link: f64, accuracy: f64| {
            findings(&scores(&[(L2g, 0.9), (NoTrans, link)], &[(L2g, 0.8), (NoTrans, accuracy)])).join("; ")
        };
        assert_eq!(
            told(0.9, 0.831),
            "against unaligned, aligning is as good in link AUC and loses 3.1 points of accuracy: use \
             5-alignment/no_trans.npy"
        );
        assert!(!told(0.85, 0.831).contains("use"), "one measure each way is for the reader to weigh");
        assert!(told(0.85, 0.7).ends_with("adds 5.0 points of link AUC and adds 10.0 points of accuracy"));
    }

    #[test]
    fn degrees_and_raw_features_are_mentioned_only_where_they_tell() {
        use Contender::{Degrees, Features, L2g};
        let found = findings(&scores(&[(L2g, 0.95), (Degrees, 0.93)], &[(L2g, 0.6), (Features, 0.67)]));
        assert_eq!(
            found,
            [
                "against raw features, training loses 7.0 points of accuracy",
                "degrees alone score 0.930 in link AUC: look at the degree-matched non-edges",
            ]
        );
        assert!(
            findings(&scores(&[(L2g, 0.95), (Degrees, 0.6)], &[(L2g, 0.7), (Features, 0.67)])).is_empty()
        );
        assert!(findings(&Scores::default()).is_empty());
    }

    #[test]
    fn the_cosine_is_recommended_where_it_is_better() {
        let mut scores = scores(&[(Contender::L2g, 0.95)], &[]);
        let links = scores.link_prediction.as_mut().unwrap();
        links.uniform.cosine.auc.insert(Contender::L2g, 0.98);
        assert_eq!(
            findings(&scores),
            ["pairs are told best by the cosine: 0.980, by the inner product 0.950"]
        );
    }
}
