//! The words of a pasted text, and which of them the text presents as codes.

use contend_wire::sample::CodeSpace;

/// What stands before a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// The name of its kind, as in `SQLSTATE 40001` and `mysql error 1213`.
    Product(&'static [CodeSpace]),
    /// The name of a product alone, as in `MariaDB 5`; the number can also be a version.
    Next(&'static [CodeSpace]),
    /// A word such as `error` or `code`.
    Error,
    None,
}

/// Words of letters, digits and `_`.
pub(super) struct Words<'t> {
    text: &'t str,
    at: Vec<(usize, usize)>,
}

impl<'t> Words<'t> {
    pub fn of(text: &'t str) -> Self {
        let is_of_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let mut at: Vec<(usize, usize)> = vec![];
        for (place, _) in text.bytes().enumerate().filter(|(_, b)| is_of_word(*b)) {
            match at.last_mut() {
                Some((_, end)) if *end == place => *end += 1,
                _ => at.push((place, place + 1)),
            }
        }
        Self { text, at }
    }

    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn word(&self, at: usize) -> &'t str {
        let (begin, end) = self.at[at];
        &self.text[begin..end]
    }

    pub fn all(&self) -> impl Iterator<Item = &'t str> {
        (0..self.len()).map(|at| self.word(at))
    }

    /// The only word, if nothing else is in the text than spaces.
    pub fn only(&self) -> Option<&'t str> {
        (self.len() == 1 && self.text.trim() == self.word(0)).then(|| self.word(0))
    }

    /// What is before a word, back to the word before it. Behind the last word: the rest of the text.
    pub fn gap(&self, at: usize) -> &'t str {
        let begin = if at == 0 { 0 } else { self.at[at - 1].1 };
        &self.text[begin..self.at.get(at).map_or(self.text.len(), |(begin, _)| *begin)]
    }

    /// Numbers that can be codes.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|at| is_number(self.word(*at)) && self.is_whole(*at) && !self.is_measured(*at))
    }

    /// Whether a word is no part of a larger one: a number with a sign or a fraction, a version, an address, a path, a date.
    pub fn is_whole(&self, at: usize) -> bool {
        let mut before = self.gap(at).chars().rev();
        let mut after = self.gap(at + 1).chars();
        let is_digit = |at: Option<usize>| at.filter(|at| *at < self.len()).is_some_and(|at| is_number(self.word(at)));
        let (before, before_it) = (before.next(), before.next());
        // Nothing but this character between two numbers.
        let joined_before = before_it.is_none() && is_digit(at.checked_sub(1));
        let joined_after = {
            let one = after.next();
            one.filter(|_| after.next().is_none() && is_digit(Some(at + 1)))
        };
        let is_sign = |c| matches!(c, '-' | '+' | '\u{2212}') && (joined_before || before_it.is_some() || at == 0);
        let is_joint = |c: char| matches!(c, '.' | '/' | ',' | ':' | '-');
        let is_part = before.is_some_and(|c| matches!(c, '.' | '/') || is_sign(c) || joined_before && is_joint(c));
        !is_number(self.word(at)) || !is_part && !joined_after.is_some_and(is_joint)
    }

    /// Whether a unit or a share follows: `5 s`, `19 rows`.
    fn is_measured(&self, at: usize) -> bool {
        const UNITS: &[&str] = &[
            "ns",
            "us",
            "ms",
            "s",
            "sec",
            "secs",
            "second",
            "seconds",
            "millisecond",
            "milliseconds",
            "min",
            "minute",
            "minutes",
            "h",
            "hour",
            "hours",
            "day",
            "days",
            "kb",
            "mb",
            "gb",
            "kib",
            "mib",
            "gib",
            "bytes",
            "row",
            "rows",
            "times",
            "attempts",
            "tries",
            "retries",
            "connections",
            "clients",
            "requests",
            "operations",
        ];
        let gap = self.gap(at + 1);
        let unit = (at + 1 < self.len()).then(|| self.word(at + 1).to_ascii_lowercase());
        gap.starts_with('%') || gap.trim().is_empty() && unit.is_some_and(|unit| UNITS.contains(&unit.as_str()))
    }

    /// Whether a word stands where programs put codes: at the beginning, in brackets or quotes, or after a colon.
    pub fn is_presented(&self, at: usize) -> bool {
        let is_code = !is_number(self.word(at)) || self.is_whole(at) && !self.is_measured(at);
        let gap = self.gap(at);
        // `host:5432`, `app.py:19`
        let is_place = gap.ends_with(':') && at > 0;
        let last = gap.trim_end().chars().next_back();
        // `(517)` and `(1205, 'Lock wait ...')`, but not `VALUES (5)` and `[parameters: (5,)]`.
        let after = self.gap(at + 1);
        let is_value = at > 0 && self.word(at - 1).eq_ignore_ascii_case("values");
        let is_closed = after.starts_with(')') || after.starts_with(", '") || after.starts_with(", \"");
        is_code
            && !is_place
            && (last != Some('(') || is_closed && !is_value)
            && last.map_or(at == 0, |c| "([{:'\"#`".contains(c))
    }

    /// What names the kind of this word.
    pub fn label(&self, at: usize) -> Label {
        if is_number(self.word(at)) && (!self.is_whole(at) || self.is_measured(at)) {
            return Label::None;
        }
        let mut is_error = false;
        let mut next = at;
        while next > 0 && is_link(self.gap(next)) {
            next -= 1;
            let word = self.word(next).to_ascii_lowercase();
            if let Some(spaces) = self.kind(next) {
                return match is_error || !is_product(&word) {
                    true if self.is_of_exit(next) => Label::None,
                    true => Label::Product(spaces),
                    false => Label::Next(spaces),
                };
            }
            // The version between `HTTP` and the status.
            let is_version = is_number(&word) && matches!(self.gap(next), "/" | ".");
            let is_filler = is_filler(&word);
            if !is_filler && !is_version {
                break;
            }
            is_error |= is_filler;
        }
        if is_error && !self.is_of_exit(next + 1) { Label::Error } else { Label::None }
    }

    /// Whether a word follows `exit`: the status of a process is no error of a database.
    fn is_of_exit(&self, at: usize) -> bool {
        let words = at.saturating_sub(2)..at.min(self.len());
        words.into_iter().any(|at| matches!(self.word(at), "exit" | "exited" | "Exit"))
    }

    /// The kinds that a word names before a code.
    fn kind(&self, at: usize) -> Option<&'static [CodeSpace]> {
        let word = self.word(at).to_ascii_lowercase();
        let is_after = |before: &str| at > 0 && self.word(at - 1).eq_ignore_ascii_case(before);
        match word.as_str() {
            "http" | "status" | "httperror" => Some(&[CodeSpace::Http]),
            "sqlstate" => Some(&[CodeSpace::Sqlstate]),
            "state" if is_after("sql") => Some(&[CodeSpace::Sqlstate]),
            "errno" => Some(&[CodeSpace::Os, CodeSpace::Mysql]),
            "os" => Some(&[CodeSpace::Os]),
            _ => product(&word),
        }
    }

    /// The kinds of code that the named products have; all of them if no product is named.
    pub fn context(&self) -> Vec<CodeSpace> {
        let of_client =
            |word: &str| matches!(word, "curl" | "urllib" | "urllib3" | "requests" | "axios" | "httpx" | "nginx");
        let of = |word: &str| {
            let word = word.to_ascii_lowercase();
            let http: Option<&[CodeSpace]> = of_client(&word).then_some(&[CodeSpace::Http, CodeSpace::Os]);
            product(&word).or(http)
        };
        let named: Vec<CodeSpace> = self.all().filter_map(of).flatten().copied().collect();
        if named.is_empty() { CodeSpace::ALL.to_vec() } else { named }
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether only punctuation that joins a label with its code is between them.
fn is_link(gap: &str) -> bool {
    gap.chars().all(|c| " :=#([{'\"/.-".contains(c)) && !gap.ends_with(". ")
}

fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "error"
            | "err"
            | "code"
            | "errcode"
            | "number"
            | "no"
            | "nr"
            | "rc"
            | "result"
            | "extended"
            | "returned"
            | "sqlcode"
    )
}

fn is_product(word: &str) -> bool {
    product(word).is_some()
}

/// The kind of code of a product, of its drivers and of its programs.
fn product(word: &str) -> Option<&'static [CodeSpace]> {
    let begins = |all: &[&str]| all.iter().any(|begin| word.starts_with(begin));
    // Names of codes begin like the product.
    if word.contains('_') && !word.starts_with("sqlite3_") {
        None
    } else if begins(&["sqlite"]) {
        Some(&[CodeSpace::Sqlite])
    } else if begins(&["mysql", "mariadb", "pymysql", "innodb"]) {
        Some(&[CodeSpace::Mysql])
    } else if begins(&["postgres", "psycopg", "pgx", "psql", "asyncpg", "npgsql", "libpq"])
        || matches!(word, "pg" | "pq")
    {
        Some(&[CodeSpace::Sqlstate])
    } else {
        None
    }
}
