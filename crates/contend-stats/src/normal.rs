//! The normal and Student's distribution, as far as the other modules need them.

/// z of a two-sided 95 % interval.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// P(Z <= z). Abramowitz & Stegun, Handbook of Mathematical Functions, 7.1.26: absolute error below 1.5e-7.
pub fn cumulative(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let tail = 0.5 * polynomial.iter().fold(0.0, |sum, coefficient| sum * t + coefficient) * t * (-x * x).exp();
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Two-sided probability of a deviation of `z` or more by chance.
pub fn two_sided(z: f64) -> f64 {
    2.0 * cumulative(-z.abs())
}

/// z of a two-sided interval with this coverage.
pub fn z(coverage: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle) > 1.0 - coverage { low = middle } else { high = middle }
    }
    low
}

/// The 97.5 % point of Student's t. Abramowitz & Stegun 26.7.5; for 5 degrees of freedom and more the error is below
/// 0.2 %.
pub fn student_975(degrees_of_freedom: usize) -> f64 {
    let (z, v) = (Z_95, degrees_of_freedom as f64);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (z, expected) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.959_964, 0.025), (3.0, 0.998_650_1)] {
            assert!((cumulative(z) - expected).abs() < 1e-6, "{z}");
        }
        assert!((two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((z(0.95) - Z_95).abs() < 1e-5 && (z(0.99) - 2.575_829).abs() < 1e-4, "{} {}", z(0.95), z(0.99));
        for (degrees, expected) in [(5, 2.570_6), (11, 2.201_0), (19, 2.093_0), (100, 1.984_0)] {
            assert!((student_975(degrees) / expected - 1.0).abs() < 0.002, "{degrees}");
        }
    }
}
