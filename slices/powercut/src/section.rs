//! Report section with the details of crashes: counts by model, the recording, failed images, controls, planted
//! faults.

use crate::checks;
use crate::findings::Survived;
use crate::recording::recorded;
use crate::results::{Crashes, Failing, PROCESS, Powercut};
use contend::analysis::Findings;
use contend::report::content::speed::rate;
use contend::report::content::words::{self, NOTHING, count};
use contend::report::document::{Block, Cell as TableCell, Id, Section, Table};
use contend_stats::precision::{Ns, Rate};

const MODELS: [&str; 8] =
    ["setting", "model", "names|", "crashes|", "lossy|", "corrupt|", "does not open|", "most lost|"];

const MADE: [&str; 7] =
    ["setting", "recorded commits|", "overhead|", "writes, syncs, names|", "syncs of files|", "log", "real kills|"];

const FAILING: [&str; 5] = ["image", "setting", "model", "found", "fewest lost pieces"];

/// Introduction to the table of recordings.
const ABOUT_MADE: &str = "Commits that were acknowledged while everything was recorded, how many times as long one took as on \
    the ordinary disk of the same trial (below 1: recording does not wait for a disk), what the recorder saw meanwhile, and \
    kills that were made of those that were asked for.";

/// All trials with crashes, as rows of tables.
struct Crashed<'r> {
    models: Table,
    made: Table,
    failing: Table,
    images: u64,
    judging_ns: u64,
    checked: Vec<(TableCell, &'r Powercut)>,
}

/// The whole section.
pub fn section(findings: &Findings<'_>) -> Option<Section> {
    let all = crashed(findings, Survived::of(findings)?);
    if all.made.rows.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(format!(
        "{} images were rebuilt, opened and judged in {}: {}.",
        count(all.images),
        Ns(all.judging_ns),
        Rate(all.images as f64 * 1e9 / (all.judging_ns.max(1) as f64))
    ))];
    if !all.models.rows.is_empty() {
        blocks.push(Block::Table(all.models));
    }
    let failing = about_failing(findings.study.part.as_deref());
    for (title, text, table) in
        [("What was done", ABOUT_MADE.to_string(), all.made), ("Images that failed", failing, all.failing)]
    {
        if !table.rows.is_empty() {
            blocks.extend([Block::Heading(title.to_string()), Block::Text(text), Block::Table(table)]);
        }
    }
    blocks.extend(checks::blocks(&all.checked));
    Some(Section { id: Id::Other("crashes"), title: "Crashes".to_string(), blocks })
}

fn crashed<'f>(findings: &Findings<'_>, survived: &'f Survived) -> Crashed<'f> {
    let [models, made, failing] = [&MODELS[..], &MADE, &FAILING].map(Table::new);
    let mut all = Crashed { models, made, failing, images: 0, judging_ns: 0, checked: vec![] };
    let study = &findings.study;
    for one in &survived.shown {
        let label = || TableCell::new(words::label(findings, one.contender)).series(one.contender);
        for (trial, found) in &one.found {
            all.images += found.images;
            all.judging_ns += found.judging_ns;
            let rate = rate(findings, one.condition, one.contender).map(|rate| rate.value);
            all.made.row([vec![label()], recorded(found, survived.kills, rate)].concat());
            for crashes in &found.crashes {
                all.models.row([vec![label()], by_model(crashes)].concat());
            }
            for image in &found.failing {
                let name = TableCell::new(image_name(study.part.as_deref(), *trial, image.number));
                all.failing.row([vec![name, label()], of_image(image)].concat());
            }
            all.checked.push((label(), found));
        }
    }
    all
}

/// Name of an image. Appended to the directory of the whole record, it is the argument of `contend durability
/// replay`.
fn image_name(part: Option<&str>, trial: u32, number: u32) -> String {
    let name = format!("{trial:04}-{number}");
    part.map_or_else(|| name.clone(), |part| format!("{part}/{name}"))
}

fn about_failing(part: Option<&str>) -> String {
    let whole =
        if part.is_some() { " RECORD is the directory of the whole study, which holds that of this part." } else { "" };
    format!(
        "`contend durability replay RECORD/IMAGE` rebuilds one of them, bit for bit, and says how to open it.{whole}"
    )
}

fn by_model(crashes: &Crashes) -> Vec<TableCell> {
    let model = if crashes.model == PROCESS { "process, really killed" } else { crashes.model.as_str() };
    let number = |n: u64| if n == 0 { TableCell::muted("0") } else { TableCell::new(count(n)) };
    vec![
        TableCell::new(model),
        TableCell::new(if crashes.namespace.is_empty() { NOTHING } else { crashes.namespace.as_str() }),
        TableCell::new(count(crashes.count)),
        number(crashes.lossy),
        number(crashes.corrupt),
        number(crashes.unopenable),
        number(crashes.lost_commits_max),
    ]
}

fn of_image(image: &Failing) -> Vec<TableCell> {
    let minimal = if image.minimal.is_empty() { NOTHING.to_string() } else { image.minimal.join("; ") };
    vec![
        TableCell::new(format!("{}, {}", image.model, image.namespace)),
        TableCell::new(&image.verdict).small(&image.detail),
        TableCell::new(minimal),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_a_part_is_named_with_its_part() {
        assert_eq!(image_name(None, 7, 2), "0007-2");
        assert_eq!(image_name(Some("power"), 7, 2), "power/0007-2");
        assert!(about_failing(Some("power")).contains("whole study") && !about_failing(None).contains("whole study"));
    }
}
