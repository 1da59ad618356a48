//! The table of hypotheses. Each file has one hypothesis or a close family. Removing a row changes no other.

mod behind_writes;
mod changes;
mod constant_rate;
mod counters;
mod device;
mod flushes;
mod groups;
mod hang;
mod hidden;
mod light_load;
mod limits;
mod memory;
mod other_times;
mod processors;
mod profiled_cap;
mod read_ahead;
mod scheduler;
mod siblings;
mod stops;
mod tags;
mod tail;
mod too_little;
mod unlisted;
mod waits_above;
mod write_back;

pub(super) use device::too_quick_for;
pub(super) use groups::shares_text;
pub(super) use limits::{allowed, reached_below};
pub(super) use unlisted::unlisted;

use super::engine::Weigh::{self, One, Several};
use super::engine::{Explanation, Facts, Hypothesis};
use super::system_facts::explains_waits;
use record::HypothesisName;
use record::LayerKind::{self, Below, Device, File, PageCache, Program, Queue, Scheduler, Volume};

/// Texts of several rows.
const KEEP_AWAKE: &str = "Observe again while a program keeps one CPU awake.";
const TOLERATES: &str = "Find out what latency the program tolerates.";
const OTHER_DEVICE: &str = "The tasks may be waiting for another device or a network file system.";

const fn row(name: &'static str, layer: LayerKind, weigh: Weigh) -> Hypothesis {
    Hypothesis { name, layer, weigh }
}

/// All hypotheses. Of two with equal weight the first wins.
pub(super) static ROWS: [Hypothesis; 49] = [
    row("a control group's limit is reached", Program, Several(limits::control_group)),
    row(
        "a provider's limit is reached, according to the volume's own log",
        Below,
        Several(limits::provider),
    ),
    row("a cap found by the check is reached", Below, One(profiled_cap::reached)),
    row(
        "requests wait before any counter of the device",
        Queue,
        Several(waits_above::before_the_counters),
    ),
    row("the device hangs", Device, Several(hang::hangs)),
    row(HypothesisName::TOO_FEW_DATA, Device, Several(too_little::too_little)),
    row("the device is fine, slow or overloaded", Device, Several(device::states)),
    row("a cache serves the requests", Device, One(device::quicker)),
    row("more requests were sequential", Device, One(device::more_sequential)),
    row("requests follow an idle period", Device, Several(after_a_rest)),
    row("CPUs wake up slowly", Program, One(light_load::slow_to_wake)),
    row("wake-ups hide a slow device", Device, One(light_load::wake_ups)),
    row("the scheduler holds requests", Scheduler, Several(scheduler::holds)),
    row("the scheduler starves some requests", Scheduler, Several(scheduler::starves)),
    row("the scheduler may hold requests", Scheduler, One(scheduler::may_hold)),
    row("all tags are in use", Queue, One(tags::all_in_use)),
    row("something holds requests while the device idles", Queue, One(waits_above::while_idle)),
    row("tasks wait for I/O that the device is not doing", Queue, One(waits_above::pressure)),
    row("something stops the programs briefly", Queue, One(stops::above_the_device)),
    row("a slow device is capped", Below, One(constant_rate::of_a_slow_device)),
    row("a layer above the device limits the rate", Queue, One(constant_rate::of_a_fine_device)),
    row("a program paces groups of requests", Program, One(constant_rate::of_a_device_that_rests)),
    row("a queued device is capped", Below, One(constant_rate::behind_a_queue)),
    row("one operation is capped or slow", Below, Several(constant_rate::of_one_operation)),
    row("control groups share the device", Program, One(groups::shares)),
    row("the busy time is unknown", Device, One(counters::no_busy_time)),
    row("latencies include discards", Device, One(counters::discards)),
    row("the hypervisor took CPU time", Below, One(processors::steal)),
    row("the CPUs are saturated", Program, One(processors::full)),
    row("programs process completions late", Program, One(processors::answers_late)),
    row("programs run late and submit bursts", Program, One(processors::late)),
    row("a few requests stall", Device, Several(tail::long)),
    row("a few requests may stall", Device, Several(tail::unseen)),
    row("the page cache writes back", PageCache, One(write_back::no_program_waits)),
    row("the page cache may write back", PageCache, One(write_back::perhaps_no_program_waits)),
    row("the limit on dirty memory is too low", PageCache, One(write_back::limit)),
    row("the page cache is too small", PageCache, One(memory::read_again)),
    row("read-ahead is off", PageCache, One(read_ahead::off)),
    row("a neighbour uses the device", Program, Several(flushes::neighbour)),
    row("reads wait behind writes", Device, One(behind_writes::wait)),
    row("the device flushes slowly", Device, One(flushes::slower)),
    row("programs wait for flushes", PageCache, One(flushes::many)),
    row("a system setting or state delays programs", Program, One(explains_waits)),
    row("files are compressed", File, One(flushes::compressed)),
    row("the profile was made with other settings", Device, One(changes::settings)),
    row(
        "the profile describes another device or is not valid",
        Device,
        Several(changes::another_profile),
    ),
    row("the profile has no writes", Device, One(changes::writes_unknown)),
    row("another time or a sibling device shows the cause", Volume, Several(elsewhere)),
    row("the layers below are not visible", Below, Several(hidden_layers)),
];

fn after_a_rest(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    found.extend(light_load::not_felt(facts));
    found.extend(light_load::after_a_rest(facts));
}

fn elsewhere(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    found.extend(other_times::comes_and_goes(facts));
    found.extend(other_times::capped_inside(facts));
    other_times::below_a_cap(facts, found);
    found.extend(siblings::capped_below(facts));
    siblings::slowest(facts, found);
    siblings::waits(facts, found);
}

fn hidden_layers(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    found.extend(hidden::unknown_device(facts));
    found.extend(hidden::below_of(facts, facts.states.slow()));
    found.extend(hidden::capped_below(facts));
}
