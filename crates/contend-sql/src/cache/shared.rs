//! The table of [`super`] for several threads, in three designs to compare: behind a mutex, behind a read-write lock,
//! and with slots that are written once and read without a lock.

use super::{Counts, Entry, Table, WAYS, hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// The same table shared behind a mutex.
pub struct MutexCache<V> {
    inner: Mutex<(Table<Arc<V>>, Counts)>,
}

/// The table is consistent even after a panic: entries are replaced in one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<V> MutexCache<V> {
    /// A cache of at least `slots` slots: the next power of two.
    pub fn new(slots: usize) -> Self {
        MutexCache { inner: Mutex::new((Table::new(slots), Counts::default())) }
    }

    /// The value of this text, computed without the lock and stored if it is missing.
    ///
    /// # Errors
    /// The error of `make`; errors are not stored.
    pub fn get<E>(&self, text: &str, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let hash = hash(text);
        {
            let (table, counts) = &mut *lock(&self.inner);
            if let Some(value) = table.find(hash, text).and_then(|slot| table.value(slot)) {
                counts.hits += 1;
                return Ok(Arc::clone(value));
            }
            counts.misses += 1;
        }
        let made = Arc::new(make()?);
        let table = &mut lock(&self.inner).0;
        // Another thread may have been faster.
        if table.find(hash, text).is_none() {
            table.insert(hash, text, Arc::clone(&made));
        }
        Ok(made)
    }

    /// Hits and misses since it was made.
    pub fn counts(&self) -> Counts {
        lock(&self.inner).1
    }
}

/// The same table behind a read-write lock. Each caller counts for itself: a shared counter would be written by every
/// reader.
pub struct RwLockCache<V> {
    table: RwLock<Table<Arc<V>>>,
}

impl<V> RwLockCache<V> {
    /// A cache of at least `slots` slots: the next power of two.
    pub fn new(slots: usize) -> Self {
        RwLockCache { table: RwLock::new(Table::new(slots)) }
    }

    /// The value of this text, computed without the lock and stored if it is missing.
    ///
    /// # Errors
    /// The error of `make`; errors are not stored.
    pub fn get<E>(&self, text: &str, counts: &mut Counts, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let hash = hash(text);
        {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = table.find(hash, text).and_then(|slot| table.value(slot)) {
                counts.hits += 1;
                return Ok(Arc::clone(value));
            }
        }
        counts.misses += 1;
        let made = Arc::new(make()?);
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.find(hash, text).is_none() {
            table.insert(hash, text, Arc::clone(&made));
        }
        Ok(made)
    }
}

/// The same table without a lock. A slot is written once and keeps its entry as long as the cache exists, so readers
/// need two atomic loads and write nothing. The drawback: in a full set nothing is replaced, and a text without a
/// slot is translated each time.
pub struct AtomicCache<V> {
    /// 0 if the slot is empty; written after the entry.
    hashes: Box<[AtomicU64]>,
    entries: Box<[OnceLock<Entry<V>>]>,
}

impl<V> AtomicCache<V> {
    /// A cache of at least `slots` slots: the next power of two.
    pub fn new(slots: usize) -> Self {
        let slots = slots.div_ceil(WAYS).next_power_of_two() * WAYS;
        AtomicCache {
            hashes: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            entries: (0..slots).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Passes the value of this text to `look`, after computing and storing it if it is missing.
    ///
    /// # Errors
    /// The error of `make`; errors are not stored.
    pub fn with<E, R>(
        &self,
        text: &str,
        counts: &mut Counts,
        make: impl FnOnce() -> Result<V, E>,
        look: impl FnOnce(&V) -> R,
    ) -> Result<R, E> {
        let hash = hash(text);
        let first = ((hash >> 1) as usize & (self.entries.len() / WAYS - 1)) * WAYS;
        if let Some(value) = self.find(first, hash, text) {
            counts.hits += 1;
            return Ok(look(value));
        }
        counts.misses += 1;
        Ok(match self.keep(first, hash, Entry { text: text.into(), value: make()? }) {
            Ok(value) => look(value),
            Err(left) => look(&left),
        })
    }

    fn find(&self, first: usize, hash: u64, text: &str) -> Option<&V> {
        let slots = first..first + WAYS;
        let known = |slot: &usize| self.hashes[*slot].load(Ordering::Acquire) == hash;
        slots.filter(known).find_map(|slot| self.held(slot, text))
    }

    fn held(&self, slot: usize, text: &str) -> Option<&V> {
        self.entries[slot].get().filter(|entry| *entry.text == *text).map(|entry| &entry.value)
    }

    /// Stores an entry in the first empty slot of its set, unless another thread was faster. Returns a value that
    /// found no slot.
    fn keep(&self, first: usize, hash: u64, mut entry: Entry<V>) -> Result<&V, V> {
        for slot in first..first + WAYS {
            match self.entries[slot].set(entry) {
                Ok(()) => {
                    self.hashes[slot].store(hash, Ordering::Release);
                    return Ok(&self.entries[slot].get().expect("a slot that was filled just now").value);
                }
                Err(back) => entry = back,
            }
            // Another thread may have been faster, and not yet written its hash.
            if let Some(value) = self.held(slot, &entry.text) {
                return Ok(value);
            }
        }
        Err(entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn threads_share_the_shared_ones() {
        let (mutex, rwlock, atomic) = (MutexCache::new(64), RwLockCache::new(64), AtomicCache::new(64));
        let work = || {
            let (mut of_rwlock, mut of_atomic) = (Counts::default(), Counts::default());
            for i in 0..2_000 {
                let text = format!("SELECT {}", i % 100);
                let made = || Ok::<_, Infallible>(i % 100);
                assert_eq!(mutex.get(&text, made).map(|v| *v), Ok(i % 100));
                assert_eq!(rwlock.get(&text, &mut of_rwlock, made).map(|v| *v), Ok(i % 100));
                assert_eq!(atomic.with(&text, &mut of_atomic, made, |v| *v), Ok(i % 100));
            }
            [of_rwlock, of_atomic]
        };
        let counted: Vec<[Counts; 2]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread that ended well")).collect()
        });
        assert_eq!(mutex.counts().hits + mutex.counts().misses, 8_000);
        assert!(mutex.counts().hits > 0 && mutex.counts().misses >= 100, "{:?}", mutex.counts());
        for design in 0..2 {
            let hits: u64 = counted.iter().map(|counts| counts[design].hits).sum();
            let misses: u64 = counted.iter().map(|counts| counts[design].misses).sum();
            assert_eq!(hits + misses, 8_000);
            assert!(hits > 0 && misses >= 100, "{hits} hits, {misses} misses");
        }
    }

    #[test]
    fn a_slot_is_filled_once_and_what_finds_none_is_made_anew() {
        let (cache, mut counts) = (AtomicCache::new(64), Counts::default());
        for round in 0..3 {
            for i in 0..1_000 {
                let text = format!("SELECT {i}");
                assert_eq!(cache.with(&text, &mut counts, || Ok::<_, Infallible>((i, round)), |v| v.0), Ok(i));
            }
        }
        // Every set is full after a thousand texts, and stays as it is.
        let kept: Vec<u32> = (0..1_000)
            .filter(|i| cache.with(&format!("SELECT {i}"), &mut counts, || Err(()), |v| v.1) == Ok(0))
            .collect();
        assert_eq!(kept.len(), 64);
        assert_eq!(counts.hits, 3 * 64, "found in the second and third round, and now");
    }

    #[test]
    fn failures_are_not_kept() {
        let (cache, mut counts) = (AtomicCache::new(8), Counts::default());
        assert_eq!(cache.with("x", &mut counts, || Err::<u32, _>("no"), |v| *v), Err("no"));
        assert_eq!(cache.with("x", &mut counts, || Ok::<_, &str>(1), |v| *v), Ok(1));
        assert_eq!(cache.with("x", &mut counts, || Err("not asked"), |v| *v), Ok(1));
        assert_eq!(counts, Counts { hits: 1, misses: 2 });
    }

    #[test]
    fn one_entry_stays_when_several_threads_bring_it() {
        for _ in 0..200 {
            let cache = AtomicCache::new(4);
            let ask = || cache.with("x", &mut Counts::default(), || Ok::<_, Infallible>(7), |v| *v);
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(ask))));
            assert_eq!(cache.entries.iter().filter(|entry| entry.get().is_some()).count(), 1);
        }
    }
}
