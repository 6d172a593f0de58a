//! Events that have been read from the kernel's buffers and cannot be understood yet.

use std::ops::Range;

/// Events in their binary form, in one piece of memory.
#[derive(Default)]
pub struct Late {
    bytes: Vec<u8>,
    /// Time and place of each.
    places: Vec<(u64, Range<usize>)>,
}

impl Late {
    pub fn push(&mut self, at_ns: u64, data: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.places.push((at_ns, from..self.bytes.len()));
    }

    /// Passes the events up to this time to `is_understood`, in order. Returns the later ones, and those that it rejects.
    ///
    /// Buffers are read one after the other: of what happened meanwhile, an earlier event may be in one that had been read
    /// before, such as the birth of the thread whose call was read.
    pub fn understand(mut self, until_ns: u64, mut is_understood: impl FnMut(u64, &[u8]) -> bool) -> Late {
        let mut kept = Late::default();
        self.places.sort_by_key(|(at_ns, _)| *at_ns);
        for (at_ns, place) in self.places {
            let data = &self.bytes[place];
            if at_ns > until_ns || !is_understood(at_ns, data) {
                kept.push(at_ns, data);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_was_not_understood_comes_again_after_an_earlier_one_that_was_read_later() {
        let mut late = Late::default();
        [(20, b"call"), (30, b"next")].into_iter().for_each(|(at_ns, data)| late.push(at_ns, data));
        let mut late = late.understand(25, |_, _| false);
        late.push(10, b"birth");
        let mut seen = vec![];
        let rest = late.understand(u64::MAX, |at_ns, data| {
            seen.push((at_ns, data.to_vec()));
            at_ns < 30
        });
        assert_eq!(seen, [(10, b"birth".to_vec()), (20, b"call".to_vec()), (30, b"next".to_vec())]);
        assert_eq!(rest.places, [(30, 0..4)]);
    }
}
