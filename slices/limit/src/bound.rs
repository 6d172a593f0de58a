//! Bounds that a rate must meet: `response_ns_p99<=50ms`, `failed<=0.1%`.

use contend::analysis::metric::{self, Metric};
use contend::study::spelling::canonical;
use contend::units::duration_ns;
use contend_stats::unit::Unit;
use contend_stats::verdict::Direction;

/// Bounds if there is no `--bound`.
pub const USUAL: [&str; 2] = ["response_ns_p99<=50ms", FAILED];
/// Applies to every search: an operation that fails costs little time.
pub const FAILED: &str = "failed<=0.1%";

/// A metric and the largest value that it may have.
#[derive(Debug, Clone)]
pub struct Bound {
    pub metric: Metric,
    pub most: f64,
    /// With the full name of the metric.
    pub text: String,
}

impl Bound {
    /// Whether it bounds the share of operations that fail.
    pub fn is_of_failures(&self) -> bool {
        self.metric.name == "failed_share"
    }
}

/// Bounds of a search without any given.
pub fn usual() -> Vec<String> {
    USUAL.map(str::to_string).to_vec()
}

/// The bounds as typed. The share of failed operations is always bounded.
///
/// # Errors
/// A bound that cannot be read, and how to write it.
pub fn bounds(typed: &[String]) -> Result<Vec<Bound>, String> {
    let mut bounds = typed.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
    for (at, bound) in bounds.iter().enumerate() {
        if bounds[..at].iter().any(|other| other.metric.name == bound.metric.name) {
            return Err(format!("{} is bounded twice", bound.metric.name));
        }
    }
    if !bounds.iter().any(Bound::is_of_failures) {
        bounds.push(read(FAILED)?);
    }
    Ok(bounds)
}

/// The bounds of a finished search; none if one of them is unknown. Earlier versions read `failed<=0.1` as a fraction, and reports
/// of their records keep that.
pub fn recorded(texts: &[String]) -> Vec<Bound> {
    texts.iter().map(|text| parsed(text)).collect::<Result<_, _>>().unwrap_or_default()
}

/// One bound. A share without `%` could be either of two, except 0.
///
/// # Errors
/// How to write it.
pub fn read(text: &str) -> Result<Bound, String> {
    let bound = parsed(text)?;
    match bound.text.split_once("<=") {
        Some((name, value)) if bound.metric.unit == Unit::Share && bound.most > 0.0 && !value.ends_with('%') => {
            let percent = plain(bound.most * 100.0);
            Err(format!(
                "`{text}`: {value} can be a percentage or a fraction; write {name}<={value}% or {name}<={percent}%"
            ))
        }
        _ => Ok(bound),
    }
}

/// One bound, in which a share may be a fraction.
fn parsed(text: &str) -> Result<Bound, String> {
    let wrong = |why: &str| format!("`{text}`: {why}; write METRIC<=VALUE, such as {}", USUAL[0]);
    let (name, value) = text.split_once("<=").ok_or_else(|| wrong("there is no `<=`"))?;
    let (name, value) = (canonical(name.trim()), value.trim());
    let listed = metric::listed(if name == "failed" { "failed_share" } else { &name });
    let metric = listed
        .filter(|metric| metric.direction == Direction::LowerIsBetter)
        .ok_or_else(|| wrong("no metric has this name where less is better (contend list metrics)"))?;
    let most = match metric.unit {
        Unit::Ns => duration_ns(value).map(|ns| ns as f64).map_err(|why| wrong(&why))?,
        Unit::Share => share(value).ok_or_else(|| wrong("it takes a share from 0% to 100%, such as 0.1%"))?,
        _ => value.parse().ok().filter(|most: &f64| most.is_finite()).ok_or_else(|| wrong("it takes a number"))?,
    };
    if most < 0.0 || (metric.unit == Unit::Ns && most == 0.0) {
        return Err(wrong("nothing can meet it"));
    }
    let value: String = value.split_whitespace().collect();
    Ok(Bound { metric, most, text: format!("{name}<={value}") })
}

/// A share in percent, or as a fraction.
fn share(text: &str) -> Option<f64> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    number.parse().ok().map(|number: f64| number / whole).filter(|share| (0.0..=1.0).contains(share))
}

/// A number without the error of its last digits: `7`, not `7.000000000000001`.
fn plain(number: f64) -> String {
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Quantiles in the order in which they need fewer operations.
const LOWER: [(&str, &str); 2] = [("_p999", "_p99"), ("_p99", "_p95")];

/// The same bounds of the next lower quantiles; `None` if no quantile can be lower.
pub fn with_lower_quantiles(bounds: &[Bound]) -> Option<Vec<Bound>> {
    let name = |bound: &Bound| bound.text.split("<=").next().unwrap_or_default().to_string();
    let step = LOWER.iter().find(|(from, _)| bounds.iter().any(|bound| ends_with(&name(bound), from)))?;
    let lower = |bound: &Bound| match ends_with(&name(bound), step.0) {
        true => read(&bound.text.replacen(step.0, step.1, 1)).ok(),
        false => Some(bound.clone()),
    };
    let lower: Option<Vec<Bound>> = bounds.iter().map(lower).collect();
    // Two bounds of one metric would be one question too many.
    lower.filter(|all| (1..all.len()).all(|at| all[..at].iter().all(|other| other.metric.name != all[at].metric.name)))
}

/// Whether a metric is of this quantile, of all operations or of one kind.
fn ends_with(name: &str, quantile: &str) -> bool {
    name.split('.').next().unwrap_or_default().ends_with(quantile)
}

/// The name of the metric of a bound in the record.
pub fn metric_name(bound: &str) -> String {
    let name = bound.split("<=").next().unwrap_or_default();
    if name == "failed" { "failed_share".to_string() } else { name.to_string() }
}

/// Longest time that an operation may take, in nanoseconds: the largest bound of response times, or else of other
/// times.
pub fn time_ns(bounds: &[Bound]) -> Option<f64> {
    let of = |is: &dyn Fn(&str) -> bool| {
        let times = bounds.iter().filter(|bound| bound.metric.unit == Unit::Ns && is(&bound.metric.name));
        times.map(|bound| bound.most).max_by(f64::total_cmp)
    };
    of(&|name| name.starts_with("response_ns")).or_else(|| of(&|_| true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(typed: &[&str]) -> Result<Vec<(String, f64)>, String> {
        let typed: Vec<String> = typed.iter().map(|text| text.to_string()).collect();
        Ok(bounds(&typed)?.into_iter().map(|bound| (bound.metric.name, bound.most)).collect())
    }

    #[test]
    fn bounds_have_units_and_failures_are_always_bounded() {
        let failed = ("failed_share".to_string(), 0.001);
        assert_eq!(read_all(&USUAL).unwrap(), [("response_ns_p99".to_string(), 50e6), failed.clone()]);
        assert_eq!(
            read_all(&["service_ns_p95.write <= 2.5ms"]).unwrap(),
            [("service_ns_p95.write".to_string(), 2.5e6), failed]
        );
        for (typed, share) in [("failed<=1%", 0.01), ("failed<=0", 0.0), ("failed<=0%", 0.0), ("failed<=100 %", 1.0)] {
            assert_eq!(read_all(&[typed]).unwrap(), [("failed_share".to_string(), share)], "{typed}");
        }
    }

    /// Their reports must not change.
    #[test]
    fn searches_that_were_recorded_with_a_fraction_keep_it() {
        let most = |text: &str| recorded(&[text.to_string()]).first().map(|bound| bound.most);
        assert_eq!((most("failed<=0.1"), most("failed<=0.1%")), (Some(0.1), Some(0.001)));
    }

    #[test]
    fn a_lower_quantile_keeps_its_kind_and_its_bound() {
        let lower = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|text| text.to_string()).collect();
            let lower = with_lower_quantiles(&bounds(&typed).unwrap())?;
            Some(lower.into_iter().map(|bound| bound.text).collect::<Vec<_>>())
        };
        let texts = |all: &[&str]| Some(all.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        assert_eq!(lower(&["response_ns_p99<=50ms"]), texts(&["response_ns_p95<=50ms", FAILED]));
        assert_eq!(lower(&["p99.write <= 20 ms"]), lower(&["response_ns_p99.write<=20ms"]));
        assert_eq!(lower(&["response_ns_p99.write<=20ms"]), texts(&["response_ns_p95.write<=20ms", FAILED]));
        assert_eq!(
            lower(&["response_ns_p999<=1s", "service_ns_p99<=9ms"]),
            texts(&["response_ns_p99<=1s", "service_ns_p99<=9ms", FAILED])
        );
        assert_eq!(lower(&["response_ns_p95<=50ms"]), None);
        assert_eq!(lower(&["response_ns_p99<=50ms", "response_ns_p95<=9ms"]), None, "it would be bounded twice");
    }

    #[test]
    fn the_order_of_bounds_decides_nothing() {
        let time = |typed: [&str; 2]| time_ns(&bounds(&typed.map(str::to_string)).unwrap());
        let (lock, response) = ("lock_wait_ns_p99<=1ms", "response_ns_p99<=50ms");
        assert_eq!([time([lock, response]), time([response, lock])], [Some(50e6); 2]);
    }

    #[test]
    fn a_wrong_bound_says_how_to_write_it() {
        for (typed, part) in [
            ("response_ns_p99<50ms", "no `<=`"),
            ("throughput_ops_per_s<=5", "less is better"),
            ("response_ns_p42<=5ms", "no metric has this name"),
            ("response_ns_p99<=5", "unit"),
            ("failed<=200%", "share"),
            ("failed<=5", "such as 0.1%"),
            ("failed<=nan", "share"),
            ("failed<=-1%", "share"),
            ("p98<=50ms", "contend list metrics"),
            ("response_ns_p99<=0ms", "nothing can meet"),
        ] {
            let error = read_all(&[typed]).unwrap_err();
            assert!(error.contains(part) && error.contains("METRIC<=VALUE"), "{typed}: {error}");
        }
        for (typed, part) in [
            ("failed<=0.1", "write failed<=0.1% or failed<=10%"),
            ("failed <= 0.07", "write failed<=0.07% or failed<=7%"),
            ("failed<=1", "write failed<=1% or failed<=100%"),
            ("failed_share<=0.001", "write failed_share<=0.001% or failed_share<=0.1%"),
        ] {
            let error = read_all(&[typed]).unwrap_err();
            assert!(error.contains("a percentage or a fraction") && error.ends_with(part), "{typed}: {error}");
        }
        assert!(read_all(&["failed<=1%", "failed_share<=2%"]).unwrap_err().contains("twice"));
    }
}
