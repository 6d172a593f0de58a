//! The plan: the finished list of work for one worker, every choice already drawn.
//!
//! Text, one item a line, fields separated by tabs, the first field the kind of line. The order of
//! lines is fixed, as [`Plan::encode`] writes them; `docs/formats.md` lists them with an example.
//! A worker parses the whole plan into arrays before it says `ready`.

mod check;
mod decode;
mod encode;
pub mod http;
mod model;
mod source;

pub use model::{
    ANY_ROWS, Client, Connections, Head, Keep, Loop, NowSource, Operation, PLAN_VERSION, Plan, Readback, Retry,
    SqlStep, Step, Transaction, UNIQUE_STRIDE, Window,
};
pub use source::Source;

use crate::FormatError;
use crate::digest;

impl Plan {
    /// The plan as text.
    pub fn encode(&self) -> String {
        let mut out = self.head.encode(self.clients.len());
        for client in &self.clients {
            client.encode_into(&mut out);
        }
        out.push_str("end\n");
        digest::sealed(&out)
    }

    /// Reads a plan and checks that every reference in it leads somewhere.
    ///
    /// # Errors
    /// The line at fault, what is wrong with it, and for a newer version its number.
    pub fn decode(text: &str) -> Result<Self, FormatError> {
        decode::plan(text)
    }
}
