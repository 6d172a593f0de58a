//! Keys of a study of kind `powercut`, and estimates of the time for its crashes.

use contend::contender::{Contender, Tier};
use contend::engine;
use contend::study::kind::{Key, Kind, Takes};
use contend::study::model::Study;
use serde::{Deserialize, Serialize};
use toml::Table;

/// Name of the kind, of its table in study files, and of its tables in records.
pub const NAME: &str = "powercut";

/// Models of what a crash does to unsynced data; `contend-powercut` defines them.
pub const CRASHES: [&str; 5] = ["kill", "drop", "reorder", "torn", "prefix"];

/// Models of when names and sizes of files persist.
pub const NAMESPACES: [&str; 2] = ["journal", "posix"];

/// Number of planted faults for an embedded engine.
pub const LIES: usize = 8;
pub const SERVER_LIES: usize = 2;

/// Faults that most settings do not depend on, so that all their images are judged without a find.
pub const LIES_IN_VAIN: u32 = 1;

/// Images until a planted fault that matters is found, as an estimate.
pub const LIE_CAUGHT: u32 = 20;

/// Most images of a server until a planted fault is found.
pub const SERVER_LIE_POINTS: u32 = 20;

/// Images tried to minimise one image.
pub const MINIMISE_TRIES: u32 = 60;

/// An image takes milliseconds, a real kill a second. The moments of all images are in memory.
const POINTS: Takes = Takes::Number { least: 1, most: 1_000_000 };
const KILLS: Takes = Takes::Number { least: 0, most: 10_000 };

/// Time to rebuild and judge an image, next to another judge: of an embedded engine, and of a server, which starts on
/// it and recovers. Includes a margin: the quick study of crashes, with 90,000 and 1,000 images, took 412 s in all on
/// two quiet processors.
const IMAGE_NS: u64 = 2_000_000;
const SERVER_IMAGE_NS: u64 = 300_000_000;

/// A real kill with its setup, and a recording without its window.
const KILL_NS: u64 = 1_000_000_000;
const RECORDING_NS: u64 = 1_000_000_000;

/// A kernel that is booted, killed and booted again.
const KERNEL_CUT_NS: u64 = 4_000_000_000;

const fn key(name: &'static str, takes: Takes, otherwise: &'static str) -> Key {
    Key { name, recorded: name, takes, otherwise, settable: false }
}

const fn settable(key: Key) -> Key {
    Key { settable: true, ..key }
}

pub const KIND: Kind = Kind {
    verb: "run",
    name: NAME,
    keys: &[
        Key { recorded: "crashes", ..settable(key("crash", Takes::Words(&CRASHES), "kill,drop,reorder,torn,prefix")) },
        Key { recorded: "namespaces", ..settable(key("namespace", Takes::Words(&NAMESPACES), "journal,posix")) },
        key("aim", Takes::Text, ""),
        settable(key("points", POINTS, "5000")),
        settable(key("server_points", POINTS, "100")),
        settable(key("kills", KILLS, "2")),
        settable(key("kernel_cuts", KILLS, "0")),
        key("lie_points", POINTS, "200"),
        Key { recorded: "window_ns", ..key("window", Takes::Duration, "300ms") },
        key("bound_mib", POINTS, "256"),
        key("keep", Takes::Number { least: 0, most: u32::MAX }, "3"),
    ],
    marks: true,
    estimate_ns,
};

/// How crashes are made: the recorded values of the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Models of crashes.
    pub crashes: Vec<String>,
    /// When names and sizes of files persist: models.
    pub namespaces: Vec<String>,
    /// Only moments at which the first page of a file with this ending is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<String>,
    /// Images of an embedded database, over all models.
    pub points: u32,
    /// Images of a server, each of which requires a start.
    pub server_points: u32,
    /// Real kills of the database's processes during the load.
    pub kills: u32,
    /// Power cuts of a real kernel, for contenders that allow it.
    #[serde(default)]
    pub kernel_cuts: u32,
    /// Most images until a planted fault is found.
    pub lie_points: u32,
    /// Length of the load that is recorded.
    pub window_ns: u64,
    /// Largest log of a recording.
    pub bound_mib: u32,
    /// Failing images of each kind that can be rebuilt.
    pub keep: u32,
}

impl Wanted {
    /// The values of a study of this kind; `None` for other kinds.
    pub fn of(study: &Study) -> Option<Self> {
        study.kinds.read(NAME)
    }
}

/// Time for the crashes of one contender.
fn estimate_ns(values: &Table, contender: &Contender) -> u64 {
    let Ok(wanted) = values.clone().try_into::<Wanted>() else { return 0 };
    let server = engine::find(&contender.engine).and_then(|engine| engine.server);
    let (is_server, window_ns) = (server.is_some(), wanted.window_ns.max(server.map_or(0, |s| s.write_back_ns)));
    let (images, image_ns) = match is_server {
        true => (wanted.server_points, SERVER_IMAGE_NS),
        false => (wanted.points, IMAGE_NS),
    };
    // Most planted faults are found after few images. An image worse than lossy is minimised.
    let more = match (is_server, contender.tier) {
        // A planted fault is found after few images; otherwise the run does not count.
        (true, Tier::Durable) => SERVER_LIES as u32 * SERVER_LIE_POINTS / 4,
        (true, _) => 0,
        (_, Tier::Durable) => LIES_IN_VAIN * wanted.lie_points + (LIES as u32 - LIES_IN_VAIN) * LIE_CAUGHT,
        (_, _) => MINIMISE_TRIES,
    };
    let kernel_cuts = if engine::can_boot(contender) { wanted.kernel_cuts } else { 0 };
    let real_ns = u64::from(wanted.kills) * KILL_NS + u64::from(kernel_cuts) * KERNEL_CUT_NS;
    (u64::from(images) + u64::from(more)) * image_ns + real_ns + RECORDING_NS + window_ns
}

#[cfg(test)]
impl Default for Wanted {
    fn default() -> Self {
        KIND.defaults().expect("defaults").try_into().expect("values of the keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SLICE;
    use contend::source::Source;
    use contend::study::model::{Extent, Variant};
    use contend::study::{Choices, LIBRARY, estimate_ns, resolve};
    use std::collections::BTreeSet;

    const QUICK_NS: u64 = 12 * 60 * 1_000_000_000;

    fn resolved(source: &Source, extent: Extent) -> Study {
        contend::slice::register(&[SLICE]);
        resolve(source, &Choices::new(Variant::Corrected, extent)).expect("a study")
    }

    fn durability(extent: Extent) -> Study {
        resolved(&LIBRARY.find("durability").expect("embedded"), extent)
    }

    #[test]
    fn every_value_is_recorded_with_its_default_and_limits() {
        let wanted = Wanted::default();
        assert_eq!(
            (wanted.crashes, wanted.namespaces),
            (CRASHES.map(str::to_string).into(), NAMESPACES.map(str::to_string).into())
        );
        assert_eq!((wanted.points, wanted.server_points, wanted.lie_points, wanted.bound_mib), (5000, 100, 200, 256));
        assert_eq!((wanted.kills, wanted.kernel_cuts, wanted.keep, wanted.aim), (2, 0, 3, None));
        assert_eq!(wanted.window_ns, 300_000_000);
        let settable: Vec<&str> = KIND.keys.iter().filter(|key| key.settable).map(|key| key.name).collect();
        assert_eq!(settable, ["crash", "namespace", "points", "server_points", "kills", "kernel_cuts"]);
    }

    #[test]
    fn planted_faults_and_smaller_images_are_in_the_estimate() {
        let of = |synchronous: &str, lie_points: u32| {
            let text = format!(
                "question = 'q'\nworkload = 'w'\nkind = 'powercut'\nheadline = 'throughput_ops_per_s'\nrounds = 1\n\
                 load = {{ window = '1s' }}\n[powercut]\npoints = 100\nlie_points = {lie_points}\n[[contender]]\n\
                 engine = 'sqlite'\nsettings = {{ journal_mode = 'wal', synchronous = '{synchronous}' }}\n"
            );
            estimate_ns(&resolved(&Source::new("e.toml", text), Extent::Full))
        };
        assert_eq!(of("full", 200) - of("full", 100), u64::from(LIES_IN_VAIN) * 100 * IMAGE_NS);
        assert_eq!(of("off", 200), of("off", 100), "no disk lies to a setting that is not durable");
        assert_eq!(of("full", 100) - of("off", 100), (100 + 7 * 20 - 60) * IMAGE_NS);
    }

    #[test]
    fn quick_keeps_its_time_budget_and_has_its_images() {
        let quick = durability(Extent::Quick);
        assert!(estimate_ns(&quick) <= QUICK_NS, "{} s", estimate_ns(&quick) / 1_000_000_000);
        let of =
            |study: &Study| Wanted::of(study).map(|wanted| (wanted.points, wanted.server_points)).expect("its keys");
        assert!(of(&quick) >= (5_000, 100) && of(&quick).1 >= 100, "{quick:?}");
        let full = of(&durability(Extent::Full));
        assert!(full.0 >= 50_000 && full.1 >= 1_000, "{full:?}");
    }

    #[test]
    fn rates_are_of_several_rounds_and_get_no_verdict() {
        for extent in [Extent::Quick, Extent::Full] {
            let rounds = durability(extent).rounds as usize;
            assert!((3..contend::stats::interval::MIN_ROUNDS).contains(&rounds), "{rounds}");
        }
    }

    #[test]
    fn the_full_form_has_settings_that_the_quick_one_has_not() {
        let of = |extent, engine: &str| durability(extent).contenders.iter().filter(|c| c.engine == engine).count();
        let counts = |extent| ["sqlite", "postgres", "mariadb"].map(|engine| of(extent, engine));
        assert_eq!(counts(Extent::Quick), [18, 4, 6]);
        assert_eq!(counts(Extent::Full), [18, 8, 10]);
    }

    #[test]
    fn every_journal_is_there_with_every_way_of_syncing() {
        let study = durability(Extent::Quick);
        let value = |c: &Contender, name: &str| c.settings.get(name).cloned().unwrap_or_default();
        let sqlite = study.contenders.iter().filter(|c| c.engine == "sqlite");
        let cells: BTreeSet<_> = sqlite.map(|c| (value(c, "journal_mode"), value(c, "synchronous"))).collect();
        for journal in ["wal", "delete", "truncate", "persist"] {
            for synchronous in ["off", "normal", "full", "extra"] {
                assert!(cells.contains(&(journal.to_string(), synchronous.to_string())), "{journal}/{synchronous}");
            }
        }
        assert_eq!(cells.len(), 18);
        // With a binary log, the default loses more than without one; the study covers both.
        let binlog =
            study.contenders.iter().find(|c| value(c, "log_bin") == "on" && value(c, "sync_binlog").is_empty());
        let binlog = &binlog.expect("a binary log as it is by default").label;
        assert!(study.kept.iter().any(|kept| kept.contender == *binlog));
        for kept in &study.kept {
            assert!(study.contenders.iter().any(|c| c.label == kept.contender), "{}", kept.contender);
        }
    }
}
