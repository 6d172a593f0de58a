//! Reads cells: durations in the ways people write them, and rates.

use contend::units;
use contend_stats::precision::{Ns, Rate, plain};
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::RangeInclusive;

/// A value above zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Means per operation have fractions of a nanosecond.
    DurationNs(#[serde(serialize_with = "whole_if_it_is")] f64),
    PerSecond(f64),
    /// A rate whose time is not named, or is another one.
    Number(f64),
}

/// So that 2.01 ms are 2,010,000 ns, and not a fraction less.
fn to_picoseconds(duration_ns: f64) -> f64 {
    (duration_ns * 1e3).round() / 1e3
}

/// A number without a fraction as an integer.
fn whole_if_it_is<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 { to.serialize_u64(*value as u64) } else { to.serialize_f64(*value) }
}

impl Measured {
    /// The number, for ratios, in which the unit cancels.
    pub fn as_f64(self) -> f64 {
        match self {
            Measured::DurationNs(value) | Measured::PerSecond(value) | Measured::Number(value) => value,
        }
    }

    /// A number as a rate per second.
    pub(super) fn per_second(self) -> Measured {
        if let Measured::Number(number) = self { Measured::PerSecond(number) } else { self }
    }

    /// A value of the same kind.
    pub fn with_value(self, value: f64) -> Measured {
        match self {
            Measured::DurationNs(_) => Measured::DurationNs(to_picoseconds(value)),
            Measured::PerSecond(_) => Measured::PerSecond(value),
            Measured::Number(_) => Measured::Number(value),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::DurationNs(duration_ns) if *duration_ns < 999.5 => write!(f, "{} ns", plain(*duration_ns)),
            Measured::DurationNs(duration_ns) => Ns(duration_ns.round() as u64).fmt(f),
            Measured::PerSecond(rate) => Rate(*rate).fmt(f),
            Measured::Number(number) => f.write_str(&plain(*number)),
        }
    }
}

const SECOND_NS: f64 = 1e9;
const MINUTE_NS: f64 = 60.0 * SECOND_NS;
const HOUR_NS: f64 = 60.0 * MINUTE_NS;

const DURATION_FORMS: &str = "a duration is written 10:26, 1:02:03, 10m40s, 1h2m, 3.5s, 640ms or 12 µs";

/// The unit of a duration that is written as a plain number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    ns: f64,
}

impl Unit {
    /// Reads a unit, such as `ms`.
    ///
    /// # Errors
    /// The known units.
    pub fn parse(text: &str) -> Result<Self, String> {
        unit_ns(text).map(|ns| Self { ns }).ok_or_else(|| format!("`{text}` is not a unit; units are {UNITS}"))
    }

    /// The unit that a column's name ends with: `time_ms`, `mean (s)`, `real [us]`. A `min` without brackets is as often the
    /// least value, and gives none.
    pub fn in_header(column: &str) -> Option<Self> {
        let open = column.trim_end_matches([')', ']']);
        let (name, unit) = open.rsplit_once(['_', ' ', '(', '[', '.', '-'])?;
        let is_certain = unit != "min" || open != column;
        unit_ns(unit).filter(|_| !name.is_empty() && is_certain).map(|ns| Self { ns })
    }
}

/// The time of a rate, as the name of its column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// `req/s`, `rows per second`, `ops_s`, `TPS`.
    Second,
    /// `req_per_min`.
    OtherTime,
    /// `rate`.
    Unnamed,
}

/// What rates count, before a time, besides plurals: `op/s`, `ops_s`.
const COUNTS: [&str; 15] =
    ["op", "ops", "req", "tx", "txn", "kb", "mb", "gb", "kib", "mib", "gib", "bit", "kbit", "mbit", "gbit"];

/// Whether a column's name is that of a rate, and of which one. A count before a shorter unit is a time: `req_ms`.
pub fn rate(column: &str) -> Option<Per> {
    const PER_SECOND: [&str; 4] = ["rps", "tps", "qps", "iops"];
    const RATES: [&str; 2] = ["rate", "throughput"];
    let lower = column.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '/').filter(|word| !word.is_empty()).collect();
    let is_second = |word: &str| unit_ns(word) == Some(SECOND_NS) || word == "second";
    let is_time = |word: &str| unit_ns(word).is_some() || ["second", "minute"].contains(&word);
    // In thousands or millions: `kops_s`.
    let is_count = |word: &str| {
        let in_thousands = || word.strip_prefix(['k', 'm']).is_some_and(|count| COUNTS.contains(&count));
        COUNTS.contains(&word) || is_plural(word) || in_thousands()
    };
    let after_per = |two: &[&str]| two[0] == "per" && is_time(two[1]) || is_count(two[0]) && is_second(two[1]);
    let by_sign = words.iter().filter_map(|word| word.rsplit_once('/'));
    let mut by_sign = by_sign.filter(|(count, of)| is_count(count) && is_time(of));
    let time = words.windows(2).find(|two| after_per(two)).map(|two| two[1]).or_else(|| Some(by_sign.next()?.1));
    let is_one = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let is_of_bytes = |word: &&str| word.strip_suffix("ps").is_some_and(|count| COUNTS.contains(&count));
    match time {
        Some(time) if is_second(time) => Some(Per::Second),
        Some(_) => Some(Per::OtherTime),
        None if is_one(&PER_SECOND) || words.iter().any(is_of_bytes) => Some(Per::Second),
        None => is_one(&RATES).then_some(Per::Unnamed),
    }
}

/// Whether a word is the plural of something other than times. Before `_s` or `/s` it makes a rate: `pages_s`.
fn is_plural(word: &str) -> bool {
    const TIMES: [&str; 16] = [
        "times",
        "timings",
        "seconds",
        "minutes",
        "hours",
        "latencies",
        "durations",
        "totals",
        "waits",
        "pauses",
        "delays",
        "stalls",
        "syncs",
        "runs",
        "tests",
        "samples",
    ];
    let ends = |end: &&str| word.ends_with(*end);
    word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(ends) && !TIMES.contains(&word)
}

const UNITS: &str = "h, min, s, ms, us, ns";

/// A duration: clock notation, numbers with units from large to small, or a plain number of `unit`.
pub fn parse_duration(text: &str, unit: Option<Unit>) -> Result<Measured, String> {
    let text = text.trim();
    let duration_ns = match (number(text), unit) {
        (Some(plain), Some(unit)) => Some(plain * unit.ns),
        (Some(_), None) => {
            return Err(format!(
                "`{text}` has no unit; say which with --unit ({UNITS}), or end the column's name with one (time_ms)"
            ));
        }
        (None, _) if text.contains(':') => clock_ns(text),
        (None, _) => with_units_ns(text),
    };
    match duration_ns {
        None => Err(format!("`{text}` is not a duration; {DURATION_FORMS}")),
        Some(duration_ns) if to_picoseconds(duration_ns) <= 0.0 => {
            Err(format!("`{text}` is zero: no ratio can be made"))
        }
        Some(duration_ns) if duration_ns >= u64::MAX as f64 => Err(format!("`{text}` is longer than 500 years")),
        Some(duration_ns) => Ok(Measured::DurationNs(to_picoseconds(duration_ns))),
    }
}

/// Rates outside these bounds cannot be shown with their digits, and are no measurements.
const RATES: RangeInclusive<f64> = 1e-6..=1e15;

/// A rate: a number, with or without `/s` behind it.
pub fn parse_rate(text: &str) -> Result<Measured, String> {
    let text = text.trim();
    let per_second = text.strip_suffix("/s");
    match number(per_second.unwrap_or(text).trim_end()) {
        None => Err(format!("`{text}` is not a rate; a rate is written 6780.6 or 6780.6/s")),
        Some(0.0) => Err(format!("`{text}` is zero: no ratio can be made")),
        Some(rate) if !RATES.contains(&rate) => {
            Err(format!("`{text}` is not between 1e-6 and 1e15; give the column another unit if it is a rate"))
        }
        Some(rate) if per_second.is_some() => Ok(Measured::PerSecond(rate)),
        Some(rate) => Ok(Measured::Number(rate)),
    }
}

/// A number that is not negative. `f64::parse` alone would also accept "inf" and "nan".
fn number(text: &str) -> Option<f64> {
    let starts_like_one = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    text.parse().ok().filter(|value: &f64| starts_like_one && value.is_finite())
}

/// m:ss or h:mm:ss, seconds with or without decimals.
fn clock_ns(text: &str) -> Option<f64> {
    let fields: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&fields.len()) {
        return None;
    }
    let two_digits = |field: &str| field.split('.').next().is_some_and(|whole| whole.len() == 2);
    let mut units_ns = [SECOND_NS, MINUTE_NS, HOUR_NS].into_iter();
    let mut total_ns = 0.0;
    for (from_last, field) in fields.iter().rev().enumerate() {
        let is_first = from_last + 1 == fields.len();
        let is_plain = field.bytes().all(|byte| byte.is_ascii_digit() || (from_last == 0 && byte == b'.'));
        let value = number(field).filter(|&value| is_plain && (is_first || (value < 60.0 && two_digits(field))))?;
        total_ns += value * units_ns.next()?;
    }
    Some(total_ns)
}

/// Numbers with units, from large to small. The last unit may be omitted after minutes: 10m40.
fn with_units_ns(text: &str) -> Option<f64> {
    // One number may have an exponent: 1.5e3 ms.
    let one = text.trim_end_matches(char::is_alphabetic);
    if let (Some(value), Some(unit_ns)) = (number(one.trim_end()), unit_ns(&text[one.len()..])) {
        return Some(value * unit_ns);
    }
    let mut rest = text;
    let mut previous_ns = f64::INFINITY;
    let mut total_ns = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (value, after) = (number(&rest[..digits])?, rest[digits..].trim_start());
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let unit_ns = match &after[..letters] {
            "" if after.is_empty() && previous_ns == MINUTE_NS => SECOND_NS,
            unit => unit_ns(unit)?,
        };
        if unit_ns >= previous_ns {
            return None;
        }
        total_ns += value * unit_ns;
        previous_ns = unit_ns;
        rest = after[letters..].trim_start();
    }
    previous_ns.is_finite().then_some(total_ns)
}

/// Nanoseconds of a unit as definition files have it, or as other tools write it.
fn unit_ns(unit: &str) -> Option<f64> {
    let own = match unit {
        "sec" => "s",
        // The micro sign and the Greek letter look alike.
        "\u{b5}s" | "\u{3bc}s" => "us",
        own => own,
    };
    units::unit_ns(own).map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        let cases: [(&str, u64); 18] = [
            ("1.5e3 ms", 1_500_000_000),
            ("2e-3s", 2_000_000),
            ("10:26", 626_000_000_000),
            ("0:16", 16_000_000_000),
            ("0:16.25", 16_250_000_000),
            ("1:02:03", 3_723_000_000_000),
            ("10m40", 640_000_000_000),
            ("10m40s", 640_000_000_000),
            ("1h2m", 3_720_000_000_000),
            ("1h 2m 3s", 3_723_000_000_000),
            ("90min", 5_400_000_000_000),
            ("640ms", 640_000_000),
            ("3.5s", 3_500_000_000),
            ("12 µs", 12_000),
            ("12 μs", 12_000),
            ("12us", 12_000),
            (" 7 ns ", 7),
            ("3s 200ms", 3_200_000_000),
        ];
        for (text, duration_ns) in cases {
            assert_eq!(parse_duration(text, None), Ok(Measured::DurationNs(duration_ns as f64)), "{text}");
        }
    }

    #[test]
    fn a_plain_number_needs_a_unit() {
        let parsed = |text: &str, unit: &str| parse_duration(text, Some(Unit::parse(unit).unwrap()));
        assert_eq!(parsed("12.5", "s"), Ok(Measured::DurationNs(12_500_000_000.0)));
        assert_eq!(parsed("1.2e-05", "s"), Ok(Measured::DurationNs(12_000.0)));
        assert_eq!(parsed("2.01", "ms"), Ok(Measured::DurationNs(2_010_000.0)));
        assert_eq!(parsed("4.98", "ms"), Ok(Measured::DurationNs(4_980_000.0)));
        assert_eq!(parsed("3s", "ms"), Ok(Measured::DurationNs(3_000_000_000.0)), "the unit of the cell decides");
        assert!(parse_duration("4.98", None).unwrap_err().contains("`4.98` has no unit; say which with --unit"));
        assert!(Unit::parse("parsec").unwrap_err().contains("h, min, s, ms, us, ns"));
        let of = |column: &str| Unit::in_header(column).map(|unit| unit.ns);
        assert_eq!([of("time_ms"), of("mean (s)"), of("real [us]")], [Some(1e6), Some(1e9), Some(1e3)]);
        assert_eq!([of("time"), of("ms"), of("runs"), of("_s")], [None; 4]);
        assert_eq!([of("latency_min"), of("total [min]")], [None, Some(60e9)], "the least value, and minutes");
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "-",
            "-3",
            "fast",
            "10:5",
            "10:75",
            "1:2:3:4",
            "10:",
            ":30",
            "1e2:30",
            "3s2m",
            "3s3s",
            "1h30",
            "5 parsecs",
            "1,5",
            "inf",
            "nan",
            "0",
            "0:00",
            "1e300",
            "m",
            "10m40x",
            "1.2.3s",
            "1:02.5:03",
        ] {
            assert!(parse_duration(text, None).is_err(), "{text}");
        }
    }

    #[test]
    fn a_column_of_rates_is_known_by_its_name() {
        let known = ["req_per_s", "ops_s", "TPS", "req/s", "rows per second", "a (ops/sec)", "transactions_s", "MiB/s"];
        for name in known.iter().chain(&[
            "operations_s",
            "kops_s",
            "pages (s)",
            "tokens_s",
            "mbit_s",
            "MBps",
            "Mops/s",
            "tokens/s",
        ]) {
            assert_eq!(rate(name), Some(Per::Second), "{name}");
        }
        for (name, per) in [
            ("req_per_min", Per::OtherTime),
            ("requests/min", Per::OtherTime),
            ("ops/h", Per::OtherTime),
            ("Throughput", Per::Unnamed),
            ("rate", Per::Unnamed),
        ] {
            assert_eq!(rate(name), Some(per), "{name}");
        }
        for name in [
            "time_ms",
            "ns_per_op",
            "ns/op",
            "mean (s)",
            "seconds",
            "op_time_s",
            "min_s",
            "s",
            "real",
            "req_ms",
            "op_ns",
            "latency/ms",
            "time/s",
            "times_s",
            "process_s",
            "status_s",
            "request_s",
        ] {
            assert_eq!(rate(name), None, "{name}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(parse_rate("6780.6"), Ok(Measured::Number(6780.6)));
        for text in ["6780.6/s", "6780.6 /s"] {
            assert_eq!(parse_rate(text), Ok(Measured::PerSecond(6780.6)));
        }
        for text in ["", "0", "-1", "10:26", "3 ms", "NaN", "1e-320", "1e308", "1e308/s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
