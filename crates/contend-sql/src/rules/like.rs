//! LIKE and GLOB.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::compare::FOLD_MARIADB;
use crate::rules::literals::bare;
use crate::rules::{Id, arithmetic};
use crate::types::{Strength, Ty, Val};

pub(crate) fn like<'a>(
    tr: &mut Tr<'a>,
    lhs: &'a Expr<'a>,
    not: bool,
    pattern: &'a Expr<'a>,
    escape: Option<&'a Expr<'a>>,
) -> R<Val> {
    tr.fire(Id::Like);
    if never_matches(pattern, escape) {
        return no_match(tr, lhs, not);
    }
    let folds = !tr.input.catalogue.case_sensitive_like;
    let start = tr.at();
    let mut l = arithmetic::characters(tr, lhs)?;
    tr.enclose(start, &mut l, Strength::Atom);
    if tr.postgres {
        tr.put(if l.bytewise { "" } else { " COLLATE \"C\"" });
    } else if folds {
        tr.wrap(start, FOLD_MARIADB.0, FOLD_MARIADB.1);
    }
    tr.put(if not { " NOT" } else { "" });
    tr.put(if tr.postgres && folds { " ILIKE " } else { " LIKE " });
    let from = tr.at();
    let folded = match bare(pattern) {
        Expr::Literal(Literal::String(text)) => {
            let text = plain(text);
            push_text(&mut tr.out.sql, &if folds { text.to_ascii_lowercase() } else { text.into_owned() });
            Val::of(Ty::Text).never_null()
        }
        _ => {
            let mut value = arithmetic::characters(tr, pattern)?;
            tr.enclose(from, &mut value, Strength::Atom);
            if !tr.postgres && folds {
                tr.wrap(from, FOLD_MARIADB.0, FOLD_MARIADB.1);
            }
            value
        }
    };
    match escape.map(bare) {
        // MariaDB has a default escape character; this one occurs in no pattern.
        None => tr.either(" ESCAPE ''", " ESCAPE '\u{1}'"),
        Some(Expr::Literal(Literal::String(text))) => {
            let text = plain(text);
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(c), None) if c.is_ascii() && !c.is_ascii_alphabetic() && c != '%' && c != '_' => {
                    tr.put(" ESCAPE ");
                    push_text(&mut tr.out.sql, &text);
                }
                _ => {
                    return no(
                        Id::Like,
                        "ESCAPE",
                        "the escape must be one ASCII character other than a letter, % and _",
                    );
                }
            }
        }
        Some(_) => return no(Id::Like, "ESCAPE", "an escape that is not a text literal"),
    }
    Ok(Val { nullable: l.nullable || folded.nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
}

/// Whether a literal pattern ends with its literal escape: to SQLite it then matches nothing, to the servers it is an error.
fn never_matches(pattern: &Expr, escape: Option<&Expr>) -> bool {
    let (Expr::Literal(Literal::String(pattern)), Some(Expr::Literal(Literal::String(escape)))) =
        (bare(pattern), escape.map(bare))
    else {
        return false;
    };
    let pattern = plain(pattern);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if plain(escape).chars().eq([c]) && rest.next().is_none() {
            return true;
        }
    }
    false
}

/// Writes that a value matches nothing: false, or NULL for NULL.
fn no_match<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, not: bool) -> R<Val> {
    let start = tr.at();
    let mut value = arithmetic::characters(tr, lhs)?;
    tr.enclose(start, &mut value, Strength::Atom);
    tr.wrap(start, if not { "(NOT NULLIF(" } else { "NULLIF(" }, " IS NULL, TRUE)");
    tr.put(if not { ")" } else { "" });
    Ok(Val { nullable: value.nullable, ..Val::of(Ty::Bool).with(Strength::Atom) })
}

pub(crate) fn glob<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, not: bool, pattern: &'a Expr<'a>) -> R<Val> {
    tr.fire(Id::Glob);
    let Expr::Literal(Literal::String(text)) = bare(pattern) else {
        return no(Id::Glob, "GLOB", "a GLOB pattern that is not a text literal");
    };
    let Some(regex) = crate::rules::glob::regex(&plain(text)) else {
        return no(Id::Glob, text, "a GLOB pattern whose class is never closed, or has a range up to `-`");
    };
    let start = tr.at();
    let mut l = arithmetic::characters(tr, lhs)?;
    tr.enclose(start, &mut l, Strength::Atom);
    if tr.postgres {
        tr.put(if l.bytewise { "" } else { " COLLATE \"C\"" });
        tr.put(if not { " !~ " } else { " ~ " });
        push_text(&mut tr.out.sql, &format!("(?s){regex}"));
    } else {
        tr.put(if not { " NOT REGEXP " } else { " REGEXP " });
        push_text(&mut tr.out.sql, &format!("(?s-i){regex}"));
    }
    Ok(Val { nullable: l.nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
}
