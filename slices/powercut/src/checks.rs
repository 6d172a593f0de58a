//! Evidence that losses would be found: controls, planted faults of the disk, and a real kernel.

use crate::results::{KernelCuts, Powercut};
use contend::report::content::words::{NOTHING, count, counted};
use contend::report::document::{Block, Cell as TableCell, Table, Tone};
use std::collections::BTreeSet;

/// Results of a contender's crashes, with its name.
pub type Checked<'r> = (TableCell, &'r Powercut);

/// The blocks of all three kinds of evidence.
pub fn blocks(all: &[Checked<'_>]) -> Vec<Block> {
    let heading = |title: &str| Block::Heading(title.to_string());
    let mut blocks = vec![];
    let controls = controls(all);
    if !controls.rows.is_empty() {
        let text = "What was known beforehand. Where one does not hold, the trial does not count.";
        blocks.extend([heading("Controls"), Block::Text(text.to_string()), Block::Table(controls)]);
    }
    let faults = faults(all);
    if !faults.rows.is_empty() {
        blocks.extend([heading("Planted faults"), Block::Text(sum_of_faults(all)), Block::Table(faults)]);
    }
    if !all.is_empty() {
        let kernels = kernels(all);
        blocks.extend([heading("A real kernel"), Block::Text(about_kernels(all))]);
        blocks.extend((!kernels.rows.is_empty()).then_some(Block::Table(kernels)));
    }
    blocks
}

fn controls(all: &[Checked<'_>]) -> Table {
    let mut table = Table::new(&["setting", "control", "found", "holds"]);
    for (label, found) in all {
        for control in &found.controls {
            let (word, tone) = if control.holds { ("yes", Tone::Plain) } else { ("NO", Tone::Worse) };
            let cells = [&control.name, &control.found].map(TableCell::new);
            table.row([vec![label.clone()], cells.to_vec(), vec![TableCell::new(word).tone(tone)]].concat());
        }
    }
    table
}

fn faults(all: &[Checked<'_>]) -> Table {
    let mut table = Table::new(&["setting", "planted fault of the disk", "demanded|", "caught|", "images|"]);
    let word = |yes: bool| if yes { "yes" } else { "no" };
    for (label, found) in all {
        for lie in &found.lies {
            let missed = lie.must && !lie.caught;
            let tone = if missed { Tone::Worse } else { Tone::Plain };
            table.row([
                label.clone(),
                TableCell::new(&lie.name),
                TableCell::new(word(lie.must)),
                TableCell::new(word(lie.caught)).tone(tone),
                TableCell::new(count(lie.images)),
            ]);
        }
    }
    table
}

/// Number of faults, and an explanation of the table's words.
fn sum_of_faults(all: &[Checked<'_>]) -> String {
    let faults = || all.iter().flat_map(|(_, found)| &found.lies);
    let demanded = || faults().filter(|lie| lie.must);
    let caught = demanded().filter(|lie| lie.caught).count();
    format!(
        "{caught} of {} that a setting depends on {} caught; with the others {} of {}. The same record is replayed on a disk that \
         lies and persists names in order. Demanded is what the setting cannot survive, where enough syncs were recorded; \
         what it does not depend on is not caught. Every 50th and 200th sync is looked for right after it was not done, that of the log while data is on its way.",
        counted(demanded().count(), "planted fault"),
        if caught == 1 { "was" } else { "were" },
        faults().filter(|lie| lie.caught).count(),
        faults().count()
    )
}

fn kernels(all: &[Checked<'_>]) -> Table {
    let mut table =
        Table::new(&["setting", "cuts|", "commits acknowledged|", "commits lost, cut by cut", "most in the models|"]);
    for (label, found) in all {
        let Some(kernel) = &found.kernel else { continue };
        let power = found.power();
        let most = if power.count == 0 { NOTHING.to_string() } else { count(power.lost_commits_max) };
        let tone = if kernel.wrong.is_empty() { Tone::Plain } else { Tone::Worse };
        table.row([
            label.clone(),
            TableCell::new(count(kernel.lost.len() as u64)),
            TableCell::new(listed(&kernel.acknowledged)),
            TableCell::new(listed(&kernel.lost)).small(kernel.wrong.join("; ")).tone(tone),
            TableCell::new(most),
        ]);
    }
    table
}

fn listed(numbers: &[u64]) -> String {
    numbers.iter().map(|n| count(*n)).collect::<Vec<_>>().join(", ")
}

/// Power cuts that were made, or why there were none.
fn about_kernels(all: &[Checked<'_>]) -> String {
    let cuts: Vec<&KernelCuts> = all.iter().filter_map(|(_, found)| found.kernel.as_ref()).collect();
    let missing: BTreeSet<&str> = all.iter().filter_map(|(_, found)| found.no_kernel.as_deref()).collect();
    let missing = missing.into_iter().collect::<Vec<_>>().join("; ");
    let systems: BTreeSet<&str> = cuts.iter().map(|kernel| kernel.system.as_str()).collect();
    let done = format!(
        "{} was killed {} while one client committed, booted again, and asked what is there. It knows nothing of the models, \
         and must lose no more than they do; where they lose several commits, only damage contradicts them. Its disk is a file \
         of this machine, so a missing flush of the disk is not seen.",
        systems.into_iter().collect::<Vec<_>>().join(" and "),
        counted(cuts.iter().map(|kernel| kernel.lost.len()).sum(), "time"),
    );
    match (cuts.is_empty(), missing.is_empty()) {
        (false, true) => done,
        (false, false) => format!("{done} Not all of the cuts were made: {missing}."),
        (true, false) => format!("NOT VERIFIED: the models were not held against a real kernel, as {missing}."),
        (true, true) => {
            "NOT VERIFIED: the models were not held against a real kernel in this run. It is done for databases in \
                         contend's own worker with `kernel_cuts` above 0 in the study, or with `--set kernel_cuts=1`."
                .to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Lie;

    fn text(found: &[Powercut]) -> String {
        let all: Vec<Checked<'_>> = found.iter().map(|found| (TableCell::new("S"), found)).collect();
        let mut text = String::new();
        for block in blocks(&all) {
            if let Block::Text(words) = block {
                text += &words;
            }
        }
        text
    }

    #[test]
    fn planted_faults_are_counted_over_all_settings() {
        let lie = |must, caught| Lie { name: "f".to_string(), images: 3, caught, must };
        let found = |lies: &[Lie]| Powercut { lies: lies.to_vec(), ..Powercut::default() };
        let all = [found(&[lie(true, true), lie(false, true)]), found(&[lie(true, false), lie(false, false)])];
        let said = text(&all);
        assert!(
            said.contains("1 of 2 planted faults that a setting depends on was caught; with the others 2 of 4."),
            "{said}"
        );
    }

    #[test]
    fn what_was_not_held_against_a_kernel_is_said() {
        let none = Powercut::default();
        let absent = Powercut { no_kernel: Some("linux.uml is not here: apt-get".to_string()), ..none.clone() };
        let system = "User-Mode Linux 6.1, ext4".to_string();
        let kernel = KernelCuts { system, lost: vec![0, 1], acknowledged: vec![60, 70], wrong: vec![] };
        let cut = Powercut { kernel: Some(kernel), ..none.clone() };
        assert!(text(&[]).is_empty());
        assert!(text(std::slice::from_ref(&none)).contains("NOT VERIFIED") && text(&[none]).contains("kernel_cuts=1"));
        assert!(text(std::slice::from_ref(&absent)).contains("linux.uml is not here"));
        let said = text(std::slice::from_ref(&cut));
        assert!(said.starts_with("User-Mode Linux 6.1, ext4 was killed 2 times"), "{said}");
        assert!(text(&[cut, absent]).contains("Not all of the cuts were made: linux.uml"));
    }
}
