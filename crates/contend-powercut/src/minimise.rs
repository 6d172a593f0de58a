//! Finds the fewest lost pieces with which an image still fails: delta debugging over the image's losses.

use std::path::Path;

use crate::replay::{Cut, Loss, Replayer};
use crate::{Error, Result};

/// A failing image with as few losses as possible.
#[derive(Debug, Clone)]
pub struct Minimal {
    /// The remaining losses. Everything else is on disk, except what depends on these (later writes of the same page,
    /// later names of the journal). `Replayer::image_lacking` makes the image again.
    pub lost: Vec<Loss>,
    /// Number of pieces that the original image had lost.
    pub lost_at_first: usize,
    /// Number of images tried.
    pub tries: usize,
    /// The search stopped after `tries_max` images; a smaller set may exist.
    pub cut_off: bool,
}

/// Tries images with fewer and fewer losses. Each one replaces the content of `dir`, and `still_fails` opens and
/// judges it. At the end `dir` holds the smallest failing image.
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
    // If the image fails without any loss, the disk is not the cause.
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

/// One of `parts` parts that fails alone (true), or all parts but one (false).
fn smaller(
    lost: &[Loss],
    parts: usize,
    tries_max: usize,
    tries: &mut usize,
    fails: &mut impl FnMut(&[Loss], &mut usize) -> Result<bool>,
) -> Result<Option<(Vec<Loss>, bool)>> {
    let size = lost.len().div_ceil(parts);
    for alone in [true, false] {
        // With two parts, "all but one" is the other part.
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
