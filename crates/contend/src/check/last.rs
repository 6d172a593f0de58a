//! Compares the rows that the last writes left with what was acknowledged. An operation that another one on the same key
//! followed, after it had ended, is overwritten: a row has what one of the remaining operations wrote.

use crate::growing::LastWrite;
use crate::outcome::may_have_acted;
use crate::record::model::InvariantResult;
use contend_wire::literal::Value;
use contend_wire::plan::Client;
use contend_wire::sample::Sample;
use std::collections::{BTreeMap, HashMap};

/// Which row: the number of the invariant, the database, the key.
type Row = (usize, u32, String);

/// An attempt that wrote a row, or may have.
#[derive(Debug, Clone, Copy)]
struct Write {
    client: u32,
    operation: u32,
    started_ns: u64,
    /// `None` if it is not known whether it was carried out: then it may be the last one.
    ended_ns: Option<u64>,
}

/// Takes a trial's samples one by one.
#[derive(Debug, Default)]
pub struct Last<'p> {
    of: &'p [LastWrite],
    /// The texts that arguments refer to by number.
    texts: &'p [String],
    clients: HashMap<u32, &'p Client>,
    writes: BTreeMap<Row, Vec<Write>>,
}

impl<'p> Last<'p> {
    pub fn new(of: &'p [LastWrite], texts: &'p [String], clients: impl Iterator<Item = &'p Client>) -> Self {
        let clients =
            clients.filter(|client| !client.operations.is_empty()).map(|client| (client.id, client)).collect();
        Self { of, texts, clients, writes: BTreeMap::new() }
    }

    pub fn push(&mut self, sample: &Sample) {
        let ended_ns = sample.is_ok().then_some(sample.finished_ns);
        if ended_ns.is_none() && !may_have_acted(sample) {
            return;
        }
        let write =
            Write { client: sample.client, operation: sample.operation, started_ns: sample.started_ns, ended_ns };
        let of_transaction = |last: &LastWrite| last.transaction == sample.transaction;
        for (number, last) in self.of.iter().enumerate().filter(|(_, last)| of_transaction(last)) {
            let Some((database, arguments)) = self.arguments(&write, sample.transaction) else { continue };
            let Some(key) = arguments.get(usize::from(last.key)) else { continue };
            let writes = self.writes.entry((number, database, text(key, self.texts))).or_default();
            writes.push(write);
            let acknowledged = writes.iter().filter(|write| write.ended_ns.is_some());
            let last_ns = acknowledged.map(|write| write.started_ns).max().unwrap_or(0);
            writes.retain(|write| write.ended_ns.is_none_or(|ended_ns| ended_ns >= last_ns));
        }
    }

    /// The database and the arguments of an operation, if it is one of this transaction.
    fn arguments(&self, write: &Write, transaction: u16) -> Option<(u32, &'p [Value])> {
        let client = *self.clients.get(&write.client)?;
        let operation = &client.operations[write.operation as usize % client.operations.len()];
        (operation.transaction == transaction).then(|| (client.database, client.arguments_of(operation)))
    }

    /// Compares the rows of an invariant in one database. Keys that no acknowledged operation wrote may have any row.
    pub fn judge(&self, number: usize, database: u32, answer: &[Vec<Value>]) -> InvariantResult {
        let last = &self.of[number];
        let mut rows: HashMap<String, Vec<&[Value]>> = HashMap::new();
        for row in answer {
            let Some((key, values)) = row.split_first() else { continue };
            rows.entry(text(key, &[])).or_default().push(values);
        }
        let of_this = |row: &Row| (row.0, row.1) == (number, database);
        let known = |writes: &[Write]| writes.iter().any(|write| write.ended_ns.is_some());
        let (mut keys, mut wrong) = (0, vec![]);
        for ((.., key), writes) in self.writes.iter().filter(|(row, writes)| of_this(row) && known(writes)) {
            keys += 1;
            let is_of = |write: &Write, found: &[Value]| {
                let arguments = self.arguments(write, last.transaction).map_or(&[][..], |(_, arguments)| arguments);
                let wrote = last.values.iter().map(|at| arguments.get(usize::from(*at)));
                let wrote = wrote.map(|value| value.map(|value| text(value, self.texts)));
                wrote.eq(found.iter().map(|value| Some(text(value, &[]))))
            };
            match rows.get(key).map(Vec::as_slice) {
                Some([found]) if writes.iter().any(|write| is_of(write, found)) => {}
                _ => wrong.push(key),
            }
        }
        let found = match wrong.first() {
            Some(key) => format!("something else for {} of {keys} (the first: {key})", wrong.len()),
            None => format!("it, for all {keys}"),
        };
        InvariantResult {
            name: last.name.clone(),
            sql: last.sql.clone(),
            found,
            expected: "what was written last, for each key".to_string(),
            holds: wrong.is_empty(),
        }
    }
}

/// A value as a row has it, whatever type the engine returns it in.
fn text(value: &Value, texts: &[String]) -> String {
    match value {
        Value::TextRef(number) => texts.get(*number as usize).cloned().unwrap_or_default(),
        Value::Text(text) => text.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(real) => real.to_string(),
        other => other.encode(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::plan::Loop;
    use contend_wire::sample::CodeSpace;

    fn client(id: u32, writes: &[(i64, &str)]) -> Client {
        let mut client = Client {
            id,
            database: 0,
            load: Loop::Closed,
            cyclic: true,
            limit: 0,
            start_ns: 0,
            operations: vec![],
            arguments: vec![],
        };
        for (key, value) in writes {
            client.push(0, 0, [Value::Integer(*key), Value::Text((*value).into())]);
        }
        client
    }

    fn sample(client: u32, operation: u32, (started_ns, finished_ns): (u64, u64)) -> Sample {
        Sample { client, operation, rows: 1, due_ns: started_ns, started_ns, finished_ns, ..Sample::default() }
    }

    /// Whether these rows may be there. Client 1 writes a, then b under key 7; client 2 writes c under it, by its number.
    fn holds(samples: &[Sample], rows: &[(&str, &str)]) -> bool {
        let of = [LastWrite { name: "n".into(), sql: "s".into(), transaction: 0, key: 0, values: vec![1] }];
        let (mut second, texts) = (client(2, &[]), ["x".to_string(), "c".to_string()]);
        second.push(0, 0, [Value::Integer(7), Value::TextRef(1)]);
        let clients = [client(1, &[(7, "a"), (7, "b")]), second];
        let mut last = Last::new(&of, &texts, clients.iter());
        samples.iter().for_each(|sample| last.push(sample));
        let text = |text: &str| Value::Text(text.into());
        let rows: Vec<Vec<Value>> = rows.iter().map(|(key, value)| vec![text(key), text(value)]).collect();
        last.judge(0, 0, &rows).holds
    }

    #[test]
    fn a_row_has_what_was_written_last() {
        let (a, b) = (sample(1, 0, (10, 20)), sample(1, 1, (30, 40)));
        for samples in [[a, b], [b, a]] {
            assert!(holds(&samples, &[("7", "b"), ("8", "never written")]));
            assert!(!holds(&samples, &[("7", "a")]), "it was overwritten, and then written again");
            assert!(!holds(&samples, &[("7", "c")]) && !holds(&samples, &[("7", "b"), ("7", "b")]));
            assert!(!holds(&samples, &[]), "the row is missing");
        }
        assert!(holds(&[a], &[("7", "a")]) && !holds(&[a], &[("7", "b")]));
    }

    #[test]
    fn of_two_at_once_either_is_the_last() {
        let samples = [sample(1, 1, (30, 40)), sample(2, 0, (35, 50)), sample(1, 0, (10, 20))];
        assert!(holds(&samples, &[("7", "b")]) && holds(&samples, &[("7", "c")]) && !holds(&samples, &[("7", "a")]));
    }

    #[test]
    fn what_may_have_been_carried_out_may_be_the_last() {
        let unknown = Sample { code_space: CodeSpace::Os, code: 110, failed_step: 0, ..sample(2, 0, (1, 5)) };
        let refused = Sample { code_space: CodeSpace::Sqlite, code: 5, failed_step: 0, ..sample(2, 0, (41, 45)) };
        let b = sample(1, 1, (30, 40));
        assert!(holds(&[unknown, b], &[("7", "b")]) && holds(&[unknown, b], &[("7", "c")]));
        assert!(!holds(&[refused, b], &[("7", "c")]));
        assert!(holds(&[unknown], &[]), "nothing is known for sure");
    }
}
