//! Every mistake in a study file is reported at its line.

use super::{CORRECTED, SAMPLE, resolved};
use crate::source::{FileError, Source};
use crate::study::{Choices, StudyError, Vocabulary, check_vocabulary, resolve};

fn error_of(text: &str) -> FileError {
    match resolved(text, CORRECTED) {
        Err(StudyError::File(error)) => error,
        other => panic!("not an error of the file: {other:?}"),
    }
}

/// (what stands in the sample, what is put there, part of the line with the fault, part of the message)
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("margin = 0.1", "margins = 0.1", "margins", "did you mean `margin`?"),
    ("question = \"q\"", "question = ''", "question", "must not be empty"),
    ("kind = \"load\"", "kind = \"lod\"", "kind", "unknown variant"),
    ("margin = 0.1", "margin = 5", "margin", "fraction"),
    ("margin = 0.1", "rounds = 5", "rounds = 5", "at least 6"),
    ("rounds = 6", "rounds = 2", "rounds = 2", "at least 6"),
    ("rounds = 3", "rounds = 0", "rounds = 0", "at least 1"),
    ("rounds = 3", "rounds = 99999999", "rounds = 99999999", "at most 10000"),
    ("headline = \"throughput_ops_per_s\"", "headline = \"speed\"", "headline", "metrics are failures, throughput"),
    ("rounds = 6", "headline = \"speed\"", "headline = \"speed\"", "there is no metric"),
    ("[\"WAL/FULL\"]", "[\"WAL/FAST\"]", "baseline", "contenders are `WAL/FULL`"),
    ("[\"WAL/FULL\"]", "[\"WAL/FULL\", \"safe\"]", "baseline", "a tier has one baseline"),
    ("busy_timeout = 5000", "busy_time = 5000", "busy_time", "no engine of this study"),
    ("busy_timeout = 5000", "busy_timeout = -1", "busy_timeout", "whole number from 0"),
    ("busy_timeout = 5000", "busy_timeout = [1]", "busy_timeout", "must be a text, a number"),
    ("clients = [1, 8]", "clients = [1, 0]", "clients = [1, 0]", "`0` is no whole number above 0"),
    ("clients = [1, 8]", "clients = []", "clients = []", "at least one value"),
    ("clients = [1, 8]", "clients = [8, 8]", "clients = [8, 8]", "is there twice"),
    ("clients = [1, 8]", "synchronos = ['full!']", "synchronos", "no setting"),
    ("clients = [1, 8]", "journal_mode = ['wal']", "journal_mode = ['wal']", "every contender says this itself"),
    ("clients = [1, 8]", "rate = ['fast']", "rate", "no number above 0"),
    ("[\"full\", \"normal\"]", "[\"full\", \"fulll\"]", "fulll", "is one of off, normal"),
    ("label = \"safe\"", "label = \"WAL/FULL\"", "[[contender]]", "two contenders are called `WAL/FULL`"),
    ("label = \"safe\"", "label = \"\"", "label", "must not be empty"),
    ("label = \"safe\"", "driver = \"odbc\"", "[[contender]]", "drivers are rusqlite"),
    ("label = \"safe\"", "tier = \"bounded\"", "[[contender]]", "tier is to be bounded"),
    ("label = \"safe\"", "tier = \"best\"", "tier", "tiers are durable"),
    ("label = \"safe\"", "runs = []", "runs", "at least one of quick, full"),
    ("label = \"safe\"", "runs = [\"weekly\"]", "runs", "unknown variant"),
    ("label = \"safe\"", "colour = 1", "colour", "unknown field"),
    ("label = \"original\"", "settings = { colour = 1 }", "colour", "settings are journal_mode"),
    ("window = \"2s\"", "window = \"2\"", "window", "no duration"),
    ("window = \"2s\"", "window = \"0s\"", "window", "longer than 0"),
    ("window = \"2s\"", "scale = 1", "[load]", "neither `window` nor `operations`"),
    ("window = \"2s\"", "operations = 5\nrun_in = \"1s\"", "run_in", "counts all of them"),
    ("window = \"2s\"", "window = \"2s\"\noperations = 3", "operations", "not both"),
    ("window = \"2s\"", "window = \"2s\"\nrun_in = \"x\"", "run_in", "no duration"),
    ("window = \"2s\"", "window = \"2s\"\nclients = 0", "clients = 0", "at least 1"),
    ("window = \"2s\"", "window = \"2s\"\nrate = 0", "rate", "more than 0"),
    ("rounds = 6", "quick = { rounds = 6 }", "quick = {", "no quick form of its own"),
    ("name = \"failures\"", "name = \"planned\"", "name = \"planned\"", "already a metric"),
    ("name = \"failures\"", "name = \"Fail rate\"", "name = \"Fail", "lower-case"),
    ("\"conflict / planned\"", "\"\"", "value = ", "at character 1: it ends"),
    ("\"conflict / planned\"", "\"conflict / (planned\"", "value = ", "a `)` is missing"),
    ("\"conflict / planned\"", "\"conflicts.pay\"", "value = ", "did you mean `conflict.pay`?"),
    ("metric = \"failures\"\nvalue", "metric = \"failure\"\nvalue", "metric = \"failure\"", "did you mean `failures`?"),
    ("\"conflict / planned\"", "\"code.x.1\"", "value = ", "names no code"),
    ("value = \"conflict / planned\"", "numerator = [\"conflict\"]", "numerator", "unknown field"),
    ("file = \"out.csv\"", "file = \"trials.csv\"", "file = ", "a report has a trials.csv of its own"),
    ("file = \"out.csv\"", "file = \"../out.csv\"", "file = ", "must be letters, digits"),
    ("rows = \"cell\"", "rows = \"cells\"", "rows = ", "did you mean `cell`?"),
    ("\"safe\" = \"sure\"", "\"save\" = \"sure\"", "who", "there is no contender `save`"),
    ("\"safe\" = \"sure\"", "\"safe\" = \"a,b\"", "who", "without commas"),
    ("name = \"fails\"", "name = \"who\"", "value = \"failures\"", "twice"),
    ("value = \"failures\", ", "", "name = \"fails\"", "either `contender` or `value`"),
    ("value = \"failures\"", "value = \"1 +\"", "name = \"fails\"", "at character 4"),
    ("decimals = 2", "decimals = 12", "name = \"fails\"", "9 or less"),
    ("ask = \"Is it?\"", "ask = \"Is {this}?\"", "ask", "cannot fill in {this}"),
    ("axis = \"clients\"", "axis = \"client\"", "axis = ", "axes are clients, profile, synchronous"),
    ("\"safe\" = \"locks\"", "\"save\" = \"locks\"", "because", "there is no contender `save`"),
    ("\"plateau\"", "\"peak\"", "tells", "unknown variant"),
    ("this = \"WAL/FULL\"", "this = \"WAL\"", "this = \"WAL\"", "contenders are `WAL/FULL`"),
    ("this = \"WAL/FULL\"", "this = \"safe\"", "against", "the same contender"),
    ("this = \"WAL/FULL\"", "this = []", "this = []", "at least one contender"),
    ("this = \"WAL/FULL\"", "this = [\"WAL/FULL\", \"WAL\"]", "this = [", "contenders are `WAL/FULL`"),
    ("against = \"safe\"", "against = [\"safe\", \"safe\"]", "against", "needs one, or 1 as `this` has"),
    ("this = \"WAL/FULL\"", "this = 4", "this = 4", "a label, or a list of labels"),
    ("this = \"WAL/FULL\"", "this = \"WAL/NORMAL\"", "against", "different tiers get no verdict"),
    ("this = \"WAL/FULL\"", "this = \"WAL/FULL\"\ncondition = \"z\"", "condition = \"z\"", "conditions are `a`"),
    ("slower = \"no\"", "", "[answer.words]", "has no sentence for slower"),
    ("slower = \"no\"", "slower = \"{speed}\"", "slower", "cannot fill in {speed}"),
    ("slower = \"no\"", "sloow = \"no\"", "sloow", "is none of faster"),
    ("not-comparable = \"unknown\"", "not-comparable = \"{ratio}\"", "not-comparable", "cannot fill in {ratio}"),
    ("[answer.words]", "[answer.facts]", "cannot-tell = ", "is none of neither"),
    ("[answer.words]", "facts = { both = 'x' }\n[answer.words]", "facts", "either words or facts"),
    ("factor = \"synchronous\"", "factor = \"sync\"", "factor", "no contender of this study has a setting"),
    ("to = \"normal\"", "to = \"extra\"", "factor = \"synchronous\"", "no two contenders differ"),
    ("to = \"normal\"", "to = \"nomral\"", "nomral", "is one of off"),
    ("at = { journal_mode = \"wal\" }", "at = { mode = \"wal\" }", "mode = \"wal\" }", "has a setting `mode`"),
    ("contender = \"original\"", "contender = \"copy\"", "contender = \"copy\"", "there is no contender"),
    ("condition = \"a\"", "condition = \"c\"", "condition = \"c\"", "there is no condition"),
    ("metric = \"failures\"\nvalue", "metric = \"x\"\nvalue", "metric = \"x\"", "there is no metric"),
];

#[test]
fn every_mistake_names_its_line() {
    for (good, bad, line, message) in MISTAKES {
        assert!(SAMPLE.contains(good), "the sample has no {good}");
        let text = SAMPLE.replacen(good, bad, 1);
        let error = error_of(&text);
        let found = text.lines().nth(error.line.wrapping_sub(1)).unwrap_or_default();
        assert!(error.message.contains(message), "{bad}: {error}");
        assert!(found.contains(line), "{bad}: line {} is `{found}`: {error}", error.line);
    }
}

#[test]
fn an_error_reads_as_file_line_key_and_cause() {
    let error = error_of(&SAMPLE.replace("window = \"2s\"", "window = \"2\""));
    let start = "studies/test.toml:21: load.window: `2` is no duration";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[test]
fn a_study_without_contenders_is_an_error() {
    let text =
        "question = 'q'\nworkload = 'w'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\n[load]\nwindow = '1s'\n";
    assert!(error_of(text).message.contains("at least one [[contender]]"));
}

#[test]
fn an_answer_without_sentences_is_an_error() {
    let from = SAMPLE.find("[answer.words]").unwrap();
    let to = SAMPLE.find("[[effect]]").unwrap();
    let error = error_of(&format!("{}{}", &SAMPLE[..from], &SAMPLE[to..]));
    assert_eq!((error.line, error.key.as_str()), (36, "answer[1]"), "{error}");
}

#[test]
fn names_of_the_workload_are_checked_against_it() {
    let text =
        SAMPLE.replace("clients = [1, 8]", "posts = [10]").replace("conflict /", "conflict.pay / posts * elapsed_s /");
    let text = text.replace("axis = \"clients\"", "axis = \"posts\"");
    let source = Source::new("s.toml", &text);
    let mut choices = Choices::new(CORRECTED.0, CORRECTED.1);
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let check = |choices: &Choices, profiles: &[&str], scale: &[&str], transactions: &[&str]| {
        let workload = Vocabulary {
            profiles: words(profiles),
            scale: words(scale),
            transactions: words(transactions),
            tables: vec![],
        };
        check_vocabulary(&source, &resolve(&source, choices).unwrap(), &workload).map_err(|e| e.to_string())
    };
    assert_eq!(check(&choices, &["a", "b"], &["posts"], &["pay"]), Ok(()));
    let start = |result: Result<(), String>, start: &str| {
        let message = result.unwrap_err();
        assert!(message.starts_with(start), "{message}");
    };
    start(check(&choices, &["a"], &["posts"], &["pay"]), "s.toml:10: axes.profile[2]: workload w has no profile `b`");
    start(
        check(&choices, &["a", "b"], &["rows"], &["pay"]),
        "s.toml:11: axes.posts[1]: workload w has no scale `posts`",
    );
    start(
        check(&choices, &["a", "b"], &["posts"], &["buy"]),
        "s.toml:34: metric[1].value: the workload has no transaction `pay`",
    );
    let odd = Source::new("s.toml", text.replace("value = \"failures\"", "value = \"failure / zzz\""));
    let vocabulary = Vocabulary {
        profiles: words(&["a", "b"]),
        scale: words(&["posts"]),
        transactions: words(&["pay"]),
        tables: vec![],
    };
    let error = check_vocabulary(&odd, &resolve(&odd, &choices).unwrap(), &vocabulary).unwrap_err().to_string();
    assert!(error.contains("export[1].columns[2].value: there is no `failure`; did you mean `failures`?"), "{error}");
    let text = text.replace("conflict.pay", "conflict.bay");
    let near = check_vocabulary(
        &Source::new("s.toml", text.clone()),
        &resolve(&Source::new("s.toml", text), &choices).unwrap(),
        &Vocabulary {
            profiles: words(&["a", "b"]),
            scale: words(&["posts"]),
            transactions: words(&["pay"]),
            tables: vec![],
        },
    );
    assert!(near.unwrap_err().to_string().ends_with("did you mean `conflict.pay`?"));
    choices.set.push(("profile".to_string(), words(&["c"])));
    start(check(&choices, &["a", "b"], &["posts"], &["pay"]), "workload w has no profile `c`");
}
