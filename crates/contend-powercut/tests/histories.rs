//! Random histories of files on a real mount: the tree rebuilt from the log equals the original, byte for byte.

mod support;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use contend_powercut::log::now_ns;
use contend_powercut::replay::{Model, Namespace, Replayer};
use rustix::fs::{FallocateFlags, RenameFlags};
use support::{Place, Random, Tree, cut, tree, written};

const NAMES: [&str; 7] = ["a", "b", "c", "d/a", "d/b", "e/a", "e/f/b"];
const DIRECTORIES: [&str; 4] = ["d", "e", "e/f", "g"];

/// Files that stay open, even after their names are removed.
type Open = HashMap<u64, File>;

/// One random operation. One that fails (no such file, ...) is just as good a test.
fn step(top: &Path, random: &mut Random, open: &mut Open) -> io::Result<()> {
    let name = top.join(random.pick(&NAMES));
    let other = top.join(random.pick(&NAMES));
    let directory = top.join(random.pick(&DIRECTORIES));
    let bytes = vec![random.below(255) as u8 + 1; random.below(9000) as usize];
    let offset = random.below(20_000);
    match random.below(24) {
        0..=2 => drop(fs::write(&name, &bytes)),
        3..=6 => {
            OpenOptions::new().write(true).create(true).truncate(false).open(name)?.write_all_at(&bytes, offset)?
        }
        7 => OpenOptions::new().append(true).open(name)?.write_all(&bytes)?,
        8 => OpenOptions::new().write(true).open(name)?.set_len(offset)?,
        9 => fs::remove_file(name)?,
        10 | 11 => fs::rename(name, other)?,
        12 => fs::hard_link(name, other)?,
        13 => fs::create_dir_all(directory)?,
        14 => fs::remove_dir(directory)?,
        15 => fs::rename(directory, top.join(random.pick(&DIRECTORIES)))?,
        16 => std::os::unix::fs::symlink("somewhere/else", name)?,
        17 => {
            let flags = *random.pick(&[
                FallocateFlags::empty(),
                FallocateFlags::KEEP_SIZE,
                FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                FallocateFlags::ZERO_RANGE,
            ]);
            let file = OpenOptions::new().write(true).open(name)?;
            rustix::fs::fallocate(file, flags, offset, bytes.len() as u64 + 1)?;
        }
        18 => drop(open.insert(random.below(3), OpenOptions::new().read(true).write(true).open(name)?)),
        19 => open.get(&random.below(3)).map_or(Ok(()), |file| file.write_all_at(&bytes, offset))?,
        20 => {
            let exchange = RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(rustix::fs::CWD, name, rustix::fs::CWD, other, exchange)?;
        }
        21 => fs::set_permissions(name, fs::Permissions::from_mode(0o600 | random.below(64) as u32))?,
        22 => {
            let flags = (rustix::fs::OFlags::DSYNC).bits() as i32;
            OpenOptions::new().write(true).custom_flags(flags).open(name)?.write_all_at(&bytes, offset)?;
        }
        _ => File::open(if random.below(2) == 0 { name } else { directory })?.sync_all()?,
    }
    Ok(())
}

fn sync_everything(top: &Path) {
    let mut open = vec![top.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory").flatten() {
            let kind = entry.file_type().expect("a type");
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                File::open(entry.path()).expect("a file").sync_all().expect("synced");
            }
        }
        File::open(&directory).expect("a directory").sync_all().expect("synced");
    }
}

fn remove_everything(top: &Path) {
    for entry in fs::read_dir(top).expect("a directory").flatten() {
        let path: PathBuf = entry.path();
        let is_dir = entry.file_type().expect("a type").is_dir();
        if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }
}

/// Runs histories one after the other on one mount. At random moments and at the end of each, notes the tree and the
/// time. Afterwards rebuilds the tree from the log at the position of each time.
fn run(histories: u64, seed: u64) {
    let place = Place::new();
    fs::create_dir_all(place.path("backing/d")).expect("a directory");
    fs::write(place.path("backing/a"), vec![7; 10_000]).expect("a file");
    fs::write(place.path("backing/d/b"), b"there before").expect("a file");
    let Some(mount) = place.mount() else { return };
    let top = place.path("mnt");
    let mut random = Random(seed);
    let (mut seen, mut synced) = (vec![(now_ns(), tree(&top))], Vec::<(u64, Tree)>::new());
    for _ in 0..histories {
        let mut open = Open::new();
        for _ in 0..30 + random.below(60) {
            let _ = step(&top, &mut random, &mut open);
            if random.below(12) == 0 {
                seen.push((now_ns(), tree(&top)));
            }
        }
        seen.push((now_ns(), tree(&top)));
        assert_eq!(tree(&top), tree(&place.path("backing")), "the mount shows what is behind it");
        if random.below(4) == 0 {
            sync_everything(&top);
            synced.push((now_ns(), tree(&top)));
        }
        drop(open);
        remove_everything(&top);
    }
    mount.unmount();
    let log = place.log();
    assert!(log.complete && !log.full);
    let mut replayer = Replayer::new(&place.path("base"), &log).expect("a replayer");
    let image = place.path("image");
    for (ns, expected) in &seen {
        let position = log.position_at(*ns);
        for namespace in Namespace::ALL {
            let made = replayer.image(&cut(position, Model::Kill, namespace, 1)).expect("an image");
            assert_eq!(&written(&made, &image), expected, "at {position}, seed {seed}");
        }
    }
    let mut replayer = Replayer::new(&place.path("base"), &log).expect("a replayer");
    for (ns, expected) in &synced {
        let position = log.position_at(*ns);
        for model in Model::ALL {
            for namespace in Namespace::ALL {
                let made = replayer.image(&cut(position, model, namespace, seed)).expect("an image");
                let found = written(&made, &image);
                assert_eq!(&found, expected, "all is synced: {model:?} {namespace:?} at {position}, seed {seed}");
            }
        }
    }
    println!("{histories} histories, {} entries: {} trees rebuilt", log.len(), seen.len() * 2 + synced.len() * 10);
}

#[test]
fn three_hundred_histories_are_rebuilt() {
    for seed in 0..6 {
        run(50, seed);
    }
}

#[test]
#[ignore = "ten thousand histories: half an hour on two busy cores"]
fn ten_thousand_histories_are_rebuilt() {
    for seed in 100..150 {
        run(200, seed);
    }
}
