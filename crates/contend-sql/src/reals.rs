//! Texts of reals. SQLite writes 17 significant digits since 3.53, or fewer if they give the same real and the digits
//! after them are zeros or nines; before, it wrote 15.

use std::ops::Range;

/// Whether a real equals the integer.
pub fn is_exact(integer: i64) -> bool {
    (integer as f64) as i128 == i128::from(integer)
}

/// Whether a real is one of MariaDB's DECIMAL(60,30), in its shortest form.
pub fn is_decimal(real: f64) -> bool {
    let places = real.to_string().split_once('.').map_or(0, |(_, places)| places.len());
    real.abs() < 1e30 && places <= 30
}

/// Reals of which SQLite computes 17 digits exactly: ten to the power that it multiplies them with has at most 96 bits.
const CERTAIN: Range<f64> = 1e-10..1e17;

/// A rest after the 15th digit that is this near to a half is not certain in older versions. Of 600,000 reals SQLite 3.40.1
/// rounded the other way those up to 0.00005 from a half, and outside of [`CERTAIN`] those up to 0.04.
const NEAR_HALF: f64 = 0.001;
const NEAR_HALF_OF_OTHERS: f64 = 0.1;

/// The first version that writes 17 digits.
const WRITES_17_DIGITS: u32 = 3_053_000;

/// A real as text in this version of SQLite, always with a point (`%!.17g`, before `%!.15g`). Outside of [`CERTAIN`]
/// the last of 17 digits may be another.
pub fn real_text(n: f64, sqlite: u32) -> String {
    if n == 0.0 || !n.is_finite() {
        let text = if n == 0.0 { "0.0" } else { ["-Inf", "Inf"][usize::from(n > 0.0)] };
        return text.to_string();
    }
    let decimal = if sqlite < WRITES_17_DIGITS { exact(n).rounded(15) } else { in_17_digits(n.abs()).0 };
    let Decimal { digits, exponent } = decimal;
    let plain_below = if sqlite < WRITES_17_DIGITS { 15 } else { 17 };
    let (sign, digits) = (if n < 0.0 { "-" } else { "" }, digits.trim_end_matches('0'));
    if !(-4..plain_below).contains(&exponent) {
        let rest = if digits.len() > 1 { &digits[1..] } else { "0" };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{}.{rest}e{exponent_sign}{:02}", &digits[..1], exponent.abs());
    }
    let places = usize::try_from(exponent + 1).unwrap_or(0);
    let before = "0".repeat(usize::try_from(-exponent).unwrap_or(0));
    let all = format!("{before}{digits:0<places$}");
    let (whole, rest) = all.split_at(places.max(1));
    format!("{sign}{whole}.{}", if rest.is_empty() { "0" } else { rest })
}

/// Whether a version writes 17 digits of a real, or 15.
pub(crate) fn has_17_digits(sqlite: u32) -> bool {
    sqlite >= WRITES_17_DIGITS
}

/// The text that this version writes for certain.
pub(crate) fn sure_text(n: f64, sqlite: u32) -> Option<String> {
    let is_certain = || match has_17_digits(sqlite) {
        true => CERTAIN.contains(&n.abs()) || in_17_digits(n.abs()).1,
        false => from_half(n) > if CERTAIN.contains(&n.abs()) { NEAR_HALF } else { NEAR_HALF_OF_OTHERS },
    };
    (n == 0.0 || !n.is_finite() || is_certain()).then(|| real_text(n, sqlite))
}

/// How far the digits after the 15th are from a half: older versions compute them in 64 bits, so that a number very near to
/// a half may be rounded either way.
fn from_half(n: f64) -> f64 {
    let digits = exact(n).digits;
    format!("0.{}", &digits[15..32]).parse::<f64>().map_or(0.0, |rest| (rest - 0.5).abs())
}

/// The digits of a number from the first one on, and the exponent of ten of the first.
struct Decimal {
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Rounded to this number of digits, halves up.
    fn rounded(self, count: usize) -> Decimal {
        let up = self.digits.as_bytes().get(count).is_some_and(|digit| *digit >= b'5');
        let mut kept = self.digits[..count.min(self.digits.len())].to_string();
        if up {
            let nines = kept.bytes().rev().take_while(|digit| *digit == b'9').count();
            kept.truncate(kept.len() - nines);
            match kept.pop() {
                Some(digit) => kept.push(char::from(digit as u8 + 1)),
                None => return Decimal { digits: "1".to_string(), exponent: self.exponent + 1 },
            }
        }
        Decimal { digits: kept, exponent: self.exponent }
    }
}

/// More digits of a real's exact value than SQLite looks at.
fn exact(n: f64) -> Decimal {
    let scientific = format!("{:.40e}", n.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    Decimal { digits: mantissa.replace('.', ""), exponent: exponent.parse().unwrap_or(0) }
}

/// A real in the digits that SQLite writes: 17, or one more than those before nines or zeros if they are the same real,
/// which is returned, too.
fn in_17_digits(n: f64) -> (Decimal, bool) {
    const MOST: usize = 17;
    // SQLite takes 18 digits, counted from the exponent of the power of two below; the real may have one digit more.
    let power_of_two = f64::from_bits(n.to_bits() & !((1 << 52) - 1));
    let of_power = if power_of_two > 0.0 { exact(power_of_two).exponent } else { exact(n).exponent };
    let exact = exact(n);
    let taken = 18 + usize::try_from(exact.exponent - of_power).unwrap_or(0);
    let mut decimal = exact.rounded(taken);
    decimal.digits = format!("{:0<taken$}", decimal.digits);
    let z = decimal.digits.as_bytes();
    // The digits before nines, of which the last one grows, or those before zeros.
    let (kept, up) = if z[14..16] == *b"99" {
        (14 - z[..14].iter().rev().take_while(|digit| **digit == b'9').count(), 1)
    } else if z[13..16] == *b"000" || decimal.exponent >= MOST as i32 {
        (13 - z[..13].iter().rev().take_while(|digit| **digit == b'0').count(), 0)
    } else {
        return (decimal.rounded(MOST), false);
    };
    let number = z[..kept].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')) + up;
    let is_same = format!("{number}e{}", decimal.exponent + 1 - kept as i32).parse() == Ok(n);
    (decimal.rounded(if is_same { kept + 1 } else { MOST }), is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SQLITE;

    #[test]
    fn integers_that_a_real_equals_and_reals_that_a_decimal_equals_are_known() {
        let limit = 1_i64 << 53;
        assert!([0, -7, limit, -limit, limit + 2, i64::MIN].into_iter().all(is_exact));
        assert!([limit + 1, -limit - 1, i64::MAX].into_iter().all(|integer| !is_exact(integer)));
        assert!([0.0, -0.5, 9.9e29, 1e-30].into_iter().all(is_decimal));
        assert!([1e30, -1e31, 1e-31, f64::INFINITY, f64::NAN].into_iter().all(|real| !is_decimal(real)));
    }

    #[test]
    fn reals_of_older_versions_have_fifteen_digits_and_a_point() {
        let shown = [1.0, 0.1 + 0.2, -2.5, 1e15, 123_456.789, 1e-5, 3.5e-4, 1e100, 99_999_999_999_999.0];
        let texts: Vec<String> = shown.iter().map(|n| real_text(*n, 3_040_001)).collect();
        let wanted =
            ["1.0", "0.3", "-2.5", "1.0e+15", "123456.789", "1.0e-05", "0.00035", "1.0e+100", "99999999999999.0"];
        assert_eq!(texts, wanted);
    }

    #[test]
    fn a_text_is_sure_unless_a_version_computes_its_last_digit_in_too_few_bits() {
        assert_eq!(sure_text(0.1 + 0.2, 3_040_001).as_deref(), Some("0.3"));
        assert_eq!(sure_text(0.1 + 0.2, SQLITE).as_deref(), Some("0.30000000000000004"));
        // SQLite 3.40.1 writes 96.9757682453318.
        assert_eq!(sure_text(96.975_768_245_331_75, 3_040_001), None);
        assert_eq!(sure_text(1.25e30, SQLITE).as_deref(), Some("1.25e+30"));
        assert_eq!(sure_text(2e30f64.sqrt() * 1e15, SQLITE), None);
    }

    /// Asks SQLite for reals of few digits, of many, and of any bits.
    #[test]
    fn texts_are_those_of_sqlite() {
        let sqlite = rusqlite::Connection::open_in_memory().expect("SQLite");
        assert_eq!(rusqlite::version_number(), SQLITE as i32);
        let mut ask = sqlite.prepare("SELECT ?1 || ''").expect("a statement");
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut reals = vec![0.0, 1.0, -1.0, 0.1 + 0.2, 1e15, 1e16, 1e17, 9.99e22, 1e23, f64::MAX, f64::MIN_POSITIVE];
        reals.extend((-30..30).flat_map(|e| [10f64.powi(e), 9.5 * 10f64.powi(e)]));
        for _ in 0..100_000 {
            let (digits, exponent) = (random() % 17 + 1, random() % 40);
            reals.push(
                format!("{}e{}", random() % 10u64.pow(digits as u32), exponent as i64 - 30).parse().expect("a real"),
            );
            reals.push((random() as f64 / 1e6).sqrt());
            reals.push(f64::from_bits(random() << 11 | random() & 0x7ff));
        }
        let mut uncertain = 0;
        for real in reals.into_iter().filter(|real| real.is_finite()) {
            let wanted: String = ask.query_row([real], |row| row.get(0)).expect("a text");
            match sure_text(real, SQLITE) {
                Some(text) => assert_eq!(text, wanted, "{real:e}"),
                None => uncertain += 1,
            }
        }
        assert!((1_000..150_000).contains(&uncertain), "{uncertain}");
    }
}
