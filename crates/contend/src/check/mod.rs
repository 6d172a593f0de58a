//! What must hold before a number is shown: the checks that find why a trial does not count, and what is marked on it.

pub mod answers;
pub mod commits;
pub mod ever;
pub mod growth;
pub mod guards;
pub mod heard;
pub mod journal;
pub mod kernel;
pub mod last;
pub mod marks;
pub mod own_counts;
pub mod samples;
pub mod schema;
