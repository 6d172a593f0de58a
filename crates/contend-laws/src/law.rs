//! The laws: throughput over clients or processors in a closed loop, and response time over the rate in an open one.

/// A curve with parameters of at least 0. Times are in seconds, rates per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// The cap of the processors: an operation takes `cpu_s` of one of them, which is measured, and other time, which
    /// is fitted.
    Processors { processors: u32, cpu_s: f64 },
    /// The same clients on a number of processors that varies.
    OverProcessors { clients: u32, cpu_s: f64 },
    /// Amdahl's law over processors: a part of an operation that only one of them does at a time, and one that all share.
    Amdahl,
    /// One resource that serves one operation at a time.
    OneWriter,
    /// One log that is flushed for all operations that wait for it.
    GroupCommit,
    /// Gunther's Universal Scalability Law.
    Usl,
    /// One queue with arrivals at a rate: Kingman's approximation.
    OpenQueue,
}

impl Law {
    /// Short name: `one writer`.
    pub fn name(self) -> &'static str {
        match self {
            Law::Processors { .. } | Law::OverProcessors { .. } => "processors",
            Law::Amdahl => "Amdahl",
            Law::OneWriter => "one writer",
            Law::GroupCommit => "group commit",
            Law::Usl => "USL",
            Law::OpenQueue => "open queue",
        }
    }

    /// Names of its parameters; those of times end in `_s`.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Law::Processors { .. } | Law::OverProcessors { .. } => &["own_s"],
            Law::Amdahl => &["serial_s", "shared_s"],
            Law::OneWriter => &["own_s", "service_s"],
            Law::GroupCommit => &["own_s", "flush_s", "service_s"],
            Law::Usl => &["alone_s", "alpha", "beta"],
            Law::OpenQueue => &["alone_s", "service_s", "variability"],
        }
    }

    /// The value at `x` clients or processors, or at the rate `x`.
    pub fn value(self, of: &[f64], x: f64) -> f64 {
        match self {
            Law::Processors { processors, cpu_s } => closed_network(x, of[0], cpu_s, f64::from(processors)),
            Law::OverProcessors { clients, cpu_s } => closed_network(f64::from(clients), of[0], cpu_s, x),
            Law::Amdahl => 1.0 / (of[0] + of[1] / x),
            Law::OneWriter => closed_network(x, of[0], of[1], 1.0),
            Law::GroupCommit => group_commit(x, of[0], of[1], of[2]),
            Law::Usl => x / of[0] / (1.0 + of[1] * (x - 1.0) + of[2] * x * (x - 1.0)),
            Law::OpenQueue => of[0] + wait_s(x, of[1], of[2]),
        }
    }

    /// Where the search for parameters begins, from the first and the best of the points.
    pub fn starts(self, points: &[(f64, f64)]) -> Vec<Vec<f64>> {
        let (x, y) = points[0];
        let best = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
        let (alone_s, at_best_s) = (x / y, 1.0 / best);
        let shares = [0.03, 0.3, 0.9];
        match self {
            Law::Processors { cpu_s, .. } => vec![vec![(alone_s - cpu_s).max(0.0)], vec![alone_s / 2.0]],
            Law::OverProcessors { clients, cpu_s } => {
                let all_s = f64::from(clients) * at_best_s;
                vec![vec![(all_s - cpu_s).max(0.0)], vec![all_s / 2.0], vec![0.0]]
            }
            Law::Amdahl => shares.map(|share| vec![at_best_s * share, y.recip() * x * (1.0 - share)]).to_vec(),
            Law::OneWriter => [0.5 * at_best_s, 0.95 * at_best_s]
                .map(|service_s| vec![(alone_s - service_s).max(0.0), service_s])
                .to_vec(),
            Law::GroupCommit => {
                let of = |parallel: f64, service: f64| {
                    let rest_s = alone_s * (1.0 - parallel);
                    let service_s = (service * at_best_s).min(rest_s);
                    vec![alone_s * parallel, rest_s - service_s, service_s]
                };
                shares.iter().flat_map(|&parallel| shares.iter().map(move |&service| of(parallel, service))).collect()
            }
            Law::Usl => {
                let of = |alpha: f64| [0.0, 1e-3].map(|beta| vec![alone_s, alpha, beta]);
                shares.iter().flat_map(|&alpha| of(alpha)).collect()
            }
            Law::OpenQueue => {
                let last = points.iter().map(|(x, _)| *x).fold(0.0, f64::max);
                shares.iter().map(|&room| vec![y, (1.0 - 0.5 * room) / last, 1.0]).collect()
            }
        }
    }
}

/// Throughput of `clients` that each spend `parallel_s` alone and `service_s` at one of `servers`, behind one queue. It
/// is exact for a closed network with a product form. The states are a birth-and-death chain; mean value analysis of
/// one server gives the same (Reiser & Lavenberg, J. ACM 27, 1980; Lazowska et al., Quantitative System Performance, 6
/// and 8).
fn closed_network(clients: f64, parallel_s: f64, service_s: f64, servers: f64) -> f64 {
    if service_s <= 0.0 {
        return clients / parallel_s;
    }
    if parallel_s <= 0.0 {
        return clients.min(servers) / service_s;
    }
    let (mut weight, mut sum, mut busy) = (1.0, 1.0, 0.0);
    for k in 1..=clients as u32 {
        let (k, at_work) = (f64::from(k), f64::from(k).min(servers));
        weight *= (clients - k + 1.0) / parallel_s * service_s / at_work;
        sum += weight;
        busy += weight * at_work;
        // Only ratios matter, and the weights of many clients overflow.
        if sum > 1e200 {
            (weight, sum, busy) = (weight / sum, 1.0, busy / sum);
        }
    }
    busy / sum / service_s
}

/// Throughput of `clients` that prepare for D = `parallel_s` and then wait for a flush, which takes T = F + b s:
/// `flush_s`, and `service_s` for each of the b operations in it. A client that comes back during a flush waits for its
/// end and then for its own, so a cycle is T and the next multiple of T after D. With exponential D that is T (1 + 1 /
/// (1 - exp(-T / D))) on average: 2 T where D is short, D + 1.5 T where it is long. With few clients no flush may be
/// under way; how often one is, an arriving client sees from the others, as in mean value analysis, so one client alone
/// takes D + F + s.
fn group_commit(clients: f64, parallel_s: f64, flush_s: f64, service_s: f64) -> f64 {
    let (mut busy, mut throughput) = (0.0, 0.0);
    for n in 1..=clients as u32 {
        let now = if busy >= 1.0 { clients } else { f64::from(n) };
        throughput = flushed(now, parallel_s, (flush_s, service_s), busy);
        busy = f64::min(1.0, throughput * (flush_s + service_s));
        if now == clients {
            break;
        }
    }
    throughput
}

/// The same if an arriving client finds a flush under way with the chance `busy`.
fn flushed(clients: f64, parallel_s: f64, (flush_s, service_s): (f64, f64), busy: f64) -> f64 {
    let throughput = |batch: f64| {
        let time_s = flush_s + batch * service_s;
        let until_its_own_s = if time_s > 0.0 { time_s / (1.0 - (-time_s / parallel_s).exp()) } else { parallel_s };
        clients / (time_s + parallel_s + busy * (until_its_own_s - parallel_s))
    };
    // The batch that comes of itself, from above: more in a batch make it longer, so that more come back before the
    // next.
    let mut batch = clients;
    loop {
        let rate = throughput(batch);
        let next = (rate * (flush_s + batch * service_s)).max(1.0);
        if next > batch * (1.0 - 1e-9) {
            return rate;
        }
        batch = next;
    }
}

/// Mean wait in a queue at this rate: rho / (1 - rho) V S with V half the sum of the squared coefficients of variation
/// of arrivals and service (Kingman, Proc. Camb. Phil. Soc. 57, 1961). Endless at the capacity 1 / S and beyond.
fn wait_s(rate_per_s: f64, service_s: f64, variability: f64) -> f64 {
    let busy = rate_per_s * service_s;
    if busy >= 1.0 { f64::INFINITY } else { busy / (1.0 - busy) * variability * service_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_and_a_service_of_no_time_leave_the_clients_own_time() {
        assert!((flushed(8.0, 1e-3, (0.0, 0.0), 0.5) - 8e3).abs() < 1.0);
    }

    /// Mean value analysis as the books write it.
    fn mean_value_analysis(clients: u32, parallel_s: f64, service_s: f64) -> f64 {
        let (mut queue, mut throughput) = (0.0, 0.0);
        for n in 1..=clients {
            let response_s = service_s * (1.0 + queue);
            throughput = f64::from(n) / (parallel_s + response_s);
            queue = throughput * response_s;
        }
        throughput
    }

    #[test]
    fn one_writer_is_mean_value_analysis() {
        for clients in [1, 2, 7, 64, 2000] {
            let law = Law::OneWriter.value(&[8e-3, 1e-3], f64::from(clients));
            assert!((law / mean_value_analysis(clients, 8e-3, 1e-3) - 1.0).abs() < 1e-9, "{clients}");
        }
        assert_eq!(Law::OneWriter.value(&[0.0, 1e-3], 9.0), 1e3);
        assert_eq!(Law::OneWriter.value(&[1e-3, 0.0], 9.0), 9e3);
    }

    #[test]
    fn processors_carry_as_many_clients_as_there_are() {
        let law = Law::Processors { processors: 4, cpu_s: 1e-3 };
        for (clients, per_s) in [(1.0, 1e3), (4.0, 4e3), (64.0, 4e3)] {
            assert_eq!(law.value(&[0.0], clients), per_s);
        }
        assert!((law.value(&[1e-3], 1.0) - 500.0).abs() < 1e-9, "half of its time elsewhere");
        assert!((law.value(&[1e-3], 200.0) / 4e3 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn more_processors_help_until_something_else_is_the_limit() {
        let over = |processors: f64| Law::OverProcessors { clients: 16, cpu_s: 1e-3 }.value(&[0.0], processors);
        assert_eq!([over(1.0), over(4.0), over(64.0)], [1e3, 4e3, 16e3]);
        let amdahl = |processors: f64| Law::Amdahl.value(&[0.2e-3, 0.8e-3], processors);
        assert!((amdahl(1.0) - 1e3).abs() < 1e-9 && (amdahl(1e9) - 5e3).abs() < 1e-3);
    }

    #[test]
    fn group_commit_between_its_ends() {
        let of = [0.2e-3, 2e-3, 0.1e-3];
        let law = |clients: f64| Law::GroupCommit.value(&of, clients);
        assert!((law(1.0) * 2.3e-3 - 1.0).abs() < 1e-9, "alone: 1 / (D + F + s)");
        assert!((law(100.0) / (50.0 / (2e-3 + 50.0 * 0.1e-3)) - 1.0).abs() < 1e-6, "short D: N = 2 b");
        let long = |clients: f64| Law::GroupCommit.value(&[50e-3, 2e-3, 0.0], clients);
        assert!((long(100.0) / (100.0 / 53e-3) - 1.0).abs() < 1e-3, "long D: N = b (1.5 + D / T)");
        assert!((law(1e6) * 0.1e-3 - 1.0).abs() < 1e-3, "in the end 1 / s");
        let half = law(2.0 * 2e-3 / 0.1e-3);
        assert!((half * 0.1e-3 - 0.5).abs() < 0.01, "half of it at about 2 F / s clients: {half}");
        let rates: Vec<f64> = (1..200).map(|n| law(f64::from(n))).collect();
        assert!(rates.is_sorted());
    }

    #[test]
    fn an_open_queue_has_no_end_at_its_capacity() {
        // Poisson arrivals and exponential service: the wait of M/M/1.
        let response = |rate: f64| Law::OpenQueue.value(&[1e-3, 1e-3, 1.0], rate);
        assert!((response(500.0) - 2e-3).abs() < 1e-12);
        assert!((response(900.0) - 10e-3).abs() < 1e-12);
        assert_eq!(response(1000.0), f64::INFINITY);
    }
}
