//! The fewest lost pieces that still make an image fail.

use std::path::Path;

use crate::replay::{Cut, Loss, Replayer};
use crate::{Error, Result};

/// A failing image, with as little lost as is needed for it.
#[derive(Debug, Clone)]
pub struct Minimal {
    /// Everything else was persisted.
    pub lost: Vec<Loss>,
    /// How many pieces the image had lost at first.
    pub lost_at_first: usize,
    /// How many images were tried.
    pub tries: usize,
    /// The search ended because it had tried `tries_max` images; fewer may be enough.
    pub cut_off: bool,
}

/// Tries images with less and less lost. Each is written into `dir`, whose content is replaced every time;
/// `still_fails` opens and judges it. At the end the smallest failing image is in `dir` again.
pub fn minimise(
    _replayer: &mut Replayer,
    _cut: &Cut,
    _dir: &Path,
    _tries_max: usize,
    _still_fails: impl FnMut(&Path) -> Result<bool>,
) -> Result<Minimal> {
    Err(Error::new("minimising is not there yet"))
}
