//! Converts order, direction and sizes of the requests.

use crate::fio::parts::Words;
use crate::fio::settings::Settings;
use crate::fio::sizes::{self, Sizes};
use crate::fio::values::{by_direction, did_you_mean, number, size, size_word};

/// Properties of a job's requests that other modules need.
pub(crate) struct Load {
    pub(crate) sequential: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) trims: bool,
    pub(crate) sizes: Sizes,
    /// Distance between the starts of requests, if each is followed by a gap.
    pub(crate) stride: Option<u64>,
    /// Whether each request begins before the previous one.
    pub(crate) backwards: bool,
    /// Whether fio uses a map of used blocks, so that each block occurs once before any repeats.
    pub(crate) by_map: bool,
}

/// The modifier after the colon of `rw`.
enum Step {
    /// Each request starts this many bytes before the previous one.
    Back(u64),
    /// Bytes skipped after each request of a sequence.
    Gap(u64),
    /// One request for each random position, as without a modifier.
    None,
}

pub(crate) fn load(settings: &Settings<'_>, out: &mut Words, kb_base: u64) -> Load {
    let text = settings.text("rw").unwrap_or("read");
    let (rw, step) = text.split_once(':').map_or((text, None), |(rw, step)| (rw, Some(step)));
    let known =
        ["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw", "trim", "randtrim"];
    if ["trimwrite", "randtrimwrite"].contains(&rw) {
        settings.refuse("rw", "trims and writes in the same job are not supported; use two jobs");
    } else if !known.contains(&rw) {
        let close = did_you_mean(rw, known.into_iter());
        let close = if close.is_empty() { format!("; use {}", known.join(", ")) } else { close };
        settings.refuse("rw", &format!("fio has no such value{close}"));
    }
    let sequential = !rw.starts_with("rand");
    let (mixed, trims) = (rw.ends_with("rw") || rw == "readwrite", rw.ends_with("trim"));
    let reads = mixed || rw.ends_with("read");
    let writes = mixed || !reads;
    out.flag("rw", &rw);
    let sizes = sizes_of(settings, [reads, writes && !trims, trims], kb_base);
    out.note_some(sizes.note.clone());
    out.flag("bs", &sizes.word());
    let align = settings.value("blockalign", |text| size(text, kb_base));
    let aligned = align.is_none_or(|align| align == sizes.smallest());
    match align {
        Some(_) if sequential => {
            out.note("blockalign: has no effect on sequential requests, as in fio");
        }
        Some(align) if !aligned => out.flag("align", &size_word(align)),
        _ => {}
    }
    if settings.on("bs_unaligned") {
        settings.refuse(
            "bs_unaligned",
            "the sizes of a range are always multiples of its smallest size",
        );
    }
    mix(settings, out, mixed);
    let plain = order(settings, out, sequential, &sizes);
    let (mut stride, mut backwards) = (None, false);
    if let Some(step) = step {
        match step_of(step, sequential, (kb_base, sizes.only())) {
            Ok(Step::Back(stride)) => {
                out.flag("pattern", &"strided");
                out.flag("stride", &size_word(stride));
                out.switch("backwards");
                backwards = true;
            }
            Ok(Step::Gap(gap)) => match sizes.only() {
                Some(bytes) => {
                    stride = Some(bytes + gap);
                    out.flag("pattern", &"strided");
                    out.flag("stride", &size_word(bytes + gap));
                }
                None => {
                    settings.refuse(
                        "rw",
                        "a gap after each request is not supported with several sizes",
                    );
                }
            },
            Ok(Step::None) => {}
            Err(why) => settings.refuse("rw", &why),
        }
    }
    let map = !settings.on("norandommap");
    let by_map = map && !sequential && plain && aligned;
    Load { sequential, reads, writes, trims, sizes, stride, backwards, by_map }
}

fn step_of(
    text: &str,
    sequential: bool,
    (kb_base, only): (u64, Option<u64>),
) -> Result<Step, String> {
    if !sequential {
        return match number(text) {
            Ok(1) => Ok(Step::None),
            Ok(row @ 2..) => Err(format!(
                "halfpower does not send exactly {row} requests for each random position; with \
                 percentage_random={}, sequences have about that length on average",
                (100 / row).max(1)
            )),
            _ => Err("use a number of requests above 0 after the colon".to_owned()),
        };
    }
    if let Some(back) = text.strip_prefix('-') {
        // fio counts from the end of a request: a step back of twice its size leads to the previous request.
        let stride = size(back, kb_base)?.checked_sub(only.unwrap_or(u64::MAX));
        let stride = stride.filter(|stride| *stride >= only.unwrap_or_default());
        return stride.map(Step::Back).ok_or_else(|| {
            "only requests of one size, and steps back of at least that size, are supported"
                .to_owned()
        });
    }
    size(text, kb_base).map(Step::Gap)
}

/// Sizes of the job's directions, which must be the same.
fn sizes_of(settings: &Settings<'_>, directions: [bool; 3], kb_base: u64) -> Sizes {
    let (name, found) = if settings.has("bssplit") {
        settings.get("bs");
        ("bssplit", settings.value("bssplit", |text| sizes::split(text, kb_base)))
    } else if settings.has("bsrange") {
        settings.get("bs");
        ("bsrange", settings.value("bsrange", |text| sizes::range(text, kb_base)))
    } else {
        ("bs", settings.value("bs", |text| sizes::plain(text, kb_base)))
    };
    let found = found.unwrap_or_else(|| [4_096; 3].map(Sizes::one));
    let mut used = found.into_iter().zip(directions).filter(|(_, used)| *used).map(|(it, _)| it);
    let first = used.next().unwrap_or_else(|| Sizes::one(4_096));
    if used.any(|other| other != first) {
        settings.refuse(
            name,
            "reads and writes of different sizes in one job are not supported; use two jobs",
        );
    }
    first
}

fn mix(settings: &Settings<'_>, out: &mut Words, mixed: bool) {
    let (reads, written) = (settings.number("rwmixread"), settings.number("rwmixwrite"));
    if reads.is_none() && written.is_none() {
        return;
    }
    if !mixed {
        return out.note("rwmixread: has no effect without a mix, as in fio");
    }
    // Separate rates for reads and writes define the mix.
    if settings.has("rate") || settings.has("rate_iops") {
        return out.note(
            "rwmixread: has no effect, because the rates of reads and writes define the mix, as \
             in fio",
        );
    }
    match (reads, written) {
        (Some(reads), Some(written)) if reads.saturating_add(written) != 100 => {
            settings.refuse("rwmixwrite", "rwmixwrite and rwmixread must add up to 100");
        }
        (None, Some(101..)) => settings.refuse("rwmixwrite", "use at most 100"),
        (Some(reads), _) => out.flag("rwmixread", &reads),
        (None, Some(written)) => out.flag("rwmixread", &(100 - written)),
        (None, None) => {}
    }
}

/// Sets the distribution of random positions. Returns whether they are uniform and independent.
fn order(settings: &Settings<'_>, out: &mut Words, sequential: bool, sizes: &Sizes) -> bool {
    let mut plain = sizes.only().is_some();
    let shares = settings.value("percentage_random", |text| {
        let [reads, writes, _] = by_direction(text)?;
        let of = |part: Option<&str>| part.map_or(Ok(100), number);
        let (reads, writes) = (of(reads)?, of(writes)?);
        if reads == writes {
            Ok(reads)
        } else {
            Err("only the same percentage for reads and writes is supported".to_owned())
        }
    });
    match shares {
        None | Some(100..) => {}
        Some(_) if sequential => {
            out.note("percentage_random: has no effect on sequential requests, as in fio");
        }
        Some(random) => {
            out.flag("seq-share", &format!("{}%", 100 - random));
            plain = false;
        }
    }
    let Some(law) = settings.text("random_distribution") else { return plain };
    if sequential {
        out.note("random_distribution: has no effect on sequential requests, as in fio");
        return false;
    }
    match (law, law.split_once(':')) {
        ("random", _) => return plain,
        // fio's default exponent.
        ("zipf", _) => zipf(out, "1.1"),
        (_, Some(("zipf", theta))) if !theta.contains(':') => zipf(out, theta),
        (_, Some(("zoned", list))) if !list.contains(',') => match zones(list) {
            Ok(zones) => out.flag("zones", &zones),
            Err(why) => settings.refuse("random_distribution", &why),
        },
        _ => settings
            .refuse("random_distribution", "use random, zipf:THETA, or zones of the area (zoned)"),
    }
    false
}

fn zipf(out: &mut Words, theta: &str) {
    out.flag("pattern", &"zipf");
    out.flag("zipf-theta", &theta);
}

/// Zones with their shares. Shares that are missing are equal parts of the rest.
fn zones(text: &str) -> Result<String, String> {
    let wrong = || "use percentages REQUESTS/AREA, separated by colons".to_owned();
    let mut shares = Vec::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        let (requests, area) = part.split_once('/').ok_or_else(wrong)?;
        let share = |text: &str| match text {
            "" => Ok(None),
            text => text.parse::<u64>().map(Some).map_err(|_| wrong()),
        };
        shares.push([share(requests)?, share(area)?]);
    }
    for column in 0..2 {
        let given: u64 = shares.iter().filter_map(|share| share[column]).sum();
        let open = shares.iter().filter(|share| share[column].is_none()).count() as u64;
        let rest = 100_u64.checked_sub(given).ok_or("the percentages add up to more than 100 %")?;
        let each = rest.checked_div(open).unwrap_or(0);
        for share in &mut shares {
            share[column].get_or_insert(each);
        }
    }
    // Drop a zone without requests.
    let parts = shares.iter().map(|[requests, area]| {
        format!("{}/{}", requests.unwrap_or_default(), area.unwrap_or_default())
    });
    Ok(parts.collect::<Vec<_>>().join(":"))
}
