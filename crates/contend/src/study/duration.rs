//! Durations as people write them in study files and on the command line: `1.5s`, `200ms`.

/// Longest first where one unit is the end of another, so that `ms` is not read as `s`.
const UNITS: [(&str, u128); 6] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("s", 1_000_000_000),
];

/// Nanoseconds of a duration. Exact: no floating point on the way.
///
/// # Errors
/// A number or unit that is missing, more digits than nanoseconds have, or a duration out of range.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is no duration; write a number with its unit, such as 1.5s, 200ms or 2min");
    let (number, unit_ns) = UNITS
        .iter()
        .find_map(|(unit, ns)| text.strip_suffix(unit).map(|number| (number.trim_end(), *ns)))
        .ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.len() <= 15 && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let number = |part: &str| part.parse::<u128>().expect("at most 15 digits");
    let part_ns = number(fraction) * unit_ns;
    let divisor = 10u128.pow(fraction.len() as u32);
    if part_ns % divisor != 0 {
        return Err(format!("`{text}` is finer than a nanosecond"));
    }
    u64::try_from(number(whole) * unit_ns + part_ns / divisor).map_err(|_| format!("`{text}` is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, ns) in [
            ("1.5s", 1_500_000_000),
            ("200ms", 200_000_000),
            ("0s", 0),
            ("0.3s", 300_000_000),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("7 us", 7_000),
            ("12ns", 12),
        ] {
            assert_eq!(parse(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_how_to_write_one() {
        for text in ["", "1.5", "s", "-1s", "1.s", ".5s", "1e3s", "1 week", "1,5s"] {
            assert!(parse(text).unwrap_err().contains("1.5s"), "{text}");
        }
        assert!(parse("0.5ns").unwrap_err().contains("finer"));
        assert!(parse("999999999999999h").unwrap_err().contains("too long"));
    }
}
