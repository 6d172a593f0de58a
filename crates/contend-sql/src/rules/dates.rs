//! Date and time functions (<https://sqlite.org/lang_datefunc.html>): the first argument and its modifiers give a
//! moment, which is then formatted. All times are UTC.

use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::moments::{EPOCH, canonical, moment_of_text};
use crate::rules::{Id, arithmetic};
use crate::types::{Strength, Ty, Val, number_in_text};

/// Milliseconds from Julian day 0 to 1970.
const JULIAN_EPOCH_MS: &str = "210866760000000";

/// Whole seconds since 1970; correct for fractions before 1970 too.
fn epoch_seconds(at: &str, postgres: bool) -> String {
    match postgres {
        true => format!("floor(extract(epoch FROM {at}))::bigint"),
        // Counted from year 1, because MariaDB truncates towards zero.
        false => format!("(TIMESTAMPDIFF(SECOND, TIMESTAMP'0001-01-01 00:00:00', {at}) - 62135596800)"),
    }
}

/// Milliseconds within the second, rounded but never up to the next second, as in SQLite.
fn milliseconds(at: &str, postgres: bool) -> String {
    match postgres {
        true => format!("LEAST(round(extract(microseconds FROM {at}) % 1000000 / 1000), 999)::int"),
        false => format!("LEAST(ROUND(MICROSECOND({at}) / 1000), 999)"),
    }
}

/// Whether a day after the end of its month is normalised to the next month. A modifier that uses the month, or the
/// start of the day, sees the date as written; older versions of SQLite write it as it is unless a modifier adds to it.
fn rolls(tr: &Tr, modifiers: &[Expr]) -> bool {
    let asks =
        |text: &String| ["month", "year", "start of"].iter().any(|word| text.to_ascii_lowercase().contains(word));
    let adds = |text: &String| text.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let texts: Vec<String> = modifiers.iter().filter_map(text_of).collect();
    !texts.iter().any(asks) && (!tr.input.options.is_older() || texts.first().is_some_and(adds))
}

/// The moment that a text is.
fn moment_of(tr: &Tr, text: &str, modifiers: &[Expr]) -> String {
    let is_older = tr.input.options.pack && tr.input.options.is_older();
    let text = if is_older { format!("contend_sql.old_moment({text})") } else { text.to_string() };
    match tr.input.options.pack {
        true => format!("contend_sql.moment({text}, {})", rolls(tr, modifiers)),
        false => moment_of_text(&text, tr.postgres),
    }
}

/// Whether a moment has more than milliseconds.
fn is_finer(text: &str) -> bool {
    text.split_once('.').is_some_and(|(_, digits)| digits.bytes().take_while(u8::is_ascii_digit).count() > 3)
}

/// Whether texts of this format consist of digits.
fn is_number(format: &str) -> bool {
    matches!(format.strip_prefix('%'), Some(kind) if kind.len() == 1 && "sYmdHMSjwuWUVGI".contains(kind))
}

/// Whether texts of this format are never numbers; tested with digits for all fields.
fn never_a_number(format: &str) -> bool {
    let mut sample = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('%', Some(place)) => {
                rest.next();
                sample.push_str(match place {
                    'F' => "2024-01-01",
                    'T' => "10:00:00",
                    'R' => "10:00",
                    'f' => "10.500",
                    '%' => "%",
                    _ => "10",
                });
            }
            _ => sample.push(c),
        }
    }
    number_in_text(&sample).is_none()
}

fn text_of(expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Literal(Literal::String(token)) => Some(plain(token).into_owned()),
        _ => None,
    }
}

/// A text between double quotes, if it names no column.
fn quoted<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Option<String>> {
    let Expr::Id(id) = bare(expr) else { return Ok(None) };
    let name = plain(id.0);
    if !id.0.starts_with('"') || tr.known.mixed(&name).is_some() || tr.find(None, &name)?.is_some() {
        return Ok(None);
    }
    Ok(tr.known.alias(&name).is_none().then(|| {
        tr.fire(Id::DoubleQuotedText);
        name.into_owned()
    }))
}

/// Translates a date function; `None` if the name is not one.
pub(crate) fn date_function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    let (format, rest) = match (name, args) {
        ("datetime", _) => ("%Y-%m-%d %H:%M:%S".to_string(), args),
        ("date", _) => ("%Y-%m-%d".to_string(), args),
        ("time", _) => ("%H:%M:%S".to_string(), args),
        ("julianday" | "unixepoch", _) => (String::new(), args),
        ("strftime", [format, rest @ ..]) => match text_of(format).or(quoted(tr, format)?) {
            Some(format) => (format, rest),
            None => return no(Id::Dates, token, "a format that is not a text literal"),
        },
        ("timediff" | "strftime", _) => return no(Id::Dates, token, format!("{name}() has no translation")),
        _ => return Ok(None),
    };
    let start = tr.at();
    let moment = moment(tr, token, rest)?;
    let at = tr.out.sql.split_off(start);
    let value = Val { nullable: moment.nullable, ..Val::of(Ty::Text) };
    let value = match name {
        "unixepoch" => {
            let seconds = epoch_seconds(&at, tr.postgres);
            tr.put(&seconds);
            Val { ty: Ty::Int, strength: Strength::Operator, ..value }
        }
        "julianday" => {
            let (seconds, ms) = (epoch_seconds(&at, tr.postgres), milliseconds(&at, tr.postgres));
            let (cast, real) = if tr.postgres { ("::float8", "::float8") } else { ("", "e0") };
            tr.out.sql.push_str(&format!("(({seconds} * 1000 + {ms} + {JULIAN_EPOCH_MS}){cast} / 86400000{real})"));
            Val { ty: Ty::Real, ..value }
        }
        _ => {
            let digits = is_number(&format);
            let wordy = !digits && never_a_number(&format);
            Val { digits, wordy, ..formatted(tr, token, &format, &at, value)? }
        }
    };
    Ok(Some(value))
}

/// Writes a moment: `timestamp` on PostgreSQL, DATETIME on MariaDB.
fn moment<'a>(tr: &mut Tr<'a>, token: &'a str, args: &'a [Expr<'a>]) -> R<Val> {
    let start = tr.at();
    let (first, mut modifiers) = match args {
        [] => (None, args),
        [first, rest @ ..] => (Some(first), rest),
    };
    let mut moment = Val::of(Ty::Text);
    match first.map(|f| (f, text_of(f))) {
        None => moment = now(tr),
        Some((_, Some(text))) if text.eq_ignore_ascii_case("now") => moment = now(tr),
        Some((_, Some(text))) if tr.input.options.is_older() && is_finer(&text) => {
            return no(
                Id::Dates,
                token,
                "a moment finer than milliseconds, which older versions of SQLite round otherwise",
            );
        }
        Some((_, Some(text))) => match canonical(&text, rolls(tr, modifiers)) {
            Some(text) => {
                tr.fire(Id::Dates);
                tr.put("TIMESTAMP");
                push_text(&mut tr.out.sql, &text);
                moment.nullable = false;
            }
            None => return no(Id::Dates, token, "a text literal that is not a valid date or time"),
        },
        Some((seconds, None)) => {
            let unix = modifiers.first().and_then(text_of).is_some_and(|m| m.eq_ignore_ascii_case("unixepoch"));
            tr.fire(Id::Dates);
            if unix {
                modifiers = &modifiers[1..];
                let value = arithmetic::numeric_operand(tr, seconds, Ty::Int)?;
                if value.ty != Ty::Int {
                    return no(Id::Dates, token, "seconds that are not an integer");
                }
                if tr.postgres {
                    tr.wrap(start, "(to_timestamp(", ") AT TIME ZONE 'UTC')");
                } else {
                    tr.wrap(start, "TIMESTAMPADD(SECOND, ", &format!(", {EPOCH})"));
                }
                moment.nullable = value.nullable;
            } else {
                let value = tr.value(seconds, Ty::Text)?;
                if !matches!(value.ty, Ty::Text | Ty::Param) {
                    return no(Id::Dates, token, format!("{} as a moment", value.ty.word()));
                }
                let text = tr.out.sql.split_off(start);
                let sql = moment_of(tr, &text, modifiers);
                tr.put(&sql);
            }
        }
    }
    for modifier in modifiers {
        let Some(text) = text_of(modifier) else {
            return no(Id::Dates, token, "a modifier that is not a text literal");
        };
        tr.fire(Id::Dates);
        modify(tr, token, start, text.to_ascii_lowercase())?;
    }
    Ok(moment)
}

fn now(tr: &mut Tr) -> Val {
    tr.fire(Id::CurrentTime);
    tr.either("(statement_timestamp() AT TIME ZONE 'UTC')", "UTC_TIMESTAMP(3)");
    Val::of(Ty::Text).never_null()
}

/// Applies a modifier to the moment written at `start`.
fn modify(tr: &mut Tr, token: &str, start: usize, modifier: String) -> R<()> {
    let refused = || no(Id::Dates, token, "a modifier that has no translation");
    let moment = tr.out.sql.split_off(start);
    // Some modifiers use the moment several times, so that a chain of them grows exponentially.
    if moment.len() > MOMENT_MAX {
        return no(Id::Depth, token, "too many modifiers");
    }
    let sql = if let Some(unit) = modifier.strip_prefix("start of ") {
        match (unit, tr.postgres) {
            ("day" | "month" | "year", true) => format!("date_trunc('{unit}', {moment})"),
            ("day", false) => format!("CAST(DATE({moment}) AS DATETIME)"),
            ("month", false) => format!("CAST(DATE_FORMAT({moment}, '%Y-%m-01') AS DATETIME)"),
            ("year", false) => format!("CAST(DATE_FORMAT({moment}, '%Y-01-01') AS DATETIME)"),
            _ => return refused(),
        }
    } else if let Some(day) = modifier.strip_prefix("weekday ") {
        match (day.trim().parse::<u8>(), tr.postgres) {
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
        // SQLite allows no white space around a modifier.
        let unit = unit.trim_start();
        let unit = unit.strip_suffix('s').unwrap_or(unit);
        let Ok(count) = count.parse::<i32>() else { return refused() };
        match (unit, tr.postgres) {
            ("day" | "hour" | "minute" | "second", true) => format!("({moment} + interval '{count} {unit}s')"),
            ("day" | "hour" | "minute" | "second", false) => {
                format!("({moment} + INTERVAL {count} {})", unit.to_ascii_uppercase())
            }
            // A day after the end of the month continues into the next month.
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
    tr.put(&sql);
    Ok(())
}

/// Formats a moment with one of strftime's formats.
fn formatted(tr: &mut Tr, token: &str, format: &str, at: &str, mut value: Val) -> R<Val> {
    let mut parts = Parts { postgres: tr.postgres, at, done: vec![], template: String::new() };
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '%' { rest.next() } else { None }) {
            ('%', Some(kind)) if tr.input.options.is_older() && !"dfHjmMsSwWY%".contains(kind) => {
                return no(Id::Dates, token, format!("the format %{kind}, which older versions of SQLite lack"));
            }
            ('%', Some(kind)) if "swfuWU".contains(kind) => parts.special(kind),
            ('%', kind) => match kind.and_then(in_template) {
                Some((pg, my)) => parts.conversion(if tr.postgres { pg } else { my }),
                None => return no(Id::Dates, token, format!("the format %{}", kind.unwrap_or(' '))),
            },
            (c, _) => parts.plain(c),
        }
    }
    parts.flush();
    let parts = parts.done;
    match &parts[..] {
        [] => tr.put("''"),
        [one] => tr.put(one),
        _ if tr.postgres => {
            tr.put(&parts.join(" || "));
            value.strength = Strength::Operator;
        }
        _ => {
            tr.put("CONCAT(");
            tr.put(&parts.join(", "));
            tr.put(")");
        }
    }
    if parts.len() == 1 && (parts[0].contains("::") || parts[0].contains(" || ")) {
        value.strength = Strength::Operator;
    }
    Ok(value)
}

/// Longest moment to which another modifier is applied.
const MOMENT_MAX: usize = 50_000;

/// The template of PostgreSQL's to_char and MariaDB's DATE_FORMAT for a conversion of strftime.
fn in_template(kind: char) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        'Y' => ("YYYY", "%Y"),
        'm' => ("MM", "%m"),
        'd' => ("DD", "%d"),
        'H' => ("HH24", "%H"),
        'M' => ("MI", "%i"),
        'S' => ("SS", "%s"),
        'j' => ("DDD", "%j"),
        'F' => ("YYYY-MM-DD", "%Y-%m-%d"),
        'T' => ("HH24:MI:SS", "%H:%i:%s"),
        'R' => ("HH24:MI", "%H:%i"),
        'V' => ("IW", "%v"),
        'G' => ("IYYY", "%x"),
        'I' => ("HH12", "%h"),
        'p' => ("AM", "%p"),
        '%' => ("%", "%%"),
        _ => return None,
    })
}

/// A format as expressions to concatenate.
struct Parts<'m> {
    postgres: bool,
    /// The moment.
    at: &'m str,
    done: Vec<String>,
    /// The template for one call of the server's function.
    template: String,
}

impl Parts<'_> {
    fn plain(&mut self, c: char) {
        match (self.postgres, c) {
            (true, '"' | '\\') => self.template.push_str(&format!("\"\\{c}\"")),
            (true, c) if c.is_alphanumeric() => self.template.push_str(&format!("\"{c}\"")),
            _ => self.template.push(c),
        }
    }

    /// PostgreSQL matches the longest pattern: SS after SS would be SSSS, the seconds of the day.
    fn conversion(&mut self, pattern: &str) {
        if self.postgres && self.template.chars().last() == pattern.chars().next() {
            self.flush();
        }
        self.template.push_str(pattern);
    }

    fn flush(&mut self) {
        if self.template.is_empty() {
            return;
        }
        let mut quoted = String::new();
        push_text(&mut quoted, &std::mem::take(&mut self.template));
        let function = if self.postgres { "to_char" } else { "DATE_FORMAT" };
        self.done.push(format!("{function}({}, {quoted})", self.at));
    }

    /// A conversion that has no template.
    fn special(&mut self, kind: char) {
        self.flush();
        let at = self.at;
        self.done.push(match (kind, self.postgres) {
            ('s', true) => format!("{}::text", epoch_seconds(at, true)),
            ('s', false) => format!("{}{}{}", INTEGER_TEXT.0, epoch_seconds(at, false), INTEGER_TEXT.1),
            ('w', true) => format!("extract(dow FROM {at})::int::text"),
            ('w', false) => format!("DATE_FORMAT({at}, '%w')"),
            ('u', true) => format!("extract(isodow FROM {at})::int::text"),
            // Weeks begin with the first Monday, or Sunday.
            ('W', true) => {
                format!("lpad(((extract(doy FROM {at})::int + 7 - extract(isodow FROM {at})::int) / 7)::text, 2, '0')")
            }
            ('U', true) => {
                format!("lpad(((extract(doy FROM {at})::int + 6 - extract(dow FROM {at})::int) / 7)::text, 2, '0')")
            }
            ('W' | 'U', false) => {
                let mode = if kind == 'W' { 5 } else { 0 };
                format!("LPAD({}WEEK({at}, {mode}){}, 2, '0')", INTEGER_TEXT.0, INTEGER_TEXT.1)
            }
            ('u', false) => format!("{}WEEKDAY({at}) + 1{}", INTEGER_TEXT.0, INTEGER_TEXT.1),
            (_, true) => format!("to_char({at}, 'SS.') || lpad({}::text, 3, '0')", milliseconds(at, true)),
            (_, false) => format!("CONCAT(DATE_FORMAT({at}, '%s.'), LPAD({}, 3, '0'))", milliseconds(at, false)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::never_a_number;

    #[test]
    fn formats_of_which_no_text_is_a_number() {
        let words = ["%Y-%m-%d", "%H:%M", "%F", "at %s", "%Y-%m", "%%", "", "%d.%m.%Y"];
        let numbers = ["%s", "%Y", "%Y%m%d", "%H.%M", "-%s", "%Ye%m", "%f", " %Y"];
        assert!(words.iter().all(|format| never_a_number(format)));
        assert!(!numbers.iter().any(|format| never_a_number(format)));
    }
}
