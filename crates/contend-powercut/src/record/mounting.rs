//! How a recorder is mounted.

use fuser::{Config, MountOption, SessionACL};

pub fn config(threads: usize) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("contend-powercut".into()),
        MountOption::Subtype("contend-powercut".into()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    // Servers run under other users. An ordinary user can only grant access to itself.
    config.acl = if rustix::process::geteuid().is_root() { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(threads.max(1));
    config.clone_fd = threads > 1;
    config
}
