//! CASE, and values of which the row decides which it is.

use crate::emit::Tr;
use crate::parse::tree::{Expr, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Affinity, Strength, Ty, Val};

impl<'a> Tr<'a> {
    pub(crate) fn case(
        &mut self,
        base: Option<&'a Expr<'a>>,
        pairs: &'a [(Expr<'a>, Expr<'a>)],
        otherwise: Option<&'a Expr<'a>>,
        want: Ty,
    ) -> R<Val> {
        self.put("CASE");
        let mut result: Option<Val> = None;
        for (when, then) in pairs {
            self.put(" WHEN ");
            match base {
                // Written as comparisons, so that affinity and collation count.
                Some(base) => self.compare(base, Operator::Equals, when)?,
                None => self.condition(when)?,
            };
            self.put(" THEN ");
            self.branch(then, want, &mut result)?;
        }
        if let Some(otherwise) = otherwise {
            self.put(" ELSE ");
            self.branch(otherwise, want, &mut result)?;
        }
        self.put(" END");
        let mut value = result.unwrap_or(Val::of(Ty::Null));
        value.nullable |= otherwise.is_none();
        Ok(value)
    }

    /// Writes one of several expressions of which the row decides which is the value.
    pub(crate) fn branch(&mut self, expr: &'a Expr<'a>, want: Ty, so_far: &mut Option<Val>) -> R<()> {
        let known = so_far.map_or(Ty::Any, |v| v.ty);
        let hint = if matches!(known, Ty::Any | Ty::Null | Ty::Param) { want } else { known };
        let mut value = self.value(expr, hint)?;
        value.affinity = Affinity::None;
        value.column = false;
        value.strength = Strength::Atom;
        *so_far = Some(match *so_far {
            None => value,
            Some(known) => unify(known, value)?,
        });
        Ok(())
    }
}

/// The type of a value that is one of two.
pub(crate) fn unify(one: Val, other: Val) -> R<Val> {
    let ty = match (one.ty, other.ty) {
        (a, b) if a == b => a,
        (Ty::Null, known) | (known, Ty::Null) => known,
        (Ty::Param, known) | (known, Ty::Param) => known,
        (Ty::Int, Ty::Bool) | (Ty::Bool, Ty::Int) => Ty::Int,
        (a, b) => {
            return no(
                Id::MixedTypes,
                "",
                format!("one column that is {} in one row and {} in another", a.word(), b.word()),
            );
        }
    };
    Ok(Val {
        ty,
        narrow: (one.narrow || one.ty == Ty::Null) && (other.narrow || other.ty == Ty::Null),
        nullable: one.nullable || other.nullable,
        bytewise: one.bytewise || other.bytewise,
        ..one
    })
}
