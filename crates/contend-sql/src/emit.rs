//! The translator's state and the way it writes: one buffer, placeholders, rules that fired.
//!
//! Every function that writes an expression returns what is known about it. Where the partner's type decides, the
//! text already written is wrapped in place, so that each node is visited once.

use std::borrow::Cow;

use crate::catalogue::{Catalogue, Column, Kind, Table};
use crate::parse::tree::{Expr, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::scope::{Found, Grouping, Known};
use crate::translation::{Options, Target};
use crate::types::{Strength, Ty, Val};

/// Deepest nesting of expressions and queries. Beyond it a statement is refused, so that no stack overflows.
const DEPTH_MAX: u32 = 100;
/// PostgreSQL and MariaDB number placeholders in 16 bits.
const PLACEHOLDERS_MAX: usize = 65_535;

/// What is translated, for which server.
pub(crate) struct Input<'a> {
    pub catalogue: &'a Catalogue,
    pub options: &'a Options,
    /// The statement as the parser read it.
    pub text: &'a str,
    /// Named parameters with their numbers.
    pub names: &'a [(&'a str, u16)],
    /// The text has the word COLLATE; looked for when it first matters.
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

/// What was written.
#[derive(Default)]
pub(crate) struct Output {
    pub sql: String,
    /// Source parameter and its type, for each placeholder in order.
    pub slots: Vec<(u16, Ty)>,
    /// Statements to be run before this one.
    pub before: Vec<(String, Vec<(u16, Ty)>)>,
    /// Statements to be run after this one.
    pub after: Vec<String>,
    /// The rules that fired, a bit each.
    pub fired: u128,
    /// A literal beyond all doubles was written.
    pub infinite: bool,
}

/// Where in a statement the next part stands: a rule that changes it restores it.
#[derive(Default)]
pub(crate) struct Place<'a> {
    pub depth: u32,
    /// Whether aggregates may stand here.
    pub grouping: Grouping,
    /// HAVING is being written.
    pub having: bool,
    /// Names are written with their table, because an output column's name could be taken for them.
    pub qualify: bool,
    /// Inside an upsert's DO UPDATE: the table whose bare columns need its name.
    pub upsert: Option<&'a Table>,
    /// The column's name that is being written, as it stands in the statement, for refusals.
    pub token: &'a str,
    /// A query's result that is written folded, as it is searched under NOCASE.
    pub folded_result: Option<&'a Expr<'a>>,
}

/// Counts of what was written, by which a rule sees what its parts had in them.
#[derive(Default)]
pub(crate) struct Seen {
    /// Expressions written or probed.
    pub steps: usize,
    pub aggregates: u32,
    /// Columns that were read from within a query inside the one they belong to.
    pub outer_reads: u32,
    /// Columns that were read from a query in FROM, a WITH or a view.
    pub query_reads: u32,
}

/// The columns that a query's caller needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    Columns,
    /// Those of the first part of a compound query, of which only that part is written.
    FirstPart,
}

/// The rules that call each other without end; handed in, so that no file of rules has to know the one above it.
pub(crate) struct Grammar {
    pub expr: for<'a> fn(&mut Tr<'a>, &'a Expr<'a>, Ty) -> R<Val>,
    pub query: for<'a> fn(&mut Tr<'a>, &'a Select<'a>, Wanted) -> R<Vec<Column>>,
}

/// A statement on its way to a server's SQL.
pub(crate) struct Tr<'a> {
    /// The server is PostgreSQL, else MariaDB.
    pub postgres: bool,
    pub input: Input<'a>,
    pub out: Output,
    pub known: Known<'a>,
    pub place: Place<'a>,
    pub seen: Seen,
    grammar: &'static Grammar,
}

/// A state to go back to.
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
            place: Place::default(),
            seen: Seen::default(),
            grammar,
        }
    }

    /// Writes an expression. A parameter takes the type `want`; what else is written does not depend on it.
    pub(crate) fn expr(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        (self.grammar.expr)(self, expr, want)
    }

    /// Writes a query.
    pub(crate) fn query(&mut self, select: &'a Select<'a>, wanted: Wanted) -> R<Vec<Column>> {
        (self.grammar.query)(self, select, wanted)
    }

    /// Finds a column by its name and, perhaps, its table's. `None` if no source has it.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> R<Option<Found>> {
        self.known.find(table, name)
    }

    pub(crate) fn column_of(&self, found: &Found) -> &Column {
        self.known.column_of(found)
    }

    pub(crate) fn fire(&mut self, rule: Id) {
        self.out.fired |= 1 << rule as u8;
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.out.sql.push_str(text);
    }

    /// Writes the one of two texts that is the target's.
    pub(crate) fn either(&mut self, postgres: &str, mariadb: &str) {
        self.out.sql.push_str(if self.postgres { postgres } else { mariadb });
    }

    pub(crate) fn at(&self) -> usize {
        self.out.sql.len()
    }

    pub(crate) fn name(&mut self, name: &str) -> R<()> {
        let limit = if self.postgres { name.len() > 63 } else { name.chars().count() > 64 };
        if limit || name.is_empty() {
            return no(Id::Names, name, "the server has no room for a name of this length");
        }
        crate::names::push_name(&mut self.out.sql, name);
        Ok(())
    }

    /// Puts text around what was written from `start` on.
    pub(crate) fn wrap(&mut self, start: usize, before: &str, after: &str) {
        self.out.sql.insert_str(start, before);
        self.out.sql.push_str(after);
    }

    /// Puts parentheses around an expression that binds weaker than `strongest`.
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

    /// What an expression would be, without writing it.
    pub(crate) fn probe(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let mark = self.mark();
        let value = self.expr(expr, Ty::Any);
        self.back_to(mark);
        value
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

    /// Writes `list` with commas in between.
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

    /// The number SQLite gives to a parameter.
    pub(crate) fn parameter_number(&self, name: &str) -> R<u16> {
        let known = self.input.names.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
        match known.or_else(|| name.parse().ok()) {
            Some(number) => Ok(number),
            None => no(Id::Parameters, name, "a parameter of a form that is not understood"),
        }
    }

    /// Writes a placeholder for a parameter whose place asks for `ty` and answers with it.
    pub(crate) fn placeholder(&mut self, name: &str, ty: Ty) -> R<Val> {
        self.typed_placeholder(name, ty, ty)
    }

    /// The same where the place itself converts, a comparison or a column: there an integer may be bound as a real.
    pub(crate) fn bare_placeholder(&mut self, name: &str, ty: Ty) -> R<Val> {
        self.typed_placeholder(name, ty, if ty == Ty::Real { Ty::Number } else { ty })
    }

    fn typed_placeholder(&mut self, name: &str, ty: Ty, bound: Ty) -> R<Val> {
        let number = self.parameter_number(name)?;
        self.fire(Id::Parameters);
        let ty = if ty == Ty::Bool { Ty::Int } else { ty };
        let known = !matches!(ty, Ty::Any | Ty::Null | Ty::Param);
        if self.out.slots.len() >= PLACEHOLDERS_MAX {
            return no(Id::Parameters, name, "more placeholders than the server can number");
        }
        if self.postgres {
            let slot = self.out.slots.iter().position(|s| *s == (number, bound));
            let slot = slot.unwrap_or_else(|| {
                self.out.slots.push((number, bound));
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
            self.out.slots.push((number, bound));
            self.out.sql.push('?');
        }
        // Which texts are bound no statement shows.
        Ok(Val { wordy: ty == Ty::Text, ..Val::of(if known { ty } else { Ty::Param }) })
    }

    /// The table of a name, in the catalogue.
    pub(crate) fn known_table(&self, name: &str) -> R<&'a Table> {
        match self.input.catalogue.table(name) {
            Some(table) if table.kind == Kind::Opaque => no(Id::Opaque, name, "what its columns hold is not known"),
            Some(table) => Ok(table),
            None => no(Id::UnknownTable, name, format!("the catalogue has no table `{name}`")),
        }
    }
}

/// Placeholders `?` in MariaDB's SQL, outside of its texts and names.
pub(crate) fn placeholders(sql: &str) -> usize {
    let (mut count, mut bytes) = (0, sql.bytes());
    while let Some(found) = bytes.find(|byte| matches!(byte, b'?' | b'\'' | b'"')) {
        match found {
            b'?' => count += 1,
            quote => drop(bytes.find(|byte| *byte == quote)),
        }
    }
    count
}

/// Appends a number without the formatting machinery.
pub(crate) fn push_decimal(out: &mut String, number: usize) {
    if number >= 10 {
        push_decimal(out, number / 10);
    }
    out.push((b'0' + (number % 10) as u8) as char);
}

/// A name without quotes, and whether it was a quoted string that could be a text.
pub(crate) fn plain(token: &str) -> Cow<'_, str> {
    crate::names::unquote(token)
}
