//! CASE, and other values that are one of several expressions.

use crate::emit::Tr;
use crate::parse::tree::{Expr, Operator};
use crate::refuse::{R, no};
use crate::rules::classes::class;
use crate::rules::collations::said;
use crate::rules::literals::bare;
use crate::rules::{Id, compare, tagged};
use crate::types::{Affinity, Sides, Strength, Ty, Val};

/// Writes an expression with several alternatives; if they have different types, again with tagged values.
pub(crate) fn alternatives<'a>(tr: &mut Tr<'a>, write: impl Fn(&mut Tr<'a>, Option<Val>) -> R<Val>) -> R<Val> {
    let mark = tr.mark();
    match write(tr, None) {
        Err(refused) if tagged::may_mix(tr, &refused) => {
            tr.back_to(mark);
            write(tr, Some(Val::of(Ty::Tagged).never_null()))
        }
        done => done,
    }
}

/// CASE and iif(): NULL if no condition holds and there is no ELSE.
pub(crate) fn case<'a>(
    tr: &mut Tr<'a>,
    base: Option<&'a Expr<'a>>,
    pairs: impl Iterator<Item = (&'a Expr<'a>, &'a Expr<'a>)> + Clone,
    otherwise: Option<&'a Expr<'a>>,
    want: Ty,
) -> R<Val> {
    alternatives(tr, |tr, so_far| case_as(tr, base, (pairs.clone(), otherwise), want, so_far))
}

fn case_as<'a>(
    tr: &mut Tr<'a>,
    base: Option<&'a Expr<'a>>,
    (pairs, otherwise): (impl Iterator<Item = (&'a Expr<'a>, &'a Expr<'a>)> + Clone, Option<&'a Expr<'a>>),
    want: Ty,
    mut result: Option<Val>,
) -> R<Val> {
    let branches: Vec<&'a Expr<'a>> = pairs.clone().map(|(_, then)| then).chain(otherwise).collect();
    let want = typed_by_others(tr, &branches, want)?;
    branches_of(tr, base, (pairs, otherwise), |tr, then| branch(tr, then, want, &mut result))?;
    let mut value = result.unwrap_or(Val::of(Ty::Null));
    value.nullable |= otherwise.is_none();
    Ok(value)
}

/// Writes CASE with its conditions, and each of its values by a function.
pub(crate) fn branches_of<'a>(
    tr: &mut Tr<'a>,
    base: Option<&'a Expr<'a>>,
    (pairs, otherwise): (impl Iterator<Item = (&'a Expr<'a>, &'a Expr<'a>)>, Option<&'a Expr<'a>>),
    mut write: impl FnMut(&mut Tr<'a>, &'a Expr<'a>) -> R<()>,
) -> R<()> {
    tr.put("CASE");
    for (when, then) in pairs {
        tr.put(" WHEN ");
        match base {
            // Written as comparisons, so that affinity and collation apply.
            Some(base) => compare::compare(tr, base, Operator::Equals, when)?,
            None => tr.condition(when)?,
        };
        tr.put(" THEN ");
        write(tr, then)?;
    }
    if let Some(otherwise) = otherwise {
        tr.put(" ELSE ");
        write(tr, otherwise)?;
    }
    tr.put(" END");
    Ok(())
}

/// The type of a parameter among several expressions: that of the first other one with a type.
pub(crate) fn typed_by_others<'a>(tr: &mut Tr<'a>, branches: &[&'a Expr<'a>], want: Ty) -> R<Ty> {
    let parameter = |expr: &&&'a Expr<'a>| matches!(bare(expr), Expr::Variable(_));
    if !branches.iter().any(|expr| parameter(&expr)) {
        return Ok(want);
    }
    for branch in branches.iter().filter(|expr| !parameter(expr)) {
        let ty = tr.probe(branch)?.ty;
        if !matches!(ty, Ty::Null | Ty::Param | Ty::Any) {
            return Ok(ty);
        }
    }
    Ok(want)
}

pub(crate) fn nullif<'a>(tr: &mut Tr<'a>, token: &str, one: &'a Expr<'a>, other: &'a Expr<'a>, want: Ty) -> R<Val> {
    let want = typed_by_others(tr, &[one, other], want)?;
    let other = nullif_other(tr, token, one, other)?;
    // Unlike `=`, it applies no affinity to either operand.
    let classes = [one, other].map(|expr| tr.probe(expr).map(|value| class(value.ty)));
    if let [Ok(Some(left)), Ok(Some(right))] = classes
        && left != right
    {
        // Values of different storage classes are never equal.
        tr.fire(Id::ClassComparison);
        let is_kept = with_aggregates_of(tr, other)?;
        let value = tr.value(one, want)?;
        tr.put(if is_kept { " END" } else { "" });
        return Ok(Val { affinity: Affinity::None, column: false, ..value });
    }
    tr.put("CASE WHEN ");
    if [one, other].iter().any(|expr| tr.probe_value(expr).is_ok_and(|value| value.ty == Ty::Tagged)) {
        tagged::same(tr, one, other)?;
    } else if [one, other].iter().any(|expr| matches!(bare(expr), Expr::Variable(_))) {
        same_as_bound(tr, one, other, want)?;
    } else {
        compare::compare(tr, one, Operator::Equals, other)?;
    }
    tr.put(" THEN NULL ELSE ");
    let mut value = tr.value(one, want)?;
    tr.put(" END");
    value.nullable = true;
    Ok(Val { affinity: Affinity::None, column: false, strength: Strength::Atom, ..value })
}

/// Begins a CASE that is always true and has the aggregates of a value that does not matter: without them, the query
/// would have a row for each row of its tables. Returns whether there are any; otherwise it writes nothing.
fn with_aggregates_of<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<bool> {
    let (mark, aggregates) = (tr.mark(), tr.seen.aggregates);
    tr.put("CASE WHEN (");
    tr.value(expr, Ty::Any)?;
    tr.put(") IS NULL OR TRUE THEN ");
    let has_aggregates = tr.seen.aggregates > aggregates;
    if !has_aggregates {
        tr.back_to(mark);
    }
    Ok(has_aggregates)
}

/// Writes that two values are equal, of which one is a parameter. As no affinity converts its value, it must have the
/// other one's type.
fn same_as_bound<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>, other: &'a Expr<'a>, want: Ty) -> R<()> {
    let start = tr.at();
    let mut l = tr.value(one, want)?;
    tr.enclose(start, &mut l, Strength::Operator);
    let left_end = tr.at();
    tr.put(" = ");
    let right_start = tr.at();
    let mut r = tr.value(other, want)?;
    tr.enclose(right_start, &mut r, Strength::Operator);
    let [l, r] = [l, r].map(|value| Val { affinity: Affinity::None, ..value });
    compare::agree(tr, Sides { start, left_end, right_start, l, r }, false)
}

/// nullif() compares with the collation of its first argument that has one; unlike for `=`, a column has one. Returns
/// the second argument as it must be compared.
fn nullif_other<'a>(tr: &mut Tr<'a>, token: &str, one: &'a Expr<'a>, other: &'a Expr<'a>) -> R<&'a Expr<'a>> {
    if said(other).is_none() || said(one).is_some() || !tr.probe(one)?.column {
        return Ok(other);
    }
    match bare(other) {
        Expr::Collate(inner, _) if said(inner).is_none() => Ok(inner),
        _ => no(Id::Collation, token, "nullif() of a column and of a value with COLLATE within, which does not count"),
    }
}

/// Writes one of several alternative expressions, tagged if `so_far` is.
pub(crate) fn branch<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty, so_far: &mut Option<Val>) -> R<()> {
    let known = so_far.map_or(Ty::Any, |v| v.ty);
    let hint = match bare(expr) {
        // A value of the other type stays as it is.
        Expr::Variable(name) if tr.bound(name).is_some() => Ty::Any,
        _ if matches!(known, Ty::Any | Ty::Null | Ty::Param | Ty::Tagged) => want,
        _ => known,
    };
    let start = tr.at();
    let mut value = tr.value(expr, hint)?;
    if known == Ty::Tagged {
        value = tagged::tagged(tr, start, value)?;
    }
    value.affinity = Affinity::None;
    value.column = false;
    value.strength = Strength::Atom;
    *so_far = Some(match *so_far {
        None => value,
        Some(known) => unify(known, value)?,
    });
    Ok(())
}

/// The type of a value that is one of two.
pub(crate) fn unify(one: Val, other: Val) -> R<Val> {
    let ty = match (one.ty, other.ty) {
        (a, b) if a == b && a != Ty::Param => a,
        (Ty::Null, known) | (known, Ty::Null) => known,
        (Ty::Param, _) | (_, Ty::Param) => {
            return no(
                Id::Parameters,
                "",
                "one column that is a parameter in one row and another value in another; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        (Ty::Int, Ty::Bool) | (Ty::Bool, Ty::Int) => Ty::Int,
        (a, b) => {
            return no(
                Id::MixedTypes,
                "",
                format!("one column that is {} in one row and {} in another", a.word(), b.word()),
            );
        }
    };
    let wordy = |value: Val| value.wordy || value.ty == Ty::Null;
    Ok(Val {
        ty,
        wordy: wordy(one) && wordy(other),
        narrow: (one.narrow || one.ty == Ty::Null) && (other.narrow || other.ty == Ty::Null),
        digits: one.digits && other.digits,
        nullable: one.nullable || other.nullable,
        bytewise: one.bytewise || other.bytewise,
        ..one
    })
}
