//! Programs and libraries with probes.

use super::*;
use std::path::PathBuf;

/// In a container, its first worker has ended, and another process executes the same file.
#[test]
fn a_file_keeps_its_probes_when_the_process_that_showed_it_has_ended() {
    let path = PathBuf::from("/app/program");
    let mapped = Mapped { reached: Path::new("/proc/4194305/root").join("app/program"), path };
    let id = |inode| FileId { device: 1, inode };
    let probed = [Probed { id: id(7), mapped, probes: vec![] }];
    assert!(has_probes(&probed, &[id(6), id(7)]));
    assert!(!has_probes(&probed, &[id(6)]));
}
