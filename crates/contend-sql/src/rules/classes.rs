//! Comparisons of values of different storage classes: NULL, numbers, texts, blobs, in this order.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::types::{Affinity, Ty, Val, number_in_text};

impl<'a> Tr<'a> {
    /// A comparison that no affinity makes one of equals: the classes decide it, unless one side is NULL.
    pub(crate) fn compare_classes(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let l = self.value(left, Ty::Any)?;
        let left_text = self.sql.split_off(start);
        let r = self.value(right, Ty::Any)?;
        let right_text = self.sql.split_off(start);
        let (Some(one), Some(other)) = (class(l.ty), class(r.ty)) else {
            return no(Id::MixedComparison, "", format!("{} is compared with {}", l.ty.word(), r.ty.word()));
        };
        let converted = convertible(l, left, r) || convertible(r, right, l);
        if one == other || converted {
            return no(Id::MixedComparison, "", format!("{} is compared with {}", l.ty.word(), r.ty.word()));
        }
        self.fire(Id::ClassComparison);
        let answer = match op {
            Operator::Equals | Operator::Is => false,
            Operator::NotEquals | Operator::IsNot => true,
            Operator::Less | Operator::LessEquals => one < other,
            _ => one > other,
        };
        let word = if answer { "TRUE" } else { "FALSE" };
        let is = matches!(op, Operator::Is | Operator::IsNot);
        let tests: Vec<String> = [(l, &left_text), (r, &right_text)]
            .iter()
            .filter(|(value, _)| value.nullable)
            .map(|(_, text)| format!("({text}) IS {}NULL", if is { "" } else { "NOT " }))
            .collect();
        match (is, tests.len()) {
            (false, 0) => self.put(word),
            (false, _) => self.put(&format!("CASE WHEN {} THEN {word} END", tests.join(" AND "))),
            // IS of two values that are both NULL.
            (true, 2) => {
                let both = if op == Operator::Is { "" } else { "NOT " };
                self.put(&format!("({both}({}))", tests.join(" AND ")));
            }
            (true, _) => self.put(word),
        }
        Ok(Val { nullable: !is && (l.nullable || r.nullable), ..Val::of(Ty::Bool) })
    }
}

fn class(ty: Ty) -> Option<u8> {
    match ty {
        Ty::Int | Ty::Real | Ty::Number | Ty::Bool => Some(1),
        Ty::Text => Some(2),
        Ty::Blob => Some(3),
        Ty::Null | Ty::Param | Ty::Any => None,
    }
}

/// Whether the affinity of `other` may turn a value into `other`'s class.
fn convertible(value: Val, expr: &Expr, other: Val) -> bool {
    match (value.ty, other.affinity) {
        (Ty::Text, affinity) if affinity.numeric() && !value.affinity.numeric() => match bare(expr) {
            Expr::Literal(Literal::String(text)) => number_in_text(&plain(text)).is_some(),
            _ => true,
        },
        (ty, Affinity::Text) => ty.numeric() && !value.affinity.numeric(),
        _ => false,
    }
}
