//! The kinds of transactions: the same statements, about equally often. And parts of a kind that a mean would hide.

use crate::loops::joined;
use crate::program::{Group, Shapes, Transaction, same_statements, sequence};
use crate::trace::Trace;
use std::cmp::Reverse;

/// Pauses that are this many times the median, and at least this long, are long; and how many there must be.
const LONG_TIMES: u64 = 10;
const LONG_NS_MIN: u64 = 20_000_000;
const LONG_MIN: usize = 3;
/// Within a part, a statement is executed at most this many times as often in one transaction as in another.
const LENGTHS: u64 = 4;
/// Most parts of a kind; the last ones can be wider.
const PARTS: usize = 8;

/// A transaction of a kind, and how many times it executes each statement.
struct Length {
    at: usize,
    times: Vec<u64>,
}

/// All operations by kind, most frequent first. Loops of very different lengths are different kinds.
pub fn groups(found: &[Transaction], trace: &Trace, shapes: &Shapes) -> Vec<Group> {
    let all = joined(same_statements(found, trace, shapes), found, (trace, shapes));
    let mut groups: Vec<Group> = all.into_iter().flat_map(|group| by_length(group, found, (trace, shapes))).collect();
    groups.sort_by_key(|group| Reverse(group.transactions.len()));
    groups
}

/// A kind as parts with loops of similar lengths. Transactions that failed do not show their length: each part gets its share of
/// them, if its loops can be as long as they were by then.
fn by_length(group: Group, found: &[Transaction], (trace, shapes): (&Trace, &Shapes)) -> Vec<Group> {
    if group.steps.iter().all(|step| step.most <= LENGTHS.saturating_mul(step.least)) {
        return vec![group];
    }
    let length = |&at: &usize| {
        let times = group.times(&sequence(&found[at], trace, shapes).0);
        Length { at, times }
    };
    let all = group.transactions.iter().map(length);
    let (succeeded, failed): (Vec<Length>, Vec<Length>) = all.partition(|one| found[one.at].has_succeeded());
    if succeeded.is_empty() {
        return vec![group];
    }
    let parts = parts(succeeded);
    let mut of: Vec<Vec<usize>> = parts.iter().map(|part| part.iter().map(|one| one.at).collect()).collect();
    let most_of = |part: &Vec<Length>| {
        let most = |step: usize| part.iter().map(|one| one.times[step]).max();
        (0..group.steps.len()).map(most).collect::<Vec<_>>()
    };
    let most: Vec<Vec<Option<u64>>> = parts.iter().map(most_of).collect();
    for one in failed {
        let can_be = |at: usize| one.times.iter().zip(&most[at]).all(|(times, most)| *most >= Some(*times));
        // The part with the fewest failures for its size.
        let failures = |at: usize| (of[at].len() + 1 - parts[at].len()) as f64 / parts[at].len() as f64;
        let (fit, others): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(|&at| can_be(at));
        let among = if fit.is_empty() { others } else { fit };
        let least = among.into_iter().min_by(|one, other| failures(*one).total_cmp(&failures(*other)));
        least.into_iter().for_each(|at| of[at].push(one.at));
    }
    let part = |mut transactions: Vec<usize>| {
        transactions.sort_unstable();
        let mut part = group.part(transactions, found, (trace, shapes));
        part.is_part = true;
        part
    };
    of.into_iter().map(part).collect()
}

/// Divides the widest part in the middle, until none is too wide.
fn parts(all: Vec<Length>) -> Vec<Vec<Length>> {
    let mut parts = vec![all];
    while parts.len() < PARTS {
        let widest = parts.iter().enumerate().filter_map(|(at, part)| Some((at, widest(part)?)));
        let Some((at, (step, [least, most]))) =
            widest.max_by(|(_, one), (_, other)| width(one.1).total_cmp(&width(other.1)))
        else {
            break;
        };
        let middle = (least as f64 * most as f64).sqrt();
        let (short, long) = parts.swap_remove(at).into_iter().partition(|one| one.times[step] as f64 <= middle);
        parts.extend([short, long]);
    }
    parts
}

/// The statement whose executions differ most, if that is too much, with the fewest and the most of them.
fn widest(part: &[Length]) -> Option<(usize, [u64; 2])> {
    let steps = part.first()?.times.len();
    let ends = |step: usize| {
        let all = || part.iter().map(|one| one.times[step]);
        Some((step, [all().min()?, all().max()?]))
    };
    let is_wide = |(_, [least, most]): &(usize, [u64; 2])| *most > LENGTHS.saturating_mul(*least);
    let wide = (0..steps).filter_map(ends).filter(is_wide);
    wide.max_by(|(_, one), (_, other)| width(*one).total_cmp(&width(*other)))
}

fn width([least, most]: [u64; 2]) -> f64 {
    most as f64 / least as f64
}

/// A kind without and with long pauses, if the long ones make most of the time in the program; else `None`. Long are rare ones of
/// many times the median, or those of at least the busy timeout. A mean of both would hide the step that keeps others waiting.
pub fn by_pause(
    group: &Group,
    found: &[Transaction],
    (trace, shapes): (&Trace, &Shapes),
    busy_timeout_ns: u64,
) -> Option<(Group, Group)> {
    let mut pauses: Vec<u64> =
        group.transactions.iter().map(|&i| &found[i]).filter(|t| t.has_succeeded()).map(|t| t.open_ns).collect();
    pauses.sort_unstable();
    let most = |from_ns: u64, least: usize| {
        let (short, long) = pauses.split_at(pauses.partition_point(|pause| *pause < from_ns));
        let is_most = !short.is_empty() && long.iter().sum::<u64>() > short.iter().sum();
        (long.len() >= least && is_most && from_ns >= LONG_NS_MIN).then_some(from_ns)
    };
    let rare_from_ns = LONG_TIMES * (*pauses.get(pauses.len() / 2)?).max(LONG_NS_MIN / LONG_TIMES);
    let long_from_ns = most(rare_from_ns, LONG_MIN).or_else(|| most(busy_timeout_ns, 1))?;
    let (long, short) = group.transactions.iter().partition(|&&i| found[i].open_ns >= long_from_ns);
    let of = |transactions: Vec<usize>| group.part(transactions, found, (trace, shapes));
    Some((of(short), of(long)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of each part, shortest first.
    fn parted(lengths: &[&[u64]]) -> Vec<Vec<Vec<u64>>> {
        let all = lengths.iter().enumerate().map(|(at, times)| Length { at, times: times.to_vec() });
        let mut parts: Vec<Vec<Vec<u64>>> =
            parts(all.collect()).into_iter().map(|part| part.into_iter().map(|one| one.times).collect()).collect();
        parts.sort();
        parts
    }

    #[test]
    fn loops_of_very_different_lengths_are_parts() {
        assert_eq!(parted(&[&[1], &[3000], &[1], &[2900]]), [vec![vec![1], vec![1]], vec![vec![3000], vec![2900]]]);
        assert_eq!(parted(&[&[1, 15], &[1, 17], &[2, 60]]).len(), 1, "about equal");
        let both: [&[u64]; 4] = [&[1, 100], &[100, 1], &[100, 1], &[1, 100]];
        assert_eq!(parted(&both), [vec![vec![1, 100]; 2], vec![vec![100, 1]; 2]], "each statement has its length");
    }

    #[test]
    fn loops_of_all_lengths_are_a_few_parts() {
        let all: Vec<[u64; 1]> = (1..=1_000).map(|length| [length]).collect();
        let all: Vec<&[u64]> = all.iter().map(|length| &length[..]).collect();
        let parts = parted(&all);
        assert_eq!((parts.len(), parts.concat().len()), (PARTS, 1_000));
        let widest = parts.iter().map(|part| part[part.len() - 1][0] as f64 / part[0][0] as f64).fold(0.0, f64::max);
        assert!(widest <= LENGTHS as f64, "{widest}");
    }
}
