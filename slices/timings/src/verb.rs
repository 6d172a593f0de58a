//! `contend compare --csv`.

use crate::value::Unit;
use crate::{CsvOptions, Pairing, compare_csv, render_text};
use anyhow::{Context, Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use contend::cli::{INVALID, OK, print, read_text, style};
use contend::slice::Form;
use contend::units::percent;
use std::path::PathBuf;

pub const FORM: Form = Form { verb: "compare", chosen_by: "csv", options, run };

#[derive(Args)]
struct CsvArgs {
    /// A CSV file of timings instead of records
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "variant", requires = "value")]
    csv: PathBuf,
    /// Column that says which variant a line measures
    #[arg(long, value_name = "COLUMN")]
    variant: String,
    /// Column of the timing: 10:26, 10m40s, 640ms, or plain numbers of --unit
    #[arg(long, value_name = "COLUMN")]
    value: String,
    /// Unit of plain numbers: h, min, s, ms, us or ns [default: what the column's name ends with, as in time_ms]
    #[arg(long, value_name = "UNIT", value_parser = Unit::parse, conflicts_with = "higher_is_better")]
    unit: Option<Unit>,
    /// Column that groups lines; each group is compared by itself
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Column whose equal values belong together [default: pair, round or run, if there is one]
    #[arg(long, value_name = "COLUMN", conflicts_with = "unpaired")]
    pair: Option<String>,
    /// Ignore any pairing
    #[arg(long)]
    unpaired: bool,
    /// The variant to compare with [default: the first in the file]
    #[arg(long, value_name = "VALUE")]
    baseline: Option<String>,
    /// The values are rates, not times
    #[arg(long)]
    higher_is_better: bool,
    /// Differences up to this many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    margin: f64,
}

/// Adds the options. Records become optional arguments of `compare`.
fn options(compare: Command) -> Command {
    CsvArgs::augment_args(compare)
        .about("Compare two records, or the variants in a CSV of timings")
        .mut_arg("records", |records| records.required(false).required_unless_present("csv").conflicts_with("csv"))
        .mut_args(
            |arg| if ["csv", "variant", "value"].contains(&arg.get_id().as_str()) { arg.required(false) } else { arg },
        )
}

fn run(matches: &ArgMatches) -> Result<u8> {
    let args = CsvArgs::from_arg_matches(matches)?;
    let text = read_text(&args.csv).with_context(|| format!("cannot read {}", args.csv.display()))?;
    let options = CsvOptions {
        by: args.by,
        baseline: args.baseline,
        pairing: match (args.pair, args.unpaired) {
            (Some(column), _) => Pairing::Column(column),
            (None, true) => Pairing::Unpaired,
            (None, false) => Pairing::Auto,
        },
        higher_is_better: args.higher_is_better,
        margin: args.margin / 100.0,
        unit: args.unit,
        ..CsvOptions::new(&args.variant, &args.value)
    };
    let comparison = compare_csv(&text, &options).map_err(|e| anyhow!("{}: {e}", args.csv.display()))?;
    print(&match matches.get_flag("json") {
        true => serde_json::to_string_pretty(&comparison)? + "\n",
        false => render_text(&comparison, style()),
    })?;
    let fails = comparison.comparisons.iter().any(|one| one.comparison.verdict.fails_if_slower());
    Ok(if fails && matches.get_flag("fail_if_slower") { INVALID } else { OK })
}
