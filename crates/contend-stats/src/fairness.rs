//! How evenly a contender served its clients.
//!
//! Jain's index (Jain, Chiu & Hawe, DEC TR-301, 1984): (sum x)^2 / (n x sum x^2), 1 when all clients committed the
//! same, 1/n when one client got everything. It hides a single starved client among many, so starved clients are counted, too.

use serde::Serialize;

/// How committed operations were spread over clients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fairness {
    pub jain_index: f64,
    /// Best served over worst served; `None` if a client got nothing.
    pub max_over_min: Option<f64>,
    /// Clients without a single commit.
    pub starved: usize,
}

/// Fairness from the commits of each client; `None` without any commit.
pub fn fairness(committed: &[u64]) -> Option<Fairness> {
    let (max, min) = (*committed.iter().max()? as f64, *committed.iter().min()? as f64);
    let counts = || committed.iter().map(|&count| count as f64);
    let (sum, squares) = (counts().sum::<f64>(), counts().map(|count| count * count).sum::<f64>());
    (sum > 0.0).then(|| Fairness {
        jain_index: sum * sum / (committed.len() as f64 * squares),
        max_over_min: (min > 0.0).then(|| max / min),
        starved: committed.iter().filter(|&&count| count == 0).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_one() {
        let equal = fairness(&[70; 16]).unwrap();
        assert_eq!((equal.jain_index, equal.max_over_min, equal.starved), (1.0, Some(1.0), 0));
    }

    #[test]
    fn one_client_that_takes_all_is_one_nth() {
        let taken = fairness(&[0, 0, 0, 9]).unwrap();
        assert_eq!((taken.jain_index, taken.max_over_min, taken.starved), (0.25, None, 3));
    }

    #[test]
    fn the_index_alone_hides_a_starved_client() {
        let mut counts = [1000; 50];
        counts[17] = 0;
        let unfair = fairness(&counts).unwrap();
        assert!(unfair.jain_index > 0.97);
        assert_eq!(unfair.starved, 1);
    }

    #[test]
    fn nothing_committed_is_not_fair_but_unknown() {
        assert_eq!(fairness(&[]), None);
        assert_eq!(fairness(&[0, 0]), None);
    }
}
