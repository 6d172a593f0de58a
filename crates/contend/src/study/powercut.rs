//! What a study says of crashes: the `[powercut]` tables of a file made one.

use super::arm::Problem;
use super::file::Layer;
use super::model::{Powercut, TrialKind};
use crate::units;

/// What a crash may do with what was not synced; `contend-powercut` gives each its meaning.
pub const CRASHES: [&str; 5] = ["kill", "drop", "reorder", "torn", "prefix"];

/// When names and sizes of files persist.
pub const NAMESPACES: [&str; 2] = ["journal", "posix"];

/// Axes of `--set` that are none of the contenders or conditions.
pub(super) const AXES: [&str; 6] = ["crash", "namespace", "points", "server_points", "kills", "kernel_cuts"];

/// Planted faults of the disk that a record is replayed with.
pub const LIES: usize = 8;
pub const SERVER_LIES: usize = 2;

/// Those of them that most settings do not depend on, so that all images are looked at in vain.
pub const LIES_IN_VAIN: u32 = 1;

/// Images after which one that is depended on is caught.
pub const LIE_CAUGHT: u32 = 20;

/// Images of a server at most until one of these is caught: whichever it is, most moments show it.
pub const SERVER_LIE_POINTS: u32 = 20;

/// Images tried to find the fewest lost pieces of one.
pub const MINIMISE_TRIES: u32 = 60;

/// More than anybody waits for: an image takes milliseconds, a real kill a second. The moments of all are in memory.
const POINTS_MAX: u32 = 1_000_000;
const KILLS_MAX: u32 = 10_000;

const DEFAULT_POINTS: u32 = 5000;
const DEFAULT_SERVER_POINTS: u32 = 100;
const DEFAULT_KILLS: u32 = 2;
const DEFAULT_LIE_POINTS: u32 = 200;
const DEFAULT_WINDOW_NS: u64 = 300_000_000;
const DEFAULT_BOUND_MIB: u32 = 256;
const DEFAULT_KEEP: u32 = 3;

impl Default for Powercut {
    fn default() -> Self {
        Self {
            crashes: CRASHES.map(str::to_string).to_vec(),
            namespaces: NAMESPACES.map(str::to_string).to_vec(),
            aim: None,
            points: DEFAULT_POINTS,
            server_points: DEFAULT_SERVER_POINTS,
            kills: DEFAULT_KILLS,
            kernel_cuts: 0,
            lie_points: DEFAULT_LIE_POINTS,
            window_ns: DEFAULT_WINDOW_NS,
            bound_mib: DEFAULT_BOUND_MIB,
            keep: DEFAULT_KEEP,
        }
    }
}

/// What the layers of a file say, key by key; nothing for a study of another kind.
pub(super) fn read(layers: &[Layer], kind: TrialKind) -> Result<Option<Powercut>, Problem> {
    let mut found = Powercut::default();
    for layer in layers.iter().rev() {
        let Some(written) = layer.powercut else { continue };
        let wrong = |key: &str, message: String| Problem::at(layer.path, &["powercut", key], message);
        if kind != TrialKind::Powercut {
            return Err(wrong("", "belongs to a study of kind `powercut`".to_string()));
        }
        if let Some(words) = &written.crash {
            found.crashes = checked(words, &CRASHES).map_err(|m| wrong("crash", m))?;
        }
        if let Some(words) = &written.namespace {
            found.namespaces = checked(words, &NAMESPACES).map_err(|m| wrong("namespace", m))?;
        }
        if let Some(window) = &written.window {
            found.window_ns = units::duration_ns(window).map_err(|m| wrong("window", m))?;
        }
        for (key, given, kept) in [
            ("points", written.points, &mut found.points),
            ("server_points", written.server_points, &mut found.server_points),
            ("lie_points", written.lie_points, &mut found.lie_points),
            ("bound_mib", written.bound_mib, &mut found.bound_mib),
        ] {
            *kept = given.map_or(Ok(*kept), |n| within(n, 1, POINTS_MAX)).map_err(|m| wrong(key, m))?;
        }
        found.aim = written.aim.clone().or(found.aim);
        found.kills = within(written.kills.unwrap_or(found.kills), 0, KILLS_MAX).map_err(|m| wrong("kills", m))?;
        let cuts = written.kernel_cuts.unwrap_or(found.kernel_cuts);
        found.kernel_cuts = within(cuts, 0, KILLS_MAX).map_err(|m| wrong("kernel_cuts", m))?;
        found.keep = written.keep.unwrap_or(found.keep);
    }
    if found.window_ns == 0 {
        return Err(Problem::new(&["powercut", "window"], "must be longer than 0"));
    }
    Ok((kind == TrialKind::Powercut).then_some(found))
}

/// Changes what `--set` says.
pub(super) fn set(powercut: &mut Powercut, name: &str, values: &[String]) -> Result<(), String> {
    let number = || match values {
        [one] => one.parse::<u32>().map_err(|_| format!("`{one}` is not a whole number")),
        _ => Err("takes one number".to_string()),
    };
    match name {
        "crash" => powercut.crashes = checked(values, &CRASHES)?,
        "namespace" => powercut.namespaces = checked(values, &NAMESPACES)?,
        "points" => powercut.points = within(number()?, 1, POINTS_MAX)?,
        "server_points" => powercut.server_points = within(number()?, 1, POINTS_MAX)?,
        "kernel_cuts" => powercut.kernel_cuts = within(number()?, 0, KILLS_MAX)?,
        _ => powercut.kills = within(number()?, 0, KILLS_MAX)?,
    }
    Ok(())
}

fn within(n: u32, least: u32, most: u32) -> Result<u32, String> {
    match n {
        n if n < least => Err(format!("must be at least {least}")),
        n if n > most => Err(format!("must be at most {most}")),
        n => Ok(n),
    }
}

fn checked(words: &[String], known: &[&str]) -> Result<Vec<String>, String> {
    if words.is_empty() {
        return Err(format!("needs at least one of {}", known.join(", ")));
    }
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        Some(word) => Err(format!("`{word}` is not one of {}", known.join(", "))),
        None => Ok(words.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use crate::source::Source;
    use crate::study::model::{Extent, Variant};
    use crate::study::{Choices, resolve};

    fn text(more: &str) -> String {
        format!(
            "question = 'q'\nworkload = 'w'\nkind = 'powercut'\nheadline = 'throughput_ops_per_s'\nrounds = 1\n\
             load = {{ window = '1s' }}\n{more}\n[[contender]]\nengine = 'sqlite'\n"
        )
    }

    fn choices(set: &[(&str, &str)]) -> Choices {
        let set = set.iter().map(|(k, v)| ((*k).to_string(), v.split(',').map(str::to_string).collect())).collect();
        Choices { set, ..Choices::new(Variant::Corrected, Extent::Quick) }
    }

    #[test]
    fn layers_and_the_command_line_have_their_say() {
        let text = text("[powercut]\npoints = 70\nkills = 4\n[quick.powercut]\npoints = 7\ncrash = ['drop']\n");
        let study = resolve(&Source::new("s.toml", text.clone()), &choices(&[])).expect("a study");
        let powercut = study.powercut.expect("crashes");
        assert_eq!((powercut.points, powercut.kills, powercut.crashes.as_slice()), (7, 4, &["drop".to_string()][..]));
        let set = choices(&[("points", "3"), ("crash", "kill,torn")]);
        let powercut = resolve(&Source::new("s.toml", text), &set).expect("a study").powercut.expect("crashes");
        assert_eq!((powercut.points, powercut.crashes.len()), (3, 2));
    }

    #[test]
    fn so_many_images_that_nobody_waits_for_them_are_refused_at_once() {
        for (key, most) in
            [("points", 1_000_000), ("server_points", 1_000_000), ("lie_points", 1_000_000), ("kills", 10_000)]
        {
            let of =
                |n: u32| resolve(&Source::new("s.toml", text(&format!("[powercut]\n{key} = {n}\n"))), &choices(&[]));
            assert!(of(most).is_ok(), "{key}");
            let error = of(most + 1).expect_err("too many").to_string();
            assert!(error.contains(key) && error.contains(&format!("at most {most}")), "{error}");
        }
        for (key, value) in
            [("points", "4294967295"), ("points", "0"), ("server_points", "1000001"), ("kills", "10001")]
        {
            let error = resolve(&Source::new("s.toml", text("")), &choices(&[(key, value)])).expect_err("refused");
            assert!(error.to_string().contains(&format!("--set {key}: must be at")), "{error}");
        }
    }

    #[test]
    fn wrong_words_are_named_with_the_right_ones() {
        let source = Source::new("s.toml", text("[powercut]\ncrash = ['boom']\n"));
        let error = resolve(&source, &choices(&[])).expect_err("no such crash").to_string();
        assert!(error.contains("boom") && error.contains("reorder"), "{error}");
        let load = text("[powercut]\npoints = 1\n").replace("'powercut'", "'load'").replace("rounds = 1", "rounds = 6");
        let error = resolve(&Source::new("s.toml", load), &choices(&[])).expect_err("another kind").to_string();
        assert!(error.contains("kind `powercut`"), "{error}");
        let error = resolve(&Source::new("s.toml", text("")), &choices(&[("crash", "x")])).expect_err("unknown");
        assert!(error.to_string().contains("--set crash"), "{error}");
    }
}
