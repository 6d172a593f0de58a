//! Date and time functions (<https://sqlite.org/lang_datefunc.html>): a moment is made of the first argument and its
//! modifiers, then written in a format. Everything is UTC.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::INTEGER_TEXT;
use crate::rules::expr::bare;
use crate::types::{Strength, Ty, Val};

/// Texts that SQLite reads as a moment, of those that begin with a date.
const MOMENT: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?$";
const EPOCH: &str = "TIMESTAMP'1970-01-01 00:00:00'";
/// Milliseconds from the Julian day 0 to 1970.
const JULIAN_EPOCH_MS: &str = "210866760000000";

fn text_of(expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Literal(Literal::String(token)) => Some(plain(token).into_owned()),
        _ => None,
    }
}

impl<'a> Tr<'a> {
    /// A date function, if the name is one's.
    pub(crate) fn date_function(&mut self, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
        let (format, rest) = match (name, args) {
            ("datetime", _) => ("%Y-%m-%d %H:%M:%S".to_string(), args),
            ("date", _) => ("%Y-%m-%d".to_string(), args),
            ("time", _) => ("%H:%M:%S".to_string(), args),
            ("julianday" | "unixepoch", _) => (String::new(), args),
            ("strftime", [format, rest @ ..]) => match text_of(format) {
                Some(format) => (format, rest),
                None => return no(Id::Dates, token, "a format that is not a text literal"),
            },
            ("timediff" | "strftime", _) => return no(Id::Dates, token, format!("{name}() has no translation")),
            _ => return Ok(None),
        };
        let start = self.at();
        let moment = self.moment(token, rest)?;
        let at = self.sql.split_off(start);
        let value = Val { nullable: moment.nullable, ..Val::of(Ty::Text) };
        let value = match name {
            "unixepoch" => {
                if self.postgres {
                    self.sql.push_str(&format!("floor(extract(epoch FROM {at}))::bigint"));
                } else {
                    self.sql.push_str(&format!("TIMESTAMPDIFF(SECOND, {EPOCH}, {at})"));
                }
                Val { ty: Ty::Int, strength: Strength::Operator, ..value }
            }
            "julianday" => {
                if self.postgres {
                    self.sql.push_str(&format!(
                        "((round(extract(epoch FROM {at}) * 1000) + {JULIAN_EPOCH_MS})::float8 / 86400000::float8)"
                    ));
                } else {
                    self.sql.push_str(&format!(
                        "((TIMESTAMPDIFF(MICROSECOND, {EPOCH}, {at}) DIV 1000 + {JULIAN_EPOCH_MS}) / 86400000e0)"
                    ));
                }
                Val { ty: Ty::Real, ..value }
            }
            _ => {
                let digits = ["%s", "%Y", "%m", "%d", "%H", "%M", "%S", "%j", "%w", "%u"].contains(&format.as_str());
                Val { digits, ..self.formatted(token, &format, &at, value)? }
            }
        };
        Ok(Some(value))
    }

    /// Writes a moment: `timestamp` on PostgreSQL, DATETIME on MariaDB.
    fn moment(&mut self, token: &'a str, args: &'a [Expr<'a>]) -> R<Val> {
        let start = self.at();
        let (first, mut modifiers) = match args {
            [] => (None, args),
            [first, rest @ ..] => (Some(first), rest),
        };
        let mut moment = Val::of(Ty::Text);
        match first.map(|f| (f, text_of(f))) {
            None => moment = self.now(),
            Some((_, Some(text))) if text.eq_ignore_ascii_case("now") => moment = self.now(),
            Some((_, Some(text))) => match canonical(&text) {
                Some(text) => {
                    self.fire(Id::Dates);
                    self.put("TIMESTAMP");
                    push_text(&mut self.sql, &text);
                    moment.nullable = false;
                }
                None => return no(Id::Dates, token, format!("`{text}` as a moment")),
            },
            Some((seconds, None)) => {
                let unix = modifiers.first().and_then(text_of).is_some_and(|m| m.eq_ignore_ascii_case("unixepoch"));
                self.fire(Id::Dates);
                if unix {
                    modifiers = &modifiers[1..];
                    let value = self.numeric_operand(seconds, Ty::Int)?;
                    if value.ty != Ty::Int {
                        return no(Id::Dates, token, "seconds that are no integer");
                    }
                    if self.postgres {
                        self.wrap(start, "(to_timestamp(", ") AT TIME ZONE 'UTC')");
                    } else {
                        self.wrap(start, "TIMESTAMPADD(SECOND, ", &format!(", {EPOCH})"));
                    }
                    moment.nullable = value.nullable;
                } else {
                    let value = self.value(seconds, Ty::Text)?;
                    if !matches!(value.ty, Ty::Text | Ty::Param) {
                        return no(Id::Dates, token, format!("{} as a moment", value.ty.word()));
                    }
                    let text = self.sql.split_off(start);
                    if self.postgres && self.options.pack {
                        self.sql.push_str(&format!("contend_sql.moment({text})"));
                    } else if self.postgres {
                        self.sql.push_str(&format!(
                            "CASE WHEN rtrim({text}, 'Z') ~ '{MOMENT}' THEN rtrim({text}, 'Z')::timestamp END"
                        ));
                        self.wrap(start, "(", ")");
                    } else {
                        let bare = format!("TRIM(TRAILING 'Z' FROM {text})");
                        self.sql.push_str(&format!(
                            "(CASE WHEN {bare} REGEXP '{MOMENT}' THEN CAST({bare} AS DATETIME(3)) END)"
                        ));
                    }
                }
            }
        }
        for modifier in modifiers {
            let Some(text) = text_of(modifier) else {
                return no(Id::Dates, token, "a modifier that is not a text literal");
            };
            self.fire(Id::Dates);
            self.modify(token, start, text.trim().to_ascii_lowercase())?;
        }
        Ok(moment)
    }

    fn now(&mut self) -> Val {
        self.fire(Id::CurrentTime);
        self.either("(statement_timestamp() AT TIME ZONE 'UTC')", "UTC_TIMESTAMP(3)");
        Val::of(Ty::Text).never_null()
    }

    /// Applies a modifier to the moment written from `start` on.
    fn modify(&mut self, token: &str, start: usize, modifier: String) -> R<()> {
        let refused = || no(Id::Dates, token, format!("the modifier `{modifier}`"));
        let moment = self.sql.split_off(start);
        let sql = if let Some(unit) = modifier.strip_prefix("start of ") {
            match (unit, self.postgres) {
                ("day" | "month" | "year", true) => format!("date_trunc('{unit}', {moment})"),
                ("day", false) => format!("CAST(DATE({moment}) AS DATETIME)"),
                ("month", false) => format!("CAST(DATE_FORMAT({moment}, '%Y-%m-01') AS DATETIME)"),
                ("year", false) => format!("CAST(DATE_FORMAT({moment}, '%Y-01-01') AS DATETIME)"),
                _ => return refused(),
            }
        } else if let Some(day) = modifier.strip_prefix("weekday ") {
            match (day.trim().parse::<u8>(), self.postgres) {
                (Ok(day @ 0..=6), true) => {
                    format!("({moment} + (({day} + 7 - extract(dow FROM {moment})::int) % 7) * interval '1 day')")
                }
                (Ok(day @ 0..=6), false) => {
                    format!("({moment} + INTERVAL (({day} + 8 - DAYOFWEEK({moment})) % 7) DAY)")
                }
                _ => return refused(),
            }
        } else {
            let (count, unit) = modifier.split_once(' ').unwrap_or((&modifier, ""));
            let unit = unit.trim().trim_end_matches('s');
            let Ok(count) = count.parse::<i32>() else { return refused() };
            match (unit, self.postgres) {
                ("day" | "hour" | "minute" | "second", true) => format!("({moment} + interval '{count} {unit}s')"),
                ("day" | "hour" | "minute" | "second", false) => {
                    format!("({moment} + INTERVAL {count} {})", unit.to_ascii_uppercase())
                }
                // A day beyond the month's end goes on into the next month.
                ("month" | "year", true) => format!(
                    "(date_trunc('month', {moment}) + interval '{count} {unit}s' + ({moment} - date_trunc('month', {moment})))"
                ),
                ("month" | "year", false) => {
                    let days = format!("INTERVAL (DAYOFMONTH({moment}) - 1) DAY");
                    format!("({moment} - {days} + INTERVAL {count} {} + {days})", unit.to_ascii_uppercase())
                }
                _ => return refused(),
            }
        };
        self.put(&sql);
        Ok(())
    }

    /// Writes a moment in one of strftime's formats.
    fn formatted(&mut self, token: &str, format: &str, at: &str, mut value: Val) -> R<Val> {
        let (mut parts, mut template): (Vec<String>, String) = (vec![], String::new());
        let mut rest = format.chars();
        let postgres = self.postgres;
        let flush = |template: &mut String, parts: &mut Vec<String>| {
            if !template.is_empty() {
                let mut quoted = String::new();
                push_text(&mut quoted, &std::mem::take(template));
                parts.push(if postgres {
                    format!("to_char({at}, {quoted})")
                } else {
                    format!("DATE_FORMAT({at}, {quoted})")
                });
            }
        };
        while let Some(c) = rest.next() {
            if c != '%' {
                match (postgres, c) {
                    (true, '"' | '\\') => template.push_str(&format!("\"\\{c}\"")),
                    (true, c) if c.is_alphanumeric() => template.push_str(&format!("\"{c}\"")),
                    _ => template.push(c),
                }
                continue;
            }
            let (pg, my) = match rest.next() {
                Some('Y') => ("YYYY", "%Y"),
                Some('m') => ("MM", "%m"),
                Some('d') => ("DD", "%d"),
                Some('H') => ("HH24", "%H"),
                Some('M') => ("MI", "%i"),
                Some('S') => ("SS", "%s"),
                Some('j') => ("DDD", "%j"),
                Some('F') => ("YYYY-MM-DD", "%Y-%m-%d"),
                Some('T') => ("HH24:MI:SS", "%H:%i:%s"),
                Some('R') => ("HH24:MI", "%H:%i"),
                Some('%') => ("%", "%%"),
                Some(special @ ('s' | 'w' | 'f' | 'u')) => {
                    flush(&mut template, &mut parts);
                    parts.push(match (special, postgres) {
                        ('s', true) => format!("floor(extract(epoch FROM {at}))::bigint::text"),
                        ('s', false) => {
                            format!("{}TIMESTAMPDIFF(SECOND, {EPOCH}, {at}){}", INTEGER_TEXT.0, INTEGER_TEXT.1)
                        }
                        ('w', true) => format!("extract(dow FROM {at})::int::text"),
                        ('w', false) => format!("DATE_FORMAT({at}, '%w')"),
                        ('u', true) => format!("extract(isodow FROM {at})::int::text"),
                        ('u', false) => format!("{}WEEKDAY({at}) + 1{}", INTEGER_TEXT.0, INTEGER_TEXT.1),
                        (_, true) => format!("to_char({at}, 'SS.MS')"),
                        (_, false) => format!("COALESCE(LEFT(DATE_FORMAT({at}, '%s.%f'), 6))"),
                    });
                    continue;
                }
                other => return no(Id::Dates, token, format!("the format %{}", other.unwrap_or(' '))),
            };
            template.push_str(if postgres { pg } else { my });
        }
        flush(&mut template, &mut parts);
        match &parts[..] {
            [] => self.put("''"),
            [one] => self.put(one),
            _ if postgres => {
                self.put(&parts.join(" || "));
                value.strength = Strength::Operator;
            }
            _ => {
                self.put("CONCAT(");
                self.put(&parts.join(", "));
                self.put(")");
            }
        }
        if parts.len() == 1 && parts[0].contains("::") {
            value.strength = Strength::Operator;
        }
        Ok(value)
    }
}

/// A literal moment with date and time, or nothing where SQLite would say NULL or something unexpected.
fn canonical(text: &str) -> Option<String> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let digits = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let shape = |from: usize, shape: &str| {
        let part = text.get(from..from + shape.len());
        part.is_some_and(|part| {
            part.chars()
                .zip(shape.chars())
                .all(|(c, s)| if s == '0' { c.is_ascii_digit() } else { c == s || s == ' ' && c == 'T' })
        })
    };
    if !shape(0, "0000-00-00") {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // SQLite takes the 31st of any month and goes on into the next.
    if year == 0 || !(1..=31).contains(&day) {
        return None;
    }
    let moved = format!("{year:04}-{:02}-{:02}{}", month + 1, day.saturating_sub(last), &text[10..]);
    let text = if day > last { moved.as_str() } else { text };
    let time = |length| {
        text.len() == length && digits(11, 13).is_some_and(|h| h < 24) && digits(14, 16).is_some_and(|m| m < 60)
    };
    match text.len() {
        10 => Some(format!("{text} 00:00:00")),
        16 if shape(10, " 00:00") && time(16) => Some(format!("{}:00", text.replace('T', " "))),
        19 if shape(10, " 00:00:00") && time(19) && digits(17, 19)? < 60 => Some(text.replace('T', " ")),
        23 if shape(10, " 00:00:00.000") && time(23) && digits(17, 19)? < 60 => Some(text.replace('T', " ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn literal_moments_are_read_as_sqlite_reads_them() {
        assert_eq!(canonical("2024-01-31").as_deref(), Some("2024-01-31 00:00:00"));
        assert!(canonical("2024-02-29").is_some() && canonical("2023-02-31").as_deref() == Some("2023-03-03 00:00:00"));
        assert_eq!(canonical("2024-01-31T12:30Z").as_deref(), Some("2024-01-31 12:30:00"));
        assert_eq!(canonical("2024-01-31 25:00"), None);
        assert_eq!(canonical("tomorrow"), None);
    }
}
