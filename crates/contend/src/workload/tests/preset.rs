//! Numbers set together, and repetitions with a pause between them.

use super::*;
use crate::source::Source;
use crate::workload::parse;
use contend_wire::plan::{Source as Argument, Step};
use std::collections::BTreeMap;

const PRESETS: &str = "\n[preset.size.large]\nbatch = 7\nitems = 50\n\n[preset.size.small]\nbatch = 2\n";

fn with_axes(text: &str, axes: &[(&str, &str)]) -> Result<Workload, String> {
    let axes: BTreeMap<String, String> =
        axes.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
    let workload = parse(&Source::new("small.toml", text)).map_err(|e| e.to_string())?;
    crate::workload::with_axes(&workload, &axes).map_err(|e| e.to_string())
}

#[test]
fn a_preset_sets_its_numbers_and_an_axis_of_its_own_wins() {
    let text = format!("{SMALL}{PRESETS}");
    let counts = |axes: &[(&str, &str)]| {
        let scale = with_axes(&text, axes).unwrap().scale;
        (scale["batch"].count, scale["items"].count)
    };
    assert_eq!(counts(&[]), (3, 10));
    assert_eq!(counts(&[("size", "large")]), (7, 50));
    assert_eq!(counts(&[("size", "small")]), (2, 10));
    assert_eq!(counts(&[("size", "large"), ("batch", "4")]), (4, 50));
}

#[test]
fn wrong_presets_are_named() {
    let text = format!("{SMALL}{PRESETS}");
    assert!(with_axes(&text, &[("size", "huge")]).unwrap_err().contains("no `huge` (there are large, small)"));
    for (presets, message) in [
        ("[preset.batch.large]\nitems = 1\n", "choose another"),
        ("[preset.clients.large]\nitems = 1\n", "choose another"),
        ("[preset.size.large]\nbatches = 1\n", "`batches` is not in [scale]"),
        ("[preset.size.large]\nbatch = \"many\"\n", "expected u64"),
    ] {
        let error = with_axes(&format!("{SMALL}\n{presets}"), &[]).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let two = format!("{text}\n[preset.speed.high]\nbatch = 1\n");
    let error = with_axes(&two, &[("size", "large"), ("speed", "high")]).unwrap_err();
    assert!(error.contains("another preset sets `batch` too"), "{error}");
}

#[test]
fn spaced_repetitions_are_steps_with_pauses_between_them() {
    let text = SMALL.replace("repeat = \"batch\"", "repeat = \"batch\"\nevery = \"10ms\"");
    let workload = with_axes(&text, &[]).unwrap();
    let add = &workload.transactions[workload.transaction("add").unwrap()];
    let kinds: Vec<&str> = add
        .steps
        .iter()
        .map(|step| match step {
            Step::Pause { ns: 10_000_000 } => "space",
            Step::Pause { .. } => "pause",
            Step::Sql(step) if step.repeat == 1 => "sql",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["sql", "space", "sql", "space", "sql", "sql", "sql", "pause"]);
    let uniques: Vec<Argument> = add
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Sql(step) => step.args.iter().find(|arg| matches!(arg, Argument::Unique { .. })).cloned(),
            _ => None,
        })
        .collect();
    assert_eq!(uniques, [0, 1, 2].map(|first| Argument::Unique { first, stride: 0 }));
    let once = SMALL.replace("repeat = \"batch\"", "every = \"10ms\"");
    assert!(with_axes(&once, &[]).unwrap_err().contains("only a step with `repeat`"));
}

#[test]
fn a_wait_of_no_time_is_no_step() {
    let text =
        SMALL.replace("pause = \"1ms\"", "hold = \"none*1ms\"").replace("[scale]", "[scale]\nnone = { fixed = 0 }");
    let workload = with_axes(&text, &[]).unwrap();
    let add = &workload.transactions[workload.transaction("add").unwrap()];
    assert!(add.steps.iter().all(|step| matches!(step, Step::Sql(_))), "{:?}", add.steps);
}
