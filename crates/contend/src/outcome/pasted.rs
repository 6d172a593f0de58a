//! Finds the codes that a text names: a code, or a message as a program printed it. `contend explain` explains them.
//!
//! A number is a code only where the text presents it as one: alone, after a product or a word such as `error`, in brackets, or in
//! front of a message. Numbers in prose (`line 19`, `after 5 s`, `port 5432`) are none.

use super::code::{Code, Outcome, TABLE, lookup};
use super::explain::{Subject, of_message};
use super::extended::{sqlite_extended, sqlite_extended_named};
use super::words::{Label, Words};
use contend_wire::sample::{CodeSpace, sqlstate_to_code};

/// MariaDB's SQLSTATE of a deadlock, and its number. Its other SQLSTATEs stand for several numbers.
const STATE_OF_DEADLOCK: (&str, u32) = ("40001", 1213);

/// A number that the named product does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    pub space: CodeSpace,
    pub number: String,
    /// What other products mean by it; empty for a number of the operating system, which is no product's.
    pub others: Vec<Subject>,
}

/// Finds what a text names, the most certain first. A number without a product has every meaning that is known of it.
pub fn find(text: &str) -> Vec<Subject> {
    let words = Words::of(text);
    let messages = in_context(&words, of_message(text));
    if let Some(at) = of_client(&words) {
        let found = of_code_in(&[CodeSpace::Mysql], words.word(at));
        let of_product = messages.into_iter().filter(|one| space(*one) == Some(CodeSpace::Mysql));
        return if found.is_empty() { of_product.collect() } else { found };
    }
    let ways: [&dyn Fn() -> Vec<Subject>; 6] = [
        &|| alone(&words),
        &|| with_state(&words, &messages),
        &|| labelled(&words, &messages),
        &|| once(words.all().filter_map(of_name)),
        &|| told(&words, &messages),
        &|| in_context(&words, once(codes(&words, |label| label == Label::Error).flat_map(of_code))),
    ];
    ways.iter().map(|way| way()).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The number of a text in which [`find`] found nothing, if it names a product that does not have the number.
pub fn missing(text: &str) -> Option<Missing> {
    let words = Words::of(text);
    let product = |at| match words.label(at) {
        Label::Product(spaces) | Label::Next(spaces) => Some((at, spaces[0])),
        _ => None,
    };
    let of_client = of_client(&words).map(|at| (at, CodeSpace::Mysql));
    let (at, space) = of_client.or_else(|| words.numbers().find_map(product))?;
    let number = words.word(at);
    let is_other = |other: &Subject| space != CodeSpace::Os && self::space(*other) != Some(space);
    let others = of_code(number).into_iter().filter(is_other).collect();
    Some(Missing { space, number: number.to_string(), others })
}

/// What a text without any other word means.
fn alone(words: &Words<'_>) -> Vec<Subject> {
    if let Some(word) = words.only() {
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.word().eq_ignore_ascii_case(word));
        let named = outcome.map(Subject::Outcome).or_else(|| of_worker(word));
        if let Some(named) = named {
            return vec![named];
        }
    }
    // `worker 1` or `worker 1 ROWS`, as `contend list outcomes` prints it.
    let all: Vec<&str> = words.all().collect();
    if let [worker, number, name @ ..] = &all[..]
        && worker.eq_ignore_ascii_case("worker")
    {
        let is_named = |one: &Subject| name.is_empty() || name.len() == 1 && of_worker(name[0]) == Some(*one);
        return of_code_in(&[CodeSpace::Worker], number).into_iter().filter(is_named).collect();
    }
    let each: Vec<Vec<Subject>> = (0..words.len()).map(|at| codes_at(words, at)).collect();
    if each.iter().any(Vec::is_empty) { vec![] } else { once(each.into_iter().flatten()) }
}

fn codes_at(words: &Words<'_>, at: usize) -> Vec<Subject> {
    if words.is_whole(at) { of_code(words.word(at)) } else { vec![] }
}

/// The number in a form of MariaDB's clients: `1213 (40001)`, where the SQLSTATE belongs to the number, or four digits next to a
/// SQLSTATE, which PHP and Java print.
fn of_client(words: &Words<'_>) -> Option<usize> {
    let is_in_brackets = |at: usize| words.gap(at) == " (" && words.gap(at + 1).starts_with(')');
    let is_before_state = |at: &usize| at + 1 < words.len() && is_in_brackets(at + 1) && is_state(words.word(at + 1));
    let is_long = |at: &usize| words.word(*at).len() == 4;
    let is_of_postgres = || words.context() == [CodeSpace::Sqlstate];
    let beside = || number_beside(words, state(words)?).filter(|at| is_long(at) && !is_of_postgres());
    words.numbers().filter(is_long).find(is_before_state).or_else(beside)
}

fn is_state(word: &str) -> bool {
    word.len() == 5 && word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// The SQLSTATE after this word.
fn state(words: &Words<'_>) -> Option<usize> {
    let is_labelled = |at: &usize| words.label(*at) == Label::Product(&[CodeSpace::Sqlstate]);
    (0..words.len()).find(|at| is_labelled(at) && is_state(words.word(*at)))
}

/// The first number that is presented as a code next to a SQLSTATE.
fn number_beside(words: &Words<'_>, state: usize) -> Option<usize> {
    let is_candidate = |at: &usize| *at != state && (words.label(*at) == Label::Error || words.is_presented(*at));
    words.numbers().find(is_candidate)
}

/// SQLite's code next to a SQLSTATE that is no more exact. The 7 that PHP prints is of PostgreSQL's client library, except for
/// SQLite's lack of memory.
fn with_state(words: &Words<'_>, messages: &[Subject]) -> Vec<Subject> {
    let number = state(words).filter(|at| matches!(words.word(*at), "HY000" | "23000"));
    let Some(number) = number.and_then(|state| number_beside(words, state)) else { return vec![] };
    let found = of_code_in(&[CodeSpace::Sqlite], words.word(number)).into_iter();
    found.filter(|one| words.word(number) != "7" || agrees(*one, messages)).collect()
}

/// Codes after the name of their kind. A number right after a product can be a version (`SQLite 3`), and a SQLSTATE can be that of a
/// whole class, so both have to agree with the message if there is one.
fn labelled(words: &Words<'_>, messages: &[Subject]) -> Vec<Subject> {
    let agreeing = |found: Vec<Subject>| {
        found.into_iter().filter(|one| messages.is_empty() || agrees(*one, messages)).collect::<Vec<_>>()
    };
    let of_state: &[CodeSpace] = match words.context() == [CodeSpace::Mysql] {
        true => &[CodeSpace::Sqlstate, CodeSpace::Mysql],
        false => &[CodeSpace::Sqlstate],
    };
    let of_word = |at: usize| match words.label(at) {
        Label::Product([CodeSpace::Sqlstate]) => in_context(words, agreeing(of_code_in(of_state, words.word(at)))),
        Label::Next(spaces) => agreeing(of_code_in(spaces, words.word(at))),
        Label::Product(spaces) => of_code_in(spaces, words.word(at)),
        _ => vec![],
    };
    let is_number_of_mysql =
        |at: &usize| !is_state(words.word(*at)) && of_word(*at).iter().any(|one| space(*one) == Some(CodeSpace::Mysql));
    let found = once((0..words.len()).flat_map(of_word));
    // Drivers of MariaDB print the SQLSTATE, too.
    let has_number = (0..words.len()).any(|at| is_number_of_mysql(&at));
    found.into_iter().filter(|one| !has_number || space(*one) != Some(CodeSpace::Sqlstate)).collect()
}

/// The code that agrees with the message, as in `database is locked (517)`, or what the message means.
fn told(words: &Words<'_>, messages: &[Subject]) -> Vec<Subject> {
    let presented = (0..words.len()).filter(|at| words.label(*at) == Label::Error || words.is_presented(*at));
    let exact = once(presented.flat_map(|at| of_code(words.word(at))).filter(|one| agrees(*one, messages)));
    if exact.is_empty() { once(messages.iter().copied()) } else { exact }
}

/// Whether a code means what one of these messages does: the same, or a kind of it.
fn agrees(one: Subject, messages: &[Subject]) -> bool {
    let is_same = |message: &Subject| match (one, *message) {
        (Subject::Code(space, _), Subject::Code(other, _)) if space != other => false,
        (Subject::Code(CodeSpace::Sqlite, code), Subject::Code(_, other)) if code & 0xff == other & 0xff => true,
        _ => one.explanation() == message.explanation(),
    };
    messages.iter().any(is_same)
}

/// The codes with such a label.
fn codes<'w>(words: &'w Words<'w>, fits: impl Fn(Label) -> bool + 'w) -> impl Iterator<Item = &'w str> {
    (0..words.len()).filter(move |at| fits(words.label(*at))).map(|at| words.word(at))
}

/// The subjects of the products that the text names, if there are any.
fn in_context(words: &Words<'_>, found: Vec<Subject>) -> Vec<Subject> {
    let context = words.context();
    let fits = |one: &Subject| space(*one).is_none_or(|space| context.contains(&space));
    let fitting: Vec<Subject> = found.iter().filter(|one| fits(one)).copied().collect();
    if fitting.is_empty() { found } else { fitting }
}

/// Each subject once.
fn once(all: impl Iterator<Item = Subject>) -> Vec<Subject> {
    all.fold(vec![], |mut found, one| {
        if !found.contains(&one) {
            found.push(one);
        }
        found
    })
}

fn space(subject: Subject) -> Option<CodeSpace> {
    match subject {
        Subject::Code(space, _) => Some(space),
        Subject::Outcome(_) => None,
    }
}

fn of_worker(name: &str) -> Option<Subject> {
    TABLE.iter().find(|row| row.space == CodeSpace::Worker && row.name.eq_ignore_ascii_case(name)).map(code)
}

fn code(row: &Code) -> Subject {
    Subject::Code(row.space, row.code)
}

/// The codes of any kind that are written like this. A worker's own have names.
fn of_code(word: &str) -> Vec<Subject> {
    const ALL: &[CodeSpace] =
        &[CodeSpace::Sqlite, CodeSpace::Sqlstate, CodeSpace::Mysql, CodeSpace::Http, CodeSpace::Os];
    let found = of_code_in(ALL, word);
    // A number that may be no status at all is one only after that word.
    found.into_iter().filter(|one| !matches!(one, Subject::Code(CodeSpace::Http, code) if !is_status(*code))).collect()
}

/// The codes of these kinds that are written like this: listed ones, extended codes of SQLite, and those whose class or hundred
/// is listed. No other number is guessed.
fn of_code_in(spaces: &[CodeSpace], word: &str) -> Vec<Subject> {
    let number = word.parse::<u32>().ok().filter(|_| !word.starts_with('+'));
    let of = |space: &CodeSpace| {
        let listed = TABLE.iter().find(|row| row.space == *space && space.shown(row.code).eq_ignore_ascii_case(word));
        let unlisted = || match space {
            CodeSpace::Sqlite => number.filter(|code| sqlite_extended(*code).is_some()),
            CodeSpace::Mysql if word == STATE_OF_DEADLOCK.0 => Some(STATE_OF_DEADLOCK.1),
            CodeSpace::Http => number.filter(|code| (300..600).contains(code)),
            CodeSpace::Sqlstate if word.len() == 5 && word.bytes().any(|b| b.is_ascii_digit()) => {
                sqlstate_to_code(&word.to_uppercase()).filter(|code| lookup(*space, *code).is_some())
            }
            _ => None,
        };
        let code = listed.map(|row| row.code).or_else(unlisted)?;
        Some(Subject::Code(*space, code))
    };
    spaces.iter().filter_map(of).collect()
}

/// Whether services answer with this status: those that are registered, and those of nginx and Cloudflare.
fn is_status(code: u32) -> bool {
    matches!(code, 300..=308 | 400..=418 | 421..=431 | 451 | 499..=511 | 520..=527 | 530)
}

/// The code with this name, or the one whose name it extends: `SQLITE_CONSTRAINT_UNIQUE`. Names of statuses are words of prose and
/// of SQL (`ON CONFLICT`).
fn of_name(word: &str) -> Option<Subject> {
    let is_name = word.contains('_') || word.len() > 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    let upper = word.to_ascii_uppercase();
    if let Some(code) = sqlite_extended_named(&upper) {
        return Some(Subject::Code(CodeSpace::Sqlite, code));
    }
    let fits = |row: &&Code| {
        let name = row.name.to_ascii_uppercase();
        upper == name || upper.strip_prefix(&name).is_some_and(|rest| rest.starts_with('_'))
    };
    let rows = TABLE.iter().filter(|row| is_name && !matches!(row.space, CodeSpace::Http | CodeSpace::Worker));
    rows.filter(fits).max_by_key(|row| row.name.len()).map(code)
}

#[cfg(test)]
#[path = "pasted_tests.rs"]
mod tests;
