//! The rounds of two commands: which one runs next, and when there are enough rounds. Pure: the machine is a trait.

use crate::judge::{is_decided, judge};
use crate::saved::{Gate, Round, Side, Took, Why};
use anyhow::Result;
use contend::outcome::mark::{Mark, is_disturbed};
use contend::study::slots;
use contend::trial::stop::Cancelled;
use contend_stats::again::Again;

/// A machine that runs the commands, real or simulated.
pub trait Ground {
    fn now_ns(&self) -> u64;
    /// Waits until the machine is quiet, before a round of about this length; `None` if the length is not known yet.
    ///
    /// # Errors
    /// Its state cannot be read.
    fn settle(&mut self, round_ns: Option<u64>) -> Result<()>;
    /// Runs one command to its end. `place` names the run in errors.
    ///
    /// # Errors
    /// It failed, or [`Cancelled`].
    fn run(&mut self, side: Side, place: &str) -> Result<Took>;
    /// Names of the processes that the last command left running.
    fn left(&mut self) -> Vec<String> {
        vec![]
    }
    /// What disturbed the round since it began.
    fn marks(&mut self) -> Vec<Mark>;
}

/// Carries out the rounds of a gate and calls `tell` after each.
///
/// # Errors
/// A command failed; `gate.ended` is then `Failed`.
pub fn rounds(gate: &mut Gate, ground: &mut dyn Ground, tell: &mut dyn FnMut(&Gate) -> Result<()>) -> Result<()> {
    match carry_out(gate, ground, tell) {
        Err(error) if error.is::<Cancelled>() => {
            gate.ended = Why::Stopped;
            Ok(())
        }
        Err(error) => {
            gate.ended = Why::Failed;
            Err(error)
        }
        Ok(why) => {
            gate.ended = why;
            Ok(())
        }
    }
}

fn carry_out(gate: &mut Gate, ground: &mut dyn Ground, tell: &mut dyn FnMut(&Gate) -> Result<()>) -> Result<Why> {
    let begun_ns = ground.now_ns();
    for _ in 0..gate.warm_up {
        for side in [Side::A, Side::B] {
            ground.run(side, "the warm-up")?;
        }
    }
    let warmed_ns = ground.now_ns();
    // Length of a round: at first that of the warm-up.
    let mut round_ns = (gate.warm_up > 0).then(|| (warmed_ns - begun_ns) / u64::from(gate.warm_up));
    let order = slots(gate.rounds_max, 1, 2, gate.seed);
    let mut again = Again::default();
    let mut number = 0;
    while number < gate.rounds_max {
        let spent_ns = ground.now_ns() - begun_ns;
        if number > 0 && spent_ns + round_ns.unwrap_or(0) > gate.budget_ns {
            return Ok(Why::Budget);
        }
        let first = if order[2 * number as usize].contender == 0 { Side::A } else { Side::B };
        let mut round = round(ground, first, number + 1, round_ns)?;
        round.again = again.is_due(is_disturbed(&round.marks), gate.rounds.len());
        number += u32::from(!round.again);
        gate.rounds.push(round);
        gate.rounds_ns = ground.now_ns() - warmed_ns;
        round_ns = Some(gate.rounds_ns / gate.rounds.len() as u64);
        tell(gate)?;
        // Rounds come in pairs: an order and its reverse.
        if number % 2 == 0 && is_decided(&judge(gate.counting(), gate.by, gate.margin), gate.margin) {
            return Ok(Why::Decided);
        }
    }
    Ok(Why::Rounds)
}

fn round(ground: &mut dyn Ground, first: Side, number: u32, round_ns: Option<u64>) -> Result<Round> {
    ground.settle(round_ns)?;
    let place = format!("round {number}");
    let mut run = |side: Side| Ok::<_, anyhow::Error>((ground.run(side, &place)?, ground.left()));
    let ((a, left_a), (b, left_b)) = match first {
        Side::A => {
            let a = run(Side::A)?;
            (a, run(Side::B)?)
        }
        Side::B => {
            let b = run(Side::B)?;
            (run(Side::A)?, b)
        }
    };
    Ok(Round { first, a, b, left_a, left_b, marks: ground.marks(), again: false })
}
