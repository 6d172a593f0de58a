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

#[test]
fn a_common_setting_that_a_tier_replaces_is_an_error_at_its_key() {
    let of_tier = "tier = \"durable\"\nsettings = { synchronous = \"full\", busy_timeout = 7 }";
    let with = |common: &str| {
        let text = SAMPLE.replacen("settings = { journal_mode = \"delete\", synchronous = \"extra\" }", of_tier, 1);
        text.replacen("busy_timeout = 5000", &format!("busy_timeout = 5000\njournal_mode = '{common}'"), 1)
    };
    let said = error_of(&with("delete")).to_string();
    assert!(said.contains(": settings.journal_mode: is delete here, and the tier durable"), "{said}");
    assert!(said.contains("makes it wal (sqlite/"), "{said}");
    assert!(resolved(&with("wal"), CORRECTED).is_ok(), "both say the same");
}

/// (a text of the sample, the mistake that replaces it, part of the line at fault)
const MISTAKES: &[(&str, &str, &str)] = &[
    ("margin = 0.1", "margins = 0.1", "margins"),
    ("question = \"q\"", "question = ''", "question"),
    ("kind = \"load\"", "kind = \"lod\"", "kind"),
    ("margin = 0.1", "margin = 5", "margin"),
    ("margin = 0.1", "rounds = 5", "rounds = 5"),
    ("rounds = 6", "rounds = 2", "rounds = 2"),
    ("rounds = 3", "rounds = 0", "rounds = 0"),
    ("rounds = 3", "rounds = 99999999", "rounds = 99999999"),
    ("headline = \"throughput_ops_per_s\"", "headline = \"speed\"", "headline"),
    ("rounds = 6", "headline = \"speed\"", "headline = \"speed\""),
    ("[\"WAL/FULL\"]", "[\"WAL/FAST\"]", "baseline"),
    ("[\"WAL/FULL\"]", "[\"WAL/FULL\", \"safe\"]", "baseline"),
    ("busy_timeout = 5000", "busy_time = 5000", "busy_time"),
    ("busy_timeout = 5000", "busy_timeout = -1", "busy_timeout"),
    ("busy_timeout = 5000", "busy_timeout = [1]", "busy_timeout"),
    ("clients = [1, 8]", "clients = [1, 0]", "clients = [1, 0]"),
    ("clients = [1, 8]", "clients = []", "clients = []"),
    ("clients = [1, 8]", "clients = [8, 8]", "clients = [8, 8]"),
    ("clients = [1, 8]", "synchronos = ['full!']", "synchronos"),
    ("clients = [1, 8]", "journal_mode = ['wal']", "journal_mode = ['wal']"),
    ("clients = [1, 8]", "rate = ['fast']", "rate"),
    ("[\"full\", \"normal\"]", "[\"full\", \"fulll\"]", "fulll"),
    ("label = \"safe\"", "label = \"WAL/FULL\"", "[[contender]]"),
    ("label = \"safe\"", "label = \"\"", "label"),
    ("label = \"safe\"", r#"label = "WAL/FULL\u200b""#, "label"),
    ("label = \"safe\"", "driver = \"odbc\"", "driver = \"odbc\""),
    ("label = \"safe\"", "tier = \"bounded\"", "[[contender]]"),
    ("label = \"safe\"", "tier = \"best\"", "tier"),
    ("label = \"safe\"", "runs = []", "runs"),
    ("label = \"safe\"", "runs = [\"weekly\"]", "runs"),
    ("label = \"safe\"", "colour = 1", "colour"),
    ("label = \"original\"", "settings = { colour = 1 }", "colour"),
    ("window = \"2s\"", "window = \"2\"", "window"),
    ("window = \"2s\"", "window = \"0s\"", "window"),
    ("window = \"2s\"", "scale = 1", "[load]"),
    ("window = \"2s\"", "operations = 5\nrun_in = \"1s\"", "run_in"),
    ("window = \"2s\"", "window = \"2s\"\noperations = 3", "operations"),
    ("window = \"2s\"", "window = \"2s\"\nrun_in = \"x\"", "run_in"),
    ("window = \"2s\"", "window = \"2s\"\nclients = 0", "clients = 0"),
    ("window = \"2s\"", "window = \"2s\"\nrate = 0", "rate"),
    ("rounds = 6", "quick = { rounds = 6 }", "quick = {"),
    ("axis = \"clients\"", "axis = \"client\"", "axis = \"client\""),
    ("axis = \"clients\"", "axis = \"profile\"", "axis = \"profile\""),
    ("axis = \"clients\"", "axis = \"synchronous\"", "axis = \"synchronous\""),
    ("name = \"failures\"", "name = \"planned\"", "name = \"planned\""),
    ("name = \"failures\"", "name = \"marks\"", "name = \"marks\""),
    ("name = \"failures\"", "name = \"axis_clients\"", "name = \"axis_clients\""),
    ("name = \"failures\"", "name = \"Fail rate\"", "name = \"Fail"),
    ("\"conflict / planned\"", "\"\"", "value = "),
    ("\"conflict / planned\"", "\"conflict / (planned\"", "value = "),
    ("\"conflict / planned\"", "\"conflicts.pay\"", "value = "),
    ("metric = \"failures\"\nvalue", "metric = \"failure\"\nvalue", "metric = \"failure\""),
    ("\"conflict / planned\"", "\"code.x.1\"", "value = "),
    ("value = \"conflict / planned\"", "numerator = [\"conflict\"]", "numerator"),
    ("file = \"out.csv\"", "file = \"trials.csv\"", "file = "),
    ("file = \"out.csv\"", "file = \"../out.csv\"", "file = "),
    ("rows = \"cell\"", "rows = \"cells\"", "rows = "),
    ("\"safe\" = \"sure\"", "\"save\" = \"sure\"", "who"),
    ("\"safe\" = \"sure\"", "\"safe\" = \"a,b\"", "who"),
    ("name = \"fails\"", "name = \"who\"", "value = \"failures\""),
    ("value = \"failures\", ", "", "name = \"fails\""),
    ("value = \"failures\"", "value = \"1 +\"", "name = \"fails\""),
    ("decimals = 2", "decimals = 12", "name = \"fails\""),
    ("ask = \"Is it?\"", "ask = \"Is {this}?\"", "ask"),
    ("axis = \"clients\"", "axis = \"client\"", "axis = "),
    ("\"safe\" = \"locks\"", "\"save\" = \"locks\"", "because"),
    ("\"plateau\"", "\"peak\"", "tells"),
    ("this = \"WAL/FULL\"", "this = \"WAL\"", "this = \"WAL\""),
    ("this = \"WAL/FULL\"", "this = \"safe\"", "against"),
    ("this = \"WAL/FULL\"", "this = []", "this = []"),
    ("this = \"WAL/FULL\"", "this = [\"WAL/FULL\", \"WAL\"]", "this = ["),
    ("against = \"safe\"", "against = [\"safe\", \"safe\"]", "against"),
    ("this = \"WAL/FULL\"", "this = 4", "this = 4"),
    ("this = \"WAL/FULL\"", "this = \"WAL/NORMAL\"", "against"),
    ("this = \"WAL/FULL\"", "this = \"WAL/FULL\"\ncondition = \"z\"", "condition = \"z\""),
    ("slower = \"no\"", "", "[answer.words]"),
    ("slower = \"no\"", "slower = \"{speed}\"", "slower"),
    ("slower = \"no\"", "sloow = \"no\"", "sloow"),
    ("not-comparable = \"unknown\"", "not-comparable = \"{ratio}\"", "not-comparable"),
    ("[answer.words]", "[answer.facts]", "faster = "),
    ("[answer.words]", "facts = { both = 'x' }\n[answer.words]", "facts"),
    ("factor = \"synchronous\"", "factor = \"sync\"", "factor"),
    ("to = \"normal\"", "to = \"extra\"", "factor = \"synchronous\""),
    ("to = \"normal\"", "to = \"nomral\"", "nomral"),
    ("at = { journal_mode = \"wal\" }", "at = { mode = \"wal\" }", "mode = \"wal\" }"),
    ("contender = \"original\"", "contender = \"copy\"", "contender = \"copy\""),
    ("condition = \"a\"", "condition = \"c\"", "condition = \"c\""),
    ("metric = \"failures\"\nvalue", "metric = \"x\"\nvalue", "metric = \"x\""),
];

/// The messages as users see them. `INSTA_UPDATE=always cargo test` writes the snapshot again.
#[test]
fn every_mistake_names_its_line() {
    let mut messages = String::new();
    for (good, bad, line) in MISTAKES {
        assert!(SAMPLE.contains(good), "the sample has no {good}");
        let text = SAMPLE.replacen(good, bad, 1);
        let error = error_of(&text);
        let found = text.lines().nth(error.line.wrapping_sub(1)).unwrap_or_default();
        assert!(found.contains(line), "{bad}: line {} is `{found}`: {error}", error.line);
        // A table of another name makes each of its keys wrong.
        let made_up = error.further.iter().find(|further| further.message != error.message);
        assert_eq!(made_up, None, "{bad}: one mistake is one error");
        // Lists of names, such as all metrics, are longer; that they are complete is tested where they are made.
        let shown: String = error.to_string().chars().take(240).collect();
        // A new driver changes no message.
        let shown = shown.split_inclusive("; drivers are").next().unwrap_or_default();
        messages += &format!("{}\n    {shown}\n", bad.replace('\n', "\\n"));
    }
    insta::assert_snapshot!("mistakes", messages);
}

#[test]
fn a_question_about_what_is_kept_names_a_contender_of_the_study() {
    let with = |contender: &str| format!("{SAMPLE}\n[[kept]]\nask = \"What stays?\"\ncontender = \"{contender}\"\n");
    assert!(resolved(&with("safe"), CORRECTED).is_ok());
    let error = error_of(&with("save"));
    assert!(error.key == "kept[1].contender" && error.message.contains("`save`"), "{error}");
}

/// Mistakes of one file, made together.
const SEVERAL: &[&[(&str, &str)]] = &[
    &[
        ("margin = 0.1", "margn = 0.1"),
        ("busy_timeout = 5000", "busy_time = 5000"),
        ("window = \"2s\"", "window = \"2\""),
    ],
    &[
        ("journal_mode = \"wal\" }", "journal_mode = \"wall\", synchronos = 1 }"),
        ("synchronous = \"extra\" }", "synchronous = \"ekstra\" }"),
        ("metric = \"failures\"\nvalue", "metric = \"failure\"\nvalue"),
        ("rounds = 3", "rounds = 0"),
    ],
    &[
        ("this = \"WAL/FULL\"", "this = \"WAL\""),
        ("axis = \"clients\"", "axis = \"client\""),
        ("to = \"normal\"", "to = \"n\""),
    ],
    &[
        ("engine = \"sqlite\"\nlabel = \"safe\"", "engin = \"sqlite\"\nlabl = \"safe\""),
        ("rounds = 6", "rounds = \"six\""),
    ],
    // What must be there is missing.
    &[
        ("question = \"q\"\n", ""),
        ("kind = \"load\"\n", ""),
        ("headline = \"throughput_ops_per_s\"\n", ""),
        ("window = \"2s\"", "window = \"2\""),
        ("synchronous = \"extra\" }", "synchronous = \"ekstra\" }"),
    ],
];

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let mut messages = String::new();
    for mistakes in SEVERAL {
        let text = mistakes.iter().fold(SAMPLE.to_string(), |text, (good, bad)| {
            assert!(text.contains(good), "the sample has no {good}");
            text.replacen(good, bad, 1)
        });
        for line in error_of(&text).to_string().lines() {
            messages += &format!("{}\n", line.chars().take(160).collect::<String>());
        }
        messages += "\n";
    }
    insta::assert_snapshot!("several", messages);
}

/// Of any two mistakes each is reported as it is alone, or the second one is withheld; none is invented.
#[test]
fn no_mistake_is_made_up_by_another_one() {
    let alone = |bad: &str, good: &str| error_of(&SAMPLE.replacen(good, bad, 1)).message;
    let pairs = (0..MISTAKES.len()).step_by(3).map(|i| (&MISTAKES[i], &MISTAKES[(i * 7 + 3) % MISTAKES.len()]));
    for ((good, bad, _), (other_good, other_bad, _)) in pairs {
        let text = SAMPLE.replacen(good, bad, 1);
        if !text.contains(other_good) || good.contains(other_good) || other_good.contains(good) {
            continue;
        }
        let text = text.replacen(other_good, other_bad, 1);
        let Err(StudyError::File(error)) = resolved(&text, CORRECTED) else { continue };
        let known = [alone(bad, good), alone(other_bad, other_good)];
        for one in &error.further {
            assert!(known.contains(&one.message), "{bad} and {other_bad}:\n{error}\n\nknown: {known:#?}");
        }
    }
}

#[test]
fn an_error_reads_as_file_line_key_and_cause() {
    let error = error_of(&SAMPLE.replace("window = \"2s\"", "window = \"2\""));
    let start = "studies/test.toml:21: load.window: `2` is not a duration";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[test]
fn a_study_without_contenders_is_an_error() {
    let text =
        "question = 'q'\nworkload = 'w'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\n[load]\nwindow = '1s'\n";
    assert!(error_of(text).message.contains("at least one [[contender]]"));
}

#[test]
fn two_conditions_are_compared_in_facts_alone() {
    let with = |lines: &str| SAMPLE.replace("[answer.words]", &format!("{lines}\n[answer.words]"));
    let error = error_of(&with("against_condition = \"a, 8 clients\"")).message;
    assert!(error.contains("goes with `condition` and [answer.facts]"), "{error}");
    let error = error_of(&with("against_condition = \"a, 9 clients\"")).message;
    assert!(error.contains("there is no condition `a, 9 clients`"), "{error}");
}

#[test]
fn an_answer_that_may_not_tell_has_facts_and_a_sentence_for_it() {
    let with = |to: &str| error_of(&SAMPLE.replace("[answer.words]", to)).message;
    let error = with("cannot_tell_if = \"failures\"\n[answer.words]");
    assert!(error.contains("goes with [answer.facts]"), "{error}");
    let error = with("cannot_tell_if = \"failure\"\n[answer.words]");
    assert!(error.contains("there is no metric `failure`"), "{error}");
    let facts = "[answer.facts]\nneither = \"0\"\nonly-this = \"1\"\nonly-against = \"2\"\nboth = \"3\"\n";
    let from = SAMPLE.find("[answer.words]").unwrap();
    let rest = &SAMPLE[SAMPLE.find("[[effect]]").unwrap()..];
    let of = |key: &str, more: &str| error_of(&format!("{}{key}{facts}{more}{rest}", &SAMPLE[..from])).message;
    let error = of("cannot_tell_if = \"failures\"\n", "");
    assert!(error.contains("has no sentence for cannot-tell"), "{error}");
    let error = of("", "cannot-tell = \"4\"\n");
    assert!(error.contains("is not one of"), "{error}");
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
            ..Vocabulary::default()
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
        ..Vocabulary::default()
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
            ..Vocabulary::default()
        },
    );
    assert!(near.unwrap_err().to_string().ends_with("did you mean `conflict.pay`?"));
    choices.set.push(("profile".to_string(), words(&["c"])));
    start(check(&choices, &["a", "b"], &["posts"], &["pay"]), "workload w has no profile `c`");
}
