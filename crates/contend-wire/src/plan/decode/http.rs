//! The lines of a plan that have to do with HTTP.

use super::reader::{Fields, Reader, bounds, expect_index, list, sources};
use crate::FormatError;
use crate::literal::unescape;
use crate::plan::check::check_login;
use crate::plan::http::{Count, HttpStep, KeepAt, Request, check_pointer};
use crate::plan::{Source, Step, Transaction};

/// All requests, each with its headers.
pub(super) fn requests(reader: &mut Reader<'_>) -> Result<Vec<Request>, FormatError> {
    let mut requests = vec![];
    while let Some(mut f) = reader.next_if("request") {
        let line = f.line;
        expect_index(&mut f, requests.len())?;
        let (method, target) = (f.unescaped("method")?, f.unescaped("target")?);
        let body = match f.text("body")? {
            "-" => None,
            body => Some(unescape(body).map_err(|e| f.error(e))?),
        };
        f.end()?;
        let mut request = Request { method, target, body, headers: vec![] };
        request.places().map_err(|m| FormatError::new("plan", line, m))?;
        while let Some(mut f) = reader.next_if("header") {
            let line = f.line;
            expect_index(&mut f, requests.len())?;
            request.headers.push((f.unescaped("name")?, f.unescaped("value")?));
            f.end()?;
            request.places().map_err(|m| FormatError::new("plan", line, m))?;
        }
        requests.push(request);
    }
    Ok(requests)
}

/// The login, and whether the session values that steps use are kept by it.
pub(super) fn login(reader: &mut Reader<'_>, transactions: &[Transaction]) -> Result<Option<u16>, FormatError> {
    let mut login = None;
    if let Some(mut f) = reader.next_if("login") {
        let index: u16 = f.number("transaction")?;
        let Some(transaction) = transactions.get(usize::from(index)) else {
            return Err(f.error(format!("transaction {index} is not in the plan")));
        };
        check_login(transaction).map_err(|m| f.error(m))?;
        f.end()?;
        login = Some((index, transaction));
    }
    match (reader.session_use, login) {
        (Some((line, _)), None) => Err(FormatError::new("plan", line, "a session value, but the plan has no `login`")),
        (Some((line, slot)), Some((_, t))) if slot >= t.slots => Err(FormatError::new(
            "plan",
            line,
            format!("session value {slot} is beyond the {} of `{}`", t.slots, t.name),
        )),
        (_, login) => Ok(login.map(|(index, _)| index)),
    }
}

/// Remembers the highest session value a step needs.
pub(super) fn note_session_use(reader: &mut Reader<'_>, line: usize, step: &Step) {
    for source in step.sources().0 {
        if let Source::Session { slot } = source
            && reader.session_use.is_none_or(|(_, highest)| highest < *slot)
        {
            reader.session_use = Some((line, *slot));
        }
    }
}
pub(super) fn step(mut f: Fields<'_>) -> Result<Step, FormatError> {
    let request = f.number("request")?;
    let all = list(&mut f, "status", |item| {
        let (is_refusal, range) = item.strip_prefix('!').map_or((false, item), |range| (true, range));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (100 <= first && first <= last && last <= 999).then_some((is_refusal, (first, last)))
    })?;
    let of_kind = |wanted: bool| all.iter().filter(|(is, _)| *is == wanted).map(|(_, range)| *range).collect();
    let (status, refused): (Vec<_>, Vec<_>) = (of_kind(false), of_kind(true));
    if status.is_empty() {
        return Err(f.error("a step names at least one status that is not a failure"));
    }
    let count = match f.text("count")? {
        "-" => None,
        count => Some(self::count(count).map_err(|m| f.error(m))?),
    };
    let keep = match f.text("keep")? {
        "-" => vec![],
        keep => keep.split(',').map(keep_at).collect::<Result<Vec<_>, _>>().map_err(|m| f.error(m))?,
    };
    Ok(Step::Http(HttpStep { request, status, refused, count, keep, args: sources(f)? }))
}

fn count(field: &str) -> Result<Count, String> {
    let parsed = field.rsplit_once('=').and_then(|(pointer, rows)| Some((pointer, bounds(rows)?)));
    let Some((pointer, (rows_min, rows_max))) = parsed else {
        return Err(format!("count `{}` is not of the form POINTER=MIN..MAX or POINTER=MIN..*", crate::crop(field)));
    };
    let pointer = unescape(pointer)?;
    check_pointer(&pointer)?;
    if pointer.split('/').any(|segment| segment == "*") {
        return Err(format!("count `{}`: `*` has no meaning here", crate::crop(field)));
    }
    Ok(Count { pointer, rows_min, rows_max })
}

fn keep_at(item: &str) -> Result<KeepAt, String> {
    let mut parts = item.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<u16>().ok());
    let (slot, rows, pointer) = (number(), number().filter(|rows| *rows > 0), parts.next());
    let (Some(slot), Some(rows), Some(pointer)) = (slot, rows, pointer) else {
        return Err(format!("keep `{}` is not of the form SLOT:ROWS:POINTER", crate::crop(item)));
    };
    let pointer = unescape(pointer)?;
    check_pointer(&pointer)?;
    Ok(KeepAt { slot, rows, pointer })
}
