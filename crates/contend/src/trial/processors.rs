//! How many processors a trial may use: the axis `processors`.

use crate::load::PROCESSORS;
use crate::study::model::Condition;
use crate::trial::standing;
use anyhow::{Context, Result, ensure};
use rustix::thread::CpuSet;

/// Number of processors that contend uses, and number that it could request.
///
/// # Errors
/// The system does not report them.
pub fn processors() -> Result<(usize, usize)> {
    let used = standing::processors()?;
    let all = Restricted::to(usize::MAX)?;
    let possible = standing::processors()?;
    drop(all);
    Ok((used.count() as usize, possible.count() as usize))
}

/// Checks that each condition's number of processors is available.
///
/// # Errors
/// The condition that asks for too many.
pub fn check(conditions: &[Condition]) -> Result<()> {
    let most = conditions.iter().filter_map(|condition| Some((of(condition)?, condition)));
    let Some((wanted, condition)) = most.max_by_key(|(wanted, _)| *wanted) else { return Ok(()) };
    let (_, possible) = processors()?;
    let label = &condition.label;
    ensure!(wanted <= possible, "condition `{label}`: contend can use at most {possible} processors here");
    Ok(())
}

/// Limits this thread, and the processes that it starts, to a condition's number of processors; `None` if it names none.
///
/// # Errors
/// The system refuses.
pub fn restrict(condition: &Condition) -> Result<Option<Restricted>> {
    of(condition).map(Restricted::to).transpose()
}

fn of(condition: &Condition) -> Option<usize> {
    condition.axes.get(PROCESSORS)?.parse().ok()
}

/// A limit on the number of processors of this thread, and of all processes that it starts, until the value is dropped.
pub struct Restricted(CpuSet);

impl Restricted {
    fn to(processors: usize) -> Result<Self> {
        let before = standing::processors()?;
        // Processors in use come first; the kernel ignores those that are absent or not allowed.
        let (own, others): (Vec<_>, Vec<_>) = (0..CpuSet::MAX_CPU).partition(|cpu| before.is_set(*cpu));
        let mut wanted = CpuSet::new();
        own.into_iter().chain(others).take(processors).for_each(|cpu| wanted.set(cpu));
        standing::limit_to(&wanted).with_context(|| format!("cannot run on {processors} processors"))?;
        Ok(Self(before))
    }
}

impl Drop for Restricted {
    fn drop(&mut self) {
        let _ = standing::limit_to(&self.0);
    }
}
