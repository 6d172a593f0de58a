//! Random statements over values whose type depends on the row: out of JSON, in a column without a type, and one of
//! several. They need the function pack.

use super::generate::Generated;
use super::random::Random;

const SCHEMA: &str = "CREATE TABLE m (id INTEGER PRIMARY KEY, j TEXT, a, i INTEGER, s TEXT, r REAL)";
const ROWS: usize = 16;
const LABELS: [&str; 4] = ["a", "b", "c d", "é"];
const SCALARS: [&str; 16] = [
    "0",
    "5",
    "-5",
    "5.0",
    "2.50",
    "1e2",
    "-0.25",
    "true",
    "false",
    "null",
    "\"5\"",
    "\"\"",
    "\"B\"",
    "\"a\\\"\\u00e9\"",
    "9007199254740991",
    "123456789012",
];
const LITERALS: [&str; 12] =
    ["0", "5", "-5", "5.0", "2.5", "'5'", "''", "'B'", "'5.0'", "x'35'", "x''", "123456789012"];
const TEXTS: [&str; 8] = ["5", "5.0", "", "B", "b", " 5", "2.5x", "-5"];
const COMPARISONS: [&str; 8] = ["=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT"];

pub struct Kinds {
    pub random: Random,
}

impl Kinds {
    pub fn new(seed: u64) -> Kinds {
        Kinds { random: Random(seed ^ 0x2545_F491_4F6C_DD1D) }
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        self.random.pick::<&str>(of)
    }

    fn json(&mut self, depth: u32) -> String {
        let blank = self.pick(&["", "", " ", "\n\t"]);
        let inner = match self.random.below(if depth == 0 { 1 } else { 4 }) {
            0 => self.pick(&SCALARS).to_string(),
            1 => {
                let items: Vec<String> = (0..self.random.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            _ => {
                // json_each() of an object with two members of one name is an error on MariaDB.
                let from = self.random.below(LABELS.len());
                let members = LABELS[from..].iter().map(|label| format!("\"{label}\" :{}", self.json(depth - 1)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
        };
        format!("{blank}{inner}{blank}")
    }

    fn nullable(&mut self, of: &[&'static str]) -> String {
        if self.random.chance(15) { "NULL".to_string() } else { self.pick(of).to_string() }
    }

    /// The table and its rows.
    pub fn filled(&mut self) -> Vec<String> {
        let mut all = vec![SCHEMA.to_string()];
        for id in 1..=ROWS {
            let (j, a) = (self.json(3), self.nullable(&LITERALS));
            let (i, r) =
                (self.nullable(&["0", "5", "-5", "123456789012"]), self.nullable(&["0.0", "5.0", "2.5", "-0.25"]));
            let s = self.pick(&TEXTS);
            all.push(format!("INSERT INTO m VALUES ({id}, '{j}', {a}, {i}, '{s}', {r})"));
        }
        all
    }

    fn step(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("[{}]", self.random.below(3)),
            1 => format!("[#-{}]", self.random.below(2) + 1),
            _ => format!(".\"{}\"", self.pick(&LABELS)),
        }
    }

    fn path(&mut self) -> String {
        let steps: Vec<String> = (0..self.random.below(3)).map(|_| self.step()).collect();
        format!("'${}'", steps.concat())
    }

    /// A value of any type.
    fn any(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(8) {
                0..=2 => "a".to_string(),
                3 => format!("j ->> '{}'", self.pick(&LABELS)),
                4 => format!("j ->> {}", self.random.below(4) as i64 - 2),
                5 => format!("json_extract(j, {} || '')", self.path()),
                _ => format!("json_extract(j, {})", self.path()),
            };
        }
        let d = depth - 1;
        match self.random.below(11) {
            0 => format!("coalesce({}, {}, {})", self.any(d), self.typed(), self.any(0)),
            1 => format!("CASE WHEN {} THEN {} ELSE {} END", self.condition(d), self.any(d), self.typed()),
            2 => format!("{}({}, {})", self.pick(&["max", "min"]), self.any(d), self.typed()),
            3 => format!("({}) {} ({})", self.any(d), self.pick(&["+", "-", "*", "/", "%"]), self.number()),
            4 => format!("({}) {} ({})", self.number(), self.pick(&["+", "-", "*", "/"]), self.any(d)),
            5 => format!("nullif({}, {})", self.any(d), self.typed()),
            6 => format!("-({})", self.any(d)),
            7 => format!("{}({})", self.pick(&["floor", "ceil", "trunc", "sqrt"]), self.any(d)),
            8 => format!("CAST({} AS NUMERIC)", self.any(d)),
            _ => self.any(0),
        }
    }

    fn number(&mut self) -> String {
        if self.random.chance(40) { self.any(0) } else { self.pick(&["i", "r", "2", "0.5", "3", "0"]).to_string() }
    }

    fn typed(&mut self) -> String {
        if self.random.chance(40) { self.pick(&LITERALS).to_string() } else { self.pick(&["i", "s", "r"]).to_string() }
    }

    /// A value of a known type made of one of any.
    fn made(&mut self) -> String {
        let any = self.any(1);
        match self.random.below(11) {
            9 => format!("substr({any}, {})", self.pick(&["1, 1", "2", "-2"])),
            10 => format!("count(*) OVER (PARTITION BY {any})"),
            0 => format!("typeof({any})"),
            1 => format!("CAST({any} AS INTEGER)"),
            2 => format!("CAST({any} AS REAL)"),
            3 => format!("({any}) || '!'"),
            4 => format!("length({any})"),
            5 => format!("j -> {}", self.path()),
            6 => format!("json_type(j, {})", self.path()),
            7 => format!("json_array_length(j, {})", self.path()),
            _ => "json(j)".to_string(),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let (any, operator) = (self.any(depth), self.pick(&COMPARISONS));
        match self.random.below(9) {
            8 => format!("({any}) LIKE '5%'"),
            0 => format!("({any}) {operator} ({})", self.any(0)),
            1 => format!("{} {operator} ({any})", self.typed()),
            2 => format!("({any}) IN ({}, {}, {})", self.typed(), self.pick(&LITERALS), self.any(0)),
            3 => format!("({any}) BETWEEN {} AND {}", self.typed(), self.typed()),
            4 => format!("({any}) IS NOT NULL"),
            5 => format!("i IN (SELECT value FROM json_each(m.j, {}))", self.path()),
            6 => format!("({any})"),
            _ => format!("({any}) {operator} {}", self.typed()),
        }
    }

    pub fn select(&mut self) -> Generated {
        let id = self.random.below(ROWS) + 1;
        let (sql, ordered) = match self.random.below(10) {
            0 | 1 => (format!("SELECT id, {}, {} FROM m WHERE id = {id}", self.any(2), self.made()), false),
            2 | 3 => (format!("SELECT id FROM m WHERE {}", self.condition(1)), false),
            4 | 5 => (format!("SELECT id, {} FROM m ORDER BY {}, id", self.any(1), self.any(1)), true),
            6 => (format!("SELECT {}({}), count(a) FROM m", self.pick(&["sum", "total", "avg"]), self.any(0)), false),
            7 => {
                let columns = self.pick(&["value", "key", "atom", "type", "typeof(value), value"]);
                (format!("SELECT m.id, {columns} FROM m, json_each(m.j, {}) WHERE m.id = {id}", self.path()), false)
            }
            8 => (format!("SELECT x.id, y.id FROM m AS x JOIN m AS y ON x.a {} y.a", self.pick(&["=", "<"])), false),
            _ => (format!("SELECT id, a, {} FROM m WHERE {}", self.made(), self.condition(0)), false),
        };
        Generated { sql, params: vec![], ordered }
    }

    pub fn change(&mut self) -> Generated {
        let id = self.random.below(ROWS) + 1;
        let sql = match self.random.below(4) {
            0 => format!("UPDATE m SET a = {} WHERE id = {id}", self.any(1)),
            1 => format!("UPDATE m SET j = '{}', a = {} WHERE id = {id}", self.json(2), self.typed()),
            2 => format!(
                "INSERT INTO m (id, j, a) VALUES ({id}, '[]', {}) ON CONFLICT (id) DO UPDATE SET a = excluded.a",
                self.pick(&LITERALS)
            ),
            _ => format!("UPDATE m SET a = {} WHERE {}", self.typed(), self.condition(0)),
        };
        Generated { sql, params: vec![], ordered: false }
    }
}
