//! Reading source files: which there are, their code without comments and tests, and the paths that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn files(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            // Directories of checks that run at the same time.
            let is_made = [".check-report.", ".ci-results."].iter().any(|made| name.starts_with(made));
            if !is_made && !["target", ".git", "results", "node_modules"].contains(&name.as_ref()) {
                found.extend(files(&path, extensions));
            }
        } else if extensions.iter().any(|e| name.ends_with(e)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text of a source file without comment lines and without what only tests have.
pub fn code(path: &Path) -> String {
    code_of(&fs::read_to_string(path).expect("readable"))
}

/// The same of a text.
pub fn code_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    without_tests(&lines).join("\n")
}

/// Lines without the items that follow `#[cfg(test)]`. An item ends as rustfmt writes it: with `;` or `,`, or with `}`
/// as far in as its first line.
fn without_tests<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let (mut kept, mut at) = (vec![], 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.trim() != "#[cfg(test)]" {
            kept.push(*line);
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes = |line: &str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
        let mut opened = false;
        while let Some(line) = lines.get(at).filter(|_| !opened || !closes(lines[at])) {
            at += 1;
            let is_attribute = line.trim_start().starts_with('#');
            if !opened && !is_attribute && line.ends_with([';', ',', '}']) {
                break;
            }
            opened |= line.ends_with('{');
        }
        at += usize::from(opened);
    }
    kept
}

/// The first module below `src` that a file belongs to.
pub fn module(path: &Path, src: &Path) -> String {
    let first = path.strip_prefix(src).expect("below src").iter().next().expect("a name");
    first.to_string_lossy().trim_end_matches(".rs").to_string()
}

pub fn is_test_file(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_named_so = name == "tests" || name == "testing" || name.ends_with("_tests");
    is_named_so || path.iter().any(|part| part == "tests") || only_of_tests().contains(path)
}

/// Files of modules that only tests have, as `#[cfg(test)] mod simulation;` declares them.
fn only_of_tests() -> &'static BTreeSet<PathBuf> {
    static FOUND: LazyLock<BTreeSet<PathBuf>> = LazyLock::new(|| {
        let mut found = BTreeSet::new();
        for path in files(&root(), &[".rs"]) {
            let text = fs::read_to_string(&path).expect("readable");
            let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
            let folder = if is_root { path.with_file_name("") } else { path.with_extension("") };
            for item in text.split("#[cfg(test)]\n").skip(1) {
                let line = item.lines().next().unwrap_or_default();
                let module = line.trim().rsplit_once("mod ").and_then(|(_, rest)| rest.strip_suffix(';'));
                found.extend(module.map(|module| folder.join(module).with_extension("rs")));
            }
        }
        found
    });
    &FOUND
}

/// The tool's source files with the modules that they belong to. `stats` is its own crate.
pub fn tool_files() -> Vec<(String, PathBuf)> {
    let sources = |below: &str| {
        let src = root().join(below);
        files(&src, &[".rs"]).into_iter().filter(|p| !is_test_file(p)).map(move |p| (module(&p, &src), p))
    };
    let stats = sources("crates/contend-stats/src").map(|(_, path)| ("stats".to_string(), path));
    sources("crates/contend/src").chain(stats).collect()
}

/// The source files of the slices with the names of their slices.
pub fn slice_files() -> Vec<(String, PathBuf)> {
    let slices = crates().into_iter().filter(|(_, src)| src.starts_with(root().join("slices")));
    let sources = slices.flat_map(|(slice, src)| files(&src, &[".rs"]).into_iter().map(move |p| (slice.clone(), p)));
    let found: Vec<_> = sources.filter(|(_, path)| !is_test_file(path)).collect();
    assert!(found.len() > 40, "the slices must be found: {found:?}");
    found
}

/// The source files of the Rust worker.
pub fn worker_files() -> Vec<PathBuf> {
    let all = files(&root().join("crates/contend-worker/src"), &[".rs"]);
    let found: Vec<PathBuf> = all.into_iter().filter(|path| !is_test_file(path)).collect();
    assert!(found.len() > 40, "the worker must be found: {found:?}");
    found
}

/// Requires that nothing breaks a rule. `found` names what does.
pub fn nothing_breaks(rule: &str, found: &BTreeSet<String>) {
    assert_none(found.iter().map(|name| format!("{name}: {rule}")).collect());
}

pub fn assert_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Names of the tool's modules that a text imports, from `crate::x` and `crate::{x::.., y}`.
pub fn imports(code: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = vec![];
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut item_begins = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => item_begins = true,
                        c if item_begins && depth == 0 && (c.is_alphabetic() || c == '_') => {
                            found.push(word(&group[i..]));
                            item_begins = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Paths that a text names, with groups written out: `crate::a::{b, c::d}` is `crate::a::b` and `crate::a::c::d`.
pub fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = vec![];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let declares = |before: &str| before.ends_with("mod ");
    let goes_on = |before: &str| before.ends_with(|c| is_word(c) || c == ':');
    let begins = code.char_indices().filter(|(_, c)| is_word(*c)).map(|(i, _)| i);
    let begins = begins.filter(|i| !goes_on(&code[..*i]) && !declares(&code[..*i]));
    for i in begins {
        write_out(&mut code[i..].chars().peekable(), &mut vec![], &mut found);
    }
    found
}

fn write_out(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    before: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) {
    let depth = before.len();
    loop {
        let mut word = String::new();
        while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        before.push(word);
        if rest.next_if_eq(&':').is_none() || rest.next_if_eq(&':').is_none() {
            found.push(before.clone());
            break;
        }
        if rest.next_if_eq(&'{').is_some() {
            loop {
                while rest.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
                match rest.peek() {
                    Some(c) if c.is_alphanumeric() || *c == '_' => write_out(rest, before, found),
                    _ => break,
                }
            }
            rest.next_if_eq(&'}');
            break;
        }
    }
    before.truncate(depth);
}

/// A text with its comments removed and the contents of strings and characters blank; lines stay lines.
pub fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = token(rest, out.chars().next_back());
        let (skipped, after) = rest.split_at(length);
        if length == c.len_utf8() {
            out.push(c);
        } else {
            let lines = skipped.matches('\n').count();
            let quoted = !skipped.starts_with('/');
            out.push_str(if quoted { "\"\"" } else { " " });
            out.push_str(&"\n".repeat(lines));
        }
        rest = after;
    }
    out
}

/// Bytes of the comment, string or character that a text begins with; otherwise those of its first character.
fn token(text: &str, before: Option<char>) -> usize {
    let all = text.len();
    let until = |pattern: &str, from: usize| text[from..].find(pattern).map_or(all, |at| from + at + pattern.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(all);
    }
    if text.starts_with("/*") {
        return until("*/", 2);
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let Some(raw) = text.strip_prefix('r').filter(|_| !in_word || before == Some('b')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return until(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
        }
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    let mut after = text.chars().skip(1);
    if text.starts_with('\'') && (text.starts_with("'\\") || after.nth(1) == Some('\'')) {
        return quoted(text, '\'');
    }
    first
}

fn quoted(text: &str, end: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// The part of a text up to the bracket that closes the one before it.
pub fn bracketed(text: &str) -> &str {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return &text[..i],
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// Words of a text at which a keyword stands alone, with what follows it.
pub fn after_word<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(i, _)| {
        let after = &text[i + word.len()..];
        let alone = !text[..i].ends_with(is_word) && !after.starts_with(is_word);
        alone.then_some(after)
    })
}

/// Sources of each crate: its name and the folder of its `src`.
pub fn crates() -> Vec<(String, PathBuf)> {
    let root = root();
    let below = |folder: &str| fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = below("crates").chain(below("slices")).chain(below("workers")).collect();
    found.push(root);
    found.retain(|dir| dir.join("Cargo.toml").is_file() && dir.join("src").is_dir());
    found.sort();
    let name = |dir: &Path| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    found.into_iter().map(|dir| (name(&dir), dir.join("src"))).collect()
}

/// A path relative to the repository, as exceptions name it.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
