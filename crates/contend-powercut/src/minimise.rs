//! The fewest lost pieces that still make an image fail: delta debugging over what the image lacks.

use std::path::Path;

use crate::replay::{Cut, Loss, Replayer};
use crate::{Error, Result};

/// A failing image, with as little lost as is needed for it.
#[derive(Debug, Clone)]
pub struct Minimal {
    /// Everything else was persisted, except what cannot be there without these (later writes of the same page, names
    /// that come later in the journal). `Replayer::image_lacking` makes the image again.
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
    replayer: &mut Replayer,
    cut: &Cut,
    dir: &Path,
    tries_max: usize,
    mut still_fails: impl FnMut(&Path) -> Result<bool>,
) -> Result<Minimal> {
    let mut lost = replayer.lost(cut)?;
    let lost_at_first = lost.len();
    let mut tries = 0;
    let mut fails = |lost: &[Loss], tries: &mut usize| {
        *tries += 1;
        replayer.image_lacking(cut, lost)?.rewrite(dir)?;
        still_fails(dir)
    };
    if !fails(&lost, &mut tries)? {
        return Err(Error::new(format!(
            "the image at position {} ({}, {}, seed {}) does not fail: there is nothing to minimise",
            cut.position,
            cut.model.name(),
            cut.namespace.name(),
            cut.seed
        )));
    }
    // Nothing lost at all may be enough: then the fault is not one of the disk.
    if !lost.is_empty() && fails(&[], &mut tries)? {
        lost.clear();
    }
    let mut parts = 2;
    while lost.len() > 1 && tries < tries_max {
        match smaller(&lost, parts, tries_max, &mut tries, &mut fails)? {
            Some((found, was_a_part)) => {
                parts = if was_a_part { 2 } else { (parts - 1).max(2) };
                lost = found;
            }
            None if parts >= lost.len() => break,
            None => parts = (parts * 2).min(lost.len()),
        }
    }
    let cut_off = lost.len() > 1 && tries >= tries_max;
    replayer.image_lacking(cut, &lost)?.rewrite(dir)?;
    Ok(Minimal { lost, lost_at_first, tries, cut_off })
}

/// One of `parts` parts that fails alone (true), or all but one of them (false).
fn smaller(
    lost: &[Loss],
    parts: usize,
    tries_max: usize,
    tries: &mut usize,
    fails: &mut impl FnMut(&[Loss], &mut usize) -> Result<bool>,
) -> Result<Option<(Vec<Loss>, bool)>> {
    let size = lost.len().div_ceil(parts);
    for alone in [true, false] {
        // With two parts, all but one is the other one.
        if !alone && parts == 2 {
            break;
        }
        for start in (0..lost.len()).step_by(size) {
            if *tries >= tries_max {
                return Ok(None);
            }
            let end = (start + size).min(lost.len());
            let kept = if alone { lost[start..end].to_vec() } else { [&lost[..start], &lost[end..]].concat() };
            if fails(&kept, tries)? {
                return Ok(Some((kept, alone)));
            }
        }
    }
    Ok(None)
}
