//! Laws of systems with many clients: fitted to measurements, judged by points left out, used for predictions.
//!
//! [`law`] has the curves, [`fit`] fits one, [`choose`] fits all and chooses by the largest numbers of clients, which it
//! leaves out, [`predict`] says what the chosen law says of other numbers, and [`mechanism`] compares its parameters with
//! what was measured of the system. Everything is pure: data in, data out. `docs/predict.md` has the formulas, their
//! sources and what they promise.

pub mod choose;
pub mod fit;
pub mod law;
pub mod mechanism;
pub mod predict;
#[cfg(test)]
mod simulated;
