//! How numbers look: the one place where the tool turns a number into text.
//!
//! Stored numbers are integers with their unit in the name. On paper three significant digits are shown, as the
//! histograms hold no more and a benchmark rarely deserves them.

use std::fmt;

/// A duration in nanoseconds: `28.2 µs`, `1.78 ms`, `640 ms`, `626 s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ns(pub u64);

/// Something per second: `36.9/s`, `6,780/s`, `1.70M/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// A size: `512 B`, `15.8 MiB`. Binary units, as pages and memory come in powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// One arm over another: `2.35 x`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

/// A share of a whole, 1 is everything: `96.9 %`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

/// A ratio as a change, with its sign: 1.281 is `+28.1 %`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Change(pub f64);

/// `value` with three significant digits, never fewer before the point than there are.
fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    // The rounding decides the digits: 9.996 is 10.0 and not 10.00.
    let rounded: f64 = format!("{value:.2e}").parse().expect("a formatted number is a number");
    let decimals = match rounded.abs() {
        size if size == 0.0 || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size => (2 - size.log10().floor() as i32).clamp(2, 9) as usize,
    };
    format!("{rounded:.decimals$}")
}

/// Picks the largest unit of which the rounded value has one or more.
fn scaled(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let fitting = units.iter().rev().find(|(size, _)| rounded >= *size).unwrap_or(&units[0]);
    (rounded / fitting.0, fitting.1)
}

/// A bare number, as precisely as a rate is shown.
pub fn plain(value: f64) -> String {
    Rate(value).to_string().trim_end_matches("/s").to_string()
}

/// Texts of the numbers of one interval, in one precision: they get the decimals of the largest, but keep two significant
/// digits. Texts in different units stay as they are. `["0.970 x", "1.10 x"]` become `["0.97 x", "1.10 x"]`.
pub fn alike<const N: usize>(texts: [String; N]) -> [String; N] {
    let split = |text: &String| {
        let end = text.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)).unwrap_or(text.len());
        Some((text[..end].replace(',', "").parse::<f64>().ok()?, text[..end].to_string(), text[end..].to_string()))
    };
    let Some(numbers) = texts.iter().map(split).collect::<Option<Vec<_>>>() else { return texts };
    if numbers.iter().any(|(_, _, unit)| *unit != numbers[0].2) {
        return texts;
    }
    let decimals = |digits: &str| digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let fewest = numbers.iter().filter(|(value, ..)| *value != 0.0).map(|(_, digits, _)| decimals(digits)).min();
    // An end that is not 1 must not look like it.
    let looks_like_one = |value: f64, decimals: usize| value != 1.0 && format!("{value:.decimals$}").parse() == Ok(1.0);
    let fewest = fewest
        .map(|fewest| (fewest..9).find(|d| !numbers.iter().any(|(v, ..)| looks_like_one(*v, *d))).unwrap_or(fewest));
    let two_digits = |value: f64| (1 - value.log10().floor() as i32).max(0) as usize;
    let mut numbers = numbers.iter();
    texts.map(|_| {
        let (value, digits, unit) = numbers.next().expect("one for each text");
        let wanted = fewest.unwrap_or(0).max(if *value > 0.0 { two_digits(*value) } else { 0 });
        let decimals = wanted.min(decimals(digits));
        format!("{}{unit}", with_thousands(&format!("{value:.decimals$}")))
    })
}

/// A count with thousands apart.
pub fn count(n: u64) -> String {
    with_thousands(&n.to_string())
}

/// `1 trial`, `2 trials`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

/// The digits of a number with its thousands apart: `1,698,690`.
fn with_thousands(digits: &str) -> String {
    let (whole, rest) = digits.split_once('.').map_or((digits, ""), |(whole, _)| (whole, &digits[whole.len()..]));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = sign.to_string();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            return f.pad(&format!("{} ns", self.0));
        }
        let (value, unit) = scaled(self.0 as f64, &[(1e3, "µs"), (1e6, "ms"), (1e9, "s")]);
        f.pad(&format!("{} {unit}", with_thousands(&three_digits(value))))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = scaled(self.0, &[(1.0, ""), (1e6, "M"), (1e9, "G")]);
        f.pad(&format!("{}{unit}/s", with_thousands(&three_digits(value))))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // 1023.6 would print as 1024.
        while value >= 1023.5 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let digits = if value >= 1000.0 { format!("{value:.0}") } else { three_digits(value) };
        f.pad(&format!("{digits} {}", UNITS[unit]))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} x", with_thousands(&three_digits(self.0))))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} %", self.0 * 100.0))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded first, so that no change is "-0.0 %".
        let tenths = ((self.0 - 1.0) * 1000.0).round() + 0.0;
        f.pad(&format!("{:+.1} %", tenths / 10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: fmt::Display>(cases: &[(T, &str)]) {
        cases.iter().for_each(|(value, expected)| assert_eq!(value.to_string(), *expected));
    }

    #[test]
    fn durations() {
        check(&[
            (Ns(0), "0 ns"),
            (Ns(16), "16 ns"),
            (Ns(999), "999 ns"),
            (Ns(1000), "1.00 µs"),
            (Ns(28_170), "28.2 µs"),
            (Ns(999_499), "999 µs"),
            (Ns(999_600), "1.00 ms"),
            (Ns(1_780_000), "1.78 ms"),
            (Ns(640_000_000), "640 ms"),
            (Ns(3_500_000_000), "3.50 s"),
            (Ns(626_000_000_000), "626 s"),
            (Ns(3_600_000_000_000), "3,600 s"),
        ]);
    }

    #[test]
    fn rates() {
        check(&[
            (Rate(0.0), "0/s"),
            (Rate(0.0256), "0.0256/s"),
            (Rate(36.91), "36.9/s"),
            (Rate(999.7), "1,000/s"),
            (Rate(6780.6), "6,780/s"),
            (Rate(417_000.0), "417,000/s"),
            (Rate(1_698_690.0), "1.70M/s"),
            (Rate(f64::NAN), "-/s"),
            (Rate(-130.0), "-130/s"),
            (Rate(-123_456.0), "-123,000/s"),
        ]);
    }

    #[test]
    fn sizes() {
        check(&[
            (Bytes(0), "0 B"),
            (Bytes(1023), "1023 B"),
            (Bytes(1024), "1.00 KiB"),
            (Bytes(16_517_112), "15.8 MiB"),
            (Bytes(1_048_575), "1.00 MiB"),
            (Bytes(1_047_000), "1022 KiB"),
        ]);
    }

    #[test]
    fn ratios_and_percents() {
        check(&[(Ratio(2.349), "2.35 x"), (Ratio(0.996), "0.996 x"), (Ratio(1.0), "1.00 x"), (Ratio(19.04), "19.0 x")]);
        check(&[(Percent(0.96875), "96.9 %"), (Percent(1.0), "100.0 %")]);
        check(&[(Change(1.28125), "+28.1 %"), (Change(178.0 / 183.0), "-2.7 %"), (Change(0.99999), "+0.0 %")]);
    }

    #[test]
    fn an_interval_has_one_precision() {
        let check = |texts: [&str; 3], expected: [&str; 3]| assert_eq!(alike(texts.map(str::to_string)), expected);
        check(["1.04 x", "0.970 x", "1.10 x"], ["1.04 x", "0.97 x", "1.10 x"]);
        check(["9.87 ms", "9.50 ms", "12.3 ms"], ["9.9 ms", "9.5 ms", "12.3 ms"]);
        check(["99.6/s", "28.2/s", "3,470/s"], ["100/s", "28/s", "3,470/s"]);
        // A small number is not rounded away.
        check(["0.500", "0.0453", "1.10"], ["0.50", "0.045", "1.10"]);
        check(["0.00", "0.00", "1.10"], ["0.00", "0.00", "1.10"]);
        // What is not 1 does not look like it.
        check(["0.996 x", "1.00 x", "1.10 x"], ["0.996 x", "1.00 x", "1.10 x"]);
        check(["0.96 x", "1.04 x", "12.0 x"], ["0.96 x", "1.04 x", "12.0 x"]);
        check(["1.00 x", "5.57 x", "12.0 x"], ["1.0 x", "5.6 x", "12.0 x"]);
        // Nothing can be lost in other units, or in words.
        check(["950 µs", "1.05 ms", "1.10 ms"], ["950 µs", "1.05 ms", "1.10 ms"]);
        check(["-", "1.05 ms", "10.1 ms"], ["-", "1.05 ms", "10.1 ms"]);
    }

    #[test]
    fn widths_are_respected() {
        assert_eq!(format!("[{:>8}]", Ns(1_780_000)), "[ 1.78 ms]");
    }
}
