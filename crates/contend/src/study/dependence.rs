//! Finds mistakes of a study file that may follow from another mistake, so that they are not reported with it.

use super::edition::value_text;
use super::kind;
use crate::engine;
use crate::source::mistakes::{Kind, Path, Removed};

pub(super) const KIND: Kind = Kind { follows, lacking };

/// Tables that overlay the rest of the file and depend on it.
const OVERLAYS: [&str; 2] = ["quick", "as_published"];
/// Sections that determine labels.
const NAMING: [&str; 3] = ["contender", "axes", "settings"];
/// Sections that use labels.
const NAMED: [&str; 8] = ["baseline", "answer", "effect", "grid", "along", "published", "readback", "export"];
/// Keys in such tables that name metrics, not labels.
const OF_METRICS: [&str; 4] = ["headline", "metric", "part_of", "value"];

/// Required keys of a study, each with a valid value. Parts may inherit them from the top level.
fn lacking(path: &Path) -> Option<(&Path, &'static str)> {
    let (top, key) = match path {
        [key] => (path, key),
        [part, _, key] if part == "part" => (&path[2..], key),
        _ => return lacking_in_list(plain(path)).map(|value| (path, value)),
    };
    match key.as_str() {
        "about" => Some((path, "'x'")),
        "question" | "workload" => Some((top, "'x'")),
        "kind" => Some((top, "'load'")),
        "headline" => Some((top, "'throughput_ops_per_s'")),
        "contender" => Some((top, "[{ engine = 'sqlite' }]")),
        "load" => Some((top, "{ window = '1s' }")),
        _ => None,
    }
}

/// The same for the tables of lists, as far as a value makes sense in each.
fn lacking_in_list(path: &Path) -> Option<&'static str> {
    let [section, _, key] = path else { return None };
    match (section.as_str(), key.as_str()) {
        ("metric" | "effect" | "grid", "about") | ("answer", "ask") => Some("'x'"),
        ("metric", "higher_is_better") => Some("false"),
        ("metric", "value") => Some("'planned'"),
        ("answer" | "effect" | "grid", "metric") => Some("'throughput_ops_per_s'"),
        _ => None,
    }
}

/// Whether the mistake at `path` may follow from what was removed.
fn follows(removed: &[Removed], path: &Path, text: &str) -> bool {
    let path = plain(path);
    let (Some(section), Some(last)) = (path.first(), path.last()) else { return false };
    let gone = |sections: &[&str]| {
        removed.iter().any(|gone| plain(gone.path()).first().is_some_and(|key| sections.contains(&key.as_str())))
    };
    // What it means depends on the kind.
    if gone(&["kind"]) && (kind::find(section).is_some() || section == "rounds") {
        return true;
    }
    // The contender that has the setting or the model may be gone, or its driver.
    let chosen = match path {
        [section, name, ..] if section == "settings" || section == "axes" => Some((name, &[][..])),
        [section, _, table, name] if section == "contender" && table == "settings" => Some((name, &path[..2])),
        [section, _, name] if section == "contender" && name == "model" => Some((name, &path[..2])),
        _ => None,
    };
    let lost = |whose: &Path| {
        removed.iter().map(|gone| plain(gone.path())).any(|gone| match gone {
            [section, _] => section == "contender",
            [section, _, key] => section == "contender" && key == "driver" && gone.starts_with(whose),
            _ => false,
        })
    };
    if chosen.is_some_and(|(name, whose)| lost(whose) && is_right_somewhere(name, text)) {
        return true;
    }
    let is = |keys: &[&str], key: &String| keys.contains(&key.as_str());
    if is(&OF_METRICS, last) {
        let is_metric = |gone: &&Removed| plain(gone.path()).first().is_some_and(|section| section == "metric");
        return removed.iter().filter(is_metric).any(|gone| !gone.is_put_in());
    }
    // Two contenders may become equal when a setting is removed.
    let labels_matter = is(&NAMED, section) || section == "contender" && path.len() == 2;
    labels_matter && gone(&NAMING)
}

/// Whether some contender could have this setting, driver or model with this value, or with these values.
fn is_right_somewhere(name: &str, text: &str) -> bool {
    let written = format!("value = {text}").parse::<toml::Table>().ok();
    let value = written.and_then(|written| value_text(written.get("value")?).ok());
    let mut engines = engine::ENGINES.iter().chain(engine::SERVICES.all());
    engines.any(|engine| match (name, &value) {
        ("tier" | "driver", _) => true,
        ("model", Some(model)) => engine.drivers().any(|driver| driver.model(model).is_some()),
        _ => engine
            .setting(engine.own_name(name))
            .is_some_and(|setting| value.as_ref().is_none_or(|value| setting.canonical(value).is_ok())),
    })
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
