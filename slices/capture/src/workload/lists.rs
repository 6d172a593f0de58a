//! Lists of values: `IN (?, ?, ?)`. Drivers fill up a list with its last value, so that one text fits lists of every length. Places
//! that draw independently would find more rows than the program did.

use crate::sql::{Token, tokens};
use crate::trace::{Call, Value};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// Numbers of the values that a statement can do without: those beyond the average number of different values of each list.
/// `values`: those of each execution.
pub fn filled_up(tokens: &[Token], values: &[Vec<Value>]) -> BTreeSet<usize> {
    let all = lists(tokens);
    let beyond = all.into_iter().flat_map(|list| {
        let different = |values: &Vec<Value>| {
            let texts = values.get(list.clone()).unwrap_or_default().iter().map(|value| format!("{value:?}"));
            texts.collect::<BTreeSet<String>>().len()
        };
        let mean = values.iter().map(different).sum::<usize>() as f64 / values.len().max(1) as f64;
        let kept = if values.is_empty() { list.len() } else { mean.round().max(1.0) as usize };
        list.clone().skip(kept)
    });
    beyond.collect()
}

/// The values of an execution of a text with other lists, as if it had been the text with the lists `target`: each list is
/// repeated or cut. `None` if the texts differ in more.
pub fn aligned(values: &[Value], own: &[Range<usize>], target: &[Range<usize>], count: usize) -> Option<Vec<Value>> {
    let (mut found, mut from): (Vec<Value>, usize) = (vec![], 0);
    for (list, wanted) in own.iter().zip(target) {
        found.extend_from_slice(values.get(from..list.start)?);
        if found.len() != wanted.start || own.len() != target.len() {
            return None;
        }
        found.extend(values.get(list.clone())?.iter().cycle().take(wanted.len()).cloned());
        from = list.end;
    }
    found.extend_from_slice(values.get(from..)?);
    (found.len() == count).then_some(found)
}

/// What a statement does with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Searched,
    /// Set by an UPDATE, or in a row of an INSERT that fails if its key is there.
    Stored,
    /// In a row of an INSERT that replaces, changes or leaves a row with its key.
    Upserted,
}

/// The use of a value at each token.
pub fn uses(tokens: &[Token]) -> Vec<Use> {
    let word = |token: &Token| match token {
        Token::Word(word) => Some(word.to_ascii_lowercase()),
        _ => None,
    };
    let (mut depth, mut cases, mut clause) = (0, 0, String::new());
    // Depths at which a subquery begins.
    let mut subqueries = vec![];
    let first = tokens.first().and_then(word);
    let of_row = if is_upsert(tokens) { Use::Upserted } else { Use::Stored };
    let mut uses = Vec::with_capacity(tokens.len());
    for token in tokens {
        uses.push(match first.as_deref() {
            _ if !subqueries.is_empty() => Use::Searched,
            Some("update") if clause == "set" && depth == 0 && cases == 0 => Use::Stored,
            Some("insert" | "replace") if clause == "values" => of_row,
            _ => Use::Searched,
        });
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => {
                subqueries.retain(|at| *at < depth);
                depth -= 1;
            }
            _ => match word(token).as_deref() {
                Some("select") if depth > 0 => subqueries.push(depth),
                Some("case") => cases += 1,
                Some("end") => cases -= 1,
                Some(word @ ("set" | "where" | "from" | "select" | "on" | "returning" | "values")) if depth == 0 => {
                    clause = word.to_string();
                }
                _ => {}
            },
        }
    }
    uses
}

/// Whether an INSERT does not fail if its key is there: `REPLACE`, `INSERT OR IGNORE`, `ON CONFLICT`.
pub fn is_upsert(tokens: &[Token]) -> bool {
    let is =
        |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(word)));
    let on_conflict = || (1..tokens.len()).any(|at| is(at - 1, &["on"]) && is(at, &["conflict"]));
    is(0, &["replace"]) || (is(1, &["or"]) && is(2, &["replace", "ignore"])) || on_conflict()
}

/// The numbers of the values in each list.
pub fn lists(tokens: &[Token]) -> Vec<Range<usize>> {
    let begins = (1..tokens.len()).filter(|&at| tokens[at] == Token::Sign("(") && tokens[at - 1].is_word("in"));
    let list = |open: usize| {
        let end = tokens[open..].iter().position(|token| *token == Token::Sign(")"))?;
        let inside = &tokens[open + 1..open + end];
        let is_list = inside.iter().enumerate().all(|(at, token)| match at % 2 {
            0 => token.is_value(),
            _ => *token == Token::Sign(","),
        });
        let first = tokens[..open].iter().filter(|token| token.is_value()).count();
        (is_list && inside.len() > 1).then(|| first..first + inside.len().div_ceil(2))
    };
    begins.filter_map(list).collect()
}

/// The text of a statement, with lists of medium length where they have several lengths.
pub fn usual_text(calls: &[&Call]) -> Option<Rc<str>> {
    let mut texts: Vec<&Rc<str>> = calls.iter().map(|call| &call.sql).collect();
    texts.sort_by_cached_key(|text| tokens(text).iter().filter(|token| token.is_value()).count());
    texts.get(texts.len() / 2).map(|text| Rc::clone(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens;

    #[test]
    fn a_list_has_as_many_places_as_different_values() {
        let sql = "SELECT * FROM t WHERE a = ? AND b IN (?, ?, ?, ?) AND c IN (SELECT ?) AND d IN (?)";
        let row = |list: [i64; 4]| [&[9], &list[..], &[1, 2]].concat().into_iter().map(Value::Integer).collect();
        let values: Vec<Vec<Value>> = vec![row([5, 6, 6, 6]), row([7, 7, 7, 7]), row([1, 2, 3, 3])];
        assert_eq!(filled_up(&tokens(sql), &values), BTreeSet::from([3, 4]), "two of four on average");
        assert!(filled_up(&tokens(sql), &[row([1, 2, 3, 4])]).is_empty());
        assert!(filled_up(&tokens(sql), &[]).is_empty());
    }

    #[test]
    fn lists_of_other_lengths_are_aligned() {
        let values: Vec<Value> = [9, 1, 2, 3, 8].map(Value::Integer).to_vec();
        let own = 1..4;
        let found = |target: Range<usize>, count| aligned(&values, std::slice::from_ref(&own), &[target], count);
        assert_eq!(found(1..3, 4), Some([9, 1, 2, 8].map(Value::Integer).to_vec()));
        assert_eq!(found(1..6, 7), Some([9, 1, 2, 3, 1, 2, 8].map(Value::Integer).to_vec()));
        assert_eq!((found(2..4, 5), found(1..3, 5), aligned(&values, &[], &[], 5)), (None, None, Some(values.clone())));
    }

    #[test]
    fn what_is_stored_upserted_and_searched_for() {
        let used = |sql: &str| {
            let all = tokens(sql);
            let places = (0..all.len()).filter(|&at| matches!(all[at], Token::Parameter(_)));
            let uses = uses(&all);
            let letter = |at: usize| match uses[at] {
                Use::Searched => '0',
                Use::Stored => '1',
                Use::Upserted => '2',
            };
            places.map(letter).collect::<String>()
        };
        for (sql, wanted) in [
            ("UPDATE t SET a = ?, b = (SELECT x FROM u WHERE u.id = ?), c = ? WHERE id = ?", "1010"),
            ("UPDATE t SET n = CASE WHEN (t.id = ?) THEN ? ELSE NULL END WHERE id IN (?, ?)", "0000"),
            ("INSERT INTO t VALUES (?, lower(?)), (?, ?)", "1111"),
            ("INSERT INTO t (a) SELECT b FROM s WHERE id = ?", "0"),
            ("INSERT INTO t VALUES ((SELECT id FROM s WHERE name = ?), ?)", "01"),
            ("INSERT INTO t (a) VALUES (?) ON CONFLICT (a) DO UPDATE SET b = ? WHERE c = ?", "200"),
            ("REPLACE INTO t VALUES (?)", "2"),
            ("INSERT OR IGNORE INTO t (a) VALUES (?)", "2"),
            ("INSERT OR ROLLBACK INTO t (a) VALUES (?)", "1"),
            ("SELECT * FROM t WHERE a = ?", "0"),
            ("DELETE FROM t WHERE a = ?", "0"),
        ] {
            assert_eq!(used(sql), wanted, "{sql}");
        }
    }
}
