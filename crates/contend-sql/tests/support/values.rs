//! Random statements about values whose meaning hangs on their spelling: moments in texts, texts cast to numbers, reals
//! near the ends of 64 bits, texts on their way into a column of NUMERIC affinity, rows that replace what they read.

use super::generate::Generated;
use super::random::Random;

/// Tables of their own, and their rows.
const SCHEMA: [&str; 2] = [
    "CREATE TABLE v (id INTEGER PRIMARY KEY, k TEXT NOT NULL UNIQUE, w INTEGER UNIQUE, m TEXT, c TEXT, big REAL, d DATETIME)",
    "CREATE TABLE kv (k TEXT PRIMARY KEY, n INTEGER, d DATE)",
];
const ROWS: usize = 24;

const DATES: [&str; 12] = [
    "2024-02-29",
    "2023-02-31",
    "2024-06-15",
    "1969-12-31",
    "0000-01-01",
    "0003-01-02",
    "9998-12-30",
    "2024-13-01",
    "-2024-01-01",
    "2024-1-5",
    "2000-01-01",
    "2024-04-31",
];
const TIMES: [&str; 9] =
    ["12:30", "00:00:00", "23:59:59", "24:00", "10:00:60", "9:30", "10:61", "09:15:07", "10:00:005"];
const FRACTIONS: [&str; 8] = ["", ".5", ".0006", ".9996", ".123456", ".1234567", ".99999999", "."];
const ZONES: [&str; 10] = ["", "", "Z", "z", "ZZ", "+02:00", "-00:30", "+15:00", " Z ", "+2"];
const OTHERS: [&str; 13] = [
    "2460000.5",
    "0.5",
    " 1722425.5 ",
    "-1",
    "1700000000",
    "",
    "x",
    "12",
    "12x",
    "nowadays",
    "2460310.123456789",
    "+2451545",
    "1e6",
];
const BLANKS: [&str; 11] = ["", "", " ", "\t", "\n", "\u{b}", "\u{c}", "\r", "\u{85}", "\u{a0}", "\u{2028}"];
const NUMBERS: [&str; 12] = [
    "12",
    "-7",
    "+3",
    "1.5",
    "1e3",
    ".5x",
    "- 1",
    "99999999999999999999",
    "9223372036854775807",
    "-9223372036854775809",
    "x1",
    "0012",
];
const BIG: [&str; 14] = [
    "9.2e18",
    "9.21e18",
    "-9.21e18",
    "9223372036854775807.0",
    "-9223372036854775808.0",
    "9.3e18",
    "-9.3e18",
    "1e19",
    "-1e300",
    "9223372036854774784.0",
    "4503599627370497.5",
    "-0.5",
    "1.0",
    "NULL",
];
const WORDS: [&str; 8] = ["2024-01-05", "", "n/a", "10:30", "2024-1-5", "2024-01-05 10:00:00", "zz", "Ab"];
const KEYS: [&str; 6] = ["a", "b", "c", "10", "2024", "x y"];
const MODIFIERS: [&str; 8] = [
    "'+1 day'",
    "'-1 month'",
    "'start of month'",
    "'start of day'",
    "'weekday 1'",
    "'+90 minutes'",
    "'+1 year'",
    "' +1 day'",
];
const FORMATS: [&str; 8] = ["%H:%M", "%f", "%s", "%Y-%m-%d %H:%M:%f", "%j", "%Y", "%w", "%Y%m"];

pub struct Values {
    pub random: Random,
}

impl Values {
    pub fn new(seed: u64) -> Values {
        Values { random: Random(seed ^ 0x5DEE_CE66_D1CE_4E5B) }
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        self.random.pick::<&str>(of)
    }

    /// A text that is a moment, or nearly one.
    fn moment(&mut self) -> String {
        let time = |values: &mut Values| {
            let time = values.pick(&TIMES);
            let fraction = if time.len() == 8 { values.pick(&FRACTIONS) } else { "" };
            format!("{time}{fraction}{}", values.pick(&ZONES))
        };
        match self.random.below(10) {
            0 => self.pick(&OTHERS).to_string(),
            1 | 2 => time(self),
            3 => format!("{}{}", self.pick(&DATES), self.pick(&["", "Z", " ", "T", "x"])),
            _ => format!("{}{}{}", self.pick(&DATES), self.pick(&[" ", " ", "T", "  ", "t", "", " T "]), time(self)),
        }
    }

    fn row(&mut self, id: usize) -> String {
        let number = format!("{}{}{}", self.pick(&BLANKS), self.pick(&NUMBERS), self.pick(&BLANKS));
        let (moment, big, word) = (self.moment(), self.pick(&BIG), self.pick(&WORDS));
        format!("({id}, 'k{id}', {}, '{moment}', '{number}', {big}, '{word}')", id * 10)
    }

    /// The tables and their rows.
    pub fn filled(&mut self) -> Vec<String> {
        let mut all: Vec<String> = SCHEMA.iter().map(|sql| sql.to_string()).collect();
        all.extend((1..=ROWS).map(|id| format!("INSERT INTO v (id, k, w, m, c, big, d) VALUES {}", self.row(id))));
        all.push(
            "INSERT INTO kv (k, n, d) VALUES ('a', 41, 'then'), ('10', 2, '2024-01-01'), ('b', NULL, NULL)".to_string(),
        );
        all
    }

    /// A moment's function of the column of moments.
    fn of_moment(&mut self) -> String {
        let modifier = if self.random.chance(30) { format!(", {}", self.pick(&MODIFIERS)) } else { String::new() };
        match self.random.below(7) {
            0 => format!("strftime('{}', m{modifier})", self.pick(&FORMATS)),
            1 => format!("unixepoch(m{modifier})"),
            2 => format!("julianday(m{modifier})"),
            3 => format!("date(m{modifier})"),
            4 => format!("datetime(m{modifier})"),
            5 => {
                let literal = self.moment();
                format!("{}('{literal}'{modifier})", self.pick(&["date", "time", "datetime", "julianday"]))
            }
            _ => format!("time(m{modifier})"),
        }
    }

    /// A text that is stored in a column of dates, or compared with one.
    fn word(&mut self) -> String {
        match self.random.below(16) {
            0 => "date(m)".to_string(),
            1 => "strftime('%s', m)".to_string(),
            2 => "strftime('%Y-%m', '2024-05-06')".to_string(),
            3 => "strftime('%Y', '2024-05-06')".to_string(),
            4 => "substr(m, 1, 4)".to_string(),
            5 => "k".to_string(),
            6 => "c".to_string(),
            7 => "'20' || '24'".to_string(),
            8 => "date('2024-05-06') || ' 10:00'".to_string(),
            9 => "coalesce(d, c)".to_string(),
            10 => "coalesce(d, 'none')".to_string(),
            11 => "(SELECT max(d) FROM kv)".to_string(),
            12 => "(SELECT max(k) FROM kv)".to_string(),
            13 => format!("CASE WHEN id % 2 = 0 THEN d ELSE '{}' END", self.pick(&WORDS)),
            14 => format!("nullif(d, '{}')", self.pick(&WORDS)),
            _ => "lower(m)".to_string(),
        }
    }

    fn finish(sql: String) -> Generated {
        Generated { sql, params: vec![], ordered: false }
    }

    pub fn select(&mut self) -> Generated {
        let list = match self.random.below(8) {
            0..=3 => self.of_moment(),
            4 => "CAST(c AS INTEGER), CAST(c AS REAL)".to_string(),
            5 => "CAST(big AS INTEGER), typeof(d)".to_string(),
            6 => format!("d {} {}", self.pick(&["=", "<", ">", "<=", "IS"]), self.word()),
            _ => {
                let number = format!("{}{}", self.pick(&BLANKS), self.pick(&NUMBERS));
                format!("CAST('{number}' AS INTEGER), CAST('{number}' AS REAL)")
            }
        };
        let condition = match self.random.below(6) {
            0 => format!("d {} {}", self.pick(&["<", ">", "BETWEEN 'a' AND"]), self.word()),
            1 => format!("{} > '09:00'", self.pick(&["time(m)", "datetime(m)", "strftime('%H:%M', m)"])),
            2 => "CAST(c AS INTEGER) > 0".to_string(),
            // Alone, so that a row with an error hides no other.
            _ => format!("id = {}", self.random.below(ROWS) + 1),
        };
        Values::finish(format!("SELECT id, {list} FROM v WHERE {condition}"))
    }

    /// A value for a number, computed from the replaced row.
    fn number(&mut self, table: &str) -> String {
        let (key, n) = (self.pick(&KEYS), self.random.below(40));
        match (self.random.below(5), table) {
            (0, _) => n.to_string(),
            (1, "kv") => format!("coalesce((SELECT n FROM kv WHERE k = '{key}'), 0) + 1"),
            (2, "kv") => "(SELECT count(*) FROM kv)".to_string(),
            (1, _) => format!("coalesce((SELECT w FROM v WHERE k = 'k{n}'), {n}) + 1"),
            (2, _) => "(SELECT count(*) FROM v) * 10".to_string(),
            (3, _) => "NULL".to_string(),
            _ => format!("(SELECT max(n) FROM kv) + {n}"),
        }
    }

    pub fn change(&mut self) -> Generated {
        let replace = self.pick(&["REPLACE", "INSERT OR REPLACE"]);
        let (id, other) = (self.random.below(ROWS) + 1, self.random.below(ROWS) + 1);
        let word = self.word();
        let sql = match self.random.below(6) {
            0 | 1 => format!("UPDATE v SET d = {word} WHERE id = {id}"),
            2 => {
                let (w, c) = (self.number("v"), self.pick(&["'x'", "(SELECT max(k) FROM v WHERE w > 100)", "NULL"]));
                format!("{replace} INTO v (id, k, w, c) VALUES ({id}, 'k{other}', {w}, {c})")
            }
            3 => format!("{replace} INTO kv (k, n) VALUES ('{}', {})", self.pick(&KEYS), self.number("kv")),
            4 => format!(
                "INSERT INTO kv (k, n) VALUES ('{}', {}) ON CONFLICT (k) DO UPDATE SET n = excluded.n, d = excluded.{}",
                self.pick(&KEYS),
                self.random.below(9),
                self.pick(&["k", "d"])
            ),
            _ => format!("INSERT INTO kv (k, d) SELECT 'of {id} {other}', {word} FROM v WHERE id = {id}"),
        };
        Values::finish(sql)
    }
}
