//! A conformance case as its file has it: a conversation with a worker, section by section.
//! `conformance/README.md` describes the form.

use std::path::{Path, PathBuf};

/// One file of `conformance/`.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without its ending.
    pub name: String,
    /// What a worker must be able to do for the case to mean anything.
    pub needs: Vec<String>,
    pub sections: Vec<Section>,
}

/// A section: its kind, what stands behind the kind, and its lines.
#[derive(Debug, Clone)]
pub struct Section {
    pub kind: Kind,
    pub argument: String,
    pub line: usize,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Script,
    Reply,
    Plan,
    Session,
    Samples,
    State,
    Failed,
}

const KINDS: &[(&str, Kind)] = &[
    ("script", Kind::Script),
    ("reply", Kind::Reply),
    ("plan", Kind::Plan),
    ("session", Kind::Session),
    ("samples", Kind::Samples),
    ("state", Kind::State),
    ("failed", Kind::Failed),
];

/// What a case may need, see the README.
const NEEDS: &[&str] = &["own-connections", "connect", "scripts"];

impl Section {
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines()
    }
}

impl Case {
    /// Reads a case.
    ///
    /// # Panics
    /// The file is not of the form.
    pub fn parse(path: &Path) -> Case {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Case::of(path, name, &text)
    }

    /// Reads a case from its text.
    ///
    /// # Panics
    /// The text is not of the form.
    pub fn of(path: &Path, name: String, text: &str) -> Case {
        let mut case = Case { name, needs: vec![], sections: vec![] };
        let mut about = false;
        for (i, line) in text.lines().enumerate() {
            let at = format!("{}:{}", path.display(), i + 1);
            if let Some(rest) = line.strip_prefix("== ") {
                let (word, argument) = rest.split_once(' ').unwrap_or((rest, ""));
                let known = KINDS.iter().find(|(name, _)| *name == word);
                let kind = known.unwrap_or_else(|| panic!("{at}: `{word}` is not a section")).1;
                let argument = argument.to_string();
                case.sections.push(Section { kind, argument, line: i + 1, text: String::new() });
            } else if let Some(section) = case.sections.last_mut() {
                section.text.push_str(line);
                section.text.push('\n');
            } else if let Some(needs) = line.strip_prefix("needs\t") {
                case.needs = needs.split(' ').map(str::to_string).collect();
                assert!(case.needs.iter().all(|need| NEEDS.contains(&need.as_str())), "{at}: unknown need");
            } else {
                assert!(line.starts_with("about\t") && !about, "{at}: expected `about`, `needs` or a section");
                about = true;
            }
        }
        assert!(about && !case.sections.is_empty(), "{}: no `about` line, or no sections", path.display());
        case
    }
}

/// All cases of an engine, by name.
pub fn cases(dir: &Path) -> Vec<Case> {
    files(dir).iter().map(|path| Case::parse(path)).collect()
}

/// All files with cases, by name.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = files.flatten().map(|f| f.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "case"));
    paths.sort();
    paths
}

/// Replaces `{name}` by its value, a line `{name}` by lines if the value is some, and `{text:N}` and `{blob:N}` by N characters and N bytes.
pub fn fill(text: &str, values: &[(&str, String)]) -> String {
    let mut filled = text.to_string();
    for (name, value) in values {
        if value.is_empty() || value.ends_with('\n') {
            filled = filled.replace(&format!("{{{name}}}\n"), value);
        }
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    for (kind, piece) in [("text", "long "), ("blob", "00ff7f80")] {
        let opening = format!("{{{kind}:");
        while let Some(at) = filled.find(&opening) {
            let end = at + filled[at..].find('}').expect("a closing brace");
            let length: usize = filled[at + opening.len()..end].parse().expect("a length");
            let length = if kind == "blob" { 2 * length } else { length };
            let long: String = piece.chars().cycle().take(length).collect();
            filled.replace_range(at..=end, &long);
        }
    }
    filled
}
