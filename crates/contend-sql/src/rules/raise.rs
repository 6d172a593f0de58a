//! RAISE in a trigger: SELECT RAISE(...) WHERE ..., and SELECT CASE WHEN ... THEN RAISE(...) END.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, OneSelect, ResolveType, ResultColumn, Select, TriggerTime};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::literals::bare;

/// Writes a SELECT of a trigger, whose only effect is RAISE.
pub(crate) fn select<'a>(tr: &mut Tr<'a>, token: &str, time: TriggerTime, select: &'a Select<'a>) -> R<()> {
    let alone = select.with.is_none() && select.order_by.is_none() && select.limit.is_none();
    let (result, condition) = match (&select.body.select, &select.body.compounds) {
        (
            OneSelect::Select {
                distinctness: None,
                columns: [ResultColumn::Expr(result, _)],
                from: None,
                where_clause,
                group_by: None,
                having: None,
                window_clause: None,
            },
            None,
        ) if alone => (bare(result), *where_clause),
        _ => return no(Id::Triggers, token, "a SELECT in a trigger that is not RAISE alone"),
    };
    if let Some(condition) = condition {
        tr.put("IF ");
        tr.condition(condition)?;
        tr.put(" THEN ");
    }
    match result {
        Expr::Raise(kind, message) => raise(tr, token, time, *kind, *message)?,
        Expr::Case { base: None, when_then_pairs, else_expr } if else_expr.is_none_or(is_null) => {
            for (i, (when, then)) in when_then_pairs.iter().enumerate() {
                let Expr::Raise(kind, message) = bare(then) else {
                    return no(Id::Triggers, token, "a SELECT in a trigger that is not RAISE alone");
                };
                tr.put(if i == 0 { "IF " } else { "ELSEIF " });
                tr.condition(when)?;
                tr.put(" THEN ");
                raise(tr, token, time, *kind, *message)?;
            }
            tr.put("END IF; ");
        }
        _ => return no(Id::Triggers, token, "a SELECT in a trigger that is not RAISE alone"),
    }
    if condition.is_some() {
        tr.put("END IF; ");
    }
    Ok(())
}

fn is_null(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Literal(Literal::Null))
}

fn raise(tr: &mut Tr, token: &str, time: TriggerTime, kind: ResolveType, message: Option<&Expr>) -> R<()> {
    match (kind, message.map(bare)) {
        (ResolveType::Abort, Some(Expr::Literal(Literal::String(text)))) => {
            tr.either(
                "RAISE EXCEPTION USING ERRCODE = '23T01', MESSAGE = ",
                "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = ",
            );
            let text = plain(text);
            if !tr.postgres && text.chars().count() > 128 {
                return no(Id::Triggers, token, "MariaDB cuts a message of more than 128 characters");
            }
            push_text(&mut tr.out.sql, &text);
            tr.put("; ");
            Ok(())
        }
        (ResolveType::Ignore, None) if tr.postgres && time == TriggerTime::Before => {
            tr.put("RETURN NULL; ");
            Ok(())
        }
        (ResolveType::Ignore, _) => no(Id::Triggers, token, "RAISE(IGNORE) but in a BEFORE trigger on PostgreSQL"),
        _ => no(Id::Triggers, token, "RAISE of another kind than ABORT, or without a literal message"),
    }
}
