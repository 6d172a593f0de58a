//! A trial's data: loaded once, kept in a cache, copied for each trial; and the disk that holds it.

pub mod cache;
pub mod disk;
pub mod fresh;
pub mod load;
pub mod place;
pub mod seen;
