//! Reads texts statement by statement, and places refusals in them.

use std::cell::Cell;

use bumpalo::Bump;

use crate::Refusal;
use crate::parse::tree::Cmd;
use crate::parse::{self, Scan, Unparsable, places};
use crate::refuse::{No, R, position};
use crate::rules::literals::COMPARED_MAX;
use crate::rules::{Id, rules};

/// Reads the statements of a text and passes each to `each`, with its text and its named parameters, until one is
/// refused.
pub(crate) fn each(sql: &str, mut each: impl FnMut(&str, &[(&str, u16)], &Cmd) -> R<()>) -> Result<(), Refusal> {
    let scanned = scan(sql)?;
    let bump = Memory::take();
    let mut refused = None;
    let read = parse::statements(&bump.0, &scanned.text, |number, command| {
        let done = each(&scanned.text, &scanned.names, command);
        refused = done.err().map(|no| (number, counted(no, command, &scanned.text)));
        refused.is_none()
    });
    if let Err(Unparsable(offset, words)) = read {
        return Err(refusal(sql, &scanned, 0, *No::at(Id::Syntax, offset, words)));
    }
    match refused {
        None => Ok(()),
        Some((0, no)) => Err(placed(sql, &scanned, 0..scanned.text.len(), *no)),
        Some((number, no)) => Err(placed(sql, &scanned, nth(&scanned.text, number), *no)),
    }
}

/// As [`each`], but continues after a refusal. Returns all refusals.
pub(crate) fn all(sql: &str, mut each: impl FnMut(&str, &[(&str, u16)], &Cmd) -> R<()>) -> Vec<Refusal> {
    let scanned = match scan(sql) {
        Ok(scanned) => scanned,
        Err(refusal) => return vec![refusal],
    };
    let bump = Memory::take();
    let mut refused = vec![];
    places::one_by_one(&bump.0, &scanned.text, |place, read| {
        match read {
            Err(Unparsable(offset, words)) => {
                refused.push(refusal(sql, &scanned, 0, *No::at(Id::Syntax, offset, words)));
            }
            Ok(command) => {
                if let Err(no) = each(&scanned.text, &scanned.names, command) {
                    let no = counted(no, command, &scanned.text[place.clone()]);
                    refused.push(placed(sql, &scanned, place, *no));
                }
            }
        }
        true
    });
    refused
}

fn scan(sql: &str) -> Result<Scan<'_>, Refusal> {
    parse::scan(sql).map_err(|parse::Unscannable(offset, reason)| {
        let rule = if reason.starts_with("more than") { Id::Depth } else { Id::Syntax };
        let (line, column) = position(sql, offset);
        Refusal { rule: rules()[rule as usize].id, offset, line, column, reason }
    })
}

/// Records which of the statement's tokens are meant, while the tree exists.
#[cold]
fn counted(mut no: Box<No>, command: &Cmd, text: &str) -> Box<No> {
    if text.len() <= COMPARED_MAX && no.offset.is_none() {
        places::count(command, &mut no);
    }
    no
}

/// Where a statement is in a text.
fn nth(text: &str, number: usize) -> std::ops::Range<usize> {
    let (mut place, mut seen) = (0..text.len(), 0);
    places::one_by_one(&Bump::new(), text, |here, _| {
        place = here;
        seen += 1;
        seen <= number
    });
    place
}

/// The refusal of something in the statement at `place` of the scanned text.
fn placed(sql: &str, scanned: &Scan, place: std::ops::Range<usize>, no: No) -> Refusal {
    let from = place.start;
    let offset = no.offset.unwrap_or_else(|| places::offset(&scanned.text[place], &no));
    refusal(sql, scanned, from, No { offset: Some(offset), ..no })
}

fn refusal(sql: &str, scanned: &Scan, from: usize, no: No) -> Refusal {
    let offset = parse::unnumbered(sql, &scanned.text, from + no.offset.unwrap_or(0)).min(sql.len());
    let (line, column) = position(sql, offset);
    Refusal { rule: rules()[no.rule as usize].id, offset, line, column, reason: no.reason }
}

/// Memory for a thread's trees, reused for the next text.
struct Memory(Bump);

thread_local! {
    static KEPT: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Most bytes that are kept; more was needed for an unusually long text.
const KEPT_MAX: usize = 64 * 1024;

impl Memory {
    fn take() -> Memory {
        // A thread that ends, and a nested call, get new memory.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        Memory(kept.unwrap_or_else(|| Bump::with_capacity(8 * 1024)))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut bump = std::mem::take(&mut self.0);
        if bump.allocated_bytes() <= KEPT_MAX {
            bump.reset();
            let _ = KEPT.try_with(|kept| kept.set(Some(bump)));
        }
    }
}
