//! A table's digest, independent of the order of its rows: row hashes are added up in buckets. Two databases with
//! different sort orders can be compared in little memory, and differing buckets show which rows to read again.

use contend_worker::argument::Argument;
use sha2::{Digest as _, Sha256};

/// Buckets of a table.
const BUCKETS: usize = 4096;

/// A row's hash.
pub type RowHash = u128;

/// The digest of a table.
#[derive(Clone, PartialEq, Eq)]
pub struct Digest {
    pub rows: u64,
    /// Number and sum of the hashes in each bucket.
    buckets: Vec<(u64, u128)>,
}

/// The hash of a row: kinds, lengths and bytes of its values.
pub fn row_hash(values: &[Argument<'_>]) -> RowHash {
    let mut hash = Sha256::new();
    for value in values {
        match value {
            Argument::Null => hash.update([0]),
            Argument::Integer(i) => {
                hash.update([1]);
                hash.update(i.to_le_bytes());
            }
            Argument::Real(r) => {
                hash.update([2]);
                // A REAL column of SQLite has only one zero: the negative one is stored as an integer.
                hash.update((if *r == 0.0 { 0.0 } else { *r }).to_bits().to_le_bytes());
            }
            Argument::Text(bytes) => update_bytes(&mut hash, 3, bytes),
            Argument::Blob(bytes) => update_bytes(&mut hash, 4, bytes),
        }
    }
    let all = hash.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&all[..16]);
    u128::from_le_bytes(first)
}

fn update_bytes(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// The bucket of a row.
pub fn bucket(hash: RowHash) -> usize {
    (hash % BUCKETS as u128) as usize
}

impl Default for Digest {
    fn default() -> Self {
        Self { rows: 0, buckets: vec![(0, 0); BUCKETS] }
    }
}

impl Digest {
    pub fn take(&mut self, hash: RowHash) {
        self.rows += 1;
        let (count, sum) = &mut self.buckets[bucket(hash)];
        (*count, *sum) = (*count + 1, sum.wrapping_add(hash));
    }

    /// 16 hexadecimal digits, for people.
    pub fn word(&self) -> String {
        let mut hash = Sha256::new();
        for (count, sum) in &self.buckets {
            hash.update(count.to_le_bytes());
            hash.update(sum.to_le_bytes());
        }
        hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// For each bucket, whether to read its rows again: it differs from the other digest's bucket, and earlier
    /// differing ones have fewer than `most` rows. Also, whether those are all buckets that differ.
    pub fn differing(&self, other: &Digest, most: u64) -> (Vec<bool>, bool) {
        let (mut again, mut is_all, mut rows) = (vec![false; BUCKETS], true, 0);
        for (at, (one, two)) in self.buckets.iter().zip(&other.buckets).enumerate() {
            if one == two {
                continue;
            }
            if rows > most {
                is_all = false;
            } else {
                again[at] = true;
                rows += one.0 + two.0;
            }
        }
        (again, is_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[Argument<'_>]]) -> Digest {
        let mut digest = Digest::default();
        rows.iter().for_each(|row| digest.take(row_hash(row)));
        digest
    }

    #[test]
    fn the_order_of_rows_does_not_matter_and_their_values_do() {
        let (one, two): (&[_], &[_]) = (&[Argument::Integer(1), Argument::Text(b"a")], &[Argument::Null]);
        assert!(of(&[one, two]) == of(&[two, one]));
        assert!(of(&[one, two]) != of(&[one, two, two]));
        for other in [
            [Argument::Integer(1), Argument::Blob(b"a")],
            [Argument::Real(1.0), Argument::Text(b"a")],
            [Argument::Text(b"1"), Argument::Text(b"a")],
        ] {
            assert!(of(&[one]) != of(&[&other]), "{other:?}");
            assert_ne!(of(&[one]).word(), of(&[&other]).word());
        }
        assert!(
            of(&[&[Argument::Text(b"ab"), Argument::Text(b"")]])
                != of(&[&[Argument::Text(b"a"), Argument::Text(b"b")]])
        );
    }

    #[test]
    fn buckets_that_differ_are_those_of_the_rows_that_do() {
        let rows: Vec<[Argument<'_>; 1]> = (0..1000).map(|i| [Argument::Integer(i)]).collect();
        let (mut source, mut server) = (Digest::default(), Digest::default());
        for row in &rows {
            source.take(row_hash(row));
            if row[0] != Argument::Integer(500) {
                server.take(row_hash(row));
            }
        }
        let (again, is_all) = source.differing(&server, 10);
        let wanted = bucket(row_hash(&rows[500]));
        assert!(is_all && again.iter().enumerate().all(|(at, again)| *again == (at == wanted)));
    }
}
