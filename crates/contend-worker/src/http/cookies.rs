//! A client's cookies, by name and value. Attributes that do not delete a cookie are ignored, because a client uses one
//! service only.

use crate::clock::wall_ns;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The cookies of one client, and the header line they make.
#[derive(Debug, Default)]
pub struct Jar {
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
    line: Vec<u8>,
}

impl Jar {
    /// The header line with its end; empty if there are none.
    #[inline]
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Takes the value of a `Set-Cookie` header.
    pub fn set(&mut self, header: &[u8]) {
        let mut parts = header.split(|b| *b == b';');
        let pair = parts.next().unwrap_or_default();
        let Some(at) = pair.iter().position(|b| *b == b'=') else { return };
        let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
        let attribute = |name: &str| {
            parts.clone().find_map(|part| {
                let mut fields = part.splitn(2, |b| *b == b'=').map(<[u8]>::trim_ascii);
                fields.next().filter(|found| found.eq_ignore_ascii_case(name.as_bytes())).and(fields.next())
            })
        };
        // An age takes precedence over a date.
        let deleted = match (attribute("max-age"), attribute("expires").and_then(seconds)) {
            (Some(age), _) => age == b"0" || age.starts_with(b"-"),
            (None, Some(at)) => at <= (wall_ns() / 1_000_000_000) as i64,
            (None, None) => false,
        };
        let known = self.cookies.iter_mut().find(|(known, _)| known == name);
        match (known, deleted) {
            (Some((_, old)), false) if old == value => return,
            (Some((_, old)), false) => value.clone_into(old),
            (None, false) => self.cookies.push((name.to_vec(), value.to_vec())),
            (_, true) => self.cookies.retain(|(known, _)| known != name),
        }
        self.write_line();
    }

    fn write_line(&mut self) {
        self.line.clear();
        for (i, (name, value)) in self.cookies.iter().enumerate() {
            self.line.extend_from_slice(if i == 0 { b"Cookie: " } else { b"; " });
            self.line.extend_from_slice(name);
            self.line.push(b'=');
            self.line.extend_from_slice(value);
        }
        if !self.cookies.is_empty() {
            self.line.extend_from_slice(b"\r\n");
        }
    }
}

/// Seconds since 1970 of a date such as `Thu, 01 Jan 1970 00:00:00 GMT`, also with hyphens and two digits of the year.
fn seconds(date: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(date).ok()?;
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let [_, day, month, year, hour, minute, second, ..] = words[..] else { return None };
    let number = |text: &str| text.parse::<u16>().ok().map(i64::from);
    let month = MONTHS.iter().position(|known| known.eq_ignore_ascii_case(month))? as i64;
    let year = match number(year)? {
        short @ 0..=69 => 2000 + short,
        short @ 70..=99 => 1900 + short,
        year => year,
    };
    // A year that begins with March ends with its leap day.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + number(day)? - 1 - 719_468;
    Some(((days * 24 + number(hour)?) * 60 + number(minute)?) * 60 + number(second)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_set_replaced_and_deleted() {
        let mut jar = Jar::default();
        jar.set(b"sid=abc; Path=/; HttpOnly");
        jar.set(b"lang = de");
        jar.set(b"no pair");
        assert_eq!(jar.line(), b"Cookie: sid=abc; lang=de\r\n");
        jar.set(b"sid=a=b; Max-Age=60");
        assert_eq!(jar.line(), b"Cookie: sid=a=b; lang=de\r\n");
        jar.set(b"sid=; max-age=0");
        jar.set(b"lang=; Max-Age=-1");
        assert_eq!(jar.line(), b"");
        jar.set(b"sid=abc; Expires=Fri, 31 Dec 9999 23:59:59 GMT");
        jar.set(b"age=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(jar.line(), b"Cookie: sid=abc; age=1\r\n");
        jar.set(b"sid=; expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/");
        assert_eq!(jar.line(), b"Cookie: age=1\r\n");
    }

    #[test]
    fn dates_are_counted_from_1970() {
        for (date, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01-Jan-70 00:00:01 GMT", Some(1)),
            ("Tue, 29 Feb 2000 12:30:15 GMT", Some(951_827_415)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sat, 28 Nov 2026 09:40:00 GMT", Some(1_795_858_800)),
            ("Session", None),
            ("Thu, 01 Foo 1970 00:00:00 GMT", None),
        ] {
            assert_eq!(seconds(date.as_bytes()), expected, "{date}");
        }
    }
}
