//! One value for each of the five embeddings that are compared.

use serde::{Deserialize, Serialize};

use crate::evaluate::Spread;

/// One value per embedding of a graph in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves<T> {
    /// Trained on the whole graph.
    pub full: T,
    /// Trained on patches as set, and stitched.
    pub l2g: T,
    /// The same patches, averaged without transforms.
    pub no_trans: T,
    /// Trained on patches in the setting of the paper, and stitched.
    pub l2g_paper: T,
    /// The same patches, averaged without transforms.
    pub no_trans_paper: T,
}

impl<T> Curves<T> {
    /// The values in the order of tables and legends.
    pub fn in_order(self) -> [T; 5] {
        [self.full, self.l2g, self.no_trans, self.l2g_paper, self.no_trans_paper]
    }
}

impl<T> From<[T; 5]> for Curves<T> {
    fn from([full, l2g, no_trans, l2g_paper, no_trans_paper]: [T; 5]) -> Self {
        Self { full, l2g, no_trans, l2g_paper, no_trans_paper }
    }
}

impl Curves<Spread> {
    /// The mean and spread over splits, at least one.
    pub(super) fn over(splits: &[Curves<f64>]) -> Self {
        let of = |curve: usize| splits.iter().map(|split| split.in_order()[curve]).collect::<Vec<_>>();
        std::array::from_fn(|curve| Spread::of(&of(curve))).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_curve_has_its_own_spread() {
        let splits = [[0.5, 1.0, 0.0, 0.0, 0.25], [0.5, 3.0, 0.0, 0.0, 0.75]].map(Curves::from);
        let spread = Curves::over(&splits);
        assert_eq!(spread.full, Spread { mean: 0.5, std: Some(0.0) });
        assert_eq!(spread.l2g, Spread { mean: 2.0, std: Some(2_f64.sqrt()) });
        assert_eq!((spread.no_trans_paper.mean, Curves::over(&splits[..1]).l2g.std), (0.5, None));
    }
}
