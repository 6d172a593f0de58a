//! Lists of values: `IN (?, ?, ?)`. Drivers fill up a list with its last value, so that one text fits lists of every length. Places
//! that draw independently would find more rows than the program did.

use crate::sql::Token;
use crate::trace::Value;
use std::collections::BTreeSet;

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

/// The numbers of the values in each list.
fn lists(tokens: &[Token]) -> Vec<std::ops::Range<usize>> {
    let is_value = |token: &Token| matches!(token, Token::Parameter(_) | Token::Literal(_));
    let is_in = |token: &Token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("in"));
    let begins = (1..tokens.len()).filter(|&at| tokens[at] == Token::Sign("(") && is_in(&tokens[at - 1]));
    let list = |open: usize| {
        let end = tokens[open..].iter().position(|token| *token == Token::Sign(")"))?;
        let inside = &tokens[open + 1..open + end];
        let is_list = inside.iter().enumerate().all(|(at, token)| match at % 2 {
            0 => is_value(token),
            _ => *token == Token::Sign(","),
        });
        let first = tokens[..open].iter().filter(|token| is_value(token)).count();
        (is_list && inside.len() > 1).then(|| first..first + inside.len().div_ceil(2))
    };
    begins.filter_map(list).collect()
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
}
