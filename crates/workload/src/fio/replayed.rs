//! Converts the replay of a recording.

use crate::fio::area::file_names;
use crate::fio::parts::Words;
use crate::fio::settings::Settings;
use crate::fio::values::{SECOND_NS, time};
use record::time_word;

pub(crate) fn replayed(settings: &Settings<'_>, out: &mut Words, log: &str) {
    let redirect = settings.text("replay_redirect");
    let names = settings.text("filename").map(file_names).unwrap_or_default();
    out.targets = redirect.map_or(names, |target| vec![target.to_owned()]);
    if out.targets.is_empty() {
        let why = "name the target with replay_redirect or filename, because the names in the log \
                   are those of the recorded machine";
        settings.refuse("read_iolog", why);
    }
    out.flag("replay", &log);
    // A percentage of the recorded rate: 200 is twice as fast.
    let scale = settings.number("replay_time_scale").unwrap_or(100);
    if settings.on("replay_no_stall") {
        out.flag("replay-speed", &"max");
    } else if scale == 0 {
        settings.refuse("replay_time_scale", "use 1 or more");
    } else if scale != 100 {
        out.flag("replay-speed", &(scale as f64 / 1e2));
    }
    let seconds = |text: &str| time(text, SECOND_NS);
    if let Some(runtime) = settings.value("runtime", seconds).filter(|time| *time > 0) {
        out.flag("runtime", &time_word(runtime));
    }
    for ignored in ["rw", "bs", "size", "norandommap", "time_based"] {
        if settings.has(ignored) {
            out.note(format!(
                "{ignored}: has no effect, because the recording determines this, as in fio"
            ));
        }
    }
}
