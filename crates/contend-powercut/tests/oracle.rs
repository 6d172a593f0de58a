//! Random logs, checked against a second, much simpler model of the disk: each file's content at its last sync.

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use contend_powercut::log::{Attributes, Entry, Ino, Kind, Known, Log, Op, ROOT};
use contend_powercut::replay::{Model, Namespace, Replayer};
use support::{Random, cut};

const FILES: [Ino; 3] = [2, 3, 4];
const SIZE: u64 = 10_000;

/// Writes, truncations and syncs of three files that exist from the beginning.
fn random_log(random: &mut Random, length: usize) -> Log {
    let attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };
    let known = |ino: &Ino| {
        let (kind, name) = (Kind::File, ino.to_string().into());
        Known { parent: ROOT, name, ino: *ino, kind, attributes, size: SIZE }
    };
    let mut log = Log { known: FILES.iter().map(known).collect(), ..Log::default() };
    for i in 0..length {
        let ino = *random.pick(&FILES);
        let offset = random.below(16) * 1024;
        let op = match random.below(8) {
            0 => Op::Sync { ino, data_only: random.below(2) == 0 },
            1 => Op::Truncate { ino, size: offset },
            2 => Op::Allocate { ino, size: offset },
            3 => Op::Zero { ino, offset, length: random.below(6000) },
            _ => {
                let data = vec![i as u8; random.below(9000) as usize + 1];
                Op::Write { ino, offset, data: Arc::from(data), sync: false }
            }
        };
        log.entries.push(Entry { at_ns: i as u64, op });
    }
    log
}

/// Content of a file after all of these entries.
fn naive<'a>(entries: impl Iterator<Item = &'a Entry>, file: Ino) -> Vec<u8> {
    let mut bytes = vec![0xEE; SIZE as usize];
    for entry in entries {
        match &entry.op {
            Op::Write { ino, offset, data, .. } if *ino == file => {
                let end = *offset as usize + data.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset as usize..end].copy_from_slice(data);
            }
            Op::Truncate { ino, size } if *ino == file => bytes.resize(*size as usize, 0),
            Op::Allocate { ino, size } if *ino == file => bytes.resize(bytes.len().max(*size as usize), 0),
            Op::Zero { ino, offset, length } if *ino == file => {
                let end = bytes.len().min((offset + length) as usize);
                bytes[(*offset as usize).min(end)..end].fill(0);
            }
            _ => (),
        }
    }
    bytes
}

/// Possible bytes at each offset: the durable one, or any written since.
fn possible(log: &Log, file: Ino, from: usize, to: usize) -> BTreeMap<usize, HashSet<u8>> {
    let mut all: BTreeMap<usize, HashSet<u8>> = BTreeMap::new();
    for end in from..=to {
        for (i, byte) in naive(log.entries[..end].iter(), file).into_iter().enumerate() {
            all.entry(i).or_default().insert(byte);
        }
    }
    all
}

#[test]
fn drop_leaves_what_was_synced_and_the_others_nothing_that_was_never_there() {
    let base = tempfile::tempdir().expect("a directory");
    for ino in FILES {
        std::fs::write(base.path().join(ino.to_string()), vec![0xEE; SIZE as usize]).expect("a file");
    }
    let mut checked = 0;
    for seed in 0..4 {
        let mut random = Random(seed);
        let log = random_log(&mut random, 40);
        let mut replayer = Replayer::new(base.path(), &log).expect("a replayer");
        for position in (0..=log.len()).step_by(8) {
            for file in FILES {
                let synced =
                    log.entries[..position].iter().rposition(|e| matches!(e.op, Op::Sync { ino, .. } if ino == file));
                let certain = synced.map_or(0, |i| i + 1);
                let possible = possible(&log, file, certain, position);
                let mut file_of = |model, namespace| {
                    let image = replayer.image(&cut(position, model, namespace, seed)).expect("an image");
                    image.file(file.to_string()).expect("there")
                };
                assert_eq!(file_of(Model::Kill, Namespace::Posix), naive(log.entries[..position].iter(), file));
                // Under the journal model, syncs of other files can make truncations of this one certain before its
                // data.
                assert_eq!(file_of(Model::Drop, Namespace::Posix), naive(log.entries[..certain].iter(), file));
                for model in [Model::Reorder, Model::Torn, Model::Prefix] {
                    for namespace in Namespace::ALL {
                        for (i, byte) in file_of(model, namespace).into_iter().enumerate() {
                            let fine = byte == 0 || possible.get(&i).is_some_and(|bytes| bytes.contains(&byte));
                            assert!(fine, "{model:?} {namespace:?} at {position}: byte {i} is {byte}, seed {seed}");
                        }
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 400, "{checked} files were looked at");
}
