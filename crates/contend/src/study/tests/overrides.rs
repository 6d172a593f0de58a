//! Overrides from the command line.

use super::{CORRECTED, QUICK, SAMPLE, conditions, labels, resolved};
use crate::source::Source;
use crate::study::model::{Absence, Extent, LeftOut, Study, Variant};
use crate::study::{Choices, StudyError, parse_set, resolve};

fn run(change: impl FnOnce(&mut Choices)) -> Result<Study, String> {
    run_edition(CORRECTED, change)
}

fn run_edition((variant, extent): (Variant, Extent), change: impl FnOnce(&mut Choices)) -> Result<Study, String> {
    let mut choices = Choices::new(variant, extent);
    change(&mut choices);
    resolve(&Source::new("studies/test.toml", SAMPLE), &choices).map_err(|error| match error {
        StudyError::Usage(message) => message,
        StudyError::File(error) => panic!("blames the file: {error}"),
    })
}

fn set(text: &str) -> impl FnOnce(&mut Choices) {
    let set = parse_set(text).unwrap();
    move |choices| choices.set.push(set)
}

#[test]
fn numbers_are_replaced() {
    let study = run(|choices| {
        choices.rounds = Some(2);
        choices.processes = Some(4);
        choices.rate_per_s = Some(100.0);
        choices.scale = Some(0.5);
        choices.seed = Some(9);
        choices.window_ns = Some(7);
    })
    .unwrap();
    let load = &study.load;
    assert_eq!((study.rounds, load.rate_per_s), (2, Some(100.0)));
    assert!(conditions(&study).iter().all(|label| label.contains("4 processes")), "{:?}", conditions(&study));
    assert_eq!((load.scale, load.seed, load.window_ns, load.model()), (0.5, 9, 7, "open"));
}

#[test]
fn an_override_of_an_axis_leaves_one_value() {
    let study = run(|choices| choices.clients = Some(3)).unwrap();
    assert_eq!(conditions(&study), ["a, 3 clients", "b, 3 clients"]);
    assert_eq!(study.load.clients, None);
}

#[test]
fn a_size_that_the_study_does_not_vary_is_in_no_label_unless_changed() {
    let text = SAMPLE.replacen("[axes]", "[axes]\nposts = [7]", 1);
    let run = |set: &[&str]| {
        let mut choices = Choices::new(Variant::Corrected, Extent::Full);
        choices.set = set.iter().map(|text| parse_set(text).unwrap()).collect();
        resolve(&Source::new("studies/test.toml", &text), &choices).unwrap()
    };
    let study = run(&[]);
    assert!(study.conditions.iter().all(|c| c.axes["posts"] == "7" && !c.label.contains("posts")));
    assert_eq!(conditions(&run(&["posts=8"]))[0], "a, 1 client, posts=8");
    assert_eq!(conditions(&run(&["posts=7,8"]))[..2], ["a, 1 client", "a, 1 client, posts=8"]);
}

#[test]
fn the_duration_is_an_axis_of_every_study() {
    let study = run(set("duration=500ms,10000ms")).unwrap();
    assert_eq!(conditions(&study)[..2], ["a, 1 client, 500ms long", "a, 1 client, 10s long"]);
    let lengths: Vec<u64> = study.conditions[..2].iter().map(|c| study.load.under(&c.axes).window_ns).collect();
    assert_eq!(lengths, [500_000_000, 10_000_000_000]);
    let one = run(|choices| {
        choices.set.push(parse_set("duration=500ms,10s").unwrap());
        choices.window_ns = Some(2_000_000_000);
    });
    assert_eq!(conditions(&one.unwrap())[0], "a, 1 client, 2s long", "--window leaves one value");
    for (wrong, why) in [("duration=0s", "longer than 0"), ("duration=10", "number with its unit")] {
        let message = run(set(wrong)).unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn set_replaces_and_adds_axes() {
    assert_eq!(conditions(&run(set("clients=2,4")).unwrap())[..2], ["a, 2 clients", "a, 4 clients"]);
    assert_eq!(labels(&run(set("synchronous=NORMAL")).unwrap()), ["WAL/NORMAL", "safe"]);
    assert_eq!(conditions(&run(set("scale=10")).unwrap())[0], "a, 1 client, scale 10");
    assert_eq!(
        labels(&run_edition(QUICK, set("begin=deferred,immediate")).unwrap()),
        ["WAL/FULL, deferred", "WAL/FULL, immediate", "safe, deferred", "safe, immediate"]
    );
    // 5000 is what the common settings say, so it is not repeated.
    assert_eq!(
        labels(&run_edition(QUICK, set("busy_timeout=0,5000")).unwrap()),
        ["WAL/FULL, busy_timeout=0", "WAL/FULL", "safe, busy_timeout=0", "safe"]
    );
}

#[test]
fn contenders_are_added_with_the_common_settings() {
    let study = run(|choices| choices.contenders.push("sqlite:tier=bounded,begin=exclusive".to_string())).unwrap();
    assert_eq!(labels(&study), ["WAL/FULL", "WAL/NORMAL", "safe", "WAL/NORMAL, exclusive"]);
    assert_eq!(
        study.contenders[3].name,
        "sqlite/rusqlite/thread:begin=exclusive,busy_timeout=5000,journal_mode=wal,synchronous=normal"
    );
}

#[test]
fn an_added_contender_is_labelled_by_how_it_differs_and_renames_no_other() {
    let study = run(|choices| choices.contenders.push("sqlite/null:busy_timeout=0".to_string())).unwrap();
    assert_eq!(labels(&study), ["WAL/FULL", "WAL/NORMAL", "safe", "null, DELETE/FULL, busy_timeout=0"]);
}

#[test]
fn a_driver_replaces_that_of_every_contender() {
    let study = run(|choices| choices.driver = Some("null".to_string())).unwrap();
    assert!(study.contenders.iter().all(|contender| contender.driver == "null"));
    assert_eq!(labels(&study), ["WAL/FULL", "WAL/NORMAL", "safe"]);
}

#[test]
fn only_keeps_what_matches() {
    for (pattern, kept) in [
        ("wal/full", &["WAL/FULL"][..]),
        ("WAL", &["WAL/FULL", "WAL/NORMAL"]),
        ("*normal", &["WAL/NORMAL"]),
        ("journal_mode=delete", &["safe"]),
    ] {
        let study = run(|choices| choices.only = vec![pattern.to_string()]).unwrap();
        assert_eq!(labels(&study), kept, "{pattern}");
    }
}

#[test]
fn a_tier_whose_baseline_is_left_out_takes_its_first_contender() {
    let study = run(|choices| choices.only = vec!["safe".to_string()]).unwrap();
    assert_eq!(study.baselines, [study.contenders[0].name.clone()]);
    assert!(study.answers.is_empty());
}

#[test]
fn an_override_that_does_not_fit_says_what_would() {
    type Change = Box<dyn FnOnce(&mut Choices)>;
    let contender =
        |spec: &'static str| -> Change { Box::new(move |choices| choices.contenders.push(spec.to_string())) };
    let set = |text: &'static str| -> Change { Box::new(set(text)) };
    let cases: Vec<(Change, &str)> = vec![
        (set("speed=1"), "the study's axes are clients, profile, synchronous; also possible are"),
        (set("clients=none"), "--set clients: `none` is not a whole number above 0"),
        (set("synchronous=fast"), "is one of off, normal, full, extra"),
        (set("journal_mode=wal"), "every contender of this study sets `journal_mode` itself"),
        (
            Box::new(|choices| {
                choices.set = vec![parse_set("clients=1").unwrap(), parse_set("clients=2").unwrap()];
            }),
            "--set clients is given twice",
        ),
        (contender("oracle"), "--contender oracle: there is no engine"),
        (contender("sqlite:tier=durable,synchronous=off"), "the requested tier is durable"),
        (contender("sqlite:journal_mode=wal,synchronous=full"), "two contenders are called `WAL/FULL`"),
        (
            Box::new(|choices| choices.only = vec!["MEMORY".to_string()]),
            "contenders are `WAL/FULL`, `WAL/NORMAL`, `safe`",
        ),
        (Box::new(|choices| choices.driver = Some("odbc".to_string())), "no engine of this study has it; drivers are "),
        (Box::new(|choices| choices.rounds = Some(0)), "--rounds must be at least 1"),
        (Box::new(|choices| choices.clients = Some(0)), "--clients must be at least 1"),
        (Box::new(|choices| choices.rate_per_s = Some(f64::NAN)), "--rate must be more than 0"),
        (Box::new(|choices| choices.scale = Some(-1.0)), "--scale must be more than 0"),
        (Box::new(|choices| choices.seed = Some(u64::MAX)), "--seed must be at most 9223372036854775807"),
        (Box::new(|choices| choices.window_ns = Some(0)), "--window must be longer"),
    ];
    for (change, part) in cases {
        let message = run(change).unwrap_err();
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_variant_the_study_does_not_have_is_refused() {
    let text = SAMPLE.split("[as_published]").next().unwrap();
    let choices = Choices::new(Variant::AsPublished, Extent::Full);
    let error = resolve(&Source::new("studies/test.toml", text), &choices).unwrap_err();
    assert_eq!(error.to_string(), "study test has no as-published variant");
}

#[test]
fn what_choices_take_away_is_told_and_what_the_variant_lacks_is_not() {
    let study = run(|choices| choices.only = vec!["safe".to_string()]).unwrap();
    assert!(study.answers.is_empty() && study.effects.is_empty());
    let [ask, label] = ["Is it?", "WAL/FULL"].map(str::to_string);
    let [factor, from, to] = ["synchronous", "full", "normal"].map(str::to_string);
    let expected = [LeftOut::Answer { ask, label, why: Absence::NotPart }, LeftOut::Effect { factor, from, to }];
    assert_eq!(study.left_out, expected);
    assert!(run(|_| ()).unwrap().left_out.is_empty());
    // The quick form has no such effect to begin with.
    assert_eq!(run_edition(QUICK, |choices| choices.only = vec!["safe".to_string()]).unwrap().left_out.len(), 1);
}

#[test]
fn the_size_of_a_pool_is_for_those_who_have_one() {
    let spec = |text: &str| crate::study::spec::parse(text).map(|draft| draft.settings.len());
    assert_eq!(spec("sqlite/modernc/pool:pool_size=2"), Ok(1));
    assert_eq!(spec("sqlite/modernc:pool_size=2"), Ok(1));
    assert_eq!(spec("postgres/pgx/pool:pool_size=2,pool_idle=1"), Ok(2));
    for (text, said) in [
        (
            "sqlite/rusqlite/pool:pool_size=2",
            "driver `rusqlite` in model `pool` has no use for the setting `pool_size`",
        ),
        ("sqlite/modernc/thread:pool_open=lazy", "driver `modernc` in model `thread` has no use"),
        ("sqlite/null:pool_size=2", "driver `null` has no use"),
    ] {
        let error = spec(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    let drivers = crate::study::LIBRARY.find("go-drivers").expect("built in");
    let with = |set: &[&str]| {
        let mut choices = Choices::new(Variant::Corrected, Extent::Quick);
        choices.set = set.iter().map(|one| parse_set(one).unwrap()).collect();
        crate::study::resolve_parts(&drivers, &choices)
    };
    let sized =
        |part: &Study| part.contenders.iter().filter(|c| c.settings.get("pool_size").is_some_and(|n| n == "2")).count();
    let both = with(&["pool_size=2"]).unwrap().studies;
    assert_eq!(both.iter().map(|part| sized(part) > 0).collect::<Vec<_>>(), [true, false]);
    let error = with(&["part=rust", "pool_size=2"]).unwrap_err().to_string();
    assert!(error.contains("no such axis"), "{error}");
}

#[test]
fn an_axis_of_rates_is_found_under_the_name_that_conditions_keep() {
    let text = SAMPLE.replace("clients = [1, 8]", "rate = [50, 100]").replace("axis = \"clients\"", "axis = \"rate\"");
    let study = resolved(&text, CORRECTED).unwrap();
    assert_eq!(study.alongs[0].axis, "rate_per_s");
    assert!(study.conditions.iter().all(|condition| condition.axes.contains_key("rate_per_s")));
}

#[test]
fn several_patterns_keep_what_any_of_them_matches() {
    let only = |patterns: &[&str]| {
        run(|choices| choices.only = patterns.iter().map(ToString::to_string).collect())
            .map(|study| labels(&study).join("; "))
    };
    assert_eq!(only(&["safe", "wal/normal"]).unwrap(), "WAL/NORMAL; safe");
    assert!(only(&["safe", "absent"]).unwrap_err().starts_with("--only absent matches no contender"));
}

#[test]
fn everyday_spellings_are_understood() {
    let text = SAMPLE.replace("clients = [1, 8]", "rate = [\"50/s\", 100]");
    let text = text
        .replace("axis = \"clients\"", "axis = \"rate\"")
        .replace("window = \"2s\"", "window = \"2s\"\nrate = \"200/s\"");
    let text = text.replace("headline = \"throughput_ops_per_s\"", "headline = \"p99\"");
    let text = text
        .replace("ask = \"Is it?\"\nmetric = \"throughput_ops_per_s\"", "ask = \"Is it?\"\nmetric = \"throughput\"");
    let text = text.replacen("engine = \"sqlite\"", "engine = \"sqlite3\"", 1);
    let study = resolved(&text, CORRECTED).unwrap();
    assert_eq!(
        (study.headline.as_str(), study.answers[0].metric.as_str()),
        ("response_ns_p99", "throughput_ops_per_s")
    );
    assert_eq!((study.load.rate_per_s, study.contenders[0].engine.as_str()), (Some(200.0), "sqlite"));
    assert!(study.conditions.iter().any(|condition| condition.label.contains("50/s")), "{:?}", study.conditions);
    let single = SAMPLE.replace("clients = [1, 8]", "clients = 4");
    let study = resolved(&single, CORRECTED).unwrap();
    assert!(study.conditions.iter().all(|condition| condition.label.contains("4 clients")), "{:?}", study.conditions);
    assert_eq!(crate::engine::find("postgresql").map(|engine| engine.name), Some("postgres"));
}

#[test]
fn a_window_instead_of_operations_has_a_run_in() {
    let text = SAMPLE.replace("window = \"2s\"", "operations = 5");
    let run_in = |change: &dyn Fn(&mut Choices)| {
        let mut choices = Choices::new(CORRECTED.0, CORRECTED.1);
        change(&mut choices);
        let study = resolve(&Source::new("studies/test.toml", &text), &choices).unwrap();
        study.load.under(&study.conditions[0].axes).run_in_ns
    };
    assert_eq!(run_in(&|_| ()), 0);
    assert_eq!(run_in(&|choices| choices.window_ns = Some(7)), 500_000_000);
    assert_eq!(run_in(&|choices| choices.set.push(parse_set("duration=1s").unwrap())), 500_000_000);
}

#[test]
fn a_build_of_a_worker_is_no_pair_of_another_build() {
    let plain = run(|_| ()).unwrap();
    let built = run(|choices| {
        choices.contenders.push("sqlite/rusqlite@/tmp:journal_mode=wal,synchronous=normal".to_string());
    })
    .unwrap();
    let pairs = |study: &Study| crate::study::pairs::effect_pairs(study, &study.effects[0]);
    assert_eq!((pairs(&built), built.contenders.len()), (pairs(&plain), plain.contenders.len() + 1));
}

#[test]
fn a_tier_whose_baseline_is_missing_takes_its_next_contender_and_says_so() {
    let mut study = run(|_| ()).unwrap();
    let gone = study.contenders[0].name.clone();
    assert!(study.baselines.contains(&gone));
    let said = crate::study::leave_out(&mut study, &[(gone, "it is missing".to_string())]);
    assert_eq!(said, ["safe is the baseline of its tier, durable, instead of WAL/FULL"]);
    assert_eq!(study.limits, ["it is missing", &said[0]]);
    let safe = study.contenders.iter().find(|contender| contender.label == "safe").unwrap();
    assert!(study.baselines.contains(&safe.name) && study.baselines.len() == 2);
}
