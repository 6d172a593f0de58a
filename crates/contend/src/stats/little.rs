//! Little's law for one closed-loop client, as an audit of the samples.
//!
//! N = X x R (Little, Operations Research 9, 1961) for a single client says that it is always doing one thing: active
//! window = attempts + back-off + pauses + gap. The gap is the worker's own time between operations. If it is more than
//! 5 % of the window the worker, not the database, set the pace; if it is below -5 %, operations overlap or clocks lie.

use serde::Serialize;

/// How much of the window may be unaccounted for.
pub const MAX_GAP_SHARE: f64 = 0.05;

/// Where one client's time went, summed from its samples and its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTime {
    /// From the first due operation to the end of the last attempt.
    pub window_ns: u64,
    pub attempts_ns: u64,
    pub back_off_ns: u64,
    pub pauses_ns: u64,
}

/// What is left of a client's window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gap {
    /// Below zero when the parts add up to more than the window.
    pub gap_ns: i64,
    pub gap_share: f64,
}

impl Gap {
    pub fn is_acceptable(&self) -> bool {
        self.gap_share.abs() <= MAX_GAP_SHARE
    }
}

/// The gap of one client; none for an empty window.
pub fn gap(time: &ClientTime) -> Option<Gap> {
    let accounted_ns = [time.attempts_ns, time.back_off_ns, time.pauses_ns].map(i128::from).iter().sum::<i128>();
    let gap_ns = i128::from(time.window_ns) - accounted_ns;
    (time.window_ns > 0).then(|| Gap {
        // 64 bits hold 292 years; stored formats know no more.
        gap_ns: gap_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
        gap_share: gap_ns as f64 / time.window_ns as f64,
    })
}

/// The client whose gap is furthest from none, by its index: the one to name when a trial fails.
pub fn worst(clients: &[ClientTime]) -> Option<(usize, Gap)> {
    let gaps = clients.iter().enumerate().filter_map(|(index, time)| Some((index, gap(time)?)));
    gaps.max_by(|(_, a), (_, b)| a.gap_share.abs().total_cmp(&b.gap_share.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: ClientTime = ClientTime { window_ns: 1000, attempts_ns: 700, back_off_ns: 100, pauses_ns: 160 };

    #[test]
    fn five_percent_are_allowed_either_way() {
        let with_attempts = |attempts_ns| gap(&ClientTime { attempts_ns, ..SOUND }).unwrap();
        assert_eq!(with_attempts(700), Gap { gap_ns: 40, gap_share: 0.04 });
        assert!(with_attempts(690).is_acceptable() && !with_attempts(689).is_acceptable());
        assert!(with_attempts(790).is_acceptable() && !with_attempts(791).is_acceptable());
    }

    #[test]
    fn the_worst_client_is_named() {
        let overlapping = ClientTime { attempts_ns: 1500, ..SOUND };
        let idle = ClientTime { attempts_ns: 500, ..SOUND };
        let (index, gap) = worst(&[SOUND, idle, overlapping, SOUND]).unwrap();
        assert_eq!((index, gap.gap_ns), (2, -760));
    }

    #[test]
    fn an_empty_window_has_no_gap() {
        assert_eq!(gap(&ClientTime { window_ns: 0, ..SOUND }), None);
        assert_eq!(worst(&[]), None);
    }
}
