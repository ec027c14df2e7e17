//! The randomness of the operating system.
//!
//! Everything else in this library draws from the seed of the run, so that the same seed gives the
//! same bytes. A secret must not be drawn so: whoever knows the seed could draw it too. This file is
//! the only place where the same seed does not give the same bytes, and it is asked for 32 bytes, once,
//! when a secret is drawn. Tests make secrets from bytes of their own.

use super::FederatedError;

/// Bytes that nobody can guess.
pub(super) fn unguessable_bytes() -> Result<[u8; 32], FederatedError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(FederatedError::SystemChance)?;
    Ok(bytes)
}
