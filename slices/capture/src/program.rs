//! The transactions of a program, and groups of those with the same statements.

use crate::raw::Who;
use crate::sql::{Begin, Does, Shape, as_written, shape, without_stand_ins};
use crate::trace::{Call, Trace};
use crate::turns::{Loop, places};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;

/// Shorter times in the program are left out of a transaction.
const HOLD_NS_MIN: u64 = 200_000;

/// End of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Committed,
    RolledBack,
    Failed,
    /// The process or the capture ended first.
    Unfinished,
}

/// Begin of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Began {
    /// A single statement without BEGIN.
    Alone,
    By(Begin),
    /// Before the capture, or through a call that was not seen.
    Unseen,
}

impl Began {
    pub fn word(self) -> &'static str {
        match self {
            Began::Alone => "none",
            Began::By(Begin::Deferred) => "deferred",
            Began::By(Begin::Immediate) => "immediate",
            Began::By(Begin::Exclusive) => "exclusive",
            Began::Unseen => "unseen",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Transaction {
    pub connection: u64,
    pub who: Who,
    pub began: Began,
    pub end: End,
    /// Indexes into the calls of the trace.
    pub calls: Vec<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
    /// Time that its first statement took to be prepared, before it began.
    pub prepared_ns: u64,
    /// Whether it writes or tries to.
    pub writes: bool,
    /// Whether it met a lock.
    pub is_busy: bool,
    /// Number of earlier attempts at the same work.
    pub earlier: u32,
    /// The next attempt of the same thread at the same work.
    pub next: Option<usize>,
    /// Time in the program between statements: in all, and while it held the write lock.
    pub open_ns: u64,
    pub held_ns: u64,
    /// Of a transaction that no statement ended: the time from its last call until its connection was closed or the capture
    /// ended.
    pub rest_ns: u64,
}

impl Transaction {
    /// The time that it took the program, with that until its statements were prepared: a client of a server may wait for a lock there.
    pub fn duration_ns(&self) -> u64 {
        self.prepared_ns + self.to_ns + self.rest_ns - self.from_ns
    }

    /// Whether it came to the end that the program wanted.
    pub fn has_succeeded(&self) -> bool {
        matches!(self.end, End::Committed | End::RolledBack)
    }

    /// Whether the same thread tried again afterwards.
    pub fn is_tried_again(&self) -> bool {
        self.next.is_some()
    }
}

/// Shapes of all statements of a trace.
pub struct Shapes {
    by_text: HashMap<Rc<str>, usize>,
    pub all: Vec<Shape>,
    /// The original text of the first statement of each shape.
    pub texts: Vec<Rc<str>>,
    /// That text with `...` for its values.
    pub written: Vec<String>,
    /// Whether there are several texts of each.
    pub varies: Vec<bool>,
    numbers: HashMap<String, usize>,
}

impl Shapes {
    pub fn of(trace: &Trace) -> Shapes {
        let (by_text, numbers) = (HashMap::new(), HashMap::new());
        let mut shapes = Shapes { by_text, all: vec![], texts: vec![], written: vec![], varies: vec![], numbers };
        for call in &trace.calls {
            if shapes.by_text.contains_key(&call.sql) {
                continue;
            }
            let made = shape(&call.sql);
            let next = shapes.all.len();
            let number = *shapes.numbers.entry(made.text.clone()).or_insert(next);
            if number == next {
                shapes.all.push(made);
                shapes.texts.push(Rc::clone(&call.sql));
                shapes.written.push(as_written(&call.sql));
                shapes.varies.push(false);
            } else {
                shapes.varies[number] = true;
            }
            shapes.by_text.insert(Rc::clone(&call.sql), number);
        }
        shapes
    }

    /// Replaces stand-ins for literals in definitions of tables, which would be read as the program's own values.
    pub fn hide_stand_ins(&mut self) {
        let is_schema = |shape: &&mut Shape| shape.does == Does::Schema;
        for shape in self.all.iter_mut().filter(is_schema) {
            shape.text = without_stand_ins(&shape.text);
        }
    }

    pub fn number(&self, call: &Call) -> usize {
        self.by_text[&call.sql]
    }

    pub fn get(&self, call: &Call) -> &Shape {
        &self.all[self.number(call)]
    }

    /// The statement of a call for people.
    pub fn written(&self, call: &Call) -> &str {
        &self.written[self.number(call)]
    }
}

/// The transactions of a trace, ordered by start. Attempts at the same work are not joined yet.
pub fn transactions(trace: &Trace, shapes: &Shapes) -> Vec<Transaction> {
    let mut open: BTreeMap<u64, Transaction> = BTreeMap::new();
    let mut found = vec![];
    for (i, call) in trace.calls.iter().enumerate() {
        let shape = shapes.get(call);
        let does = shape.does;
        // After a deadlock MariaDB has rolled back, and the client's ROLLBACK ends nothing.
        let is_setting =
            matches!(does, Does::Pragma | Does::Other | Does::Rollback | Does::Commit) && call.before && call.after;
        if is_setting && !open.contains_key(&call.connection) {
            continue;
        }
        let transaction = open.entry(call.connection).or_insert_with(|| begin(call, shape));
        transaction.calls.push(i);
        transaction.to_ns = transaction.to_ns.max(call.end_ns());
        let writes = matches!(does, Does::Write | Does::Schema) && !call.is_readonly;
        transaction.writes |= writes || matches!(does, Does::Begin(Begin::Immediate | Begin::Exclusive));
        transaction.is_busy |= call.is_busy();
        if call.is_pending() {
            continue;
        }
        if call.after {
            transaction.end = end(call, shape);
            found.extend(open.remove(&call.connection));
        }
    }
    let last_writes = last_writes(trace, shapes);
    found.extend(open.into_values().map(|mut transaction| {
        transaction.rest_ns = rest_ns(&transaction, trace, &last_writes);
        transaction
    }));
    found.sort_by_key(|transaction| transaction.from_ns);
    for transaction in &mut found {
        measure(transaction, trace, shapes);
    }
    found
}

fn begin(call: &Call, shape: &Shape) -> Transaction {
    let by_begin = shape.parts.iter().find_map(|part| match part {
        Does::Begin(mode) => Some(*mode),
        _ => None,
    });
    let began = match by_begin {
        Some(mode) => Began::By(mode),
        None if call.before && shape.parts.contains(&Does::Savepoint) => Began::By(Begin::Deferred),
        _ if call.before => Began::Alone,
        _ => Began::Unseen,
    };
    Transaction {
        connection: call.connection,
        who: call.who,
        began,
        end: End::Unfinished,
        calls: vec![],
        from_ns: call.at_ns,
        to_ns: call.at_ns,
        prepared_ns: call.prepare.0,
        writes: false,
        is_busy: false,
        earlier: 0,
        next: None,
        open_ns: 0,
        held_ns: 0,
        rest_ns: 0,
    }
}

fn end(call: &Call, shape: &Shape) -> End {
    let ends = |part: &&Does| matches!(part, Does::Commit | Does::Rollback);
    match shape.parts.iter().rfind(ends) {
        _ if call.has_failed() => End::Failed,
        Some(Does::Rollback) => End::RolledBack,
        _ => End::Committed,
    }
}

/// The connection that last wrote to each file, and when that ended.
fn last_writes<'t>(trace: &'t Trace, shapes: &Shapes) -> HashMap<&'t Path, (u64, u64)> {
    let mut last = HashMap::new();
    for call in trace.calls.iter().filter(|call| takes_lock(call, shapes)) {
        if let Some(connection) = trace.connections.get(&call.connection) {
            last.insert(connection.path.as_path(), (call.connection, call.end_ns()));
        }
    }
    last
}

/// Time from the last call of a transaction that no statement ended. 0 if it is unknown: its process ended in the call, or
/// later, because another connection could write.
fn rest_ns(transaction: &Transaction, trace: &Trace, last_writes: &HashMap<&Path, (u64, u64)>) -> u64 {
    let Some(connection) = trace.connections.get(&transaction.connection) else { return 0 };
    let is_pending = transaction.calls.last().is_some_and(|&i| trace.calls[i].is_pending());
    let other = last_writes.get(connection.path.as_path());
    let is_free = other.is_some_and(|(by, at_ns)| *by != transaction.connection && *at_ns > transaction.to_ns);
    let end_ns = connection.closed_ns.unwrap_or(if is_pending || is_free { 0 } else { trace.end_ns });
    end_ns.saturating_sub(transaction.to_ns)
}

/// Whether a call has the write lock of its database afterwards.
pub fn takes_lock(call: &Call, shapes: &Shapes) -> bool {
    let takes = |does| matches!(does, Does::Write | Does::Schema | Does::Begin(Begin::Immediate | Begin::Exclusive));
    takes(shapes.get(call).does) && !call.has_failed() && !call.is_readonly
}

/// Computes the time between its statements, and how long it held the write lock.
fn measure(transaction: &mut Transaction, trace: &Trace, shapes: &Shapes) {
    let mut holds = false;
    let mut last: Option<&Call> = None;
    for &i in &transaction.calls {
        let call = &trace.calls[i];
        if let Some(last) = last {
            let gap = call.pause_ns(last);
            transaction.open_ns += gap;
            transaction.held_ns += if holds { gap } else { 0 };
        }
        holds |= takes_lock(call, shapes);
        transaction.open_ns += call.between_ns();
        transaction.held_ns += if holds { call.between_ns() } else { 0 };
        last = Some(last.filter(|last| last.end_ns() > call.end_ns()).unwrap_or(call));
    }
    transaction.open_ns += transaction.rest_ns;
    transaction.held_ns += if holds { transaction.rest_ns } else { 0 };
    // A transaction rolled back because of a lock has failed, whatever its last statement returned.
    if transaction.end == End::RolledBack && transaction.is_busy {
        transaction.end = End::Failed;
    }
}

/// Transactions of one kind: the same statements in the same order, about equally often.
#[derive(Debug, Clone)]
pub struct Group {
    pub began: Began,
    /// Numbers of shapes, and how many times each is executed in sequence.
    pub steps: Vec<Step>,
    /// Steps that are carried out in turn. Each is counted once, with the executions of all rounds.
    pub loops: Vec<Loop>,
    /// Indexes into the list of transactions; the last attempt of each.
    pub transactions: Vec<usize>,
    pub writes: bool,
    /// Whether other transactions have the same statements, and execute them many times more or less often.
    pub is_part: bool,
    /// Transactions whose steps are counted here, and the time in the program before their ends.
    counted: u64,
    end_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub shape: usize,
    executions: u64,
    /// How many times transactions came to it: once, or in each round of a loop.
    came: u64,
    /// Fewest and most executions in one transaction.
    pub least: u64,
    pub most: u64,
    /// Time in the program before it, of all that went through it.
    pause_ns: u64,
}

impl Step {
    fn new(shape: usize) -> Step {
        Step { shape, executions: 0, came: 0, least: u64::MAX, most: 0, pause_ns: 0 }
    }

    /// Mean number of executions in a row.
    pub fn in_a_row(&self) -> u64 {
        (self.executions as f64 / self.came.max(1) as f64).round().max(1.0) as u64
    }
}

impl Group {
    pub fn new(began: Began, steps: &[usize], loops: Vec<Loop>) -> Group {
        let steps = steps.iter().map(|shape| Step::new(*shape)).collect();
        Group { began, steps, loops, transactions: vec![], writes: false, is_part: false, counted: 0, end_ns: 0 }
    }

    /// The shapes of its steps.
    pub fn shapes(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.shape).collect()
    }

    /// Step and round of what a transaction of it executed.
    pub fn places(&self, executed: &[Executed]) -> Vec<(usize, u64)> {
        let shapes: Vec<usize> = executed.iter().map(|one| one.shape).collect();
        places(&shapes, &self.shapes(), &self.loops)
    }

    /// How many times a transaction of it executed each step, up to the last one that it came to.
    pub fn times(&self, executed: &[Executed]) -> Vec<u64> {
        times(&self.places(executed), executed)
    }

    /// How many rounds a transaction of it had of each loop.
    pub fn rounds_of(&self, executed: &[Executed]) -> Vec<u64> {
        let places = self.places(executed);
        let of = |of: &Loop| places.iter().filter(|(step, _)| *step == of.first).count() as u64;
        self.loops.iter().map(of).collect()
    }

    /// Mean times in the program before each step and before the end.
    pub fn pauses_ns(&self) -> Vec<u64> {
        let sums = self.steps.iter().map(|step| step.pause_ns).chain([self.end_ns]);
        sums.map(|sum| sum / self.counted.max(1)).collect()
    }

    /// These times without short ones: how long a transaction is held open by the program.
    pub fn holds_ns(&self) -> Vec<u64> {
        self.pauses_ns().into_iter().map(|pause_ns| if pause_ns < HOLD_NS_MIN { 0 } else { pause_ns }).collect()
    }

    /// A part of it, with these transactions.
    pub fn part(&self, transactions: Vec<usize>, found: &[Transaction], (trace, shapes): (&Trace, &Shapes)) -> Group {
        let part = Group::new(self.began, &self.shapes(), self.loops.clone());
        let mut part = Group { transactions, writes: self.writes, is_part: self.is_part, ..part };
        for i in part.transactions.clone().into_iter().filter(|&i| found[i].has_succeeded()) {
            let (steps, end_ns) = sequence(&found[i], trace, shapes);
            part.count(&steps, end_ns);
        }
        part
    }

    /// Counts the steps of one of its transactions.
    pub fn count(&mut self, executed: &[Executed], end_ns: u64) {
        let places = self.places(executed);
        for (step, times) in self.steps.iter_mut().zip(times(&places, executed)) {
            (step.least, step.most) = (step.least.min(times), step.most.max(times));
            step.executions += times;
        }
        for ((step, _), one) in places.into_iter().zip(executed) {
            self.steps[step].came += 1;
            self.steps[step].pause_ns += one.pause_ns;
        }
        self.counted += 1;
        self.end_ns += end_ns;
    }

    /// Mean number of rounds of a loop.
    pub fn rounds(&self, of: &Loop) -> f64 {
        self.steps[of.first].came as f64 / self.counted.max(1) as f64
    }

    /// Mean number of executions of a step in a transaction.
    pub fn repeats(&self, step: &Step) -> u64 {
        (step.executions as f64 / self.counted.max(1) as f64).round().max(1.0) as u64
    }
}

/// The executions of each step.
fn times(places: &[(usize, u64)], executed: &[Executed]) -> Vec<u64> {
    let mut times = vec![];
    for ((step, _), one) in places.iter().zip(executed) {
        times.resize(times.len().max(step + 1), 0);
        times[*step] += one.calls.len() as u64;
    }
    times
}

/// A step of one transaction: a shape, its executions in a row, and the time in the program before them.
pub struct Executed {
    pub shape: usize,
    /// Indexes into the calls of the trace.
    pub calls: Vec<usize>,
    pub pause_ns: u64,
}

/// The steps of a transaction in order, and the time in the program before its end.
pub fn sequence(transaction: &Transaction, trace: &Trace, shapes: &Shapes) -> (Vec<Executed>, u64) {
    let (mut steps, mut pause_ns): (Vec<Executed>, u64) = (vec![], 0);
    let (mut before, mut previous): (Option<&Call>, Option<&Call>) = (None, None);
    for &i in &transaction.calls {
        let call = &trace.calls[i];
        let number = shapes.number(call);
        let repeats_after_lock = previous.is_some_and(|before| before.is_busy() && before.sql == call.sql);
        pause_ns += before.map_or(0, |before| call.pause_ns(before));
        previous = Some(call);
        // Calls between the rows of another one are within its time.
        before = Some(before.filter(|before| before.end_ns() > call.end_ns()).unwrap_or(call));
        let frames = matches!(shapes.all[number].does, Does::Begin(_) | Does::Commit | Does::Rollback);
        // A script that begins with BEGIN contains more statements.
        let frames = frames && !shapes.all[number].text.contains(';');
        if repeats_after_lock || frames {
            continue;
        }
        match steps.last_mut().filter(|last| last.shape == number) {
            Some(last) => last.calls.push(i),
            None => {
                steps.push(Executed { shape: number, calls: vec![i], pause_ns });
                pause_ns = 0;
            }
        }
        // What the program did between rows comes after the statement.
        pause_ns += call.between_ns();
    }
    (steps, pause_ns)
}

/// All operations by their statements. Attempts followed by another one are not counted. Operations that never succeeded belong
/// to the kind whose first statements they share.
pub fn same_statements(found: &[Transaction], trace: &Trace, shapes: &Shapes) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    let mut by_steps: HashMap<(Began, Vec<usize>), usize> = HashMap::new();
    let mut unsuccessful = vec![];
    for (i, transaction) in found.iter().enumerate().filter(|(_, transaction)| !transaction.is_tried_again()) {
        let (steps, end_ns) = sequence(transaction, trace, shapes);
        let key: Vec<usize> = steps.iter().map(|step| step.shape).collect();
        if !transaction.has_succeeded() {
            unsuccessful.push((i, key, steps, end_ns));
            continue;
        }
        let group = enter(&mut groups, &mut by_steps, (transaction, key), (&steps, end_ns));
        groups[group].transactions.push(i);
    }
    for (i, key, steps, end_ns) in unsuccessful {
        let transaction = &found[i];
        let like = groups.iter().position(|group| {
            !key.is_empty()
                && group.began == transaction.began
                && group.steps.iter().map(|step| step.shape).zip(&key).all(|(a, b)| a == *b)
                && group.steps.len() >= key.len()
        });
        let group = like.unwrap_or_else(|| enter(&mut groups, &mut by_steps, (transaction, key), (&steps, end_ns)));
        groups[group].transactions.push(i);
    }
    groups
}

fn enter(
    groups: &mut Vec<Group>,
    by_steps: &mut HashMap<(Began, Vec<usize>), usize>,
    (transaction, key): (&Transaction, Vec<usize>),
    (steps, end_ns): (&[Executed], u64),
) -> usize {
    let group = *by_steps.entry((transaction.began, key)).or_insert_with(|| {
        let steps: Vec<usize> = steps.iter().map(|step| step.shape).collect();
        groups.push(Group::new(transaction.began, &steps, vec![]));
        groups.len() - 1
    });
    let entered = &mut groups[group];
    entered.count(steps, end_ns);
    entered.writes |= transaction.writes;
    group
}
