//! What is said of a purchase: the cheapest configurations that meet the need, how full each part of
//! them would be, what they cost per access, and what another disk would have to cost.
//!
//! One number of a configuration stands in all tables, so that each fits a terminal. Rejected: one
//! table of all columns, of which a terminal shows half.

use crate::chart::{Axis, Chart, Form, Point, Series, xs, ys};
use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Story, joined};
use record::{
    Bought, BreakEven, Estimate, Purchase, PurchaseBound, PurchaseConfiguration, PurchaseNeed,
    PurchasePart, RaidLevel, Unit, format_bytes, shell_word,
};

/// Bytes of a megabyte and a terabyte, and the accesses of a KAPS, in amounts.
const MEGABYTE: f64 = 1e6;

/// The story of a purchase.
#[must_use]
pub fn purchase(document: &Purchase) -> Story {
    let subject = need_text(&document.need);
    let mut story =
        Story::new("Purchase", subject, document.simulated).saved("", &document.findings);
    story.headline = headline(document);
    if let Some(next) = document.configurations.get(1) {
        let (cost, money) = (money(next.cost), &document.currency);
        let text = format!("{cost} {money}: {}, {}", bought(&next.disks), layout(next));
        story.takeaway("next best", text);
    }
    story.takeaway("assumes", document.assumes.first().cloned().unwrap_or_default());
    let free = number::percent(1.0 - document.need.headroom);
    if !document.configurations.is_empty() {
        configurations(&mut story, document, &free);
        loads(&mut story, document);
        costs(&mut story, document);
    }
    break_even(&mut story, document);
    disks(&mut story, document);
    excluded(&mut story, document);
    story.list("Assumptions", "", &document.assumes);
    story.charts.extend(at_other_needs(document));
    story.condition("prices", &document.prices);
    story.written_by(&document.halfpower_version);
    story.commands.push(command(document));
    story
}

/// An amount of money: whole where it is large.
fn money(amount: f64) -> String {
    if amount.abs() >= 1e3 { format!("{amount:.0}") } else { number::digits(amount) }
}

/// A size in the units of who sells it.
fn room(bytes: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let bytes = bytes as f64;
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", short(bytes / unit)),
        None => format!("{bytes} B"),
    }
}

/// Digits without zeros behind the point.
fn short(value: f64) -> String {
    let text = number::digits(value);
    if !text.contains('.') || text.contains('e') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn need_text(need: &PurchaseNeed) -> String {
    let mut parts = Vec::new();
    if need.random_iops > 0.0 {
        let mix = match need.read_share {
            reads if reads >= 1.0 => "reads".to_owned(),
            reads if reads <= 0.0 => "writes".to_owned(),
            reads => format!("requests, {} reads,", number::percent(reads)),
        };
        let size = format_bytes(need.random_bytes.0);
        parts.push(format!("{} random {size} {mix} per second", short(need.random_iops)));
    }
    for (rate, word) in
        [(need.stream_read_bytes_per_s, "read"), (need.stream_write_bytes_per_s, "written")]
    {
        if rate > 0.0 {
            parts.push(format!("{} MB/s {word} sequentially", short(rate / MEGABYTE)));
        }
    }
    if need.size_bytes.0 > 0 {
        parts.push(room(need.size_bytes.0));
    }
    if need.survive > 0 {
        parts.push(format!(
            "survives the failure of {}",
            number::counted(f64::from(need.survive), "disk")
        ));
    }
    if let Some(mean) = need.latency_mean_ns {
        parts.push(format!("mean latency up to {}", number::time(mean)));
    }
    parts.join(", ")
}

fn headline(document: &Purchase) -> String {
    let Some(best) = document.configurations.first() else {
        return "No configuration of this price list meets the requirements; the reasons are below."
            .to_owned();
    };
    let hangs = [&best.adapters, &best.hosts].into_iter().flatten();
    let on = joined(hangs, ", ", bought);
    let on = if on.is_empty() { on } else { format!(" with {on}") };
    format!(
        "{} {}: {}{on}, {}; bound by {}.",
        money(best.cost),
        document.currency,
        bought(&best.disks),
        layout(best),
        bound(&best.bound)
    )
}

fn bought(part: &Bought) -> String {
    format!("{} x {}", part.count, part.name)
}

fn layout(one: &PurchaseConfiguration) -> String {
    let groups = |one: &PurchaseConfiguration| match one.groups {
        1 => String::new(),
        many => format!("{many} x "),
    };
    match one.raid {
        None if one.groups == 1 => "one disk".to_owned(),
        None => "single disks".to_owned(),
        Some(RaidLevel::Raid1) if one.group_disks > 2 => {
            format!("{}RAID 1 of {}", groups(one), one.group_disks)
        }
        Some(level) => {
            let width = match one.groups {
                1 => String::new(),
                _ => format!(" of {}", one.group_disks),
            };
            format!("{}RAID {}{width}", groups(one), level.number())
        }
    }
}

fn part_name(part: PurchasePart) -> &'static str {
    match part {
        PurchasePart::DisksRandom => "random requests",
        PurchasePart::DisksStream => "streams",
        PurchasePart::AdapterBandwidth => "adapter MB/s",
        PurchasePart::AdapterRequests => "adapter requests",
        PurchasePart::BusBandwidth => "bus MB/s",
        PurchasePart::BusRequests => "bus requests",
        PurchasePart::Size => "size",
    }
}

fn bound(bound: &PurchaseBound) -> &'static str {
    match bound {
        PurchaseBound::FewestDisks => "the layout's fewest disks",
        PurchaseBound::Part(part) => part_name(*part),
        PurchaseBound::Latency => "latency",
        PurchaseBound::AfterLoss => "a failed disk",
        PurchaseBound::Slots => "slots for adapters",
        PurchaseBound::Bays => "slots for disks",
    }
}

type Numbered<'a> = (usize, &'a PurchaseConfiguration);

fn numbered(document: &Purchase) -> Vec<Numbered<'_>> {
    document.configurations.iter().enumerate().map(|(at, one)| (at + 1, one)).collect()
}

fn configurations(story: &mut Story, document: &Purchase, free: &str) {
    let remark = format!(
        "for each disk and layout, the cheapest configuration with no part busier \
                          than {free}"
    );
    story.section("Configurations", &remark).table(numbered(document), |t| {
        t.right("", |(at, _)| at.to_string());
        t.right(&document.currency, |(_, one)| Cell::toned(money(one.cost), Tone::Strong));
        t.left("disks", |(_, one)| bought(&one.disks)).flexible();
        t.left("layout", |(_, one)| layout(one));
        let part = |part: &Option<Bought>| Cell::or_empty(part.as_ref(), bought);
        t.left("adapters", |(_, one)| part(&one.adapters)).flexible();
        t.left("hosts", |(_, one)| part(&one.hosts)).flexible().expendable(1);
        t.left("bound by", |(_, one)| bound(&one.bound));
    });
}

/// A share of a part's rate; too much of it is told by its tone.
fn used(share: f64) -> Cell {
    let tone = if share > 1.0 { Tone::Bad } else { Tone::Plain };
    Cell::toned(number::percent(share), tone)
}

fn loads(story: &mut Story, document: &Purchase) {
    let remark = "share of each part's rate that the required load uses; the rest is headroom";
    let section = story.section("Utilization at the required load", remark);
    section.table(numbered(document), |t| {
        t.right("", |(at, _)| at.to_string());
        t.right("disks", |(_, one)| {
            Cell::toned(number::percent(one.disks_busy.value), Tone::Strong)
        });
        t.interval(|(_, one)| (one.disks_busy.high > one.disks_busy.low).then_some(one.disks_busy));
        use PurchasePart as Part;
        let of = |one: &PurchaseConfiguration, parts: &[Part]| {
            let used = one.parts.iter().filter(|load| parts.contains(&load.part));
            Cell::or_empty(used.map(|load| load.used).reduce(f64::max), number::percent)
        };
        let titles: [(&str, &[Part]); 5] = [
            ("random", &[Part::DisksRandom]),
            ("stream", &[Part::DisksStream]),
            ("adapter", &[Part::AdapterBandwidth, Part::AdapterRequests]),
            ("bus", &[Part::BusBandwidth, Part::BusRequests]),
            ("room", &[Part::Size]),
        ];
        for (title, parts) in titles {
            t.right(title, |(_, one)| of(one, parts));
        }
        t.right("1 lost", |(_, one)| match one.busy_after_loss {
            Some(share) => used(share),
            None if one.survives == 0 => Cell::toned("data", Tone::Warn),
            None => Cell::default(),
        });
        t.right("latency", |(_, one)| {
            Cell::or_empty(one.latency_ns.as_ref(), |time| number::time(time.value))
        });
    });
    section.note(
        "1 lost: load of the busiest disk after another disk of its array has failed; above 100 % \
         the array cannot meet the requirements (--degraded selects disks that can); data: data \
         lost with it.",
    );
}

fn costs(story: &mut Story, document: &Purchase) {
    let currency = &document.currency;
    let remark = "maximum rates, each alone, with one part at 100 %, and the cost per unit";
    story.section("Cost of performance", remark).supporting().table(numbered(document), |t| {
        t.right("", |(at, _)| at.to_string());
        t.right("room", |(_, one)| room(one.usable_bytes.0));
        t.right("most IOPS", |(_, one)| Cell::or_empty(one.random_iops_max, number::count));
        t.right("most MB/s", |(_, one)| {
            Cell::or_empty(one.stream_bytes_per_s_max, |rate| number::digits(rate / MEGABYTE))
        });
        t.right(format!("{currency}/IOPS"), |(_, one)| {
            Cell::or_empty(one.cost_per_iops, number::digits)
        });
        t.right(format!("{currency} per MB/s"), |(_, one)| {
            Cell::or_empty(one.cost_per_mb_per_s, number::digits)
        });
        t.right(format!("{currency}/TB"), |(_, one)| money(one.cost_per_tb));
        t.right("power cost", |(_, one)| {
            let power = (one.power_cost > 0.0).then_some(one.power_cost);
            Cell::or_empty(power, money)
        });
        t.right("may fail", |(_, one)| one.survives.to_string());
    });
}

fn break_even(story: &mut Story, document: &Purchase) {
    let currency = &document.currency;
    let words = |one: &BreakEven| {
        let (count, now) = (number::counted(f64::from(one.disks), "disk"), money(one.price));
        let what = match one.quicker {
            1.0 => format!("{}, {now} {currency} now", one.name),
            times => {
                format!("a disk like {}, but {times} times as fast at random requests", one.name)
            }
        };
        if one.pays_at <= 0.0 {
            return format!(
                "{what}: not worth it at any price, because the parts that its {count} need cost \
                 more"
            );
        }
        let at = money(one.pays_at);
        format!("{what}: pays off at {at} {currency} or less, with {count}")
    };
    let items: Vec<String> = document.break_even.iter().map(words).collect();
    let remark = "unit price at which this disk would be as cheap as the first configuration";
    story.list("Another disk", remark, &items);
}

fn disks(story: &mut Story, document: &Purchase) {
    let currency = &document.currency;
    let remark = format!(
        "single disks: random {} reads per second (KAPS), 1 MB reads per second (MAPS), prices \
         without adapters",
        format_bytes(document.need.random_bytes.0)
    );
    let digits = |value: Option<f64>| Cell::or_empty(value, number::digits);
    let spread = |it: &Estimate| (it.high > it.low).then_some(*it);
    story.section("Disks", &remark).supporting().table(&document.disks, |t| {
        t.left("", |disk| disk.name.clone()).flexible();
        t.right(currency, |disk| money(disk.price));
        t.right("QD", |disk| match disk.profile_id {
            Some(_) => disk.accesses.depth.to_string(),
            None => String::new(),
        });
        t.right("KAPS", |disk| Cell::toned(number::count(disk.read_iops.value), Tone::Strong));
        t.interval(|disk| spread(&disk.read_iops));
        t.right("writes", |disk| Cell::or_none(disk.write_iops, |it| number::count(it.value)));
        t.right("MB/s", |disk| number::digits(disk.stream_read_bytes_per_s.value / MEGABYTE));
        t.right("MAPS", |disk| number::digits(disk.accesses.maps));
        t.right(format!("{currency}/KAPS"), |disk| digits(disk.accesses.price_per_kaps));
        t.right(format!("KAPS/{currency}"), |disk| digits(disk.accesses.kaps_per_price));
        t.right(format!("MB/{currency}"), |disk| {
            digits(disk.bytes_per_price.map(|bytes| bytes / MEGABYTE))
        });
        t.left("profile", |disk| disk.profile_id.clone().unwrap_or_default()).expendable(1);
    });
}

fn excluded(story: &mut Story, document: &Purchase) {
    if document.excluded.is_empty() {
        return;
    }
    let section = story.section("Left out", "rejected configurations, and why").supporting();
    for one in &document.excluded {
        section.item(format!("{}: {}", one.what, one.why));
    }
}

fn at_other_needs(document: &Purchase) -> Option<Chart> {
    let needs = &document.at_other_needs;
    let mut series: Vec<Series> = Vec::new();
    for disk in &document.disks {
        let of_it = needs.iter().filter(|one| one.name == disk.name);
        let points = of_it.filter_map(|one| Some(Point::bare(one.factor, one.cost?)));
        series.push(Series::new(&disk.name, Form::Curve, points.collect()));
    }
    series.retain(|one| !one.points.is_empty());
    let least = |factor: f64| {
        let of_it = needs.iter().filter(|one| (one.factor - factor).abs() < 1e-9);
        let cheapest = of_it.filter_map(|one| Some((one.cost?, &one.name)));
        cheapest.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let told: Vec<(f64, f64, &String)> = [0.25, 1.0, 4.0]
        .into_iter()
        .filter_map(|factor| least(factor).map(|(cost, name)| (factor, cost, name)))
        .collect();
    let currency = &document.currency;
    let at = |(factor, cost, _): &(f64, f64, &String)| {
        format!("{} {currency} at {} of the rates", money(*cost), number::percent(*factor))
    };
    let same = told.windows(2).all(|pair| pair[0].2 == pair[1].2);
    let finding = match told.first() {
        Some((.., name)) if same => {
            format!("{name} is the cheapest throughout: {}.", joined(&told, ", ", at))
        }
        _ => {
            let each = joined(&told, "; ", |one| format!("{}: {}", one.2, at(one)));
            format!("The cheapest disk depends on the load: {each}.")
        }
    };
    Chart {
        title: "Cost of the same capacity at other rates".to_owned(),
        finding,
        errors: "Costs are sums of prices and have no intervals.".to_owned(),
        x: Axis::at_values(
            "rates relative to the required ones",
            Some(Unit::Ratio),
            true,
            xs(&series),
        ),
        y: Axis::from_zero(&document.currency, None, ys(&series)),
        series,
        rules: Vec::new(),
    }
    .unless_empty()
}

fn command(document: &Purchase) -> String {
    let need = &document.need;
    let mut words = format!("halfpower design --prices {}", shell_word(&document.prices));
    let mut add = |flag: &str, value: String| words.push_str(&format!(" {flag} {value}"));
    if need.random_iops > 0.0 {
        add("--kaps", need.random_iops.to_string());
        add("--bs", need.random_bytes.0.to_string());
        add("--rwmixread", format!("{}%", (need.read_share * 100.0).round()));
    }
    if need.stream_read_bytes_per_s > 0.0 {
        add("--mbps", (need.stream_read_bytes_per_s / MEGABYTE).to_string());
    }
    if need.stream_write_bytes_per_s > 0.0 {
        add("--write-mbps", (need.stream_write_bytes_per_s / MEGABYTE).to_string());
    }
    if need.size_bytes.0 > 0 {
        add("--size", need.size_bytes.0.to_string());
    }
    add("--stream-bs", need.stream_bytes.0.to_string());
    add("--headroom", format!("{}%", (need.headroom * 100.0).round()));
    add("--survive", need.survive.to_string());
    add("--spare", need.spares.to_string());
    add("--chunk", need.chunk_bytes.0.to_string());
    add("--parity-disks", need.parity_disks_max.to_string());
    if let Some(mean) = need.latency_mean_ns {
        add("--slo", format!("mean={}ns", mean.round()));
    }
    if need.apart {
        words.push_str(" --apart");
    }
    if need.carry_after_loss {
        words.push_str(" --degraded");
    }
    words
}
