//! Memory of a process, from `/proc`.

use crate::model::{Measured, Size};
use anyhow::{Context, Result};
use procfs::process::Process;

const KIB: u64 = 1024;

/// Measures a process.
///
/// # Errors
/// There is no such process.
pub fn measured(pid: i32) -> Result<Measured> {
    let gone = || format!("--pid {pid}: there is no such process");
    let process = Process::new(pid).with_context(gone)?;
    let status = process.status().with_context(gone)?;
    let kib = |size: Option<u64>| size.unwrap_or(0) * KIB;
    let mut sizes = vec![
        Size::new("resident", kib(status.vmrss), "in memory now, pages that others use as well included"),
        Size::new("most resident", kib(status.vmhwm), "since the process began"),
    ];
    let maps = process.smaps_rollup().ok();
    let of = |name: &str| maps.as_ref()?.memory_map_rollup.0.first()?.extension.map.get(name).copied();
    let own = of("Private_Clean").zip(of("Private_Dirty")).map(|(clean, dirty)| clean + dirty);
    // Not readable for processes of other users.
    if let Some(bytes) = of("Pss") {
        sizes.insert(1, Size::new("proportional", bytes, "a page that n processes use counts as an nth of it"));
    }
    sizes.push(match own {
        Some(bytes) => Size::new("own", bytes, "in no other process: what only this process can give back"),
        None => {
            let note = "not backed by a file; pages shared since a fork included. What only this process has is readable for its \
                        user and root only";
            Size::new("anonymous", kib(status.rssanon), note)
        }
    });
    sizes.push(Size::new("swapped out", kib(status.vmswap), ""));
    Ok(Measured { name: format!("process {pid}"), what: status.name, sizes, tables: vec![] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_has_memory_and_no_other_one_is_invented() {
        let own = measured(std::process::id().cast_signed()).expect("it is running");
        let of = |name| own.sizes.iter().find(|size| size.name == name).map(|size| size.bytes);
        assert!(of("resident").is_some_and(|bytes| bytes > 100 * KIB), "{own:?}");
        assert!(of("most resident") >= of("resident"), "{own:?}");
        let python = "import os, sys\nkept = bytearray(b'x' * (64 << 20))\nchild = os.fork()\nif child:\n  print(child, flush=True)\n\
                      sys.stdin.read()";
        let mut parent = Command::new("python3")
            .args(["-c", python])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(parent.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let child = measured(line.trim().parse().expect("a number")).expect("it is running");
        let of = |name| child.sizes.iter().find(|size| size.name == name).map(|size| size.bytes);
        assert!(
            of("resident") > Some(64 << 20) && of("own") < Some(32 << 20),
            "its memory is also its parent's: {child:?}"
        );
        drop(parent.stdin.take());
        parent.wait().expect("ended");
        assert!(measured(i32::MAX).is_err_and(|e| e.to_string().contains("no such process")));
    }
}
