//! Transactions from named placeholders to the steps of a plan.

use super::at::{At, listed};
use super::generator::{Scope, fields};
use super::request::{self, Session};
use super::statement::{Meaning, Name, Names, compile, compile_with};
use crate::source::FileError;
use crate::workload::file::{BeginFile, KeepFile, KindFile, StepFile, TransactionFile};
use crate::workload::generator::{Fields, FormatPiece, Generator};
use crate::workload::model::{ArgumentGroup, Begin, Named, OwnSql, TransactionSpec};
use crate::workload::sql::{Piece, behind, has_second_statement, scan};
use crate::workload::translate::{placeholder, server};
use contend_wire::plan::http::{HttpStep, Request};
use contend_wire::plan::{ANY_ROWS, Keep, Source, SqlStep, Step};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value as Toml;

/// What all transactions of a file share.
pub struct Shared<'a> {
    pub scale: &'a BTreeMap<String, Named>,
    pub scope: Scope<'a>,
    /// Every SQL text once, but again if a step has other texts for servers.
    pub statements: Vec<String>,
    /// Texts for servers of each statement.
    pub on: Vec<BTreeMap<String, String>>,
    pub own_sql: Vec<OwnSql>,
    /// Every request.
    pub requests: Vec<Request>,
    /// Names for requests in addition to those of their transaction.
    pub session: Session,
}

impl<'a> Shared<'a> {
    /// The shared state before any transaction is resolved.
    pub fn new(scale: &'a BTreeMap<String, Named>, scope: Scope<'a>, session: Session) -> Self {
        Self { scale, scope, statements: vec![], on: vec![], own_sql: vec![], requests: vec![], session }
    }
}

/// Longest kept column: SQLite allows 32,766 placeholders, other engines fewer.
const LONGEST_COLUMN: u16 = 1000;

/// Most repetitions of a step with a pause between them: each is a step of the plan.
const SPACED_MAX: u32 = 1000;

/// Resolves one transaction.
pub fn transaction(
    name: &str,
    file: &TransactionFile,
    at: &At<'_>,
    shared: &mut Shared<'_>,
) -> Result<TransactionSpec, FileError> {
    if file.step.is_empty() {
        return at.fail("a transaction needs at least one [[step]]");
    }
    let mut builder = Builder { shared, names: Names::default(), groups: vec![], arguments: 0, uniques: 0, slots: 0 };
    let used: BTreeSet<&str> = file.step.iter().flat_map(|step| names_in(step)).collect();
    if file.begin.is_some() && file.step.iter().any(|step| step.request.is_some()) {
        return at.key("begin").fail("requests have no begin");
    }
    builder.declare(&file.args, &at.key("args"), false, 1, &used)?;
    let mut steps = vec![];
    for (i, step) in file.step.iter().enumerate() {
        steps.extend(builder.step(i, step, &at.key("step").key(i))?);
    }
    builder.names.check_all_used()?;
    let begin = match (file.begin, file.kind) {
        (Some(BeginFile::None), _) | (None, KindFile::Read) => Begin::None,
        _ if file.step.iter().any(|step| step.request.is_some()) => Begin::None,
        (None, KindFile::Write) => Begin::Contender,
        (Some(BeginFile::Deferred), _) => Begin::Deferred,
        (Some(BeginFile::Immediate), _) => Begin::Immediate,
        (Some(BeginFile::Exclusive), _) => Begin::Exclusive,
    };
    let small = |n: u32, what: &str| {
        u16::try_from(n).map_err(|_| at.error(format!("an operation has {n} {what}; 65535 is the most")))
    };
    small(builder.arguments, "arguments")?;
    Ok(TransactionSpec {
        name: name.to_string(),
        writes: file.kind == KindFile::Write,
        begin,
        uniques: small(builder.uniques, "unique numbers")?,
        slots: builder.slots,
        arguments: builder.groups,
        steps,
    })
}

/// Every repetition as its own step, with a pause between one and the next.
fn spaced(step: &SqlStep, pause_ns: u64) -> Vec<Step> {
    let mut steps = vec![];
    for n in 0..step.repeat {
        if n > 0 && pause_ns > 0 {
            steps.push(Step::Pause { ns: pause_ns });
        }
        steps.push(Step::Sql(step.repetition(n as u16)));
    }
    steps
}

/// Names of the placeholders of a step.
fn names_in(step: &StepFile) -> Vec<&str> {
    let pieces = step.sql.as_deref().map(scan).unwrap_or_default();
    let name = |piece| match piece {
        Piece::Named { name, .. } => Some(name),
        Piece::Text(_) | Piece::Foreign(_) => None,
    };
    pieces.into_iter().filter_map(name).chain(request::names_in(step)).collect()
}

struct Builder<'s, 'a, 'f> {
    shared: &'s mut Shared<'a>,
    names: Names<'f>,
    groups: Vec<ArgumentGroup>,
    arguments: u32,
    uniques: u32,
    slots: u16,
}

impl<'f> Builder<'_, '_, 'f> {
    /// Declares arguments, of the transaction or of a step. `used` are the names its SQL mentions.
    fn declare(
        &mut self,
        written: &BTreeMap<String, Toml>,
        at: &At<'f>,
        of_step: bool,
        repeat: u32,
        used: &BTreeSet<&str>,
    ) -> Result<(), FileError> {
        let mut drawn = BTreeMap::new();
        let mut uniques = vec![];
        for (name, value) in written {
            let at = at.key(name);
            if value.get("unique").is_some() {
                unique(value, &at)?;
                uniques.push(name);
            } else if value.get("kept").is_some() {
                let meaning = self.kept_plus(value, &at, of_step)?;
                self.names.declare(name, Name::new(meaning, &at, of_step))?;
            } else {
                drawn.insert(name.clone(), value.clone());
            }
        }
        let per_repetition = |n: usize| if repeat > 1 { n as u32 } else { 0 };
        for (i, name) in uniques.iter().enumerate() {
            let meaning = Meaning::Unique { first: self.uniques + i as u32, stride: per_repetition(uniques.len()) };
            self.names.declare(name, Name::new(meaning, &at.key(name), of_step))?;
        }
        self.uniques = self.uniques.saturating_add(repeat.saturating_mul(uniques.len() as u32));
        let fields = fields(&drawn, at, &self.shared.scope)?;
        self.declare_fields(fields, at, of_step, repeat, used)
    }

    /// Declares drawn arguments. Constants become literals of the step; arguments that are only used by a format stay
    /// out of the plan.
    fn declare_fields(
        &mut self,
        fields: Fields,
        at: &At<'f>,
        of_step: bool,
        repeat: u32,
        used: &BTreeSet<&str>,
    ) -> Result<(), FileError> {
        let constant = |i: usize| match &fields.0[i].generator {
            Generator::Constant(value) if fields.0[i].pool == 0 => Some(value.clone()),
            _ => None,
        };
        let all = 0..fields.0.len();
        let carried: Vec<usize> =
            all.filter(|i| used.contains(fields.0[*i].name.as_str()) && constant(*i).is_none()).collect();
        let stride = if repeat > 1 { carried.len() as u32 } else { 0 };
        for (i, field) in fields.0.iter().enumerate() {
            let meaning = match (constant(i), carried.iter().position(|c| *c == i)) {
                (Some(value), _) => Meaning::Literal(value),
                (None, Some(j)) => Meaning::Argument { first: self.arguments.saturating_add(j as u32), stride },
                (None, None) => Meaning::Ingredient,
            };
            let mut name = Name::new(meaning, &at.key(&field.name), of_step);
            name.used = in_format(&fields, i);
            self.names.declare(&field.name, name)?;
        }
        self.arguments = self.arguments.saturating_add(repeat.saturating_mul(carried.len() as u32));
        if !fields.0.is_empty() {
            self.groups.push(ArgumentGroup { repeat, fields, carried });
        }
        Ok(())
    }

    /// `{ kept = "id", plus = 1 }`
    fn kept_plus(&mut self, value: &Toml, at: &At<'f>, of_step: bool) -> Result<Meaning, FileError> {
        let table = value.as_table().expect("it has a key");
        if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "kept" | "plus")) {
            return at.fail(format!("`kept` has no option `{key}` (it has plus)"));
        }
        if !of_step {
            return at.fail("`kept` is for arguments of a step: the transaction has kept nothing yet");
        }
        let kept: String = at.key("kept").read(&table["kept"])?;
        let plus = table.get("plus").map(|plus| at.key("plus").read(plus)).transpose()?.unwrap_or(0);
        match self.names.use_name(&kept) {
            Some(Meaning::Kept { slot, .. }) => Ok(Meaning::Kept { slot: *slot, plus }),
            _ => at.fail(format!("no earlier step keeps a single value as `{kept}`")),
        }
    }

    /// The steps of a plan for a step of the file; empty for a wait of 0.
    fn step(&mut self, index: usize, file: &StepFile, at: &At<'f>) -> Result<Vec<Step>, FileError> {
        let given = [
            file.sql.is_some(),
            file.request.is_some(),
            file.hold.is_some(),
            file.pause.is_some(),
            file.connect.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            return at.fail("a step has exactly one of sql, request, hold, pause, connect");
        }
        let of_answer = file.status.is_some() || file.refused.is_some() || file.count.is_some();
        match file.request {
            Some(_) => return Ok(vec![Step::Http(self.http_step(file, at)?)]),
            None if of_answer || file.body.is_some() || !file.headers.is_empty() => {
                return at.fail("headers, body, status, refused and count are for steps with a request");
            }
            None => {}
        }
        if let Some(sql) = &file.sql {
            let step = self.sql_step(sql, file, at)?;
            return match &file.every {
                None => Ok(vec![Step::Sql(step)]),
                Some(every) => {
                    let ns = at.key("every").duration(every, self.shared.scale)?;
                    Ok(spaced(&step, ns))
                }
            };
        }
        let of_sql = !file.on.is_empty() || file.rows.is_some() || file.repeat.is_some() || file.every.is_some();
        if of_sql || !file.keep.is_empty() || !file.args.is_empty() {
            return at.fail("on, rows, keep, repeat, every and args are for steps with sql");
        }
        let scale = self.shared.scale;
        let waits = |ns: u64, step: Step| if ns == 0 { vec![] } else { vec![step] };
        match (&file.hold, &file.pause) {
            (Some(hold), _) => at.key("hold").duration(hold, scale).map(|ns| waits(ns, Step::Hold { ns })),
            (_, Some(pause)) => at.key("pause").duration(pause, scale).map(|ns| waits(ns, Step::Pause { ns })),
            _ if index > 0 => at.key("connect").fail("only the first step can connect"),
            _ if file.connect == Some(false) => at.key("connect").fail("`connect` can only be true"),
            _ => Ok(vec![Step::Connect]),
        }
    }

    fn sql_step(&mut self, sql: &str, file: &StepFile, at: &At<'f>) -> Result<SqlStep, FileError> {
        let repeat = match &file.repeat {
            None => 1,
            Some(value) => at.key("repeat").fixed::<u32>(value, self.shared.scale)?,
        };
        if repeat == 0 {
            return at.key("repeat").fail("a step is done at least once");
        }
        if file.every.is_some() && (file.repeat.is_none() || repeat > SPACED_MAX) {
            return at
                .key("every")
                .fail(format!("only a step with `repeat`, at most {SPACED_MAX} times, can be spaced"));
        }
        let sql_at = at.key("sql");
        check_step(sql, &sql_at)?;
        let used: BTreeSet<&str> = names_in(file).into_iter().collect();
        self.declare(&file.args, &at.key("args"), true, repeat, &used)?;
        let (text, args) = compile(sql, &mut self.names, &sql_at)?;
        let statement = self.statement(text, &file.on);
        for (name, own) in &file.on {
            self.own_sql(name, own, statement, &args, &at.key("on").key(name))?;
        }
        self.names.close_step()?;
        let (rows_min, rows_max) = rows(file.rows.as_ref(), &at.key("rows"))?;
        let keep = self.keep(&file.keep, &at.key("keep"))?;
        Ok(SqlStep { statement, rows_min, rows_max, repeat, keep, args })
    }

    /// A statement for one server instead of this one, with the same values in any order.
    fn own_sql(
        &mut self,
        name: &str,
        sql: &str,
        statement: u32,
        args: &[Source],
        at: &At<'f>,
    ) -> Result<(), FileError> {
        let target = match server(name) {
            Ok(target) => target,
            Err(known) => return at.fail(format!("there is no server `{name}` (known: {known})")),
        };
        check_step(sql, at)?;
        let (sql, sources) = compile_with(sql, &mut self.names, at, |n| placeholder(target, n))?;
        let number = |source| args.iter().position(|known| known == source).map(|i| i as u16 + 1);
        let Some(params) = sources.iter().map(number).collect::<Option<Vec<u16>>>() else {
            return at.fail("it uses a placeholder that the step's own sql does not have");
        };
        let own = OwnSql { target, statement, sql, params };
        let known = self.shared.own_sql.iter().find(|k| k.target == target && k.statement == statement);
        match known {
            Some(known) if *known != own => at.fail("another step with the same texts has its values in another order"),
            Some(_) => Ok(()),
            None => {
                self.shared.own_sql.push(own);
                Ok(())
            }
        }
    }

    fn http_step(&mut self, file: &StepFile, at: &At<'f>) -> Result<HttpStep, FileError> {
        if file.repeat.is_some() || file.every.is_some() {
            return at.fail("a request is sent once; write the step again to send it again");
        }
        let used = request::names_in(file);
        self.declare(&file.args, &at.key("args"), true, 1, &used)?;
        let (request, sources) = request::request(file, &mut self.names, &self.shared.session, at)?;
        self.names.close_step()?;
        let rows = rows(file.rows.as_ref(), &at.key("rows"))?;
        self.shared.requests.push(request);
        let number = self.shared.requests.len() as u32 - 1;
        let step = request::step(file, rows, &mut self.slots, &mut self.names, at)?;
        // Kept values may be used elsewhere: a login keeps them for all operations.
        for name in file.keep.keys() {
            self.names.use_name(name);
        }
        Ok(HttpStep { request: number, args: sources, ..step })
    }

    /// A step's text for servers must not become that of another step: it may lock rows that the other one only reads.
    fn statement(&mut self, text: String, on: &BTreeMap<String, String>) -> u32 {
        let Shared { statements, on: ons, .. } = &mut *self.shared;
        let found = statements.iter().zip(ons.iter()).position(|(known, its)| *known == text && its == on);
        found.unwrap_or_else(|| {
            statements.push(text);
            ons.push(on.clone());
            statements.len() - 1
        }) as u32
    }

    fn keep(&mut self, written: &BTreeMap<String, Toml>, at: &At<'f>) -> Result<Vec<Keep>, FileError> {
        let mut keeps = vec![];
        for (name, value) in written {
            let at = at.key(name);
            let file = match value {
                Toml::Integer(_) => KeepFile { column: at.read(value)?, max: None },
                other => at.read(other)?,
            };
            if file.max.is_some_and(|max| !(2..=LONGEST_COLUMN).contains(&max)) {
                return at.fail(format!(
                    "`max` is from 2 to {LONGEST_COLUMN}; to keep one value write `{name} = {}`",
                    file.column
                ));
            }
            let slot = self.slots;
            self.slots += 1;
            let meaning = match file.max {
                None => Meaning::Kept { slot, plus: 0 },
                Some(max) => Meaning::KeptColumn { slot, max },
            };
            self.names.declare(name, Name::new(meaning, &at, false))?;
            keeps.push(Keep { slot, column: file.column, rows: file.max.unwrap_or(1) });
        }
        Ok(keeps)
    }
}

/// `{ unique = true }` and nothing else.
fn unique(value: &Toml, at: &At<'_>) -> Result<(), FileError> {
    let alone = value.as_table().is_some_and(|table| table.len() == 1);
    if alone && value["unique"].as_bool() == Some(true) {
        Ok(())
    } else {
        at.fail("a unique number is written `{ unique = true }`, without options")
    }
}

fn in_format(fields: &Fields, field: usize) -> bool {
    fields.0.iter().any(|other| match &other.generator {
        Generator::Format(pieces) => pieces.contains(&FormatPiece::Field(field)),
        _ => false,
    })
}

/// Rejects a text of several statements, of which an engine would carry out only the first.
pub fn check_single(sql: &str, at: &At<'_>) -> Result<(), FileError> {
    if sql.trim().is_empty() {
        return at.fail("the statement is empty");
    }
    if has_second_statement(sql) && !sql.to_ascii_lowercase().contains("trigger") {
        return at.fail("one statement at a time: something follows the semicolon");
    }
    Ok(())
}

/// Rejects several statements, and a statement that changes how later ones are carried out: the report would then name
/// other settings than were measured.
fn check_step(sql: &str, at: &At<'_>) -> Result<(), FileError> {
    check_single(sql, at)?;
    match behind(sql) {
        None => Ok(()),
        Some(found) => at.fail(format!(
            "`{found}` changes a session or a transaction, which the report would not show; settings belong to the contender, and \
             where a transaction begins and ends is the `begin` of [transaction.NAME] (savepoints are allowed)"
        )),
    }
}

/// `1`, `[0, 10]` or `"1.."`.
fn rows(value: Option<&Toml>, at: &At<'_>) -> Result<(u32, u32), FileError> {
    let number = |value: &Toml| value.as_integer().and_then(|n| u32::try_from(n).ok());
    let range = match value {
        None => Some((0, ANY_ROWS)),
        Some(Toml::Array(ends)) if ends.len() == 2 => number(&ends[0]).zip(number(&ends[1])),
        Some(Toml::String(text)) => text.strip_suffix("..").and_then(|min| Some((min.parse().ok()?, ANY_ROWS))),
        Some(value) => number(value).map(|n| (n, n)),
    };
    match range {
        Some((min, max)) if min <= max => Ok((min, max)),
        _ => at.fail("expected rows are a number, [fewest, most] or \"fewest..\", none of them negative"),
    }
}

/// ` (there are ...)` of all transactions, for messages.
pub fn transaction_names(transactions: &BTreeMap<String, TransactionFile>) -> String {
    listed(transactions.keys())
}
