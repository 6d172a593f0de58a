//! Random statements over a small schema, with the types that SQLite expects, so that every difference in rows is a
//! fault of the translation. Plain statements use only what all three engines support.

use super::random::Random;
use super::tables::{Source, T, U};
use super::value::Value;

const TEXTS: [&str; 18] =
    ["", "a", "A", "ab", "Ab ", "b%", "é", "É", "x_y", "10", "-3", " z", "a\\b", "日本", "zz", "it''s", "B", "a "];
const PATTERNS: [&str; 8] = ["a%", "%B", "_b", "%", "", "x\\_y", "%é%", "a_"];
const GLOBS: [&str; 6] = ["a*", "?b", "[a-b]*", "*", "[^a]?", "A*"];
const FUNCTIONS: [&str; 9] = ["sqrt", "exp", "ln", "log10", "sin", "cos", "atan", "degrees", "acos"];
const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// A statement, its parameters, and whether the order of its rows is total.
#[derive(Debug, Clone)]
pub struct Generated {
    pub sql: String,
    pub params: Vec<Value>,
    pub ordered: bool,
}

pub struct Generator {
    pub random: Random,
    /// Whether only features of all three engines are used.
    pub plain: bool,
    scope: Vec<Source>,
    params: Vec<Value>,
    /// The last key used. The generator assigns all keys, because servers do not reuse deleted ones.
    key: usize,
}

impl Generator {
    pub fn new(seed: u64, plain: bool) -> Generator {
        Generator { random: Random(seed), plain, scope: vec![], params: vec![], key: 100 }
    }

    /// Rows for both tables.
    pub fn rows(&mut self) -> Vec<String> {
        let mut all = vec![];
        for id in 1..=10 {
            let (a, r, x) = (self.nullable_integer(), self.nullable_real(), self.nullable_text());
            let (b, y, f) = (self.random.below(9), self.text_literal(), self.random.below(2));
            all.push(format!("INSERT INTO t (id, a, b, r, x, y, f) VALUES ({id}, {a}, {b}, {r}, {x}, {y}, {f})"));
        }
        for id in 1..=12 {
            let (t, n) = (self.random.below(12), self.nullable_integer());
            let (s, w) = (self.nullable_text(), self.nullable_real());
            all.push(format!("INSERT INTO u (id, t, n, s, w) VALUES ({id}, {t}, {n}, {s}, {w})"));
        }
        all
    }

    fn nullable_integer(&mut self) -> String {
        if self.random.chance(20) { "NULL".to_string() } else { (self.random.below(15) as i64 - 5).to_string() }
    }

    fn nullable_real(&mut self) -> String {
        if self.random.chance(20) { "NULL".to_string() } else { self.real_literal() }
    }

    fn nullable_text(&mut self) -> String {
        if self.random.chance(20) { "NULL".to_string() } else { self.text_literal() }
    }

    /// A multiple of a quarter, so that sums are exact in any order.
    fn real_literal(&mut self) -> String {
        format!("{:?}", (self.random.below(41) as f64 - 20.0) / 4.0)
    }

    fn text_literal(&mut self) -> String {
        let texts = if self.plain { &TEXTS[..4] } else { &TEXTS[..] };
        format!("'{}'", self.random.pick(texts))
    }

    fn bound(&mut self, value: Value) -> String {
        self.params.push(value);
        format!("?{}", self.params.len())
    }

    fn column(&mut self, of: fn(&Source) -> &'static [&'static str]) -> String {
        let source = *self.random.pick(&self.scope.clone());
        format!("{}.{}", source.alias, self.random.pick(of(&source)))
    }

    fn integer(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.chance(25) {
            return match self.random.below(10) {
                0..=5 => self.column(|s| s.integers),
                6 if !self.plain => {
                    let value = self.random.below(9) as i64;
                    self.bound(Value::Integer(value))
                }
                _ => (self.random.below(12) as i64 - 2).to_string(),
            };
        }
        let d = depth - 1;
        match self.random.below(if self.plain { 7 } else { 21 }) {
            0 => format!("({} + {})", self.integer(d), self.integer(d)),
            1 => format!("({} - {})", self.integer(d), self.integer(d)),
            2 => format!("({} * {})", self.integer(d), self.integer(d)),
            3 => format!("coalesce({}, {})", self.integer(d), self.integer(d)),
            4 => format!("CASE WHEN {} THEN {} ELSE {} END", self.condition(d), self.integer(d), self.integer(d)),
            5 => format!("{}({})", self.random.pick(&["abs", "abs", "sign"]), self.integer(d)),
            6 => format!("nullif({}, {})", self.integer(d), self.integer(d)),
            7 => format!("{} / {}", self.integer(0), self.integer(d)),
            8 => format!("{} % {}", self.integer(0), self.integer(d)),
            9 => format!("({})", self.condition(d)),
            10 => format!("length({})", self.text(d)),
            11 => format!("instr({}, {})", self.text(d), self.text(0)),
            12 => format!("max({}, {})", self.integer(d), self.integer(d)),
            13 => format!("min({}, {})", self.integer(d), self.integer(d)),
            14 => format!("({} & {})", self.integer(d), self.integer(d)),
            15 => format!("({} | ~{})", self.integer(d), self.integer(0)),
            16 => format!("CAST({} AS INTEGER)", self.real(d)),
            17 => format!("ifnull(-({}), {})", self.integer(0), self.integer(d)),
            // No text of the generator begins with a real.
            18 => format!("({} + {})", self.column(|s| s.texts), self.integer(d)),
            19 => format!("({} % {})", self.integer(0), self.column(|s| s.texts)),
            _ => self.subquery(d),
        }
    }

    /// A number out of the other table, for each row.
    fn subquery(&mut self, depth: u32) -> String {
        let outer = self.scope.clone();
        self.scope.push(Source { alias: "v", ..U });
        let of = *self.random.pick(&["count(*)", "max(v.n)", "sum(v.n)", "count(v.s)", "min(v.t)"]);
        let condition = self.condition(depth);
        self.scope = outer;
        format!("(SELECT {of} FROM u AS v WHERE v.t = {} AND {condition})", self.integer(0))
    }

    fn real(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.chance(30) {
            return if self.random.chance(60) { self.column(|s| s.reals) } else { self.real_literal() };
        }
        let d = depth - 1;
        match self.random.below(if self.plain { 4 } else { 12 }) {
            0 => format!("({} + {})", self.real(d), self.real(d)),
            1 => format!("({} - {})", self.real(d), self.integer(d)),
            2 => format!("coalesce({}, {})", self.real(d), self.real(d)),
            3 => format!("CASE WHEN {} THEN {} ELSE {} END", self.condition(d), self.real(d), self.real(d)),
            4 => format!("({} / {})", self.real(d), self.real(d)),
            5 => format!("round({})", self.real(d)),
            6 => format!("CAST({} AS REAL)", self.integer(d)),
            7 => format!("{}({})", self.random.pick(&["floor", "ceil", "trunc"]), self.real(d)),
            8 => format!("mod({}, {})", self.real(d), self.real(0)),
            9 => format!("pow({}, 2)", self.real(0)),
            // Rounded, so that sums are exact in any order.
            10 => format!("round(8 * {}({}))", self.random.pick(&FUNCTIONS), self.real(0)),
            _ => format!("abs({} * {})", self.real(d), self.integer(0)),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.chance(30) {
            return match self.random.below(10) {
                0..=5 => self.column(|s| s.texts),
                6 if !self.plain => {
                    let text = self.random.pick(&TEXTS[..4]).as_bytes().to_vec();
                    self.bound(Value::Text(text))
                }
                _ => self.text_literal(),
            };
        }
        let d = depth - 1;
        match self.random.below(if self.plain { 3 } else { 12 }) {
            0 => format!("coalesce({}, {})", self.text(d), self.text(d)),
            1 => format!("({} || {})", self.text(d), self.text(d)),
            2 => format!("CASE WHEN {} THEN {} ELSE {} END", self.condition(d), self.text(d), self.text(d)),
            3 => format!("upper({})", self.text(d)),
            4 => format!("lower({})", self.text(d)),
            5 => format!("trim({})", self.text(d)),
            6 => format!("substr({}, {})", self.text(d), self.random.below(7) as i64 - 3),
            7 => {
                let (from, length) = (self.random.below(7) as i64 - 3, self.random.below(6) as i64 - 2);
                format!("substr({}, {from}, {length})", self.text(d))
            }
            8 => format!("replace({}, {}, {})", self.text(d), self.text_literal(), self.text_literal()),
            9 => format!("({} || {})", self.text(d), self.integer(0)),
            10 => format!("CAST({} AS TEXT)", self.integer(d)),
            _ => format!("hex({})", self.text(d)),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let operator = *self.random.pick(&COMPARISONS);
        if depth == 0 {
            return match self.random.below(3) {
                0 => format!("{} {operator} {}", self.integer(0), self.integer(0)),
                1 => format!("{} {operator} {}", self.text(0), self.text(0)),
                _ => format!("{} IS NOT NULL", self.integer(0)),
            };
        }
        let d = depth - 1;
        match self.random.below(if self.plain { 10 } else { 30 }) {
            0 => format!("({} AND {})", self.condition(d), self.condition(d)),
            1 => format!("({} OR {})", self.condition(d), self.condition(d)),
            2 => format!("NOT ({})", self.condition(d)),
            3 => format!("{} {operator} {}", self.integer(d), self.integer(d)),
            4 => format!("{} {operator} {}", self.text(d), self.text(d)),
            5 => format!("{} {operator} {}", self.real(d), self.real(d)),
            6 => format!("{} BETWEEN {} AND {}", self.integer(d), self.integer(0), self.integer(0)),
            7 => format!("{} IN ({}, {}, 3)", self.integer(d), self.integer(0), self.integer(0)),
            8 => format!("{} IS NULL", self.text(d)),
            9 => format!("{} NOT IN (1, {})", self.integer(d), self.integer(0)),
            10 => format!("{} LIKE '{}'", self.text(d), self.random.pick(&PATTERNS)),
            11 => format!("{} GLOB '{}'", self.text(d), self.random.pick(&GLOBS)),
            12 => format!("{} IS {}", self.integer(d), self.integer(d)),
            13 => format!("{} IS NOT {}", self.text(d), self.text(d)),
            14 => format!("({})", self.integer(d)),
            15 => format!("{} {operator} {}", self.integer(d), self.real(d)),
            16 => format!("{} = {} COLLATE NOCASE", self.text(0), self.text(0)),
            17 => format!("({}, {}) {operator} ({}, {})", self.integer(0), self.text(0), self.integer(0), self.text(0)),
            18 => format!("{} IN (SELECT n FROM u AS z WHERE z.id < 7)", self.integer(d)),
            20 => format!("{} {operator} {}", self.column(|s| s.texts), self.column(|s| s.integers)),
            21 => format!("{} {operator} {}", self.column(|s| s.reals), self.column(|s| s.texts)),
            22 => format!("{} IN ({}, {})", self.integer(0), self.real_literal(), self.integer(0)),
            23 => self.between(),
            24 => format!("({}, {}) IS ({}, TRUE)", self.integer(0), self.integer(0), self.integer(0)),
            25 => self.in_sets(),
            19 => format!("EXISTS (SELECT 1 FROM u AS z WHERE z.t = {})", self.integer(d)),
            _ => format!("{} IN ({}, {})", self.text(d), self.text(0), self.text(0)),
        }
    }

    /// A literal or parameter between values of several types.
    fn between(&mut self) -> String {
        let side = |generator: &mut Generator| match generator.random.below(4) {
            0 => generator.integer(0),
            1 => generator.text(1),
            _ => generator.text(0),
        };
        let lhs = match self.random.below(3) {
            0 => self.bound(Value::Integer(5)),
            1 => self.random.below(12).to_string(),
            _ => self.text_literal(),
        };
        let not = *self.random.pick(&["", "NOT "]);
        format!("{lhs} {not}BETWEEN {} AND {}", side(self), side(self))
    }

    /// A search in a set operation, some of whose rows are NULL.
    fn in_sets(&mut self) -> String {
        let (not, operator) = (*self.random.pick(&["", "NOT "]), *self.random.pick(&["EXCEPT", "INTERSECT", "UNION"]));
        let lhs = if self.random.chance(30) { "(SELECT max(n) FROM u)".to_string() } else { self.integer(1) };
        let first = if self.random.chance(20) { self.column(|s| s.integers) } else { "t".to_string() };
        format!("{lhs} {not}IN (SELECT {first} FROM u AS z {operator} SELECT n FROM u)")
    }

    fn any(&mut self, depth: u32) -> String {
        match self.random.below(4) {
            0 | 1 => self.integer(depth),
            2 => self.text(depth),
            _ => self.real(depth),
        }
    }

    /// A sort key: not a literal, which would be a column's number, and not a parameter.
    fn order(&mut self) -> String {
        let by = if self.plain { String::new() } else { self.any(1) };
        if by.contains('.') && by.starts_with(char::is_alphabetic) { by } else { self.column(|s| s.integers) }
    }

    fn aggregate(&mut self) -> String {
        match self.random.below(if self.plain { 6 } else { 11 }) {
            0 => "count(*)".to_string(),
            1 => format!("count({})", self.any(1)),
            2 => format!("sum({})", self.integer(1)),
            3 => format!("max({})", self.integer(1)),
            4 => format!("min({})", self.any(1)),
            5 => format!("count(DISTINCT {})", self.integer(1)),
            6 => format!("avg({})", self.integer(1)),
            7 => format!("total({})", self.real(1)),
            8 => format!("sum({})", self.real(1)),
            9 => format!("sum({})", self.condition(1)),
            _ => format!("count(*) FILTER (WHERE {})", self.condition(1)),
        }
    }

    /// A FROM clause whose tables become the scope; the columns that distinguish every row from the others.
    fn from(&mut self) -> (String, &'static str) {
        match self.random.below(5) {
            0 | 1 => {
                self.scope = vec![T];
                ("t".to_string(), "t.id")
            }
            2 => {
                self.scope = vec![U];
                ("u".to_string(), "u.id")
            }
            3 => {
                self.scope = vec![T, U];
                ("t JOIN u ON u.t = t.id".to_string(), "t.id, u.id")
            }
            _ => {
                self.scope = vec![T, U];
                let extra = if self.random.chance(30) { format!(" AND {}", self.condition(1)) } else { String::new() };
                (format!("t LEFT JOIN u ON u.t = t.id{extra}"), "t.id, u.id")
            }
        }
    }

    fn finish(&mut self, sql: String, ordered: bool) -> Generated {
        Generated { sql, params: std::mem::take(&mut self.params), ordered }
    }

    /// A query.
    pub fn select(&mut self) -> Generated {
        self.params.clear();
        match self.random.below(if self.plain { 8 } else { 12 }) {
            0..=4 => self.plain_select(),
            5 | 6 => self.grouped(),
            7 => self.compound(),
            8 => self.windowed(),
            9 => self.distinct(),
            _ => self.nested(),
        }
    }

    fn clause(&mut self, word: &str, percent: usize) -> String {
        if self.random.chance(percent) { format!(" {word} {}", self.condition(2)) } else { String::new() }
    }

    fn plain_select(&mut self) -> Generated {
        let (from, key) = self.from();
        let mut list: Vec<String> = (0..=self.random.below(3)).map(|_| self.any(3)).collect();
        let mut columns = list.len();
        if self.random.chance(20) {
            let (star, width) = self.star();
            list.insert(self.random.below(list.len() + 1), star);
            columns += width;
        }
        let condition = self.clause("WHERE", 70);
        let mut sql = format!("SELECT {} FROM {from}{condition}", list.join(", "));
        let ordered = self.random.chance(50);
        if ordered {
            let direction = *self.random.pick(&["", " DESC"]);
            let is_number = !self.plain && self.random.chance(40);
            let by = if is_number { (self.random.below(columns) + 1).to_string() } else { self.order() };
            sql += &format!(" ORDER BY {by}{direction}, {key}");
            if self.random.chance(50) {
                sql += &format!(" LIMIT {} OFFSET {}", self.random.below(6), self.random.below(3));
            }
        }
        self.finish(sql, ordered)
    }

    /// All columns of the tables in the scope, or of the last one, and their number.
    fn star(&mut self) -> (String, usize) {
        let last = self.scope[self.scope.len() - 1];
        match self.random.chance(50) {
            true => ("*".to_string(), self.scope.iter().map(Source::width).sum()),
            false => (format!("{}.*", last.alias), last.width()),
        }
    }

    /// All columns of the row with the largest or smallest key: for another column several rows might qualify.
    fn picked(&mut self) -> Generated {
        self.scope = vec![T];
        let (star, extreme) = (*self.random.pick(&["*", "t.*"]), *self.random.pick(&["max", "min"]));
        let condition = self.clause("WHERE", 50);
        let group = if self.random.chance(60) { self.column(|s| s.integers) } else { String::new() };
        let by = if group.is_empty() { String::new() } else { format!(" GROUP BY {group}") };
        self.finish(format!("SELECT {star}, {extreme}(id) FROM t{condition}{by}"), false)
    }

    fn grouped(&mut self) -> Generated {
        if !self.plain && self.random.chance(15) {
            return self.picked();
        }
        let (from, _) = self.from();
        // A column: for a server, the same expression with parameters twice is two expressions.
        let group = if self.random.chance(50) { self.column(|s| s.integers) } else { self.column(|s| s.texts) };
        let list: Vec<String> = (0..=self.random.below(3)).map(|_| self.aggregate()).collect();
        let condition = self.clause("WHERE", 50);
        let by = if self.random.chance(20) { "1".to_string() } else { group.clone() };
        let mut sql = format!("SELECT {group}, {} FROM {from}{condition} GROUP BY {by}", list.join(", "));
        if self.random.chance(40) {
            let count = format!(" HAVING count(*) > {}", self.random.below(3));
            sql += &if self.random.chance(50) { count } else { format!(" HAVING {group} IS NOT NULL") };
        }
        let ordered = self.random.chance(50);
        if ordered {
            sql += &format!(" ORDER BY {by}");
        }
        self.finish(sql, ordered)
    }

    fn compound(&mut self) -> Generated {
        let operator = *self.random.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
        self.scope = vec![T];
        let left = format!("SELECT {}, {} FROM t{}", self.integer(1), self.text(1), self.clause("WHERE", 50));
        self.scope = vec![U];
        let right = format!("SELECT {}, {} FROM u{}", self.integer(1), self.text(1), self.clause("WHERE", 50));
        self.finish(format!("{left} {operator} {right}"), false)
    }

    fn distinct(&mut self) -> Generated {
        let (from, _) = self.from();
        let list = match self.random.below(4) {
            0 => format!("{}({} * 1e200)", self.random.pick(&["floor", "ceil", "trunc"]), self.real(1)),
            1 => {
                let one = *self.random.pick(&["3", "(SELECT max(n) FROM u)", "abs(-2)", "count(*)"]);
                let sql = format!("SELECT DISTINCT {one} FROM {from} LIMIT 9 OFFSET {}", self.random.below(3));
                return self.finish(sql, false);
            }
            _ => format!("{}, {}", self.any(2), self.integer(1)),
        };
        self.finish(format!("SELECT DISTINCT {list} FROM {from}"), false)
    }

    fn windowed(&mut self) -> Generated {
        let (from, key) = self.from();
        let by = if self.random.chance(50) { format!("PARTITION BY {} ", self.integer(0)) } else { String::new() };
        let function = match self.random.below(7) {
            6 => format!("lead({}, 1, {})", self.integer(1), self.bound(Value::Integer(7))),
            0 => "row_number()".to_string(),
            1 => format!("sum({})", self.integer(1)),
            2 => format!("count({})", self.any(1)),
            3 => format!("lag({})", self.integer(1)),
            4 => format!("first_value({})", self.any(1)),
            _ => format!("max({})", self.integer(1)),
        };
        let order = self.order();
        let list = self.any(1);
        self.finish(format!("SELECT {list}, {function} OVER ({by}ORDER BY {order}, {key}) FROM {from}"), false)
    }

    /// A query over a query.
    fn nested(&mut self) -> Generated {
        let (from, _) = self.from();
        let inner = format!("SELECT {} AS i, {} AS x FROM {from}", self.integer(2), self.text(2));
        let q = Source { alias: "q", integers: &["i"], reals: &["i"], texts: &["x"] };
        self.scope = vec![q];
        let (one, two, condition) = (self.integer(1), self.text(1), self.condition(2));
        let sql = if self.random.chance(50) {
            format!("SELECT {one}, {two} FROM ({inner}) AS q WHERE {condition}")
        } else {
            format!("WITH q AS ({inner}) SELECT {one}, {two} FROM q WHERE {condition}")
        };
        self.finish(sql, false)
    }

    /// A statement that changes rows. Integers stay small, so that nothing overflows after many of them.
    pub fn change(&mut self) -> Generated {
        self.params.clear();
        let sql = match self.random.below(6) {
            0 => {
                self.scope = vec![T];
                let (a, x) = (self.integer(2), self.text(1));
                format!("UPDATE t SET a = ({a}) % 50, x = substr({x}, 1, 9){}", self.clause("WHERE", 90))
            }
            1 => {
                self.scope = vec![U];
                let (n, w) = (self.integer(1), self.real_literal());
                format!("UPDATE u SET n = ({n}) % 50, t = t + 1, w = {w}{}", self.clause("WHERE", 90))
            }
            2 => {
                self.scope = vec![U];
                format!("DELETE FROM u WHERE id > 3 AND {}", self.condition(2))
            }
            3 => {
                let (n, s) = (self.nullable_integer(), self.nullable_text());
                self.key += 10;
                format!("INSERT INTO u (id, t, n, s, w) VALUES ({}, {}, {n}, {s}, 0.5)", self.key, self.random.below(9))
            }
            4 => {
                let (id, n) = (self.random.below(20) + 1, self.random.below(9));
                format!(
                    "INSERT INTO u (id, t, n, s) VALUES ({id}, 1, {n}, 'up') \
                     ON CONFLICT (id) DO UPDATE SET n = excluded.n + 1, s = s || 'x'"
                )
            }
            _ => {
                self.scope = vec![T];
                let (n, s) = (self.integer(1), self.text(1));
                self.key += 10;
                let (key, condition) = (self.key, self.condition(1));
                format!(
                    "INSERT INTO u (id, t, n, s) SELECT id + {key}, id, ({n}) % 50, {s} FROM t WHERE {condition} AND id < 4"
                )
            }
        };
        self.finish(sql, false)
    }
}
