//! Functions that Django registers with SQLite, where the function pack has the same: dates and times in the zone of the
//! connection, and functions of texts and numbers. What Python reads in its own way (other zones, other forms) is an error
//! of the function.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::{Id, maths};
use crate::types::{Strength, Ty, Val};

const TWO: &[Ty] = &[Ty::Text; 2];
const THREE: &[Ty] = &[Ty::Text; 3];
const FOUR: &[Ty] = &[Ty::Text; 4];

/// Name, types of the arguments, type of the result. No other program calls its functions like these.
const OF_MOMENTS: &[(&str, &[Ty], Ty)] = &[
    ("django_date_extract", TWO, Ty::Int),
    ("django_date_trunc", FOUR, Ty::Text),
    ("django_datetime_cast_date", THREE, Ty::Text),
    ("django_datetime_cast_time", THREE, Ty::Text),
    ("django_datetime_extract", FOUR, Ty::Int),
    ("django_datetime_trunc", FOUR, Ty::Text),
    ("django_time_diff", TWO, Ty::Int),
    ("django_time_extract", TWO, Ty::Int),
    ("django_time_trunc", FOUR, Ty::Text),
    ("django_timestamp_diff", TWO, Ty::Int),
];

/// The same of names that other programs may give to functions of their own.
const OTHERS: &[(&str, &[Ty], Ty)] = &[
    ("bitxor", &[Ty::Int, Ty::Int], Ty::Int),
    ("cot", &[Ty::Real], Ty::Real),
    ("lpad", &[Ty::Text, Ty::Int, Ty::Text], Ty::Text),
    ("md5", &[Ty::Text], Ty::Text),
    ("repeat", &[Ty::Text, Ty::Int], Ty::Text),
    ("reverse", &[Ty::Text], Ty::Text),
    ("rpad", &[Ty::Text, Ty::Int, Ty::Text], Ty::Text),
    ("sha1", &[Ty::Text], Ty::Text),
    ("sha224", &[Ty::Text], Ty::Text),
    ("sha256", &[Ty::Text], Ty::Text),
    ("sha384", &[Ty::Text], Ty::Text),
    ("sha512", &[Ty::Text], Ty::Text),
];

/// Moves a moment by microseconds.
const MOVES: &str = "django_format_dtdelta";

/// Django's functions that the servers have: of numbers alone SIGN is SQLite's.
const OF_SERVERS: [&str; 2] = ["rand", "sign"];

fn has(list: &[(&str, &[Ty], Ty)], name: &str) -> bool {
    list.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Whether a function that an application registers under this name, in any case of letters, has a counterpart. For some
/// names only if the application is Django, as [`needs_django`] says.
pub fn is_in_pack(name: &str) -> bool {
    has(OF_MOMENTS, name) || name.eq_ignore_ascii_case(MOVES) || needs_django(name)
}

/// Whether only Django's function of this name has a counterpart.
pub fn needs_django(name: &str) -> bool {
    has(OTHERS, name) || OF_SERVERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Writes the call, if it is one of these.
pub(crate) fn django_function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    if (name, args.len()) == ("rand", 0) {
        tr.fire(Id::ApplicationFunctions);
        tr.either("random()", "RAND()");
        return Ok(Some(Val::of(Ty::Real).never_null()));
    }
    if let (MOVES, [sign, one, other]) = (name, args) {
        return moved(tr, token, sign, [one, other]).map(Some);
    }
    let mut known = OF_MOMENTS.iter().chain(OTHERS);
    let Some((name, types, result)) = known.find(|(known, types, _)| *known == name && types.len() == args.len())
    else {
        return Ok(None);
    };
    if !tr.input.options.pack {
        return no(Id::ApplicationFunctions, token, format!("`{name}` needs the function pack"));
    }
    if *name == "sha1" && tr.postgres {
        return no(Id::ApplicationFunctions, token, "PostgreSQL has no SHA1");
    }
    tr.fire(Id::ApplicationFunctions);
    let is_text = *result == Ty::Text;
    tr.put(if is_text && tr.postgres { "(contend_sql." } else { "contend_sql." });
    tr.put(if name.starts_with("django_") { "" } else { "django_" });
    tr.put(name);
    tr.put("(");
    tr.list(args.iter().zip(*types), |tr, (arg, ty)| argument(tr, token, arg, *ty))?;
    tr.put(if is_text && tr.postgres { ") COLLATE \"C\")" } else { ")" });
    // A date or a time is no number.
    let wordy = is_text && has(OF_MOMENTS, name);
    Ok(Some(Val { nullable: true, bytewise: is_text, wordy, strength: Strength::Atom, ..Val::of(*result) }))
}

/// A moment plus or minus microseconds.
fn moved<'a>(tr: &mut Tr<'a>, token: &'a str, sign: &'a Expr<'a>, sides: [&'a Expr<'a>; 2]) -> R<Val> {
    let sign = match bare(sign) {
        Expr::Literal(Literal::String(text)) => plain(text).trim().to_string(),
        _ => String::new(),
    };
    let [left, right] = sides;
    let is_moved = match (tr.probe_value(left)?.ty, tr.probe_value(right)?.ty, &*sign) {
        (Ty::Text, Ty::Int, "+" | "-") => true,
        (Ty::Int, Ty::Text, "+") => false,
        _ => {
            return no(
                Id::ApplicationFunctions,
                token,
                "durations in arithmetic other than a moment plus or minus one",
            );
        }
    };
    if !tr.input.options.pack {
        return no(Id::ApplicationFunctions, token, format!("`{MOVES}` needs the function pack"));
    }
    tr.fire(Id::ApplicationFunctions);
    // The placeholders stay in their order.
    tr.put(if tr.postgres { "(contend_sql." } else { "contend_sql." });
    tr.put(if is_moved { "django_moved(" } else { "django_moved_by(" });
    tr.value(left, if is_moved { Ty::Text } else { Ty::Int })?;
    tr.put(", ");
    tr.value(right, if is_moved { Ty::Int } else { Ty::Text })?;
    tr.put(match (is_moved, &*sign) {
        (false, _) => "",
        (true, "-") => ", -1",
        _ => ", 1",
    });
    tr.put(if tr.postgres { ") COLLATE \"C\")" } else { ")" });
    Ok(Val { nullable: true, bytewise: true, wordy: true, ..Val::of(Ty::Text) })
}

/// Writes an argument of this type. Python does not convert one.
fn argument<'a>(tr: &mut Tr<'a>, token: &'a str, arg: &'a Expr<'a>, ty: Ty) -> R<()> {
    let start = tr.at();
    if ty == Ty::Real {
        let is_number = matches!(tr.probe_value(arg)?.ty, Ty::Int | Ty::Real | Ty::Number | Ty::Null | Ty::Param);
        return match is_number {
            true => maths::double(tr, token, arg).map(drop),
            false => no(Id::ApplicationFunctions, token, "a function of numbers, of something else"),
        };
    }
    let value = tr.value(arg, ty)?;
    match value.ty {
        found if found == ty => {}
        Ty::Null if tr.postgres => tr.wrap(start, "(", if ty == Ty::Text { ")::text" } else { ")::bigint" }),
        Ty::Null => {}
        other => return no(Id::ApplicationFunctions, token, format!("`{token}` of {}", other.word())),
    }
    Ok(())
}
