//! Shares, secrets and frames as files.
//!
//! ```text
//! share/      share.json  ids.npy (n x 32 bytes)  [coords.npy (n x d, f64)]        leaves the site
//! secret.npz  rotation  shift  noise_key  shared  site, mode 0600                   stays
//! frame/      frame.json  ids.npy  transforms.npz  alignment.json                   comes back
//! joined/     embedding.npy (f32)  ids.npy or ids.parquet  join.json                stays
//! ```
//!
//! The record of a folder is removed first and written last, so a folder with a record is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::share::{Known, KnownFrom, Shared, SiteRows, share_rows};
use super::{
    BlindedId, FederatedError, Frame, FrameRecord, JoinRecord, KeptSecret, Key, KnownIds, Privacy, Secret,
    Share, ShareRecord, Shares, join,
};
use crate::align::files::{read_coords, read_transforms, read_trust, write_transforms};
use crate::align::{Coords, Transforms};
use crate::graph::NodeIds;
use crate::graph::store::{self, write_ids};
use crate::npy::{self, ArrayReader, Kind, NpyError};
use crate::run_dir::{
    ArrayFile, FileError, FrameFolder, GraphFolder, JoinedFolder, RunDir, ShareFolder, read_json,
    write_array, write_atomically, write_json, write_private_arrays,
};

fn in_array(path: &Path) -> impl FnOnce(NpyError) -> FederatedError {
    let path = path.to_owned();
    move |source| FederatedError::Array { path, source }
}

/// The nodes and rows of a site, in memory or mapped.
#[derive(Clone, Debug)]
pub struct SiteData {
    /// The user's own ids.
    pub ids: NodeIds,
    /// A row for each.
    pub coords: Coords,
    /// The number of coordinates.
    pub dim: usize,
}

impl SiteData {
    /// The rows of a finished run: its embedding, under the ids of its graph.
    ///
    /// # Errors
    /// [`FederatedError`] if the folder has no graph or no embedding.
    pub fn of_run(run: &RunDir) -> Result<Self, FederatedError> {
        let ids = ids_of_run(run)?;
        let path = run.alignment().embedding();
        if !path.exists() {
            return Err(FederatedError::NoEmbedding { path });
        }
        let (coords, dim) = read_coords(&path)?;
        Ok(Self { ids, coords, dim })
    }

    /// Rows from a file, under ids from another.
    ///
    /// # Errors
    /// [`FederatedError`] if one of them is missing or damaged.
    pub fn of_files(nodes: &Path, coords: &Path) -> Result<Self, FederatedError> {
        let ids = read_ids(nodes)?;
        let (coords, dim) = read_coords(coords)?;
        Ok(Self { ids, coords, dim })
    }

    /// The same under the name of a site.
    pub fn rows<'a>(&'a self, site: &'a str) -> SiteRows<'a> {
        SiteRows { site, ids: &self.ids, coords: &self.coords, dim: self.dim }
    }
}

/// The ids of the nodes of a run.
///
/// # Errors
/// [`FederatedError::Run`] if the folder has no finished graph.
pub fn ids_of_run(run: &RunDir) -> Result<NodeIds, FederatedError> {
    Ok(store::open(&run.graph())?.0.ids().clone())
}

/// Node ids: an array `.npy` of integers or of text, or a text file with an id in each line.
///
/// # Errors
/// [`FederatedError`] if the file is missing or damaged.
pub fn read_ids(path: &Path) -> Result<NodeIds, FederatedError> {
    if path.extension().is_none_or(|ending| ending != "npy") {
        let text = fs::read_to_string(path).map_err(FileError::at("read", path))?;
        return Ok(NodeIds::Strings(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()));
    }
    let read = || {
        let reader = npy::open(path)?;
        match reader.header().dtype.kind {
            Kind::Unicode | Kind::Bytes => Ok(NodeIds::Strings(reader.strings()?.into_iter().collect())),
            _ => Ok(NodeIds::Integers(ArrayReader::integers::<u64>(reader)?.into())),
        }
    };
    read().map_err(in_array(path))
}

/// Writes what leaves a site into a folder of its own.
///
/// # Errors
/// [`FederatedError`] if the folder holds something else, or cannot be written.
pub fn write_share(folder: &Path, share: &Share) -> Result<(), FederatedError> {
    let folder = ShareFolder::at(folder);
    check_alone(&folder)?;
    remove(&folder.record())?;
    remove(&folder.coordinates())?;
    write_blinded(&folder.ids(), &share.ids)?;
    if let Some(dim) = share.record.dim {
        write_array(&folder.coordinates(), &[share.ids.len(), dim], &share.coords)?;
    }
    Ok(write_json(&folder.record(), &share.record)?)
}

/// Checks that nothing else would leave with a share.
fn check_alone(folder: &ShareFolder) -> Result<(), FederatedError> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let path = entry.map_err(FileError::at("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !folder.file_names().iter().any(|own| *own == name) {
            return Err(FederatedError::Stray { path });
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::at("remove", path)(error)),
        _ => Ok(()),
    }
}

fn write_blinded(path: &Path, ids: &[BlindedId]) -> Result<(), FileError> {
    write_array(path, &[ids.len(), size_of::<BlindedId>()], ids.as_flattened())
}

fn read_blinded(path: &Path) -> Result<Vec<BlindedId>, FederatedError> {
    let array = npy::read::<u8>(path).map_err(in_array(path))?;
    match array.shape[..] {
        [_, 32] => Ok(array.values.as_chunks::<32>().0.to_vec()),
        _ => Err(in_array(path)(NpyError::Shape { found: array.shape, needed: "32 columns".into() })),
    }
}

/// Reads a share as it is; [`Share::check`] tells whether it is sound.
///
/// # Errors
/// [`FederatedError`] if a file is missing or damaged.
pub fn read_share(folder: &Path) -> Result<Share, FederatedError> {
    let folder = ShareFolder::at(folder);
    let record: ShareRecord = read_json(&folder.record())?;
    let ids = read_blinded(&folder.ids())?;
    let coords = match record.dim {
        None => Vec::new(),
        Some(_) => {
            let path = folder.coordinates();
            npy::read::<f64>(&path).map_err(in_array(&path))?.values.to_vec()
        }
    };
    Ok(Share { record, ids, coords })
}

/// The shares in a folder: itself if it is one, or the folders in it that are.
///
/// # Errors
/// [`FederatedError`] if there are none, or one is damaged.
pub fn read_shares(folder: &Path) -> Result<Vec<Share>, FederatedError> {
    share_folders(folder)?.iter().map(|folder| read_share(folder)).collect()
}

fn share_folders(folder: &Path) -> Result<Vec<PathBuf>, FederatedError> {
    if ShareFolder::at(folder).record().exists() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let path = entry.map_err(FileError::at("read", folder))?.path();
        if ShareFolder::at(&path).record().exists() {
            found.push(path);
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(FederatedError::NoShare { path: folder.to_owned() }),
        false => Ok(found),
    }
}

/// Ids that others hold: from shares of ids or a folder of them, from a frame, or from a list of plain
/// ids in a file.
///
/// # Errors
/// [`FederatedError`] if one of them is missing or damaged.
pub fn read_known(paths: &[PathBuf], key: &Key) -> Result<Vec<KnownIds>, FederatedError> {
    let mut known = Vec::new();
    for path in paths {
        let frame = FrameFolder::at(path);
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            known.push(KnownIds::of_list(&name, &read_ids(path)?, key)?);
        } else if frame.record().exists() {
            let record: FrameRecord = read_json(&frame.record())?;
            let (name, digest) = (record.name(), record.ids_digest().to_owned());
            let ids = read_blinded(&frame.ids())?;
            known.push(KnownIds {
                known: Known { from: KnownFrom::Frame, name, digest },
                key_check: record.key_check,
                ids,
            });
        } else {
            for share in read_shares(path)? {
                known.push(KnownIds::of_share(share)?);
            }
        }
    }
    Ok(known)
}

/// What a share of rows is made of, and where its parts go.
#[derive(Clone, Debug)]
pub struct SharePlan<'a> {
    /// The name of the site.
    pub site: &'a str,
    /// Ids that others hold.
    pub known: &'a [PathBuf],
    /// The noise, if any.
    pub privacy: Option<Privacy>,
    /// The folder that leaves the site.
    pub out: &'a Path,
    /// The file that stays: it is used again if it is there.
    pub secret: &'a Path,
}

/// Makes a share of rows: the secret first, then what leaves the site.
///
/// # Errors
/// [`FederatedError`], naming the site or the file.
pub fn share_rows_into(plan: &SharePlan<'_>, data: &SiteData, key: &Key) -> Result<Shared, FederatedError> {
    check_secret_stays(plan)?;
    let known = read_known(plan.known, key)?;
    let find_secret = |length| match plan.secret.exists() {
        true => known_secret(plan, data.dim),
        false => Secret::draw(data.dim, length),
    };
    let shared = share_rows(&data.rows(plan.site), key, &known, plan.privacy.as_ref(), find_secret)?;
    check_alone(&ShareFolder::at(plan.out))?;
    write_secret(plan.secret, &shared.kept)?;
    write_share(plan.out, &shared.share)?;
    Ok(shared)
}

/// The secret that is there already; it must be of this site and dimension.
fn known_secret(plan: &SharePlan<'_>, dim: usize) -> Result<Secret, FederatedError> {
    let kept = read_secret(plan.secret)?;
    let describe = |site: &str, dim: usize| format!("site `{site}` in {dim} dimensions");
    match kept.site == plan.site && kept.secret.dim() == dim {
        true => Ok(kept.secret),
        false => Err(FederatedError::OtherSecret {
            path: plan.secret.to_owned(),
            found: describe(&kept.site, kept.secret.dim()),
            needed: describe(plan.site, dim),
        }),
    }
}

/// Checks that the secret does not lie where the share goes.
fn check_secret_stays(plan: &SharePlan<'_>) -> Result<(), FederatedError> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(FileError::at("find", path));
    match absolute(plan.secret)?.starts_with(absolute(plan.out)?) {
        true => Err(FederatedError::SecretInShare { path: plan.secret.to_owned() }),
        false => Ok(()),
    }
}

/// Writes the secret of a site into a file that only its owner may read.
///
/// # Errors
/// [`FileError`] if it cannot be written.
pub fn write_secret(path: &Path, kept: &KeptSecret) -> Result<(), FileError> {
    let (secret, dim) = (&kept.secret, kept.secret.dim());
    write_private_arrays(path, |archive| {
        archive.add("rotation", &[dim, dim], &secret.motion.rotations)?;
        archive.add("shift", &[dim], &secret.motion.translations)?;
        archive.add("noise_key", &[secret.noise_key.len()], &secret.noise_key)?;
        archive.add("shared", &[kept.shared.len()], &kept.shared)?;
        archive.add("site", &[kept.site.len()], kept.site.as_bytes())
    })
}

/// Reads the secret of a site.
///
/// # Errors
/// [`FederatedError`] if the file is missing, or is no secret.
pub fn read_secret(path: &Path) -> Result<KeptSecret, FederatedError> {
    let mut archive = ArrayFile::open(path)?;
    let (_, rotations) = archive.doubles("rotation")?;
    let (_, translations) = archive.doubles("shift")?;
    let dim = translations.len();
    let noise_key = archive.bytes("noise_key")?;
    let damaged = |found: Vec<usize>| {
        let needed = "rotation d x d, shift d, noise_key 32, site text".into();
        in_array(path)(NpyError::Shape { found, needed })
    };
    let noise_key = <[u8; 32]>::try_from(noise_key.as_slice());
    let site = String::from_utf8(archive.bytes("site")?);
    let (Ok(noise_key), Ok(site), true) = (noise_key, site, rotations.len() == dim * dim) else {
        return Err(damaged(vec![rotations.len(), dim]));
    };
    let motion = Transforms { dim, scales: vec![1.0], rotations, translations };
    Ok(KeptSecret { site, secret: Secret { motion, noise_key }, shared: archive.long_integers("shared")? })
}

/// Writes a frame.
///
/// # Errors
/// [`FileError`] if the folder cannot be written.
pub fn write_frame(folder: &Path, frame: &Frame) -> Result<(), FileError> {
    let (folder, alignment) = (FrameFolder::at(folder), FrameFolder::at(folder).alignment());
    remove(&folder.record())?;
    write_blinded(&folder.ids(), &frame.ids)?;
    write_transforms(&alignment.transforms(), &frame.transforms, frame.trust.as_deref())?;
    write_json(&alignment.report(), &frame.diagnostics)?;
    write_json(&folder.record(), &frame.record)
}

/// Reads a frame.
///
/// # Errors
/// [`FederatedError`] if a file is missing or damaged, or files do not belong together.
pub fn read_frame(folder: &Path) -> Result<Frame, FederatedError> {
    let (folder, alignment) = (FrameFolder::at(folder), FrameFolder::at(folder).alignment());
    let record: FrameRecord = read_json(&folder.record())?;
    let transforms = read_transforms(&alignment.transforms())?;
    let trust = read_trust(&alignment.transforms())?;
    let ids = read_blinded(&folder.ids())?;
    let diagnostics = read_json(&alignment.report())?;
    let sites = record.sites.len();
    let sizes = [
        ("motions", transforms.num_patches(), sites),
        ("trusts", trust.as_ref().map_or(sites, Vec::len), sites),
        ("dimensions", transforms.dim, record.dim),
        ("blinded ids", ids.len(), record.nodes),
    ];
    match sizes.into_iter().find(|(_, found, needed)| found != needed) {
        Some((what, found, needed)) => Err(FederatedError::FrameSize { what, found, needed }),
        None => Ok(Frame { record, ids, transforms, trust, diagnostics }),
    }
}

/// Reads shares that belong together.
///
/// # Errors
/// [`FederatedError`], naming the site or the file.
pub fn read_round(folder: &Path) -> Result<Shares, FederatedError> {
    Shares::new(read_shares(folder)?)
}

/// Moves the rows of a site into the common frame, and writes them under its own ids.
///
/// # Errors
/// [`FederatedError`], naming the site or the file.
pub fn join_into(
    site: &str,
    data: &SiteData,
    secret: &Path,
    frame: &Path,
    out: &Path,
) -> Result<JoinRecord, FederatedError> {
    let (kept, frame) = (read_secret(secret)?, read_frame(frame)?);
    let folder = JoinedFolder::at(out);
    remove(&folder.record())?;
    let (mut failed, mut joined) = (None, None);
    let written = write_atomically(&folder.embedding(), |sink| {
        let mut writer = npy::Writer::<f32, _>::new(sink, &[data.dim])?;
        let push = |rows: &[f64]| {
            let single: Vec<f32> = rows.iter().map(|&value| value as f32).collect();
            writer.push(&single).map_err(|error| FileError::at("write", &folder.embedding())(error).into())
        };
        match join::<FederatedError>(&data.rows(site), &kept, &frame, push) {
            Ok(record) => joined = Some(record),
            Err(error) => {
                failed = Some(error);
                return Err(io::Error::other("the site cannot join"));
            }
        }
        writer.finish().map(drop)
    });
    if let Some(error) = failed {
        return Err(error);
    }
    written?;
    let record = joined.expect("what did not fail has joined");
    write_ids(&GraphFolder::at(out), &data.ids)?;
    write_json(&folder.record(), &record)?;
    Ok(record)
}
