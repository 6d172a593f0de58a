//! Findings of a database after some seconds.
use contend_watch::{target::Database, watch::{Watch, POLL}, words};
fn main() -> anyhow::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let s: u64 = args.next().unwrap().to_string_lossy().parse()?;
    let paths: Vec<_> = args.map(Into::into).collect();
    let mut w = Watch::start(Database::open_all(&paths)?, None, 0)?;
    for _ in 0..s * 50 { std::thread::sleep(POLL); w.poll(false)?; }
    w.poll(true)?;
    for (k, v) in &w.timeline.sums { println!("{} {v:?}", w.name(k.1)); }
    for f in w.findings() { println!("{:#?}", words::words(&f, &|p| w.name(p))); }
    println!("missing {:?} holds {}", w.missing(), w.timeline.holds.len());
    Ok(())
}
