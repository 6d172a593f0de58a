//! The options of this driver.

use anyhow::{Result, anyhow};
use contend_sql::Target;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// New texts.
    Cold,
    /// Translations found in the cache.
    Hot,
    /// Numbers found in the cache: no translation is touched.
    LookUp,
}

/// Design of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Every text is translated.
    None,
    /// One for each client, with the text's address as the key.
    Thread,
    /// One for each client, with the text's hash as the key, like the shared ones.
    ThreadHash,
    /// One for the process, behind a mutex.
    Mutex,
    /// One for the process, behind a readers-writer lock.
    RwLock,
    /// One for the process, whose slots are filled once and read without a lock.
    Atomic,
}

/// Options of this driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Dialect of the translation.
    pub to: Target,
    /// What is measured.
    pub what: What,
    /// The cache.
    pub design: Design,
    /// Its slots.
    pub slots: u32,
    /// Hot: different texts of each statement.
    pub texts: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { to: Target::Postgres, what: What::Cold, design: Design::Thread, slots: 512, texts: 1 }
    }
}

impl Wanted {
    /// Takes an option of this driver in; false if it is not one.
    ///
    /// # Errors
    /// A value it cannot have.
    pub fn take(&mut self, name: &str, value: &str) -> Result<bool> {
        let wrong = || anyhow!("option {name}: `{value}` is not one of its values");
        let count = || value.parse::<u32>().ok().filter(|n| (1..=1 << 20).contains(n)).ok_or_else(wrong);
        match name {
            "translate_to" => {
                self.to =
                    pick(value, &[("postgres", Target::Postgres), ("mariadb", Target::MariaDb)]).ok_or_else(wrong)?;
            }
            "translate" => {
                let known = [("cold", What::Cold), ("hot", What::Hot), ("look-up", What::LookUp)];
                self.what = pick(value, &known).ok_or_else(wrong)?;
            }
            "cache" => self.design = pick(value, &DESIGNS).ok_or_else(wrong)?,
            "cache_slots" => self.slots = count()?,
            "texts" => self.texts = count()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// All designs by name.
pub const DESIGNS: [(&str, Design); 6] = [
    ("none", Design::None),
    ("thread", Design::Thread),
    ("thread-hash", Design::ThreadHash),
    ("mutex", Design::Mutex),
    ("rwlock", Design::RwLock),
    ("atomic", Design::Atomic),
];

fn pick<T: Copy>(value: &str, known: &[(&str, T)]) -> Option<T> {
    known.iter().find(|(word, _)| *word == value).map(|(_, found)| *found)
}
