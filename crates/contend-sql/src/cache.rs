//! Caches of translations, keyed by the statement's text: one per thread, and [`shared`] ones for comparison. A cache
//! belongs to one catalogue and one set of options; if these change, a new one is needed.
//!
//! All use the same table: sets of four slots, found by a hash of the whole text and confirmed by comparing the text.
//! The thread's cache first looks up the text's address, and computes no hash if the text is requested from the same
//! address again. A table never grows: in a full set the slots are replaced in turn.

pub mod shared;

/// Slots per set: their four hashes are half a cache line.
const WAYS: usize = 4;
/// Two words for each block of 16 bytes, used cyclically: the fraction of pi.
const SECRET: [u64; 16] = [
    0x243F_6A88_85A3_08D3,
    0x1319_8A2E_0370_7344,
    0xA409_3822_299F_31D0,
    0x082E_FA98_EC4E_6C89,
    0x4528_21E6_38D0_1377,
    0xBE54_66CF_34E9_0C6C,
    0xC0AC_29B7_C97C_50DD,
    0x3F84_D5B5_B547_0917,
    0x9216_D5D9_8979_FB1B,
    0xD131_0BA6_98DF_B5AC,
    0x2FFD_72DB_D01A_DFB7,
    0xB8E1_AFED_6A26_7E96,
    0xBA7C_9045_F12C_7F99,
    0x24A1_9947_B391_6CF7,
    0x0801_F2E2_858E_FC16,
    0x6369_20D8_7157_4E69,
];

/// Both halves of the 128-bit product, folded onto each other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The bytes of a text of less than 16, as two words.
#[inline]
fn short(bytes: &[u8]) -> (u64, u64) {
    let half = |bytes: &[u8]| bytes.try_into().map_or(0, |b| u64::from(u32::from_le_bytes(b)));
    match bytes.len() {
        8.. => (word(&bytes[..8]), word(&bytes[bytes.len() - 8..])),
        4.. => (half(&bytes[..4]), half(&bytes[bytes.len() - 4..])),
        _ => (bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0),
    }
}

/// A hash of the text; never 0, which marks an empty slot. It does not resist deliberate collisions, which only cost
/// a translation each.
///
/// Every block of 16 bytes is multiplied by itself, so that no multiplication waits for the one before it, as in XXH3;
/// the last block reaches back into the one before, so that nothing is padded.
#[inline]
fn hash(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut all = SECRET[0] ^ (bytes.len() as u64).wrapping_mul(SECRET[1]);
    let Some(last) = bytes.last_chunk::<16>() else {
        let (low, high) = short(bytes);
        return fold(all ^ low, SECRET[2] ^ high) | 1;
    };
    for stripe in bytes[..bytes.len() - 1].chunks(SECRET.len() / 2 * 16) {
        // `zip` would stay a call in a crate of several units.
        let mut blocks = stripe.chunks_exact(16);
        for secret in SECRET.chunks_exact(2) {
            let Some(block) = blocks.next() else { break };
            all = all.wrapping_add(fold(word(&block[..8]) ^ secret[0], word(&block[8..]) ^ secret[1]));
        }
        all = all.rotate_left(23);
    }
    let end = fold(word(&last[..8]) ^ SECRET[3], word(&last[8..]) ^ SECRET[4]);
    fold(all ^ SECRET[5], end ^ SECRET[6]) | 1
}

/// Hits and misses of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub hits: u64,
    pub misses: u64,
}

struct Entry<V> {
    text: Box<str>,
    value: V,
}

/// The table without counters and locks.
struct Table<V> {
    /// 0 if the slot is empty.
    hashes: Box<[u64]>,
    entries: Box<[Option<Entry<V>>]>,
    /// The slot that each set replaces next.
    turns: Box<[u8]>,
}

impl<V> Table<V> {
    fn new(slots: usize) -> Self {
        let sets = slots.div_ceil(WAYS).next_power_of_two();
        Table {
            hashes: vec![0; sets * WAYS].into(),
            entries: (0..sets * WAYS).map(|_| None).collect(),
            turns: vec![0; sets].into(),
        }
    }

    /// The first slot of the set of a hash. The lowest bit of a hash is always set.
    fn set(&self, hash: u64) -> usize {
        (hash >> 1) as usize & (self.turns.len() - 1)
    }

    #[inline]
    fn find(&self, hash: u64, text: &str) -> Option<usize> {
        let first = self.set(hash) * WAYS;
        let ways = &self.hashes[first..first + WAYS];
        (0..WAYS).find(|way| ways[*way] == hash && self.holds(first + way, text)).map(|way| first + way)
    }

    #[inline]
    fn holds(&self, slot: usize, text: &str) -> bool {
        self.entries[slot].as_ref().is_some_and(|entry| *entry.text == *text)
    }

    fn value(&self, slot: usize) -> Option<&V> {
        self.entries[slot].as_ref().map(|entry| &entry.value)
    }

    /// Stores a value in an empty slot of the set, or in the one to be replaced next.
    fn insert(&mut self, hash: u64, text: &str, value: V) -> usize {
        let set = self.set(hash);
        let empty = (0..WAYS).find(|way| self.hashes[set * WAYS + way] == 0);
        let way = empty.unwrap_or_else(|| {
            let way = usize::from(self.turns[set]);
            self.turns[set] = ((way + 1) % WAYS) as u8;
            way
        });
        let slot = set * WAYS + way;
        self.hashes[slot] = hash;
        self.entries[slot] = Some(Entry { text: text.into(), value });
        slot
    }

    fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }
}

/// Number of entries by address.
const PLACES: usize = 1024;

/// The cache of one thread: no lock, and no allocation on a hit.
///
/// A caller usually repeats the same text at the same address, so the slot is first looked up by address. The whole
/// text is compared in either case, because the memory may have been reused.
pub struct ThreadCache<V> {
    table: Table<V>,
    /// Slots by address and length.
    places: Box<[u32]>,
    counts: Counts,
}

/// Index into `places` for a text's address and length.
#[inline]
fn place(text: &str) -> usize {
    let address = text.as_ptr() as usize as u64;
    ((address ^ (text.len() as u64) << 48).wrapping_mul(SECRET[0] | 1) >> 32) as usize % PLACES
}

impl<V> ThreadCache<V> {
    /// A cache with at least `slots` slots: the next power of two.
    pub fn new(slots: usize) -> Self {
        ThreadCache { table: Table::new(slots), places: vec![0; PLACES].into(), counts: Counts::default() }
    }

    /// The value of this text, computed and stored if it is missing.
    ///
    /// # Errors
    /// The error of `make`; errors are not stored.
    #[inline]
    pub fn get<E>(&mut self, text: &str, make: impl FnOnce() -> Result<V, E>) -> Result<&V, E> {
        let place = place(text);
        let near = self.places[place] as usize;
        let slot = if self.table.holds(near, text) {
            self.counts.hits += 1;
            near
        } else {
            let slot = self.by_hash(text, make)?;
            self.places[place] = slot as u32;
            slot
        };
        Ok(self.table.value(slot).expect("a slot that was found or filled just now"))
    }

    /// As [`ThreadCache::get`], without the lookup by address: the hash is computed each time, as in the shared
    /// caches.
    ///
    /// # Errors
    /// The error of `make`; errors are not stored.
    #[inline]
    pub fn get_by_hash<E>(&mut self, text: &str, make: impl FnOnce() -> Result<V, E>) -> Result<&V, E> {
        let slot = self.by_hash(text, make)?;
        Ok(self.table.value(slot).expect("a slot that was found or filled just now"))
    }

    /// The slot of a text that was not found by address.
    fn by_hash<E>(&mut self, text: &str, make: impl FnOnce() -> Result<V, E>) -> Result<usize, E> {
        let hash = hash(text);
        if let Some(slot) = self.table.find(hash, text) {
            self.counts.hits += 1;
            return Ok(slot);
        }
        self.counts.misses += 1;
        Ok(self.table.insert(hash, text, make()?))
    }

    /// Hits and misses since its creation.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Number of texts in it.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// It holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn length(text: &str) -> Result<usize, Infallible> {
        Ok(text.len())
    }

    #[test]
    fn a_text_is_made_once() {
        let mut cache = ThreadCache::new(512);
        for _ in 0..3 {
            assert_eq!(cache.get("SELECT 1", || length("SELECT 1")), Ok(&8));
        }
        assert_eq!(cache.get("SELECT 1 ", || length("SELECT 1 ")), Ok(&9));
        assert_eq!((cache.counts(), cache.len()), (Counts { hits: 2, misses: 2 }, 2));
        assert_eq!(cache.get_by_hash("SELECT 1", || length("SELECT 1")), Ok(&8));
        assert_eq!(cache.get_by_hash("SELECT 12", || length("SELECT 12")), Ok(&9));
        assert_eq!((cache.counts(), cache.len()), (Counts { hits: 3, misses: 3 }, 3));
    }

    #[test]
    fn it_never_grows_and_always_answers_right() {
        let mut cache = ThreadCache::new(512);
        for round in 0..3 {
            for i in 0..5_000 {
                let text = format!("SELECT {i}");
                assert_eq!(cache.get(&text, || Ok::<_, Infallible>(i)), Ok(&i), "round {round}");
            }
        }
        assert!(cache.len() <= 512, "{}", cache.len());
        assert_eq!(cache.counts().hits + cache.counts().misses, 15_000);
    }

    #[test]
    fn a_hundred_statements_stay_in_512_slots() {
        let mut cache = ThreadCache::new(512);
        let texts: Vec<String> = (0..100).map(|i| format!("SELECT a{i} FROM t{i} WHERE id = ? AND b > {i}")).collect();
        for text in texts.iter().chain(&texts).chain(&texts) {
            assert!(cache.get(text, || length(text)).is_ok());
        }
        assert!(cache.counts().misses <= 104, "{:?}", cache.counts());
    }

    #[test]
    fn texts_of_the_same_hash_are_told_apart() {
        let mut table = Table::new(16);
        for (i, text) in ["a", "b", "c", "d"].into_iter().enumerate() {
            table.insert(77, text, i);
        }
        let found = |table: &Table<usize>, text| table.find(77, text).and_then(|slot| table.value(slot).copied());
        assert_eq!(["a", "b", "c", "d"].map(|text| found(&table, text)), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(found(&table, "e"), None);
        table.insert(77, "e", 4);
        table.insert(77, "f", 5);
        assert_eq!([found(&table, "a"), found(&table, "b"), found(&table, "e")], [None, None, Some(4)]);
        assert_eq!((table.len(), found(&table, "d")), (4, Some(3)));
    }

    #[test]
    fn every_byte_and_the_length_count_in_the_hash() {
        let text: String = (0..91).map(|i| char::from(b'a' + i % 26)).collect();
        for length in 0..=text.len() {
            let whole = &text[..length];
            assert_ne!(hash(whole), hash(&format!("{whole}\0")), "{length}");
            for at in 0..length {
                let other = format!("{}Z{}", &whole[..at], &whole[at + 1..]);
                assert_ne!(hash(whole), hash(&other), "byte {at} of {length}");
            }
        }
    }

    #[test]
    fn another_text_at_the_same_address_is_another_text() {
        let mut cache = ThreadCache::new(64);
        let mut buffer = String::from("SELECT 1");
        assert_eq!(cache.get(&buffer, || Ok::<_, Infallible>(1)), Ok(&1));
        buffer.replace_range(7.., "2");
        assert_eq!(cache.get(&buffer, || Ok::<_, Infallible>(2)), Ok(&2));
        buffer.replace_range(7.., "1");
        assert_eq!(cache.get(&buffer, || Ok::<_, Infallible>(3)), Ok(&1));
        assert_eq!(cache.counts(), Counts { hits: 1, misses: 2 });
    }

    #[test]
    fn failures_are_not_kept() {
        let mut cache = ThreadCache::new(8);
        assert_eq!(cache.get("x", || Err::<usize, _>("no")), Err("no"));
        assert_eq!(cache.get("x", || Ok::<_, &str>(1)), Ok(&1));
        assert_eq!((cache.counts().misses, cache.is_empty()), (2, false));
    }
}
