//! The losses of an image, compared with the tree as the program saw it; and images that lack only some of them.

use std::collections::{HashMap, HashSet};

use super::fate::{Data, Fate, Metadata, PAGE, SECTOR};
use super::names::Renaming;
use super::object::{At, Change, Object};
use super::{Cut, Image, Model, Namespace, Replayer};
use crate::Result;
use crate::log::Ino;

/// A piece that an image has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The first log entry that is missing; later entries for the same piece are missing too.
    pub entry: usize,
    pub ino: Ino,
    /// Path of the file at the time of the cut.
    pub path: String,
    /// Offset and length of lost data; 0, 0 for names and sizes.
    pub offset: u64,
    pub bytes: u64,
    /// A description for people.
    pub what: String,
    data: bool,
}

impl Replayer {
    /// The losses of this cut's image, in the order of files and offsets, names and sizes first.
    pub fn lost(&mut self, cut: &Cut) -> Result<Vec<Loss>> {
        self.advance(cut.position)?;
        let fate = self.fate(cut);
        let paths = self.state.paths(cut.namespace);
        let path =
            |ino: Ino| paths.get(&ino).map_or(format!("(file {ino}, without a name)"), |p| p.display().to_string());
        let mut losses = vec![];
        for change in self.state.names(cut.namespace).pending.iter().filter(|c| !fate.keeps_metadata(c.at)) {
            let (ino, what) = describe(change);
            losses.push(Loss {
                entry: change.at as usize,
                ino,
                path: path(ino),
                offset: 0,
                bytes: 0,
                what,
                data: false,
            });
        }
        let unit = unit_of(cut.model);
        for object in self.state.objects.values().filter(|object| !object.pending.is_empty()) {
            lost_sizes(object, &fate, &path(object.ino), &mut losses);
            lost_data(object, &fate, unit, &path(object.ino), &mut losses);
        }
        Ok(losses)
    }

    /// The image of a cut that lacks only these pieces and what depends on them.
    pub fn image_lacking(&mut self, cut: &Cut, losses: &[Loss]) -> Result<Image> {
        self.advance(cut.position)?;
        let mut limits: HashMap<(Ino, u64), At> = HashMap::new();
        let unit = unit_of(cut.model);
        for loss in losses.iter().filter(|loss| loss.data) {
            limits.insert((loss.ino, loss.offset / unit), loss.entry as At);
        }
        let lost: HashSet<At> = losses.iter().filter(|loss| !loss.data).map(|loss| loss.entry as At).collect();
        let metadata = match (cut.namespace, lost.iter().min()) {
            (_, None) => Metadata::All,
            (Namespace::Journal, Some(first)) => Metadata::Before(*first),
            (Namespace::Posix, Some(_)) => {
                let mut all = self.state.names(Namespace::Posix).losses(|at| lost.contains(&at));
                all.extend(self.resizing_losses(|at| lost.contains(&at)));
                Metadata::Lost(all)
            }
        };
        let fate = Fate { data: Data::Lost { unit, limits }, metadata };
        Ok(self.build(cut.namespace, &fate))
    }
}

fn unit_of(model: Model) -> u64 {
    if model == Model::Torn { SECTOR } else { PAGE }
}

fn describe(change: &Renaming) -> (Ino, String) {
    let words = |(parent, name, ino): &(Ino, std::ffi::OsString, Option<Ino>)| {
        let name = name.to_string_lossy();
        match ino {
            Some(ino) => format!("name `{name}` in directory {parent} given to file {ino}"),
            None => format!("name `{name}` in directory {parent} removed"),
        }
    };
    let ino = change.names.iter().rev().find_map(|(.., ino)| *ino).unwrap_or(change.names[0].0);
    (ino, change.names.iter().map(words).collect::<Vec<_>>().join(", "))
}

fn lost_sizes(object: &Object, fate: &Fate, path: &str, losses: &mut Vec<Loss>) {
    for event in object.pending.iter().filter(|event| !fate.keeps_metadata(event.at)) {
        let what = match event.change {
            Change::Truncate { size } => format!("cut to {size} bytes"),
            Change::Allocate { size } => format!("made {size} bytes long"),
            Change::Write { .. } | Change::Zero { .. } => continue,
        };
        let (ino, path) = (object.ino, path.to_string());
        losses.push(Loss { entry: event.at as usize, ino, path, offset: 0, bytes: 0, what, data: false });
    }
}

fn lost_data(object: &Object, fate: &Fate, unit: u64, path: &str, losses: &mut Vec<Loss>) {
    let limits = fate.limits(object);
    // Pages are also the units of the random choice.
    let mut first: HashMap<u64, (At, u64, u64)> = HashMap::new();
    for event in &object.pending {
        let Some((start, end)) = event.change.range() else { continue };
        for number in start / unit..end.div_ceil(unit) {
            if !limits.keeps(number, event.at) {
                let (from, to) = (start.max(number * unit), end.min((number + 1) * unit));
                let piece = first.entry(number).or_insert((event.at, from, to));
                (piece.1, piece.2) = (piece.1.min(from), piece.2.max(to));
            }
        }
    }
    let mut pieces: Vec<_> = first.into_values().collect();
    pieces.sort_unstable_by_key(|(_, from, _)| *from);
    losses.extend(pieces.into_iter().map(|(at, from, to)| Loss {
        entry: at as usize,
        ino: object.ino,
        path: path.to_string(),
        offset: from,
        bytes: to - from,
        what: format!("{} bytes written at {from}", to - from),
        data: true,
    }));
}
