//! `contend report`.

use super::run::open_record;
use super::{INVALID, OK, ReportArgs, colour, print};
use crate::report;
use anyhow::Result;

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    let record = open_record(&args.dir)?;
    for (name, why) in &record.damaged {
        eprintln!("contend: trial {name} is left out: {why}");
    }
    let written = report::write(&record, &args.dir)?;
    print(&if args.json { written.json.clone() } else { report::terminal(&written, colour()) })?;
    Ok(if record.damaged.is_empty() && written.invalid == 0 { OK } else { INVALID })
}
