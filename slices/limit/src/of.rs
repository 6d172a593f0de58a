//! What is searched: the rate of arrivals, or a whole number on an axis, such as clients.

use contend::load;
use contend_stats::precision::{Rate, count};

/// What is searched without `--of`.
pub const RATE: &str = "rate";
/// Greatest number that is tried on an axis.
pub const MOST: f64 = 1024.0;

/// The quantity whose greatest value is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of {
    /// Arrivals per second, in an open loop.
    Rate,
    /// An axis by its name in study files.
    Axis(String),
}

impl Of {
    pub fn named(name: &str) -> Self {
        if name == RATE { Of::Rate } else { Of::Axis(name.to_string()) }
    }

    pub fn name(&self) -> &str {
        match self {
            Of::Rate => RATE,
            Of::Axis(name) => name,
        }
    }

    /// Its key in the axes of a condition.
    pub fn key(&self) -> &str {
        load::key(self.name())
    }

    pub fn is_rate(&self) -> bool {
        *self == Of::Rate
    }

    /// Names of things that can be counted are plurals: `clients`, `databases`, but not `scale`.
    fn is_counted(&self) -> bool {
        self.name().ends_with('s')
    }

    /// The greatest value in words: `highest rate`, `most clients`, `greatest scale`.
    pub fn greatest(&self) -> String {
        match self {
            Of::Rate => "highest rate".to_string(),
            Of::Axis(name) if self.is_counted() => format!("most {name}"),
            Of::Axis(name) => format!("greatest {name}"),
        }
    }

    /// What a value is: `rate`, `number of clients`, `scale`.
    pub fn kind(&self) -> String {
        match self {
            Of::Axis(name) if self.is_counted() => format!("number of {name}"),
            _ => self.name().to_string(),
        }
    }

    /// Label of an axis of a chart.
    pub fn axis_label(&self) -> &str {
        if self.is_rate() { "arrivals per second" } else { self.name() }
    }

    /// A value alone, as in a table with its own heading: `310/s`, `12`.
    pub fn show(&self, value: f64) -> String {
        if self.is_rate() { Rate(value).to_string() } else { count(value.floor() as u64) }
    }

    /// A value in a sentence: `310/s`, `12 clients`, `scale 3`.
    pub fn words(&self, value: f64) -> String {
        let shown = self.show(value);
        match self {
            Of::Rate => shown,
            Of::Axis(_) if !self.is_counted() => format!("{} {shown}", self.name()),
            Of::Axis(name) if value.floor() == 1.0 => {
                let one =
                    name.strip_suffix("sses").map_or_else(|| name[..name.len() - 1].to_string(), |p| format!("{p}ss"));
                format!("{shown} {one}")
            }
            Of::Axis(name) => format!("{shown} {name}"),
        }
    }

    /// The question of a report.
    pub fn question(&self, study: &str) -> String {
        match self {
            Of::Rate => format!("Up to what rate does {study} meet its bounds?"),
            Of::Axis(name) if self.is_counted() => format!("With how many {name} does {study} meet its bounds?"),
            Of::Axis(name) => format!("Up to what {name} does {study} meet its bounds?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_words() {
        let words = |name: &str, value: f64| Of::named(name).words(value);
        assert_eq!(words("rate", 310.0), "310/s");
        assert_eq!([words("clients", 1.0), words("clients", 1024.0)], ["1 client", "1,024 clients"]);
        assert_eq!([words("processes", 1.0), words("scale", 3.0)], ["1 process", "scale 3"]);
        assert_eq!(
            [Of::named("databases").greatest(), Of::named("hold").greatest()],
            ["most databases", "greatest hold"]
        );
        assert_eq!([Of::Rate.key(), Of::named("clients").key()], ["rate_per_s", "clients"]);
    }
}
