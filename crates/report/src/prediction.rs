//! What is said of a prediction.
//!
//! A prediction answers first: what a request will take, and how full the device will be. Then come
//! all models beside each other with their errors, so that a reader sees which to trust and what the
//! textbook would have said; then what the answer rests on that was not measured.

use crate::number;
use crate::story::{Cell, Column, Fact, Story, Table, Tone};
use crate::validation::{error, level_text};
use record::{
    Locality, Mix, ModelAccuracy, Objective, ObjectiveAnswer, Offered, OpKind, Prediction,
    PredictionDocument, SheetPrediction, format_bytes,
};

/// The story of a prediction.
#[must_use]
pub fn prediction(document: &PredictionDocument) -> Story {
    let mix = mix_text(&document.mix);
    let mut story = Story {
        kind: "Prediction".to_owned(),
        subject: match (&document.target, &document.sheet) {
            (Some(target), _) => format!("{} {mix}, on {target}", offered_text(document.offered)),
            (None, Some(sheet)) => format!("UNMEASURED, from a data sheet: {}; {mix}", sheet.name),
            (None, None) => mix,
        },
        simulated: document.simulated,
        ..Story::default()
    };
    if let Some(sheet) = &document.sheet {
        of_sheet(&mut story, sheet);
        return story;
    }
    let advised = document.predictions.iter().find(|one| Some(one.model) == document.advised);
    if let Some(prediction) = advised {
        answer(&mut story, prediction);
    }
    for objective in &document.objectives {
        let (name, text) = objective_text(objective);
        story.fact(name, text);
    }
    if document.predictions.len() > 1 {
        models(&mut story, document);
    }
    let extrapolated = advised.map(|one| one.extrapolated.as_slice()).unwrap_or_default();
    if !extrapolated.is_empty() {
        let section = story.section("Not measured", "what the model had to assume");
        extrapolated.iter().for_each(|clause| section.item(clause));
    }
    if let Some(since) = &document.since_profile {
        let text = format!("{}; the prediction follows that", level_text(since));
        story.condition("since the profile", text);
    }
    story.condition("profile", document.profile_id.clone().unwrap_or_default());
    let measured = document.profile_time.as_deref().map(number::when);
    story.condition("measured", measured.unwrap_or_default());
    story
}

/// An offered load in words, in front of its mix.
pub(crate) fn offered_text(offered: Option<Offered>) -> String {
    match offered {
        Some(Offered::PoissonPerS(rate)) => {
            format!("{} IOPS, arriving independently,", plain(rate))
        }
        Some(Offered::ConstantPerS(rate)) => format!("{} IOPS at equal distances,", plain(rate)),
        Some(Offered::Depth(depth)) => format!("QD {},", plain(depth)),
        None => "this mix:".to_owned(),
    }
}

/// A number as it was typed.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { number::digits(value) }
}

/// A mix in words: `70 % reads of 8 KiB, 20 % sequential`.
pub(crate) fn mix_text(mix: &Mix) -> String {
    let share = |of: &dyn Fn(&record::MixClass) -> bool| -> f64 {
        mix.classes.iter().filter(|class| of(class)).map(|class| class.share).sum()
    };
    let reads = share(&|class| class.op == OpKind::Read);
    let ops = match reads {
        reads if reads > 0.999 => "reads".to_owned(),
        reads if reads < 0.001 => "writes".to_owned(),
        reads => format!("{} reads, rest writes,", number::percent(reads)),
    };
    let mut sizes: Vec<u64> = mix.classes.iter().map(|class| class.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_size = |&bytes: &u64| match sizes.len() {
        1 => format_bytes(bytes),
        _ => format!(
            "{} ({})",
            format_bytes(bytes),
            number::percent(share(&|class| class.bytes == bytes))
        ),
    };
    let sizes_text: Vec<String> = sizes.iter().map(of_size).collect();
    let place = |locality: Locality| share(&|class| class.locality == locality);
    let mut text = format!("{ops} of {}", sizes_text.join(" and "));
    let places = [(Locality::Sequential, "sequential"), (Locality::Hit, "cached")];
    let parts: Vec<String> = places
        .into_iter()
        .filter(|(locality, _)| place(*locality) > 0.001)
        .map(|(locality, word)| format!("{} {word}", number::percent(place(locality))))
        .collect();
    if parts.is_empty() {
        text.push_str(", random");
    } else {
        text.push_str(&format!(", {}", parts.join(", ")));
        if place(Locality::Random) > 0.001 {
            text.push_str(", rest random");
        }
    }
    text
}

fn answer(story: &mut Story, prediction: &Prediction) {
    story.fact(
        "latency",
        format!("mean {}", number::with_range(&prediction.latency_ns, number::time)),
    );
    if let (Some(read), Some(write)) = (&prediction.read_latency_ns, &prediction.write_latency_ns) {
        let (read, write) = (number::time(read.value), number::time(write.value));
        story.fact("of reads and writes", format!("{read} and {write}"));
    }
    match (&prediction.p99_ns, prediction.offered) {
        (Some(p99), _) => story.fact("p99", number::with_range(p99, number::time)),
        (None, Offered::Depth(_)) => {}
        (None, _) => story.fact("p99", "unknown: the profile holds no open loads of this kind"),
    }
    let queue = format!(
        "{} of it in the queue; a request at QD 1 takes {}",
        number::time(prediction.queue_ns),
        number::time(prediction.unloaded_latency_ns.value)
    );
    story.fact("queue", queue);
    story.fact("queue depth", format!("{} on average", number::digits(prediction.concurrency)));
    let busy = number::percent(prediction.utilization);
    story.fact("utilization", format!("{busy} of the time at least one request"));
    let saturation = format!(
        "{} of the max IOPS of this mix, {}",
        number::percent(prediction.saturation),
        number::with_interval(&prediction.max_iops, number::per_second)
    );
    story.fact("saturation", saturation);
    if matches!(prediction.offered, Offered::Depth(_)) {
        story.fact("IOPS", number::with_interval(&prediction.iops, number::per_second));
    }
}

fn objective_text(answer: &ObjectiveAnswer) -> (String, String) {
    let (label, most) = match answer.objective {
        Objective::MeanNs(most) => ("mean", most),
        Objective::P99Ns(most) => ("p99", most),
    };
    let text = match (&answer.at, &answer.not) {
        (Some(at), _) => {
            let rate = number::per_second(at.iops.value);
            format!("at most {rate}, {} of the maximum", number::percent(at.saturation))
        }
        (None, Some(not)) => not.clone(),
        (None, None) => String::new(),
    };
    (format!("SLO {label} up to {}", number::time(most)), text)
}

/// All models beside each other.
fn models(story: &mut Story, document: &PredictionDocument) {
    let mut table = Table::new(vec![
        Column::left(""),
        Column::of("latency_mean_ns"),
        Column::right("queue"),
        Column::right("err <70 %"),
        Column::right("err ≥70 %"),
        Column::left(""),
    ]);
    for prediction in &document.predictions {
        let accuracy = document.accuracy.iter().find(|one| one.model == prediction.model);
        let error =
            |of: fn(&ModelAccuracy) -> Option<f64>| Cell::or_none(accuracy.and_then(of), error);
        let advised = Some(prediction.model) == document.advised;
        let tone = if advised { Tone::Strong } else { Tone::Plain };
        table.row(vec![
            Cell::toned(prediction.model.name(), tone),
            Cell::toned(number::time(prediction.latency_ns.value), tone),
            number::time(prediction.queue_ns).into(),
            error(|one| one.median_rel),
            error(|one| one.loaded_median_rel),
            if advised { "← used".into() } else { Cell::default() },
        ]);
    }
    let remark = "err: median error on the profile's open loads, none of them fitted to";
    story.section("Models", remark).table(table);
}

fn of_sheet(story: &mut Story, sheet: &SheetPrediction) {
    let time = number::time;
    let parts = format!(
        "{} = seek {} + rotation {} + transfer {} + overhead {}",
        time(sheet.service_ns),
        time(sheet.seek_ns),
        time(sheet.rotation_ns),
        time(sheet.transfer_ns),
        time(sheet.overhead_ns)
    );
    story.fact("service time", parts);
    let latency = format!("mean {} by M/M/1, p99 {}", time(sheet.latency_ns), time(sheet.p99_ns));
    story.fact("latency", latency);
    story.fact("utilization", number::percent(sheet.utilization));
    story.fact("max IOPS", number::per_second(sheet.max_per_s));
    if let Some(highest) = sheet.highest_per_s {
        story.fact("SLO", format!("met up to {}", number::per_second(highest)));
    }
    let text = "Nothing of this was measured. One server, exponential times, no cache, no queue in \
                the drive: on a device that works in parallel it is wrong by construction. \
                `halfpower check --for-diagnosis` measures.";
    let (name, value) = ("caution".to_owned(), text.to_owned());
    story.facts.push(Fact { name, of: String::new(), value, tone: Tone::Warn });
}
