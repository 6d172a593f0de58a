//! What the files of a crate name: the file in which the item that a path means is defined.

use super::source::{bare, bracketed, code, code_of, files, is_test_file, paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files of a crate with the files that each needs, relative to its `src`.
pub type Graph = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Longest chain of re-exports that is followed.
const EXPORTS_MAX: usize = 8;

/// The source files of a crate without those of tests.
pub struct Crate {
    pub files: BTreeMap<PathBuf, File>,
}

/// A source file, without comments, tests and the contents of texts.
pub struct File {
    pub text: String,
    /// Paths that it names outside of re-exports.
    named: Vec<Vec<String>>,
    /// Paths that it imports or exports, by the name that it gives them.
    imports: BTreeMap<String, Vec<String>>,
}

impl File {
    fn new(text: String) -> Self {
        let (uses, rest) = imports_and_rest(&text);
        let mut named = paths(&rest);
        let words: BTreeSet<String> = named.iter().map(|path| path[0].clone()).collect();
        // A single word is a variable as often as a module.
        named.retain(|path| path.len() > 1);
        let mut imported = vec![];
        let mut imports = BTreeMap::new();
        for (exported, statement) in uses {
            for (name, path) in with_names(statement.trim_end_matches(';'), &[]) {
                // A name that is only handed on is not needed here.
                if !exported || words.contains(&name) {
                    imported.push(path.clone());
                }
                imports.insert(name, path);
            }
        }
        named.extend(imported);
        Self { text, named, imports }
    }
}

/// The statements `use` of a text, with whether each exports, and the text without them.
fn imports_and_rest(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest) = (vec![], String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let word = line.trim_start();
        let Some(begin) =
            word.strip_prefix("use ").or_else(|| word.strip_prefix("pub")?.split_once(" use ").map(|p| p.1))
        else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut statement = begin.to_string();
        while !statement.contains(';') {
            let Some(line) = lines.next() else { break };
            statement.push('\n');
            statement.push_str(line);
        }
        uses.push((word.starts_with("pub"), statement));
    }
    (uses, rest)
}

/// Paths below `before` of a tree as in `use a::{b, c as d};`, with the names that they get.
fn with_names(tree: &str, before: &[String]) -> Vec<(String, Vec<String>)> {
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, rest)| (head, Some(bracketed(rest))));
    let (head, name) =
        head.split_once(" as ").map_or((head, None), |(head, name)| (head, Some(name.trim().to_string())));
    let words = head.split("::").map(str::trim).filter(|word| !word.is_empty() && *word != "self" || before.is_empty());
    let mut path: Vec<String> = before.iter().cloned().chain(words.map(str::to_string)).collect();
    path.retain(|word| !word.is_empty());
    match group {
        Some(group) => parts(group).into_iter().flat_map(|part| with_names(part, &path)).collect(),
        None => path.last().cloned().map(|last| (name.unwrap_or(last), path)).into_iter().collect(),
    }
}

/// Parts of a list between its commas.
fn parts(list: &str) -> Vec<&str> {
    let (mut found, mut depth, mut from) = (vec![], 0, 0);
    for (i, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    found.push(&list[from..]);
    found.retain(|part| !part.trim().is_empty());
    found
}

/// The folder of a file's modules.
fn folder(file: &Path) -> PathBuf {
    let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
    if is_root { file.parent().unwrap_or(Path::new("")).to_path_buf() } else { file.with_extension("") }
}

impl Crate {
    pub fn read(src: &Path) -> Self {
        let all = files(src, &[".rs"]).into_iter().filter(|path| !is_test_file(path));
        let relative = |path: &Path| path.strip_prefix(src).expect("below src").to_path_buf();
        Self::of(all.map(|path| (relative(&path), code(&path))))
    }

    fn of(texts: impl Iterator<Item = (PathBuf, String)>) -> Self {
        Self { files: texts.map(|(path, text)| (path, File::new(bare(&text)))).collect() }
    }

    /// The file of the module with this folder.
    fn module(&self, folder: &Path) -> Option<PathBuf> {
        let files = if folder.as_os_str().is_empty() {
            [PathBuf::from("lib.rs"), PathBuf::from("main.rs")]
        } else {
            [folder.with_extension("rs"), folder.join("mod.rs")]
        };
        files.into_iter().find(|file| self.files.contains_key(file))
    }

    /// The file in which the item or module is defined that a path in another file means; `None` outside of the crate.
    pub fn leads_to(&self, path: &[String], from: &Path) -> Option<PathBuf> {
        self.follow(path, from, EXPORTS_MAX)
    }

    /// The file that defines a type, which a path in another file names, alone or with its modules.
    pub fn imported(&self, path: &[String], from: &Path) -> Option<PathBuf> {
        match path {
            [name] => self.leads_to(self.files.get(from)?.imports.get(name)?, from),
            _ => self.leads_to(path, from),
        }
    }

    fn follow(&self, path: &[String], from: &Path, exports: usize) -> Option<PathBuf> {
        let first = path.first()?;
        let own = folder(from);
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (PathBuf::new(), &path[1..]),
            "self" | "super" => (own, path),
            // A module of the file's own or one that it imports; a single word is a variable as often.
            word if path.len() > 1 && self.module(&own.join(word)).is_some() => (own, path),
            word => {
                let imported = self.files.get(from)?.imports.get(word).filter(|_| path.len() > 1 && exports > 0)?;
                let whole: Vec<String> = imported.iter().chain(&path[1..]).cloned().collect();
                return if imported[0] == *word { None } else { self.follow(&whole, from, exports - 1) };
            }
        };
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "self" => {}
                "super" => at = at.parent()?.to_path_buf(),
                _ => break,
            }
            rest = others;
        }
        while let Some(first) = rest.first().filter(|first| self.module(&at.join(first)).is_some()) {
            at.push(first);
            rest = &rest[1..];
        }
        let file = self.module(&at)?;
        let exported = rest.first().and_then(|item| self.files[&file].imports.get(item)).filter(|_| exports > 0);
        match exported {
            Some(path) => self.follow(path, &file, exports - 1).or(Some(file)),
            None => Some(file),
        }
    }

    /// What each file needs. To import a module is no need; to name something in it is.
    pub fn graph(&self) -> Graph {
        let of = |(file, named): (&PathBuf, &File)| {
            let mods = |to: &PathBuf, path: &[String]| {
                let is_module = to.ends_with("mod.rs") && path.last().is_some_and(|last| folder(to).ends_with(last));
                !is_module && to != file
            };
            let to = named.named.iter().filter_map(|path| self.leads_to(path, file).filter(|to| mods(to, path)));
            (file.clone(), to.collect())
        };
        self.files.iter().map(of).collect()
    }
}

/// What the files of a small crate need.
fn needs(files: &[(&str, &str)]) -> Vec<String> {
    let texts = files.iter().map(|(file, text)| (PathBuf::from(file), code_of(text)));
    let graph = Crate::of(texts).graph();
    graph
        .iter()
        .flat_map(|(from, all)| all.iter().map(move |to| format!("{} -> {}", from.display(), to.display())))
        .collect()
}

#[test]
fn an_item_leads_to_the_file_that_defines_it() {
    let found = needs(&[
        ("lib.rs", "mod a;\nmod b;\npub struct Own;\npub use a::Leaf;\n"),
        ("a.rs", "use crate::Own;\n"),
        ("b/mod.rs", "mod c;\nmod d;\npub(super) struct Item;\npub use c::{Shown as Other};\nfn f() { d::run() }\n"),
        ("b/c.rs", "use super::Item;\npub struct Shown;\n#[cfg(test)]\nuse crate::a::Leaf;\n"),
        ("b/d.rs", "use crate::b;\nuse crate::{Leaf, b::Other};\nfn f() { super::super::a::g(); b::Other }\n"),
    ]);
    assert_eq!(
        found,
        ["a.rs -> lib.rs", "b/c.rs -> b/mod.rs", "b/d.rs -> a.rs", "b/d.rs -> b/c.rs", "b/mod.rs -> b/d.rs"]
    );
}
