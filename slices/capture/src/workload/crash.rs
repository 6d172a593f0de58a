//! The study of a capture with power cuts: what would a crash take?

use crate::literal::text;
use crate::workload::contenders::{self, CAPTURED, Contender, Settings, safer};
use std::fmt::Write as _;

/// The study file: the captured settings, the next safer ones, and WAL. About a minute.
pub fn study(now: &Settings, command: &str) -> String {
    let mut out = format!(
        "# Made by contend capture to-workload. docs/study-durability.md explains what is cut, and how it is judged.\n\n\
         question = {}\nworkload = \"workload.toml\"\nkind = \"powercut\"\nheadline = \"throughput_ops_per_s\"\nrounds = 1\n\
         limits = [\n  \"Values are drawn by generators that were fitted to the capture.\",\n  \
         \"The models of power cuts do not test the disk itself.\",\n]\n\n\
         [load]\nwindow = \"2s\"\n\n[powercut]\npoints = 300\n\n[quick]\nload = {{ window = \"500ms\" }}\n\n[quick.powercut]\npoints = 30\n",
        text(&format!("What would a power cut take from {command}?"))
    );
    let wal = |synchronous: &str| {
        let mut settings = now.clone();
        (settings.journal_mode, settings.synchronous) = ("wal".into(), synchronous.into());
        settings
    };
    let label =
        |settings: &Settings| [&settings.journal_mode, &settings.synchronous].map(|word| word.to_uppercase()).join("/");
    let is_new = |settings: &Settings| label(settings) != label(now);
    let mut all = vec![(CAPTURED.to_string(), now.clone())];
    let others = safer(now).into_iter().chain([wal("full"), wal("normal")]).filter(is_new);
    all.extend(others.map(|settings| (label(&settings), settings)));
    for (label, settings) in &all {
        let contender = Contender { label: String::new(), settings: settings.clone(), model: None };
        contenders::write(&mut out, &contender, label);
    }
    for (label, _) in &all {
        let ask = if label == CAPTURED {
            "What does a crash take as captured?".to_string()
        } else {
            format!("And with {label}?")
        };
        let _ = write!(out, "\n[[kept]]\nask = {}\ncontender = {}\n", text(&ask), text(label));
    }
    out
}
