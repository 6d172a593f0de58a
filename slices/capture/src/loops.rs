//! Kinds of transactions that differ in the rounds of a loop over several statements only: one that reads and changes a row for
//! each item of an order has as many statements as there are items. They are one kind.

use crate::program::{Began, Executed, Group, Shapes, Transaction, sequence};
use crate::trace::Trace;
use crate::turns::{Folded, Loop, fold};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Loops have at least this many different numbers of rounds.
const NUMBERS: usize = 3;
/// Transactions with fewer rounds stay kinds of their own: of the same statements once and twice a program can have two kinds of
/// transactions, and a mean of once and twice would be far from both.
const ROUNDS_MIN: u64 = 3;

/// Kinds that may be one.
struct Family {
    loops: Vec<Loop>,
    /// Indexes of the groups.
    members: Vec<usize>,
    /// The loops of each with their rounds.
    numbers: BTreeSet<Vec<(Loop, u64)>>,
}

impl Family {
    fn takes(&self, loops: &[(Loop, u64)]) -> bool {
        loops.iter().all(|(one, _)| self.loops.iter().all(|other| one.goes_with(*other)))
    }

    fn add(&mut self, member: usize, loops: Vec<(Loop, u64)>) {
        self.loops.extend(loops.iter().map(|(of, _)| of));
        self.loops.sort_unstable();
        self.loops.dedup();
        self.members.push(member);
        self.numbers.insert(loops);
    }
}

/// The groups, those whose loops differ in their numbers of rounds as one.
pub fn joined(groups: Vec<Group>, found: &[Transaction], (trace, shapes): (&Trace, &Shapes)) -> Vec<Group> {
    let has_succeeded = |group: &Group| group.transactions.iter().any(|&i| found[i].has_succeeded());
    let mut folded: Vec<(usize, Folded)> = groups.iter().map(|group| fold(&group.shapes())).enumerate().collect();
    let goes_round = |folded: &Folded| folded.loops.iter().any(|(_, rounds)| *rounds >= ROUNDS_MIN);
    folded.retain(|(at, folded)| goes_round(folded) && has_succeeded(&groups[*at]));
    // What one round alone does not show, those with several do.
    folded.sort_by_key(|(_, folded)| Reverse(folded.loops.len()));
    let mut families: BTreeMap<(Began, Vec<usize>), Vec<Family>> = BTreeMap::new();
    for (at, Folded { steps, loops }) in folded {
        let of = families.entry((groups[at].began, steps)).or_default();
        let known = of.iter().position(|family| family.takes(&loops)).unwrap_or_else(|| {
            of.push(Family { loops: vec![], members: vec![], numbers: BTreeSet::new() });
            of.len() - 1
        });
        of[known].add(at, loops);
    }
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    for ((began, steps), of) in families {
        for family in of.into_iter().filter(|family| family.numbers.len() >= NUMBERS) {
            let members: Vec<Group> = family.members.iter().filter_map(|&at| groups[at].take()).collect();
            let mut all = Group::new(began, &steps, family.loops);
            all.writes = members.iter().any(|member| member.writes);
            let mut transactions: Vec<usize> = members.into_iter().flat_map(|member| member.transactions).collect();
            transactions.sort_unstable();
            groups[family.members[0]] = Some(all.part(transactions, found, (trace, shapes)));
        }
    }
    groups.into_iter().flatten().collect()
}

/// Statements of a transaction that are carried out in turn. Their executions are those of all rounds.
#[derive(Debug, Clone, Serialize)]
pub struct Turns {
    /// Index of the first one, and their number.
    pub first: usize,
    pub statements: usize,
    /// Rounds: the mean number to a tenth, the fewest, the most.
    pub mean: f64,
    pub least: u64,
    pub most: u64,
}

/// The loops of a group.
pub fn turns(group: &Group, found: &[Transaction], (trace, shapes): (&Trace, &Shapes)) -> Vec<Turns> {
    if group.loops.is_empty() {
        return vec![];
    }
    let all = group.transactions.iter().map(|&i| &found[i]).filter(|one| one.has_succeeded());
    let rounds: Vec<Vec<u64>> = all.map(|one| group.rounds_of(&sequence(one, trace, shapes).0)).collect();
    let turns = |(at, of): (usize, &Loop)| Turns {
        first: of.first,
        statements: of.steps,
        mean: (group.rounds(of) * 10.0).round() / 10.0,
        least: rounds.iter().map(|rounds| rounds[at]).min().unwrap_or(0),
        most: rounds.iter().map(|rounds| rounds[at]).max().unwrap_or(0),
    };
    group.loops.iter().enumerate().map(turns).collect()
}

/// A group as one without loops, and what its transactions executed: as many rounds as the transaction had that is nearest to the
/// mean. Transactions with fewer are left out, and later rounds too.
pub fn unrolled(
    group: &Group,
    found: &[Transaction],
    (trace, shapes): (&Trace, &Shapes),
) -> (Group, Vec<Vec<Executed>>) {
    let mut all: Vec<&Transaction> = group.transactions.iter().map(|&i| &found[i]).collect();
    // Transactions that a lock cut short lack arguments.
    if all.iter().any(|transaction| transaction.has_succeeded()) {
        all.retain(|transaction| transaction.has_succeeded());
    }
    let mut all: Vec<(Vec<Executed>, u64)> = all.into_iter().map(|of| sequence(of, trace, shapes)).collect();
    if group.loops.is_empty() {
        return (group.clone(), all.into_iter().map(|(steps, _)| steps).collect());
    }
    let means: Vec<f64> = group.loops.iter().map(|of| group.rounds(of)).collect();
    let distance =
        |rounds: &Vec<u64>| rounds.iter().zip(&means).map(|(n, mean)| (*n as f64 / mean - 1.0).abs()).sum::<f64>();
    let rounds = all.iter().map(|(steps, _)| group.rounds_of(steps));
    let rounds = rounds.min_by(|one, other| distance(one).total_cmp(&distance(other))).unwrap_or_default();
    all.retain(|(steps, _)| group.rounds_of(steps).iter().zip(&rounds).all(|(n, least)| n >= least));
    for (steps, _) in &mut all {
        let places = group.places(steps);
        let mut kept = places.iter().map(|(step, round)| {
            let of = group.loops.iter().position(|of| of.contains(*step));
            of.is_none_or(|of| *round < rounds[of])
        });
        steps.retain(|_| kept.next().unwrap_or(false));
    }
    let flat: Vec<usize> =
        all.first().map(|(steps, _)| steps.iter().map(|step| step.shape).collect()).unwrap_or_default();
    let mut unrolled = Group::new(group.began, &flat, vec![]);
    all.iter().for_each(|(steps, end_ns)| unrolled.count(steps, *end_ns));
    (unrolled, all.into_iter().map(|(steps, _)| steps).collect())
}
