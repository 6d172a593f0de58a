//! Tests of whole tables: results of each kind, and errors of broken ones.

use super::value::Unit;
use super::*;
use contend::report::text::Style;
use contend_stats::verdict::Verdict;

const PHP: &str = include_str!("../../../examples/ci-timings-wal-php.csv");
const JOBS: &str = include_str!("../../../examples/ci-timings-wal-jobs.csv");
const FIRST: &str = include_str!("../../../examples/ci-timings-wal-first-run.csv");

fn options() -> CsvOptions {
    CsvOptions { unit: Some(Unit::parse("s").unwrap()), ..CsvOptions::new("variant", "time") }
}

fn by(column: &str) -> CsvOptions {
    CsvOptions { by: Some(column.into()), ..options() }
}

fn compare(text: &str) -> CsvComparison {
    compare_csv(text, &options()).unwrap()
}

fn error(text: &str, options: &CsvOptions) -> String {
    compare_csv(text, options).unwrap_err().to_string()
}

/// Lines `variant,pair,time` with the same pairs in both variants.
fn paired(times: &[(f64, f64)]) -> String {
    let lines = times.iter().enumerate().map(|(pair, (a, b))| format!("old,{pair},{a}\nnew,{pair},{b}\n"));
    format!("variant,pair,time\n{}", lines.collect::<String>())
}

fn unpaired(old: &[f64], new: &[f64]) -> String {
    let lines =
        |variant: &str, times: &[f64]| times.iter().map(|time| format!("{variant},{time}\n")).collect::<String>();
    format!("variant,time\n{}{}", lines("old", old), lines("new", new))
}

#[test]
fn of_the_published_medians_nobody_can_tell() {
    for (text, column, range) in [(PHP, "php_sqlite", "-2.7 % to +28.1 %"), (JOBS, "timing", "-16.4 % to +5.6 %")] {
        let result = compare_csv(text, &by(column)).unwrap();
        assert_eq!(result.summary, format!("9 groups, medians alone: cannot tell. Changes range from {range}."));
        assert_eq!(result.baseline, "baseline");
        for one in &result.comparisons {
            assert_eq!((&one.comparison.verdict, one.method), (&Verdict::CannotTell, Method::MediansAlone));
            assert_eq!(one.why.as_deref(), Some("medians of 3 runs alone: how much each varied is unknown"));
            assert_eq!((one.comparison.low, one.comparison.rounds_needed), (None, None));
        }
    }
}

#[test]
fn of_one_run_against_one_nobody_can_tell_either() {
    let result = compare_csv(FIRST, &by("timing")).unwrap();
    assert_eq!(result.summary, "6 groups, medians alone: cannot tell. Changes range from -43.6 % to -3.9 %.");
    for one in &result.comparisons {
        assert_eq!(one.comparison.verdict, Verdict::CannotTell);
        assert_eq!(one.why.as_deref(), Some("one run each: how much runs vary is unknown"));
    }
}

#[test]
fn the_published_table_as_text() {
    let text = render_text(&compare_csv(JOBS, &by("timing")).unwrap(), Style::FILE);
    let expected = "\
`time` against `baseline`; lower is better, margin 5.0 %

timing                variant  baseline  variant's   change  95 % interval  verdict
---------------------------------------------------------------------------------------
PHPUnit job           WAL         626 s      624 s   -0.3 %              -  cannot tell
PHPUnit test step     WAL         612 s      610 s   -0.3 %              -  cannot tell
Rust job              WAL         625 s      541 s  -13.4 %              -  cannot tell
Rust test step        WAL         378 s      316 s  -16.4 %              -  cannot tell
WP E2E job            WAL         328 s      342 s   +4.3 %              -  cannot tell
WP E2E test step      WAL         259 s      270 s   +4.2 %              -  cannot tell
plugin E2E job        WAL         285 s      301 s   +5.6 %              -  cannot tell
plugin E2E test step  WAL         219 s      230 s   +5.0 %              -  cannot tell
proxy                 WAL        16.0 s     14.0 s  -12.5 %              -  cannot tell

9 groups, medians alone: cannot tell. Changes range from -16.4 % to +5.6 %.
  cannot tell: medians of 3 runs alone: how much each varied is unknown

Skipped: 5 lines that begin with #
";
    assert_eq!(text, expected, "{text}");
    let narrow = render_text(&compare_csv(JOBS, &by("timing")).unwrap(), Style::terminal(60, false));
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

#[test]
fn one_value_each_is_medians_alone_even_if_paired_or_a_single_run() {
    let why = |text: &str| compare(text).comparisons[0].why.clone().unwrap();
    assert_eq!(why("variant,time\na,1\nb,9\n"), "medians alone: how much each varied is unknown");
    assert_eq!(why("variant,pair,time\na,1,1\nb,1,9\n"), "medians alone: how much each varied is unknown");
    assert_eq!(why("variant,runs,time\na,1,1\nb,1,9\n"), "one run each: how much runs vary is unknown");
}

#[test]
fn several_lines_that_are_medians_themselves_remain_medians() {
    let lines: String = (0..8).map(|i| format!("old,3,1{i}\nnew,3,5{i}\n")).collect();
    let result = compare(&format!("variant,runs,time\n{lines}"));
    assert_eq!(result.comparisons[0].comparison.verdict, Verdict::CannotTell);
}

#[test]
fn pairs_are_compared_pair_by_pair() {
    // The machine becomes five times slower during the runs; in every pair the second is a quarter faster.
    let times: Vec<(f64, f64)> = (1..=6).map(|i| (10.0 * i as f64, 7.5 * i as f64)).collect();
    let result = compare(&paired(&times));
    let one = &result.comparisons[0];
    assert_eq!((&one.comparison.verdict, one.method), (&Verdict::Faster, Method::Pairs));
    assert!((one.comparison.ratio.unwrap() - 0.75).abs() < 1e-12);
    assert_eq!(result.pair_column.as_deref(), Some("pair"));
    assert_eq!(result.summary, "1 comparison: faster. The change is -25.0 %.");
    // The same lines without pairs: the drift of the machine hides the difference.
    let unpaired = CsvOptions { pairing: Pairing::Unpaired, ..options() };
    let result = compare_csv(&paired(&times), &unpaired).unwrap();
    assert_eq!(result.comparisons[0].comparison.verdict, Verdict::CannotTell);
    assert!(result.comparisons[0].comparison.rounds_needed.unwrap() > 6);
}

#[test]
fn fewer_than_six_pairs_give_a_ratio_without_words() {
    let result = compare(&paired(&[(10.0, 5.0); 5]));
    assert_eq!(result.comparisons[0].comparison.verdict, Verdict::NoWords);
    assert_eq!(result.comparisons[0].why.as_deref(), Some("5 pairs, words need 6"));
    assert_eq!(result.summary, "1 comparison: too few rounds for words. The change is -50.0 %.");
}

#[test]
fn a_line_without_its_pair_is_listed_and_not_used() {
    let text = paired(&[(10.0, 5.0); 6]) + "new,7,1\nold,8,1\n";
    let result = compare(&text);
    assert_eq!(result.comparisons[0].comparison.rounds, 6);
    assert_eq!(result.comparisons[0].variant_arm.values, 6);
    let unused: Vec<(u64, &str)> = result.unused_lines.iter().map(|line| (line.line, line.reason.as_str())).collect();
    assert_eq!(unused, [(14, "pair `7` has no line of `old`"), (15, "pair `8` has no line of `new`")]);
}

#[test]
fn unpaired_runs_need_four_of_each() {
    let three = compare(&unpaired(&[10.0, 10.1, 10.2], &[5.0, 5.1, 5.2]));
    assert_eq!(three.comparisons[0].comparison.verdict, Verdict::CannotTell);
    let why = "3 against 3 unpaired runs, an interval needs 4 of each";
    assert_eq!(three.comparisons[0].why.as_deref(), Some(why));
    let four = compare(&unpaired(&[10.0, 10.1, 10.2, 10.3], &[5.0, 5.1, 5.2, 5.3]));
    assert_eq!(four.comparisons[0].comparison.verdict, Verdict::Faster);
    assert!((four.comparisons[0].comparison.coverage.unwrap() - 0.9714).abs() < 1e-4);
}

#[test]
fn rates_are_better_when_higher() {
    let text = "variant,rate\nold,100\nold,101\nold,102\nold,103\nnew,200\nnew,201/s\nnew,202\nnew,203\n";
    let options = CsvOptions { higher_is_better: true, ..CsvOptions::new("variant", "rate") };
    let result = compare_csv(text, &options).unwrap();
    assert_eq!(result.comparisons[0].comparison.verdict, Verdict::Faster);
    assert_eq!(result.comparisons[0].variant_arm.median, Measured::PerSecond(201.5));
    let medians = |name: &str| {
        let options = CsvOptions { value: name.into(), ..options.clone() };
        let result = compare_csv(&text.replace("/s", "").replacen("rate", name, 1), &options).unwrap();
        [result.comparisons[0].baseline_arm.median, result.comparisons[0].variant_arm.median]
    };
    assert_eq!(medians("req_per_min"), [101.5, 201.5].map(Measured::Number));
    assert_eq!(medians("req_per_s"), [101.5, 201.5].map(Measured::PerSecond));
    let options = CsvOptions { value: "req_per_min".into(), ..options };
    assert_eq!(
        error("variant,req_per_min\nold,6001\nnew,100.1/s\n", &options),
        "line 3, column `req_per_min`: `100.1/s` is a rate per second, and the column's name says another time; write \
         all values in one unit, and name the column after it"
    );
    let absurd = error("variant,req_per_min\nold,1e-320\nnew,1e308\n", &options);
    assert!(absurd.starts_with("line 2, column `req_per_min`: `1e-320` is not between 1e-6 and 1e15; "), "{absurd}");
    assert_eq!(Measured::Number(201.5).to_string(), "202");
    assert_eq!(serde_json::to_value(Measured::Number(201.5)).unwrap(), serde_json::json!({"number": 201.5}));
}

#[test]
fn excluded_lines_are_listed_with_their_reason() {
    let text = "variant,time,excluded\na,10,\na,,cancelled\nb,11,\nb,99,outlier\n";
    let result = compare(text);
    assert_eq!(result.comparisons[0].variant_arm.values, 1);
    let listed = render_text(&result, Style::FILE);
    assert!(listed.contains("Lines not used: 2\n  line 3: a: cancelled\n  line 5: b: outlier\n"), "{listed}");
}

#[test]
fn more_than_two_variants_are_each_compared_with_the_baseline() {
    let text = "variant,time\na,10\nb,20\nc,5\n";
    let names = |result: &CsvComparison| result.comparisons.iter().map(|one| one.variant.clone()).collect::<Vec<_>>();
    assert_eq!(names(&compare(text)), ["b", "c"]);
    let named = CsvOptions { baseline: Some("b".into()), ..options() };
    assert_eq!(names(&compare_csv(text, &named).unwrap()), ["a", "c"]);
}

#[test]
fn many_comparisons_say_what_chance_would_find() {
    let arm = |group: usize, variant: &str, time: f64| {
        (0..6).map(|pair| format!("g{group},{variant},{pair},{time}\n")).collect::<String>()
    };
    let lines: String = (0..10).map(|group| arm(group, "a", 10.0) + &arm(group, "b", 5.0)).collect();
    let result = compare_csv(&format!("group,variant,pair,time\n{lines}"), &by("group")).unwrap();
    assert!(result.summary.starts_with("10 groups: 10 faster."), "{}", result.summary);
    assert!(result.summary.ends_with("about 0.3 of 10 as different."), "{}", result.summary);
}

#[test]
fn a_group_without_the_baseline_is_left_out_and_listed() {
    let text = "group,variant,time\nx,a,1\nx,b,2\ny,b,3\n";
    let result = compare_csv(text, &by("group")).unwrap();
    assert_eq!((result.comparisons.len(), result.unused_lines[0].line), (1, 4));
    assert_eq!(result.unused_lines[0].reason, "no `a` to compare with");
}

/// Comparing all pairs one by one would be 40,000,000,000.
#[test]
fn four_hundred_thousand_lines_are_compared() {
    let time = |at: u32, factor: f64| factor * (100.0 + f64::from(at.wrapping_mul(2_654_435_761) >> 12) / 1e5);
    let times = |factor: f64| (0..200_000).map(|at| time(at, factor)).collect::<Vec<_>>();
    let text = unpaired(&times(1.0), &times(2.0));
    let begun = std::time::Instant::now();
    let result = compare(&text);
    // A few seconds in a build for tests, on a machine that does nothing else.
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    let [one] = &result.comparisons[..] else { panic!("{result:?}") };
    assert_eq!(one.comparison.verdict, Verdict::Slower);
    assert!(one.comparison.ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 0.01), "{one:?}");
}

#[test]
fn columns_are_known_in_any_case() {
    let of = |header: &str| {
        let lines = (0..6).map(|pair| format!("old,{pair},3,{}\nnew,{pair},3,2\n", pair + 1)).collect::<String>();
        let result = compare(&format!("{header}\n{lines}"));
        (result.comparisons[0].comparison.verdict.clone(), result.summary)
    };
    assert_eq!(of("Variant,Round,RUNS,Time"), of("variant,round,runs,time"));
    assert_ne!(of("variant,round,runs,time"), of("variant,round,n,time"), "medians of runs have no interval");
    assert!(error("variant,Round,round,time\na,1,1,1\n", &by("pair")).contains("no column `pair`"));
}

#[test]
fn errors_name_the_line_and_the_column() {
    let text = "# made by hand\nvariant,time\n\na,10\n# half way\nb,fast\n";
    assert!(error(text, &options()).starts_with("line 6, column `time`: `fast` is not a duration; "));
    assert!(error(&text.replace('\n', "\r\n"), &options()).starts_with("line 6, column `time`: "));
    let unknown = CsvOptions { variant: "arm".to_string(), ..options() };
    let no_unit = "line 4, column `time`: `10` has no unit; say which with --unit";
    assert!(error(text, &CsvOptions::new("variant", "time")).starts_with(no_unit));
    let twice = "variant,time,time\na,1,9\nb,2,8\n";
    let two = "there are two columns `time`, 2 and 3 of the header; rename one of them";
    assert_eq!(error(twice, &options()), two);
    assert_eq!(error("pair,variant,pair,time\n", &options()), two.replace("time", "pair").replace("2 and", "1 and"));
    assert_eq!(error("", &options()), "it is empty");
    let by_semicolons = error("variant;time\na;1\n", &options());
    assert!(by_semicolons.ends_with("are `variant;time`; fields are separated by commas"), "{by_semicolons}");
    assert_eq!(error(text, &unknown), "there is no column `arm`; the columns are `variant`, `time`");
    let unseen = error("variant,time\nWAL,1\nWAL\u{200b},2\n", &options());
    assert_eq!(unseen, "line 3, column `variant`: `WAL?` has a character that is not visible: U+200B");
    let rates = "variant,req_per_s\na,1000\nb,2000\n";
    let column = |name: &str| CsvOptions::new("variant", name);
    assert!(
        error(rates, &column("req_per_s")).contains("`req_per_s` seems to hold rates, which are read with --higher")
    );
    let transactions = rates.replace("req_per_s", "transactions_s");
    assert!(error(&transactions, &column("transactions_s")).contains("seems to hold rates"));
    let higher = CsvOptions { higher_is_better: true, ..column("time_ms") };
    let is_a_time = error("variant,time_ms\na,1\nb,2\n", &higher);
    assert!(
        is_a_time.starts_with("the column `time_ms` seems to hold times, and --higher-is-better is"),
        "{is_a_time}"
    );
    let in_ms = "variant,time_ms\na,1\nb,2\n";
    let in_s = CsvOptions { unit: Unit::parse("s").ok(), ..column("time_ms") };
    assert!(error(in_ms, &in_s).contains("--unit contradicts the name of the column `time_ms`"));
    assert_eq!(error("variant,time\na,1\nb,2,3\n", &options()), "line 3: 3 fields, but the header has 2");
    assert_eq!(error("variant,time\na,1\n,2\n", &options()), "line 3, column `variant`: no variant is named");
    assert_eq!(
        error("variant,time,runs\na,1,few\n", &options()),
        "line 2, column `runs`: `few` is not a number of runs"
    );
}

#[test]
fn a_quote_that_is_not_closed_drops_no_lines() {
    let several = |line: u64| format!("line {line}: a field goes over several lines; is a quote not closed?");
    let table = "time,variant\n1,a\n2,b\n3,\"a\n4,b\n5,a\n6,b\n";
    assert_eq!(error(table, &options()), several(4));
    assert_eq!(error(&table.replace('\n', "\r\n"), &options()), several(4));
    assert_eq!(error("time,\"variant\n1,a\n2,b\n", &options()), several(1));
}

#[test]
fn a_comparison_needs_two_variants_and_a_baseline_that_exists() {
    let one = "a comparison needs two variants; column `variant` has only `a`";
    assert_eq!(error("variant,time\na,1\na,2\n", &options()), one);
    let none = "a comparison needs two variants; column `variant` has none";
    assert_eq!(error("variant,time\n", &options()), none);
    let named = CsvOptions { baseline: Some("z".into()), ..options() };
    assert_eq!(error("variant,time\na,1\nb,2\n", &named), "there is no variant `z`; the variants are `a`, `b`");
    let apart = "group,variant,time\nx,a,1\ny,b,2\n";
    assert_eq!(error(apart, &by("group")), "no group holds both `a` and another variant");
    let twice = "variant,pair,time\na,1,1\na,1,2\nb,1,3\n";
    assert_eq!(
        error(twice, &options()),
        "line 3: pair `1` of `a` is already on line 2; a pair of column `pair` has one line of each variant in each group \
         (--by); --unpaired ignores the column"
    );
    let never_both = "variant,run,time\na,1,1\nb,2,2\n";
    let none = "no pair of column `run` has a line of both variants; --unpaired ignores it";
    assert_eq!(error(never_both, &options()), none);
    let excluded = "variant,time,excluded\na,1,\nb,2,cold\nb,3,cold\n";
    assert_eq!(error(excluded, &options()), format!("{one}; 2 lines not used: line 3: cold"));
}

#[test]
fn a_line_that_names_no_pair_is_not_used() {
    let result = compare(&(paired(&[(10.0, 5.0); 6]) + "old,,10\nnew,,5\n"));
    assert_eq!(result.comparisons[0].variant_arm.values, 6);
    assert_eq!(
        result.unused_lines.iter().map(|line| line.reason.as_str()).collect::<Vec<_>>(),
        ["no pair is named"; 2]
    );
}

#[test]
fn single_runs_of_which_one_pair_is_left_are_no_medians() {
    let lines: String = (0..8).map(|run| format!("old,{run},1\nnew,{},2\n", run + 7)).collect();
    let result = compare(&format!("variant,run,time\n{lines}"));
    assert_eq!(result.comparisons[0].method, Method::Pairs);
    assert_eq!(result.comparisons[0].why.as_deref(), Some("1 pair, words need 6"));
}

#[test]
fn a_byte_order_mark_and_spaces_are_no_part_of_names() {
    assert_eq!(compare("\u{feff}variant, time\n a , 1\nb, 2 \n").baseline, "a");
}

/// Tables of Go's and Criterion's benchmarks have such means.
#[test]
fn fractions_of_a_nanosecond_count() {
    let table = "variant,time\nold,1.44ns\nold,1.46ns\nold,1.48ns\nnew,1.50ns\nnew,1.52ns\nnew,1.54ns\n";
    let result = compare(table);
    let ratio = result.comparisons[0].comparison.ratio.unwrap();
    assert!((ratio - 1.52 / 1.46).abs() < 1e-12, "{ratio}");
    assert!(render_text(&result, Style::FILE).contains("1.46 ns"), "{}", render_text(&result, Style::FILE));
}

#[test]
fn json_holds_integers_with_units_and_the_words() {
    let json = serde_json::to_value(compare_csv(PHP, &by("php_sqlite")).unwrap()).unwrap();
    let first = &json["comparisons"][0];
    assert_eq!(first["baseline_arm"]["median"]["duration_ns"], 192_000_000_000u64);
    assert_eq!(first["verdict"]["word"], "cannot tell");
    assert_eq!(first["method"], "medians-alone");
    assert!((first["ratio"].as_f64().unwrap() - 1.28125).abs() < 1e-12);
    assert_eq!(json["direction"], "lower-is-better");
}

proptest::proptest! {
    #[test]
    fn no_table_makes_it_panic(lines in proptest::collection::vec("[ab]?,[12]?,([0-9]{1,3}|[0-9]:[0-9]{2}|[a-z\"#,]?)", 0..30)) {
        let text = format!("variant,pair,time\n{}\n", lines.join("\n"));
        for pairing in [Pairing::Auto, Pairing::Unpaired] {
            if let Ok(result) = compare_csv(&text, &CsvOptions { pairing, ..options() }) {
                proptest::prop_assert!(render_text(&result, Style::FILE).ends_with('\n'));
            }
        }
    }

    #[test]
    fn no_cell_makes_it_panic(cell in "\\PC{0,12}|[0-9:.hmsµ ]{0,12}") {
        let _ = (value::parse_duration(&cell, None), value::parse_rate(&cell));
    }
}
