//! The queueing formulae against the textbook and against each other.

use model::queueing::{birth_death_latency, mg1_response, mm1_response, service_rates};

const SERVICE_S: f64 = 100e-6;

/// Mean latency of M/M/c: `servers` equal servers of mean service time `service_s`, Poisson
/// arrivals at `rate_per_s`. Erlang C from the stable recursion of Erlang B (Erlang 1917;
/// Kleinrock 1975, section 3.5).
pub(crate) fn mmc_latency(service_s: f64, servers: u32, rate_per_s: f64) -> f64 {
    let offered = rate_per_s * service_s;
    let rho = offered / f64::from(servers);
    let erlang_b = (1..=servers).fold(1.0, |blocking, server| {
        offered * blocking / (f64::from(server) + offered * blocking)
    });
    let waits = erlang_b / (1.0 - rho * (1.0 - erlang_b));
    service_s + waits * service_s / (f64::from(servers) * (1.0 - rho))
}

/// Latency of an open load on a device with this depth curve.
fn load_dependent_latency(measured: &[(u32, f64)], rate_per_s: f64) -> Option<f64> {
    birth_death_latency(&service_rates(measured), rate_per_s)
}

fn close(left: f64, right: f64) {
    assert!((left / right - 1.0).abs() < 1e-6, "{left} against {right}");
}

/// Rates of `servers` equal servers, measured at doubling depths up to `max_depth`.
fn servers_curve(servers: u32, max_depth: u32) -> Vec<(u32, f64)> {
    std::iter::successors(Some(1), |depth| Some(depth * 2))
        .take_while(|&depth| depth <= max_depth)
        .map(|depth| (depth, f64::from(depth.min(servers)) / SERVICE_S))
        .collect()
}

#[test]
fn mm1_doubles_the_service_time_at_half_load_and_has_no_answer_at_full_load() {
    assert_eq!(mm1_response(SERVICE_S, 0.5), Some(2.0 * SERVICE_S));
    assert_eq!(mm1_response(SERVICE_S, 0.0), Some(SERVICE_S));
    assert_eq!(mm1_response(SERVICE_S, 1.0), None);
    assert_eq!(mm1_response(0.0, 0.5), None);
}

#[test]
fn constant_service_times_halve_the_queue_time() {
    for rho in [0.1, 0.5, 0.9] {
        let queue = |scv| mg1_response(SERVICE_S, scv, rho).unwrap() - SERVICE_S;
        close(queue(0.0), queue(1.0) / 2.0);
    }
}

#[test]
fn erlang_c_matches_the_textbook_case_of_two_servers() {
    // M/M/2 in closed form: R = S / (1 - rho²).
    for rho in [0.2, 0.5, 0.95] {
        let expected = SERVICE_S / (1.0 - rho * rho);
        close(mmc_latency(SERVICE_S, 2, 2.0 * rho / SERVICE_S), expected);
    }
}

#[test]
fn the_load_dependent_model_with_one_server_is_mm1() {
    for rho in [0.01, 0.25, 0.5, 0.9, 0.999] {
        let modelled = load_dependent_latency(&servers_curve(1, 256), rho / SERVICE_S);
        close(modelled.unwrap(), mm1_response(SERVICE_S, rho).unwrap());
    }
}

#[test]
fn the_load_dependent_model_with_many_servers_is_mmc() {
    for servers in [2, 4, 16, 128, 256] {
        for rho in [0.05, 0.5, 0.75, 0.9, 0.99] {
            let rate = rho * f64::from(servers) / SERVICE_S;
            let modelled = load_dependent_latency(&servers_curve(servers, 256), rate);
            close(modelled.unwrap(), mmc_latency(SERVICE_S, servers, rate));
        }
    }
}

#[test]
fn thousands_of_states_neither_overflow_nor_lose_the_answer() {
    let servers = 4096;
    let rate = 0.97 * f64::from(servers) / SERVICE_S;
    let modelled = load_dependent_latency(&servers_curve(servers, servers), rate).unwrap();
    close(modelled, mmc_latency(SERVICE_S, servers, rate));
}

#[test]
fn there_is_no_open_response_at_or_above_the_largest_rate_nor_below_zero() {
    let curve = [(1, 10e3), (4, 30e3)];
    assert!(load_dependent_latency(&curve, 29_999.0).is_some());
    assert_eq!(load_dependent_latency(&curve, 30e3), None);
    assert_eq!(load_dependent_latency(&curve, -1.0), None);
    assert_eq!(load_dependent_latency(&curve, f64::NAN), None);
    assert_eq!(load_dependent_latency(&[], 1.0), None);
    close(load_dependent_latency(&curve, 0.0).unwrap(), 1e-4);
}

#[test]
fn rates_between_depths_are_interpolated_and_never_fall() {
    let rates = service_rates(&[(8, 39.0), (1, 10.0), (4, 40.0), (0, 7.0), (2, f64::NAN)]);
    assert_eq!(rates, [10.0, 20.0, 30.0, 40.0, 40.0, 40.0, 40.0, 40.0]);
    assert_eq!(service_rates(&[(4, 40.0)]), [10.0, 20.0, 30.0, 40.0]);
}

#[test]
fn the_laws_of_utilization_and_of_little_agree_on_a_lone_server() {
    // With one server, U is the probability of not being empty, and L = U / (1 - U).
    let rate = 6_000.0;
    let used = rate * SERVICE_S;
    let present = rate * mm1_response(SERVICE_S, used).unwrap();
    close(present, used / (1.0 - used));
}
