//! Texts of statements: from the calls that compile them, or from the memory of processes that compiled them earlier.

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

/// Statements of one process.
#[derive(Default)]
struct Statements {
    /// Hashes of the beginnings of compiled texts.
    compiled: HashSet<u64>,
    /// Text by address, with the number of compilations at that time: a compilation may reuse an address.
    texts: HashMap<u64, (u64, Option<String>)>,
    compilations: u64,
    /// What a thread has compiled and not yet executed.
    fresh: HashMap<u32, Fresh>,
}

/// The last text that a thread has compiled, if known, with the stack pointer of the call, and how many it has compiled
/// since it last executed a statement: in all, and with this stack pointer.
struct Fresh {
    text: Option<String>,
    stack: u64,
    count: u32,
    count_there: u32,
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

    /// A thread has compiled a text, in a call with this stack pointer; `None` if the text is not known.
    pub fn compiled(&mut self, who: Who, stack: u64, sql: Option<&str>) {
        self.processes.entry(who.pid).or_default().compile(who.tid, stack, sql);
    }

    /// A call that compiles a text has failed.
    pub fn failed(&mut self, who: Who) {
        let fresh = self.processes.get_mut(&who.pid).map(|known| &mut known.fresh);
        if let Some(fresh) = fresh.filter(|fresh| fresh.get(&who.tid).is_some_and(|fresh| fresh.count == 1)) {
            fresh.remove(&who.tid);
        }
    }

    /// A process executes another program.
    pub fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// The text of a statement, without the values in it. It is read from the process's memory slightly later, when
    /// another statement may be there. If the thread has compiled one text since its last statement, this text counts, unless
    /// memory has another one that the process has compiled or executed; and it always counts if the same function has
    /// compiled it and no other one (`stack` is that of the call), because that soon frees the statement: Python executes
    /// BEGIN so, after it has compiled what follows. Else the text in memory counts.
    pub fn of(&mut self, who: Who, stack: u64, object: usize, statement: u64) -> Option<String> {
        let pid = who.pid;
        let known = self.processes.entry(pid).or_default();
        let fresh = known.fresh.remove(&who.tid);
        if let Some((at, text)) = known.texts.get(&statement)
            && *at == known.compilations
        {
            return text.clone();
        }
        if !self.places.contains_key(&object) {
            self.look_for(pid, object, statement);
        }
        let read = self.places.get(&object).and_then(|at| text_at(pid, statement + at));
        let known = self.processes.entry(pid).or_default();
        let is_known = |text: &String| {
            let before = known.texts.get(&statement).and_then(|(_, text)| text.as_ref());
            known.compiled.contains(&hash(text)) || before == Some(&without_values(text))
        };
        let text = match fresh {
            Some(fresh) if fresh.is_of_caller(stack) => fresh.text,
            Some(Fresh { text: Some(text), count: 1, .. }) => read.filter(is_known).or(Some(text)),
            _ => read,
        };
        let text = text.map(|sql| without_values(&sql));
        if known.texts.len() >= STATEMENTS_MAX {
            known.texts.clear();
        }
        if text.is_some() {
            known.texts.insert(statement, (known.compilations, text.clone()));
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

impl Fresh {
    /// Whether a function that executes a statement has compiled it just before, and no other one.
    fn is_of_caller(&self, stack: u64) -> bool {
        stack != 0 && self.stack == stack && self.count_there == 1
    }
}

impl Statements {
    fn compile(&mut self, tid: u32, stack: u64, sql: Option<&str>) {
        self.compilations += 1;
        if sql.is_some_and(|sql| sql.trim_matches(|c: char| c == ';' || c.is_whitespace()).is_empty()) {
            // The end of a script is no statement.
            return;
        }
        let before = self.fresh.get(&tid);
        let count = before.map_or(1, |fresh| fresh.count + 1);
        let count_there = before.filter(|fresh| fresh.stack == stack).map_or(1, |fresh| fresh.count_there + 1);
        self.fresh.insert(tid, Fresh { text: sql.map(str::to_string), stack, count, count_there });
        let Some(sql) = sql else { return };
        if self.compiled.len() >= TEXTS_MAX {
            self.compiled.clear();
        }
        self.compiled.insert(hash(sql));
    }
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

    /// The process does not exist, so its memory cannot be read.
    #[test]
    fn a_function_executes_what_it_has_just_compiled_also_in_several_steps() {
        let mut texts = Texts::default();
        texts.compiled(WHO, 90, Some("SELECT 1"));
        let of = |texts: &mut Texts, stack: u64, statement: u64| texts.of(WHO, stack, 0, statement);
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("SELECT ?"));
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("SELECT ?"), "the next row");
        texts.compiled(WHO, 90, Some("COMMIT"));
        assert_eq!(of(&mut texts, 90, 5).as_deref(), Some("COMMIT"), "at the same address");
        texts.compiled(WHO, 90, None);
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
            texts.of(own(), 70, 0, self.object.as_ptr() as u64)
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
        for compiled in [[one.clone(), two.clone()], [cut(&one), cut(&two)]] {
            let mut texts = Texts::default();
            compiled.iter().for_each(|sql| texts.compiled(own(), 90, Some(sql)));
            assert_eq!(statement.executed(&mut texts), Some(one[..TEXT_BYTES_MAX].to_string()));
            texts.compiled(own(), 90, Some(&cut(&two)));
            let again = statement.executed(&mut texts);
            assert_eq!(again, Some(one[..TEXT_BYTES_MAX].to_string()), "it was compiled before");
        }
    }

    #[test]
    fn of_many_statements_that_were_compiled_at_the_beginning_each_has_its_text() {
        let sql = |n: usize| format!("DELETE FROM t{n}");
        let first = InMemory::new(&sql(0));
        let mut texts = Texts::default();
        (0..200).for_each(|n| texts.compiled(own(), 90, Some(&sql(n))));
        assert_eq!(first.executed(&mut texts), Some(sql(0)));
        texts.compiled(own(), 90, Some("COMMIT"));
        assert_eq!(first.executed(&mut texts), Some(sql(0)));
        (0..2).for_each(|n| texts.compiled(WHO, 90, Some(&sql(n))));
        assert_eq!(texts.of(WHO, 70, 0, 5), None, "two were compiled, and memory cannot be read");
    }

    #[test]
    fn a_text_that_the_kernel_left_out_is_read_from_memory_if_the_statement_stays() {
        let statement = InMemory::new("BEGIN");
        let mut texts = Texts::default();
        texts.compiled(own(), 90, None);
        texts.compiled(own(), 90, Some("COMMIT"));
        assert_eq!(statement.executed(&mut texts).as_deref(), Some("BEGIN"), "one of two");
        texts.compiled(own(), 70, None);
        assert_eq!(statement.executed(&mut texts), None, "the function frees it soon");
    }

    /// Python compiles the statement first, and then, in another function, BEGIN, which it executes and frees.
    #[test]
    fn a_statement_that_is_compiled_executed_and_freed_has_its_text_also_after_another_was_compiled() {
        let insert = InMemory::new("INSERT INTO t");
        let mut texts = Texts::default();
        texts.compiled(own(), 80, Some("INSERT INTO t"));
        texts.compiled(own(), 90, Some("BEGIN "));
        assert_eq!(texts.of(own(), 90, 0, 5).as_deref(), Some("BEGIN"));
        assert_eq!(insert.executed(&mut texts).as_deref(), Some("INSERT INTO t"));
    }

    #[test]
    fn only_statements_that_were_compiled_count() {
        let mut texts = Texts::default();
        for end in ["", "\n", " ; "] {
            texts.compiled(WHO, 90, Some("COMMIT"));
            assert_eq!(texts.of(WHO, 90, 0, 5).as_deref(), Some("COMMIT"));
            texts.compiled(WHO, 90, Some(end));
        }
        texts.compiled(WHO, 90, Some("SELECT nothing"));
        texts.failed(WHO);
        texts.compiled(WHO, 90, Some("SELECT 1"));
        assert_eq!(texts.of(WHO, 70, 0, 5).as_deref(), Some("SELECT ?"));
    }
}
