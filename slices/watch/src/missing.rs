//! What could not be traced. Equal reasons are one sentence: a program may be started thousands of times.

/// Most sentences.
const REASONS_MAX: usize = 100;

/// Reasons, in the order in which they were found.
#[derive(Default)]
pub struct Missing {
    reasons: Vec<Reason>,
    /// Number of reasons beyond the limit.
    left_out: u64,
}

struct Reason {
    /// What is missing, and the process if there is one.
    what: String,
    pid: Option<u32>,
    why: String,
    /// Number of other processes with the same reason.
    more: u64,
}

impl Missing {
    /// Adds a reason, such as `statements of sh`, process 4711, `no function of SQLite has a name in its program`.
    pub fn add(&mut self, what: String, pid: Option<u32>, why: String) {
        if let Some(known) = self.reasons.iter_mut().find(|known| known.what == what && known.why == why) {
            known.more += u64::from(pid.is_some());
        } else if self.reasons.len() < REASONS_MAX {
            self.reasons.push(Reason { what, pid, why, more: 0 });
        } else {
            self.left_out += 1;
        }
    }

    /// A sentence for each reason.
    pub fn sentences(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| format!("{} further parts", self.left_out));
        self.reasons.iter().map(Reason::sentence).chain(left_out).collect()
    }
}

impl Reason {
    fn sentence(&self) -> String {
        let Reason { what, why, .. } = self;
        let pid = self.pid.map_or(String::new(), |pid| format!(" ({pid})"));
        let more = if self.more == 0 { String::new() } else { format!(" and {} more", self.more) };
        format!("{what}{pid}{more}: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_are_counted_in_one_sentence() {
        let mut missing = Missing::default();
        for pid in 1..=313 {
            missing.add("statements of sh".to_string(), Some(pid), "it had ended".to_string());
        }
        missing.add("syncs".to_string(), None, "no event".to_string());
        assert_eq!(missing.sentences(), ["statements of sh (1) and 312 more: it had ended", "syncs: no event"]);
        for n in 0..200 {
            missing.add(format!("statements of {n}"), Some(n), String::new());
        }
        let sentences = missing.sentences();
        assert_eq!((sentences.len(), sentences[100].as_str()), (101, "102 further parts"));
    }
}
