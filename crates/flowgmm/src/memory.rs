//! How much memory a fit may take.

use std::{fs, path::Path};

/// Bytes that are taken to be available where the system does not say.
const UNKNOWN: f64 = 64.0 * 1024.0 * 1024.0 * 1024.0;

/// Bytes that this process may hold in all: what it holds, and what the system has left for it.
///
/// Linux says so in /proc/meminfo (MemAvailable) and, for a container or a limited session, in the files of its control
/// group. Elsewhere 64 GiB are assumed: a request for more is refused, and less is left to the system.
pub(crate) fn available() -> f64 {
    let Some(free) = field("/proc/meminfo", "MemAvailable:") else { return UNKNOWN };
    let own = field("/proc/self/status", "VmRSS:").unwrap_or(0.0);
    let group = control_group().map_or(f64::INFINITY, |left| left.max(0.0));
    own + free.min(group)
}

/// Bytes of a line `name: 123 kB`.
fn field(file: &str, name: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = value.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(1024.0 * kilobytes)
}

/// Bytes that the control groups of this process have left, the least of all that hold it.
fn control_group() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut left: Option<f64> = None;
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, limit, usage) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            names if names.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        // Within a container the group may be the root itself.
        let own = Path::new(root).join(path.trim_start_matches('/'));
        for directory in own.ancestors().take_while(|directory| directory.starts_with(root)) {
            if let (Some(limit), Some(used)) =
                (number(&directory.join(limit)), number(&directory.join(usage)))
            {
                // Files that were read count as used, but are given up when memory is short.
                let used = used - reclaimable(&directory.join("memory.stat"));
                left = Some(left.unwrap_or(f64::INFINITY).min(limit - used));
            }
        }
    }
    left
}

fn number(file: &Path) -> Option<f64> {
    fs::read_to_string(file).ok()?.trim().parse().ok() // "max" is no limit
}

fn reclaimable(stat: &Path) -> f64 {
    let text = fs::read_to_string(stat).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix("inactive_file "));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_memory_is_available() {
        let bytes = available();
        assert!((1e8..1e15).contains(&bytes), "{bytes}");
    }
}
