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
        Size::new("own", kib(status.rssanon), "not backed by a file: what only this process can give back"),
        Size::new("swapped out", kib(status.vmswap), ""),
    ];
    // Not readable for processes of other users.
    if let Ok(maps) = process.smaps_rollup()
        && let Some(bytes) = maps.memory_map_rollup.0.first().and_then(|map| map.extension.map.get("Pss").copied())
    {
        sizes.insert(1, Size::new("proportional", bytes, "a page that n processes use counts as an nth of it"));
    }
    Ok(Measured { name: format!("process {pid}"), what: status.name, sizes, tables: vec![] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_no_other_one_is_invented() {
        let own = measured(std::process::id().cast_signed()).expect("it is running");
        let of = |name| own.sizes.iter().find(|size| size.name == name).map(|size| size.bytes);
        assert!(of("resident").is_some_and(|bytes| bytes > 100 * KIB), "{own:?}");
        assert!(of("most resident") >= of("resident"), "{own:?}");
        assert!(measured(i32::MAX).is_err_and(|e| e.to_string().contains("no such process")));
    }
}
