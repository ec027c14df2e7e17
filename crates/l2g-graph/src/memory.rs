//! How much memory this process may use, and how much it has used.
//!
//! The memory of the machine is one bound. Containers and batch systems set a lower one by a
//! control group (cgroup), and `ulimit -v` or `ulimit -d` set one for the process. The smallest
//! counts. What a limit of the process has left is less than the limit: program, threads and mapped
//! files take their part of it already.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of memory, as people write it: `512M`, `1.5G`, or a number of bytes. Units are powers
/// of 1024.
///
/// # Examples
/// ```
/// use l2g_graph::memory::ByteSize;
///
/// assert_eq!("1.5G".parse(), Ok(ByteSize(3 << 29)));
/// assert_eq!(ByteSize(3 << 29).to_string(), "1536M");
/// assert!("a lot".parse::<ByteSize>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The next larger size that people would name: `1.9G`, `440M`, `12M`.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::memory::ByteSize;
    ///
    /// assert_eq!(ByteSize((1 << 30) + 1).rounded_up(), "1.1G");
    /// assert_eq!(ByteSize(437 << 20).rounded_up(), "440M");
    /// assert_eq!(ByteSize(5).rounded_up(), "1M");
    /// ```
    pub fn rounded_up(self) -> String {
        let megabytes = self.0.div_ceil(1 << 20).max(1);
        if megabytes < 1000 {
            let step = if megabytes < 100 { 1 } else { 10 };
            return format!("{}M", megabytes.next_multiple_of(step));
        }
        let tenths = (10 * u128::from(self.0)).div_ceil(1 << 30);
        match (tenths / 10, tenths % 10) {
            (whole, _) if whole >= 100 => format!("{}G", whole + u128::from(!tenths.is_multiple_of(10))),
            (whole, 0) => format!("{whole}G"),
            (whole, tenth) => format!("{whole}.{tenth}G"),
        }
    }
}

/// The units, the largest first.
const UNITS: [(char, u64); 4] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("found `{text}`, needed a size such as 512M, 4G or a number of bytes");
        let plain = text.trim().to_ascii_uppercase();
        let plain = plain.strip_suffix("IB").or(plain.strip_suffix('B')).unwrap_or(&plain);
        let unit = UNITS.into_iter().find(|(letter, _)| plain.ends_with(*letter));
        let number = unit.map_or(plain, |_| &plain[..plain.len() - 1]).trim_end();
        let value: f64 = number.parse().map_err(|_| refused())?;
        let bytes = value * unit.map_or(1, |(_, bytes)| bytes) as f64;
        match number.starts_with(|first: char| first.is_ascii_digit()) && (1.0..9e18).contains(&bytes) {
            true => Ok(Self(bytes as u64)),
            false => Err(refused()),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.into_iter().find(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes)) {
            Some((letter, bytes)) => write!(f, "{}{letter}", self.0 / bytes),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Bytes(u64),
            Text(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Bytes(bytes)) => Ok(Self(bytes)),
            Ok(Written::Text(text)) => text.parse().map_err(serde::de::Error::custom),
            Err(_) => Err(serde::de::Error::custom("needed a size such as 512M, 4G or a number of bytes")),
        }
    }
}

/// About what the program itself takes: its threads, and what it reads and writes through.
pub const BASE_BYTES: u64 = 4 << 20;

/// What work may take: bytes of memory, and a folder for mapped files where memory does not suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most bytes of memory.
    pub memory: u64,
    /// Files that are mapped and have no name are made here.
    pub folder: PathBuf,
}

impl Default for Room {
    /// No limit.
    fn default() -> Self {
        Self { memory: u64::MAX, folder: std::env::temp_dir() }
    }
}

/// The memory that some work takes, in bytes: about, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// What it usually takes.
    pub about: u64,
    /// What it never exceeds by much: limits are checked against this.
    pub most: u64,
}

impl Need {
    /// A need that is known well.
    pub fn of(bytes: u64) -> Self {
        Self { about: bytes, most: bytes }
    }

    /// This need, or so many bytes if that is more.
    pub fn at_least(self, bytes: u64) -> Self {
        Self { about: self.about.max(bytes), most: self.most.max(bytes) }
    }

    /// This need and so many bytes besides.
    pub fn plus(self, bytes: u64) -> Self {
        Self { about: self.about.saturating_add(bytes), most: self.most.saturating_add(bytes) }
    }
}

/// A need that is far above what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// The estimated need, in bytes.
    pub needed: u64,
    /// What this process may use, in bytes.
    pub there: u64,
}

/// The memory that this process may use, if the system tells.
pub fn total_bytes() -> Option<u64> {
    [machine_bytes(), cgroup_bytes(), process_limit()].into_iter().flatten().min()
}

/// The memory that is free for this process now, if the system tells: what it may use, less what
/// others have in use.
pub fn free_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok();
    let available = info.and_then(|info| kilobytes(&info, "MemAvailable:"));
    [available, total_bytes()].into_iter().flatten().min()
}

/// Whether there is less than half of the memory that is estimated to be needed. Estimates are
/// rough, so a need that is closer than that is let through.
pub fn machine_too_small_for(needed: u64) -> Option<TooSmall> {
    let there = total_bytes().filter(|&there| needed / 2 > there)?;
    Some(TooSmall { needed, there })
}

/// The most memory this process has had in use so far, if the system tells.
pub fn peak_bytes() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

#[cfg(target_os = "linux")]
fn machine_bytes() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

#[cfg(all(unix, not(target_os = "linux")))]
#[expect(unsafe_code, reason = "the standard library does not tell the memory of the machine")]
fn machine_bytes() -> Option<u64> {
    // SAFETY: sysconf takes a number, gives a number, and touches nothing else.
    let [pages, page_bytes] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(page_bytes).ok()?)
}

#[cfg(not(unix))]
fn machine_bytes() -> Option<u64> {
    None
}

/// The limit of the control groups that this process is in.
fn cgroup_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    cgroup_limit(Path::new("/sys/fs/cgroup"), &groups)
}

/// The smallest limit along the groups that `/proc/self/cgroup` lists, each from the group up to the
/// root: version 2 in lines `0::/path`, version 1 in lines `N:memory:/path`. In a container the path
/// may be that of the host, and only the root is there.
fn cgroup_limit(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            list if list.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let limit = |group: &Path| {
            let group = root.join(group.strip_prefix("/").unwrap_or(group));
            fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok()
        };
        Path::new(path).ancestors().filter_map(limit).min()
    });
    limits.min()
}

/// What the limits of this process leave of address space (`ulimit -v`) and data (`ulimit -d`).
#[cfg(unix)]
fn process_limit() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let left =
        |limit: Option<u64>, used: &str| Some(limit?.saturating_sub(kilobytes(&status, used).unwrap_or(0)));
    let space = left(soft_limit(libc::RLIMIT_AS), "VmSize:");
    let data = left(soft_limit(libc::RLIMIT_DATA), "VmData:");
    space.into_iter().chain(data).min()
}

#[cfg(not(unix))]
fn process_limit() -> Option<u64> {
    None
}

/// The type of resources in `getrlimit` differs between systems.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
#[cfg(all(unix, not(all(target_os = "linux", target_env = "gnu"))))]
type Resource = libc::c_int;

#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library does not tell the limits of a process")]
fn soft_limit(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the record it is given, which lives here, and keeps no pointer to it.
    let told = unsafe { libc::getrlimit(resource, &raw mut limit) } == 0;
    (told && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The number behind a key, in a file of lines such as `MemTotal:  24576 kB`.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_key_is_read() {
        assert_eq!(kilobytes("A:  1 kB\nMemTotal:   24 kB\n", "MemTotal:"), Some(24 * 1024));
        assert_eq!(kilobytes("A: 1 kB\n", "MemTotal:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells() {
        assert!(peak_bytes().unwrap() > 0);
        let there = total_bytes().unwrap();
        assert!(there > peak_bytes().unwrap());
        assert_eq!(machine_too_small_for(u64::MAX).unwrap().needed, u64::MAX);
        assert_eq!(machine_too_small_for(there), None);
    }

    #[test]
    fn the_smallest_limit_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| cgroup_limit(root.path(), groups);
        assert_eq!(limit("0::/job/step\n"), None);
        put("job/step/memory.max", "max\n");
        put("job/memory.max", "1000\n");
        put("memory.max", "5000\n");
        assert_eq!(limit("0::/job/step\n"), Some(1000));
        assert_eq!(limit("0::/of/the/host\n"), Some(5000));
        put("memory/docker/memory.limit_in_bytes", "300\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let old = "5:cpu,cpuacct:/docker\n4:cpuset,memory:/docker\n";
        assert_eq!(limit(old), Some(300));
        assert_eq!(limit(&format!("{old}0::/job\n")), Some(300));
        assert_eq!(limit("nonsense\n"), None);
    }
}
