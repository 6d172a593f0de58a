//! Names cut to a number of characters, so that the telling part stays. `~` stands for what is left out.

use std::collections::{BTreeMap, BTreeSet};

/// A name for each program, of at most `chars` characters. Of an interpreter the script stays; a longer one is cut in the
/// middle. Programs that would then have equal names are shown from the place at which they differ, or else numbered.
pub fn names<'n>(programs: impl Iterator<Item = &'n str>, chars: usize) -> BTreeMap<&'n str, String> {
    let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    programs.for_each(|program| _ = alike.entry(name(program, chars)).or_default().insert(program));
    let (single, alike): (Vec<_>, Vec<_>) = alike.into_iter().partition(|(_, programs)| programs.len() == 1);
    let mut names: BTreeMap<&str, String> = single
        .into_iter()
        .flat_map(|(name, programs)| programs.into_iter().map(move |one| (one, name.clone())))
        .collect();
    let mut taken: BTreeSet<String> = names.values().cloned().collect();
    for programs in alike.into_iter().map(|(_, programs)| Vec::from_iter(programs)) {
        // In order, those that share most are next to each other.
        let shared: Vec<usize> = programs.windows(2).map(|pair| shared(pair[0], pair[1])).collect();
        for (place, program) in programs.iter().copied().enumerate() {
            let before = place.checked_sub(1).map_or(0, |before| shared[before]);
            let after = shared.get(place).copied().unwrap_or(0);
            let numbered = (2..).map(|n| format!("~{n}")).map(|end| {
                let room = chars.saturating_sub(end.len());
                program.chars().take(room).collect::<String>() + &end
            });
            let parts = [before.max(after), before.min(after)].map(|at| from(program, at, chars));
            let name = parts.into_iter().chain(numbered).find(|name| taken.insert(name.clone()));
            names.extend(name.map(|name| (program, name)));
        }
    }
    names
}

/// Number of characters at the beginning that two texts share.
fn shared(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

fn name(program: &str, chars: usize) -> String {
    let script = program.split_once(' ').map_or(program, |(_, script)| script);
    let (length, script_length) = (program.chars().count(), script.chars().count());
    if length <= chars {
        return program.to_string();
    }
    if script_length <= chars {
        return script.to_string();
    }
    // The end says more: paths and the kinds of files are there.
    let beginning: String = script.chars().take(chars / 4).collect();
    beginning + &end(script, chars - chars / 4)
}

/// The end of a text, such as that of a path.
pub fn end(text: &str, chars: usize) -> String {
    from(text, usize::MAX, chars)
}

/// A part of a text that begins at this character or, if there is room, before it.
fn from(text: &str, at: usize, chars: usize) -> String {
    let length = text.chars().count();
    if length <= chars {
        return text.to_string();
    }
    let at = at.min(length + 1 - chars.max(1));
    let (before, is_cut) = (if at > 0 { "~" } else { "" }, length - at + usize::from(at > 0) > chars);
    let room = chars.saturating_sub(before.len() + usize::from(is_cut));
    let part: String = text.chars().skip(at).take(room).collect();
    format!("{before}{part}{}", if is_cut { "~" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_part_of_a_name_stays() {
        for (program, short) in [
            ("sqlite3", "sqlite3"),
            ("python3 a.py", "python3 a.py"),
            ("python3 import.py", "import.py"),
            ("python3 import_everything.py", "imp~thing.py"),
            ("an-unusually-long-name", "an-~ong-name"),
            ("größenänderungsdienst", "grö~gsdienst"),
        ] {
            assert_eq!(name(program, 12), short);
        }
        assert_eq!(end("/srv/data/of/app.db", 10), "~of/app.db");
        assert_eq!(end("app.db", 6), "app.db");
    }

    #[test]
    fn programs_that_differ_have_names_that_differ() {
        for programs in [
            ["python3 import_customers.py", "python3 import_orders.py"],
            ["python3 worker-0001-of-shop.py", "python3 worker-0002-of-shop.py"],
            ["php import.php app", "node import.php app"],
            ["an-unusually-long-name-a", "an-unusually-long-name-b"],
        ] {
            let names = names(programs.into_iter(), 10);
            let [one, other] = programs.map(|program| names[program].clone());
            assert!(one != other && one.chars().count() <= 10 && other.chars().count() <= 10, "{one}, {other}");
        }
        let of_two = names(["python3 import_customers.2.py", "python3 import_others.2.py"].into_iter(), 10);
        assert_eq!(of_two.into_values().collect::<Vec<_>>(), ["~customer~", "~others.2~"]);
    }

    #[test]
    fn three_and_more_programs_have_names_that_differ() {
        let long = |from: &str, to: &str| format!("python3 {from}-of-the-shop-in-the-north-{to}.py");
        for programs in [
            ["a-of-the-shop-1", "b-of-the-shop-1", "b-of-the-shop-2"].map(|middle| long(middle, "1")).into(),
            vec![long("job-a", "11"), long("job-a", "21"), long("job-b", "11"), long("job-b", "21")],
            // What two of them become is the name of another one.
            vec!["import_customers.2.py".into(), "import_others.2.py".into(), "~customer~".into()],
        ] {
            let names = names(programs.iter().map(String::as_str), 10);
            let different: BTreeSet<&String> = names.values().collect();
            assert_eq!((names.len(), different.len()), (programs.len(), programs.len()), "{names:?}");
            assert!(different.iter().all(|name| name.chars().count() <= 10), "{names:?}");
        }
    }
}
