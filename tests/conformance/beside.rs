//! Runs workers side by side: most cases wait rather than work.

use crate::support::workers::left_out;
use crate::support::{Bench, tool};
use crate::workers::Entry;
use std::path::Path;
use std::sync::Mutex;

/// Runs workers, some at a time and the last of the list first: slow starters are at its end, and must not begin after
/// all others. Returns what went wrong; `with` is made once for each thread.
pub fn side_by_side<T: Clone + Send>(
    threads: usize,
    entries: &[&Entry],
    bench: &Bench,
    with: T,
    test: impl Fn(&T, &Entry, &[String], &Path) -> Vec<String> + Sync,
) -> Vec<String> {
    let missing: Vec<String> = entries.iter().filter(|e| e.command(tool()).is_none()).map(|e| e.name()).collect();
    let (waiting, problems) = (Mutex::new(entries.iter().rev()), Mutex::new(vec![]));
    let next = || waiting.lock().expect("no panic").next();
    let work = |with: T| {
        while let Some(entry) = next() {
            let Some(command) = entry.command(tool()) else { continue };
            let scratch = bench.path(&entry.name().replace('/', "-"));
            std::fs::create_dir_all(&scratch).expect("a directory");
            let found = test(&with, entry, &command, &scratch);
            problems.lock().expect("no panic").extend(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let with = with.clone();
            scope.spawn(|| work(with));
        }
        drop(with);
    });
    if !missing.is_empty() {
        left_out(&missing.join(", "));
    }
    problems.into_inner().expect("no panic")
}
