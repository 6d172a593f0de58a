//! Texts as moments: which of them SQLite accepts, and how (<https://sqlite.org/lang_datefunc.html#time_values>). A
//! text that only SQLite can read is an error when the statement runs; a text that SQLite cannot read is NULL.

use crate::names::push_text;

pub(crate) const EPOCH: &str = "TIMESTAMP'1970-01-01 00:00:00'";

/// SQLite's white space, as a regular expression for either server.
pub(crate) const BLANK: &str = "[\\x09-\\x0D ]";
const DAY: &str = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";

/// Patterns for texts that begin with a date, and for times alone, up to the precision that both servers support; and
/// for all texts that SQLite accepts. The servers store six digits of a second's fraction.
fn patterns() -> [String; 3] {
    let end = format!("{BLANK}*(?:[Zz]{BLANK}*)?$");
    let time = format!(
        "(?:[01][0-9]|2[0-3]):[0-5][0-9](?:(?::[0-5][0-9](?:[.][0-9]{{1,5}})?)?(?={end})|:[0-5][0-9][.][0-9]{{6}}(?=[0-9]*{end}))"
    );
    let date = format!("^((?!0000)[0-9]{{4}}-{DAY}(?:(?: +|T){time}|(?=[\\x09-\\x0D T]*$)))");
    let zone = format!("{BLANK}*(?:[Zz]{BLANK}*|[+-](?:0[0-9]|1[0-4]):[0-5][0-9]{BLANK}*)?");
    let any_time = format!("(?:[01][0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]+)?)?{zone}");
    let any_date = format!("-?[0-9]{{4}}-{DAY}[\\x09-\\x0D T]*(?:{any_time})?");
    let number = format!("{BLANK}*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?{BLANK}*");
    let word = "[Nn][Oo][Ww]|[Ss][Uu][Bb][Ss][Ee][Cc](?:[Oo][Nn][Dd])?";
    [date, format!("^({time})"), format!("^({any_date}|{any_time}|{number}|{word})$")]
}

/// The moment of a text that depends on the row, without the function pack.
pub(crate) fn moment_of_text(text: &str, postgres: bool) -> String {
    let [date, time, any] = patterns().map(|pattern| {
        let mut quoted = String::new();
        push_text(&mut quoted, &pattern);
        quoted
    });
    if postgres {
        return format!(
            "COALESCE(substring({text} FROM {date})::timestamp, date '2000-01-01' + substring({text} FROM {time})::time, \
             ('a moment that only SQLite reads: ' || substring({text} FROM {any}))::timestamp)"
        );
    }
    // The sum exceeds 64 bits, which is an error in a query too.
    format!(
        "COALESCE(CAST(NULLIF(REGEXP_SUBSTR({text}, {date}), '') AS DATETIME(6)), \
         CAST(CONCAT('2000-01-01 ', NULLIF(REGEXP_SUBSTR({text}, {time}), '')) AS DATETIME(6)), \
         CASE WHEN {text} REGEXP {any} THEN TIMESTAMPADD(SECOND, 9223372036854775807 + CHAR_LENGTH({text}), {EPOCH}) END)"
    )
}

/// The number in `text[from..to]`, if it consists of digits.
fn digits(text: &str, from: usize, to: usize) -> Option<u32> {
    let part = text.get(from..to)?;
    if part.bytes().all(|b| b.is_ascii_digit()) { part.parse().ok() } else { None }
}

fn blank(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ')
}

/// Milliseconds since midnight of a text `HH:MM`, `HH:MM:SS` or `HH:MM:SS.FFF`, optionally with `Z`.
fn time_of_day(text: &str) -> Option<u32> {
    let (hours, minutes) = (digits(text, 0, 2)?, digits(text, 3, 5)?);
    if text.get(2..3) != Some(":") || hours > 23 || minutes > 59 {
        return None;
    }
    let (mut seconds, mut rest) = (0.0, &text[5..]);
    if let Some(after) = rest.strip_prefix(':') {
        let whole = digits(after, 0, 2).filter(|s| *s < 60)?;
        rest = &after[2..];
        let mut fraction = 0.0;
        if let Some(after) = rest.strip_prefix('.').filter(|after| after.starts_with(|c: char| c.is_ascii_digit())) {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            let mut scale = 1.0;
            for digit in after.bytes().take(length) {
                fraction = fraction * 10.0 + f64::from(digit - b'0');
                scale *= 10.0;
            }
            // As in SQLite, so that no second is rounded up to the next one.
            fraction = (fraction / scale).min(0.999);
            rest = &after[length..];
        }
        seconds = f64::from(whole) + fraction;
    }
    let rest = rest.trim_start_matches(blank);
    let rest = rest.strip_prefix(['Z', 'z']).unwrap_or(rest);
    let whole = (hours * 60 + minutes) * 60_000;
    rest.trim_start_matches(blank).is_empty().then_some(whole + (seconds * 1000.0 + 0.5) as u32)
}

/// The date and time of a literal moment; `None` if SQLite's result would be NULL or unexpected. A day after the end
/// of its month belongs to the next month if `rolls`, and is refused otherwise.
pub(crate) fn canonical(text: &str, rolls: bool) -> Option<String> {
    let dated = text.get(4..5) == Some("-");
    let (year, mut month, mut day, rest) = if dated {
        let (year, month, day) = (digits(text, 0, 4)?, digits(text, 5, 7)?, digits(text, 8, 10)?);
        if text.get(7..8) != Some("-") {
            return None;
        }
        (year, month, day, text[10..].trim_start_matches(|c| blank(c) || c == 'T'))
    } else {
        (2000, 1, 1, text)
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year == 0 || !(1..=31).contains(&day) {
        return None;
    }
    if day > last {
        // SQLite accepts the 31st of any month and continues into the next.
        (month, day) = if rolls { (month + 1, day - last) } else { return None };
    }
    let time = if dated && rest.is_empty() { 0 } else { time_of_day(rest)? };
    let (hours, minutes, seconds) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60);
    let mut moment = format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}");
    if time % 1000 > 0 {
        moment.push_str(&format!(".{:03}", time % 1000));
    }
    Some(moment)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn literal_moments_are_read_as_sqlite_reads_them() {
        let read = |text| canonical(text, true);
        assert_eq!(read("2024-01-31").as_deref(), Some("2024-01-31 00:00:00"));
        assert!(read("2024-02-29").is_some() && read("2023-02-31").as_deref() == Some("2023-03-03 00:00:00"));
        assert_eq!(read("2024-01-31T12:30Z").as_deref(), Some("2024-01-31 12:30:00"));
        assert_eq!(read("2024-01-31 T 12:30 z ").as_deref(), Some("2024-01-31 12:30:00"));
        assert_eq!(read("12:30").as_deref(), Some("2000-01-01 12:30:00"));
        assert_eq!(read("2024-01-31 12:30:00.0006").as_deref(), Some("2024-01-31 12:30:00.001"));
        assert_eq!(read("2024-01-31 12:30:59.9999999").as_deref(), Some("2024-01-31 12:30:59.999"));
        let others = [
            "2024-01-31 25:00",
            "2024-01-31 24:00",
            "tomorrow",
            "",
            "2024-01-31Z",
            "2024-01-31 10:00ZZ",
            "12:3",
            "0000-01-01",
        ];
        assert!(others.iter().all(|text| read(text).is_none()));
        assert_eq!(canonical("2023-02-31", false), None);
    }
}
