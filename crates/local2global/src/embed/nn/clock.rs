//! Where the time of training goes.

use std::time::Instant;

use serde::Serialize;

/// A part of the training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Drawing non-edges and noise.
    Sampling,
    /// Products with sparse features and with the propagation matrix.
    Sparse,
    /// Products of full matrices.
    Dense,
    /// The loss on pairs, forward and backward.
    Decoder,
    /// The optimiser.
    Adam,
    /// What is done to each value or column by itself.
    Elementwise,
}

/// Seconds spent in each part, all epochs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Clock {
    /// Drawing non-edges and noise.
    pub sampling: f64,
    /// Products with sparse features and with the propagation matrix.
    pub sparse: f64,
    /// Products of full matrices.
    pub dense: f64,
    /// The loss on pairs, forward and backward.
    pub decoder: f64,
    /// The optimiser.
    pub adam: f64,
    /// What is done to each value or column by itself.
    pub elementwise: f64,
}

impl Clock {
    /// Runs `body` and adds its time to `part`.
    pub fn time<R>(&mut self, part: Part, body: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = body();
        *self.seconds_mut(part) += start.elapsed().as_secs_f64();
        result
    }

    fn seconds_mut(&mut self, part: Part) -> &mut f64 {
        match part {
            Part::Sampling => &mut self.sampling,
            Part::Sparse => &mut self.sparse,
            Part::Dense => &mut self.dense,
            Part::Decoder => &mut self.decoder,
            Part::Adam => &mut self.adam,
            Part::Elementwise => &mut self.elementwise,
        }
    }
}
