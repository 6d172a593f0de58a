//! A kind of study in place of those that slices bring, with the keys that the embedded studies use.

use crate::source::library::Embedded;
use crate::study::kind::{Key, Kind, Takes};

/// The study of a slice.
pub static STUDY: Embedded = ("durability", include_str!("../../../../../studies/durability.toml"));

const fn key(name: &'static str, recorded: &'static str, takes: Takes, otherwise: &'static str) -> Key {
    Key { name, recorded, takes, otherwise, settable: true }
}

const POINTS: Takes = Takes::Number { least: 1, most: 1_000_000 };
const KILLS: Takes = Takes::Number { least: 0, most: 10_000 };

pub static KIND: Kind = Kind {
    name: "powercut",
    verb: "run",
    keys: &[
        key("crash", "crashes", Takes::Words(&["kill", "drop", "reorder", "torn", "prefix"]), "kill,drop"),
        key("namespace", "namespaces", Takes::Words(&["journal", "posix"]), "journal,posix"),
        key("points", "points", POINTS, "5000"),
        key("server_points", "server_points", POINTS, "100"),
        key("kills", "kills", KILLS, "2"),
        key("kernel_cuts", "kernel_cuts", KILLS, "0"),
        key("lie_points", "lie_points", POINTS, "200"),
        key("window", "window_ns", Takes::Duration, "300ms"),
        key("bound_mib", "bound_mib", POINTS, "256"),
        key("keep", "keep", KILLS, "3"),
        key("aim", "aim", Takes::Text, ""),
    ],
    marks: true,
    estimate_ns: |_, _| 7,
};
