//! How much memory the machine has, and how much this process has used.

use std::fs;

/// The memory of the machine, if the system tells.
pub fn total_bytes() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The memory of the machine, if it is less than half of what is estimated to be needed.
pub fn far_below(needed: u64) -> Option<u64> {
    total_bytes().filter(|&there| needed / 2 > there)
}

/// The most memory this process has had in use so far, if the system tells.
pub fn peak_bytes() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
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
        assert!(total_bytes().unwrap() > peak_bytes().unwrap());
        assert_eq!(far_below(u64::MAX), total_bytes());
        assert_eq!(far_below(peak_bytes().unwrap()), None);
    }
}
