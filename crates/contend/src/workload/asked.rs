//! A workload's transactions as requests: a scenario's transactions of the same names, with the values drawn for the
//! workload. So clients of an app do the same as clients of its database.

use super::model::{ArgumentGroup, TransactionSpec, Workload};
use super::secret::Secrets;
use crate::source::FileError;
use contend_wire::plan::http::Request;
use contend_wire::plan::{Source, Step, Transaction};

/// The requests of an app's clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub requests: Vec<Request>,
    /// One for each transaction of the workload, in its order, then the login.
    pub transactions: Vec<Transaction>,
    pub login: Option<u16>,
    /// Secrets of the scenario.
    pub secrets: Secrets,
}

/// The requests of a scenario for the transactions of a workload.
///
/// # Errors
/// A transaction that is missing in the scenario, that reads where the workload writes, or that needs a value which the
/// workload does not draw; with its place in the scenario.
pub fn asked(scenario: &Workload, workload: &Workload) -> Result<Asked, FileError> {
    let mut transactions =
        workload.transactions.iter().map(|own| request(scenario, own, workload)).collect::<Result<Vec<_>, _>>()?;
    let plain = scenario.plan_transactions(None);
    let login = scenario.login.map(|index| {
        transactions.push(plain[usize::from(index)].clone());
        (transactions.len() - 1) as u16
    });
    Ok(Asked { requests: scenario.requests.clone(), transactions, login, secrets: scenario.secrets.clone() })
}

fn request(scenario: &Workload, own: &TransactionSpec, workload: &Workload) -> Result<Transaction, FileError> {
    let source = &scenario.source;
    let index = scenario.transaction(&own.name).ok_or_else(|| {
        let message = format!("there is no [transaction.{}], which workload {} has", own.name, workload.name);
        source.error(&["transaction"], message)
    })?;
    let theirs = &scenario.transactions[index];
    let wrong = |key: &str, message: String| source.error(&["transaction", &own.name, key], message);
    if theirs.writes != own.writes {
        return Err(wrong("kind", format!("in workload {} one reads and the other writes", workload.name)));
    }
    let (drawn, wanted) = (places(&own.arguments), places(&theirs.arguments));
    let place = |first: u16| -> Result<u16, FileError> {
        let found = wanted.iter().find(|(_, place)| *place == first).map_or("", |(name, _)| name);
        let there = drawn.iter().find(|(name, _)| *name == found);
        there.map(|(_, place)| *place).ok_or_else(|| {
            let names: Vec<&str> = drawn.iter().map(|(name, _)| *name).collect();
            let message =
                format!("workload {} draws no `{found}` for it; it draws {}", workload.name, names.join(", "));
            wrong("args", message)
        })
    };
    let mut steps = theirs.steps.clone();
    scenario.secrets.fill(&mut steps);
    for step in &mut steps {
        let Step::Http(step) = step else { continue };
        for source in &mut step.args {
            if let Source::Argument { first, .. } = source {
                *source = Source::Argument { first: place(*first)?, stride: 0 };
            }
        }
    }
    Ok(Transaction {
        name: own.name.clone(),
        writes: own.writes,
        begin: None,
        // Unique numbers advance as without HTTP, used or not.
        uniques: own.uniques,
        slots: theirs.slots,
        steps,
    })
}

/// Position of each argument's first value in an operation, by name.
fn places(groups: &[ArgumentGroup]) -> Vec<(&str, u16)> {
    let mut places = vec![];
    let mut begin = 0;
    for group in groups {
        for (at, field) in group.carried.iter().enumerate() {
            places.push((group.fields.0[*field].name.as_str(), (begin + at) as u16));
        }
        begin += group.carried.len() * group.repeat as usize;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source as File;
    use crate::workload::parse;

    const WORKLOAD: &str = "about = 'w'\n[scale]\nrows = 9\n\
        [table.note]\nddl = 'CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT)'\nrows = 'rows'\n\
        [table.note.columns]\nid = { serial = 1 }\nbody = { words = 3 }\n\
        [transaction.add]\nkind = 'write'\nargs = { by = { range = [1, 3] }, id = { range = [1, 9] }, body = { words = 2 } }\n\
        [[transaction.add.step]]\nsql = 'UPDATE note SET body = :body WHERE id = :id AND id > :by'\n";
    const SCENARIO: &str = "about = 's'\nlogin = 'enter'\n[profile.p]\nmix = { add = 1 }\n\
        [transaction.enter]\nkind = 'write'\n[[transaction.enter.step]]\nrequest = 'POST /enter'\nbody = 'x'\n\
        [transaction.add]\nkind = 'write'\nargs = { body = { words = 2 }, id = { range = [1, 2] } }\n\
        [[transaction.add.step]]\nrequest = 'POST /notes/{id}'\nheaders = { Content-Type = 'application/json' }\nbody = '{\"body\": {body}}'\n";

    fn both(scenario: &str) -> Result<Asked, String> {
        let workload = parse(&File::new("w.toml", WORKLOAD)).unwrap();
        let scenario = parse(&File::new("s.toml", scenario)).unwrap();
        asked(&scenario, &workload).map_err(|e| e.to_string())
    }

    #[test]
    fn requests_take_the_values_drawn_for_the_workload() {
        let asked = both(SCENARIO).unwrap();
        assert_eq!((asked.transactions.len(), asked.login), (2, Some(1)));
        let Step::Http(step) = &asked.transactions[0].steps[0] else { panic!("a request") };
        let workload = parse(&File::new("w.toml", WORKLOAD)).unwrap();
        let drawn = places(&workload.transactions[0].arguments);
        let place = |name: &str| drawn.iter().find(|(n, _)| *n == name).unwrap().1;
        let expected = ["id", "body"].map(|name| Source::Argument { first: place(name), stride: 0 });
        assert_eq!(step.args, expected, "in the order of target, headers, body");
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_line() {
        for (from, to, expected) in [
            ("transaction.add", "transaction.put", "there is no [transaction.add], which workload w has"),
            ("id = { range = [1, 2] }", "key = { range = [1, 2] }", "draws no `key` for it; it draws body, by, id"),
        ] {
            let scenario =
                SCENARIO.replace(from, to).replace("{id}", if to.starts_with("key") { "{key}" } else { "{id}" });
            let scenario =
                scenario.replace("mix = { add", if to.ends_with("put") { "mix = { put" } else { "mix = { add" });
            let error = both(&scenario).unwrap_err();
            assert!(error.starts_with("s.toml:") && error.contains(expected), "{error}");
        }
    }
}
