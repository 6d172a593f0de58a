//! Studies made of parts: what a part inherits, in which runs it takes part, and where its errors point.

use super::{AS_PUBLISHED, CORRECTED, QUICK, conditions, labels, names, part};
use crate::source::Source;
use crate::study::model::{Extent, Variant, Whole};
use crate::study::{Choices, StudyError, Vocabulary, check_vocabulary, parse_set, resolve, resolve_parts};

const PARTS: &str = r#"question = "Is it fast?"
workload = "w"
kind = "load"
headline = "throughput_ops_per_s"
rounds = 8
limits = ["One machine."]
[settings]
busy_timeout = 5000
[axes]
clients = [1, 8]
[[contender]]
engine = "sqlite"
label = "plain"
[load]
window = "2s"
drain = "3s"
[quick]
rounds = 6
load = { window = "1s" }
axes = { clients = [8] }
[part.writing]
about = "How fast is writing?"
rounds = 10
[part.writing.quick]
load = { run_in = "10ms" }
[part.asking]
about = "How fast is asking?"
runs = ["full", "as-published"]
headline = "response_ns_p99"
axes = { profile = ["a"] }
[[part.asking.contender]]
engine = "sqlite"
label = "wal"
settings = { journal_mode = "wal" }
[part.asking.as_published]
rounds = 3
load = { operations = 100 }
[part.alone]
about = "How did the original do?"
variant = "as-published"
beside = "writing"
rounds = 1
load = { operations = 10 }
"#;

fn whole(text: &str, choices: &Choices) -> Result<Whole, StudyError> {
    resolve_parts(&Source::new("studies/test.toml", text), choices)
}

fn run((variant, extent): (Variant, Extent)) -> Whole {
    whole(PARTS, &Choices::new(variant, extent)).unwrap_or_else(|error| panic!("{error}"))
}

fn chosen(edit: impl Fn(&mut Choices)) -> Result<Whole, String> {
    let mut choices = Choices::new(CORRECTED.0, CORRECTED.1);
    edit(&mut choices);
    whole(PARTS, &choices).map_err(|error| error.to_string())
}

#[test]
fn parts_run_in_the_order_of_the_file_where_they_take_part() {
    assert_eq!(names(&run(CORRECTED)), ["writing", "asking", "alone"]);
    assert_eq!(names(&run(QUICK)), ["writing", "alone"]);
    assert_eq!(names(&run(AS_PUBLISHED)), ["asking", "alone"], "of writing there is no original");
    assert!(run(QUICK).has_parts());
}

#[test]
fn a_part_inherits_what_it_does_not_say() {
    let full = run(CORRECTED);
    let writing = part(&full, "writing");
    assert_eq!((full.question.as_str(), writing.question.as_str()), ("Is it fast?", "How fast is writing?"));
    assert_eq!((writing.name.as_str(), writing.rounds, labels(writing)), ("test", 10, vec!["plain"]));
    assert_eq!(conditions(writing), ["1 client", "8 clients"]);
    assert_eq!(writing.contenders[0].settings["busy_timeout"], "5000");
    assert_eq!((writing.load.window_ns, writing.load.drain_ns), (2_000_000_000, 3_000_000_000));
    assert_eq!(writing.limits, ["One machine."]);
    let asking = part(&full, "asking");
    assert_eq!(
        (asking.headline.as_str(), labels(asking), conditions(asking)),
        ("response_ns_p99", vec!["wal"], vec!["a"])
    );
}

#[test]
fn overlays_of_the_top_level_say_how_long_and_not_what() {
    let quick = run(QUICK);
    let writing = part(&quick, "writing");
    assert_eq!((writing.rounds, conditions(writing)), (6, vec!["8 clients"]), "both are the top level's");
    assert_eq!((writing.load.window_ns, writing.load.run_in_ns), (1_000_000_000, 10_000_000), "load is merged");
    let text = PARTS.replace("runs = [\"full\", \"as-published\"]\n", "");
    let quick = whole(&text, &Choices::new(QUICK.0, QUICK.1)).unwrap();
    let asking = part(&quick, "asking");
    assert_eq!((asking.rounds, conditions(asking)), (6, vec!["a"]), "the axes are the part's own");
}

#[test]
fn a_part_that_is_as_published_is_so_in_every_run() {
    for run in [run(CORRECTED), run(QUICK), run(AS_PUBLISHED)] {
        let alone = part(&run, "alone");
        assert_eq!((alone.variant, alone.rounds), (Variant::AsPublished, 1), "not the quick rounds of the others");
        assert_eq!((alone.load.operations, alone.load.window_ns), (Some(10), 0));
        assert_eq!(alone.beside.as_deref(), Some("writing"));
    }
    assert_eq!(part(&run(AS_PUBLISHED), "asking").load.operations, Some(100));
}

#[test]
fn set_chooses_parts_and_reaches_those_that_know_it() {
    let set = |text: &str| chosen(|choices| choices.set = vec![parse_set(text).unwrap()]);
    assert_eq!(names(&set("part=alone,writing").unwrap()), ["writing", "alone"]);
    let profile = set("profile=b").unwrap();
    assert_eq!((conditions(part(&profile, "asking")), conditions(part(&profile, "writing")).len()), (vec!["b"], 2));
    let journal = set("journal_mode=delete,wal").unwrap();
    assert_eq!((part(&journal, "writing").contenders.len(), part(&journal, "asking").contenders.len()), (2, 1));
    for (text, message) in [
        ("part=nothing", "no part `nothing`; parts are writing, asking, alone"),
        ("colour=red", "no part of this run has it; part writing: --set colour: there is no such axis"),
        ("journal_mode=red", "part writing: --set journal_mode"),
    ] {
        let error = set(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let twice = |choices: &mut Choices| {
        choices.set = ["part=alone", "profile=b"].map(|text| parse_set(text).unwrap()).to_vec();
    };
    assert!(chosen(twice).unwrap_err().contains("part alone"), "profile is of a part that does not run");
}

#[test]
fn only_driver_and_contender_reach_the_parts_they_fit() {
    assert_eq!(names(&chosen(|choices| choices.only = vec!["plain".to_string()]).unwrap()), ["writing", "alone"]);
    let error = chosen(|choices| choices.only = vec!["red".to_string()]).unwrap_err();
    assert!(error.contains("--only red matches no contender"), "{error}");
    let null = chosen(|choices| choices.driver = Some("null".to_string())).unwrap();
    assert!(null.studies.iter().flat_map(|study| &study.contenders).all(|contender| contender.driver == "null"));
    let error = chosen(|choices| choices.driver = Some("odbc".to_string())).unwrap_err();
    assert!(error.contains("no engine of any part has it"), "{error}");
    let more = chosen(|choices| choices.contenders = vec!["sqlite:journal_mode=off".to_string()]).unwrap();
    assert!(more.studies.iter().all(|study| study.contenders.len() == 2));
    assert!(chosen(|choices| choices.rounds = Some(7)).unwrap().studies.iter().all(|study| study.rounds == 7));
}

#[test]
fn errors_name_the_part_or_the_top_level_with_the_line() {
    for (from, to, expected) in [
        ("about = \"How fast is writing?\"\n", "", "studies/test.toml:21: part.writing.about: missing field `about`"),
        ("rounds = 10", "rounds = 2", "studies/test.toml:23: part.writing.rounds: must be at least 6"),
        ("rounds = 10", "colour = 1", "studies/test.toml:23: part.writing.colour: unknown field `colour`"),
        ("runs = [\"full\", \"as-published\"]", "runs = []", "studies/test.toml:28: part.asking.runs: must name"),
        (
            "runs = [\"full\", \"as-published\"]",
            "runs = [\"slow\"]",
            "studies/test.toml:28: part.asking.runs[1]: unknown variant",
        ),
        (
            "beside = \"writing\"",
            "beside = \"alone\"",
            "studies/test.toml:41: part.alone.beside: there is no other part",
        ),
        (
            "journal_mode = \"wal\"",
            "colour = 1",
            ":34: part.asking.contender[1].settings.colour: sqlite has no setting `colour`",
        ),
        ("busy_timeout = 5000", "colour = 5000", "studies/test.toml:8: settings.colour: no engine of this study"),
        ("clients = [8]", "clients = [0]", "studies/test.toml:20: quick.axes.clients[1]: `0` is not a whole number"),
        ("run_in = \"10ms\"", "run_in = \"soon\"", "studies/test.toml:25: part.writing.quick.load.run_in:"),
        ("drain = \"3s\"", "drain = \"soon\"", "studies/test.toml:16: load.drain:"),
        ("[part.writing]", "[part.Writing]", "part.Writing: a part is a directory"),
        ("[part.writing]", "[part.trials]", "part.trials: a part is a directory"),
        ("question = \"Is it fast?\"", "", "question: the study as a whole needs a question"),
        ("workload = \"w\"", "", "part.writing.workload: missing field `workload`"),
    ] {
        assert!(PARTS.contains(from), "{from}");
        let error = whole(&PARTS.replacen(from, to, 1), &Choices::new(CORRECTED.0, CORRECTED.1)).unwrap_err();
        assert!(error.to_string().contains(expected), "{to}: {error}");
    }
    let needless = "runs = [\"as-published\"]\n[part.writing.quick]";
    let error =
        whole(&PARTS.replacen("[part.writing.quick]", needless, 1), &Choices::new(QUICK.0, QUICK.1)).unwrap_err();
    assert!(error.to_string().contains("part.writing.runs: names as-published, but"), "{error}");
}

#[test]
fn names_of_the_workload_are_looked_for_in_the_part() {
    let source = Source::new("studies/test.toml", PARTS);
    let whole = run(CORRECTED);
    let vocabulary = |profile: &str| Vocabulary { profiles: vec![profile.to_string()], ..Vocabulary::default() };
    assert_eq!(check_vocabulary(&source, part(&whole, "asking"), &vocabulary("a")), Ok(()));
    let error = check_vocabulary(&source, part(&whole, "asking"), &vocabulary("b")).unwrap_err().to_string();
    assert!(
        error.starts_with("studies/test.toml:30: part.asking.axes.profile[1]: workload w has no profile"),
        "{error}"
    );
}

#[test]
fn a_number_of_clients_that_every_role_sets_itself_is_a_mistake_of_who_sets_it() {
    let names = Vocabulary { profiles: vec!["a".to_string()], own_counts: vec!["clients"], ..Vocabulary::default() };
    let check = |text: &str, name: &str| {
        let whole = whole(text, &Choices::new(CORRECTED.0, CORRECTED.1)).unwrap();
        check_vocabulary(&Source::new("s.toml", text), part(&whole, name), &names).map_err(|error| error.to_string())
    };
    let inherited = PARTS.replace("drain = \"3s\"", "drain = \"3s\"\nclients = 4");
    assert_eq!(check(&inherited, "writing"), Ok(()), "other parts may need it");
    let own = PARTS.replace("run_in = \"10ms\"", "run_in = \"10ms\", clients = 4");
    let error =
        "s.toml:25: part.writing.quick.load.clients: changes nothing: every role of workload w has its own number";
    assert_eq!(check(&own, "writing"), Err(error.to_string()));
    let both = own.replace("drain = \"3s\"", "drain = \"3s\"\nclients = 4");
    assert_eq!(
        check(&both, "writing"),
        Err(error.replace("25", "26")),
        "it is found although the part inherits one, too"
    );
    assert_eq!(check(&own.replace("clients = 4", "processes = 4"), "writing"), Ok(()));
    let alone = inherited.split("[part.writing]").next().unwrap();
    let study = resolve(&Source::new("s.toml", alone), &Choices::new(CORRECTED.0, CORRECTED.1)).unwrap();
    let said = check_vocabulary(&Source::new("s.toml", alone), &study, &names).unwrap_err().to_string();
    assert!(said.starts_with("s.toml:17: load.clients: changes nothing"), "{said}");
}

#[test]
fn a_study_without_parts_is_its_own_only_one() {
    let text = PARTS.split("[part.writing]").next().unwrap();
    let choices = Choices::new(CORRECTED.0, CORRECTED.1);
    let whole = whole(text, &choices).unwrap();
    assert!(!whole.has_parts() && whole.studies.len() == 1);
    assert_eq!(whole.studies[0], resolve(&Source::new("studies/test.toml", text), &choices).unwrap());
    let error = resolve(&Source::new("studies/test.toml", PARTS), &choices).unwrap_err();
    assert!(error.to_string().contains("has parts"), "{error}");
}
