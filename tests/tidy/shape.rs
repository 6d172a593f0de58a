//! The shape of the house: no circle of files, one type in at most two files, few parameters.

use super::names::{Crate, File, Graph};
use super::source::{after_word, bare, bracketed, crates, files, nothing_breaks, root, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most parameters of a function in addition to `self`.
const PARAMETERS_MAX: usize = 5;

/// Most files with an `impl` of one type.
const IMPL_FILES_MAX: usize = 2;

fn reachable(graph: &Graph, from: &Path) -> BTreeSet<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&PathBuf> = graph.get(from).into_iter().flatten().collect();
    while let Some(file) = open.pop() {
        if seen.insert(file.clone()) {
            open.extend(graph.get(file).into_iter().flatten());
        }
    }
    seen
}

/// Files that reach themselves.
fn circular(graph: &Graph) -> BTreeSet<&PathBuf> {
    graph.keys().filter(|file| reachable(graph, file).contains(*file)).collect()
}

#[test]
fn no_circle_of_files() {
    let mut found = BTreeSet::new();
    for (_, src) in crates() {
        let graph = Crate::read(&src).graph();
        let circular = circular(&graph);
        for file in &circular {
            found.insert(shown(&src.join(file)));
            let to: Vec<String> =
                graph[*file].iter().filter(|to| circular.contains(to)).map(|to| to.display().to_string()).collect();
            println!("{} -> {}", shown(&src.join(file)), to.join(", "));
        }
    }
    nothing_breaks("is in a circle of files (each file in it, with what it names there, is printed above)", &found);
}

/// Paths of the types that a text implements something for: `Type` in `impl Type` and `impl Trait for Type`.
fn implemented(code: &str) -> Vec<Vec<String>> {
    let heads = after_word(code, "impl").filter_map(|rest| {
        let rest = rest.trim_start();
        // Of a function that returns `impl Trait` no block follows before the next sign.
        let head = rest.split(['{', ';']).next()?;
        let head = if head.starts_with('<') { &head[generics(head)..] } else { head };
        let head = head.split(" where ").next()?;
        let head = head.split_once(" for ").map_or(head, |(_, of)| of);
        let name = head.trim().trim_start_matches(['&', ' ']).split('<').next()?;
        Some(name.trim().split("::").map(str::to_string).collect::<Vec<_>>())
    });
    let is_name = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    heads.filter(|path| path.iter().all(is_name)).collect()
}

/// Bytes of the `<...>` that a text begins with.
fn generics(text: &str) -> usize {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if text[..i].ends_with(['-', '=']) => {}
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    text.len()
}

/// Blocks `impl` begin a line; elsewhere the word is part of a type.
fn blocks(code: &str) -> String {
    let lines = code
        .lines()
        .map(|line| if line.trim_start().starts_with("impl") { line.to_string() } else { line.replace("impl ", "") });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn one_type_in_at_most_two_files() {
    let mut found = BTreeSet::new();
    for (crate_name, src) in crates() {
        let of_crate = Crate::read(&src);
        let mut of_type: BTreeMap<(PathBuf, String), BTreeSet<&PathBuf>> = BTreeMap::new();
        for (file, File { text, .. }) in &of_crate.files {
            for path in implemented(&blocks(text)) {
                let name = path.last().cloned().unwrap_or_default();
                let defines = |kind| after_word(text, kind).any(|rest| first_word(rest) == name);
                let here = path.len() == 1 && (defines("struct") || defines("enum"));
                let home = if here { Some(file.clone()) } else { of_crate.imported(&path, file) };
                if let Some(home) = home {
                    of_type.entry((home, name)).or_default().insert(file);
                }
            }
        }
        for ((home, name), places) in of_type.iter().filter(|(_, places)| places.len() > IMPL_FILES_MAX) {
            println!("{crate_name}: {name} of {}: {} files", home.display(), places.len());
            found.insert(format!("{}: {name}", shown(&src.join(home))));
        }
    }
    nothing_breaks("is implemented in more than two files", &found);
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Functions of a text with the number of their parameters, without `self`. Those of a block `impl Trait for Type` have
/// them from the trait.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut own = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\nimpl") {
        let head = rest[at + 1..].find('{').map_or(rest.len(), |i| at + 1 + i);
        own.push_str(&rest[..at]);
        let body = bracketed(rest.get(head + 1..).unwrap_or_default());
        let ends = (head + 1 + body.len()).min(rest.len());
        if !rest[at..head].contains(" for ") {
            own.push_str(&rest[at..ends]);
        }
        rest = &rest[ends..];
    }
    own.push_str(rest);
    let of = |rest: &str| {
        let (name, rest) = (first_word(rest), rest.trim_start());
        let rest = rest[name.len()..].trim_start();
        let rest = if rest.starts_with('<') { rest[generics(rest)..].trim_start() } else { rest };
        (!name.is_empty()).then(|| rest.strip_prefix('('))?.map(|inside| (name, parameters(bracketed(inside))))
    };
    after_word(&own, "fn").filter_map(of).collect()
}

fn parameters(list: &str) -> usize {
    let (mut depth, mut all, mut current) = (0, vec![], String::new());
    for c in list.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if current.ends_with(['-', '=']) => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => all.push(std::mem::take(&mut current)),
            _ => {}
        }
        if c != ',' || depth > 0 {
            current.push(c);
        }
    }
    all.push(current);
    let is_self = |text: &str| text.split(':').next().unwrap_or_default().split([' ', '&']).any(|word| word == "self");
    all.iter().filter(|text| !text.trim().is_empty() && !is_self(text)).count()
}

#[test]
fn at_most_five_parameters() {
    let mut found = BTreeSet::new();
    let mut seen = 0;
    for path in files(&root(), &[".rs"]) {
        let text = bare(&fs::read_to_string(&path).expect("readable"));
        let functions = functions(&text);
        seen += functions.len();
        let many = functions.iter().filter(|(_, count)| *count > PARAMETERS_MAX);
        found.extend(many.map(|(name, _)| format!("{}: {name}", shown(&path))));
    }
    assert!(seen > 4_000, "functions must be found: {seen}");
    nothing_breaks("has more than five parameters", &found);
}

#[test]
fn the_scanners_see_what_is_there() {
    let text = "struct A; // impl B\nimpl<T: Fn() -> u8> Show for A { fn own(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {} }\n\
                impl Other<'_> {\n fn f<F: Fn(u8, u8) -> u8>(&mut self, a: Map<u8, u8>, (b, c): (u8, u8), d: F) -> impl X {} }\n\
                fn g(text: &str, c: char) { call(\"fn h(a, b)\", '\"', r#\"impl C {\"#) }\n";
    let code = bare(text);
    assert_eq!(implemented(&blocks(&code)), [["A"], ["Other"]]);
    assert_eq!(functions(&code), [("f".to_string(), 3), ("g".to_string(), 2)]);
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]
        .into_iter()
        .map(|(from, to)| (PathBuf::from(from), BTreeSet::from([PathBuf::from(to)])))
        .collect();
    assert_eq!(circular(&graph).into_iter().map(|p| p.display().to_string()).collect::<Vec<_>>(), ["b", "c"]);
}
