//! The rows of a site, moved into the common frame by the site itself.
//!
//! ```text
//! joined = s ((X Q + t) R) + T
//! ```
//!
//! with the secret `Q` and `t` of the site, and its motion `s`, `R` and `T` in the frame. Rows are not
//! clipped and have no noise, whatever was shared: they do not leave the site.

use serde::{Deserialize, Serialize};

use super::{FederatedError, Frame, KeptSecret, SiteRows};

/// So many rows are moved at a time.
const ROWS_AT_ONCE: usize = 4096;

/// What stands in `join.json`: how well the site fits the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinRecord {
    /// The site.
    pub site: String,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// How many of its nodes it had shared.
    pub shared: usize,
    /// The number of sites that it overlaps with.
    pub neighbors: usize,
    /// The median misfit of its overlaps, after alignment: 0 is a perfect fit.
    pub misfit: f64,
    /// The fraction of its weight that robust alignment left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<f64>,
    /// How well all sites fit, in words.
    pub verdict: String,
}

/// Moves all rows of a site into the common frame; `sink` gets them block by block.
///
/// # Errors
/// [`FederatedError`] if the frame does not have the site, or was made from another share of it, or a
/// coordinate is not finite; and what `sink` returns.
pub fn join<E: From<FederatedError>>(
    site: &SiteRows<'_>,
    kept: &KeptSecret,
    frame: &Frame,
    mut sink: impl FnMut(&[f64]) -> Result<(), E>,
) -> Result<JoinRecord, E> {
    site.check()?;
    let index = frame.index_of(site.site)?;
    check_seal(site, kept, frame, index)?;
    for first in (0..site.ids.len()).step_by(ROWS_AT_ONCE) {
        let rows = site.rows(first..(first + ROWS_AT_ONCE).min(site.ids.len()))?;
        let mut joined = vec![0.0; rows.len()];
        frame.transforms.apply(index, &kept.secret.hide(&rows), &mut joined);
        sink(&joined)?;
    }
    let fit = frame.diagnostics.patch_list.iter().find(|fit| fit.patch == site.site);
    Ok(JoinRecord {
        site: site.site.into(),
        nodes: site.ids.len(),
        dim: site.dim,
        shared: kept.shared.len(),
        neighbors: fit.map_or(0, |fit| fit.neighbors),
        misfit: fit.map_or(0.0, |fit| fit.misfit),
        trust: fit.and_then(|fit| fit.trust),
        verdict: frame.diagnostics.verdict.clone(),
    })
}

/// Checks that secret and shared rows are those that the frame was made from.
fn check_seal(
    site: &SiteRows<'_>,
    kept: &KeptSecret,
    frame: &Frame,
    index: usize,
) -> Result<(), FederatedError> {
    let changed = || FederatedError::Changed { site: site.site.into() };
    let nodes = site.ids.len() as u64;
    if kept.site != site.site || kept.secret.dim() != site.dim || kept.shared.iter().any(|&row| row >= nodes)
    {
        return Err(changed());
    }
    let rows = site.rows(kept.shared.iter().map(|&row| row as usize))?;
    match kept.secret.seal(&rows) == frame.record.sites[index].seal {
        true => Ok(()),
        false => Err(changed()),
    }
}
