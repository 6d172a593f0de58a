//! How values are written: durations and dates as in definition files and on the command line, and bytes.

/// Units that end with another one's name come first, so that `ms` is not read as `s`.
const UNITS: [(&str, u128); 7] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
];

/// Nanoseconds of a unit, such as `ms`.
pub fn unit_ns(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns as u64)
}

/// Longest duration: ten years. Sums and products of several durations then stay far below 64 bits.
const LONGEST_NS: u128 = 10 * 365 * 24 * 3_600_000_000_000;

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Nanoseconds of a duration such as `1.5s`. Exact: no floating point is involved.
///
/// # Errors
/// A missing number or unit, more digits than nanoseconds have, or more than ten years.
pub fn duration_ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a duration; write a number with its unit, such as 1.5s, 200ms or 2min");
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
    let ns = number(whole) * unit_ns + part_ns / divisor;
    (ns <= LONGEST_NS).then_some(ns as u64).ok_or_else(|| format!("`{text}` is too long: the longest is ten years"))
}

/// A rate per second: `200`, `200/s`.
///
/// # Errors
/// How to write it.
pub fn rate_per_s(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("/s").trim_end().parse::<f64>().ok().filter(|rate| rate.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a rate; a rate is written 200 or 200/s"))
}

/// A percentage: `5`, `5%`. A number below 0.1 is rejected, because it is probably meant as a fraction.
///
/// # Errors
/// How to write it.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .ok_or_else(|| format!("`{text}` is not a percentage from 0.1 to 100; 5 % is written 5 or 5%"))
}

/// A duration in the largest unit that expresses it as a whole number; [`duration_ns`] reads it back.
pub fn duration_text(ns: u64) -> String {
    let whole = UNITS.iter().filter(|(_, unit_ns)| u128::from(ns) % unit_ns == 0);
    let (unit, unit_ns) =
        whole.rev().max_by_key(|(_, unit_ns)| *unit_ns).expect("every duration is a number of nanoseconds");
    format!("{}{unit}", u128::from(ns) / unit_ns)
}

/// Seconds since 1970 of `2024-05-31` or `2024-05-31 12:30:00`, UTC.
pub fn unix_seconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let (year, month, day) = three(date, '-')?;
    let (hour, minute, second) = three(time.trim_end_matches('Z'), ':')?;
    let valid = (0..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    let days = valid.then(|| days_from_civil(year, month, day))?;
    // 31 April would come back as 1 May.
    (civil_from_days(days) == (year, month, day)).then_some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Appends `YYYY-MM-DD HH:MM:SS`.
pub fn write_time(seconds: i64, out: &mut String) {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    padded(year, 4, out);
    for (before, number) in
        [('-', month), ('-', day), (' ', of_day / 3600), (':', of_day / 60 % 60), (':', of_day % 60)]
    {
        out.push(before);
        padded(number, 2, out);
    }
}

fn padded(number: i64, digits: u32, out: &mut String) {
    for place in (0..digits).rev() {
        out.push((b'0' + (number / 10i64.pow(place) % 10) as u8) as char);
    }
}

fn three(text: &str, separator: char) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(separator).map(|part| part.parse::<i64>().ok());
    let three = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(three)
}

/// Days since 1970 in the Gregorian calendar. Years begin in March, so that the leap day is the last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_may_have_its_sign_and_is_no_fraction() {
        assert_eq!([percent("5"), percent(" 7.5 % ")], [Ok(5.0), Ok(7.5)]);
        for wrong in ["0.05", "0", "-5", "101", "nan", "five", ""] {
            assert!(percent(wrong).expect_err(wrong).contains("5 % is written 5 or 5%"));
        }
    }

    #[test]
    fn a_rate_may_have_its_unit_and_is_a_number() {
        assert_eq!(["200", " 0.5/s ", "200 /s"].map(rate_per_s), [Ok(200.0), Ok(0.5), Ok(200.0)]);
        for wrong in ["", "/s", "inf", "nan", "fast", "200/min"] {
            assert!(rate_per_s(wrong).expect_err(wrong).contains("200 or 200/s"));
        }
    }

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
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn durations_have_one_text() {
        for (text, same) in [("10s", "10000ms"), ("1500ms", "1.5s"), ("2min", "120s"), ("7ns", "7 ns"), ("1h", "60min")]
        {
            assert_eq!(duration_text(duration_ns(same).unwrap()), text);
        }
    }

    #[test]
    fn what_is_no_duration_says_how_to_write_one() {
        for text in ["", "1.5", "s", "-1s", "1.s", ".5s", "1e3s", "1 week", "1,5s"] {
            assert!(duration_ns(text).unwrap_err().contains("1.5s"), "{text}");
        }
        assert!(duration_ns("0.5ns").unwrap_err().contains("finer"));
        for text in ["999999999999999h", "87600.001h", "5000000h"] {
            assert!(duration_ns(text).unwrap_err().contains("the longest is ten years"), "{text}");
        }
        let longest_ns = duration_ns("87600h").unwrap();
        assert!(longest_ns.checked_mul(50).is_some(), "what is computed from some of them fits");
    }

    #[test]
    fn dates_there_and_back() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 23:59:59", 951_868_799),
            ("2024-12-31 12:00:00", 1_735_646_400),
            ("1969-12-31 23:59:59", -1),
        ] {
            assert_eq!(unix_seconds(text), Some(seconds), "{text}");
            let mut out = String::new();
            write_time(seconds, &mut out);
            assert_eq!(out, text);
        }
        assert_eq!(unix_seconds("2024-05-31"), unix_seconds("2024-05-31T00:00:00Z"));
        for text in ["2023-02-29", "2024-13-01", "yesterday", "2024-01-01 25:00:00", "2024-01"] {
            assert_eq!(unix_seconds(text), None, "{text}");
        }
    }
}
