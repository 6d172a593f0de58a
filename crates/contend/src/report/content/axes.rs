//! Axes of charts: where they end, and round numbers along them.

use crate::report::content::words;
use crate::report::document::{Axis, Tick};

/// From this factor between the smallest and the largest value on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The value with as few decimals as possible.
pub fn trimmed(value: f64) -> String {
    format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_string()
}

pub fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |seen, v| Some(seen.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

/// An axis for these values: logarithmic where they are all above zero and far apart, else from zero.
pub fn fitting(values: impl Iterator<Item = f64>, show: &dyn Fn(f64) -> String) -> Option<Axis> {
    let (low, high) = extent(values)?;
    Some(if low > 0.0 && high / low >= WIDE { log_axis(low, high, show) } else { axis_around_zero((low, high), show) })
}

/// Whole powers of ten around the values, with 2 and 5 in between where there are few. Both above 0.
/// A value at the end of a decade stays in it.
pub fn log_axis(low: f64, high: f64, show: &dyn Fn(f64) -> String) -> Axis {
    let (first, last) = (low.log10().floor() as i32, (high * 0.999).log10().ceil() as i32);
    let last = last.max(first + 1);
    let decades = last - first;
    let steps: &[f64] = if decades <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let at = |exponent: i32| steps.iter().map(move |step| (step * 10f64.powi(exponent), *step > 1.0));
    let all = (first..=last).flat_map(at).filter(|(at, _)| *at <= 10f64.powi(last) * 1.001);
    let ticks = all.map(|(at, minor)| Tick { at, label: show(at), minor }).collect();
    Axis { label: "time".to_string(), log: true, low: 10f64.powi(first), high: 10f64.powi(last), ticks }
}

/// `10 ms`: round numbers need no three digits.
pub fn short_ns(ns: f64) -> String {
    let (size, unit) = match ns {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e6 => (1e6, "ms"),
        ns if ns >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{} {unit}", trimmed(ns / size))
}

/// Round numbers need no three digits.
pub fn short_count(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6)),
        v if v >= 1e3 => words::count(v.round() as u64),
        v => trimmed(v),
    }
}

/// From zero, with round steps.
pub fn linear_axis(high: f64, show: &dyn Fn(f64) -> String) -> Axis {
    axis_around_zero((0.0, high), show)
}

/// The same for values of which some may be negative.
fn axis_around_zero((low, high): (f64, f64), show: &dyn Fn(f64) -> String) -> Axis {
    let (low, high) = (low.min(0.0), if low < 0.0 { high.max(0.0) } else { high });
    let high = if high > low { high } else { 1.0 };
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).floor() as i32, (high / step).ceil() as i32);
    let tick = |i: i32| {
        let at = f64::from(i) * step;
        Tick { at, label: if i == 0 { "0".to_string() } else { show(at) }, minor: i % 2 != 0 }
    };
    let ticks = (first..=last).map(tick).collect();
    Axis { label: String::new(), log: false, low: f64::from(first) * step, high: f64::from(last) * step, ticks }
}

/// From zero, with steps that are round in the unit they are shown in.
pub fn bytes_axis(high: f64) -> Axis {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let index = (high.max(1.0).log(1024.0).floor() as usize).min(UNITS.len() - 1);
    let unit = 1024f64.powi(index as i32);
    let mut axis = linear_axis(high / unit, &|value| format!("{} {}", trimmed(value), UNITS[index]));
    axis.high *= unit;
    axis.ticks.iter_mut().for_each(|tick| tick.at *= unit);
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn steps_are_round() {
        let axis = bytes_axis(70.0 * 1024.0 * 1024.0);
        assert_eq!(labels(&axis), ["0", "20 MiB", "40 MiB", "60 MiB", "80 MiB"]);
        assert_eq!(axis.high, 80.0 * 1024.0 * 1024.0);
        assert_eq!(labels(&bytes_axis(0.0)).last(), Some(&"1 B"));
        assert_eq!(labels(&linear_axis(1900.0, &short_count)), ["0", "500", "1,000", "1,500", "2,000"]);
        assert_eq!(labels(&axis_around_zero((-130.0, 60.0), &short_count)), ["-150", "-100", "-50", "0", "50", "100"]);
    }

    #[test]
    fn wide_ranges_above_zero_are_logarithmic() {
        let axis = |values: &[f64]| fitting(values.iter().copied(), &trimmed);
        assert!(axis(&[1.0, 100.0]).unwrap().log && axis(&[0.001, 1.0]).unwrap().log);
        assert!(!axis(&[0.0, 100.0]).unwrap().log && !axis(&[10.0, 100.0]).unwrap().log);
        assert!(axis(&[]).is_none());
        let decade = axis(&[1.0, 100.0]).unwrap();
        assert_eq!((decade.low, decade.high), (1.0, 100.0));
    }
}
