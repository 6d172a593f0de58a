//! The translator's state and its output: one buffer, placeholders, and the rules that fired.
//!
//! Each function that writes an expression returns its properties. If the type of another operand matters, text
//! already written is wrapped in place, so each node is visited once.

use std::borrow::Cow;

use crate::catalogue::{Catalogue, Column, Kind, Table};
use crate::parse::tree::{ColumnDefinition, Expr, Select};
use crate::refuse::{No, R, no};
use crate::rules::Id;
use crate::scope::{Found, Grouping, Known};
use crate::translation::{Keys, Options, ParamType, SessionValue, Target};
use crate::types::{Affinity, Number, Slot, Strength, Ty, Val};

/// System columns of every PostgreSQL table (its documentation, 5.5).
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// Deepest nesting of expressions and queries. Deeper statements are refused, so that the stack cannot overflow.
const DEPTH_MAX: u32 = 100;
/// PostgreSQL and MariaDB number placeholders in 16 bits.
pub(crate) const PLACEHOLDERS_MAX: usize = 65_535;

/// An integer as text on MariaDB, with an explicit collation: views, CHECK and generated columns are stored as text
/// without the default, and would be read as `utf8mb4_bin`, which ignores trailing spaces.
pub(crate) const INTEGER_TEXT: (&str, &str) = ("CAST(", " AS CHAR(20)) COLLATE utf8mb4_nopad_bin");

/// The statement to translate, and the target.
pub(crate) struct Input<'a> {
    pub catalogue: &'a Catalogue,
    pub options: &'a Options,
    /// The text that the parser read.
    pub text: &'a str,
    /// Named parameters with their numbers.
    pub names: &'a [(&'a str, u16)],
    /// Whether the text has the word COLLATE; computed on first use.
    pub collates: Option<bool>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(
        catalogue: &'a Catalogue,
        options: &'a Options,
        text: &'a str,
        names: &'a [(&'a str, u16)],
    ) -> Self {
        Input { catalogue, options, text, names, collates: None }
    }
}

/// The output.
#[derive(Default)]
pub(crate) struct Output {
    pub sql: String,
    /// The value to bind for each placeholder, in order.
    pub slots: Vec<Slot>,
    /// Statements to run before this one.
    pub before: Vec<String>,
    /// Statements to run after this one.
    pub after: Vec<String>,
    /// The rules that fired, one bit each.
    pub fired: u128,
    /// Whether a literal beyond the range of doubles was written.
    pub infinite: bool,
    pub keys: Keys,
    pub may_fail_late: bool,
    /// Columns of the result whose values are tagged.
    pub tagged: Vec<u16>,
    /// Refused parts of a table, if they may be left out; `None` if a refusal ends the translation.
    pub left_out: Option<Vec<(String, Box<No>)>>,
}

/// Context of the next part of a statement. A rule that changes it restores it.
#[derive(Default)]
pub(crate) struct Context<'a> {
    pub depth: u32,
    /// Whether aggregates are allowed.
    pub grouping: Grouping,
    /// Whether HAVING is being written.
    pub having: bool,
    /// Whether the condition of a CHECK is being written.
    pub check: bool,
    /// While the expression of a generated column is written: the columns of its CREATE TABLE.
    pub generated: Option<&'a [ColumnDefinition<'a>]>,
    /// Whether names are qualified with their table, because an output column could hide them.
    pub qualify: bool,
    /// In DO UPDATE of an upsert: the table whose columns must be qualified.
    pub upsert: Option<&'a Table>,
    /// The column name that is being written, as in the statement, for refusals.
    pub token: &'a str,
    /// Whether the session's values change while the statement runs.
    pub session_changes: bool,
    /// A result of a query that is written in lower case, because it is compared under NOCASE.
    pub folded_result: Option<&'a Expr<'a>>,
    /// Which results of the next query are tagged; none if empty.
    pub tagged_results: Vec<bool>,
    /// What the next part of a compound query gets beyond its results and conditions.
    pub extra: Extra,
    /// For each part of the next compound query, what it gets beyond.
    pub extras: Vec<Extra>,
    /// A result of a query that is written between these texts, because it is compared as a tagged value.
    pub keyed_result: Option<(&'a Expr<'a>, String, String)>,
    /// Literal texts, with the numbers as which their columns store them.
    pub stored: Vec<(&'a Expr<'a>, Number)>,
}

/// What a part of a query gets beyond its own results and conditions.
#[derive(Clone, Default)]
pub(crate) struct Extra {
    /// Written after the last result.
    pub result: String,
    /// A condition, joined to its own.
    pub condition: String,
    /// The only result that is written, if not all are.
    pub only: Option<usize>,
    /// Whether its results have room for values of any length, as columns of a recursive query need it on MariaDB.
    pub roomy: bool,
}

/// Counters with which a rule finds out what its parts contained.
#[derive(Default)]
pub(crate) struct Counters {
    /// Number of expressions written or probed.
    pub steps: usize,
    pub aggregates: u32,
    /// Number of columns read from an inner query.
    pub outer_reads: u32,
    /// Number of columns read from a query in FROM, a WITH or a view.
    pub query_reads: u32,
    /// Number of `*` and `t.*` in lists of results.
    pub stars: u32,
    /// Number of columns of compound queries whose parts have several collations.
    pub mixed_collations: u32,
    /// Start of the last LIMIT that was written.
    pub limit_at: usize,
    /// Whether the last SELECT may have several rows on MariaDB, which returns one row for DISTINCT of constants and ignores OFFSET.
    pub varies: bool,
}

/// The columns that the caller of a query needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    Columns,
    /// Those of the first part of a compound query; only that part is written.
    FirstPart,
}

/// The mutually recursive rules. They are passed in, so that no file of rules depends on the file above it.
pub(crate) struct Grammar {
    pub expr: for<'a> fn(&mut Tr<'a>, &'a Expr<'a>, Ty) -> R<Val>,
    pub query: for<'a> fn(&mut Tr<'a>, &'a Select<'a>, Wanted) -> R<Vec<Column>>,
}

/// A translation in progress.
pub(crate) struct Tr<'a> {
    /// Whether the server is PostgreSQL; otherwise it is MariaDB.
    pub postgres: bool,
    pub input: Input<'a>,
    pub out: Output,
    pub known: Known<'a>,
    pub place: Context<'a>,
    pub seen: Counters,
    grammar: &'static Grammar,
}

/// A state to return to.
pub(crate) struct Mark {
    length: usize,
    slots: usize,
    fired: u128,
    aggregates: u32,
}

impl<'a> Tr<'a> {
    pub(crate) fn new(input: Input<'a>, grammar: &'static Grammar) -> Tr<'a> {
        let room = input.text.len() + input.text.len() / 2 + 32;
        Tr {
            postgres: input.options.target == Target::Postgres,
            input,
            out: Output { sql: String::with_capacity(room), ..Output::default() },
            known: Known::default(),
            place: Context::default(),
            seen: Counters::default(),
            grammar,
        }
    }

    /// Writes an expression. `want` is the type for a parameter; it does not change anything else.
    pub(crate) fn expr(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        (self.grammar.expr)(self, expr, want)
    }

    /// Writes a query.
    pub(crate) fn query(&mut self, select: &'a Select<'a>, wanted: Wanted) -> R<Vec<Column>> {
        (self.grammar.query)(self, select, wanted)
    }

    /// Finds a column by its name and optionally its table's name. `None` if no source has it.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> R<Option<Found>> {
        self.known.find(table, name)
    }

    pub(crate) fn column_of(&self, found: &Found) -> &Column {
        self.known.column_of(found)
    }

    pub(crate) fn fire(&mut self, rule: Id) {
        self.out.fired |= 1 << rule as u8;
    }

    pub(crate) fn has_fired(&self, rule: Id) -> bool {
        self.out.fired & (1 << rule as u8) != 0
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.out.sql.push_str(text);
    }

    /// Writes the text for the target.
    pub(crate) fn either(&mut self, postgres: &str, mariadb: &str) {
        self.out.sql.push_str(if self.postgres { postgres } else { mariadb });
    }

    pub(crate) fn at(&self) -> usize {
        self.out.sql.len()
    }

    fn is_long(&self, name: &str) -> bool {
        if self.postgres { name.len() > 63 } else { name.chars().count() > 64 }
    }

    /// The name of an index on the server. No result shows it, so a long one is shortened.
    pub(crate) fn index_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.is_long(name) { crate::names::shortened(name).into() } else { name.into() }
    }

    pub(crate) fn name(&mut self, name: &str) -> R<()> {
        if name.is_empty() {
            return no(Id::Names, name, "the server takes no empty name");
        }
        if self.is_long(name) {
            return no(Id::Names, name, "the server has no room for a name of this length");
        }
        if self.postgres && name.starts_with("pg_") {
            return no(Id::Names, name, "PostgreSQL reserves names that begin with pg_");
        }
        if self.postgres && SYSTEM_COLUMNS.contains(&name) {
            return no(Id::Names, name, "PostgreSQL has a system column with this name in every table");
        }
        crate::names::push_name(&mut self.out.sql, name);
        Ok(())
    }

    /// Puts text around the output from `start` on.
    pub(crate) fn wrap(&mut self, start: usize, before: &str, after: &str) {
        self.out.sql.insert_str(start, before);
        self.out.sql.push_str(after);
    }

    /// Parenthesises an expression that binds weaker than `strongest`.
    pub(crate) fn enclose(&mut self, start: usize, value: &mut Val, strongest: Strength) {
        if value.strength > strongest {
            self.wrap(start, "(", ")");
            value.strength = Strength::Atom;
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            length: self.out.sql.len(),
            slots: self.out.slots.len(),
            fired: self.out.fired,
            aggregates: self.seen.aggregates,
        }
    }

    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.out.sql.truncate(mark.length);
        self.out.slots.truncate(mark.slots);
        self.out.fired = mark.fired;
        self.seen.aggregates = mark.aggregates;
    }

    /// The properties of an expression, without writing it.
    pub(crate) fn probe(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let mark = self.mark();
        let value = self.expr(expr, Ty::Any);
        self.back_to(mark);
        value
    }

    /// Writes a part that may be left out: a refusal is recorded under the part's name.
    pub(crate) fn optional(&mut self, part: impl FnOnce() -> String, write: impl FnOnce(&mut Self) -> R<()>) -> R<()> {
        let (mark, after, scopes) = (self.mark(), self.out.after.len(), self.known.scopes.len());
        let refused = match write(self) {
            Err(refused) if self.out.left_out.is_some() => refused,
            done => return done,
        };
        self.back_to(mark);
        self.out.after.truncate(after);
        self.known.scopes.truncate(scopes);
        self.out.left_out.get_or_insert_default().push((part(), refused));
        Ok(())
    }

    /// Runs `work` one level deeper.
    pub(crate) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        if self.place.depth >= DEPTH_MAX {
            return no(Id::Depth, "", format!("more than {DEPTH_MAX} levels of nesting"));
        }
        self.place.depth += 1;
        let result = work(self);
        self.place.depth -= 1;
        result
    }

    /// Writes `list`, separated by commas.
    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> R<()>,
    ) -> R<()> {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            write(self, item)?;
        }
        Ok(())
    }

    /// SQLite's number of a parameter.
    pub(crate) fn parameter_number(&self, name: &str) -> R<u16> {
        let known = self.input.names.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
        match known.or_else(|| name.parse().ok()) {
            Some(number) => Ok(number),
            None => no(Id::Parameters, name, "a parameter of a form that is not understood"),
        }
    }

    /// The type of the value bound for a parameter, if the caller gave it.
    pub(crate) fn bound(&self, name: &str) -> Option<Ty> {
        let number = self.parameter_number(name).ok()?;
        Ty::of_parameter(*self.input.options.bound.get(usize::from(number).wrapping_sub(1))?)
    }

    /// Writes a placeholder for a parameter in a place of type `ty`; the result has that type.
    pub(crate) fn placeholder(&mut self, name: &str, ty: Ty) -> R<Val> {
        let number = self.parameter_number(name)?;
        let ty = match (ty, self.bound(name)) {
            // Next to reals an integer stays one, and a real next to numbers of either type.
            (Ty::Real, Some(Ty::Int)) => Ty::Int,
            (Ty::Number, Some(Ty::Real)) => Ty::Real,
            (Ty::Tagged, _) => Ty::Any,
            (ty, _) => ty,
        };
        if ty == Ty::Number {
            // Among decimal numbers, a real without a fraction would become an integer.
            let value = self.typed_placeholder(name, Ty::Int, Slot { number, ty: Ty::Int, converted: false })?;
            self.either("::numeric", "");
            return Ok(Val { ty, ..value });
        }
        self.typed_placeholder(name, ty, Slot { number, ty, converted: false })
    }

    /// As [`Tr::placeholder`], in a place that converts by itself (a comparison or a column): an integer that a real equals
    /// may then be bound as that real. SQLite converts by that affinity.
    pub(crate) fn bare_placeholder(&mut self, name: &str, ty: Ty, affinity: Affinity) -> R<Val> {
        let number = self.parameter_number(name)?;
        let converted = match affinity {
            Affinity::Text => ty == Ty::Text,
            numeric => numeric.numeric() && matches!(ty, Ty::Int | Ty::Real | Ty::Number),
        };
        // Where SQLite converts nothing, the place takes an integer as it is.
        let bound = if ty == Ty::Real && !converted { Ty::Number } else { ty };
        self.typed_placeholder(name, ty, Slot { number, ty: bound, converted })
    }

    /// A placeholder for a value that the session provides.
    pub(crate) fn session_value(&mut self, token: &str, value: SessionValue) -> R<Val> {
        if !self.input.options.session {
            return no(Id::SessionValues, token, "only a session has this value, and none is given here");
        }
        if self.place.session_changes {
            return no(Id::SessionValues, token, "its value changes while the statement runs");
        }
        self.fire(Id::SessionValues);
        let number = value as u16;
        let value = self.typed_placeholder(token, Ty::Int, Slot { number, ty: Ty::Int, converted: false })?;
        Ok(value.never_null())
    }

    fn typed_placeholder(&mut self, name: &str, ty: Ty, mut bound: Slot) -> R<Val> {
        self.fire(Id::Parameters);
        let ty = if ty == Ty::Bool { Ty::Int } else { ty };
        bound.ty = if bound.ty == Ty::Bool { Ty::Int } else { bound.ty };
        let untyped = matches!(ty, Ty::Any | Ty::Null | Ty::Param);
        let given = self.input.options.bound.get(usize::from(bound.number).wrapping_sub(1));
        if untyped && given == Some(&ParamType::Null) {
            self.put("NULL");
            return Ok(Val::of(Ty::Null));
        }
        let (ty, bound) = match given.and_then(|given| Ty::of_parameter(*given)) {
            Some(given) if untyped => (given, Slot { ty: given, ..bound }),
            _ => (ty, bound),
        };
        let known = !matches!(ty, Ty::Any | Ty::Null | Ty::Param);
        if self.out.slots.len() >= PLACEHOLDERS_MAX {
            return no(Id::Parameters, name, "more placeholders than the server can number");
        }
        if self.postgres {
            let slot = self.out.slots.iter().position(|s| *s == bound);
            let slot = slot.unwrap_or_else(|| {
                self.out.slots.push(bound);
                self.out.slots.len() - 1
            });
            self.out.sql.push('$');
            push_decimal(&mut self.out.sql, slot + 1);
            self.out.sql.push_str(match ty {
                Ty::Int => "::bigint",
                Ty::Real => "::float8",
                Ty::Number => "::numeric",
                Ty::Text => "::text",
                Ty::Blob => "::bytea",
                _ => "",
            });
        } else {
            // Without a CAST, a bound blob would be returned as a text.
            let is_blob = untyped && ty == Ty::Blob;
            self.put(if is_blob { "CAST(?" } else { "?" });
            push_decimal(&mut self.out.sql, self.out.slots.len());
            self.put(if is_blob { " AS BINARY)" } else { "" });
            self.out.slots.push(bound);
        }
        // The statement does not determine which texts are bound.
        Ok(Val { wordy: ty == Ty::Text, ..Val::of(if known { ty } else { Ty::Param }) })
    }

    /// The table of this name in the catalogue.
    pub(crate) fn known_table(&self, name: &str) -> R<&'a Table> {
        match self.input.catalogue.table(name) {
            Some(table) if table.kind == Kind::Opaque => no(Id::Opaque, name, "what its columns hold is not known"),
            Some(table) => Ok(table),
            None => no(Id::UnknownTable, name, format!("the catalogue has no table `{name}`")),
        }
    }
}

/// Gives MariaDB's placeholders, until then `?` and the number of the slot, their slots in order. A rule may have moved,
/// repeated or left out the text with a placeholder.
pub(crate) fn in_order(out: &mut Output) {
    let written = std::mem::take(&mut out.sql);
    let (mut slots, mut rest) = (Vec::with_capacity(out.slots.len()), written.as_str());
    while let Some(at) = rest.find(['?', '\'', '"']) {
        let (before, found) = rest.split_at(at + 1);
        out.sql.push_str(before);
        rest = found;
        if let Some(quote @ ('\'' | '"')) = before.chars().next_back() {
            let (quoted, after) = rest.split_at(rest.find(quote).map_or(rest.len(), |end| end + 1));
            out.sql.push_str(quoted);
            rest = after;
            continue;
        }
        let end = rest.bytes().take_while(u8::is_ascii_digit).count();
        slots.extend(rest[..end].parse::<usize>().ok().and_then(|slot| out.slots.get(slot)));
        rest = &rest[end..];
    }
    out.sql.push_str(rest);
    out.slots = slots;
}

/// Appends a number without the formatting machinery.
pub(crate) fn push_decimal(out: &mut String, number: usize) {
    if number >= 10 {
        push_decimal(out, number / 10);
    }
    out.push((b'0' + (number % 10) as u8) as char);
}

/// A name without quotes.
pub(crate) fn plain(token: &str) -> Cow<'_, str> {
    crate::names::unquote(token)
}
