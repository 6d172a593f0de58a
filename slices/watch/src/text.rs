//! Texts of statements: from the calls that compile them, or from the memory of processes that compiled them earlier.

use crate::event::Who;
use crate::process::memory;
use contend::workload::without_values;
use std::collections::{HashMap, HashSet};

/// Bytes of a statement object in which the pointer to its text is.
pub const STATEMENT_BYTES: usize = 512;
/// Most compiled texts stored per process, to recognise them in memory.
const TEXTS_MAX: usize = 64;
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
    /// Recently compiled texts, oldest first.
    compiled: Vec<String>,
    /// Text by address, with the number of compilations at that time: a compilation may reuse an address.
    texts: HashMap<u64, (u64, Option<String>)>,
    compilations: u64,
    /// What a thread has compiled and not yet executed.
    fresh: HashMap<u32, Fresh>,
}

/// The last text that a thread has compiled, with the stack pointer of the call, and how many it has compiled since it
/// last executed a statement.
struct Fresh {
    text: String,
    stack: u64,
    count: u32,
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

    /// A process executes another program.
    pub fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// The text of a statement, without the values in it. It is read from the process's memory slightly later, when
    /// another statement may be there. What the same function has compiled just before counts more (`stack` is that of
    /// the call); else the text in memory counts if the process has compiled it, or has compiled nothing since the watch
    /// began.
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
        let is_own = fresh.as_ref().is_some_and(|fresh| fresh.is_of_caller(stack));
        let is_sure = |text: &String| !is_own && (fresh.is_none() || known.compiled.contains(text));
        let text = read.filter(is_sure).or(fresh.map(|fresh| fresh.text)).map(|sql| without_values(&sql));
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
        let compiled = self.processes.get(&pid).map(|known| known.compiled.as_slice()).unwrap_or_default();
        let witnesses = self.witnesses.entry(object).or_default();
        for (place, text) in texts {
            let of_place = witnesses.entry(place).or_default();
            of_place.insert(statement);
            let is_compiled = text.len() >= TEXT_BYTES_MIN && compiled.contains(&text);
            if is_compiled || of_place.len() >= WITNESSES {
                self.places.insert(object, 8 * place as u64);
                return;
            }
        }
    }
}

impl Fresh {
    /// Whether a function that executes a statement has compiled it just before.
    fn is_of_caller(&self, stack: u64) -> bool {
        self.count == 1 && stack != 0 && self.stack == stack
    }
}

impl Statements {
    fn compile(&mut self, tid: u32, stack: u64, sql: Option<&str>) {
        self.compilations += 1;
        let count = self.fresh.remove(&tid).map_or(1, |fresh| fresh.count + 1);
        let Some(sql) = sql else { return };
        self.fresh.insert(tid, Fresh { text: sql.to_string(), stack, count });
        if !self.compiled.iter().any(|text| text == sql) {
            self.compiled.push(sql.to_string());
            let surplus = self.compiled.len().saturating_sub(TEXTS_MAX);
            self.compiled.drain(..surplus);
        }
    }
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
}
