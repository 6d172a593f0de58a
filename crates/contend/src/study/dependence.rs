//! Which mistakes of a study file may follow from another one, so that they are not reported with it.

use crate::source::mistakes::{Path, Removed};

/// Tables that lie over the rest of the file; what is in them depends on what is not.
const OVERLAYS: [&str; 2] = ["quick", "as_published"];
/// What gives contenders and conditions their labels.
const NAMING: [&str; 3] = ["contender", "axes", "settings"];
/// What uses labels.
const NAMED: [&str; 8] = ["baseline", "answer", "effect", "grid", "along", "published", "readback", "export"];
/// Keys in such tables that name metrics, not labels.
const OF_METRICS: [&str; 4] = ["headline", "metric", "part_of", "value"];

/// Whether what is wrong at `path` may be so only because of what was removed.
pub(super) fn follows(removed: &[Removed], path: &Path, _: &str) -> bool {
    let path = plain(path);
    let (Some(section), Some(last)) = (path.first(), path.last()) else { return false };
    let gone = |sections: &[&str]| {
        removed.iter().any(|gone| plain(gone.path()).first().is_some_and(|key| sections.contains(&key.as_str())))
    };
    let is = |keys: &[&str], key: &String| keys.contains(&key.as_str());
    if is(&OF_METRICS, last) {
        return gone(&["metric"]);
    }
    // Two contenders may be the same once a setting is gone.
    let labels_matter = is(&NAMED, section) || section == "contender" && path.len() == 2;
    labels_matter && gone(&NAMING)
}

/// The path without the part and the overlays that it is in.
fn plain(path: &Path) -> &Path {
    let own = match path {
        [part, _, own @ ..] if part == "part" => own,
        _ => path,
    };
    let overlays = own.iter().take_while(|step| OVERLAYS.contains(&step.as_str())).count();
    &own[overlays..]
}
