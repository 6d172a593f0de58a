//! Generators from their written to their resolved form.

use super::at::{At, listed};
use super::order::ordered;
use crate::source::FileError;
use crate::units::unix_seconds;
use crate::workload::file::{GENERATOR_KINDS, GeneratorFile, WordsFile};
use crate::workload::generator::{Field, Fields, FormatPiece, Generator, RefWay};
use crate::workload::model::Table;
use crate::workload::random::Hot;
use crate::workload::words::{Style, WORD_BYTES, Words};
use contend_wire::literal::Value;
use std::collections::BTreeMap;
use toml::Value as Toml;

/// Longest value that is generated.
const VALUE_BYTES_MAX: u64 = 64 << 20;

/// Times that a text of four digits for the year can name.
const EARLIEST_S: i64 = -62_167_219_200;
const LATEST_S: i64 = 253_402_300_799;

/// Names to which the generators of one list of fields may refer.
pub struct Scope<'a> {
    /// Tables resolved so far, in order.
    pub tables: &'a [Table],
    /// All names of tables, resolved or not.
    pub table_names: &'a [String],
    /// The table of these columns; `None` for arguments.
    pub own_table: Option<&'a str>,
    /// Values that a service returned, by name.
    pub lists: &'a BTreeMap<String, Vec<Toml>>,
    /// Names of lists that a service returns.
    pub asked: &'a [String],
}

/// Resolves the columns of a table or arguments drawn together, each after those it refers to.
pub fn fields(written: &BTreeMap<String, Toml>, at: &At<'_>, scope: &Scope<'_>) -> Result<Fields, FileError> {
    let entries: Vec<(&String, &Toml)> = written.iter().collect();
    let position = |name: &str| entries.iter().position(|(key, _)| *key == name);
    let own = scope.own_table;
    let needs = |i: usize| fields_needed(entries[i].1, own).iter().filter_map(|name| position(name)).collect();
    let order = ordered(entries.len(), needs)
        .map_err(|i| at.key(entries[i].0).error("it refers to itself, directly or through others"))?;
    let mut fields = Fields::default();
    for i in order {
        let (name, value) = entries[i];
        let at = at.key(name);
        let pool = value.get("pool").map(|pool| at.key("pool").read::<u32>(pool)).transpose()?.unwrap_or(0);
        let generator = Resolver { at, scope, fields: &fields }.generator(value)?;
        fields.0.push(Field { name: name.clone(), generator, pool });
    }
    Ok(fields)
}

/// Names of the fields of the same list that a generator refers to.
fn fields_needed(value: &Toml, own_table: Option<&str>) -> Vec<String> {
    let mut names = vec![];
    each_generator(value, &mut |table| {
        if let Some(Toml::String(format)) = table.get("format") {
            let holes = split_format(format).unwrap_or_default();
            names.extend(holes.into_iter().filter(|(hole, _)| *hole).map(|(_, text)| text.to_string()));
        }
        if let Some((table, column)) = table.get("ref").and_then(Toml::as_str).and_then(|r| r.split_once('.'))
            && Some(table) == own_table
        {
            names.push(column.to_string());
        }
    });
    names
}

/// Names of other tables that a generator refers to.
pub fn tables_needed(value: &Toml) -> Vec<String> {
    let mut names = vec![];
    each_generator(value, &mut |table| {
        if let Some((table, _)) = table.get("ref").and_then(Toml::as_str).and_then(|r| r.split_once('.')) {
            names.push(table.to_string());
        }
    });
    names
}

/// Visits a generator and those inside it.
fn each_generator(value: &Toml, visit: &mut impl FnMut(&toml::Table)) {
    let Toml::Table(table) = value else { return };
    visit(table);
    for inner in ["cycle", "blocks"].iter().filter_map(|key| table.get(*key)?.as_array()).flatten() {
        each_generator(inner, visit);
    }
}

struct Resolver<'a> {
    at: At<'a>,
    scope: &'a Scope<'a>,
    /// Fields to which this one may refer.
    fields: &'a Fields,
}

impl Resolver<'_> {
    fn generator(&self, value: &Toml) -> Result<Generator, FileError> {
        let Toml::Table(table) = value else { return self.literal(value).map(Generator::Constant) };
        let kind = self.kind(table)?;
        let file: GeneratorFile = self.at.read(value)?;
        let generator = match kind {
            None => Generator::Null,
            Some(kind) => self.of_kind(kind, &file)?,
        };
        match file.null {
            Some(null) if !(0.0..=1.0).contains(&null) => self.at.fail("`null` is a probability from 0 to 1"),
            Some(null) if kind.is_some() => Ok(Generator::Maybe { null, inner: Box::new(generator) }),
            _ => Ok(generator),
        }
    }

    /// The kind of a generator; `None` if it is always NULL. Checks that every other key is one of its options.
    fn kind(&self, table: &toml::Table) -> Result<Option<&'static str>, FileError> {
        if let Some(key) = ["unique", "kept"].iter().find(|key| table.contains_key(**key)) {
            return self.at.fail(format!("`{key}` is for arguments of transactions and steps"));
        }
        let kinds: Vec<_> = GENERATOR_KINDS.iter().filter(|(kind, _)| table.contains_key(*kind)).collect();
        let (kind, options) = match kinds[..] {
            [] if table.contains_key("null") && table.len() == 1 => return Ok(None),
            [] => {
                let all: Vec<&str> = GENERATOR_KINDS.iter().map(|(kind, _)| *kind).collect();
                return self.at.fail(format!("a generator needs one of {}", all.join(", ")));
            }
            [(kind, options)] => (*kind, *options),
            [(a, _), (b, _), ..] => return self.at.fail(format!("`{a}` and `{b}` cannot both make the value")),
        };
        match table.keys().find(|key| *key != kind && *key != "null" && !options.contains(&key.as_str())) {
            None => Ok(Some(kind)),
            Some(key) if options.is_empty() => self.at.fail(format!("`{kind}` has no option `{key}`")),
            Some(key) => self.at.fail(format!("`{kind}` has no option `{key}` (it has {}, null)", options.join(", "))),
        }
    }

    fn of_kind(&self, kind: &str, file: &GeneratorFile) -> Result<Generator, FileError> {
        if file.pool.is_some() && self.scope.own_table.is_some() {
            return self.at.fail("`pool` is for arguments; columns are made one by one");
        }
        if file.pool == Some(0) {
            return self.at.fail("`pool` must hold at least one text");
        }
        if file.pool.is_some() && file.null.is_some() {
            return self.at.fail("`pool` holds texts only: leave it or `null` out");
        }
        if file.zipf.is_some_and(|s| !s.is_finite() || s < 0.0) {
            return self.at.fail("`zipf` is an exponent of 0 or more, usually near 1");
        }
        match kind {
            "serial" => self.serial(file),
            "range" => self.range(file),
            "value" => self.literal(file.value.as_ref().expect("the kind is there")).map(Generator::Constant),
            "choice" => self.choice(file),
            "list" => self.list(file.list.as_deref().expect("the kind is there")),
            "words" => self.words(file.words.as_ref().expect("the kind is there")).map(Generator::Words),
            "time" => self.time(file),
            "format" => self.format(file).map(Generator::Format),
            "ref" => self.reference(file),
            "blob" => self.blob(file),
            "cycle" => Ok(Generator::Cycle(self.several(file.cycle.as_deref().unwrap_or_default())?)),
            _ => self.blocks(file),
        }
    }

    fn serial(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        if self.scope.own_table.is_none() {
            return self.at.fail("`serial` is for columns; an argument has no row to count");
        }
        Ok(Generator::Serial { start: file.serial.expect("the kind is there"), step: file.step.unwrap_or(1) })
    }

    fn literal(&self, value: &Toml) -> Result<Value, FileError> {
        match value {
            Toml::Integer(i) => Ok(Value::Integer(*i)),
            Toml::Float(r) if r.is_finite() => Ok(Value::Real(*r)),
            Toml::Boolean(b) => Ok(Value::Integer(i64::from(*b))),
            Toml::String(text) => Ok(Value::Text(text.clone())),
            other => self.at.fail(format!("expected an integer, a real or a text, found {}", other.type_str())),
        }
    }

    fn range(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let [low, high] = file.range.as_ref().expect("the kind is there");
        let hot = file.hot.unwrap_or(Hot::Scattered);
        let real = |v: &Toml| v.as_float().or_else(|| v.as_integer().map(|i| i as f64)).filter(|r| r.is_finite());
        match (low, high) {
            (Toml::Integer(low), Toml::Integer(high)) if low <= high => {
                Ok(Generator::Integer { low: *low, high: *high, zipf: file.zipf, hot })
            }
            _ => match (real(low), real(high)) {
                (Some(low), Some(high)) if !(high - low).is_finite() => self.at.fail("the range is too wide"),
                (Some(low), Some(high)) if low <= high && file.zipf.is_none() => Ok(Generator::Real { low, high }),
                (Some(low), Some(high)) if low > high => self.at.fail(format!("{low} is greater than {high}")),
                (Some(_), Some(_)) => self.at.fail("`zipf` is for integers"),
                _ => self.at.fail("`range` is [lowest, highest], both integers or both reals"),
            },
        }
    }

    fn choice(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let values = file.choice.as_deref().unwrap_or_default();
        let values: Vec<Value> = values.iter().map(|value| self.literal(value)).collect::<Result<_, _>>()?;
        if values.is_empty() {
            return self.at.fail("`choice` must name at least one value");
        }
        if let Some(weights) = &file.weights {
            self.shares(weights, values.len(), "weights")?;
        }
        Ok(Generator::Choice { values, weights: file.weights.clone() })
    }

    /// One of the values that a service returned; none before the run.
    fn list(&self, name: &str) -> Result<Generator, FileError> {
        match self.scope.lists.get(name) {
            Some(values) if values.is_empty() => self.at.fail(format!("the list `{name}` is empty")),
            Some(values) => {
                let values = values.iter().map(|value| self.literal(value)).collect::<Result<_, _>>()?;
                Ok(Generator::Choice { values, weights: None })
            }
            // Drawn like the values to come, so that the argument stays an argument.
            None if self.scope.asked.iter().any(|asked| asked == name) => {
                Ok(Generator::Choice { values: vec![Value::Null], weights: None })
            }
            None => self.at.fail(format!("there is no [setup.{name}]{}", listed(self.scope.asked.iter()))),
        }
    }

    fn shares(&self, shares: &[f64], values: usize, what: &str) -> Result<f64, FileError> {
        if shares.len() != values {
            return self.at.fail(format!("{values} values but {} {what}", shares.len()));
        }
        check_weights(shares.iter().copied()).map_err(|message| self.at.error(format!("{what} {message}")))
    }

    fn words(&self, value: &Toml) -> Result<Words, FileError> {
        if let Toml::Integer(count) = value {
            let count = u64::try_from(*count).map_err(|_| self.at.error(format!("{count} words are negative")))?;
            self.length(count, WORD_BYTES)?;
            return Ok(Words::exactly(count, Style::Plain));
        }
        let file: WordsFile = self.at.read(value)?;
        let words = Words {
            median: file.median,
            spread: file.spread.unwrap_or(0.5),
            min: file.min.unwrap_or(1),
            max: file.max.unwrap_or((file.median * 10.0).max(1.0) as u64),
            style: file.style,
        };
        let positive = |x: f64| x.is_finite() && x >= 0.0;
        if !positive(words.median) || !positive(words.spread) || words.min > words.max {
            return self.at.fail("words need a median and a spread of 0 or more, and min <= max");
        }
        self.length(words.max, WORD_BYTES)?;
        Ok(words)
    }

    fn blob(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let bytes = file.blob.expect("the kind is there");
        self.length(u64::from(bytes), 1)?;
        Ok(Generator::Blob { bytes, fill: file.fill })
    }

    /// Checks the length of a value that has this many parts.
    fn length(&self, parts: u64, part_bytes: u64) -> Result<(), FileError> {
        match parts.saturating_mul(part_bytes) {
            bytes if bytes > VALUE_BYTES_MAX => {
                self.at.fail(format!("a value of about {bytes} bytes; the maximum is {VALUE_BYTES_MAX}"))
            }
            _ => Ok(()),
        }
    }

    fn time(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let [low, high] = file.time.as_ref().expect("the kind is there");
        let seconds = |value: &Toml| {
            let seconds = match value {
                Toml::Integer(seconds) => Some(*seconds),
                Toml::String(text) => unix_seconds(text),
                Toml::Datetime(time) => unix_seconds(&time.to_string()),
                _ => None,
            };
            seconds.ok_or_else(|| {
                self.at.error(format!(
                    "{value} is not a time such as \"2024-05-31\", \"2024-05-31 12:00:00\" or unix seconds"
                ))
            })
        };
        let (low, high) = (seconds(low)?, seconds(high)?);
        if low > high {
            return self.at.fail("`time` is [earliest, latest]");
        }
        if low < EARLIEST_S || high > LATEST_S {
            return self.at.fail("a time is in the years 0 to 9999");
        }
        let ordered = file.ordered.unwrap_or(false);
        if ordered && self.scope.own_table.is_none() {
            return self.at.fail("`ordered` is for columns; an argument has no row");
        }
        Ok(Generator::Time { low, high, form: file.form.unwrap_or_default(), ordered })
    }

    fn format(&self, file: &GeneratorFile) -> Result<Vec<FormatPiece>, FileError> {
        let format = file.format.as_deref().expect("the kind is there");
        let pieces = split_format(format).map_err(|message| self.at.error(message))?;
        let pieces = pieces
            .into_iter()
            .map(|(hole, text)| if hole { self.hole(&text) } else { Ok(FormatPiece::Text(text)) })
            .collect::<Result<Vec<_>, _>>()?;
        let refers = pieces.iter().any(|piece| matches!(piece, FormatPiece::Field(_)));
        if refers && file.pool.is_some() {
            return self.at.fail("`pool` makes its texts in advance; they cannot contain another argument");
        }
        Ok(pieces)
    }

    fn hole(&self, hole: &str) -> Result<FormatPiece, FileError> {
        if let Some(i) = self.fields.position(hole) {
            if self.fields.0[i].pool > 0 {
                return self.at.fail(format!("`{hole}` is a pooled text, which no format can contain"));
            }
            return Ok(FormatPiece::Field(i));
        }
        let range = hole.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let counted = hole.split_once(':').and_then(|(kind, n)| Some((kind, n.parse::<u32>().ok()?)));
        match (range, counted) {
            (Some((low, high)), _) if low <= high => Ok(FormatPiece::Integer(low, high)),
            (_, Some(("serial", start))) if self.scope.own_table.is_some() => Ok(FormatPiece::Serial(start)),
            (_, Some(("hex", digits))) => self.length(u64::from(digits), 1).map(|()| FormatPiece::Hex(digits)),
            (_, Some(("words", count))) => {
                self.length(u64::from(count), WORD_BYTES).map(|()| FormatPiece::Words(u64::from(count)))
            }
            _ => self.at.fail(format!(
                "`{{{hole}}}` is neither a column or argument of the same row or operation nor {{1..100}}, {{hex:8}}, {{words:2}} or, in a column, {{serial:1}}"
            )),
        }
    }

    fn reference(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let written = file.reference.as_deref().expect("the kind is there");
        let Some((table, column)) = written.split_once('.') else {
            return self.at.fail(format!("`{written}` is not of the form table.column"));
        };
        let own = self.scope.own_table == Some(table);
        let resolved = self.scope.tables.iter().position(|t| t.name == table);
        let (index, columns) = match resolved {
            Some(index) => (index, &self.scope.tables[index].columns),
            None if own => (self.scope.tables.len(), self.fields),
            None => {
                return self.at.fail(format!("there is no table `{table}`{}", listed(self.scope.table_names.iter())));
            }
        };
        let Some(column_index) = columns.position(column) else {
            return self.at.fail(format!("table `{table}` has no column `{column}` with a generator"));
        };
        if !columns.follows_from_row(column_index) {
            return self.at.fail(format!(
                "`{written}` cannot be computed from the row's number: refer to a `serial` column, a constant or a `format` of these"
            ));
        }
        let part = file.part.unwrap_or([0.0, 1.0]);
        if !(0.0..1.0).contains(&part[0]) || part[1] <= part[0] || part[1] > 1.0 {
            return self.at.fail("`part` is [from, to], fractions of the table from 0 to 1");
        }
        Ok(Generator::Ref { table: index, column: column_index, way: self.way(file)?, part })
    }

    fn way(&self, file: &GeneratorFile) -> Result<RefWay, FileError> {
        match file.each {
            None => Ok(RefWay::Random { zipf: file.zipf, hot: file.hot.unwrap_or(Hot::Scattered) }),
            Some(_) if file.zipf.is_some() || file.hot.is_some() => {
                self.at.fail("`each` uses the rows in turn; `zipf` and `hot` choose at random")
            }
            Some(0) => self.at.fail("`each` is at least 1"),
            Some(_) if self.scope.own_table.is_none() => {
                self.at.fail("`each` is for columns; an argument has no row to count")
            }
            Some(each) => Ok(RefWay::InTurn { each }),
        }
    }

    fn several(&self, written: &[Toml]) -> Result<Vec<Generator>, FileError> {
        if self.scope.own_table.is_none() {
            return self.at.fail("`cycle` and `blocks` are for columns; an argument has no row to count");
        }
        if written.is_empty() {
            return self.at.fail("at least one generator is needed");
        }
        written.iter().map(|value| self.generator(value)).collect()
    }

    fn blocks(&self, file: &GeneratorFile) -> Result<Generator, FileError> {
        let generators = self.several(file.blocks.as_deref().unwrap_or_default())?;
        let shares = file.shares.clone().unwrap_or_else(|| vec![1.0; generators.len()]);
        let sum = self.shares(&shares, generators.len(), "shares")?;
        Ok(Generator::Blocks(shares.into_iter().map(|share| share / sum).zip(generators).collect()))
    }
}

/// The sum of weights.
///
/// # Errors
/// In words, if one is negative or no finite number, or if the sum is zero or infinite.
pub fn check_weights(weights: impl Iterator<Item = f64>) -> Result<f64, String> {
    let mut sum = 0.0;
    for weight in weights {
        if !weight.is_finite() || weight < 0.0 {
            return Err(format!("must be finite numbers that are not negative, found {weight}"));
        }
        sum += weight;
    }
    match sum {
        0.0 => Err("sum to zero".to_string()),
        _ if sum.is_infinite() => Err("are too large for their sum; divide all of them by the same number".to_string()),
        _ => Ok(sum),
    }
}

/// Texts and holes `{...}` of a format; `{{` and `}}` stand for braces.
fn split_format(format: &str) -> Result<Vec<(bool, String)>, String> {
    let mut pieces = vec![];
    let mut text = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.peek() == Some(&c) => {
                chars.next();
                text.push(c);
            }
            '{' => {
                let mut hole = String::new();
                loop {
                    match chars.next() {
                        Some('}') => break,
                        Some(c) => hole.push(c),
                        None => return Err(format!("`{{{hole}` is not closed")),
                    }
                }
                if !text.is_empty() {
                    pieces.push((false, std::mem::take(&mut text)));
                }
                pieces.push((true, hole));
            }
            '}' => return Err("a `}` without its `{` (write `}}` for a brace)".to_string()),
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push((false, text));
    }
    Ok(pieces)
}
