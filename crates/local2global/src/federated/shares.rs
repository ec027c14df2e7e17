//! Shares of several sites that belong together, and the patches that they are.
//!
//! A share tells with which ids of which sites it was made. Shares belong to one round if each of two
//! sites has used the ids that the other one has now. A site of the round whose share is missing does
//! no harm: it can be added later.

use super::share::KnownFrom;
use super::{BlindedId, FederatedError, Share, Step};
use crate::align::{Coords, LocalPatch};

/// Shares of rows with one key and one dimension, by the names of their sites.
#[derive(Clone, Debug)]
pub struct Shares(Vec<Share>);

impl Shares {
    /// Checks shares, and puts them in order.
    ///
    /// # Errors
    /// [`FederatedError`], naming the site: a share of ids, damage, coordinates that are not finite, ids
    /// that stand twice, another key, another dimension, the name of another site.
    pub fn new(mut shares: Vec<Share>) -> Result<Self, FederatedError> {
        shares.sort_by(|a, b| a.record.site.cmp(&b.record.site));
        shares.iter().try_for_each(|share| share.check(Step::Rows))?;
        if shares.len() < 2 {
            return Err(FederatedError::TooFew { found: shares.len() });
        }
        for pair in shares.windows(2) {
            let [first, second] = [&pair[0].record, &pair[1].record];
            let (site, other) = (second.site.clone(), first.site.clone());
            if site == other {
                return Err(FederatedError::SameSite { site });
            }
            if first.key_check != second.key_check {
                return Err(FederatedError::OtherKey { site, other: format!("site `{other}`") });
            }
            if first.dim != second.dim {
                let [found, needed] = [second.dim, first.dim].map(Option::unwrap_or_default);
                return Err(FederatedError::Dimension { site, found, other, needed });
            }
        }
        Ok(Self(shares))
    }

    /// The shares, by the names of their sites.
    pub fn all(&self) -> &[Share] {
        &self.0
    }

    /// The place of a site.
    pub(super) fn index_of(&self, site: &str) -> Option<usize> {
        self.0.binary_search_by(|share| share.record.site.as_str().cmp(site)).ok()
    }

    /// Checks that every share was made with the ids of every other.
    pub(super) fn check_round(&self) -> Result<(), FederatedError> {
        let mut pairs = self.0.iter().flat_map(|share| self.0.iter().map(move |other| (share, other)));
        pairs.try_for_each(|(share, other)| check_pair(share, other))
    }

    /// Checks that one share was made with the ids of every other, or those of a frame.
    pub(super) fn check_added(&self, site: usize, frame_digests: &[String]) -> Result<(), FederatedError> {
        let share = &self.0[site];
        let knows_frame = share
            .record
            .made_with
            .iter()
            .any(|known| known.from == KnownFrom::Frame && frame_digests.contains(&known.digest));
        match knows_frame {
            true => Ok(()),
            false => self.0.iter().try_for_each(|other| check_pair(share, other)),
        }
    }

    /// All blinded ids, ascending, and a patch for each site whose nodes are positions among them.
    pub(super) fn patches(&self) -> Result<(Vec<BlindedId>, Vec<LocalPatch>), FederatedError> {
        let mut ids: Vec<BlindedId> = self.0.iter().flat_map(|share| &share.ids).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let patch = |share: &Share| {
            let place = |id: &BlindedId| ids.partition_point(|other| other < id) as u64;
            let nodes: Vec<u64> = share.ids.iter().map(place).collect();
            let (coords, dim) = (Coords::F64(share.coords.clone().into()), share.record.dim.unwrap_or(0));
            LocalPatch::new(share.record.site.clone(), nodes.into(), coords, dim)
        };
        let patches = self.0.iter().map(patch).collect::<Result<_, _>>()?;
        Ok((ids, patches))
    }
}

/// Checks that a share was made with the ids that another site has now.
fn check_pair(share: &Share, other: &Share) -> Result<(), FederatedError> {
    let (record, name) = (&share.record, &other.record.site);
    if record.site == *name || record.made_with.iter().any(|known| known.from == KnownFrom::List) {
        return Ok(());
    }
    let known = record.made_with.iter().find(|known| known.from == KnownFrom::Site && known.name == *name);
    let found = match known {
        Some(known) if known.digest == other.record.ids_digest => return Ok(()),
        Some(_) => "with other ids of",
        None => "without the ids of",
    };
    Err(FederatedError::OtherRound { site: record.site.clone(), found, other: name.clone() })
}
