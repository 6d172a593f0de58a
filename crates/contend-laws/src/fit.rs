//! Least squares in the logarithm: the simplex search of Nelder and Mead (Computer Journal 7, 1965) from several starts, with
//! parameters of at least 0. The curves have kinks and at most three parameters, so neither derivatives nor a library
//! would make this shorter.

use crate::law::Law;

const STEPS_MAX: usize = 600;
/// The search ends when the sums of squares of all corners differ by less: a thousandth of a per cent.
const FLAT: f64 = 1e-10;

/// The parameters that fit a law to some points; `None` if there are fewer points than parameters, or nothing fits.
pub fn fit(law: Law, points: &[(f64, f64)]) -> Option<Vec<f64>> {
    if points.len() < law.parameters().len() || points.is_empty() {
        return None;
    }
    let starts = law.starts(points).into_iter();
    let best = starts.map(|start| search(law, points, start)).min_by(by_misses)?;
    // A search may stop too early, so a second one continues from there.
    fit_from(law, points, best.1)
}

/// The same from one start, which is faster.
pub fn fit_from(law: Law, points: &[(f64, f64)], start: Vec<f64>) -> Option<Vec<f64>> {
    let (misses, of) = search(law, points, start);
    misses.is_finite().then_some(of)
}

type Corner = (f64, Vec<f64>);

fn by_misses(a: &Corner, b: &Corner) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0)
}

fn corner(law: Law, points: &[(f64, f64)], of: Vec<f64>) -> Corner {
    let of: Vec<f64> = of.into_iter().map(|p| p.max(0.0)).collect();
    let misses = |&(x, y): &(f64, f64)| (law.value(&of, x).ln() - y.ln()).powi(2);
    let sum: f64 = points.iter().map(misses).sum();
    (if sum.is_nan() { f64::INFINITY } else { sum }, of)
}

fn search(law: Law, points: &[(f64, f64)], start: Vec<f64>) -> Corner {
    let size = start.iter().copied().fold(0.0, f64::max);
    let moved = |at: usize| {
        let mut of = start.clone();
        of[at] += if of[at] > 0.0 { 0.3 * of[at] } else { 0.01 * size };
        corner(law, points, of)
    };
    let mut simplex: Vec<Corner> = (0..start.len()).map(moved).collect();
    simplex.push(corner(law, points, start.clone()));
    for _ in 0..STEPS_MAX {
        simplex.sort_by(by_misses);
        let last = simplex.len() - 1;
        if simplex[last].0 - simplex[0].0 < FLAT {
            break;
        }
        let center: Vec<f64> =
            (0..last).map(|p| simplex[..last].iter().map(|(_, of)| of[p]).sum::<f64>() / last as f64).collect();
        let towards = |worst: &Corner, by: f64| {
            corner(law, points, center.iter().zip(&worst.1).map(|(c, w)| c + by * (w - c)).collect())
        };
        let reflected = towards(&simplex[last], -1.0);
        if reflected.0 < simplex[0].0 {
            let expanded = towards(&simplex[last], -2.0);
            simplex[last] = if expanded.0 < reflected.0 { expanded } else { reflected };
        } else if reflected.0 < simplex[last - 1].0.max(simplex[0].0) {
            simplex[last] = reflected;
        } else {
            let nearer = towards(&simplex[last], if reflected.0 < simplex[last].0 { -0.5 } else { 0.5 });
            if nearer.0 < simplex[last].0.min(reflected.0) {
                simplex[last] = nearer;
            } else {
                let best = simplex[0].1.clone();
                for other in &mut simplex[1..] {
                    let half = other.1.iter().zip(&best).map(|(p, b)| (p + b) / 2.0).collect();
                    *other = corner(law, points, half);
                }
            }
        }
    }
    simplex.into_iter().min_by(by_misses).expect("a simplex has corners")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_again() {
        let cases: [(Law, &[f64]); 6] = [
            (Law::Processors { processors: 2, cpu_s: 1e-3 }, &[3e-3]),
            (Law::OneWriter, &[5e-3, 1e-3]),
            (Law::OneWriter, &[0.0, 1e-3]),
            (Law::GroupCommit, &[1e-3, 2e-3, 0.1e-3]),
            (Law::Usl, &[1e-3, 0.05, 0.002]),
            (Law::Usl, &[1e-6, 0.3, 0.0]),
        ];
        for (law, of) in cases {
            let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|x| (x, law.value(of, x))).to_vec();
            let found = fit(law, &points).unwrap();
            for (found, of) in found.iter().zip(of) {
                assert!((found - of).abs() <= 0.01 * of + 1e-6, "{law:?}: {found} is not {of}");
            }
        }
    }

    #[test]
    fn an_open_queue_is_found_again() {
        let of = [2e-3, 1e-3, 0.7];
        let points: Vec<(f64, f64)> = [100.0, 300.0, 500.0, 700.0].map(|x| (x, Law::OpenQueue.value(&of, x))).to_vec();
        let found = fit(Law::OpenQueue, &points).unwrap();
        let at = |of: &[f64]| Law::OpenQueue.value(of, 900.0);
        assert!((at(&found) / at(&of) - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn too_few_points_fit_nothing() {
        assert_eq!(fit(Law::OneWriter, &[(1.0, 100.0)]), None);
        assert_eq!(fit(Law::Usl, &[]), None);
    }
}
