//! The promises of each model, with hand-made logs: synced data survives, other data may be lost, and every image is
//! one that an ordered file system could leave.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use contend_powercut::log::{Attributes, Entry, Ino, Kind, Known, Log, Op, ROOT};
use contend_powercut::replay::{Image, Model, Namespace, Replayer};
use support::cut;

const FILE: Ino = 2;
const PAGE: u64 = 4096;
const RANDOM: [Model; 3] = [Model::Reorder, Model::Torn, Model::Prefix];
/// Models without torn pages: the first byte then represents the page.
const WHOLE: [Model; 2] = [Model::Reorder, Model::Prefix];

/// A hand-made log, on a base with one durable file `old` of two pages of ones.
struct Made {
    base: tempfile::TempDir,
    log: Log,
}

fn attributes() -> Attributes {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Attributes { mode: 0o644, uid, gid }
}

impl Made {
    fn new() -> Made {
        let base = tempfile::tempdir().expect("a directory");
        let size = 2 * PAGE;
        std::fs::write(base.path().join("old"), vec![1; size as usize]).expect("a file");
        let (kind, attributes) = (Kind::File, attributes());
        let known = vec![Known { parent: ROOT, name: "old".into(), ino: FILE, kind, attributes, size }];
        Made { base, log: Log { known, ..Log::default() } }
    }

    fn add(&mut self, op: Op) -> &mut Made {
        let at_ns = self.log.entries.len() as u64 * 1000;
        self.log.entries.push(Entry { at_ns, op });
        self
    }

    fn write(&mut self, ino: Ino, offset: u64, byte: u8, length: u64) -> &mut Made {
        self.add(Op::Write { ino, offset, data: Arc::from(vec![byte; length as usize]), sync: false })
    }

    fn create(&mut self, parent: Ino, name: &str, ino: Ino, kind: Kind) -> &mut Made {
        let (name, target, attributes) = (name.into(), "".into(), attributes());
        self.add(Op::Create { parent, name, ino, kind, attributes, target })
    }

    fn sync(&mut self, ino: Ino) -> &mut Made {
        self.add(Op::Sync { ino, data_only: true })
    }

    fn sync_all(&mut self, ino: Ino) -> &mut Made {
        self.add(Op::Sync { ino, data_only: false })
    }

    fn sync_top(&mut self) -> &mut Made {
        self.add(Op::SyncDirectory { ino: ROOT })
    }

    fn remove(&mut self, name: &str) -> &mut Made {
        self.add(Op::Remove { parent: ROOT, name: name.into() })
    }

    fn rename(&mut self, name: &str, to: &str) -> &mut Made {
        let (name, to_name) = (name.into(), to.into());
        self.add(Op::Rename { parent: ROOT, name, to_parent: ROOT, to_name, exchange: false })
    }

    fn replayer(&self) -> Replayer {
        Replayer::new(self.base.path(), &self.log).expect("a replayer")
    }

    /// What `see` returns for all images at the end of the log, under some models and many seeds.
    fn all<T: Ord>(&self, models: &[Model], namespace: Namespace, see: impl Fn(&Image) -> T) -> BTreeSet<T> {
        self.all_at(self.log.len(), models, namespace, see)
    }

    fn all_at<T: Ord>(
        &self,
        position: usize,
        models: &[Model],
        namespace: Namespace,
        see: impl Fn(&Image) -> T,
    ) -> BTreeSet<T> {
        let mut replayer = self.replayer();
        let mut image = |model, seed| replayer.image(&cut(position, model, namespace, seed)).expect("an image");
        models.iter().flat_map(|model| (0..300).map(|seed| (*model, seed))).map(|(m, s)| see(&image(m, s))).collect()
    }
}

fn names(image: &Image) -> Vec<String> {
    let mut names: Vec<_> = image.items().iter().map(|item| item.path.display().to_string()).collect();
    names.sort();
    names
}

/// The first byte of each page of a file; `None` if there is no file.
fn pages(image: &Image, name: &str) -> Option<Vec<u8>> {
    Some(image.file(Path::new(name))?.chunks(PAGE as usize).map(|page| page[0]).collect())
}

#[test]
fn what_was_synced_survives_every_model() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE).create(ROOT, "new", 3, Kind::File).write(3, 0, 5, 2 * PAGE);
    made.sync(FILE).sync(3).sync_top();
    for namespace in Namespace::ALL {
        let seen = made.all(&Model::ALL, namespace, |image| (pages(image, "old"), pages(image, "new")));
        assert_eq!(seen, BTreeSet::from([(Some(vec![2, 1]), Some(vec![5, 5]))]), "{namespace:?}");
    }
}

#[test]
fn what_was_not_synced_is_there_after_a_kill_and_gone_after_a_drop() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE).create(ROOT, "new", 3, Kind::File).write(3, 0, 5, 10).remove("old");
    for namespace in Namespace::ALL {
        assert_eq!(made.all(&[Model::Kill], namespace, names), BTreeSet::from([vec!["new".to_string()]]));
        let seen = made.all(&[Model::Drop], namespace, |image| (names(image), pages(image, "old")));
        assert_eq!(seen, BTreeSet::from([(vec!["old".to_string()], Some(vec![1, 1]))]));
    }
}

#[test]
fn pages_are_reordered_in_any_of_their_versions() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE).write(FILE, PAGE, 3, PAGE).write(FILE, 0, 4, PAGE);
    let seen = made.all(&[Model::Reorder], Namespace::Journal, |image| pages(image, "old").expect("there"));
    let all = [1, 2, 4].iter().flat_map(|a| [1, 3].map(|b| vec![*a, b])).collect();
    assert_eq!(seen, all, "every combination, and no other");
}

#[test]
fn a_prefix_keeps_the_order_of_writes() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE).write(FILE, PAGE, 3, PAGE).write(FILE, 0, 4, PAGE);
    let seen = made.all(&[Model::Prefix], Namespace::Journal, |image| pages(image, "old").expect("there"));
    assert_eq!(seen, BTreeSet::from([vec![1, 1], vec![2, 1], vec![2, 3], vec![4, 3]]));
}

#[test]
fn only_torn_pages_are_torn_and_only_between_sectors() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE);
    let mixed = |image: &Image| {
        let page = image.file("old").expect("there")[..PAGE as usize].to_vec();
        assert!(page.chunks(512).all(|sector| sector.iter().all(|b| *b == sector[0])), "a sector is whole");
        page.iter().any(|b| *b != page[0])
    };
    assert_eq!(made.all(&[Model::Reorder, Model::Prefix, Model::Drop], Namespace::Journal, mixed), [false].into());
    assert_eq!(made.all(&[Model::Torn], Namespace::Journal, mixed), [false, true].into());
}

#[test]
fn a_new_name_needs_a_sync_of_its_directory_only_under_posix() {
    let mut made = Made::new();
    made.create(ROOT, "new", 3, Kind::File).write(3, 0, 5, PAGE).sync(3);
    let there = |image: &Image| pages(image, "new");
    let whole = Some(vec![5]);
    assert_eq!(made.all(&Model::ALL, Namespace::Journal, there), [whole.clone()].into());
    assert_eq!(made.all(&[Model::Drop], Namespace::Posix, there), [None].into());
    assert_eq!(made.all(&RANDOM, Namespace::Posix, there), [None, whole.clone()].into());
    made.sync_top();
    assert_eq!(made.all(&Model::ALL, Namespace::Posix, there), [whole].into());
}

#[test]
fn the_journal_keeps_the_order_of_names_and_posix_does_not() {
    let mut made = Made::new();
    made.create(ROOT, "a", 3, Kind::File).create(ROOT, "b", 4, Kind::File).remove("old");
    let list = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let in_order = [list(&["old"]), list(&["a", "old"]), list(&["a", "b", "old"]), list(&["a", "b"])];
    assert_eq!(made.all(&RANDOM, Namespace::Journal, names), in_order.into());
    let any = made.all(&[Model::Reorder], Namespace::Posix, names);
    assert_eq!(any.len(), 8, "any of three: {any:?}");
}

#[test]
fn a_sync_takes_the_journal_as_far_as_the_files_last_change_of_metadata() {
    // The size and name of `old` did not change: its sync makes no other file durable, as with XFS and ext4.
    let mut made = Made::new();
    made.create(ROOT, "a", 3, Kind::File).write(FILE, 0, 2, PAGE).sync(FILE);
    assert_eq!(made.all(&[Model::Drop], Namespace::Journal, |i| names(i).len()), [1].into());
    // The file grew after `a` was created: the growth is later in the journal.
    made.write(FILE, 2 * PAGE, 2, PAGE).sync(FILE);
    assert_eq!(made.all(&[Model::Drop], Namespace::Journal, |i| names(i).len()), [2].into());
}

#[test]
fn a_sync_of_data_only_leaves_a_later_rename_uncertain() {
    let mut made = Made::new();
    made.create(ROOT, "new", 3, Kind::File).write(3, 0, 5, PAGE).sync(3).sync_top().rename("new", "newest").sync(3);
    let last = |made: &Made| made.all(&[Model::Drop], Namespace::Journal, |i| names(i)[0].clone());
    assert_eq!(last(&made), ["new".to_string()].into());
    made.sync_all(3);
    assert_eq!(last(&made), ["newest".to_string()].into());
}

#[test]
fn a_rename_is_one_step() {
    let mut made = Made::new();
    made.create(ROOT, "new", 3, Kind::File).write(3, 0, 5, PAGE).sync(3).sync_top().rename("new", "old");
    for namespace in Namespace::ALL {
        let seen = made.all(&RANDOM, namespace, |image| (names(image), pages(image, "old")));
        let before = (vec!["new".to_string(), "old".to_string()], Some(vec![1, 1]));
        let after = (vec!["old".to_string()], Some(vec![5]));
        assert_eq!(seen, [before, after].into(), "the old file or the new one, {namespace:?}");
    }
}

#[test]
fn a_name_made_again_does_not_overtake_the_unlink_of_the_old_one() {
    // A rollback journal: created, synced, removed, created again. No image may have the new one if the old one's
    // removal is lost.
    let mut made = Made::new();
    made.create(ROOT, "j", 3, Kind::File).write(3, 0, 5, PAGE).sync(3).sync_top();
    made.remove("j").create(ROOT, "j", 4, Kind::File).write(4, 0, 6, PAGE);
    for namespace in Namespace::ALL {
        let seen = made.all(&WHOLE, namespace, |image| pages(image, "j"));
        // The whole old file; none; the new one, empty or not.
        assert_eq!(seen, [Some(vec![5]), None, Some(vec![]), Some(vec![6])].into(), "{namespace:?}");
    }
    // Synced, also through its directory: the old file cannot come back.
    made.sync(4).sync_top();
    for namespace in Namespace::ALL {
        assert_eq!(made.all(&Model::ALL, namespace, |image| pages(image, "j")), [Some(vec![6])].into());
    }
}

#[test]
fn a_cut_of_a_file_is_metadata_and_later_data_does_not_overtake_it() {
    let mut made = Made::new();
    made.add(Op::Truncate { ino: FILE, size: 0 }).write(FILE, 0, 7, PAGE);
    for namespace in Namespace::ALL {
        let seen = made.all(&WHOLE, namespace, |image| pages(image, "old").expect("there"));
        assert_eq!(seen, [vec![1, 1], vec![], vec![7]].into(), "never new data in front of old: {namespace:?}");
    }
    made.sync(FILE);
    for namespace in Namespace::ALL {
        assert_eq!(made.all(&Model::ALL, namespace, |image| pages(image, "old")), [Some(vec![7])].into());
    }
}

#[test]
fn growth_without_data_reads_as_zeros() {
    let mut made = Made::new();
    made.write(FILE, 2 * PAGE, 8, PAGE).write(FILE, 3 * PAGE, 9, PAGE);
    let seen = made.all(&[Model::Reorder], Namespace::Journal, |image| pages(image, "old").expect("there"));
    assert_eq!(seen, [vec![1, 1], vec![1, 1, 8], vec![1, 1, 0, 9], vec![1, 1, 8, 9]].into());
    let mut made = Made::new();
    made.add(Op::Allocate { ino: FILE, size: 3 * PAGE }).sync(FILE).add(Op::Zero {
        ino: FILE,
        offset: 0,
        length: PAGE,
    });
    let seen = made.all(&[Model::Reorder], Namespace::Journal, |image| pages(image, "old").expect("there"));
    assert_eq!(seen, [vec![1, 1, 0], vec![0, 1, 0]].into());
}

#[test]
fn an_open_file_without_a_name_is_written_and_synced_and_never_seen_again() {
    let mut made = Made::new();
    made.create(ROOT, "t", 3, Kind::File).write(3, 0, 5, PAGE).remove("t").write(3, PAGE, 6, PAGE).sync(3);
    // Its growth is later in the journal than its removal, so its sync makes the removal certain.
    assert_eq!(made.all(&Model::ALL, Namespace::Journal, names), [vec!["old".to_string()]].into());
    let seen = made.all(&[Model::Reorder], Namespace::Posix, |image| pages(image, "t"));
    assert_eq!(seen, [None, Some(vec![5, 6])].into(), "if it has its name, it has its data");
}

#[test]
fn a_hard_link_is_one_file_with_two_names() {
    let mut made = Made::new();
    made.add(Op::Link { ino: FILE, parent: ROOT, name: "second".into() }).sync_top().write(FILE, 0, 3, PAGE);
    let seen = made.all(&[Model::Reorder], Namespace::Journal, |i| (pages(i, "old"), pages(i, "second")));
    assert!(seen.iter().all(|(a, b)| a == b) && seen.len() == 2, "{seen:?}");
}

#[test]
fn a_directory_made_and_not_synced_takes_its_content_with_it() {
    let mut made = Made::new();
    made.create(ROOT, "d", 3, Kind::Directory).create(3, "f", 4, Kind::File).write(4, 0, 5, PAGE).sync(4);
    made.add(Op::SyncDirectory { ino: 3 });
    assert_eq!(made.all(&[Model::Drop], Namespace::Posix, names), [vec!["old".to_string()]].into());
    assert_eq!(made.all(&[Model::Drop], Namespace::Journal, |i| pages(i, "d/f")), [Some(vec![5])].into());
}

#[test]
fn a_write_with_o_dsync_is_certain_by_itself_or_by_the_sync_that_the_kernel_sends() {
    let data: Arc<[u8]> = Arc::from(vec![4; PAGE as usize]);
    let write = Op::Write { ino: FILE, offset: 0, data, sync: true };
    let see = |image: &Image| pages(image, "old").expect("there")[0];
    let mut old_kernel = Made::new();
    old_kernel.add(write.clone());
    assert_eq!(old_kernel.all(&Model::ALL, Namespace::Journal, see), [4].into());
    let mut new_kernel = Made::new();
    new_kernel.add(write).sync(FILE);
    assert_eq!(new_kernel.all(&Model::ALL, Namespace::Journal, see), [4].into());
    assert_eq!(new_kernel.all_at(1, &RANDOM, Namespace::Journal, see), [1, 4].into(), "on its way");
}

#[test]
fn whether_the_kernel_syncs_writes_with_o_dsync_is_decided_for_the_whole_log() {
    let write = |page: u64| {
        let data: Arc<[u8]> = Arc::from(vec![4; PAGE as usize]);
        Op::Write { ino: FILE, offset: page * PAGE, data, sync: true }
    };
    let see = |image: &Image| pages(image, "old").expect("there");
    let mut split = Made::new();
    split.add(write(0)).add(write(1)).sync(FILE);
    let seen = split.all_at(2, &[Model::Reorder], Namespace::Journal, see);
    assert_eq!(seen, [vec![1, 1], vec![1, 4], vec![4, 1], vec![4, 4]].into(), "no part is certain before the sync");
    assert_eq!(split.all(&Model::ALL, Namespace::Journal, see), [vec![4, 4]].into());
    // A sync of the program on an older kernel, which sends none.
    let mut old_kernel = Made::new();
    for _ in 0..5 {
        old_kernel.add(write(0));
    }
    old_kernel.sync(FILE).add(write(1));
    assert_eq!(old_kernel.all(&Model::ALL, Namespace::Journal, see), [vec![4, 4]].into());
}

#[test]
fn nothing_is_lost_before_the_first_entry_and_positions_can_go_back() {
    let mut made = Made::new();
    made.write(FILE, 0, 2, PAGE).sync(FILE).remove("old").sync_top();
    let mut replayer = made.replayer();
    for position in [4, 0, 2, 1, 3, 0] {
        let mut see = |model| {
            let image = replayer.image(&cut(position, model, Namespace::Journal, 1)).expect("an image");
            (names(&image), pages(&image, "old"))
        };
        let fresh = made.replayer().image(&cut(position, Model::Drop, Namespace::Journal, 1)).expect("an image");
        assert_eq!(see(Model::Drop), (names(&fresh), pages(&fresh, "old")), "at {position}");
    }
    let beyond = replayer.image(&cut(5, Model::Kill, Namespace::Journal, 1));
    assert!(beyond.err().expect("an error").0.contains("the log has 4 entries"));
}

#[test]
fn the_same_cut_gives_the_same_image_whatever_was_made_before() {
    let mut made = Made::new();
    for i in 0..40 {
        made.write(FILE, i % 5 * 1000, i as u8, 3000);
        if i % 9 == 0 {
            made.sync(FILE);
        }
    }
    let mut walked = made.replayer();
    for position in 0..=made.log.len() {
        for model in RANDOM {
            let cut = cut(position, model, Namespace::Posix, position as u64);
            let a = walked.image(&cut).expect("an image").file("old");
            assert_eq!(a, made.replayer().image(&cut).expect("an image").file("old"), "{cut:?}");
        }
    }
}
