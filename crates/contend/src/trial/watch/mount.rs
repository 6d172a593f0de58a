//! The file system that holds a directory, what carries it, and whether a sync keeps data there.

use crate::record::model::Mount;
use crate::trial::watch::device;
use procfs::process::{MountInfo, Process};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// File systems in memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "rootfs"];

/// Devices in memory, without their numbers.
const DEVICES_IN_MEMORY: [&str; 3] = ["ram", "zram", "nullb"];

/// Options with which a sync does nothing, or leaves the data in the disk's cache.
const WITHOUT_SYNC: [&str; 9] = [
    "volatile",
    "fsync=volatile",
    "nobarrier",
    "barrier=0",
    "barrier=none",
    "fsync_mode=nobarrier",
    "nointegrity",
    "journal_flush_disabled",
    "nostrictsync",
];

/// Further options that change what a sync does or costs, without their values. Others, such as the directories of an
/// overlay, differ between equal places.
const OF_SYNCS: [&str; 16] = [
    "sync",
    "dirsync",
    "wsync",
    "lazytime",
    "barrier",
    "data",
    "commit",
    "discard",
    "nodelalloc",
    "journal_async_commit",
    "flushoncommit",
    "notreelog",
    "nodatacow",
    "compress",
    "compress-force",
    "logbsize",
];

/// What carries a mount: its devices by their names in the kernel, and the files behind loop devices.
#[derive(Default)]
struct Carriers {
    devices: Vec<String>,
    models: Vec<String>,
    files: Vec<PathBuf>,
}

/// Type of the file system that holds `dir`, and its mount; `unknown` if the kernel does not list it.
pub fn of(dir: &Path) -> (String, Option<Mount>) {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let mounts = Process::myself().and_then(|me| me.mountinfo()).map_or(vec![], |mounts| mounts.0);
    described(&mounts, &dir, &carriers).map_or(("unknown".to_string(), None), |(kind, mount)| (kind, Some(mount)))
}

/// Goes from the mount of `dir` down to those that carry it: the upper directory of an overlay, the file of a loop device.
fn described(mounts: &[MountInfo], dir: &Path, carriers: &dyn Fn(&MountInfo) -> Carriers) -> Option<(String, Mount)> {
    let first = holding(mounts, dir)?;
    let mut found =
        Mount { source: first.mount_source.clone().unwrap_or_default(), options: vec![], model: None, no_sync: None };
    let (mut models, mut seen, mut places) = (vec![], vec![], vec![dir.to_path_buf()]);
    while let Some(place) = places.pop() {
        // In a container the upper directory is a path of the host: it leads back to the overlay itself.
        let Some(mount) = holding(mounts, &place).filter(|mount| !seen.contains(&mount.mnt_id)) else { continue };
        let over = match seen.is_empty() {
            true => String::new(),
            false => format!("over {}, which is ", point(mount).display()),
        };
        seen.push(mount.mnt_id);
        let below = carriers(mount);
        found.no_sync = found.no_sync.or_else(|| Some(format!("{over}{}", why_no_sync(mount, &below.devices)?)));
        found.options.extend(options(mount).filter(|option| is_of_syncs(option)));
        models.extend(below.models);
        places.extend(below.files);
        places.extend(mount.super_options.get("upperdir").cloned().flatten().map(|dir| unescaped(&dir)));
    }
    found.options.sort_unstable();
    found.options.dedup();
    models.sort_unstable();
    models.dedup();
    found.model = (!models.is_empty()).then(|| models.join(", "));
    Some((first.fs_type.clone(), found))
}

/// The mount that holds a path. Of several mounts at one place, the last one is visible.
fn holding<'m>(mounts: &'m [MountInfo], path: &Path) -> Option<&'m MountInfo> {
    let over = mounts.iter().filter(|mount| path.starts_with(point(mount)));
    over.max_by_key(|mount| point(mount).as_os_str().len())
}

fn point(mount: &MountInfo) -> PathBuf {
    unescaped(&mount.mount_point.to_string_lossy())
}

/// The kernel writes special characters of a path as three octal digits.
fn unescaped(path: &str) -> PathBuf {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\054", ","), ("\\134", "\\")];
    escapes.iter().fold(path.to_string(), |path, (written, meant)| path.replace(written, meant)).into()
}

/// Why a sync does not keep data on this mount, as the end of `a file system ...`.
fn why_no_sync(mount: &MountInfo, devices: &[String]) -> Option<String> {
    let kind = &mount.fs_type;
    if IN_MEMORY.contains(&kind.as_str()) {
        return Some(format!("in memory ({kind})"));
    }
    if let Some(option) = options(mount).find(|option| WITHOUT_SYNC.contains(&option.as_str())) {
        return Some(format!("mounted with {option} ({kind})"));
    }
    let is_in_memory =
        |device: &&String| DEVICES_IN_MEMORY.contains(&device.trim_end_matches(|c: char| c.is_ascii_digit()));
    devices.iter().find(is_in_memory).map(|device| format!("on {device}, a device in memory"))
}

fn is_of_syncs(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    WITHOUT_SYNC.contains(&option) || OF_SYNCS.contains(&name)
}

/// Options of a mount and of its file system, as typed.
fn options(mount: &MountInfo) -> impl Iterator<Item = String> {
    let typed = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    };
    let of = |all: &HashMap<String, Option<String>>| all.iter().map(typed).collect::<Vec<_>>();
    let mut all = [of(&mount.mount_options), of(&mount.super_options)].concat();
    all.sort_unstable();
    all.into_iter()
}

/// What carries a mount, as the kernel lists it. A file system on several devices, such as btrfs, has a number that is no
/// device's: its source is one.
fn carriers(mount: &MountInfo) -> Carriers {
    let mut found = Carriers::default();
    let source = mount.mount_source.iter().filter_map(|source| device::of_file(Path::new(source)));
    let mut left: Vec<PathBuf> = device::numbered(&mount.majmin).into_iter().collect();
    if left.is_empty() {
        left.extend(source);
    }
    while let Some(device) = left.pop() {
        let read = |name: &str| std::fs::read_to_string(device.join(name)).ok().map(|text| text.trim().to_string());
        found.devices.extend(device.file_name().map(|name| name.to_string_lossy().into_owned()));
        found.models.extend(read("device/model").filter(|model| !model.is_empty()));
        let file = read("loop/backing_file");
        found.files.extend(file.map(|file| PathBuf::from(file.trim_end_matches(" (deleted)"))));
        let slaves = std::fs::read_dir(device.join("slaves")).into_iter().flatten().flatten();
        left.extend(slaves.filter_map(|slave| device::whole(&slave.path())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromBufRead;
    use procfs::process::MountInfos;

    /// As Linux 6.18 lists them, and an XFS as older kernels do.
    const LINES: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resuid=65534
25 27 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684084k
50 27 0:40 / /ram rw,relatime - ramfs ramfs rw
51 27 0:41 / /volatile rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w,fsync=volatile
52 27 0:42 / /overlay rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
53 27 0:43 / /on\\040memory rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/dev/shm/u,workdir=/dev/shm/w
54 27 7:0 / /loop rw,relatime - ext4 /dev/loop0 rw
55 27 7:1 / /loop/disk rw,relatime - ext4 /dev/loop1 rw
56 27 7:2 / /nobarrier rw,sync,relatime - ext4 /dev/vdb rw,nobarrier,data=ordered
57 27 8:1 / /zero rw,relatime shared:1 - ext3 /dev/sda1 rw,barrier=0
58 27 8:2 / /xfs rw,relatime - xfs /dev/sda2 rw,attr2,nobarrier,logbsize=32k,noquota
59 27 252:0 / /zram rw,relatime - ext4 /dev/zram0 rw
60 27 8:3 / /default rw,relatime - ext4 /dev/sda3 rw,barrier=1
";

    fn found(lines: &str, dir: &str) -> (String, Mount) {
        let mounts = MountInfos::from_buf_read(lines.as_bytes()).unwrap().0;
        let carriers = |mount: &MountInfo| match mount.mount_source.as_deref() {
            Some("/dev/loop0") => Carriers { files: vec!["/dev/shm/disk.img".into()], ..Carriers::default() },
            Some("/dev/loop1") => Carriers { files: vec!["/srv/disk.img".into()], ..Carriers::default() },
            Some("/dev/zram0") => Carriers { devices: vec!["zram0".into()], ..Carriers::default() },
            Some("/dev/vda") => {
                Carriers { devices: vec!["vda".into()], models: vec!["SSD 3000".into()], files: vec![] }
            }
            _ => Carriers::default(),
        };
        described(&mounts, Path::new(dir), &carriers).unwrap()
    }

    #[test]
    fn a_place_where_a_sync_keeps_nothing_is_known() {
        for (dir, why) in [
            ("/dev/shm/record/data", "in memory (tmpfs)"),
            ("/ram/record", "in memory (ramfs)"),
            ("/volatile/record", "mounted with fsync=volatile (overlay)"),
            ("/on memory/record", "over /dev/shm, which is in memory (tmpfs)"),
            ("/loop/record", "over /dev/shm, which is in memory (tmpfs)"),
            ("/nobarrier/record", "mounted with nobarrier (ext4)"),
            ("/zero/record", "mounted with barrier=0 (ext3)"),
            ("/xfs/record", "mounted with nobarrier (xfs)"),
            ("/zram/record", "on zram0, a device in memory"),
        ] {
            assert_eq!(found(LINES, dir).1.no_sync.as_deref(), Some(why), "{dir}");
        }
        for dir in ["/srv/record", "/overlay/record", "/loop/disk/record", "/default/record", "/memory"] {
            assert_eq!(found(LINES, dir).1.no_sync, None, "{dir}");
        }
    }

    /// The upper directory is a path of the host.
    #[test]
    fn an_overlay_in_a_container_is_allowed() {
        let line = "100 99 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/var/l,upperdir=/var/u,workdir=/var/w\n";
        let (kind, mount) = found(line, "/results/record");
        assert_eq!((kind.as_str(), mount.no_sync, mount.options), ("overlay", None, vec![]));
    }

    #[test]
    fn a_mount_has_its_source_the_options_of_syncs_and_what_carries_it() {
        let (kind, mount) = found(LINES, "/nobarrier/record");
        assert_eq!((kind.as_str(), mount.source.as_str(), mount.model), ("ext4", "/dev/vdb", None));
        assert_eq!(mount.options, ["data=ordered", "nobarrier", "sync"]);
        let (_, mount) = found(LINES, "/loop/disk/record");
        assert_eq!((mount.source.as_str(), mount.model.as_deref()), ("/dev/loop1", Some("SSD 3000")));
        assert_eq!(mount.options, ["discard"], "of the disk that holds the file");
    }
}
