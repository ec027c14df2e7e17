//! Stage 6: how good is it.

pub mod reconstruction;
