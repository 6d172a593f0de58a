//! Counts elements and keeps values of answers by JSON pointer (RFC 6901), in which one segment may be `*`. This time
//! lies between an answer and the client's next request, so an answer that is only counted is not built in memory.

use super::count::elements;
use crate::failure::Failure;
use crate::kept::{Kept, KeptValue};
use contend_wire::plan::http::{HttpStep, KeepAt};
use contend_wire::sample::worker_code;
use serde_json::Value;

const NOT_JSON: Failure = Failure::worker(worker_code::ANSWER);
const MISSING: Failure = Failure::worker(worker_code::NOT_KEPT);

/// Counts and keeps values of an answer's body for a step; returns the rows counted.
///
/// # Errors
/// It is not JSON, has too many or too few elements, or lacks a value to keep.
pub fn look_into(body: &[u8], step: &HttpStep, kept: &mut Kept) -> Result<u32, Failure> {
    if step.keep.is_empty() {
        let pointer = step.count.as_ref().map_or("", |count| &count.pointer);
        return rows_of(step, elements(body, pointer).map_err(|_| NOT_JSON)?);
    }
    let answer: Value = serde_json::from_slice(body).map_err(|_| NOT_JSON)?;
    let found = match step.count.as_ref().and_then(|count| answer.pointer(&count.pointer)) {
        None => 0,
        Some(Value::Array(elements)) => u32::try_from(elements.len()).unwrap_or(u32::MAX),
        Some(_) => 1,
    };
    let rows = rows_of(step, found)?;
    for keep in &step.keep {
        keep_from(&answer, keep, kept)?;
    }
    Ok(rows)
}

/// The count, checked against the step's bounds if it has any.
fn rows_of(step: &HttpStep, found: u32) -> Result<u32, Failure> {
    match &step.count {
        None => Ok(0),
        Some(count) if (count.rows_min..=count.rows_max).contains(&found) => Ok(found),
        Some(_) => Err(Failure::worker(worker_code::ROWS)),
    }
}

fn keep_from(answer: &Value, keep: &KeepAt, kept: &mut Kept) -> Result<(), Failure> {
    kept.clear_slot(keep.slot);
    let Some((before, after)) = around_star(&keep.pointer) else {
        return store(answer.pointer(&keep.pointer).ok_or(MISSING)?, keep.slot, kept);
    };
    let Some(Value::Array(elements)) = answer.pointer(before) else { return Err(MISSING) };
    for element in elements.iter().take(usize::from(keep.rows)) {
        store(element.pointer(after).ok_or(MISSING)?, keep.slot, kept)?;
    }
    Ok(())
}

/// The pointers before and after the segment `*`.
fn around_star(pointer: &str) -> Option<(&str, &str)> {
    if let Some(before) = pointer.strip_suffix("/*") {
        return Some((before, ""));
    }
    pointer.find("/*/").map(|at| (&pointer[..at], &pointer[at + 2..]))
}

fn store(value: &Value, slot: u16, kept: &mut Kept) -> Result<(), Failure> {
    let value = match value {
        Value::Null => KeptValue::Null,
        Value::Bool(truth) => KeptValue::Integer(i64::from(*truth)),
        Value::Number(number) => match (number.as_i64(), number.is_f64()) {
            (Some(i), _) => KeptValue::Integer(i),
            (None, true) => KeptValue::Real(number.as_f64().ok_or(NOT_JSON)?),
            // An integer beyond signed 64 bits is kept as text.
            (None, false) => KeptValue::Text(kept.store(number.to_string().as_bytes())),
        },
        Value::String(text) => KeptValue::Text(kept.store(text.as_bytes())),
        Value::Array(_) | Value::Object(_) => KeptValue::Text(kept.store(value.to_string().as_bytes())),
    };
    kept.push(slot, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Argument;
    use contend_wire::plan::http::Count;

    const BODY: &[u8] = br#"{"data": [{"id": 7, "n": "a"}, {"id": 8.5}, {"id": null}], "t": {"a/b": true}, "e": []}"#;

    fn look(count: Option<(&str, u32, u32)>, keep: &[(&str, u16)], kept: &mut Kept) -> Result<u32, Failure> {
        let count = count.map(|(pointer, rows_min, rows_max)| Count { pointer: pointer.into(), rows_min, rows_max });
        let keep = keep.iter().enumerate().map(|(slot, (pointer, rows))| KeepAt {
            slot: slot as u16,
            rows: *rows,
            pointer: (*pointer).into(),
        });
        look_into(
            BODY,
            &HttpStep {
                request: 0,
                status: vec![(200, 200)],
                refused: vec![],
                count,
                keep: keep.collect(),
                args: vec![],
            },
            kept,
        )
    }

    fn kept() -> Kept {
        Kept::with_slots(3)
    }

    #[test]
    fn elements_are_counted() {
        assert_eq!(look(Some(("/data", 1, 3)), &[], &mut kept()), Ok(3));
        assert_eq!(look(Some(("/t", 0, 9)), &[], &mut kept()), Ok(1));
        assert_eq!(look(Some(("/none", 0, 9)), &[], &mut kept()), Ok(0));
        assert_eq!(look(Some(("/data", 0, 2)), &[], &mut kept()), Err(Failure::worker(worker_code::ROWS)));
        assert_eq!(
            look_into(
                b"<html>",
                &HttpStep { request: 0, status: vec![], refused: vec![], count: None, keep: vec![], args: vec![] },
                &mut kept()
            ),
            Err(NOT_JSON)
        );
    }

    #[test]
    fn values_are_kept() {
        let mut k = kept();
        look(None, &[("/data/*/id", 9), ("/t/a~1b", 1), ("/data/*", 1)], &mut k).unwrap();
        assert_eq!(k.get(0, 0), Some(Argument::Integer(7)));
        assert_eq!(k.get(0, 1), Some(Argument::Real(8.5)));
        assert_eq!((k.get(0, 2), k.get(0, 3)), (Some(Argument::Null), None));
        assert_eq!(k.get(1, 0), Some(Argument::Integer(1)));
        assert_eq!(k.get(2, 0), Some(Argument::Text(br#"{"id":7,"n":"a"}"#)));
        look(None, &[("/e/*/id", 9)], &mut k).unwrap();
        assert_eq!(k.get(0, 0), None);
        for missing in ["/none", "/none/*", "/data/*/n", "/data/3", "/t/*"] {
            assert_eq!(look(None, &[(missing, 9)], &mut k), Err(MISSING), "{missing}");
        }
    }
}
