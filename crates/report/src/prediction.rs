//! Builds the report on a prediction.
//!
//! The answer comes first: the latency of a request, and the utilization of the device. Then all
//! models are listed with their errors, so that a reader sees which to trust and what the textbook
//! predicts. Last come the parts of the answer that were not measured.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, ends_across, xs};
use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Fact, Story, joined};
use crate::validation::{error, level_text};
use record::{
    CommitPrediction, Locality, Mix, ModelAccuracy, Objective, ObjectiveAnswer, Offered,
    PredictedPoint, Prediction, PredictionDocument, SheetPrediction, Unit, format_bytes,
    shell_word,
};

/// An interval whose upper end is this many times the mean comes from bounds on the queueing time.
const BOUNDED: f64 = 1.5;

/// The story of a prediction.
pub fn prediction(document: &PredictionDocument) -> Story {
    let mix = mix_text(&document.mix);
    let subject = match (&document.target, &document.sheet) {
        (Some(target), _) => format!("{} {mix}, on {target}", offered_text(document.offered)),
        (None, Some(sheet)) => format!("UNMEASURED, from a data sheet: {}; {mix}", sheet.name),
        (None, None) => mix,
    };
    let subject = document.commits.as_ref().map_or(subject, |commits| {
        let target = document.target.as_deref().unwrap_or_default();
        format!("{}, on {target}", sessions_text(commits))
    });
    let mut story = Story::new("Prediction", subject, document.simulated);
    if let Some(commits) = &document.commits {
        of_commits(&mut story, commits);
    }
    story.charts.extend(curve(document));
    if let Some(sheet) = &document.sheet {
        of_sheet(&mut story, sheet);
        return story;
    }
    let advised = document.predictions.iter().find(|one| Some(one.model) == document.advised);
    if let Some(prediction) = advised {
        answer(&mut story, prediction);
        story.charts.extend(by_models(document, prediction));
    }
    let check = document.target.as_ref().zip(advised);
    let check = check.map(|(target, one)| how_to_check(target, document.area_bytes, one));
    story.takeaway("how to check it", check.clone().unwrap_or_default());
    let objectives: Vec<(String, String)> =
        document.objectives.iter().map(objective_text).collect();
    if !objectives.is_empty() {
        let answer = Some(story.headline.trim_end_matches('.').to_owned());
        let answer = answer.filter(|text| !text.is_empty());
        let met = objectives.iter().map(|(name, text)| format!("{name} {text}"));
        story.line = answer.into_iter().chain(met).collect::<Vec<_>>().join("; ");
    }
    for (name, text) in objectives {
        story.fact(name, text);
    }
    if document.predictions.len() > 1 {
        models(&mut story, document);
    }
    let mut extrapolated = advised.map(|one| one.extrapolated.clone()).unwrap_or_default();
    if !extrapolated.is_empty() {
        extrapolated.extend(check);
    }
    story.list("Not measured", "assumptions of the model", &extrapolated);
    if let Some(since) = &document.since_profile {
        let text = format!("{}; the prediction is adjusted for this change", level_text(since));
        story.condition("since the profile", text);
    }
    if let Some(prediction) = advised.filter(|_| !document.simulated) {
        let error = number::percent(prediction.in_run_rel);
        let text = format!(
            "the error of the latency is {error}, excluding differences between files and over time"
        );
        story.condition("within the run", text);
    }
    story.condition("profile", document.profile_id.clone().unwrap_or_default());
    let measured = document.profile_time.as_deref().map(number::when);
    story.condition("measured", measured.unwrap_or_default());
    story
}

/// An offered load in words, to precede its mix.
pub(crate) fn offered_text(offered: Option<Offered>) -> String {
    match offered {
        Some(Offered::PoissonPerS(rate)) => {
            format!("{} IOPS, arriving independently,", plain(rate))
        }
        Some(Offered::ConstantPerS(rate)) => format!("{} IOPS at equal intervals,", plain(rate)),
        Some(Offered::Depth(depth)) => format!("QD {},", plain(depth)),
        None => "this mix:".to_owned(),
    }
}

/// A number as the user typed it.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { number::digits(value) }
}

/// A mix in words: `70 % reads, rest writes, of 8 KiB, 20 % sequential, rest random`.
pub(crate) fn mix_text(mix: &Mix) -> String {
    let ops = match mix.reads() {
        reads if reads > 0.999 => "reads".to_owned(),
        reads if reads < 0.001 => "writes".to_owned(),
        reads => format!("{} reads, rest writes,", number::percent(reads)),
    };
    let sizes = mix.sizes();
    let sizes_text = joined(&sizes, " and ", |&bytes| match sizes.len() {
        1 => format_bytes(bytes),
        _ => {
            let share = mix.share(|class| class.bytes == bytes);
            format!("{} ({})", format_bytes(bytes), number::percent(share))
        }
    });
    let place = |locality: Locality| mix.share(|class| class.locality == locality);
    let places = [(Locality::Sequential, "sequential"), (Locality::Hit, "cached")];
    let places = places.into_iter().filter(|(locality, _)| place(*locality) > 0.001);
    let parts = joined(places, ", ", |(locality, word)| {
        format!("{} {word}", number::percent(place(locality)))
    });
    let random = match (parts.is_empty(), place(Locality::Random) > 0.001) {
        (true, _) => "random",
        (false, true) => ", rest random",
        (false, false) => "",
    };
    format!("{ops} of {sizes_text}, {parts}{random}")
}

/// `16 sessions committing (log overwritten), 200 µs of work between commits, 2 processors`.
fn sessions_text(commits: &CommitPrediction) -> String {
    let CommitPrediction { sessions, work_ns, processors, log, .. } = commits;
    let sessions = record::counted(f64::from(*sessions), "session");
    let processors = record::counted(f64::from(*processors), "processor");
    let work = number::time(*work_ns);
    format!("{sessions} committing ({}), {work} of work between commits, {processors}", log.name())
}

fn of_commits(story: &mut Story, commits: &CommitPrediction) {
    story.fact("commits/s", number::with_range(&commits.commits_per_s, number::count));
    story
        .fact("a commit", format!("mean {}", number::with_range(&commits.commit_ns, number::time)));
    story.fact("its p99", number::with_range(&commits.commit_p99_ns, number::time));
    let whole = number::with_range(&commits.transaction_p99_ns, number::time);
    story.fact("with the work", format!("p99 {whole}"));
    let each = number::digits(commits.commits_per_flush);
    story.fact("flush", format!("serves {each} commits on average"));
    if commits.sessions > 1 {
        let between = "from the best case, where all waiting sessions share a flush, to the worst, \
                       where each has its own";
        let server = "the actual value depends on how soon the server's sessions wake up and run";
        story.fact("range", format!("{between}; {server}"));
    }
}

fn answer(story: &mut Story, prediction: &Prediction) {
    let mean = number::with_range(&prediction.latency_ns, number::time);
    let share = number::percent(prediction.saturation);
    story.headline =
        format!("The mean latency is {mean}; the load is {share} of the highest rate.");
    story.fact("latency", format!("mean {mean}"));
    if let (Some(read), Some(write)) = (&prediction.read_latency_ns, &prediction.write_latency_ns) {
        let (read, write) = (number::time(read.value), number::time(write.value));
        story.fact("of reads and writes", format!("{read} and {write}"));
    }
    let lacks = match prediction.offered {
        Offered::Depth(_) => "too few requests",
        _ => "no open loads",
    };
    let unknown = Some(format!("unknown: the profile has {lacks} of this kind"));
    let Prediction { p50_ns, p90_ns, p99_ns, .. } = prediction;
    for (name, time, without) in
        [("p50", p50_ns, None), ("p90", p90_ns, None), ("p99", p99_ns, unknown)]
    {
        let time = time.as_ref().map(|time| number::with_range(time, number::time));
        time.or(without).into_iter().for_each(|text| story.fact(name, text));
    }
    let alone_ns = prediction.unloaded_latency_ns.value;
    let (most, mean) = (prediction.latency_ns.high, prediction.latency_ns.value);
    let mut queued = number::time(prediction.queue_ns);
    // The latency of a request at QD 1 is uncertain too, and that part of the interval is no queue.
    let queue_most = most - prediction.unloaded_latency_ns.high;
    let is_wide = most > BOUNDED * mean && queue_most > prediction.queue_ns;
    queued.extend(is_wide.then(|| format!(", at most {}", number::time(queue_most))));
    let alone = number::time(alone_ns);
    story.fact("queue", format!("{queued} of the latency; a request at QD 1 takes {alone}"));
    story.fact("queue depth", format!("{} on average", number::digits(prediction.concurrency)));
    let busy = number::percent(prediction.utilization);
    story.fact("utilization", format!("at least one request in flight for {busy} of the time"));
    let max = number::with_interval(&prediction.max_iops, number::per_second);
    story.fact("saturation", format!("{share} of the max IOPS of this mix, {max}"));
    if !prediction.offered.is_open() {
        story.fact("IOPS", number::with_interval(&prediction.iops, number::per_second));
    }
}

/// The run that measures the predicted load, and the remaining error.
fn how_to_check(target: &str, area_bytes: Option<u64>, prediction: &Prediction) -> String {
    let latency = &prediction.latency_ns;
    // The upper end of a closed loop also covers slower programs and writes of parts of blocks.
    let all = match prediction.offered {
        Offered::Depth(_) => (latency.value / latency.low).ln(),
        _ => (latency.high / latency.low).ln() / 2.0,
    };
    let others = (all * all - prediction.in_run_rel * prediction.in_run_rel).max(0.0).sqrt();
    // In words: beside the prediction, whose interval includes it, a second ± would ask for an explanation.
    let left = match number::percent(others) {
        text if others > 0.001 => format!("; another file or another time may differ by {text}"),
        _ => String::new(),
    };
    let run = run_of(target, area_bytes, prediction);
    let hits = prediction.mix.share(|class| class.locality == Locality::Hit);
    let without = match number::percent(hits) {
        hit if (0.001..0.999).contains(&hits) => {
            format!(", with random requests in place of the {hit} that a cache serves")
        }
        _ => String::new(),
    };
    format!("`{run}` measures it in ten seconds{without}{left}")
}

/// The run as a command, on the area of the profile: on a rotating disk a larger area is slower.
fn run_of(target: &str, area_bytes: Option<u64>, prediction: &Prediction) -> String {
    let Prediction { mix, offered, .. } = prediction;
    let place = |locality| mix.share(|class| class.locality == locality);
    let [sequential, hits] = [Locality::Sequential, Locality::Hit].map(place);
    let all_sequential = sequential > 0.999;
    let order = if all_sequential { "" } else { "rand" };
    let rw = match mix.reads() {
        reads if reads > 0.999 => format!("{order}read"),
        reads if reads < 0.001 => format!("{order}write"),
        reads => format!("{order}rw --rwmixread {:.0}", reads * 100.0),
    };
    let place = match () {
        () if hits > 0.999 => " --pattern hit".to_owned(),
        () if sequential > 0.001 && !all_sequential => {
            format!(" --seq-share {:.0}", sequential * 100.0)
        }
        () => String::new(),
    };
    let sizes = mix.sizes();
    let bs = joined(&sizes, ":", |&bytes| match sizes.len() {
        1 => bytes.to_string(),
        _ => format!("{bytes}/{:.0}", mix.share(|class| class.bytes == bytes) * 100.0),
    });
    let rate = |rate: f64| format!("--rate-iops {:.0} --iodepth 256", rate.max(1.0));
    let load = match offered {
        Offered::Depth(depth) => format!("--iodepth {}", depth.ceil()),
        Offered::PoissonPerS(per_s) => format!("{} --arrival poisson", rate(*per_s)),
        Offered::ConstantPerS(per_s) => rate(*per_s),
    };
    let size = area_bytes.map_or_else(String::new, |bytes| format!(" --size {bytes}"));
    let target = shell_word(target);
    format!("halfpower run {target} --rw {rw}{place} --bs {bs} {load}{size} --runtime 10s")
}

fn objective_text(answer: &ObjectiveAnswer) -> (String, String) {
    let (label, most) = match answer.objective {
        Objective::MeanNs(most) => ("mean", most),
        Objective::P99Ns(most) => ("p99", most),
    };
    let met = |at: &Prediction| {
        let share = number::percent(at.saturation);
        if let Offered::Depth(depth) = at.offered {
            let (rate, depth) = (number::with_interval(&at.iops, number::per_second), plain(depth));
            return format!(
                "met up to {rate} by a program at QD {depth}, {share} of the maximum; unknown for \
                 requests that arrive independently (check --for-diagnosis measures these)"
            );
        }
        let safe = "(safe: the whole interval of the latency meets it)";
        match at.iops.low > 0.0 {
            true => format!(
                "met up to {}, {share} of the maximum; safe up to {} {safe}",
                number::with_range(&at.iops, number::per_second),
                number::per_second(at.iops.low)
            ),
            // The interval of the rate begins at no rate, not at a rate of 0.
            false => format!(
                "met up to {}, {share} of the maximum, and at most {}; no rate is safe, because the \
                 latency at QD 1 is {} {safe}",
                number::per_second(at.iops.value),
                number::per_second(at.iops.high),
                number::with_range(&at.unloaded_latency_ns, number::time)
            ),
        }
    };
    let text = answer.at.as_ref().map(met).or_else(|| answer.not.clone()).unwrap_or_default();
    (format!("SLO {label} {}", number::time(most)), text)
}

fn models(story: &mut Story, document: &PredictionDocument) {
    let advised = |one: &Prediction| Some(one.model) == document.advised;
    let toned = |one: &Prediction, text: String| {
        Cell::toned(text, if advised(one) { Tone::Strong } else { Tone::Plain })
    };
    let error = |one: &Prediction, of: fn(&ModelAccuracy) -> Option<f64>| {
        let accuracy = document.accuracy.iter().find(|it| it.model == one.model);
        Cell::or_none(accuracy.and_then(of), error)
    };
    let remark = "err: median error on the profile's open loads, to which no model was fitted";
    story.section("Models", remark).table(&document.predictions, |t| {
        t.left("", |one| toned(one, one.model.name().to_owned()));
        t.titled("latency_mean_ns", |one| toned(one, number::time(one.latency_ns.value)));
        t.right("queue", |one| number::time(one.queue_ns));
        t.right("err <70 %", |one| error(one, |it| it.median_rel));
        t.right("err ≥70 %", |one| error(one, |it| it.loaded_median_rel));
        t.left("", |one| if advised(one) { "← used" } else { "" });
    });
}

fn of_sheet(story: &mut Story, sheet: &SheetPrediction) {
    let time = number::time;
    let (service, seek) = (time(sheet.service_ns), time(sheet.seek_ns));
    let [rotation, transfer, overhead] =
        [sheet.rotation_ns, sheet.transfer_ns, sheet.overhead_ns].map(time);
    let parts =
        format!("seek {seek} + rotation {rotation} + transfer {transfer} + overhead {overhead}");
    story.fact("service time", format!("{service} = {parts}"));
    let latency = format!("mean {} by M/M/1, p99 {}", time(sheet.latency_ns), time(sheet.p99_ns));
    story.fact("latency", latency);
    story.fact("utilization", number::percent(sheet.utilization));
    story.fact("max IOPS", number::per_second(sheet.max_per_s));
    if let Some(highest) = sheet.highest_per_s {
        story.fact("SLO", format!("met up to {}", number::per_second(highest)));
    }
    let text = "None of this was measured. The model assumes one server, exponential times, no \
                cache and no queue in the drive, so it is wrong for a parallel device. Run \
                `halfpower check --for-diagnosis` to measure.";
    let (name, value) = ("caution".to_owned(), text.to_owned());
    story.facts.push(Fact { name, of: String::new(), value, tone: Tone::Warn });
}

/// The load in question, on the axis of the curve: position, title, and whether it is a rate.
fn asked(document: &PredictionDocument) -> Option<(f64, &'static str, bool)> {
    if let Some(commits) = &document.commits {
        return Some((f64::from(commits.sessions), "sessions that commit", false));
    }
    Some(match document.offered? {
        Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => {
            (rate, "arrivals per second", true)
        }
        Offered::Depth(depth) => (depth, "queue depth", false),
    })
}

/// Latency over the load, with the load in question.
fn curve(document: &PredictionDocument) -> Option<Chart> {
    let (at, title, is_rate) = asked(document)?;
    let points = &document.curve;
    let own = points.iter().find(|point| point.at.total_cmp(&at).is_eq())?;
    let last = points.last()?;
    let mean = points.iter().map(|point| Point::known(point.at, &point.latency_ns));
    let p99 =
        points.iter().filter_map(|point| Some(Point::known(point.at, point.p99_ns.as_ref()?)));
    let series = vec![
        Series::new("mean", Form::Trace, mean.collect()),
        Series::new("99th percentile", Form::Trace, p99.collect()),
        Series::new("as requested", Form::Marks, vec![Point::known(at, &own.latency_ns)]),
    ];
    let time = |point: &PredictedPoint| number::time(point.latency_ns.value);
    let is_commit = document.commits.is_some();
    let what = if is_commit { "a commit" } else { "a request" };
    let place = |at: f64| match (is_rate, is_commit) {
        (true, _) => number::per_second(at),
        (false, true) => number::counted(at, "session"),
        (false, false) => number::count(at),
    };
    let prefix = if is_rate || is_commit { "At" } else { "At QD" };
    let other = if last.at > at { last } else { points.first()? };
    let ([here, there], [now, then]) = ([at, other.at].map(place), [own, other].map(time));
    let finding = format!("{prefix} {here} {what} takes {now}; at {there} it takes {then}.");
    let max = document.predictions.iter().find(|one| Some(one.model) == document.advised);
    let max = max.map(|one| one.max_iops.value).or(document.sheet.as_ref().map(|it| it.max_per_s));
    let max = max.filter(|_| is_rate);
    let places = xs(&series).chain(max);
    let measured = if document.sheet.is_some() {
        "Computed with M/M/1 from the data sheet, without measurements and so without intervals."
    } else {
        "Bands: 95 % intervals of the model."
    };
    let x = match is_rate {
        true => Axis::from_zero(title, Some(Unit::PerSecond), places),
        false => Axis::at_values(title, None, true, places),
    };
    let y = Axis::decades("latency", Some(Unit::Nanos), ends(&series));
    Chart::new("Latency against load", finding, (x, y), series)
        .errors(measured)
        .rules(max.map(|max| Rule::upright(max, "largest rate")))
        .unless_empty()
}

/// The prediction of each model for the load in question.
fn by_models(document: &PredictionDocument, advised: &Prediction) -> Option<Chart> {
    let all = &document.predictions;
    if all.len() < 2 {
        return None;
    }
    let row = |(at, one): (usize, &Prediction)| Point::known(at as f64, &one.latency_ns).across();
    let rows = |used: bool| {
        let all = all.iter().enumerate();
        all.filter(|(_, one)| (one.model == advised.model) == used).map(row).collect::<Vec<_>>()
    };
    let series = vec![
        Series::new("used", Form::Marks, rows(true)).toned(Tone::Strong),
        Series::new("others", Form::Marks, rows(false)).toned(Tone::Faint),
    ];
    let values = all.iter().map(|one| one.latency_ns.value);
    let (least, most) = crate::chart::extremes(values);
    let accuracy = document.accuracy.iter().find(|one| one.model == advised.model);
    let why = accuracy.and_then(|one| one.median_rel).map_or_else(String::new, |median| {
        format!(", whose median error on the profile's own loads is {}", error(median))
    });
    let ([least, most], used) = ([least, most].map(number::time), advised.model.name());
    let finding =
        format!("The models range from {least} to {most}; halfpower uses \"{used}\"{why}.");
    let x = Axis::from_zero("mean latency", Some(Unit::Nanos), ends_across(&series));
    let y = Axis::named(all.iter().map(|one| one.model.name().to_owned()).collect());
    let errors = "Error bars: 95 % intervals of the measurement; they exclude the error of the model \
                  itself.";
    let chart = Chart::new("Predictions of the models", finding, (x, y), series);
    chart.errors(errors).unless_empty()
}
