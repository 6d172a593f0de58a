//! Little's law for one closed-loop client, as an audit of the samples.
//!
//! N = X x R (Little, Operations Research 9, 1961) for a single client says that it is always doing one thing: active
//! window = attempts + back-off + pauses + gap. The gap is the worker's own time between operations. If it is more than
//! 5 % of the window the worker, not the database, set the pace; if it is below -5 %, operations overlap or clocks lie.
//!
//! Where clients crowd the processors the gap is also the time a client waits for one, which falls on the client that was taken
//! off at the wrong moment: then the clients together answer for 5 %, and each alone for more. See `docs/methodology.md`.

use serde::Serialize;

/// How much of the window may be unaccounted for.
pub const MAX_GAP_SHARE: f64 = 0.05;

/// The same of one client of a crowd, whose gaps together are within [`MAX_GAP_SHARE`], and of clients of an open loop.
pub const MAX_GAP_SHARE_LOOSE: f64 = 0.20;

/// What a client of a crowd may wait for a processor when it wakes from a pause: the others keep it until their turn ends, which
/// the kernel looks at in each tick. That is half a tick of the usual 4 ms.
pub const TURN_NS: u64 = 2_000_000;

/// What a client needs to wake from a pause on any machine: the timer's interrupt and the way to a processor, which takes 20 to
/// 60 us in a virtual machine. The response time counts from due, so it has this time.
pub const WAKE_NS: u64 = 100_000;

/// Where one client's time went, summed from its samples and its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTime {
    /// From the pause before the first operation, or the start of the window, to the end of the last pause or attempt.
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

/// The share of all windows that is unaccounted for, whichever way; none without a window.
pub fn share_together(clients: &[ClientTime]) -> Option<f64> {
    let unaccounted_ns: u64 = clients.iter().filter_map(gap).map(|gap| gap.gap_ns.unsigned_abs()).sum();
    let windows_ns: u64 = clients.iter().map(|client| client.window_ns).sum();
    (windows_ns > 0).then(|| unaccounted_ns as f64 / windows_ns as f64)
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

/// Of the clients whose gap is wrong the one with the largest, by its index: the one to name when a trial fails.
pub fn worst(clients: &[ClientTime], is_wrong: impl Fn(&Gap) -> bool) -> Option<(usize, Gap)> {
    let gaps = clients.iter().enumerate().filter_map(|(index, time)| Some((index, gap(time)?)));
    let gaps = gaps.filter(|(_, gap)| is_wrong(gap));
    gaps.max_by(|(_, a), (_, b)| a.gap_share.abs().total_cmp(&b.gap_share.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: ClientTime = ClientTime { window_ns: 1000, attempts_ns: 700, back_off_ns: 100, pauses_ns: 160 };

    #[test]
    fn what_is_left_of_a_window_is_the_gap() {
        let with_attempts = |attempts_ns| gap(&ClientTime { attempts_ns, ..SOUND }).unwrap();
        assert_eq!(with_attempts(700), Gap { gap_ns: 40, gap_share: 0.04 });
        assert_eq!(with_attempts(791), Gap { gap_ns: -51, gap_share: -0.051 });
    }

    #[test]
    fn the_worst_client_is_named() {
        let overlapping = ClientTime { attempts_ns: 1500, ..SOUND };
        let idle = ClientTime { attempts_ns: 500, ..SOUND };
        let clients = [SOUND, idle, overlapping, SOUND];
        let (index, gap) = worst(&clients, |_| true).unwrap();
        assert_eq!((index, gap.gap_ns), (2, -760));
        assert_eq!(worst(&clients, |gap| gap.gap_share > 0.05).unwrap().0, 1, "whose gap is not wrong is not named");
    }

    #[test]
    fn time_counted_twice_does_not_make_up_for_time_lost() {
        let lost = ClientTime { attempts_ns: 590, ..SOUND };
        let twice = ClientTime { attempts_ns: 890, ..SOUND };
        assert_eq!(share_together(&[lost, twice]), Some(0.15));
        assert_eq!(share_together(&[]), None);
    }

    #[test]
    fn an_empty_window_has_no_gap() {
        assert_eq!(gap(&ClientTime { window_ns: 0, ..SOUND }), None);
        assert_eq!(worst(&[], |_| true), None);
    }
}
