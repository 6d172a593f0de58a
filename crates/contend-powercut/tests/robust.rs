//! Errors around a recording and their messages: damaged logs, dead recorders, leftover mounts, missing permissions,
//! a full log.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use contend_powercut::log::Log;
use contend_powercut::record::{self, Options};
use contend_powercut::replay::{Model, Namespace, Replayer};
use support::possible::{can_record, not_verified};
use support::{Place, answer, cut, recorder_arguments, recorder_command, tree, written};

/// A recording of fifty small files, and the bytes of its log.
fn recorded() -> Option<(Place, Vec<u8>)> {
    let place = Place::new();
    let mount = place.mount()?;
    for i in 0..50 {
        fs::write(place.path(&format!("mnt/{i}")), vec![i; 700]).expect("written");
    }
    mount.unmount();
    let bytes = fs::read(place.path("log")).expect("a log");
    Some((place, bytes))
}

#[test]
fn a_log_cut_short_or_with_garbage_is_refused_and_says_where() {
    let Some((place, bytes)) = recorded() else { return };
    let path = place.path("damaged");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("written");
        (Log::read(&path), Log::salvage(&path))
    };
    let whole = read(&bytes).0.expect("whole");
    assert!(whole.complete && whole.len() == 100, "{} entries", whole.len());
    let mut lengths = std::collections::BTreeSet::new();
    for end in (23..bytes.len()).step_by(97) {
        let (strict, (log, damage)) = (read(&bytes[..end]).0, read(&bytes[..end]).1.expect("salvaged"));
        assert!(!log.complete, "the last mark is missing");
        assert_eq!(log.entries, whole.entries[..log.len()], "what is whole is right");
        lengths.insert(log.len());
        if let Some(damage) = damage {
            let error = strict.expect_err("an error").0;
            assert!(error.contains("damaged") && error.contains(&format!("at byte {}", damage.offset)), "{error}");
            assert!(error.contains("cut short"), "{error}");
        }
    }
    assert!(lengths.len() > 40, "cut at many places: {lengths:?}");
    for at in (23..bytes.len()).step_by(311) {
        let mut garbled = bytes.clone();
        garbled[at] ^= 0x40;
        let (strict, salvaged) = read(&garbled);
        assert!(strict.is_err(), "a changed byte at {at} is found");
        assert_eq!(salvaged.expect("salvaged").0.entries[..5.min(at / 800)], whole.entries[..5.min(at / 800)]);
    }
    for (bytes, expected) in [(&b""[..], "its first line is cut short"), (b"#!/bin/sh\n", "its first line differs")] {
        let error = read(bytes).0.expect_err("an error").0;
        assert!(error.contains(expected) && error.contains("damaged"), "{error}");
    }
    let missing = Log::read(&place.path("nowhere")).expect_err("an error").0;
    assert!(missing.contains("nowhere") && missing.contains("cannot be read"), "{missing}");
}

#[test]
fn a_log_of_something_else_is_told_from_one_of_this_base() {
    let Some((place, _)) = recorded() else { return };
    let mut log = place.log();
    fs::write(place.path("base/late"), b"x").expect("written");
    log.known.push(contend_powercut::log::Known {
        parent: 1,
        name: "late".into(),
        ino: 900,
        kind: contend_powercut::log::Kind::File,
        attributes: contend_powercut::log::Attributes { mode: 0o600, uid: 0, gid: 0 },
        size: 5,
    });
    let error = Replayer::new(&place.path("base"), &log).err().expect("an error").0;
    assert!(error.contains("late: 1 bytes, but 5 when recording began"), "{error}");
    log.known.clear();
    log.entries.remove(0);
    let mut replayer = Replayer::new(&place.path("base"), &log).expect("a replayer");
    let error = replayer.image(&cut(9, Model::Kill, Namespace::Journal, 0)).err().expect("an error").0;
    assert!(error.contains("entry 0: file") && error.contains("never created"), "{error}");
}

#[test]
fn the_bound_is_kept_and_told_and_the_program_goes_on() {
    let place = Place::new();
    let options = Options { bound_bytes: 100_000, ..place.options() };
    if !can_record() {
        return;
    }
    let mount = record::mount(&options).expect("a mount");
    for i in 0..50 {
        fs::write(place.path(&format!("mnt/{i}")), vec![7; 8192]).expect("written, recorded or not");
    }
    let seen = tree(&place.path("mnt"));
    let recorded = mount.unmount().expect("unmounted");
    assert!(recorded.full && recorded.bytes < 120_000, "{recorded:?}");
    assert_eq!(seen.len(), 50);
    assert_eq!(tree(&place.path("backing")), seen);
    let log = place.log();
    assert!(log.full && log.complete && log.len() as u64 == recorded.entries, "{} entries", log.len());
}

#[test]
fn a_killed_recorder_leaves_a_readable_log_and_a_mount_that_can_be_removed() {
    let place = Place::new();
    if !can_record() {
        return;
    }
    let program = std::env::current_exe().expect("a program");
    let mut child = recorder_command(&program, &place).spawn().expect("a child");
    assert_eq!(answer(&mut child), "mounted");
    for i in 0..200 {
        fs::write(place.path(&format!("mnt/{i}")), vec![1; 5000]).expect("written");
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(fs::read_dir(place.path("mnt")).is_err(), "the mount is dead");
    assert!(record::is_mounted(&place.path("mnt")));
    let log = place.log();
    assert!(!log.complete && log.len() == 400, "every answered change is there: {}", log.len());
    let error = record::mount(&Options { log: place.path("log2"), ..place.options() }).err().expect("an error").0;
    assert!(error.contains("left over") && error.contains("umount -l"), "{error}");
    assert!(!place.path("log2").exists());
    record::unmount(&place.path("mnt")).expect("unmounted");
    assert!(!record::is_mounted(&place.path("mnt")));
    record::unmount(&place.path("mnt")).expect("nothing to do is no error");
    let mut replayer = Replayer::new(&place.path("base"), &log).expect("a replayer");
    let made = replayer.image(&cut(log.len(), Model::Kill, Namespace::Journal, 0)).expect("an image");
    assert_eq!(written(&made, &place.path("image")), tree(&place.path("backing")));
}

#[test]
fn an_unmount_from_outside_ends_the_recorder_in_order() {
    let place = Place::new();
    if !can_record() {
        return;
    }
    let program = std::env::current_exe().expect("a program");
    let mut child = recorder_command(&program, &place).spawn().expect("a child");
    assert_eq!(answer(&mut child), "mounted");
    fs::write(place.path("mnt/a"), b"content").expect("written");
    record::unmount(&place.path("mnt")).expect("unmounted");
    assert!(child.wait().expect("ended").success());
    assert!(place.log().complete);
}

#[test]
fn a_mount_in_use_is_not_pulled_away_silently() {
    let place = Place::new();
    if !can_record() {
        return;
    }
    let mount = record::mount(&place.options()).expect("a mount");
    let held = fs::File::create(place.path("mnt/held")).expect("a file");
    let error = mount.unmount().expect_err("an error").0;
    assert!(error.contains("still in use"), "{error}");
    drop(held);
}

#[test]
fn an_ordinary_user_without_permission_is_told_so() {
    let place = Place::new();
    let closed = fs::metadata("/dev/fuse").is_ok_and(|device| device.permissions().mode() & 0o006 != 0o006);
    if !rustix::process::geteuid().is_root() || !closed {
        not_verified("needs root and a /dev/fuse that others may not use");
        return;
    }
    // The test program may be in a directory that the user cannot enter.
    let program = place.path("program");
    fs::copy(std::env::current_exe().expect("a program"), &program).expect("a copy");
    for path in [place.dir.path(), &program, &place.path("mnt")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("permissions");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    recorder_arguments(&mut command, &place);
    let mut child = command.spawn().expect("a child");
    let said = answer(&mut child);
    child.wait().expect("ended");
    assert!(said.contains("no permission for /dev/fuse: run as root"), "{said}");
    assert!(!place.path("log").exists());
}

#[test]
fn root_without_the_right_to_mount_is_told_so() {
    let place = Place::new();
    if !rustix::process::geteuid().is_root() || !can_record() {
        return not_verified("needs root that may mount");
    }
    // As in most containers: the device can be opened, but mounting is forbidden.
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
        .arg(std::env::current_exe().expect("a program"));
    recorder_arguments(&mut command, &place);
    let mut child = command.spawn().expect("a child");
    let said = answer(&mut child);
    child.wait().expect("ended");
    assert!(said.contains("cannot be mounted here") && said.contains("CAP_SYS_ADMIN"), "{said}");
    assert!(!place.path("log").exists());
}

#[test]
fn a_mount_that_is_let_go_of_late_is_released_in_order() {
    let place = Place::new();
    let Some(mount) = place.mount() else { return };
    let held = fs::File::create(place.path("mnt/held")).expect("a file");
    let later = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(held);
    });
    mount.unmount();
    later.join().expect("ended");
    assert!(place.log().complete, "it was not pulled away");
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_made() {
    let place = Place::new();
    let refused = |options: &Options| record::mount(options).err().expect("an error").0;
    let options = place.options();
    fs::write(place.path("image/x"), b"").expect("written");
    for (options, expected) in [
        (Options { mountpoint: place.path("nowhere"), ..options.clone() }, "nowhere: nothing can be mounted here"),
        (Options { backing: place.path("nowhere"), ..options.clone() }, "nowhere: cannot be recorded"),
        (Options { mountpoint: place.path("image"), ..options.clone() }, "the directory is not empty"),
        (
            Options { log: place.path("backing/log"), ..options.clone() },
            "the log cannot be inside the recorded directory",
        ),
        (Options { backing: place.dir.path().into(), ..options.clone() }, "the mount point cannot be inside"),
    ] {
        let error = refused(&options);
        assert!(error.contains(expected), "{error}");
        assert!(!options.log.exists());
    }
    fs::write(place.path("log"), b"an old one").expect("written");
    if can_record() {
        assert!(refused(&options).contains("the log cannot be created (an old one must be removed first)"));
    }
}

#[test]
fn images_are_written_only_into_empty_directories_unless_asked() {
    let Some((place, _)) = recorded() else { return };
    let mut replayer = Replayer::new(&place.path("base"), &place.log()).expect("a replayer");
    let image = replayer.image(&cut(100, Model::Kill, Namespace::Journal, 0)).expect("an image");
    image.write(&place.path("image")).expect("written");
    let error = image.write(&place.path("image")).expect_err("an error").0;
    assert!(error.contains("the directory is not empty"), "{error}");
    assert_eq!(written(&image, &place.path("image")).len(), 50);
}

#[test]
fn an_image_replaces_whatever_was_there() {
    let Some((place, _)) = recorded() else { return };
    let mut replayer = Replayer::new(&place.path("base"), &place.log()).expect("a replayer");
    let image = replayer.image(&cut(100, Model::Kill, Namespace::Journal, 0)).expect("an image");
    let expected = written(&image, &place.path("fresh"));
    let dir = place.path("image");
    // Longer and shorter files, another kind, a hard link to a file outside, and files that the image does not have.
    fs::write(dir.join("1"), vec![9; 5000]).expect("written");
    fs::write(dir.join("2"), b"").expect("written");
    fs::create_dir_all(dir.join("3/deep")).expect("a directory");
    std::os::unix::fs::symlink(place.path("outside"), dir.join("4")).expect("a link");
    fs::write(place.path("outside"), b"mine").expect("written");
    fs::hard_link(place.path("outside"), dir.join("5")).expect("a link");
    fs::write(dir.join("stranger"), b"x").expect("written");
    assert_eq!(written(&image, &dir), expected);
    assert_eq!(fs::read(place.path("outside")).expect("read"), b"mine", "nothing outside is touched");
}
