//! The table of hypotheses. Each file has one hypothesis or a close family. Removing a row changes no other.

mod behind_writes;
mod changes;
mod constant_rate;
mod counters;
mod device;
mod flushes;
mod groups;
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
pub(super) use unlisted::unlisted;

use super::engine::{Explanation, Facts, Hypothesis};
use super::system_facts::explains_waits;
use record::LayerKind::{self, Below, Device, File, PageCache, Program, Queue, Scheduler, Volume};

const fn row(
    name: &'static str,
    layer: LayerKind,
    weigh: fn(&Facts<'_, '_>, &mut Vec<Explanation>),
) -> Hypothesis {
    Hypothesis { name, layer, weigh }
}

/// All hypotheses. Of two with equal weight the first wins.
pub(super) static ROWS: [Hypothesis; 47] = [
    row("a control group's limit is reached", Program, limits::control_group),
    row(
        "a provider's limit is reached, according to the volume's own log",
        Below,
        limits::provider,
    ),
    row("a cap found by the check is reached", Below, profiled_cap::reached),
    row("requests wait before any counter of the device", Queue, waits_above::before_the_counters),
    row("too few data", Device, too_little::too_little),
    row("the device is fine, slow or overloaded", Device, device::states),
    row("a cache serves the requests", Device, device::quicker),
    row("more requests were sequential", Device, device::more_sequential),
    row("requests follow an idle period", Device, light_load::after_a_rest),
    row("CPUs wake up slowly", Program, light_load::slow_to_wake),
    row("wake-ups hide a slow device", Device, light_load::wake_ups),
    row("the scheduler holds requests", Scheduler, scheduler::holds),
    row("the scheduler starves some requests", Scheduler, scheduler::starves),
    row("the scheduler may hold requests", Scheduler, scheduler::may_hold),
    row("all tags are in use", Queue, tags::all_in_use),
    row("something holds requests while the device idles", Queue, waits_above::while_idle),
    row("tasks wait for I/O that the device is not doing", Queue, waits_above::pressure),
    row("something stops the programs briefly", Queue, stops::above_the_device),
    row("a slow device is capped", Below, constant_rate::of_a_slow_device),
    row("the rate is held above the device", Queue, constant_rate::of_a_fine_device),
    row("a program paces groups of requests", Program, constant_rate::of_a_device_that_rests),
    row("a queued device is capped", Below, constant_rate::behind_a_queue),
    row("one operation is capped or slow", Below, constant_rate::of_one_operation),
    row("control groups share the device", Program, groups::shares),
    row("the busy time is unknown", Device, counters::no_busy_time),
    row("latencies include discards", Device, counters::discards),
    row("the hypervisor took CPU time", Below, processors::steal),
    row("the CPUs are saturated", Program, processors::full),
    row("programs process completions late", Program, processors::answers_late),
    row("programs run late and submit bursts", Program, processors::late),
    row("a few requests stall", Device, tail::long),
    row("a few requests may stall", Device, tail::unseen),
    row("the page cache writes back", PageCache, write_back::for_nobody),
    row("the page cache may write back", PageCache, write_back::perhaps_for_nobody),
    row("the limit on dirty memory is too low", PageCache, write_back::limit),
    row("the page cache is too small", PageCache, memory::read_again),
    row("read-ahead is off", PageCache, read_ahead::off),
    row("a neighbour uses the device", Program, flushes::neighbour),
    row("reads wait behind writes", Device, behind_writes::wait),
    row("programs wait for flushes", PageCache, flushes::many),
    row("a system setting or state delays programs", Program, explains_waits),
    row("files are compressed", File, flushes::compressed),
    row("the profile was made with other settings", Device, changes::settings),
    row("the profile describes another device or is not valid", Device, changes::another_profile),
    row("the profile has no writes", Device, changes::writes_unknown),
    row("another time or a sibling device shows the cause", Volume, elsewhere),
    row("the layers below are not visible", Below, hidden_layers),
];

fn elsewhere(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    other_times::comes_and_goes(facts, found);
    other_times::capped_inside(facts, found);
    other_times::below_a_cap(facts, found);
    siblings::capped_below(facts, found);
    siblings::slowest(facts, found);
    siblings::waits(facts, found);
}

fn hidden_layers(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    hidden::unknown_device(facts, found);
    hidden::below(facts, found);
    hidden::capped_below(facts, found);
}
