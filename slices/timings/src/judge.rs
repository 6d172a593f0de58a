//! Compares the variants of a table, group by group, as far as its lines allow.

use super::csv::{self, CsvError, Row, Table};
use super::model::{Arm, CsvComparison, CsvOptions, GroupComparison, Method, UnusedLine};
use contend_stats::interval;
use contend_stats::precision::{Change, counted};
use contend_stats::shift;
use contend_stats::verdict::{self, Comparison, LnRatio, RoundPair, Verdict};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Compares the variants of a CSV table. Errors name line and column; the caller adds the file.
pub fn compare_csv(text: &str, options: &CsvOptions) -> Result<CsvComparison, CsvError> {
    let table = csv::read(text, options)?;
    judge_table(table, options)
}

fn judge_table(table: Table, options: &CsvOptions) -> Result<CsvComparison, CsvError> {
    let variants = in_order(table.rows.iter().map(|row| row.variant.as_str()));
    let baseline = choose_baseline(&variants, &table.excluded, options)?.to_owned();
    let candidates: Vec<String> = variants.iter().filter(|&&name| name != baseline).map(|&name| name.into()).collect();
    let (mut comparisons, mut unused_lines) = (Vec::new(), table.excluded);
    let mut holds_both = false;
    for rows in parted(table.rows, |row| row.group.clone()) {
        let (base, others): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.variant == baseline);
        if base.is_empty() {
            let reason = format!("no `{baseline}` to compare with");
            unused_lines.extend(others.into_iter().map(|row| row.unused(reason.clone())));
            continue;
        }
        let mut arms_of: HashMap<String, Vec<Row>> =
            parted(others, |row| row.variant.clone()).into_iter().map(|rows| (rows[0].variant.clone(), rows)).collect();
        for (candidate, rows) in candidates.iter().filter_map(|name| arms_of.remove_entry(name)) {
            holds_both = true;
            let one_each = base.len() == 1 && rows.len() == 1;
            let mut arms = Arms { baseline: base.clone(), candidate: rows, one_each, paired: false };
            if let Some(column) = &table.pair_column {
                unused_lines.extend(arms.match_pairs(column, &baseline, &candidate)?);
            }
            comparisons.extend(arms.compare(options));
        }
    }
    if comparisons.is_empty() {
        let column = table.pair_column.filter(|_| holds_both);
        return Err(CsvError::of_table(match column {
            Some(column) => format!("no pair of column `{column}` has a line of both variants; --unpaired ignores it"),
            None => format!("no group holds both `{baseline}` and another variant"),
        }));
    }
    unused_lines.sort_by_key(|line| line.line);
    unused_lines.dedup();
    Ok(CsvComparison {
        value_column: options.value.clone(),
        group_column: options.by.clone(),
        pair_column: table.pair_column,
        baseline,
        direction: options.direction(),
        margin: options.margin,
        summary: summary(&comparisons),
        comparisons,
        unused_lines,
        comment_lines: table.comments,
    })
}

/// Each item once, in the order of first appearance.
fn in_order<T: Eq + Hash + Clone>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.filter(|item| seen.insert(item.clone())).collect()
}

/// The rows with the same key, in the order of first appearance.
fn parted<K: Eq + Hash>(rows: Vec<Row>, key: impl Fn(&Row) -> K) -> Vec<Vec<Row>> {
    let (mut parts, mut places): (Vec<Vec<Row>>, HashMap<K, usize>) = (Vec::new(), HashMap::new());
    for row in rows {
        let place = *places.entry(key(&row)).or_insert(parts.len());
        match parts.get_mut(place) {
            Some(part) => part.push(row),
            None => parts.push(vec![row]),
        }
    }
    parts
}

fn choose_baseline<'a>(
    variants: &[&'a str],
    excluded: &[UnusedLine],
    options: &CsvOptions,
) -> Result<&'a str, CsvError> {
    let named = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if variants.len() < 2 {
        let found = if variants.is_empty() { "none".into() } else { format!("only {}", named(variants)) };
        let column = &options.variant;
        let unused = excluded.first().map_or(String::new(), |first| {
            let lines = counted(excluded.len(), "line");
            format!("; {lines} not used: line {}: {}", first.line, first.reason)
        });
        let message = format!("a comparison needs two variants; column `{column}` has {found}{unused}");
        return Err(CsvError::of_table(message));
    }
    match &options.baseline {
        None => Ok(variants[0]),
        Some(baseline) => variants.iter().copied().find(|name| name == baseline).ok_or_else(|| {
            CsvError::of_table(format!("there is no variant `{baseline}`; the variants are {}", named(variants)))
        }),
    }
}

/// The lines of two variants in one group.
struct Arms {
    baseline: Vec<Row>,
    candidate: Vec<Row>,
    /// Whether each had one line, before any was left out for lack of a partner.
    one_each: bool,
    /// Whether the n-th lines of both arms are a pair.
    paired: bool,
}

/// The result of a method.
struct Judged {
    method: Method,
    comparison: Comparison,
    why: Option<String>,
}

impl Arms {
    /// Aligns the lines of both arms by pair; returns lines without a partner.
    fn match_pairs(&mut self, column: &str, baseline: &str, candidate: &str) -> Result<Vec<UnusedLine>, CsvError> {
        let mut partners = by_pair(column, std::mem::take(&mut self.candidate))?;
        let mut unused = Vec::new();
        let rows = std::mem::take(&mut self.baseline);
        by_pair(column, rows.clone())?;
        for row in rows {
            match partners.remove(&row.pair) {
                Some(partner) => {
                    self.baseline.push(row);
                    self.candidate.push(partner);
                }
                None => unused.push(without_partner(row, candidate)),
            }
        }
        unused.extend(partners.into_values().map(|row| without_partner(row, baseline)));
        self.paired = true;
        Ok(unused)
    }

    fn compare(&self, options: &CsvOptions) -> Option<GroupComparison> {
        let first = self.candidate.first()?;
        let judged = match self.medians_alone() {
            Some(why) => self.compare_medians(options, why),
            None if self.paired => self.compare_pairs(options),
            None => self.compare_unpaired(options),
        };
        Some(GroupComparison {
            group: first.group.clone(),
            variant: first.variant.clone(),
            baseline_arm: arm(&self.baseline),
            variant_arm: arm(&self.candidate),
            method: judged.method,
            comparison: judged.comparison,
            why: judged.why,
        })
    }

    /// Why the values do not show how much single runs vary; `None` if they do.
    fn medians_alone(&self) -> Option<String> {
        let runs = self.baseline.iter().chain(&self.candidate).filter_map(|row| row.runs).max();
        match runs {
            Some(runs) if runs > 1 => Some(format!("medians of {runs} runs alone: how much each varied is unknown")),
            Some(_) if self.one_each => Some("one run each: how much runs vary is unknown".into()),
            None if self.one_each => Some("medians alone: how much each varied is unknown".into()),
            _ => None,
        }
    }

    fn compare_medians(&self, options: &CsvOptions, why: String) -> Judged {
        let (baseline, candidate) = (values(&self.baseline), values(&self.candidate));
        let center = shift::log_shift(&baseline, &candidate);
        let ratio = LnRatio { center, interval: None, rounds: baseline.len().min(candidate.len()) };
        let comparison = verdict::judge(ratio, options.direction(), options.margin, None);
        Judged { method: Method::MediansAlone, comparison, why: Some(why) }
    }

    fn compare_pairs(&self, options: &CsvOptions) -> Judged {
        let pair = |(baseline, candidate): (&Row, &Row)| RoundPair {
            baseline: baseline.value.as_f64(),
            candidate: candidate.value.as_f64(),
        };
        let pairs: Vec<RoundPair> = self.baseline.iter().zip(&self.candidate).map(pair).collect();
        let comparison = verdict::compare_rounds(&pairs, options.direction(), options.margin, None);
        let too_few = comparison.verdict == Verdict::NoWords;
        let why = too_few.then(|| format!("{}, words need {}", counted(pairs.len(), "pair"), interval::MIN_ROUNDS));
        Judged { method: Method::Pairs, comparison, why }
    }

    fn compare_unpaired(&self, options: &CsvOptions) -> Judged {
        let (baseline, candidate) = (values(&self.baseline), values(&self.candidate));
        let (center, interval) =
            (shift::log_shift(&baseline, &candidate), shift::log_shift_interval(&baseline, &candidate));
        let ratio = LnRatio { center, interval, rounds: baseline.len().min(candidate.len()) };
        let comparison = verdict::judge(ratio, options.direction(), options.margin, None);
        let why = interval.is_none().then(|| {
            let (base, other, least) = (baseline.len(), candidate.len(), shift::MIN_RUNS);
            format!("{base} against {other} unpaired runs, an interval needs {least} of each")
        });
        Judged { method: Method::UnpairedRuns, comparison, why }
    }
}

fn values(rows: &[Row]) -> Vec<f64> {
    rows.iter().map(|row| row.value.as_f64()).collect()
}

fn arm(rows: &[Row]) -> Arm {
    let median = interval::median(&values(rows)).expect("an arm has at least one line");
    Arm { values: rows.len(), median: rows[0].value.with_value(median) }
}

fn by_pair(column: &str, rows: Vec<Row>) -> Result<HashMap<Option<String>, Row>, CsvError> {
    let mut found: HashMap<Option<String>, Row> = HashMap::new();
    for row in rows {
        if let Some(earlier) = found.get(&row.pair) {
            let (pair, variant) = (row.pair.unwrap_or_default(), row.variant);
            let where_else = format!("pair `{pair}` of `{variant}` is already on line {}", earlier.line);
            let rule = format!("a pair of column `{column}` has one line of each variant in each group (--by)");
            return Err(CsvError::in_line(row.line, format!("{where_else}; {rule}; --unpaired ignores the column")));
        }
        found.insert(row.pair.clone(), row);
    }
    Ok(found)
}

fn without_partner(row: Row, other: &str) -> UnusedLine {
    let pair = row.pair.clone().unwrap_or_default();
    row.unused(format!("pair `{pair}` has no line of `{other}`"))
}

/// One sentence over all groups. It counts verdicts and does not combine them: nine groups that cannot tell remain
/// nine times "cannot tell".
fn summary(comparisons: &[GroupComparison]) -> String {
    let one_variant = comparisons.iter().all(|one| one.variant == comparisons[0].variant);
    let noun = if one_variant && comparisons[0].group.is_some() { "group" } else { "comparison" };
    let count = comparisons.len();
    let plural = if count == 1 { "" } else { "s" };
    let words = if comparisons.iter().all(|one| one.method == Method::MediansAlone) {
        format!("{count} {noun}{plural}, medians alone: cannot tell.")
    } else {
        format!("{count} {noun}{plural}: {}.", count_words(comparisons))
    };
    format!("{words}{}{}", range(comparisons), by_chance(comparisons))
}

fn count_words(comparisons: &[GroupComparison]) -> String {
    let word = |one: &GroupComparison| one.comparison.verdict.to_string();
    let words = in_order(comparisons.iter().map(word));
    let counted = words.iter().map(|wanted| {
        let times = comparisons.iter().filter(|&one| word(one) == *wanted).count();
        if comparisons.len() == 1 { wanted.clone() } else { format!("{times} {wanted}") }
    });
    counted.collect::<Vec<_>>().join(", ")
}

fn range(comparisons: &[GroupComparison]) -> String {
    let ratios = interval::sorted(&comparisons.iter().filter_map(|one| one.comparison.ratio).collect::<Vec<_>>());
    match ratios[..] {
        [] => String::new(),
        [only] => format!(" The change is {}.", Change(only)),
        [lowest, .., highest] => format!(" Changes range from {} to {}.", Change(lowest), Change(highest)),
    }
}

/// With many comparisons, some differences occur by chance: how many to expect.
fn by_chance(comparisons: &[GroupComparison]) -> String {
    let judged: Vec<f64> = comparisons.iter().filter_map(|one| one.comparison.coverage).collect();
    let differences = comparisons.iter().filter(|one| one.comparison.verdict.is_difference()).count();
    if differences == 0 || judged.len() < 2 {
        return String::new();
    }
    let expected: f64 = judged.iter().map(|coverage| 1.0 - coverage).sum();
    format!(" If nothing differed, chance alone would still show about {expected:.1} of {} as different.", judged.len())
}
