//! What a number is counted in, and how it looks with that.

use crate::precision::{Bytes, Ns, Percent, Rate, count, plain};
use serde::{Deserialize, Serialize};

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A number without a unit.
    #[default]
    Plain,
    /// Things that are counted one by one: `12,968`.
    Count,
    PerSecond,
    Ns,
    Us,
    Ms,
    S,
    Bytes,
    Kib,
    Mib,
    /// Part of a whole, 1 is everything: `96.9 %`.
    Share,
    /// The same, 100 is everything.
    Percent,
}

impl Unit {
    /// A number in this unit as a reader sees it: times and sizes in whatever unit has few digits.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Plain => plain(value),
            Unit::Count if value.round() < 0.0 => format!("-{}", count(-value.round() as u64)),
            Unit::Count => count(value.round() as u64),
            Unit::PerSecond => Rate(value).to_string(),
            Unit::Ns | Unit::Us | Unit::Ms | Unit::S | Unit::Bytes if value < 0.0 => format!("-{}", self.show(-value)),
            Unit::Ns => Ns(value.round() as u64).to_string(),
            Unit::Us => short_time(value * 1e3),
            Unit::Ms => short_time(value * 1e6),
            Unit::S => short_time(value * 1e9),
            Unit::Bytes => Bytes(value.round() as u64).to_string(),
            Unit::Kib => format!("{} KiB", plain(value)),
            Unit::Mib => format!("{} MiB", plain(value)),
            Unit::Share => Percent(value).to_string(),
            Unit::Percent => format!("{} %", plain(value)),
        }
    }

    /// As in tables of metrics; empty for a plain number.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Plain => "",
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Ns => "ns",
            Unit::Us => "µs",
            Unit::Ms => "ms",
            Unit::S => "s",
            Unit::Bytes => "bytes",
            Unit::Kib => "KiB",
            Unit::Mib => "MiB",
            Unit::Share => "share",
            Unit::Percent => "%",
        }
    }
}

/// A time that may be a part of a nanosecond.
fn short_time(ns: f64) -> String {
    if ns.abs() < 1000.0 { format!("{} ns", plain(ns)) } else { Unit::Ns.show(ns) }
}

/// A number in a unit, by something else: `4.00 µs per operation`.
pub fn show_per(unit: Unit, per: &str, value: f64) -> String {
    let shown = if unit == Unit::Ns { short_time(value) } else { unit.show(value) };
    match (unit, per) {
        (_, "") => shown,
        (Unit::Plain, "s") => Unit::PerSecond.show(value),
        _ => format!("{shown} per {per}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_their_unit() {
        for (unit, per, value, expected) in [
            (Unit::Ms, "", 1370.0, "1.37 s"),
            (Unit::Us, "", 489.0, "489 µs"),
            (Unit::Us, "", 0.0743, "74.3 ns"),
            (Unit::Ns, "", 335.2, "335 ns"),
            (Unit::Plain, "s", 6403.0, "6,400/s"),
            (Unit::Plain, "minute", 12.0, "12.0 per minute"),
            (Unit::Us, "operation", 4.0, "4.00 µs per operation"),
            (Unit::Percent, "", 6.184, "6.18 %"),
            (Unit::Mib, "", 15.8, "15.8 MiB"),
            (Unit::Plain, "", 3.0, "3.00"),
            (Unit::Count, "", 12968.0, "12,968"),
            (Unit::Count, "", -2.0, "-2"),
            (Unit::Ns, "", -335.2, "-335 ns"),
            (Unit::Ns, "", -5e6, "-5.00 ms"),
            (Unit::Us, "", -489.0, "-489 µs"),
            (Unit::S, "operation", -1.5, "-1.50 s per operation"),
            (Unit::Bytes, "", -2048.0, "-2.00 KiB"),
            (Unit::PerSecond, "", -130.0, "-130/s"),
        ] {
            assert_eq!(show_per(unit, per, value), expected);
        }
    }
}
