//! The names of the recorded directory: the names of each number, and the path of its real file. No other process
//! changes the backing directory, so the tree is always current.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::log::{Attributes, Ino, Kind, Known, ROOT};
use crate::{Error, Result};

pub struct Tree {
    backing: PathBuf,
    nodes: HashMap<Ino, Node>,
    next: Ino,
}

pub struct Node {
    pub kind: Kind,
    /// Names of the file: several for hard links, none if it is only open.
    pub names: Vec<(Ino, OsString)>,
    pub children: BTreeMap<OsString, Ino>,
    /// One handle, shared by all openers of the file.
    pub file: Option<Arc<OpenFile>>,
    pub opens: u64,
}

pub struct OpenFile {
    pub file: File,
    /// Held while a change is made and logged, so that the log has the changes of a file in their order.
    pub order: Mutex<()>,
}

impl Tree {
    /// Reads the whole directory, in a fixed order.
    pub fn load(backing: &Path) -> Result<(Tree, Vec<Known>)> {
        let mut tree = Tree { backing: backing.to_path_buf(), nodes: HashMap::new(), next: ROOT + 1 };
        tree.nodes.insert(ROOT, Node::new(Kind::Directory));
        let (mut known, mut seen) = (vec![], HashMap::new());
        tree.load_directory(ROOT, backing, &mut known, &mut seen)?;
        Ok((tree, known))
    }

    fn load_directory(
        &mut self,
        parent: Ino,
        path: &Path,
        known: &mut Vec<Known>,
        seen: &mut HashMap<(u64, u64), Ino>,
    ) -> Result<()> {
        let broken = |e| Error::at(path, "cannot be read", e);
        let mut entries =
            std::fs::read_dir(path).map_err(broken)?.collect::<std::io::Result<Vec<_>>>().map_err(broken)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let data = path.symlink_metadata().map_err(|e| Error::at(&path, "cannot be read", e))?;
            let kind = kind_of(&data);
            let next = self.next;
            // A second name of a file already seen; directories have only one.
            let ino = *seen.entry((data.dev(), data.ino())).or_insert(next);
            if ino == next {
                self.next += 1;
                self.nodes.insert(ino, Node::new(kind));
            }
            self.link(parent, &name, ino);
            let size = if kind == Kind::File { data.len() } else { 0 };
            known.push(Known { parent, name, ino, kind, attributes: attributes_of(&data), size });
            if kind == Kind::Directory {
                self.load_directory(ino, &path, known, seen)?;
            }
        }
        Ok(())
    }

    pub fn get(&self, ino: Ino) -> Option<&Node> {
        self.nodes.get(&ino)
    }

    pub fn get_mut(&mut self, ino: Ino) -> Option<&mut Node> {
        self.nodes.get_mut(&ino)
    }

    pub fn child(&self, parent: Ino, name: &OsStr) -> Option<Ino> {
        self.nodes.get(&parent)?.children.get(name).copied()
    }

    /// Path of the real file; `None` if it has no name any more.
    pub fn path(&self, ino: Ino) -> Option<PathBuf> {
        if ino == ROOT {
            return Some(self.backing.clone());
        }
        let (parent, name) = self.nodes.get(&ino)?.names.first()?;
        Some(self.path(*parent)?.join(name))
    }

    pub fn path_of(&self, parent: Ino, name: &OsStr) -> Option<PathBuf> {
        Some(self.path(parent)?.join(name))
    }

    /// Adds a name with a new number.
    pub fn add(&mut self, parent: Ino, name: &OsStr, kind: Kind) -> Ino {
        let ino = self.next;
        self.next += 1;
        self.nodes.insert(ino, Node::new(kind));
        self.link(parent, name, ino);
        ino
    }

    pub fn link(&mut self, parent: Ino, name: &OsStr, ino: Ino) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.names.push((parent, name.to_os_string()));
        }
        if let Some(node) = self.nodes.get_mut(&parent) {
            node.children.insert(name.to_os_string(), ino);
        }
    }

    pub fn unlink(&mut self, parent: Ino, name: &OsStr) -> Option<Ino> {
        let ino = self.nodes.get_mut(&parent)?.children.remove(name)?;
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.names.retain(|(p, n)| (*p, n.as_os_str()) != (parent, name));
        }
        self.forget_unused(ino);
        Some(ino)
    }

    pub fn rename(&mut self, from: (Ino, &OsStr), to: (Ino, &OsStr), exchange: bool) {
        let taken = self.take(from);
        let replaced = if exchange { self.take(to) } else { self.unlink(to.0, to.1).and(None) };
        if let Some(ino) = taken {
            self.link(to.0, to.1, ino);
        }
        if let Some(ino) = replaced {
            self.link(from.0, from.1, ino);
        }
    }

    /// As `unlink`, for a file that gets another name at once.
    fn take(&mut self, (parent, name): (Ino, &OsStr)) -> Option<Ino> {
        let ino = self.nodes.get_mut(&parent)?.children.remove(name)?;
        self.nodes.get_mut(&ino)?.names.retain(|(p, n)| (*p, n.as_os_str()) != (parent, name));
        Some(ino)
    }

    pub fn forget_unused(&mut self, ino: Ino) {
        if self.nodes.get(&ino).is_some_and(|node| node.names.is_empty() && node.opens == 0) {
            self.nodes.remove(&ino);
        }
    }
}

impl Node {
    fn new(kind: Kind) -> Node {
        Node { kind, names: vec![], children: BTreeMap::new(), file: None, opens: 0 }
    }
}

pub fn kind_of(data: &Metadata) -> Kind {
    let kind = data.file_type();
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Symlink
    } else {
        debug_assert!(kind.is_socket() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device());
        Kind::Other
    }
}

pub fn attributes_of(data: &Metadata) -> Attributes {
    Attributes { mode: data.mode() & 0o7777, uid: data.uid(), gid: data.gid() }
}
