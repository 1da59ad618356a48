//! Lists the assumptions of a prediction that were not measured, one clause each.

use super::Predictor;
use super::never_open::MEASURED_NEAR;
use record::{
    Locality, MEASURED_AROUND, Mix, ModelName, Offered, OpKind, format_bytes, format_rate,
};

/// Half-width of the interval, as a logarithm, from which a gap between two measured depths is named.
const BENDS: f64 = 0.05;
/// Measured depth below which the extension of a curve decides the queue of a load at a rate.
const SHALLOW: u32 = 8;
/// Minimum slowdown by a program's own time that is reported.
const TOLD_FROM: f64 = 1.02;

pub(super) fn extrapolated(
    predictor: &Predictor,
    (model, mix, offered): (ModelName, &Mix, Offered),
    saturation: f64,
    slower: f64,
) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    let mut say = |clause: String| {
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    };
    for class in &mix.classes {
        let Some(kind) = predictor.capacity.table.rows_for(class.op, class.locality) else {
            continue;
        };
        if kind.op != class.op {
            let part = mix.share(|other| other.op == class.op) * 100.0;
            let (op, measured) = (class.op.name(), kind.op.name());
            say(format!(
                "{part:.2} % are {op}s, which were not measured; {measured}s are used instead"
            ));
            continue;
        }
        let op = class.op.name();
        let place = class.locality.name();
        if kind.locality != class.locality {
            say(format!("no {place} {op}s were measured; random ones are used instead"));
        }
        let sizes = kind.rows.iter().map(|row| row.bytes);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let asked = format_bytes(class.bytes);
        if class.bytes < least {
            let smallest = format_bytes(least);
            let part = match class.op {
                OpKind::Read => "",
                OpKind::Write => {
                    ", and at worst also that of a read, because the device may have to read the rest \
                     of the block"
                }
            };
            say(format!(
                "{place} {op}s of {asked} are smaller than the smallest measured size, {smallest}: \
                 they are assumed to take the time of that size{part}"
            ));
        } else if class.bytes > most {
            let range = format!("{} to {}", format_bytes(least), format_bytes(most));
            let how = match predictor.capacity.table.limit_beyond(class) {
                Some(limit) => format!(
                    "the bytes beyond {} are added at the highest measured throughput, {}",
                    format_bytes(most),
                    format_rate(limit)
                ),
                None => "the latency is extrapolated from these sizes".to_owned(),
            };
            say(format!(
                "{place} {op}s of {asked} are outside the measured range ({range}): {how}, and \
                 the interval grows with each doubling of the distance"
            ));
        } else if !kind.rows.iter().any(|row| row.bytes == class.bytes) {
            let rows = || kind.rows.iter().map(|row| row.bytes);
            let below = rows().filter(|bytes| *bytes < class.bytes).max().unwrap_or(least);
            let above = rows().filter(|bytes| *bytes > class.bytes).min().unwrap_or(most);
            let (below, above) = (format_bytes(below), format_bytes(above));
            say(format!(
                "{place} {op}s of {asked} lie between {below} and {above}{MEASURED_AROUND}"
            ));
        }
        let nearest = kind.rows.iter().min_by_key(|row| row.bytes.abs_diff(class.bytes));
        let Some(row) = nearest else { continue };
        let deepest = row.measured_depth;
        let measured = format!(
            "{} {op}s of {} were measured up to QD {deepest}",
            kind.locality.name(),
            format_bytes(row.bytes)
        );
        let at = if let Offered::Depth(depth) = offered { depth } else { row.reach() };
        if at > row.reach() {
            let how = match predictor.capacity.beyond(class, at) > 0.0 {
                true => {
                    "the rate is assumed to stay the same, and the interval grows with each doubling \
                     of the queue depth"
                }
                false => "the cap sets the rate",
            };
            say(format!("{measured}; beyond that {how}"));
        } else if at > f64::from(deepest) && (!offered.is_open() || deepest < SHALLOW) {
            say(format!("{measured}; beyond that the shape of the other curves is used"));
        } else if !offered.is_open()
            && row.gap(at).is_some_and(|(least, _)| least > BENDS)
            && let Some([(from, _), (to, _)]) = row.around(at)
        {
            say(format!(
                "{} {op}s of {} were measured at QD {from} and {to}, but not in between",
                kind.locality.name(),
                format_bytes(row.bytes)
            ));
        }
    }
    let reads = mix.reads();
    let sequential = mix.share(|class| class.locality == Locality::Sequential);
    let mixed = |part: f64| (0.001..0.999).contains(&part);
    if (mixed(reads) || mixed(sequential)) && !predictor.capacity.knows_mixes() {
        say("no mix was measured; reads and writes are assumed to be independent".to_owned());
    }
    let open = offered.is_open();
    if open && predictor.trials.is_empty() {
        say("no open load was measured; the interval extends from the shortest to the longest \
             wait that the depth curve allows; `check --for-diagnosis` narrows it"
            .to_owned());
    } else if open && model == ModelName::Calibrated {
        for class in mix.classes.iter().filter(|class| !predictor.open.knows(class)) {
            let place = class.locality.name();
            say(format!("no open load of {place} {}s was measured", class.op.name()));
        }
    }
    let most = predictor.measured_share();
    if open && most > 0.0 && saturation > most + MEASURED_NEAR {
        say(format!("loads were measured up to {:.0} % of the maximum", most * 100.0));
    }
    if slower > TOLD_FROM {
        say(format!(
            "a program that needs 0.5 µs more CPU time per request than halfpower gets up to \
             {:.0} % fewer IOPS",
            100.0 * (1.0 - 1.0 / slower)
        ));
    }
    if matches!(offered, Offered::ConstantPerS(_)) {
        say("loads were measured with Poisson arrivals; constant arrivals are computed".to_owned());
    }
    clauses
}
