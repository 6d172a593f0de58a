//! Whether the parameters of a law agree with measurements of the system. A curve can fit for other reasons than its
//! law's; then its parameters (a flush time, for example) need not match the measured ones.

use crate::law::Law;
use serde::Serialize;

/// Largest factor between a parameter and its measurement.
pub const FACTOR: f64 = 2.0;

/// Measurements of a system other than its throughput, per operation in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// One sync of the disk, for a contender that waits for one at each commit.
    pub sync_s: Option<f64>,
    /// Share of the operations that write, and so wait for a sync.
    pub writes: f64,
    /// CPU time with one client.
    pub cpu_alone_s: Option<f64>,
    /// Time for which the one writer is held, with one client.
    pub held_s: Option<f64>,
}

/// A parameter, and a direct measurement of the same quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Check {
    pub parameter: &'static str,
    pub fitted_s: f64,
    pub against: &'static str,
    pub measured_s: f64,
    /// Whether they differ by at most [`FACTOR`].
    pub agrees: bool,
}

/// The checks for a law; USL has no parameter that can be measured.
pub fn checks(law: Law, of: &[f64], measured: &Measured) -> Vec<Check> {
    let alone = (0, "the CPU time of an operation with one client", measured.cpu_alone_s);
    let against = match law {
        Law::OneWriter => {
            vec![alone, (1, "the time a write holds the lock, times the share of writes", measured.held_s)]
        }
        Law::GroupCommit => {
            let syncs_s = measured.sync_s.map(|sync_s| sync_s * measured.writes);
            vec![alone, (1, "a sync of the disk, times the share of writes", syncs_s)]
        }
        Law::Processors { .. } | Law::OverProcessors { .. } | Law::Amdahl | Law::Usl | Law::OpenQueue => vec![],
    };
    let check = |(at, against, measured_s): (usize, &'static str, Option<f64>)| {
        let (fitted_s, measured_s) = (of[at], measured_s?);
        let agrees = fitted_s.max(measured_s) <= FACTOR * fitted_s.min(measured_s);
        Some(Check { parameter: law.parameters()[at], fitted_s, against, measured_s, agrees })
    };
    against.into_iter().filter_map(check).collect()
}

/// The parameters that the law would have if nothing waited for the disk: the prediction for an intervention that can
/// be carried out.
pub fn without_syncs(law: Law, of: &[f64], measured: &Measured) -> Option<Vec<f64>> {
    let sync_s = measured.sync_s?;
    match law {
        Law::OneWriter => {
            let service_s = of[1] - sync_s * measured.writes;
            (service_s > 0.0).then(|| vec![of[0], service_s])
        }
        Law::GroupCommit => Some(vec![of[0], 0.0, of[2]]),
        Law::Processors { .. } | Law::OverProcessors { .. } | Law::Amdahl | Law::Usl | Law::OpenQueue => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: Measured =
        Measured { sync_s: Some(1e-3), writes: 0.5, cpu_alone_s: Some(0.3e-3), held_s: Some(0.8e-3) };

    #[test]
    fn parameters_are_compared_with_what_was_measured() {
        let agree = |law: Law, of: &[f64]| -> Vec<bool> {
            checks(law, of, &MEASURED).iter().map(|check| check.agrees).collect()
        };
        assert_eq!(agree(Law::OneWriter, &[0.5e-3, 1.5e-3]), [true, true]);
        assert_eq!(agree(Law::OneWriter, &[0.7e-3, 0.3e-3]), [false, false]);
        assert_eq!(agree(Law::GroupCommit, &[0.2e-3, 1.1e-3, 0.1e-3]), [true, false]);
        assert_eq!(agree(Law::Usl, &[1.0, 0.1, 0.1]), [false; 0]);
        let unknown = Measured { sync_s: None, ..MEASURED };
        assert_eq!(checks(Law::GroupCommit, &[0.2e-3, 1e-3, 0.1e-3], &unknown).len(), 1);
    }

    #[test]
    fn without_syncs_the_writer_keeps_what_is_not_sync() {
        let one = without_syncs(Law::OneWriter, &[0.2e-3, 0.7e-3], &MEASURED).unwrap();
        assert!((one[1] - 0.2e-3).abs() < 1e-12);
        assert_eq!(without_syncs(Law::OneWriter, &[0.2e-3, 0.4e-3], &MEASURED), None, "shorter than its syncs");
        assert_eq!(without_syncs(Law::GroupCommit, &[1.0, 2.0, 3.0], &MEASURED), Some(vec![1.0, 0.0, 3.0]));
        assert_eq!(without_syncs(Law::Usl, &[1.0, 2.0, 3.0], &MEASURED), None);
    }
}
