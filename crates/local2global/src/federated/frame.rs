//! The common frame: a motion for the share of each site, found from shares alone.

use serde::{Deserialize, Serialize};

use super::hash::plain;
use super::share::digest_of_ids;
use super::{BlindedId, FederatedError, Share, Shares, words};
use crate::align::update::{Update, update};
use crate::align::{
    AlignConfig, AlignError, AlignMethod, Diagnostics, LocalPatch, Transforms, align, diagnose,
    diagnose_updated, restored,
};
use crate::progress::Progress;
use crate::seed::Seed;

/// What stands in `frame.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRecord {
    /// What the frame holds, in words.
    pub holds: Vec<String>,
    /// What it does not hold, in words.
    pub does_not_hold: Vec<String>,
    /// The number of coordinates.
    pub dim: usize,
    /// The number of blinded ids.
    pub nodes: usize,
    /// What tells with which key ids are blinded.
    pub key_check: String,
    /// The digest of the blinded ids, and of those before sites were added.
    pub ids_digests: Vec<String>,
    /// The sites, by name; their motions are in this order.
    pub sites: Vec<FrameSite>,
}

/// A site, and the share that it sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSite {
    /// The site.
    pub site: String,
    /// The digest of its share.
    pub share: String,
    /// By which the site knows its secret and its rows again.
    pub seal: String,
}

/// The common frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What it is, for people and programs.
    pub record: FrameRecord,
    /// The blinded ids of all shared nodes, ascending.
    pub ids: Vec<BlindedId>,
    /// The motion of each site.
    pub transforms: Transforms,
    /// How far each site is trusted, if alignment was robust.
    pub trust: Option<Vec<f64>>,
    /// How well the sites fit each other.
    pub diagnostics: Diagnostics,
}

impl Frame {
    /// Finds the motions of all sites.
    ///
    /// # Errors
    /// [`FederatedError`], naming the site: a share of another round, or overlaps that do not join all
    /// sites.
    pub fn align(
        shares: &Shares,
        config: &AlignConfig,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Self, FederatedError> {
        if config.method == Some(AlignMethod::Straighten) {
            return Err(FederatedError::Straighten);
        }
        shares.check_round()?;
        let (ids, patches) = shares.patches()?;
        let mut alignment = align(&patches, None, config, seed, progress)?;
        put_origin_at_centre(&patches, &mut alignment.transforms)?;
        let diagnostics = diagnose(&patches, &alignment, config)?;
        let record = FrameRecord::new(shares, &ids, Vec::new());
        let trust = alignment.solution.patch_trust;
        Ok(Self { record, ids, transforms: alignment.transforms, trust, diagnostics })
    }

    /// Puts one more site, or a new share of a site, into the frame, without moving the others;
    /// `shares` are those of all sites. Settings are those the frame was made with, or others.
    ///
    /// # Errors
    /// [`FederatedError`], naming the site: a share that the frame was not made from, or one of another
    /// round, or too few nodes in common.
    pub fn add(
        &self,
        shares: &Shares,
        site: &str,
        config: Option<&AlignConfig>,
    ) -> Result<(Self, Update), FederatedError> {
        let index = shares.index_of(site).ok_or_else(|| FederatedError::NoSuchSite { site: site.into() })?;
        self.check_others(shares, site)?;
        shares.check_added(index, &self.record.ids_digests)?;
        let (mut transforms, mut trust) = (self.transforms.clone(), self.trust.clone());
        if !self.record.sites.iter().any(|known| known.site == site) {
            transforms.insert(index);
            trust.iter_mut().for_each(|trust| trust.insert(index, 1.0));
        }
        let (ids, patches) = shares.patches()?;
        let mut alignment = restored(&patches, transforms, trust, &self.diagnostics);
        let settings = config.unwrap_or(&self.diagnostics.settings);
        let found = update(&patches, index, &mut alignment, settings)?;
        let diagnostics = diagnose_updated(&patches, &mut alignment, index, &self.diagnostics, found)?;
        let record = FrameRecord::new(shares, &ids, self.record.ids_digests.clone());
        let trust = alignment.solution.patch_trust;
        Ok((Self { record, ids, transforms: alignment.transforms, trust, diagnostics }, found))
    }

    /// Checks that all shares but one are those that the frame was made from.
    fn check_others(&self, shares: &Shares, site: &str) -> Result<(), FederatedError> {
        for known in self.record.sites.iter().filter(|known| known.site != site) {
            let index = shares.index_of(&known.site);
            let missing = || FederatedError::MissingShare { site: known.site.clone() };
            if shares.all()[index.ok_or_else(missing)?].record.digest != known.share {
                return Err(FederatedError::OtherShare { site: known.site.clone() });
            }
        }
        let is_unknown = |share: &&Share| {
            let name = &share.record.site;
            name != site && !self.record.sites.iter().any(|known| known.site == *name)
        };
        if let Some(share) = shares.all().iter().find(is_unknown) {
            return Err(FederatedError::UnknownShare { site: share.record.site.clone() });
        }
        let added = shares.all().iter().find(|share| share.record.site == site);
        match added.filter(|share| share.record.key_check != self.record.key_check) {
            Some(_) => Err(FederatedError::OtherKey { site: site.into(), other: "the frame".into() }),
            None => Ok(()),
        }
    }

    /// The place of a site.
    ///
    /// # Errors
    /// [`FederatedError::NotInFrame`] if the frame does not have it.
    pub fn index_of(&self, site: &str) -> Result<usize, FederatedError> {
        let sites = &self.record.sites;
        sites.iter().position(|known| known.site == site).ok_or_else(|| {
            let names: Vec<&str> = sites.iter().map(|known| known.site.as_str()).collect();
            FederatedError::NotInFrame { site: site.into(), sites: names.join(", ") }
        })
    }
}

/// Shifts all patches alike, so that the mean of all shared rows is the origin. Where secrets had put it
/// says nothing, and inner products depend on it.
fn put_origin_at_centre(patches: &[LocalPatch], transforms: &mut Transforms) -> Result<(), AlignError> {
    let (mut sum, mut count) = (vec![0.0; transforms.dim], 0);
    for (index, patch) in patches.iter().enumerate() {
        let mut rows = Vec::with_capacity(patch.num_nodes() * transforms.dim);
        (0..patch.num_nodes()).try_for_each(|row| patch.push_row(row, &mut rows))?;
        let mut moved = vec![0.0; rows.len()];
        transforms.apply(index, &rows, &mut moved);
        for row in moved.chunks_exact(transforms.dim) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        count += patch.num_nodes();
    }
    for translation in transforms.translations.chunks_exact_mut(sum.len()) {
        translation.iter_mut().zip(&sum).for_each(|(value, sum)| *value -= sum / count as f64);
    }
    Ok(())
}

impl FrameRecord {
    fn new(shares: &Shares, ids: &[BlindedId], mut ids_digests: Vec<String>) -> Self {
        let first = &shares.all()[0].record;
        let [holds, does_not_hold] = words::of_frame(shares.all().len(), ids.len());
        let digest = digest_of_ids(ids);
        if !ids_digests.contains(&digest) {
            ids_digests.push(digest);
        }
        let site = |share: &Share| FrameSite {
            site: share.record.site.clone(),
            share: share.record.digest.clone(),
            seal: share.record.seal.clone().unwrap_or_default(),
        };
        Self {
            holds,
            does_not_hold,
            dim: first.dim.unwrap_or(0),
            nodes: ids.len(),
            key_check: first.key_check.clone(),
            ids_digests,
            sites: shares.all().iter().map(site).collect(),
        }
    }

    /// The digest of the blinded ids as they are now.
    pub fn ids_digest(&self) -> &str {
        self.ids_digests.last().map_or("", String::as_str)
    }

    /// A short name for the frame as it is now.
    pub fn name(&self) -> String {
        let shares: Vec<&[u8]> = self.sites.iter().map(|site| site.share.as_bytes()).collect();
        format!("frame-{}", &plain(&shares)[..12])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::{KnownPatches, PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
    use crate::align::{Coords, EdgeWeights};
    use crate::federated::share::Shared;
    use crate::federated::{KeptSecret, Key, KnownIds, Secret, SiteRows, join, share_ids, share_rows};
    use crate::graph::NodeIds;
    use crate::progress::Silent;

    /// A site: what it has, and what it has shared.
    struct Site {
        name: String,
        ids: NodeIds,
        coords: Coords,
        dim: usize,
    }

    impl Site {
        fn of(patch: &LocalPatch) -> Self {
            let mut coords = Vec::new();
            (0..patch.num_nodes()).for_each(|row| patch.push_row(row, &mut coords).unwrap());
            let ids = NodeIds::Integers(patch.nodes().to_vec().into());
            Self { name: patch.name().into(), ids, coords: Coords::F64(coords.into()), dim: patch.dim() }
        }

        fn rows(&self) -> SiteRows<'_> {
            SiteRows { site: &self.name, ids: &self.ids, coords: &self.coords, dim: self.dim }
        }
    }

    fn key() -> Key {
        Key::new(b"the sites agreed on this").unwrap()
    }

    fn known(sites: &[Site]) -> Vec<KnownIds> {
        let ids =
            |site: &Site| KnownIds::of_share(share_ids(&site.name, &site.ids, &key()).unwrap()).unwrap();
        sites.iter().map(ids).collect()
    }

    /// Both rounds; secrets follow from a number.
    fn shared(sites: &[Site], secrets: u8) -> Vec<Shared> {
        let known = known(sites);
        let share = |(index, site): (usize, &Site)| {
            let mut bytes = [secrets; 32];
            bytes[..8].copy_from_slice(&(index as u64).to_le_bytes());
            let secret = |length| Ok(Secret::from_bytes(bytes, site.dim, length));
            share_rows(&site.rows(), &key(), &known, None, secret).unwrap()
        };
        sites.iter().enumerate().map(share).collect()
    }

    fn shares(shared: &[Shared]) -> Shares {
        Shares::new(shared.iter().map(|shared| shared.share.clone()).collect()).unwrap()
    }

    fn aligned(shares: &Shares) -> Frame {
        Frame::align(shares, &AlignConfig::default(), Seed(0), &Silent).unwrap()
    }

    fn joined(site: &Site, kept: &KeptSecret, frame: &Frame) -> Vec<f64> {
        let mut rows = Vec::new();
        join::<FederatedError>(&site.rows(), kept, frame, |block| {
            rows.extend_from_slice(block);
            Ok(())
        })
        .unwrap();
        rows
    }

    fn all_joined(sites: &[Site], shared: &[Shared], frame: &Frame) -> Vec<f64> {
        sites.iter().zip(shared).flat_map(|(site, shared)| joined(site, &shared.kept, frame)).collect()
    }

    fn recipe(num_patches: usize, noise: f64) -> KnownPatches {
        let (graph, seed) = (PatchLayout::Random, Seed(7));
        SyntheticPatches { graph, num_patches, dim: 6, overlap: 20, noise, seed }.make()
    }

    /// All copies of all nodes after alignment of the open data.
    fn open(patches: &[LocalPatch]) -> Vec<f64> {
        let alignment = align(patches, None, &AlignConfig::default(), Seed(0), &Silent).unwrap();
        let mut all = Vec::new();
        for (index, patch) in patches.iter().enumerate() {
            let mut rows = Vec::new();
            (0..patch.num_nodes()).for_each(|row| patch.push_row(row, &mut rows).unwrap());
            let first = all.len();
            all.resize(first + rows.len(), 0.0);
            alignment.transforms.apply(index, &rows, &mut all[first..]);
        }
        all
    }

    #[test]
    fn a_hundred_sites_get_what_open_data_would_give_whatever_their_secrets() {
        let patches = recipe(100, 0.05).patches;
        let sites: Vec<Site> = patches.iter().map(Site::of).collect();
        let open = open(&patches);
        let [first, second] = [1, 2].map(|secrets| shared(&sites, secrets));
        for shared in [&first, &second] {
            let found = all_joined(&sites, shared, &aligned(&shares(shared)));
            let difference = distance_up_to_rigid_motion(&found, &open, 6);
            assert!(difference < 1e-6, "{difference}");
            // All nodes are shared here, so their mean is the origin.
            let mean = |k: usize| found[k..].iter().step_by(6).sum::<f64>() / (found.len() / 6) as f64;
            assert!((0..6).all(|k| mean(k).abs() < 1e-9), "{:?}", [0, 1, 2, 3, 4, 5].map(mean));
        }
        for (first, second) in first.iter().zip(&second) {
            let pairs = first.share.coords.iter().zip(&second.share.coords);
            assert!(pairs.clone().all(|(a, b)| a != b));
            let apart = distance_up_to_rigid_motion(&first.share.coords, &second.share.coords, 6);
            assert!(apart < 1e-9, "but for one motion they are the same: {apart}");
        }
    }

    #[test]
    fn a_late_site_finds_its_place_and_the_others_stay() {
        let known = recipe(12, 0.0);
        let sites: Vec<Site> = known.patches.iter().map(Site::of).collect();
        let shared = shared(&sites, 1);
        let whole = aligned(&shares(&shared));
        let early: Vec<Shared> =
            shared.iter().filter(|shared| shared.kept.site != "patch-00005").cloned().collect();
        let frame = aligned(&shares(&early));
        assert!(frame.index_of("patch-00005").is_err());
        let (added, update) = frame.add(&shares(&shared), "patch-00005", None).unwrap();
        assert!(update.misfit < 1e-9, "{update:?}");
        assert_eq!(added.diagnostics.updated, ["patch-00005"]);
        for (site, shared) in sites.iter().zip(&shared).filter(|(site, _)| site.name != "patch-00005") {
            let [before, after] = [&frame, &added].map(|frame| joined(site, &shared.kept, frame));
            assert_eq!(before, after, "{}", site.name);
        }
        let [late, at_once] = [&added, &whole].map(|frame| all_joined(&sites, &shared, frame));
        assert!(distance_up_to_rigid_motion(&late, &at_once, 6) < 1e-9);
    }

    #[test]
    fn a_bad_site_is_named() {
        let mut known = recipe(12, 0.01);
        known.drown_patches(|patch| patch == 4, Seed(3));
        let sites: Vec<Site> = known.patches.iter().map(Site::of).collect();
        let config = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
        let frame = Frame::align(&shares(&shared(&sites, 1)), &config, Seed(0), &Silent).unwrap();
        assert_eq!(frame.diagnostics.worst_patch.as_deref(), Some("patch-00004"));
        let trust = frame.trust.unwrap();
        assert!((0..12).all(|site| site == 4 || trust[site] > trust[4]), "{trust:?}");
    }

    #[test]
    fn shares_that_do_not_belong_together_are_refused_by_name() {
        let sites: Vec<Site> = recipe(4, 0.0).patches.iter().map(Site::of).collect();
        let good: Vec<Share> = shared(&sites, 1).into_iter().map(|shared| shared.share).collect();
        let told = |change: &dyn Fn(&mut Vec<Share>)| {
            let mut shares = good.clone();
            change(&mut shares);
            let aligned = Shares::new(shares)
                .and_then(|shares| Frame::align(&shares, &AlignConfig::default(), Seed(0), &Silent));
            aligned.err().unwrap().to_string()
        };
        let ids = share_ids("patch-00001", &sites[1].ids, &key()).unwrap();
        assert_eq!(
            told(&|shares| shares[1] = ids.clone()),
            "the share of site `patch-00001` holds ids of the first round; needed rows of the second round"
        );
        assert_eq!(
            told(&|shares| shares[2].coords[13] = f64::NAN),
            "row 2 of the share of site `patch-00002` has a coordinate that is NaN or infinite"
        );
        assert_eq!(
            told(&|shares| shares[2].ids[1] = shares[2].ids[0]),
            "the blinded ids of site `patch-00002` are not ascending at row 1: one stands twice, or rows were moved"
        );
        assert_eq!(
            told(&|shares| shares[2].coords[0] += 1.0),
            "the share of site `patch-00002` was changed after it was made: its digest is another one"
        );
        assert_eq!(
            told(&|shares| shares[0] = shares[1].clone()),
            "two shares are of site `patch-00001`; each site needs a name of its own"
        );
        assert_eq!(told(&|shares| shares.truncate(1)), "found 1 shares; alignment needs two or more");
        // The same sites once more, in another round: the last one has a node less.
        let mut fewer = recipe(4, 0.0).patches;
        let (nodes, dim) = (fewer[3].nodes()[1..].to_vec(), fewer[3].dim());
        let coords = Coords::F64(vec![0.5; nodes.len() * dim].into());
        fewer[3] = LocalPatch::new("patch-00003", nodes.into(), coords, dim).unwrap();
        let sites: Vec<Site> = fewer.iter().map(Site::of).collect();
        let other = shared(&sites, 1)[3].share.clone();
        assert_eq!(
            told(&|shares| shares[3] = other.clone()),
            "the share of site `patch-00000` is of another round: it was made with other ids of site `patch-00003`"
        );
    }

    #[test]
    fn other_keys_and_dimensions_are_refused_by_name() {
        let sites: Vec<Site> = recipe(2, 0.0).patches.iter().map(Site::of).collect();
        let known = known(&sites);
        let good = shared(&sites, 1);
        let other = Key::new(b"another key than the others").unwrap();
        let secret = |length| Ok(Secret::from_bytes([1; 32], 6, length));
        let list = [KnownIds::of_list("list", &sites[1].ids, &other).unwrap()];
        let other_key = share_rows(&sites[1].rows(), &other, &list, None, secret).unwrap().share;
        let told = |share: Share| Shares::new(vec![good[0].share.clone(), share]).err().unwrap().to_string();
        let words = "site `patch-00001` blinded its ids with another key than site `patch-00000`";
        assert_eq!(told(other_key), words);
        let coords = Coords::F64(vec![0.5; sites[1].ids.len() * 2].into());
        let flat = SiteRows { coords: &coords, dim: 2, ..sites[1].rows() };
        let secret = |length| Ok(Secret::from_bytes([1; 32], 2, length));
        let flat = share_rows(&flat, &key(), &known, None, secret).unwrap().share;
        assert_eq!(told(flat), "site `patch-00001` has 2 dimensions, but site `patch-00000` has 6");
    }

    #[test]
    fn a_site_whose_rows_or_secret_have_changed_is_told() {
        let sites: Vec<Site> = recipe(3, 0.0).patches.iter().map(Site::of).collect();
        let (first, second) = (shared(&sites, 1), shared(&sites, 2));
        let frame = aligned(&shares(&first));
        let told = |site: &Site, kept: &KeptSecret| {
            join::<FederatedError>(&site.rows(), kept, &frame, |_| Ok(())).err().unwrap().to_string()
        };
        let words = "the frame was made from another share of site `patch-00001`: its rows or its secret have \
             changed since";
        assert_eq!(told(&sites[1], &second[1].kept), words);
        let coords = Coords::F64(vec![0.5; sites[1].ids.len() * 6].into());
        let retrained = Site { coords, ids: sites[1].ids.clone(), name: sites[1].name.clone(), dim: 6 };
        assert_eq!(told(&retrained, &first[1].kept), words);
        let stranger = Site { name: "x".into(), ..retrained };
        let words = "site `x` is not in the frame, which has patch-00000, patch-00001, patch-00002";
        assert_eq!(told(&stranger, &first[1].kept), words);
    }
}
