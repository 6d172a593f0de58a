//! Keys of a study of kind `limit`.

use crate::bound::{self, read};
use contend::study::kind::{Key, Kind, LOAD, Takes};
use contend::study::model::Study;
use serde::Deserialize;

/// Name of the kind, and of its table in study files.
const NAME: &str = "limit";

/// `[limit] bound = ["response_ns_p99<=20ms"]`.
#[derive(Deserialize)]
struct Keys {
    bounds: Option<Vec<String>>,
}

pub const KIND: Kind = Kind {
    name: NAME,
    keys: &[Key {
        name: "bound",
        recorded: "bounds",
        takes: Takes::Checked(|text| read(text).map(drop)),
        otherwise: "",
        settable: false,
    }],
    verb: "limit",
    marks: false,
    estimate_ns: |_, _| 0,
};

/// The bounds of a study: those typed, else those of its file, else the usual ones. Afterwards its trials are of kind `load`.
pub fn bounds(study: &mut Study, typed: &[String]) -> Vec<String> {
    let own = study.kinds.read::<Keys>(NAME).and_then(|keys| keys.bounds);
    (study.kind, study.kinds) = (LOAD.to_string(), Default::default());
    match typed {
        [] => own.unwrap_or_else(bound::usual),
        typed => typed.to_vec(),
    }
}
