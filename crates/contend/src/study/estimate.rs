//! About how long a study takes, from what it says alone: for who waits, and for tests that hold quick forms to
//! their time.

use super::load::load_under;
use super::model::{Contender, Load, Study, Tier};
use super::powercut::{LIE_CAUGHT, LIES, LIES_IN_VAIN, MINIMISE_TRIES, SERVER_LIE_POINTS, SERVER_LIES};

/// Around the measured time of a trial: fresh data, workers that start, waiting for a quiet disk, checks. Measured on two
/// processors with an ordinary disk, where it is 0.3 to 0.6 s.
const AROUND_NS: u64 = 600_000_000;

/// One operation of one client among others, where a trial ends after a number of them. Between a look-up by key (some
/// microseconds) and a commit that waits for a slow disk and for other writers (some ten milliseconds).
const OPERATION_NS: u64 = 5_000_000;

/// An image rebuilt and judged, beside another one: of an engine in the process of its client, and of a server, which is
/// started on it and recovers. With room: the quick study of crashes, 90,000 and 1,000 of them, took 412 s with all else on two quiet processors.
const IMAGE_NS: u64 = 2_000_000;
const SERVER_IMAGE_NS: u64 = 300_000_000;

/// A real kill with everything around it, and a recording without its window.
const KILL_NS: u64 = 1_000_000_000;
const RECORDING_NS: u64 = 1_000_000_000;

/// A kernel that is booted, killed, and booted again.
const KERNEL_CUT_NS: u64 = 4_000_000_000;

/// Estimated time of all trials of a study, in nanoseconds.
pub fn estimate_ns(study: &Study) -> u64 {
    let contenders = study.contenders.len() as u64;
    let crashes_ns: u64 = study.contenders.iter().map(|contender| crashes_ns(study, contender)).sum();
    let trial_ns = |load: Load| load.run_in_ns + measured_ns(&load) + AROUND_NS;
    let round_ns: u64 = study.conditions.iter().map(|at| contenders * trial_ns(load_under(&study.load, at))).sum();
    // Crashes are made once, in the last round.
    round_ns * u64::from(study.rounds) + crashes_ns * study.conditions.len() as u64
}

/// What crashes of one contender take.
fn crashes_ns(study: &Study, contender: &Contender) -> u64 {
    let Some(powercut) = &study.powercut else { return 0 };
    let server = crate::engine::find(&contender.engine).and_then(|engine| engine.server);
    let (is_server, window_ns) = (server.is_some(), powercut.window_ns.max(server.map_or(0, |s| s.write_back_ns)));
    let (images, image_ns) = match is_server {
        true => (powercut.server_points, SERVER_IMAGE_NS),
        false => (powercut.points, IMAGE_NS),
    };
    // Most planted faults are caught after few images; an image worse than lossy is made smaller.
    let more = match (is_server, contender.tier) {
        // A lie is caught after few images; where it is not, the run does not count.
        (true, Tier::Durable) => SERVER_LIES as u32 * SERVER_LIE_POINTS / 4,
        (true, _) => 0,
        (_, Tier::Durable) => LIES_IN_VAIN * powercut.lie_points + (LIES as u32 - LIES_IN_VAIN) * LIE_CAUGHT,
        (_, _) => MINIMISE_TRIES,
    };
    let kernel_cuts = if crate::engine::can_boot(contender) { powercut.kernel_cuts } else { 0 };
    let real_ns = u64::from(powercut.kills) * KILL_NS + u64::from(kernel_cuts) * KERNEL_CUT_NS;
    u64::from(images + more) * image_ns + real_ns + RECORDING_NS + window_ns
}

fn measured_ns(load: &Load) -> u64 {
    match load.operations {
        None => load.window_ns,
        Some(operations) => u64::from(operations) * OPERATION_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::study::model::{Extent, Variant};
    use crate::study::{Choices, resolve};

    fn estimated(load: &str) -> u64 {
        let text = format!(
            "question = 'q'\nworkload = 'w'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
             axes = {{ clients = [1, 2] }}\nload = {{ {load} }}\n[[contender]]\nengine = 'sqlite'\n"
        );
        let choices = Choices::new(Variant::Corrected, Extent::Full);
        estimate_ns(&resolve(&Source::new("e.toml", text), &choices).unwrap())
    }

    #[test]
    fn every_trial_counts_with_what_is_around_it() {
        assert_eq!(estimated("window = '2s', run_in = '400ms'"), 12 * 3_000_000_000);
        assert_eq!(estimated("operations = 100"), 12 * 1_100_000_000);
    }

    #[test]
    fn planted_faults_and_smaller_images_count_too() {
        let of = |synchronous: &str, lie_points: u32| {
            let text = format!(
                "question = 'q'\nworkload = 'w'\nkind = 'powercut'\nheadline = 'throughput_ops_per_s'\nrounds = 1\n\
                 load = {{ window = '1s' }}\n[powercut]\npoints = 100\nlie_points = {lie_points}\n[[contender]]\n\
                 engine = 'sqlite'\nsettings = {{ journal_mode = 'wal', synchronous = '{synchronous}' }}\n"
            );
            let choices = Choices::new(Variant::Corrected, Extent::Full);
            estimate_ns(&resolve(&Source::new("e.toml", text), &choices).unwrap())
        };
        assert_eq!(of("full", 200) - of("full", 100), u64::from(LIES_IN_VAIN) * 100 * IMAGE_NS);
        assert_eq!(of("off", 200), of("off", 100), "no disk lies to what is not durable");
        assert_eq!(of("full", 100) - of("off", 100), (100 + 7 * 20 - 60) * IMAGE_NS);
    }
}
