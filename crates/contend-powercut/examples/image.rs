//! Writes one image and prints what it lacks: `image BASE LOG POSITION|end MODEL NAMESPACE SEED DIRECTORY`.

use std::path::Path;

use contend_powercut::log::Log;
use contend_powercut::replay::{Cut, Replayer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, log, position, model, namespace, seed, directory] = arguments.as_slice() else {
        return Err("image BASE LOG POSITION|end MODEL NAMESPACE SEED DIRECTORY".into());
    };
    let log = Log::read(Path::new(log))?;
    let position = if position == "end" { log.len() } else { position.parse()? };
    let cut = Cut { position, model: model.parse()?, namespace: namespace.parse()?, seed: seed.parse()? };
    let mut replayer = Replayer::new(Path::new(base), &log)?;
    let start = std::time::Instant::now();
    let image = replayer.image(&cut)?;
    let made = start.elapsed();
    image.write(Path::new(directory))?;
    let written = start.elapsed();
    let lost = replayer.lost(&cut)?;
    println!(
        "{} of {} entries; {} pieces lost; made in {made:?}, written by {written:?}",
        position,
        log.len(),
        lost.len()
    );
    for loss in lost.iter().take(20) {
        println!("  entry {}, {}: {}", loss.entry, loss.path, loss.what);
    }
    Ok(())
}
