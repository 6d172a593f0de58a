//! Whether everything in a plan that refers to something else leads there. The tool checks what it sends, once;
//! a reader of a plan ([`super::Plan::decode`]) checks it again, and knows the line.

use super::http::{HttpStep, Request};
use super::{Client, Head, Loop, Source, SqlStep, Step, Transaction};
use crate::literal::Value;
use crate::statement::Statement;

impl Head {
    /// Checks statements, steps and login.
    ///
    /// # Errors
    /// The transaction at fault, and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let known = Known { statements: &self.statements, requests: &self.requests, texts: self.texts.len() };
        let kept = match self.login {
            None => 0,
            Some(index) => {
                let login = self.transactions.get(usize::from(index));
                let login = login.ok_or_else(|| format!("transaction {index} is not in the plan"))?;
                check_login(login)?;
                login.slots
            }
        };
        for transaction in &self.transactions {
            for (i, step) in transaction.steps.iter().enumerate() {
                let wrong = |message: String| format!("`{}`, step {i}: {message}", transaction.name);
                check_step(step, i, transaction, known).map_err(wrong)?;
                let beyond = |source: &&Source| matches!(source, Source::Session { slot } if *slot >= kept);
                if step.sources().0.iter().any(|source| beyond(&source)) {
                    return Err(wrong("a session value that no login keeps".to_string()));
                }
            }
            check_transaction(transaction)?;
        }
        Ok(())
    }

    /// Checks a client's operations, which are carried out with this head.
    ///
    /// # Errors
    /// The operation at fault, from 0, and what is wrong with it.
    pub fn check_client(&self, client: &Client) -> Result<(), String> {
        if client.database as usize >= self.databases.len() {
            return Err(format!(
                "client {} uses database {}; the plan has {}",
                client.id,
                client.database,
                self.databases.len()
            ));
        }
        let needed: Vec<usize> = self.transactions.iter().map(Transaction::arguments_needed).collect();
        let mut previous_due = 0;
        for (i, op) in client.operations.iter().enumerate() {
            let wrong = |message: String| Err(format!("client {}, operation {i}: {message}", client.id));
            match needed.get(usize::from(op.transaction)) {
                None => return wrong(format!("transaction {} is not in the plan", op.transaction)),
                Some(needed) if *needed != usize::from(op.arguments) => {
                    return wrong(format!("its transaction takes {needed} arguments, it has {}", op.arguments));
                }
                Some(_) => {}
            }
            if client.load == Loop::Open && op.offset_ns < previous_due {
                return wrong("due times of an open loop must not go back".to_string());
            }
            previous_due = op.offset_ns;
        }
        client.arguments.iter().try_for_each(|value| check_text(value, self.texts.len()))
    }
}

/// Checks that an operation can carry all arguments.
pub(super) fn check_transaction(transaction: &Transaction) -> Result<(), String> {
    match transaction.arguments_needed() {
        0..=65_535 => Ok(()),
        needed => Err(format!("`{}` takes {needed} arguments; the maximum is 65535", transaction.name)),
    }
}

/// What steps refer to.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub statements: &'k [Statement],
    pub requests: &'k [Request],
    pub texts: usize,
}

pub(super) fn check_text(value: &Value, texts: usize) -> Result<(), String> {
    match value {
        Value::TextRef(n) if *n as usize >= texts => Err(format!("text {n} is not in the plan")),
        _ => Ok(()),
    }
}

/// A step brings an argument for every placeholder of its statement.
fn check_arguments(step: &SqlStep, statements: &[Statement]) -> Result<(), String> {
    let Some(statement) = statements.get(step.statement as usize) else {
        return Err(format!("statement {} is not in the plan", step.statement));
    };
    let (wanted, found) = (statement.arguments(), step.args.len());
    match wanted == found {
        true => Ok(()),
        false => Err(format!("`{}` has {wanted} placeholders, the step brings {found} arguments", statement.sql)),
    }
}

pub(super) fn check_step(step: &Step, index: usize, t: &Transaction, known: Known<'_>) -> Result<(), String> {
    let slots: Vec<u16> = match step {
        Step::Sql(sql) => {
            check_arguments(sql, known.statements)?;
            sql.keep.iter().map(|keep| keep.slot).collect()
        }
        Step::Http(http) => {
            check_request(http, t, known.requests)?;
            http.keep.iter().map(|keep| keep.slot).collect()
        }
        Step::Connect if index > 0 => return Err("`connect` must be the first step of a transaction".to_string()),
        Step::Connect | Step::Hold { .. } | Step::Pause { .. } => return Ok(()),
    };
    let slot_error = |slot: u16| format!("slot {slot} is beyond the {} of `{}`", t.slots, t.name);
    if let Some(slot) = slots.into_iter().find(|slot| *slot >= t.slots) {
        return Err(slot_error(slot));
    }
    let (args, repeat) = step.sources();
    let last_repetition = repeat as usize - 1;
    for arg in args {
        match arg {
            Source::Literal(value) => check_text(value, known.texts)?,
            Source::Kept { slot, .. } | Source::KeptRow { slot, .. } if *slot >= t.slots => {
                return Err(slot_error(*slot));
            }
            Source::Unique { first, stride }
                if usize::from(*first) + usize::from(*stride) * last_repetition >= usize::from(t.uniques) =>
            {
                return Err(format!("`{}` announces {} unique numbers, this step needs more", t.name, t.uniques));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether what the step refers to is in the plan.
fn check_request(step: &HttpStep, t: &Transaction, requests: &[Request]) -> Result<(), String> {
    let Some(request) = requests.get(step.request as usize) else {
        return Err(format!("request {} is not in the plan", step.request));
    };
    if t.begin.is_some() {
        return Err(format!("`{}` sends requests, so it has no begin", t.name));
    }
    let places = request.places()?;
    if places != step.args.len() {
        return Err(format!("request {} takes {places} values, the step has {}", step.request, step.args.len()));
    }
    Ok(())
}

/// A login is carried out before there are operations: what it sends is written in the plan.
pub(super) fn check_login(login: &Transaction) -> Result<(), String> {
    let name = &login.name;
    let fixed = |source: &Source| matches!(source, Source::Literal(_) | Source::Kept { .. } | Source::KeptRow { .. });
    if login.steps.iter().any(|step| !matches!(step, Step::Http(_) | Step::Pause { .. })) {
        return Err(format!("the login `{name}` may have `http` and `pause` steps only"));
    }
    if !login.steps.iter().flat_map(|step| step.sources().0).all(fixed) {
        return Err(format!("the login `{name}` may use literal and kept values only"));
    }
    Ok(())
}
