//! Implements queueing formulae for a device with known service rates under an open load.
//!
//! Expectations use the load-dependent station: with n requests present the device completes mu(n) = X(n)
//! per second, the closed-loop rate at depth n. It needs no number of servers and becomes M/M/c if the
//! rates match. M/M/1 and M/G/1 serve for comparison. Rejected: load-dependent mean value analysis, which
//! loses all digits near saturation; a fitted number of servers or scalability law, whose misfit would be
//! invisible.
//!
//! Times are in seconds, rates per second. A formula without a finite result returns `None`.

/// Sums of state weights above this are scaled down: far below overflow, far above underflow.
const RESCALE_ABOVE: f64 = 1e200;

/// Mean latency of M/M/1: R = S / (1 - rho). Kleinrock 1975, section 3.2.
///
/// `None` unless `service_s` is positive and `rho`, the utilization, in 0..1.
#[must_use]
pub fn mm1_response(service_s: f64, rho: f64) -> Option<f64> {
    mg1_response(service_s, 1.0, rho)
}

/// Mean latency of M/G/1, R = S + rho S (1 + c²) / (2 (1 - rho)), where `service_scv` = c²
/// is the squared coefficient of variation of the service time: 1 for exponential, 0 for constant.
/// Pollaczek-Khinchine, Kleinrock 1975, section 5.7.
///
/// `None` unless `service_s` is positive, `service_scv` not negative and `rho` in 0..1.
#[must_use]
pub fn mg1_response(service_s: f64, service_scv: f64, rho: f64) -> Option<f64> {
    let valid = service_s > 0.0 && service_scv >= 0.0 && (0.0..1.0).contains(&rho);
    valid.then(|| service_s * (1.0 + rho * (1.0 + service_scv) / (2.0 * (1.0 - rho))))
}

/// Service rates mu(1), mu(2), … up to the largest measured depth, from pairs of depth and
/// closed-loop rate in any order.
///
/// Between measured depths the rate is interpolated linearly. Below the first it falls linearly to zero at
/// depth zero. The measured rates are first raised to their running maximum: noise on a plateau must not
/// make more requests look slower, and if a device really loses rate at great depth, a user can limit the
/// depth to the best one. (Rejected: averaging falling points with their predecessors. It would put the
/// largest rate below the one that was measured.) Pairs with depth 0 or a rate that is not positive and
/// finite are ignored. The result is empty without valid pairs.
#[must_use]
pub fn service_rates(measured: &[(u32, f64)]) -> Vec<f64> {
    let mut points: Vec<(u32, f64)> = measured
        .iter()
        .copied()
        .filter(|&(depth, rate)| depth > 0 && rate > 0.0 && rate.is_finite())
        .collect();
    points.sort_by_cached_key(|&(depth, _)| depth);
    let mut rates = Vec::with_capacity(points.last().map_or(0, |&(depth, _)| depth as usize));
    let (mut from_depth, mut from_rate) = (0, 0.0);
    for (depth, rate) in points {
        let rate = rate.max(from_rate);
        for between in from_depth + 1..=depth {
            let share = f64::from(between - from_depth) / f64::from(depth - from_depth);
            rates.push(from_rate + share * (rate - from_rate));
        }
        (from_depth, from_rate) = (depth, rate);
    }
    rates
}

/// Mean latency of Poisson arrivals at `rate_per_s` to a station that completes
/// `service_rates[n - 1]` requests per second while n are present, and the last of them for any
/// larger n.
///
/// Birth-death chain, Kleinrock 1975, section 3.1: p(n) = p(n-1) lambda / mu(n). Beyond the last measured
/// depth the tail is geometric and summed in closed form. Little's law then gives the latency. At rate zero
/// it is the time of a lone request, 1 / mu(1). `None` at or above the last service rate, where no mean
/// exists, and for an empty list or a negative rate.
#[must_use]
pub fn birth_death_latency(service_rates: &[f64], rate_per_s: f64) -> Option<f64> {
    if rate_per_s == 0.0 {
        return service_rates.first().map(|first| 1.0 / first);
    }
    birth_death(service_rates, rate_per_s).map(|(present, _)| present / rate_per_s)
}

/// The minimum mean latency of any arrivals at `rate_per_s` to a station that completes
/// `service_rates[n - 1]` requests per second while n are present: that of the constant number of requests
/// that completes the rate, linear between whole numbers. `None` above the largest service rate.
#[must_use]
pub fn least_latency(service_rates: &[f64], rate_per_s: f64) -> Option<f64> {
    let enough = service_rates.iter().position(|&rate| rate >= rate_per_s)?;
    let high = service_rates[enough];
    let low = enough.checked_sub(1).map_or(0.0, |below| service_rates[below]);
    let share = if high > low { (rate_per_s - low) / (high - low) } else { 0.0 };
    if rate_per_s <= 0.0 { Some(1.0 / high) } else { Some((enough as f64 + share) / rate_per_s) }
}

/// The same station: the mean number of requests present, and the probability of an empty station.
#[must_use]
pub fn birth_death(service_rates: &[f64], rate_per_s: f64) -> Option<(f64, f64)> {
    let &last = service_rates.last()?;
    if !(0.0..last).contains(&rate_per_s) {
        return None;
    }
    let mut empty = 1.0;
    // `weight` is p(n)/p(0), `total` the sum of the weights, `present` the sum of n times the weight.
    let (mut weight, mut total, mut present) = (1.0, 1.0, 0.0);
    for (index, mu) in service_rates.iter().enumerate() {
        weight *= rate_per_s / mu;
        total += weight;
        present += (index + 1) as f64 * weight;
        if total > RESCALE_ABOVE {
            empty /= total;
            (weight, present, total) = (weight / total, present / total, 1.0);
        }
    }
    let ratio = rate_per_s / last;
    let tail = ratio / (1.0 - ratio);
    let depth = service_rates.len() as f64;
    total += weight * tail;
    present += weight * (depth * tail + tail / (1.0 - ratio));
    Some((present / total, empty / total))
}
