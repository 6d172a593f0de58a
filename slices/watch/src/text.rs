//! Texts of statements: from the calls that compile them, or from the memory of processes that compiled them earlier.

use crate::connection::Caller;
use crate::event::Who;
use crate::process::memory;
use contend::workload::without_values;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of a statement object in which the pointer to its text is.
pub const STATEMENT_BYTES: usize = 512;
/// Most compiled texts whose beginning is stored per process, to recognise them in memory.
const TEXTS_MAX: usize = 4_096;
/// Length of the beginning, in units of UTF-16: of a text in UTF-16 the kernel copies no more.
const BEGINNING_UNITS: usize = 128;
/// Longest text read from memory.
const TEXT_BYTES_MAX: usize = 1_000;
/// Most statements whose text is stored, per process.
const STATEMENTS_MAX: usize = 4_096;
/// Most texts that a thread has compiled and not yet executed, of those that are stored.
const FRESH_MAX: usize = 16;
/// Shortest text used to find the pointer; a shorter one could match by chance.
const TEXT_BYTES_MIN: usize = 8;
/// Number of statements that must agree on the pointer's offset if none of their texts is known.
const WITNESSES: usize = 3;
/// First words of statements.
const KEYWORDS: [&str; 23] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "REPLACE",
    "WITH",
    "PRAGMA",
    "CREATE",
    "DROP",
    "ALTER",
    "SAVEPOINT",
    "RELEASE",
    "ANALYZE",
    "ATTACH",
    "DETACH",
    "EXPLAIN",
    "REINDEX",
    "VACUUM",
    "VALUES",
];

/// The number of a connection's compilations, and the beginning of a text.
type Place = (u64, Beginning);

/// Statements of one process.
#[derive(Default)]
struct Statements {
    /// Hashes of the beginnings of compiled texts.
    compiled: HashSet<u64>,
    /// Text by connection and address, with its beginning, and the number of the connection's compilations at that time: a
    /// later one may reuse the address.
    texts: HashMap<(u64, u64), (Place, Option<String>)>,
    /// By connection.
    compilations: HashMap<u64, u64>,
    /// By thread or goroutine.
    fresh: HashMap<u64, Fresh>,
}

/// What a thread or goroutine has compiled and not yet executed. A function that compiles a statement may compile and execute
/// others before it returns: the first one of a connection reads the schema.
#[derive(Default)]
struct Fresh {
    /// Of the calls that have not returned, outermost first; `None` for a text without a statement.
    compiling: Vec<Option<Compiled>>,
    /// Of those that have.
    compiled: Vec<Compiled>,
}

/// A text, if known, and the stack pointer of the call that has compiled it.
#[derive(Clone)]
struct Compiled {
    text: Option<String>,
    stack: u64,
}

/// The first bytes of a statement's text in SQLite, read when it was executed. 0 from the end of the text on, and if they are not
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beginning(pub [u64; 2]);

impl Beginning {
    /// Whether a text may begin so.
    fn is_of(self, text: &str) -> bool {
        let bytes = self.0.map(u64::to_ne_bytes);
        // Others are replaced in the text if they are not UTF-8.
        let mut plain = bytes.as_flattened().iter().take_while(|byte| byte.is_ascii() && **byte != 0);
        let mut of_text = text.bytes();
        plain.all(|byte| of_text.next() == Some(*byte))
    }
}

/// A statement that is executed: the program or library, its address, and what is known of its text.
#[derive(Debug, Clone, Copy)]
pub struct Executed {
    pub object: usize,
    pub statement: u64,
    pub beginning: Beginning,
}

/// Texts of all processes. `object` is the number of a program or library that contains SQLite.
#[derive(Default)]
pub struct Texts {
    processes: HashMap<u32, Statements>,
    /// Offset of the pointer to the text in a statement, by object, once known.
    places: HashMap<usize, u64>,
    /// Statements that point to something like SQL, by object and offset.
    witnesses: HashMap<usize, HashMap<usize, HashSet<u64>>>,
}

impl Texts {
    /// The offset of the pointer to the text is known.
    pub fn place(&mut self, object: usize, at: u64) {
        self.places.insert(object, at);
    }

    /// A call begins that compiles a text; `None` if the text is not known.
    pub fn compiles(&mut self, who: Who, caller: Caller, sql: Option<&str>) {
        self.processes.entry(who.pid).or_default().compile(owner(who, caller), caller, sql);
    }

    /// The call has returned SQLite's result code.
    pub fn compiled(&mut self, who: Who, caller: Caller, code: i32) {
        let fresh = self.processes.get_mut(&who.pid).and_then(|known| known.fresh.get_mut(&owner(who, caller)));
        let Some(fresh) = fresh else { return };
        let compiled = fresh.compiling.pop().flatten().filter(|_| code == 0);
        fresh.compiled.extend(compiled);
        let surplus = fresh.compiled.len().saturating_sub(FRESH_MAX);
        fresh.compiled.drain(..surplus);
    }

    /// A process executes another program.
    pub fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// The text of a statement, without the values in it. It is read from the process's memory slightly later, when
    /// another statement may be there, which only its beginning may show. If the thread has compiled one text with this
    /// beginning since its last statement, this text counts, unless memory has another one that the process has compiled or
    /// executed; and it always counts if the same function has compiled it and no other one (the stack pointers are equal),
    /// because that soon frees the statement: Python executes BEGIN so, after it has compiled what follows. Else the text in
    /// memory counts.
    pub fn of(&mut self, who: Who, caller: Caller, executed: Executed) -> Option<String> {
        let Executed { object, statement, beginning } = executed;
        let (pid, key) = (who.pid, (caller.connection, statement));
        let known = self.processes.entry(pid).or_default();
        let now = (known.compilations.get(&caller.connection).copied().unwrap_or(0), beginning);
        if let Some((at, text)) = known.texts.get(&key)
            && *at == now
        {
            return text.clone();
        }
        let (is_certain, fresh) = known.take(owner(who, caller), caller.stack, beginning);
        if !self.places.contains_key(&object) {
            self.look_for(pid, object, statement);
        }
        let place = self.places.get(&object).filter(|_| !is_certain);
        let read = place.and_then(|at| text_at(pid, statement + at)).filter(|text| beginning.is_of(text));
        let known = self.processes.entry(pid).or_default();
        let is_known = |text: &String| {
            let before = known.texts.get(&key).and_then(|(_, text)| text.as_ref());
            known.compiled.contains(&hash(text)) || before == Some(&without_values(text))
        };
        let text = match fresh {
            Some(text) => read.filter(is_known).or(Some(text)),
            None => read,
        };
        let text = text.map(|sql| without_values(&sql));
        if known.texts.len() >= STATEMENTS_MAX {
            known.texts.clear();
        }
        if text.is_some() {
            known.texts.insert(key, (now, text.clone()));
        }
        text
    }

    /// Finds the offset of the pointer to the text in a statement: where it points to a text just compiled, or where
    /// several statements point to something that begins like SQL. The offset depends on the build of SQLite.
    /// Statements compiled before the watch have a text from then on.
    fn look_for(&mut self, pid: u32, object: usize, statement: u64) {
        let Some(bytes) = memory(pid, statement, STATEMENT_BYTES) else { return };
        let pointers = bytes.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap_or_default()));
        let texts = pointers.enumerate().filter(|(_, pointer)| *pointer > 0xffff);
        let texts = texts.filter_map(|(place, pointer)| Some((place, text_of(pid, pointer)?)));
        let compiled = self.processes.get(&pid).map(|known| &known.compiled);
        let witnesses = self.witnesses.entry(object).or_default();
        for (place, text) in texts {
            let of_place = witnesses.entry(place).or_default();
            of_place.insert(statement);
            let is_compiled =
                text.len() >= TEXT_BYTES_MIN && compiled.is_some_and(|compiled| compiled.contains(&hash(&text)));
            if is_compiled || of_place.len() >= WITNESSES {
                self.places.insert(object, 8 * place as u64);
                return;
            }
        }
    }
}

impl Statements {
    fn compile(&mut self, owner: u64, caller: Caller, sql: Option<&str>) {
        if self.compilations.len() >= STATEMENTS_MAX {
            self.compilations.clear();
            self.texts.clear();
        }
        *self.compilations.entry(caller.connection).or_default() += 1;
        // The end of a script is no statement.
        let is_one = sql.is_none_or(|sql| sql.contains(|c: char| c != ';' && !c.is_whitespace()));
        let compiled = is_one.then(|| Compiled { text: sql.map(str::to_string), stack: caller.stack });
        if self.fresh.len() >= STATEMENTS_MAX {
            self.fresh.clear();
        }
        let fresh = self.fresh.entry(owner).or_default();
        if fresh.compiling.len() >= FRESH_MAX {
            // The ends of these calls were lost.
            fresh.compiling.clear();
        }
        fresh.compiling.push(compiled);
        let Some(sql) = sql.filter(|_| is_one) else { return };
        if self.compiled.len() >= TEXTS_MAX {
            self.compiled.clear();
        }
        self.compiled.insert(hash(sql));
    }

    /// The text that a call with this stack pointer executes, if it can only be one, and whether that is certain: then it stays
    /// unknown if the text was not reported.
    fn take(&mut self, owner: u64, stack: u64, beginning: Beginning) -> (bool, Option<String>) {
        let Some(Fresh { compiled, .. }) = self.fresh.get_mut(&owner) else { return (false, None) };
        let may_be = |compiled: &Compiled| compiled.text.as_deref().is_none_or(|text| beginning.is_of(text));
        let is_there = |compiled: &&Compiled| stack != 0 && compiled.stack == stack;
        let is_last = compiled.last().is_some_and(may_be);
        if is_last && compiled.iter().rev().take_while(is_there).count() == 1 {
            return (true, compiled.pop().and_then(|compiled| compiled.text));
        }
        let taken: Vec<Compiled> = compiled.extract_if(.., |compiled| may_be(compiled)).collect();
        let is_one = taken.len() == 1;
        (false, taken.into_iter().next().filter(|_| is_one).and_then(|compiled| compiled.text))
    }
}

/// Number of the thread, or address of the goroutine, that calls SQLite.
fn owner(who: Who, caller: Caller) -> u64 {
    if caller.goroutine == 0 { who.tid.into() } else { caller.goroutine }
}

/// Hash of the beginning of a text. A text in memory and that of a call may be cut at different places after it.
fn hash(text: &str) -> u64 {
    let mut units = 0;
    let mut is_after = |c: char| {
        units += c.len_utf16();
        units > BEGINNING_UNITS
    };
    let end = text.char_indices().find(|(_, c)| is_after(*c)).map_or(text.len(), |(at, _)| at);
    let mut hasher = DefaultHasher::new();
    // The last character may be cut, too.
    text[..end].trim_end_matches(char::REPLACEMENT_CHARACTER).hash(&mut hasher);
    hasher.finish()
}

/// The text behind a pointer at this address.
fn text_at(pid: u32, address: u64) -> Option<String> {
    let pointer = memory(pid, address, 8)?;
    text_of(pid, u64::from_ne_bytes(pointer.try_into().ok()?))
}

/// The statement at an address, if there is one: text up to its end mark that begins like SQL.
fn text_of(pid: u32, address: u64) -> Option<String> {
    /// The memory may end at the end of a page.
    const PAGE: u64 = 4096;
    let whole = memory(pid, address, TEXT_BYTES_MAX);
    let bytes = whole.or_else(|| memory(pid, address, (PAGE - address % PAGE).min(TEXT_BYTES_MAX as u64) as usize))?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    is_sql(&bytes[..end]).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Whether bytes begin like a statement.
fn is_sql(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Who = Who { pid: u32::MAX, tid: 7 };

    /// A call on the first connection with this stack pointer.
    fn at(stack: u64) -> Caller {
        Caller { connection: 1, goroutine: 0, stack }
    }

    /// A statement at this address, of which nothing else is known.
    fn statement(statement: u64) -> Executed {
        Executed { object: 0, statement, beginning: Beginning::default() }
    }

    /// A call compiles a text and returns.
    fn compiled(texts: &mut Texts, who: Who, stack: u64, sql: Option<&str>) {
        texts.compiles(who, at(stack), sql);
        texts.compiled(who, Caller::default(), 0);
    }

    /// The process does not exist, so its memory cannot be read.
    #[test]
    fn a_function_executes_what_it_has_just_compiled_also_in_several_steps() {
        let mut texts = Texts::default();
        compiled(&mut texts, WHO, 90, Some("SELECT 1"));
        let of = |texts: &mut Texts, stack: u64, address: u64| texts.of(WHO, at(stack), statement(address));
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("SELECT ?"));
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("SELECT ?"), "the next row");
        compiled(&mut texts, WHO, 90, Some("COMMIT"));
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("COMMIT"), "at the same address");
        compiled(&mut texts, WHO, 90, None);
        assert_eq!(of(&mut texts, 90, 5), None, "another text, which is not known");
    }

    /// A statement of this process with its text: what is in its memory.
    struct InMemory {
        /// Read through its address only.
        _text: Vec<u8>,
        object: [u64; 2],
    }

    impl InMemory {
        fn new(sql: &str) -> InMemory {
            let text = [sql.as_bytes(), &[0; 2 * TEXT_BYTES_MAX]].concat();
            InMemory { object: [0, text.as_ptr() as u64], _text: text }
        }

        /// Its text, as the step of a statement that was compiled elsewhere gets it.
        fn executed(&self, texts: &mut Texts) -> Option<String> {
            texts.place(0, 8);
            texts.of(own(), at(70), statement(self.object.as_ptr() as u64))
        }
    }

    fn own() -> Who {
        Who { pid: std::process::id(), tid: 7 }
    }

    #[test]
    fn a_text_is_not_that_of_the_statement_that_was_compiled_last() {
        let long = |table: &str| format!("INSERT INTO {table} (a) SELECT a FROM {}", ["xy, "; 400].concat());
        let (one, two) = (long("one"), long("two"));
        let cut = |sql: &str| sql.chars().take(BEGINNING_UNITS).collect::<String>();
        let statement = InMemory::new(&one);
        for both in [[one.clone(), two.clone()], [cut(&one), cut(&two)]] {
            let mut texts = Texts::default();
            both.iter().for_each(|sql| compiled(&mut texts, own(), 90, Some(sql)));
            assert_eq!(statement.executed(&mut texts), Some(one[..TEXT_BYTES_MAX].to_string()));
            compiled(&mut texts, own(), 90, Some(&cut(&two)));
            let again = statement.executed(&mut texts);
            assert_eq!(again, Some(one[..TEXT_BYTES_MAX].to_string()), "it was compiled before");
        }
    }

    #[test]
    fn of_many_statements_that_were_compiled_at_the_beginning_each_has_its_text() {
        let sql = |n: usize| format!("DELETE FROM t{n}");
        let first = InMemory::new(&sql(0));
        let mut texts = Texts::default();
        (0..200).for_each(|n| compiled(&mut texts, own(), 90, Some(&sql(n))));
        assert_eq!(first.executed(&mut texts), Some(sql(0)));
        compiled(&mut texts, own(), 90, Some("COMMIT"));
        assert_eq!(first.executed(&mut texts), Some(sql(0)));
        (0..2).for_each(|n| compiled(&mut texts, WHO, 90, Some(&sql(n))));
        assert_eq!(texts.of(WHO, at(70), statement(5)), None, "two were compiled, and memory cannot be read");
    }

    #[test]
    fn a_text_that_the_kernel_left_out_is_read_from_memory_if_the_statement_stays() {
        let statement = InMemory::new("BEGIN");
        let mut texts = Texts::default();
        compiled(&mut texts, own(), 90, None);
        compiled(&mut texts, own(), 90, Some("COMMIT"));
        assert_eq!(statement.executed(&mut texts).as_deref(), Some("BEGIN"), "one of two");
        compiled(&mut texts, own(), 70, None);
        assert_eq!(statement.executed(&mut texts), None, "the function frees it soon");
    }

    /// Python compiles the statement first, and then, in another function, BEGIN, which it executes and frees.
    #[test]
    fn a_statement_that_is_compiled_executed_and_freed_has_its_text_also_after_another_was_compiled() {
        let insert = InMemory::new("INSERT INTO t");
        let mut texts = Texts::default();
        compiled(&mut texts, own(), 80, Some("INSERT INTO t"));
        compiled(&mut texts, own(), 90, Some("BEGIN "));
        assert_eq!(texts.of(own(), at(90), statement(5)).as_deref(), Some("BEGIN"));
        assert_eq!(insert.executed(&mut texts).as_deref(), Some("INSERT INTO t"));
    }

    /// The first statement of a new connection: SQLite reads the schema while it compiles it, and Python then executes BEGIN.
    /// The connection has been closed by the time memory could be read.
    #[test]
    fn a_statement_has_its_text_although_others_were_executed_since_it_was_compiled() {
        for goroutine in [0, 0xc000] {
            let by = |tid: u32, stack: u64| (Who { tid, ..WHO }, Caller { goroutine, ..at(stack) });
            let mut texts = Texts::default();
            let compiles =
                |texts: &mut Texts, (who, caller): (Who, Caller), sql| texts.compiles(who, caller, Some(sql));
            let of = |texts: &mut Texts, (who, caller), address| texts.of(who, caller, statement(address));
            // A goroutine may go on in another thread.
            let other = if goroutine == 0 { WHO.tid } else { 8 };
            compiles(&mut texts, by(7, 80), "INSERT INTO t");
            compiles(&mut texts, by(7, 60), "SELECT * FROM sqlite_master");
            texts.compiled(WHO, by(7, 60).1, 0);
            for _ in ["a row", "and another"] {
                assert_eq!(of(&mut texts, by(other, 60), 4).as_deref(), Some("SELECT * FROM sqlite_master"));
                texts.compiles(
                    Who { tid: 9, ..WHO },
                    Caller { connection: 2, ..at(70) },
                    Some("of another connection"),
                );
            }
            let (who, caller) = by(other, 80);
            texts.compiled(who, caller, 0);
            compiles(&mut texts, by(other, 90), "BEGIN");
            texts.compiled(who, caller, 0);
            assert_eq!(of(&mut texts, by(other, 90), 5).as_deref(), Some("BEGIN"));
            assert_eq!(of(&mut texts, by(7, 70), 6).as_deref(), Some("INSERT INTO t"));
            assert_eq!(of(&mut texts, by(7, 70), 7), None, "each is executed once");
        }
    }

    /// The statement was freed at once, and what is in its memory by now was compiled before, too.
    #[test]
    fn a_text_that_begins_otherwise_is_not_that_of_the_statement() {
        let later = InMemory::new("commit");
        let begins = |sql: &str| {
            let bytes = [sql.as_bytes(), &[0; 16]].concat();
            let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
            Executed { beginning: Beginning([number(0), number(8)]), ..statement(later.object.as_ptr() as u64) }
        };
        let mut texts = Texts::default();
        texts.place(0, 8);
        let mut of = |compiled_now: &[&str], executed| {
            compiled_now.iter().for_each(|sql| compiled(&mut texts, own(), 90, Some(sql)));
            texts.of(own(), at(70), executed)
        };
        assert_eq!(of(&["commit"], begins("commit")).as_deref(), Some("commit"));
        assert_eq!(of(&["begin"], begins("begin")).as_deref(), Some("begin"));
        assert_eq!(of(&[], begins("commit")).as_deref(), Some("commit"), "its compilation was not seen");
        assert_eq!(
            of(&["SELECT 'a', b FROM t", "INSERT INTO t"], begins("INSERT INTO t")).as_deref(),
            Some("INSERT INTO t")
        );
        assert_eq!(of(&[], begins("SELECT 'a', b FROM t")).as_deref(), Some("SELECT ?, b FROM t"));
        assert_eq!(of(&[], begins("UPDATE t")), None, "neither compiled nor in memory");
    }

    #[test]
    fn only_statements_that_were_compiled_count() {
        let mut texts = Texts::default();
        for end in ["", "\n", " ; "] {
            compiled(&mut texts, WHO, 90, Some("COMMIT"));
            assert_eq!(texts.of(WHO, at(90), statement(5)).as_deref(), Some("COMMIT"));
            compiled(&mut texts, WHO, 90, Some(end));
        }
        texts.compiles(WHO, at(90), Some("SELECT nothing"));
        texts.compiled(WHO, Caller::default(), 1);
        compiled(&mut texts, WHO, 90, Some("SELECT 1"));
        assert_eq!(texts.of(WHO, at(70), statement(5)).as_deref(), Some("SELECT ?"));
    }
}
