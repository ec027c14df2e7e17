//! The settings of training that depend on the method, where they are not given.
//!
//! | | `auto`, `hops`, `both` | `vgae`, `gae` | `dgi` |
//! | --- | --- | --- | --- |
//! | `epochs` | 20 | 300 | 2000 |
//! | `learning_rate` | 0.001 | 0.006 | 0.001 |
//! | `weight_decay` | 0 | 0.001 | 0 |
//! | `normalise` | | `"length"` | `"row"` |
//! | `patience` | | 20 checks | 20 epochs |
//! | `validation` | | 0.05 | 0 |
//! | `hide` | 0.5 | 0.5 | 0 |
//! | `start` | | `"common"` | `"common"` |
//!
//! Auto-encoders that hide edges, start together and keep their weights small can be stitched;
//! others learn their patch by heart. A patience in checks needs `validation`; without, it is 0. Infomax is as published: Veličković et al., "Deep graph
//! infomax", ICLR 2019.

use super::nn::input::Scaling;
use super::{EmbedConfig, EmbedMethod, PatchOverrides, Rates, Start};

/// How a model is trained, every setting filled in.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of EmbedConfig")]
pub struct Training {
    pub epochs: u32,
    pub learning_rate: Rates,
    pub weight_decay: f64,
    pub normalise: Scaling,
    pub patience: u32,
    pub validation: f64,
    pub hide: f64,
    pub start: Start,
}

impl Training {
    /// What a method does unless told otherwise.
    pub fn usual(method: EmbedMethod) -> Self {
        let autoencoder = Self {
            epochs: 300,
            learning_rate: Rates::One(0.006),
            weight_decay: 0.001,
            normalise: Scaling::Length,
            patience: 20,
            validation: 0.05,
            hide: 0.5,
            start: Start::Common,
        };
        match method {
            EmbedMethod::Dgi => Self {
                epochs: 2000,
                learning_rate: Rates::One(0.001),
                weight_decay: 0.0,
                normalise: Scaling::Row,
                patience: 20,
                validation: 0.0,
                hide: 0.0,
                ..autoencoder
            },
            EmbedMethod::Auto | EmbedMethod::Hops | EmbedMethod::Both => Self {
                epochs: 20,
                learning_rate: Rates::One(0.001),
                weight_decay: 0.0,
                patience: 0,
                validation: 0.0,
                ..autoencoder
            },
            _ => autoencoder,
        }
    }
}

impl EmbedConfig {
    /// How a model is trained by these settings: what is not given is as the method needs it.
    pub fn training(&self) -> Training {
        let usual = Training::usual(self.method);
        let validation = self.validation.unwrap_or(usual.validation);
        // Patience in checks says nothing where there are no checks.
        let patience = if validation == 0.0 && usual.validation > 0.0 { 0 } else { usual.patience };
        Training {
            epochs: self.epochs.unwrap_or(usual.epochs),
            learning_rate: self.learning_rate.clone().unwrap_or(usual.learning_rate),
            weight_decay: self.weight_decay.unwrap_or(usual.weight_decay),
            normalise: self.normalise.unwrap_or(usual.normalise),
            patience: self.patience.unwrap_or(patience),
            validation,
            hide: self.hide.unwrap_or(usual.hide),
            start: self.start.unwrap_or(usual.start),
        }
    }

    /// The same settings with those of training filled in, also where a single patch has a
    /// method of its own: they describe the same coordinates.
    #[must_use]
    pub fn settled(&self) -> Self {
        let training = self.training();
        let mut settled = Self {
            epochs: Some(training.epochs),
            learning_rate: Some(training.learning_rate),
            weight_decay: Some(training.weight_decay),
            normalise: Some(training.normalise),
            patience: Some(training.patience),
            validation: Some(training.validation),
            hide: Some(training.hide),
            start: Some(training.start),
            ..self.clone()
        };
        for (name, own) in &mut settled.patches {
            if own.method.is_some() {
                own.settle(&self.of_patch(name).training());
            }
        }
        settled
    }
}

impl PatchOverrides {
    /// Fills in all settings of training.
    fn settle(&mut self, training: &Training) {
        self.epochs = Some(training.epochs);
        self.learning_rate = Some(training.learning_rate.clone());
        self.weight_decay = Some(training.weight_decay);
        self.normalise = Some(training.normalise);
        self.patience = Some(training.patience);
        self.validation = Some(training.validation);
        self.hide = Some(training.hide);
        self.start = Some(training.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_stays_and_the_rest_is_as_the_method_needs_it() {
        let config: EmbedConfig = serde_json::from_str(r#"{"method": "dgi", "epochs": 7}"#).unwrap();
        let training = config.training();
        assert_eq!((training.epochs, training.patience, training.normalise), (7, 20, Scaling::Row));
        let unchecked = EmbedConfig { validation: Some(0.0), ..EmbedConfig::default() };
        assert_eq!(unchecked.training().patience, 0);
        assert_eq!(config.settled().settled(), config.settled());
        assert_eq!(config.settled().training(), training);
    }

    #[test]
    fn settling_does_not_change_what_single_patches_do() {
        let json =
            r#"{"hide": 0.25, "patches": {"a": {"method": "dgi", "patience": 3}, "b": {"epochs": 5}}}"#;
        let config: EmbedConfig = serde_json::from_str(json).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(config.settled().of_patch(name), config.of_patch(name).settled(), "{name}");
        }
        let of_a = config.of_patch("a").training();
        assert_eq!((of_a.patience, of_a.normalise, of_a.hide), (3, Scaling::Row, 0.25));
    }
}
