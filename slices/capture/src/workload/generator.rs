//! Generators for a workload's values: for columns from what was counted, for arguments from their positions in
//! statements and the values bound there.

use crate::allowed::Allowed;
use crate::literal::text;
use crate::manifest::{Column, Content, Table};
use crate::sql::{Token, tokens};
use crate::trace::Value;
use crate::workload::lists::Use;
use crate::workload::skew::{Distribution, zipf_of};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Made-up dates. Only their order and form are like those of the program.
const DATES: &str = "[\"2020-01-01\", \"2024-12-31\"]";

/// The generator of a number that is used once.
pub const UNIQUE: &str = "{ unique = true }";

/// The place of a number in a generator, see [`Drawn::number`].
pub const NUMBER: &str = "{#}";

/// The generator of an argument.
pub struct Drawn {
    pub text: String,
    /// The generator of a number that is part of the text; its place is [`NUMBER`].
    pub number: Option<String>,
}

impl From<String> for Drawn {
    fn from(text: String) -> Drawn {
        Drawn { text, number: None }
    }
}

/// Before the number of a column whose name a statement does not have.
const PLACE: char = '#';

/// A name with letters, digits and `_` only.
pub fn plain(name: &str) -> String {
    let plain = |c: char| match c {
        _ if c.is_ascii_alphanumeric() => c.to_ascii_lowercase().to_string(),
        _ if c.is_ascii() => "_".to_string(),
        // Names in another script would become equal.
        _ => format!("_{:x}", u32::from(c)),
    };
    let word: String = name.chars().map(plain).collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("t_{word}") }
}

/// A TOML key.
pub fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_bare { name.into() } else { text(name) }
}

/// Whether a column is an alias of the rowid.
pub fn is_serial(table: &Table, column: &Column) -> bool {
    let keys = table.columns.iter().filter(|column| column.key > 0).count();
    keys == 1 && column.key == 1 && column.declared.eq_ignore_ascii_case("integer")
}

/// The column that a name means in one of these tables.
pub fn column_of<'c>(content: &'c Content, tables: &[String], name: &str) -> Option<(&'c Table, &'c Column)> {
    let of = |wanted: &String| content.tables.iter().find(|table| table.name.eq_ignore_ascii_case(wanted));
    let name = name.trim_matches(['"', '`', '[', ']']);
    let find = |table: &'c Table| {
        if let Some(place) = name.strip_prefix(PLACE) {
            return Some((table, table.columns.get(place.parse::<usize>().ok()?)?));
        }
        let is_rowid = name.eq_ignore_ascii_case("rowid");
        let named = |column: &&Column| column.name.eq_ignore_ascii_case(name) || (is_rowid && is_serial(table, column));
        table.columns.iter().find(named).map(|column| (table, column))
    };
    tables.iter().filter_map(of).find_map(find)
}

/// The column that this one references, if its rows can be computed: `table.column`.
pub fn target<'c>(content: &'c Content, column: &Column) -> Option<(String, &'c Table)> {
    let (table, named) = column.refers.as_ref()?;
    let table = content.tables.iter().find(|known| known.name.eq_ignore_ascii_case(table))?;
    let serial = table.columns.iter().find(|column| is_serial(table, column))?;
    let fits = named.is_empty() || serial.name.eq_ignore_ascii_case(named);
    (fits && table.rows > 0).then(|| (format!("{}.{}", table.name, serial.name), table))
}

/// The column that a column refers to, or itself.
pub fn key_of<'c>(content: &'c Content, table: &'c Table, column: &'c Column) -> (&'c Table, &'c Column) {
    let referred = || {
        let (name, key) = column.refers.as_ref()?;
        let table = content.tables.iter().find(|known| known.name.eq_ignore_ascii_case(name))?;
        let is_key = |column: &&Column| {
            if key.is_empty() { is_serial(table, column) } else { column.name.eq_ignore_ascii_case(key) }
        };
        Some((table, table.columns.iter().find(is_key)?))
    };
    referred().unwrap_or((table, column))
}

/// The generator of a column for loaded rows.
pub fn of_column(
    content: &Content,
    table: &Table,
    (column, allowed): (&Column, &Allowed),
    choices: Option<String>,
) -> String {
    if is_serial(table, column) {
        return format!("{{ serial = {} }}", table.keys.map_or(1, |(low, _)| low));
    }
    let nulls = if column.seen > 0 { column.nulls as f64 / column.seen as f64 } else { 0.0 };
    if nulls >= 1.0 {
        return "{ null = 1 }".into();
    }
    let null = if nulls > 0.0 { format!(", null = {nulls:.3}") } else { String::new() };
    let keys = table.columns.iter().filter(|column| column.key > 0).count();
    let is_key = column.is_unique() || (column.key > 0 && keys == 1);
    if let Some(pair) = Pair::of(content, table, column) {
        return pair.generator(&null);
    }
    if let Some((to, other)) = target(content, column).filter(|_| !column.completes_unique) {
        let each = format!(", each = {}", table.rows.div_ceil(other.rows).max(1));
        let how = if is_key { each } else { skew_of(table, column, other.rows) };
        return format!("{{ ref = {}{how}{null} }}", text(&to));
    }
    let words = allowed.listed();
    if is_key && !words.is_empty() {
        return format!("{{ cycle = [{}]{null} }}", words.join(", "));
    }
    if is_key {
        let id = table.columns.iter().find(|column| is_serial(table, column));
        return match (kind_of(column), id) {
            ("integer" | "real", _) => format!("{{ serial = {} }}", allowed.first(1, table.rows)),
            (_, Some(id)) => format!("{{ format = {}{null} }}", text(&format!("{}-{{{}}}", column.name, id.name))),
            _ => "{ format = \"{hex:16}\" }".into(),
        };
    }
    if let Some(choices) = choices {
        return format!("{}{null} }}", choices.strip_suffix(" }").unwrap_or(&choices));
    }
    // Days on which many rows are would become as many days as rows.
    if column.has_dates && 2 * column.distinct > column.seen.saturating_sub(column.nulls) {
        let order = if column.rises { ", ordered = true" } else { "" };
        return format!("{{ time = {DATES}{order}{null} }}");
    }
    let is_distinct = column.distinct + column.nulls == column.seen;
    if column.rises && is_distinct && kind_of(column) == "integer" {
        return format!("{{ serial = {}{null} }}", allowed.first(1, table.rows));
    }
    let skew = if kind_of(column) == "integer" { skew_of(table, column, column.distinct) } else { String::new() };
    allowed.free(kind_of(column), column.distinct, column.length_mean, &(skew + &null))
}

/// How much more frequent the most frequent value of a column is than others, as an option of a generator over `keys` keys.
pub fn skew_of(table: &Table, column: &Column, keys: u64) -> String {
    // The first rows may have only some of the values.
    let among = if column.seen < table.rows { keys.min(column.distinct) } else { keys };
    zipf_of(column.most, column.seen.saturating_sub(column.nulls), (among, keys))
}

/// Columns that are unique together, of which the first one refers to another table: each row of that has the first few rows of a
/// second table, or the first few words of a CHECK.
struct Pair {
    is_first: bool,
    /// The table that the second column refers to.
    other: Option<String>,
    to: String,
    /// Rows for each row that the first column refers to.
    each: u64,
    words: Vec<String>,
}

impl Pair {
    /// Values that are written out, at most.
    const EACH_MAX: u64 = 2_000;

    /// `None` if the column is not of such a pair.
    fn of(content: &Content, table: &Table, column: &Column) -> Option<Pair> {
        let refers = |column: &&Column| target(content, column).is_some();
        let first = table.columns.iter().find(|column| !column.is_unique() && refers(column))?;
        if column != first && !column.completes_unique {
            return None;
        }
        let words = |column: &Column| Allowed::of(table, column).listed();
        let is_second = |column: &&Column| column.completes_unique && (refers(column) || !words(column).is_empty());
        let second = table.columns.iter().find(is_second)?;
        let (to, one) = target(content, first)?;
        let (other, others) = target(content, second).unzip();
        let words = words(second);
        let (each, others) = (table.rows.div_ceil(one.rows).max(1), others.map_or(words.len() as u64, |of| of.rows));
        let is_one = column == first || column == second;
        (is_one && each <= others.min(Pair::EACH_MAX)).then(|| {
            let other = second.refers.as_ref().map(|(table, _)| table.clone()).or(other);
            Pair { is_first: column == first, other, to, each, words }
        })
    }

    fn generator(&self, null: &str) -> String {
        if self.is_first {
            return format!("{{ ref = {}, each = {}{null} }}", text(&self.to), self.each);
        }
        let number = |number: u64| self.words.get(number as usize - 1).cloned().unwrap_or_else(|| number.to_string());
        let all: Vec<String> = (1..=self.each).map(number).collect();
        format!("{{ cycle = [{}]{null} }}", all.join(", "))
    }
}

/// The table whose rows are written out in pairs of this table.
pub fn paired_with(content: &Content, table: &Table) -> Option<String> {
    table.columns.iter().find_map(|column| Pair::of(content, table, column))?.other
}

/// The type of a column's values; its declared type if it has no values.
fn kind_of(column: &Column) -> &str {
    let declared = column.declared.to_ascii_lowercase();
    match column.kind.as_str() {
        "null" if declared.contains("int") => "integer",
        "null" if ["real", "floa", "doub", "num", "dec"].iter().any(|word| declared.contains(word)) => "real",
        "null" if declared.contains("blob") => "blob",
        "null" => "text",
        kind => kind,
    }
}

/// The column that each parameter or literal of a statement is compared with or stored in, by token index.
pub fn columns_of(sql: &str) -> HashMap<usize, String> {
    let tokens = tokens(sql);
    let mut found = HashMap::new();
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => Some(*word),
        _ => None,
    };
    let is = |at: usize, text: &str| word(at).is_some_and(|word| word.eq_ignore_ascii_case(text));
    // INSERT INTO t (a, b) VALUES (?, ?), (?, ?), or INSERT INTO t VALUES (?, ?)
    let mut names: Vec<&str> = vec![];
    let mut at = 0;
    let inserts = is(0, "insert") || is(0, "replace");
    let into = tokens.iter().position(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("into")));
    let open = into.map(|into| into + 2).filter(|&open| inserts && tokens.get(open) == Some(&Token::Sign("(")));
    if let Some(open) = open {
        at = open + 1;
        while tokens.get(at).is_some_and(|token| *token != Token::Sign(")")) {
            names.extend(word(at));
            at += 1;
        }
        at += 1;
    }
    let has_names = !inserts || open.is_some();
    let is_of_list = |token: &Token| token.is_value() || matches!(token, Token::Sign("," | "("));
    let mut before_list = tokens[..at.min(tokens.len())].iter().rposition(|token| !is_of_list(token));
    let (mut depth, mut column) = (0, 0);
    for i in at..tokens.len() {
        if !is_of_list(&tokens[i]) {
            before_list = Some(i);
        }
        match &tokens[i] {
            Token::Sign("(") => {
                depth += 1;
                column = if depth == 1 { 0 } else { column };
            }
            Token::Sign(")") => depth -= 1,
            Token::Sign(",") if depth == 1 => column += 1,
            Token::Parameter(_) | Token::Literal(_) => {
                let compared = (1..=2).rev().find_map(|back| {
                    let signs = (i.checked_sub(back)?..i).all(|at| matches!(tokens[at], Token::Sign("=" | "<" | ">")));
                    word(i.checked_sub(back + 1)?).filter(|_| signs)
                });
                let limit = i
                    .checked_sub(1)
                    .and_then(word)
                    .filter(|word| ["limit", "offset"].iter().any(|l| l.eq_ignore_ascii_case(word)));
                let in_list = before_list.filter(|&at| is(at, "in")).and_then(|at| word(at.checked_sub(1)?));
                let inserted = names.get(column).map(|name| (*name).to_string()).filter(|_| depth == 1);
                let inserted = if has_names || depth != 1 { inserted } else { Some(format!("{PLACE}{column}")) };
                let named = compared.or(limit).or(in_list).map(str::to_string).or(inserted);
                found.extend(named.map(|name| (i, name)));
            }
            _ => {}
        }
    }
    found
}

/// The generator of an argument: from its column, or from the values bound to it.
pub fn of_argument(content: &Content, tables: &[String], name: Option<&str>, values: &[&Value], of: Use) -> String {
    let seen = Distribution::of(values);
    // Values that an upsert has once each are those of new rows.
    let is_new = of == Use::Stored || (of == Use::Upserted && !seen.comes_again());
    let null = match seen.nulls {
        nulls if nulls >= 1.0 => return "{ null = 1 }".into(),
        nulls if nulls > 0.0 => format!(", null = {nulls:.3}"),
        _ => String::new(),
    };
    let column = name.and_then(|name| column_of(content, tables, name));
    let allowed = column.map(|(table, column)| Allowed::of(table, column)).unwrap_or_default();
    if let Some((table, column)) = column {
        if is_serial(table, column) && table.rows > 0 {
            let to = format!("{}.{}", table.name, column.name);
            return if is_new { UNIQUE.into() } else { seen.of_rows(&to, table, "") };
        }
        if let Some((to, table)) = target(content, column) {
            return seen.of_rows(&to, table, &null);
        }
        if let Some(words) = seen.words(&allowed, &null) {
            return words;
        }
        if is_new && (column.unique || column.key > 0) {
            return UNIQUE.into();
        }
        if of == Use::Upserted && (column.unique || column.key > 0) {
            return of_argument(content, tables, name, values, Use::Searched);
        }
        if column.has_dates && values.iter().any(|value| matches!(value, Value::Hash(..))) {
            return format!("{{ time = {DATES}{null} }}");
        }
    }
    let is = |word: &str| name.is_some_and(|name| name.eq_ignore_ascii_case(word));
    seen.listed(&null, of == Use::Searched).or_else(|| seen.between(&null)).unwrap_or_else(|| {
        match seen.counts.first() {
            _ if is("offset") => "0".into(),
            first => {
                let (kind, length) = first.map_or(("text", 8), |(value, _)| type_of(value));
                seen.free(kind, length, &allowed, &null)
            }
        }
    })
}

fn type_of(value: &Value) -> (&'static str, u64) {
    match value {
        Value::Integer(_) | Value::Hash(1, ..) => ("integer", 8),
        Value::Real(_) | Value::Hash(2, ..) => ("real", 8),
        Value::Text(bytes) => ("text", bytes.len() as u64),
        Value::Blob(bytes) => ("blob", bytes.len() as u64),
        Value::Zeros(length) | Value::Hash(4, length, _) => ("blob", *length),
        Value::Hash(_, length, _) => ("text", *length),
        Value::Null | Value::Opaque => ("null", 0),
    }
}

/// Appends a line of a TOML table.
pub fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> Vec<String> {
        let mut found: Vec<(usize, String)> = columns_of(sql).into_iter().collect();
        found.sort();
        found.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn values_stand_for_columns() {
        assert_eq!(names("INSERT INTO t (a, b) VALUES (?, lower(?)), (?1, 'x')"), ["a", "a", "b"]);
        assert_eq!(names("INSERT INTO t VALUES (?, lower(?), 'x')"), ["#0", "#2"]);
        assert_eq!(names("UPDATE t SET a = ?, b = b + 1 WHERE t.id >= :n"), ["a", "id"]);
        assert_eq!(names("SELECT * FROM t WHERE x IN (?, ?) LIMIT 5 OFFSET ?"), ["x", "x", "LIMIT", "OFFSET"]);
    }
}
