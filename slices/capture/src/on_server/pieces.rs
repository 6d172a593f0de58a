//! The statements of a text, and what a replay on a server does with each.

use crate::sql::{Does, Token, shape, tokens};

/// A statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'s> {
    pub text: &'s str,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Carried out on the server.
    Runs(Does),
    /// CREATE, ALTER, DROP.
    Defines,
    /// A setting of SQLite, or work on its file.
    Setting,
    /// Has no counterpart, for this reason.
    Refused(&'static str),
}

/// The statements of a text. The semicolons in a trigger end none.
pub fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let (mut found, mut from, mut words) = (vec![], 0, vec![]);
    let all = tokens(sql);
    for token in &all {
        let (Token::Word(text) | Token::Literal(text) | Token::Parameter(text) | Token::Sign(text)) = token;
        let is_inside =
            is_trigger(&words) && !matches!(words.as_slice(), [.., before, last] if before == ";" && last == "end");
        if *text != ";" || is_inside {
            words.push(text.to_ascii_lowercase());
            continue;
        }
        let at = text.as_ptr() as usize - sql.as_ptr() as usize;
        found.extend(piece(&sql[from..at], &words));
        (from, words) = (at + 1, vec![]);
    }
    found.extend(piece(&sql[from..], &words));
    found
}

fn is_trigger(words: &[String]) -> bool {
    let is = |at: usize, word: &str| words.get(at).is_some_and(|other| other == word);
    let is_temporary = is(1, "temp") || is(1, "temporary");
    is(0, "create") && is(if is_temporary { 2 } else { 1 }, "trigger")
}

fn piece<'s>(text: &'s str, words: &[String]) -> Option<Piece<'s>> {
    let (first, second) = (words.first()?.as_str(), words.get(1).map_or("", String::as_str));
    let role = match first {
        "create" if matches!(second, "temp" | "temporary") => Role::Refused("temporary tables are not replayed"),
        "create" if is_from_query(words) => Role::Refused("a table that is made from a query"),
        "create" | "alter" | "drop" => Role::Defines,
        "pragma" | "attach" | "detach" | "vacuum" | "analyze" | "reindex" => Role::Setting,
        _ => Role::Runs(shape(text).does),
    };
    Some(Piece { text, role })
}

/// Whether it is CREATE TABLE ... AS SELECT. A generated column has its AS in parentheses.
fn is_from_query(words: &[String]) -> bool {
    let mut depth = 0;
    words.get(1).is_some_and(|word| word == "table")
        && words.iter().any(|word| {
            depth += i32::from(word == "(") - i32::from(word == ")");
            depth == 0 && word == "as"
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cut_into_its_statements() {
        let script = "CREATE TABLE t (a, b AS (a + 1)); -- the first; \n\
                      CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN 1 THEN 2 END; SELECT ';'; END;\n\
                      INSERT INTO t VALUES ('a;b'); ;PRAGMA x = 1; CREATE TABLE u AS SELECT 1; CREATE TEMP TABLE v (a);COMMIT";
        let found = pieces(script);
        let roles: Vec<Role> = found.iter().map(|piece| piece.role).collect();
        let [Role::Defines, Role::Defines, Role::Runs(Does::Write), Role::Setting, rest @ ..] = roles.as_slice() else {
            panic!("{found:?}")
        };
        assert!(matches!(rest, [Role::Refused(_), Role::Refused(_), Role::Runs(Does::Commit)]), "{found:?}");
        assert!(found[1].text.trim().ends_with("END"), "{found:?}");
        assert_eq!(found[2].text.trim(), "INSERT INTO t VALUES ('a;b')");
    }
}
