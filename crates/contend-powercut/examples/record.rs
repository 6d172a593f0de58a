//! Records a directory until it is unmounted: `record BACKING MOUNTPOINT LOG [MEBIBYTES]`.

use contend_powercut::record::{self, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [backing, mountpoint, log, rest @ ..] = arguments.as_slice() else {
        return Err("record BACKING MOUNTPOINT LOG [MEBIBYTES]".into());
    };
    let mebibytes: u64 = rest.first().map_or(Ok(1024), |text| text.parse())?;
    let mount = record::mount(&Options {
        backing: backing.into(),
        mountpoint: mountpoint.into(),
        log: log.into(),
        bound_bytes: mebibytes << 20,
        threads: 4,
    })?;
    println!("mounted");
    println!("{:?}", mount.wait()?);
    Ok(())
}
