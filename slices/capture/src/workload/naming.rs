//! Names in place of hashed values: one name space for each column of the database. Equal values of its rows, of literals and
//! of bound values have the same name, and different ones different names.

use crate::allowed::Allowed;
use crate::literal::{CHOICES, text};
use crate::manifest::{Column, Content, Table, Values};
use crate::sql::{Does, Token, literal, tokens};
use crate::summary::Known;
use crate::trace::{Call, Value};
use crate::workload::generator::{Drawn, NUMBER, column_of, columns_of, is_serial, key_of};
use crate::workload::lists::{Use, aligned, lists};
use crate::workload::skew::Distribution;
use contend_interpose::format::value;
use std::collections::{BTreeSet, HashMap};

/// Numbers in the names of rows begin above this one, so that all have as many digits.
const ROW_NAMES: u64 = 1_000_000;

/// The names of all columns; empty in a capture of values.
#[derive(Default)]
pub struct Names {
    of: HashMap<(String, String), Space>,
}

/// The names of a column's values.
#[derive(Default)]
struct Space {
    /// Numbers of the values by their hashes.
    numbers: HashMap<u64, usize>,
    /// Numbers of rows with each value, those with the lowest numbers.
    rows: Vec<u64>,
    /// If the values name rows, the number of rows: those with the lowest numbers.
    keys: Option<u64>,
    /// The words of a CHECK, by number: values have no made-up names there.
    words: HashMap<usize, String>,
    allowed: Allowed,
    is_text: bool,
    width: usize,
    /// Numbers that statements have as they are: 0 and 1 are not hashed in their text. The values of the column are taken to be from
    /// the lowest of them on, because contend does not know which one it is.
    plain: BTreeSet<i64>,
}

/// Hashes with their counts and lengths, by column.
type Bound<'k> = HashMap<(&'k str, &'k str), HashMap<u64, (u64, u64)>>;

impl Names {
    pub fn of(known: &Known, content: &Content) -> Names {
        let mut names = Names::default();
        if known.manifest.values != Values::Hash {
            return names;
        }
        for table in &content.tables {
            for (column, allowed) in table.columns.iter().zip(Allowed::of_all(table)) {
                if !is_serial(table, column) && column.refers.is_none() {
                    names.of.insert(place(table, column), Space::of_rows(table, column, allowed));
                }
            }
        }
        let mut bound: Bound = HashMap::new();
        let mut columns: HashMap<&str, Vec<Option<(&Table, &Column)>>> = HashMap::new();
        for call in &known.trace.calls {
            let columns = columns.entry(&call.sql).or_insert_with(|| places(known, content, call));
            if columns.iter().all(Option::is_none) {
                continue;
            }
            for (value, column) in values_of(call, true).iter().zip(columns) {
                let Some((table, column)) = column else { continue };
                let Some(space) = names.of.get_mut(&place(table, column)) else { continue };
                match value {
                    Value::Hash(kind, length, hash) if *kind == space.kind() => {
                        let seen = bound.entry((&table.name, &column.name)).or_default().entry(*hash).or_default();
                        *seen = (seen.0 + 1, *length);
                    }
                    Value::Integer(number) => drop(space.plain.insert(*number)),
                    _ => {}
                }
            }
        }
        for ((table, column), values) in bound {
            if let Some(space) = names.of.get_mut(&(table.to_lowercase(), column.to_lowercase())) {
                space.add(values);
            }
        }
        names
    }

    /// The generator of a column that names rows.
    pub fn of_keys(&self, table: &Table, column: &Column) -> Option<String> {
        let space = self.of.get(&place(table, column)).filter(|space| space.keys.is_some())?;
        Some(format!("{{ format = {} }}", text(&format!("{}{{serial:{}}}", space.prefix(), ROW_NAMES + 1))))
    }

    /// The generator of a column's rows, if they have few values.
    pub fn of_rows(&self, table: &Table, column: &Column) -> Option<String> {
        let space = self.of.get(&place(table, column)).filter(|space| !space.rows.is_empty())?;
        let names: Vec<String> = (1..=space.rows.len()).map(|number| space.name(number)).collect();
        let weights: Vec<String> = space.rows.iter().map(u64::to_string).collect();
        if column.is_unique() && !space.words.is_empty() {
            return None;
        }
        space.is_usable().then(|| format!("{{ choice = [{}], weights = [{}] }}", names.join(", "), weights.join(", ")))
    }

    /// The generator of an argument with the captured frequencies, if its values name rows, are few, or are unequally frequent.
    /// A column that refers to another one has the names of that.
    pub fn of_argument(&self, content: &Content, own: (&Table, &Column), values: &[&Value], of: Use) -> Option<Drawn> {
        let (table, column) = key_of(content, own.0, own.1);
        let is_one_of_words = self.of.get(&place(table, column)).is_some_and(|space| !space.words.is_empty());
        let is_new = of == Use::Stored && (own.1.unique || own.1.key > 0) && !is_one_of_words;
        // Dates are made up as dates, unless the rows have few of them.
        if is_new || (column.has_dates && column.hashes.is_empty()) {
            return None;
        }
        let space = self.of.get(&place(table, column)).filter(|space| space.is_usable())?;
        let seen = Distribution::of(values);
        let few = space.is_text || is_one_of_words || space.numbers.len() <= CHOICES;
        let number = |value: &Value| match value {
            Value::Hash(kind, _, hash) if *kind == space.kind() => space.numbers.get(hash).copied(),
            Value::Integer(number) => space.number_of(&number.to_string()),
            _ => None,
        };
        let numbers: Vec<usize> = seen.counts.iter().map(|(value, _)| number(value)).collect::<Option<_>>()?;
        let null = if seen.nulls > 0.0 { format!(", null = {:.3}", seen.nulls) } else { String::new() };
        if few && (seen.is_listed() || is_one_of_words) && !numbers.is_empty() {
            let names: Vec<String> = numbers.iter().map(|number| space.name(*number)).collect();
            return Some(seen.list(&names, &null).into());
        }
        let rows = space.keys.filter(|_| !numbers.is_empty())?;
        let (low, high, skew) = seen.among_rows(&numbers, rows);
        Some(Drawn {
            text: format!("{{ format = {}{null} }}", text(&format!("{}{NUMBER}", space.prefix()))),
            number: Some(format!("{{ range = [{}, {}]{skew} }}", ROW_NAMES + low, ROW_NAMES + high)),
        })
    }
}

impl Space {
    fn of_rows(table: &Table, column: &Column, allowed: Allowed) -> Space {
        let few = 1..=CHOICES.max(allowed.words.len()) as u64;
        let is_text = column.kind == "text" || (column.kind == "null" && !is_number(&column.declared));
        let is_text = allowed.is_text().unwrap_or(is_text);
        // A capture by an earlier contend has no hashes of rows.
        let rows = match column.hashes.is_empty() {
            true if is_text && few.contains(&column.distinct) => vec![1; column.distinct as usize],
            _ => column.hashes.iter().map(|(_, rows)| *rows).collect(),
        };
        let mut numbers: HashMap<u64, usize> =
            column.hashes.iter().enumerate().map(|(at, (hash, _))| (*hash, at + 1)).collect();
        let words = words(&allowed, column, &mut numbers);
        let keys = column.names_rows().then_some(table.rows).filter(|_| words.is_empty());
        Space {
            numbers,
            rows,
            keys,
            words,
            allowed,
            is_text,
            width: column.length_mean as usize,
            plain: BTreeSet::new(),
        }
    }

    /// Adds the values of statements, most frequent first.
    fn add(&mut self, values: HashMap<u64, (u64, u64)>) {
        let mut all: Vec<(u64, (u64, u64))> = values.into_iter().collect();
        all.sort_by_key(|(hash, (count, _))| (std::cmp::Reverse(*count), *hash));
        self.width = self.width.max(all.iter().map(|(_, (_, length))| *length as usize).max().unwrap_or(0));
        for (hash, _) in all {
            let next = self.numbers.len() + 1;
            self.numbers.entry(hash).or_insert(next);
        }
    }

    fn kind(&self) -> u8 {
        if self.is_text { value::TEXT } else { value::INTEGER }
    }

    /// Whether the numbers in statements are as few as the values, so that they can be some of these.
    fn is_usable(&self) -> bool {
        self.is_text || self.plain.len() <= self.numbers.len()
    }

    fn number_of(&self, word: &str) -> Option<usize> {
        self.words.iter().find(|(_, of)| *of == word).map(|(number, _)| *number)
    }

    /// What comes before the number in the name of a row.
    fn prefix(&self) -> String {
        let digits = ROW_NAMES.to_string().len();
        let width = self.width.clamp(8, 64).saturating_sub(digits);
        let prefix = format!("{:-<width$}", "value-");
        let width = self.allowed.length((prefix.len() + digits) as u64) as usize;
        let width = width.saturating_sub(digits);
        format!("{prefix:-<width$.width$}")
    }

    fn name(&self, number: usize) -> String {
        if let Some(word) = self.words.get(&number) {
            return word.clone();
        }
        if self.keys.is_some() {
            return text(&format!("{}{}", self.prefix(), ROW_NAMES + number as u64));
        }
        if self.is_text {
            return text(&self.allowed.name(number, self.width as u64));
        }
        let first = self.allowed.first(self.plain.first().copied().unwrap_or(1), self.numbers.len() as u64);
        (first + number as i64 - 1).to_string()
    }
}

/// The words of a CHECK by the numbers of their hashes. Rows whose hashes are not known, or are none of theirs, have the next ones,
/// and words that no row has the numbers after those of the rows.
fn words(allowed: &Allowed, column: &Column, numbers: &mut HashMap<u64, usize>) -> HashMap<usize, String> {
    let mut rest = allowed.listed();
    let hashes: HashMap<&String, u64> = column.words.iter().map(|(word, hash)| (word, *hash)).collect();
    let mut words = HashMap::new();
    rest.retain(|word| match hashes.get(word).and_then(|hash| numbers.get(hash)) {
        Some(number) => {
            words.insert(*number, word.clone());
            false
        }
        None => true,
    });
    let free: Vec<usize> = (1..).filter(|number| !words.contains_key(number)).take(rest.len()).collect();
    for (number, word) in free.into_iter().zip(rest) {
        numbers.extend(hashes.get(&word).map(|hash| (*hash, number)));
        words.insert(number, word);
    }
    words
}

fn is_number(declared: &str) -> bool {
    let declared = declared.to_ascii_lowercase();
    ["int", "real", "floa", "doub", "num", "dec", "blob"].iter().any(|word| declared.contains(word))
}

fn place(table: &Table, column: &Column) -> (String, String) {
    (table.name.to_lowercase(), column.name.to_lowercase())
}

/// The column of each value of a statement, in the order of the values.
fn places<'c>(known: &Known, content: &'c Content, call: &Call) -> Vec<Option<(&'c Table, &'c Column)>> {
    let (sql, shape) = (&call.sql, known.shapes.get(call));
    if !matches!(shape.does, Does::Read | Does::Write) {
        return vec![];
    }
    let named = columns_of(sql);
    let all = tokens(sql);
    let values = all.iter().enumerate().filter(|(_, token)| token.is_value());
    let column = |at| column_of(content, &shape.tables, named.get(&at)?);
    values.map(|(at, _)| column(at).map(|(table, column)| key_of(content, table, column))).collect()
}

/// Values of a call as those of another text of the same shape. `None` if the texts differ in more than the lengths of lists.
pub fn values_like(call: &Call, is_hashed: bool, like: &[Token]) -> Option<Vec<Value>> {
    let count = like.iter().filter(|token| token.is_value()).count();
    aligned(&values_of(call, is_hashed), &lists(&tokens(&call.sql)), &lists(like), count)
}

/// Values of a call in the order of their positions in the text, including literals.
fn values_of(call: &Call, is_hashed: bool) -> Vec<Value> {
    let all = tokens(&call.sql);
    let mut places = places_of(&all).into_iter();
    let mut value = || {
        let place = places.next()?;
        let at = call.values.binary_search_by_key(&place, |(at, _)| *at).ok()?;
        Some(call.values[at].1.clone())
    };
    all.iter()
        .filter_map(|token| match token {
            Token::Literal(text) => Some(literal(text, is_hashed)),
            Token::Parameter(_) => Some(value().unwrap_or(Value::Null)),
            _ => None,
        })
        .collect()
}

/// Numbers of a statement's parameters, as SQLite gives them: `?` and a new name get the one after the largest so far.
pub fn places_of(tokens: &[Token]) -> Vec<u16> {
    let mut named: HashMap<&str, u16> = HashMap::new();
    let mut last = 0u16;
    let parameters = tokens.iter().filter_map(|token| match token {
        Token::Parameter(text) => Some(*text),
        _ => None,
    });
    let place = |text| {
        let number = str::strip_prefix(text, '?').and_then(|digits| digits.parse().ok());
        let known = || named.get(text).copied().filter(|_| text != "?");
        let place = number.or_else(known).unwrap_or(last.saturating_add(1));
        named.insert(text, place);
        last = last.max(place);
        place
    };
    parameters.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_numbers_that_sqlite_gives() {
        let db = rusqlite::Connection::open_in_memory().expect("a database");
        for sql in
            ["SELECT ?, ?, ?", "SELECT :a, ?, :a, ?, @a", "SELECT ?3, ?, :a, ?1, ?3, ?", "SELECT :b, ?5, :a, :b, ?, $c"]
        {
            let mut statement = db.prepare(sql).expect("a statement");
            let columns = statement.column_count();
            let numbers: Vec<i64> = (1..=statement.parameter_count() as i64).collect();
            let row = |row: &rusqlite::Row| (0..columns).map(|at| row.get::<_, u16>(at)).collect::<Result<Vec<_>, _>>();
            let given = statement.query_row(rusqlite::params_from_iter(numbers), row).expect("a row");
            assert_eq!(places_of(&tokens(sql)), given, "{sql}");
        }
    }
}
