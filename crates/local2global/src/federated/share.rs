//! What leaves a site, in two rounds: first blinded ids, then rows of nodes that others hold too.

use serde::{Deserialize, Serialize};

use super::hash::plain;
use super::privacy::{Privacy, PrivacySpent, clip_rows};
use super::secret::{KeptSecret, Secret, typical_length};
use super::{BlindedId, FederatedError, Key, words};
use crate::align::Coords;
use crate::graph::{NodeId, NodeIds};

/// The round of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The first: blinded ids of all nodes.
    Ids,
    /// The second: rows of nodes that others hold too.
    Rows,
}

/// Where a site knows ids of others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownFrom {
    /// The blinded ids that another site has sent.
    Site,
    /// The blinded ids in a finished frame.
    Frame,
    /// A list of ids that may be shared.
    List,
}

/// Ids that a share of rows was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Where they are from.
    pub from: KnownFrom,
    /// The site, or what the frame or list is called.
    pub name: String,
    /// Their digest.
    pub digest: String,
}

/// Blinded ids that others hold.
#[derive(Clone, Debug)]
pub struct KnownIds {
    /// Where they are from.
    pub known: Known,
    /// What tells with which key they are blinded.
    pub key_check: String,
    /// The ids, ascending.
    pub ids: Vec<BlindedId>,
}

/// What stands in `share.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareRecord {
    /// The site.
    pub site: String,
    /// The round.
    pub step: Step,
    /// What the share holds, in words.
    pub holds: Vec<String>,
    /// What it does not hold, in words.
    pub does_not_hold: Vec<String>,
    /// What can be learned from it, in words.
    pub tells: Vec<String>,
    /// The number of nodes in it.
    pub nodes: usize,
    /// The number of coordinates of each; none in the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dim: Option<usize>,
    /// The privacy spent; none without noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacySpent>,
    /// What tells whether two sites have the same key.
    pub key_check: String,
    /// The digest of the blinded ids of all nodes of the site.
    pub ids_digest: String,
    /// The ids of others that it was made with; none in the first round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_with: Vec<Known>,
    /// By which the site knows its secret and its rows again; none in the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// The digest of the arrays.
    pub digest: String,
}

/// What leaves a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// What it is, for people and programs.
    pub record: ShareRecord,
    /// The blinded ids, ascending.
    pub ids: Vec<BlindedId>,
    /// The coordinates of each, row-major; none in the first round.
    pub coords: Vec<f64>,
}

/// A share of rows, and what stays at the site.
#[derive(Clone)]
pub struct Shared {
    /// What leaves the site.
    pub share: Share,
    /// What stays.
    pub kept: KeptSecret,
    /// How many rows were longer than allowed; that stays, too.
    pub clipped: usize,
}

/// The nodes of a site and their coordinates.
#[derive(Clone, Copy)]
pub struct SiteRows<'a> {
    /// The name of the site.
    pub site: &'a str,
    /// The user's own ids.
    pub ids: &'a NodeIds,
    /// A row for each.
    pub coords: &'a Coords,
    /// The number of coordinates of a row.
    pub dim: usize,
}

impl SiteRows<'_> {
    /// Checks the name, and that there is a row for each id.
    ///
    /// # Errors
    /// [`FederatedError::Name`] or [`FederatedError::Rows`].
    pub fn check(&self) -> Result<(), FederatedError> {
        check_name(self.site)?;
        let (ids, values) = (self.ids.len(), self.coords.len());
        match self.dim > 0 && values == ids * self.dim {
            true => Ok(()),
            false => {
                Err(FederatedError::Rows { site: self.site.into(), rows: values / self.dim.max(1), ids })
            }
        }
    }

    /// Some rows in double precision, in the order asked for.
    ///
    /// # Errors
    /// [`FederatedError::NotFinite`] if a coordinate is NaN or infinite.
    pub(super) fn rows(&self, rows: impl Iterator<Item = usize>) -> Result<Vec<f64>, FederatedError> {
        let mut coords = Vec::new();
        for row in rows {
            let (first, range) = (coords.len(), row * self.dim..(row + 1) * self.dim);
            match self.coords {
                Coords::F32(values) => coords.extend(values[range].iter().map(|&value| f64::from(value))),
                Coords::F64(values) => coords.extend_from_slice(&values[range]),
            }
            if !coords[first..].iter().all(|value| value.is_finite()) {
                let id = self.ids.get(NodeId(row as u64)).to_string();
                return Err(FederatedError::NotFinite { site: self.site.into(), id });
            }
        }
        Ok(coords)
    }
}

/// The names of sites are names of folders on every system.
fn check_name(name: &str) -> Result<(), FederatedError> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match !name.is_empty() && name.len() <= 100 && name.chars().all(is_letter) && !name.starts_with('.') {
        true => Ok(()),
        false => Err(FederatedError::Name { name: name.into() }),
    }
}

/// The digest of a list of blinded ids.
pub(super) fn digest_of_ids(ids: &[BlindedId]) -> String {
    plain(&[b"local2global ids", ids.as_flattened()])
}

/// The first round: the blinded ids of all nodes.
///
/// # Errors
/// [`FederatedError`] if the name of the site cannot be used, or an id stands twice.
pub fn share_ids(site: &str, ids: &NodeIds, key: &Key) -> Result<Share, FederatedError> {
    check_name(site)?;
    let ids: Vec<BlindedId> = key.blind_all(site, ids)?.into_iter().map(|(id, _)| id).collect();
    let words = words::of_ids(ids.len());
    let record = ShareRecord {
        site: site.into(),
        step: Step::Ids,
        holds: words.holds,
        does_not_hold: words.does_not_hold,
        tells: words.tells,
        nodes: ids.len(),
        dim: None,
        privacy: None,
        key_check: key.check(),
        ids_digest: digest_of_ids(&ids),
        made_with: Vec::new(),
        seal: None,
        digest: String::new(),
    };
    Ok(Share { record, ids, coords: Vec::new() }.with_digest())
}

/// The second round: the rows of nodes that others may hold too, hidden by the secret that
/// `find_secret` gives, for rows of a typical length.
///
/// # Errors
/// [`FederatedError`], naming the site: another key, other own ids than in the first round, nothing
/// shared, coordinates that are not finite, a privacy budget out of range.
pub fn share_rows(
    site: &SiteRows<'_>,
    key: &Key,
    known: &[KnownIds],
    privacy: Option<&Privacy>,
    find_secret: impl FnOnce(f64) -> Result<Secret, FederatedError>,
) -> Result<Shared, FederatedError> {
    site.check()?;
    let privacy = privacy.map(Privacy::spent).transpose()?;
    let all = key.blind_all(site.site, site.ids)?;
    let own: Vec<BlindedId> = all.iter().map(|(id, _)| *id).collect();
    let (key_check, ids_digest) = (key.check(), digest_of_ids(&own));
    let others = others_of(site.site, &key_check, &ids_digest, known)?;
    let is_known = |id: &BlindedId| others.iter().any(|other| other.ids.binary_search(id).is_ok());
    let (ids, shared): (Vec<BlindedId>, Vec<usize>) = all.into_iter().filter(|(id, _)| is_known(id)).unzip();
    if ids.is_empty() {
        return Err(FederatedError::NothingShared { site: site.site.into(), nodes: own.len() });
    }
    let rows = site.rows(shared.iter().copied())?;
    let mut near = rows.clone();
    let clipped = privacy.as_ref().map_or(0, |spent| clip_rows(&mut near, site.dim, spent.clip));
    let secret = find_secret(typical_length(&near, site.dim))?;
    let mut coords = secret.hide(&near);
    if let Some(spent) = &privacy {
        spent.add_noise(secret.noise_seed(spent.sigma, &near), &mut coords);
    }
    let words = words::of_rows(ids.len(), site.dim, privacy.as_ref());
    let record = ShareRecord {
        site: site.site.into(),
        step: Step::Rows,
        holds: words.holds,
        does_not_hold: words.does_not_hold,
        tells: words.tells,
        nodes: ids.len(),
        dim: Some(site.dim),
        privacy,
        key_check,
        ids_digest,
        made_with: others.iter().map(|other| other.known.clone()).collect(),
        seal: Some(secret.seal(&rows)),
        digest: String::new(),
    };
    let share = Share { record, ids, coords }.with_digest();
    let shared = shared.into_iter().map(|row| row as u64).collect();
    Ok(Shared { share, kept: KeptSecret { site: site.site.into(), secret, shared }, clipped })
}

/// The ids of others, by kind and name; own ids must be those of the first round.
fn others_of<'a>(
    site: &str,
    key_check: &str,
    ids_digest: &str,
    known: &'a [KnownIds],
) -> Result<Vec<&'a KnownIds>, FederatedError> {
    let mut others = Vec::new();
    for ids in known {
        if ids.key_check != key_check {
            let other = format!("`{}`, whose ids it was given", ids.known.name);
            return Err(FederatedError::OtherKey { site: site.into(), other });
        }
        match (ids.known.from, ids.known.name == site) {
            (KnownFrom::Site, true) if ids.known.digest != ids_digest => {
                return Err(FederatedError::OwnIds { site: site.into() });
            }
            (KnownFrom::Site, true) => {}
            _ => others.push(ids),
        }
    }
    others.sort_by(|a, b| a.known.name.cmp(&b.known.name));
    match others.windows(2).find(|pair| {
        pair[0].known == pair[1].known || {
            let is_site = |ids: &KnownIds| ids.known.from == KnownFrom::Site;
            pair.iter().all(|ids| is_site(ids)) && pair[0].known.name == pair[1].known.name
        }
    }) {
        Some(twice) => Err(FederatedError::SameSite { site: twice[0].known.name.clone() }),
        None => Ok(others),
    }
}

impl KnownIds {
    /// Plain ids that may be shared, such as those of a public part of the graph.
    ///
    /// # Errors
    /// [`FederatedError::DuplicateNode`] if one stands twice.
    pub fn of_list(name: &str, ids: &NodeIds, key: &Key) -> Result<Self, FederatedError> {
        let ids: Vec<BlindedId> = key.blind_all(name, ids)?.into_iter().map(|(id, _)| id).collect();
        let known = Known { from: KnownFrom::List, name: name.into(), digest: digest_of_ids(&ids) };
        Ok(Self { known, key_check: key.check(), ids })
    }

    /// The ids that another site has sent in the first round.
    ///
    /// # Errors
    /// [`FederatedError::Step`] if it is a share of rows, and those of [`Share::check`].
    pub fn of_share(share: Share) -> Result<Self, FederatedError> {
        share.check(Step::Ids)?;
        let record = share.record;
        let known = Known { from: KnownFrom::Site, name: record.site, digest: record.ids_digest };
        Ok(Self { known, key_check: record.key_check, ids: share.ids })
    }
}

impl Share {
    /// The digest of the arrays, and of what gives them their meaning.
    fn digest(&self) -> String {
        let record = &self.record;
        let step: &[u8] = match record.step {
            Step::Ids => b"ids",
            Step::Rows => b"rows",
        };
        let coords: &[u8] = bytemuck::cast_slice(&self.coords);
        let texts = [&record.site, &record.key_check, &record.ids_digest].map(|text| text.as_bytes());
        plain(&[b"local2global share", step, texts[0], texts[1], texts[2], self.ids.as_flattened(), coords])
    }

    fn with_digest(mut self) -> Self {
        self.record.digest = self.digest();
        self
    }

    /// Checks that it is of this step, and that its files belong together.
    ///
    /// # Errors
    /// [`FederatedError`], naming the site.
    pub fn check(&self, step: Step) -> Result<(), FederatedError> {
        let (record, site) = (&self.record, self.record.site.clone());
        check_name(&record.site)?;
        if record.step != step {
            let [ids, rows] = ["ids of the first round", "rows of the second round"];
            let [found, needed] = if step == Step::Rows { [ids, rows] } else { [rows, ids] };
            return Err(FederatedError::Step { site, found, needed });
        }
        if self.ids.len() != record.nodes {
            let (found, needed) = (self.ids.len(), record.nodes);
            return Err(FederatedError::ShareSize { site, what: "ids", found, needed });
        }
        let values = record.nodes * record.dim.unwrap_or(0);
        if self.coords.len() != values || (step == Step::Rows && values == 0) {
            let (found, needed) = (self.coords.len(), values);
            return Err(FederatedError::ShareSize { site, what: "coordinates", found, needed });
        }
        if let Some(row) = self.ids.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(FederatedError::ShareOrder { site, row: row + 1 });
        }
        if let Some(position) = self.coords.iter().position(|value| !value.is_finite()) {
            let row = position / record.dim.unwrap_or(1);
            return Err(FederatedError::ShareNotFinite { site, row });
        }
        match self.digest() == record.digest {
            true => Ok(()),
            false => Err(FederatedError::ShareDigest { site }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIM: usize = 3;

    fn key() -> Key {
        Key::new(b"the sites agreed on this").unwrap()
    }

    /// Nodes and a row for each; `changed` rows are others.
    fn site(ids: std::ops::Range<u64>, changed: &[u64]) -> (NodeIds, Coords) {
        let row = |id: u64| {
            let extra = if changed.contains(&id) { 100.0 } else { 0.0 };
            (0..DIM as u64).map(move |k| ((id * 7 + k * 3) % 11) as f64 / 4.0 + extra)
        };
        let coords: Vec<f64> = ids.clone().flat_map(row).collect();
        (NodeIds::Integers(ids.collect::<Vec<_>>().into()), Coords::F64(coords.into()))
    }

    fn known(name: &str, ids: std::ops::Range<u64>) -> KnownIds {
        KnownIds::of_share(share_ids(name, &site(ids, &[]).0, &key()).unwrap()).unwrap()
    }

    fn shared(
        (ids, coords): &(NodeIds, Coords),
        known: &[KnownIds],
        privacy: Option<Privacy>,
        secret: u8,
    ) -> Result<Shared, FederatedError> {
        let rows = SiteRows { site: "a", ids, coords, dim: DIM };
        share_rows(&rows, &key(), known, privacy.as_ref(), |_| Ok(Secret::from_bytes([secret; 32], DIM, 1.0)))
    }

    const PRIVACY: Privacy = Privacy { epsilon: 2.0, delta: 1e-5, clip: 1.0 };

    #[test]
    fn only_nodes_that_others_hold_are_shared() {
        let found = shared(&site(0..20, &[]), &[known("b", 15..40), known("c", 2..4)], None, 1).unwrap();
        assert_eq!(found.share.record.nodes, 7);
        let mut nodes = found.kept.shared.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, [2, 3, 15, 16, 17, 18, 19]);
        found.share.check(Step::Rows).unwrap();
        let error = shared(&site(0..20, &[]), &[known("b", 20..40)], None, 1).err().unwrap();
        assert_eq!(error.to_string(), "site `a` holds 20 nodes, and none of them is known to another site");
    }

    #[test]
    fn rows_that_are_not_shared_change_no_byte() {
        for privacy in [None, Some(PRIVACY)] {
            let make = |changed: &[u64]| {
                shared(&site(0..20, changed), &[known("b", 15..40)], privacy, 1).unwrap().share
            };
            assert_eq!(make(&[]), make(&[0, 7, 14]));
            assert_ne!(make(&[]).coords, make(&[15]).coords);
        }
    }

    #[test]
    fn the_same_secret_gives_the_same_share_and_another_one_nothing_alike() {
        let make = |secret| shared(&site(0..20, &[]), &[known("b", 5..40)], None, secret).unwrap().share;
        let [first, again, other] = [1, 1, 2].map(make);
        assert_eq!(first, again);
        assert_eq!(first.ids, other.ids);
        assert!(first.coords.iter().zip(&other.coords).all(|(a, b)| (a - b).abs() > 1e-6));
    }

    #[test]
    fn noise_of_changed_rows_has_nothing_to_do_with_the_old() {
        let make = |changed: &[u64]| {
            shared(&site(0..20, changed), &[known("b", 5..40)], Some(PRIVACY), 1).unwrap().share.coords
        };
        let [before, after] = [make(&[]), make(&[7])];
        let same = before.iter().zip(&after).filter(|(a, b)| a == b).count();
        assert_eq!(same, 0);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let good = site(0..20, &[]);
        let told = |result: Result<Shared, FederatedError>| result.err().unwrap().to_string();
        let mut other_key = known("b", 5..40);
        other_key.key_check = "another".into();
        let words = "site `a` blinded its ids with another key than `b`, whose ids it was given";
        assert_eq!(told(shared(&good, &[other_key], None, 1)), words);
        let words =
            "site `a` has other nodes now than in the ids that it has sent; needed ids of the same round";
        assert_eq!(told(shared(&good, &[known("b", 5..40), known("a", 0..19)], None, 1)), words);
        let words = "two shares are of site `b`; each site needs a name of its own";
        assert_eq!(told(shared(&good, &[known("b", 5..40), known("b", 0..19)], None, 1)), words);
        let nan = Coords::F64(vec![f64::NAN; 20 * DIM].into());
        let words = "has a coordinate that is NaN or infinite";
        assert!(told(shared(&(good.0.clone(), nan), &[known("b", 5..40)], None, 1)).ends_with(words));
        let short = Coords::F64(vec![1.0; 19 * DIM].into());
        let words = "site `a` has 19 rows of coordinates, but 20 node ids";
        assert_eq!(told(shared(&(good.0, short), &[known("b", 5..40)], None, 1)), words);
        for name in ["", "../b", ".b", "a b"] {
            assert!(matches!(share_ids(name, &NodeIds::Range(3), &key()), Err(FederatedError::Name { .. })));
        }
    }
}
