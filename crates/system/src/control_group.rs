//! The control group of this process: how much processor time it allows, and how long it withheld
//! processors from threads that were ready (cgroups(7)).

use std::fs;
use std::path::{Path, PathBuf};

use crate::clock::{MICROSECOND, Nanos};

/// The groups of this process that can have a quota of processor time: its own, and those above it
/// as far as they can be seen.
#[derive(Debug, Clone, Default)]
pub struct ControlGroup(Vec<PathBuf>);

impl ControlGroup {
    /// The group of this process; without folders where it cannot be found.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// `root` is the parent of /proc and /sys.
    fn below(root: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(root.join("proc/self").join(name));
        let (mounts, groups) = (read("mountinfo"), read("cgroup"));
        let folder = folder(&mounts.unwrap_or_default(), &groups.unwrap_or_default());
        let Some((mount, path)) = folder else { return Self::default() };
        let within = |path: &str| root.join(path.trim_start_matches('/'));
        let top = within(&mount);
        let own = top.join(path.trim_start_matches('/'));
        Self(own.ancestors().take_while(|it| it.starts_with(&top)).map(Path::to_owned).collect())
    }

    /// The processors' time that the quotas allow, in processors; `None` without a quota.
    pub fn quota(&self) -> Option<f64> {
        self.0.iter().filter_map(|folder| quota(folder)).reduce(f64::min)
    }

    /// The time so far for which groups were throttled, added up over processors: of the group with
    /// the most. `None` where no group counts it.
    pub fn throttled(&self) -> Option<Nanos> {
        self.0.iter().filter_map(|folder| throttled(folder)).max()
    }
}

/// The mount point of the hierarchy that shares processor time out, and the path of this process's
/// group there: of version 1 if the controller `cpu` is there, otherwise of version 2.
fn folder(mounts: &str, groups: &str) -> Option<(String, String)> {
    let of = |wanted: fn(&str) -> bool, is_mounted: fn(&str, &str) -> bool| {
        // `4:cpu,cpuacct:/path`; of version 2 `0::/path`.
        let path = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let controllers = parts.nth(1)?;
            wanted(controllers).then(|| parts.next())?
        })?;
        // `30 23 0:26 ROOT MOUNT options - TYPE source superoptions` (proc_pid_mountinfo(5)).
        let (root, mount) = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let (mut before, mut after) = (before.split(' ').skip(3), after.split(' '));
            let is_it = is_mounted(after.next()?, after.nth(1).unwrap_or_default());
            is_it.then(|| Some((before.next()?, before.next()?)))?
        })?;
        // A container sees its group as the root of the mount.
        let path = path.strip_prefix(root.trim_end_matches('/')).unwrap_or_default();
        let path = if path.split('/').any(|part| part == "..") { "" } else { path };
        Some((mount.replace("\\040", " "), path.to_owned()))
    };
    let has_cpu = |list: &str| list.split(',').any(|name| name == "cpu");
    of(has_cpu, |kind, options| kind == "cgroup" && options.split(',').any(|name| name == "cpu"))
        .or_else(|| of(str::is_empty, |kind, _| kind == "cgroup2"))
}

/// `cpu.max` of version 2 has quota and period in microseconds, or `max`; of version 1 they are
/// files, and -1 is no quota.
fn quota(folder: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let text = read("cpu.max")
        .or_else(|| Some(read("cpu.cfs_quota_us")? + " " + &read("cpu.cfs_period_us")?))?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// `cpu.stat` has `throttled_usec` in version 2, `throttled_time` in nanoseconds in version 1.
fn throttled(folder: &Path) -> Option<Nanos> {
    let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", number) => Some(number.trim().parse::<Nanos>().ok()? * MICROSECOND),
        ("throttled_time", number) => number.trim().parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quota and throttling on a machine with these files: /proc/self/mountinfo, /proc/self/cgroup,
    /// and those of the groups.
    fn found(name: &str, own: [&str; 2], files: &[(&str, &str)]) -> (Option<f64>, Option<Nanos>) {
        let root = std::env::temp_dir().join(format!("tlslab-group-{}-{name}", std::process::id()));
        let own = [("proc/self/mountinfo", own[0]), ("proc/self/cgroup", own[1])];
        for (path, text) in own.iter().chain(files) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let group = ControlGroup::below(&root);
        let found = (group.quota(), group.throttled());
        fs::remove_dir_all(&root).unwrap();
        found
    }

    const V1: &str = "30 23 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      31 23 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
                      33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
    const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_1_has_files_of_its_own_below_the_controller() {
        let groups = "9:name=systemd:/\n3:cpuset:/\n1:cpu,cpuacct:/a/b\n0::/c\n";
        let files = [
            ("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "20000\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 7\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(found("v1", [V1, groups], &files), (Some(0.2), Some(7)));
    }

    #[test]
    fn of_version_2_the_least_quota_on_the_way_up_counts() {
        let files = [
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nthrottled_usec 0\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nthrottled_usec 3\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ];
        assert_eq!(found("v2", [V2, "0::/a/b\n"], &files), (Some(1.5), Some(3_000)));
    }

    #[test]
    fn a_container_sees_its_group_as_the_root_of_the_mount() {
        let mounts = "31 23 0:27 /docker/7f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        let files = [
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        let of = |name, group| found(name, [mounts, group], &files).0;
        assert_eq!(of("root", "1:cpu:/docker/7f\n"), Some(0.5));
        assert_eq!(of("outside", "1:cpu:/../other\n"), Some(0.5));
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        assert_eq!(found("empty", ["", ""], &[]), (None, None));
        assert_eq!(found("no-group", [V2, "1:cpu:/a\n"], &[]), (None, None));
        assert_eq!(found("no-files", [V2, "0::/a\n"], &[]), (None, None));
    }
}
