//! Frequencies of an argument's values, and generators that draw values with these frequencies.

use crate::allowed::Allowed;
use crate::literal::{CHOICES, text, written};
use crate::manifest::Table;
use crate::trace::Value;
use std::collections::HashMap;

/// Most values that are listed with their frequencies.
const LISTED: usize = 1_000;

/// The values of an argument in all executions.
pub struct Distribution<'v> {
    /// Values other than NULL, most frequent first.
    pub counts: Vec<(&'v Value, u64)>,
    total: u64,
    /// Share of NULL.
    pub nulls: f64,
}

impl<'v> Distribution<'v> {
    pub fn of(values: &[&'v Value]) -> Distribution<'v> {
        let mut by_text: HashMap<String, (&Value, u64)> = HashMap::new();
        for value in values.iter().filter(|value| !matches!(value, Value::Null)) {
            by_text.entry(format!("{value:?}")).or_insert((value, 0)).1 += 1;
        }
        let mut all: Vec<(String, (&Value, u64))> = by_text.into_iter().collect();
        // The same capture gives the same file.
        all.sort_by(|(a, (_, one)), (b, (_, other))| other.cmp(one).then_with(|| a.cmp(b)));
        let counts: Vec<(&Value, u64)> = all.into_iter().map(|(_, counted)| counted).collect();
        let total = counts.iter().map(|(_, count)| count).sum();
        let nulls = 1.0 - total as f64 / values.len().max(1) as f64;
        Distribution { counts, total, nulls }
    }

    /// Whether some value came more than once.
    pub fn comes_again(&self) -> bool {
        self.total > self.counts.len() as u64
    }

    fn most(&self) -> u64 {
        self.counts.first().map_or(0, |(_, count)| *count)
    }

    fn is_even(&self, among: u64) -> bool {
        is_even(self.most(), self.total, among)
    }

    fn zipf(&self, among: u64, keys: u64) -> String {
        zipf_of(self.most(), self.total, (among, keys))
    }

    /// Whether values in place of these are listed: few, or some more frequent than others.
    pub fn is_listed(&self) -> bool {
        let distinct = self.counts.len();
        distinct <= CHOICES || (distinct <= LISTED && !self.is_even(distinct as u64))
    }

    /// These values with the captured frequencies.
    pub fn list(&self, values: &[String], null: &str) -> String {
        let weights: Vec<String> = self.counts.iter().map(|(_, count)| count.to_string()).collect();
        format!("{{ choice = [{}], weights = [{}]{null} }}", values.join(", "), weights.join(", "))
    }

    fn known(&self) -> Option<Vec<String>> {
        self.counts.iter().map(|(value, _)| written(value)).collect()
    }

    fn integers(&self) -> Option<Vec<i64>> {
        let integer = |(value, _): &(&Value, u64)| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        };
        self.counts.iter().map(integer).collect()
    }

    /// Keys of a table. Those that were captured, if they are known and some are more frequent.
    pub fn of_rows(&self, to: &str, table: &Table, null: &str) -> String {
        let rows = table.rows;
        let (low, high) = table.keys.unwrap_or((1, rows.cast_signed()));
        let is_there = |key: &i64| (low..=high).contains(key);
        let all_there = self.integers().is_some_and(|keys| keys.iter().all(is_there));
        if table.keys.is_some() && table.first_key().is_none() {
            // Those that a table with gaps can have.
            let key = |value: &Value| match value {
                Value::Integer(key) if is_there(key) => Some(key.to_string()),
                _ => None,
            };
            return self.sample(key, null).unwrap_or_else(|| format!("{{ range = [{low}, {high}]{null} }}"));
        }
        if !self.is_even(rows)
            && self.counts.len() <= LISTED
            && all_there
            && let Some(known) = self.known()
        {
            return self.list(&known, null);
        }
        format!("{{ ref = {}{}{null} }}", text(to), self.zipf(rows, rows))
    }

    /// The lowest and the highest number of a range of names, and its skew. `numbers`: those of these values. Names of rows have the
    /// numbers up to `rows`, and others do not find a row: as many draws of the range as captured ones do.
    pub fn among_rows(&self, numbers: &[usize], rows: u64) -> (u64, u64, String) {
        let is_there = |number: usize| number as u64 <= rows;
        let there = numbers.iter().filter(|number| is_there(**number)).count() as u64;
        let others = numbers.len() as u64 - there;
        let found: u64 = numbers.iter().zip(&self.counts).filter(|(of, _)| is_there(**of)).map(|(_, (_, n))| n).sum();
        // Values that come again and again are all that there are. Otherwise any row can be the next one.
        let (inside, outside) = match found {
            _ if self.total >= 3 * numbers.len() as u64 => (there, others),
            0 => (0, others),
            _ => (rows, (rows as f64 * (self.total - found) as f64 / found as f64).round() as u64),
        };
        (rows - inside + 1, (rows + outside).max(rows - inside + 1), self.zipf(numbers.len() as u64, inside + outside))
    }

    /// The captured values that can be written; some of them, if they are many.
    fn sample(&self, written: impl Fn(&Value) -> Option<String>, null: &str) -> Option<String> {
        let one = |(value, count): &(&Value, u64)| Some((written(value)?, count.to_string()));
        let there: Vec<(String, String)> = self.counts.iter().filter_map(one).collect();
        let each = there.len().div_ceil(LISTED).max(1);
        let (keys, weights): (Vec<String>, Vec<String>) = there.into_iter().step_by(each).unzip();
        (!keys.is_empty())
            .then(|| format!("{{ choice = [{}], weights = [{}]{null} }}", keys.join(", "), weights.join(", ")))
    }

    /// The values themselves, if they are known and few, or some are more frequent than others, or they come again and
    /// again. Texts that are searched for are always listed: a made-up text would find other rows.
    pub fn listed(&self, null: &str, searches: bool) -> Option<String> {
        let distinct = self.counts.len();
        let searches = searches && self.counts.iter().any(|(value, _)| matches!(value, Value::Text(_)));
        if searches && distinct > LISTED {
            return self.sample(written, null);
        }
        if distinct == 0 || distinct > LISTED {
            return None;
        }
        let is_range = self.integers().is_some_and(|numbers| {
            let span = numbers.iter().max().zip(numbers.iter().min()).map(|(high, low)| high.abs_diff(*low));
            span.is_some_and(|span| span < 4 * distinct as u64) && self.is_even(distinct as u64)
        });
        let is_closed = searches || !self.is_even(distinct as u64) || self.total >= 3 * distinct as u64;
        (distinct <= CHOICES || (is_closed && !is_range))
            .then(|| self.known())
            .flatten()
            .map(|known| self.list(&known, null))
    }

    /// Numbers between the lowest and the highest one.
    pub fn between(&self, null: &str) -> Option<String> {
        if let Some(numbers) = self.integers() {
            let (low, high) = (numbers.iter().min()?, numbers.iter().max()?);
            let skew = self.zipf(self.counts.len() as u64, high.abs_diff(*low).saturating_add(1));
            return Some(format!("{{ range = [{low}, {high}]{skew}{null} }}"));
        }
        let real = |(value, _): &(&Value, u64)| match value {
            Value::Real(number) if number.is_finite() => Some(*number),
            _ => None,
        };
        let reals: Vec<f64> = self.counts.iter().map(real).collect::<Option<_>>()?;
        let (low, high) =
            reals.iter().fold((f64::MAX, f64::MIN), |(low, high), real| (low.min(*real), high.max(*real)));
        (low < high).then(|| format!("{{ range = [{low:?}, {high:?}]{null} }}"))
    }

    /// The only values of a column, if it has such, with the captured frequencies. In the order of the schema, if the captured ones are
    /// not known.
    pub fn words(&self, allowed: &Allowed, null: &str) -> Option<String> {
        let words = allowed.listed();
        if words.is_empty() || self.counts.is_empty() {
            return None;
        }
        let known = self.known().filter(|known| known.len() <= LISTED);
        let values = known.unwrap_or_else(|| words.iter().cycle().take(self.counts.len()).cloned().collect());
        Some(self.list(&values, null))
    }

    /// Values of known type, number and length in place of hashed or too many ones, as often.
    pub fn free(&self, kind: &str, length: u64, allowed: &Allowed, null: &str) -> String {
        let distinct = self.counts.len() as u64;
        match kind {
            "integer" => format!("{{ range = {}{}{null} }}", allowed.range(distinct), self.zipf(distinct, distinct)),
            "text" if self.is_listed() && distinct > 0 => {
                let values: Vec<String> = (1..=distinct).map(|i| text(&allowed.name(i as usize, length))).collect();
                self.list(&values, null)
            }
            _ => allowed.free(kind, distinct.max(1), length, null),
        }
    }
}

/// Whether the most frequent of `among` values came no more often than chance allows if all were equally frequent.
fn is_even(most: u64, total: u64, among: u64) -> bool {
    let mean = total as f64 / among.max(1) as f64;
    most as f64 <= mean + 4.0 * mean.sqrt() + 2.0
}

/// Zipf's exponent as an option of a generator over `keys` keys, of which the most frequent one came `most` times of `total`;
/// empty if the values are about equally frequent among `among`. Example: `, zipf = 0.7`.
pub fn zipf_of(most: u64, total: u64, (among, keys): (u64, u64)) -> String {
    let share = most as f64 / total.max(1) as f64;
    let exponent = if is_even(most, total, among) { None } else { zipf(share, keys) };
    exponent.map_or(String::new(), |exponent| format!(", zipf = {exponent}"))
}

/// The exponent of Zipf's law over `keys` keys at which the most frequent key has the share `most`.
fn zipf(most: f64, keys: u64) -> Option<f64> {
    /// Ranks that are added one by one; the rest is an integral, which differs from its sum by less than one in a million.
    const ADDED: u64 = 1_000;
    if keys < 2 {
        return None;
    }
    let first = keys.min(ADDED);
    let (from, to) = (first as f64 + 0.5, keys as f64 + 0.5);
    let share = |s: f64| {
        let rest =
            if (s - 1.0).abs() < 1e-9 { (to / from).ln() } else { (to.powf(1.0 - s) - from.powf(1.0 - s)) / (1.0 - s) };
        1.0 / ((1..=first).map(|rank| (rank as f64).powf(-s)).sum::<f64>() + rest)
    };
    // To less than half of a hundredth, to which it is rounded.
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..14 {
        let middle = (low + high) / 2.0;
        if share(middle) < most { low = middle } else { high = middle }
    }
    (low > 0.05).then_some((low * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(counts: impl Iterator<Item = (i64, usize)>) -> Vec<Value> {
        counts.flat_map(|(number, count)| vec![Value::Integer(number); count]).collect()
    }

    fn table(rows: u64) -> Table {
        Table { name: "t".into(), ddl: String::new(), rows, keys: None, columns: vec![] }
    }

    fn seen(values: &[Value]) -> Distribution<'_> {
        Distribution::of(&values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn skew_comes_back() {
        let most = 1.0 / (1..=1000).map(|rank| f64::from(rank).powf(-1.0)).sum::<f64>();
        let found = zipf(most, 1000).expect("skew");
        assert!((found - 1.0).abs() < 0.02, "{found}");
        let most = 1.0 / (1..=3_000_000).map(|rank| f64::from(rank).powf(-0.7)).sum::<f64>();
        assert_eq!(zipf(most, 3_000_000), Some(0.7));
    }

    #[test]
    fn frequencies_are_kept_where_values_are_unequal() {
        let even = integers((1..=100).map(|n| (n, 10)));
        assert_eq!(seen(&even).listed("", true), None, "any number of the range");
        assert_eq!(seen(&even).between("").as_deref(), Some("{ range = [1, 100] }"));
        assert_eq!(seen(&even).of_rows("t.id", &table(100), ""), "{ ref = \"t.id\" }");
        assert!(
            seen(&even).of_rows("t.id", &table(10_000), "").starts_with("{ choice = [1, "),
            "only these of many keys"
        );
        let skewed = integers((1..=50).map(|n| (n, if n == 7 { 500 } else { 2 })));
        let listed = seen(&skewed).listed("", true).expect("listed");
        assert!(listed.starts_with("{ choice = [7, 1, ") && listed.contains("weights = [500, 2, "), "{listed}");
        assert_eq!(seen(&skewed).of_rows("t.id", &table(1_000), ""), listed, "the captured keys");
        assert!(
            seen(&skewed).of_rows("t.id", &table(20), "").starts_with("{ ref = \"t.id\", zipf = "),
            "keys that are not there"
        );
        let sparse = integers((1..=30).map(|n| (n * 1_000, 5)));
        assert!(
            seen(&sparse).listed("", true).is_some_and(|listed| listed.contains("30000")),
            "numbers of a closed set"
        );
    }

    #[test]
    fn hashed_texts_and_real_numbers_keep_frequency_and_range() {
        let hashed: Vec<Value> =
            (0..40u64).flat_map(|n| vec![Value::Hash(3, 12, n); if n == 0 { 200 } else { 1 }]).collect();
        let free = seen(&hashed).free("text", 12, &Allowed::default(), "");
        assert!(free.starts_with("{ choice = [\"value-1-----\", ") && free.contains("weights = [200, 1, "), "{free}");
        let reals: Vec<Value> = (0..30).map(|n| Value::Real(2.5 + f64::from(n))).collect();
        assert_eq!(seen(&reals).between(", null = 0.1").as_deref(), Some("{ range = [2.5, 31.5], null = 0.1 }"));
    }
}
