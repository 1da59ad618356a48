//! Detects that one processor serves the interrupts of all queues and is saturated by them.

use crate::causes::{
    Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When, is_numbered,
};
use host::kernel::read::{base_name, link_name};
use record::{LayerKind, SystemFact, format_share};

pub(super) const ROW: Check = Check {
    name: "interrupts",
    causes: &[27],
    layer: LayerKind::Program,
    reads: "interrupts of the disk's driver (/proc/interrupts), irq and softirq of each CPU (/proc/stat), at the \
            beginning and the end",
    source: "https://docs.kernel.org/filesystems/proc.html#kernel-data",
    basis: Basis::Facts { when: When::Between(busiest), read, judge },
};

const INTERRUPTS: &str = "interrupts on processor ";
const SERVING: &str = "interrupt time of processor ";
const TIME: &str = "time of processor ";
const BUSIEST: &str = "processor with the most interrupts";
const ITS_SHARE: &str = "share of the interrupts";
const ITS_TIME: &str = "share of its time in interrupts";
/// Largest number of processors that are read.
const PROCESSORS_MAX: usize = 512;
/// Share of the interrupts on one processor, and share of its time in interrupts, from which it is saturated.
const ALL: f64 = 0.9;
const FULL: f64 = 0.7;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let (Some(interrupts), Some(stat)) = (host.proc("interrupts"), host.proc("stat")) else {
        return reader.not_read(None, "/proc/interrupts or /proc/stat cannot be read");
    };
    let times = processor_times(&stat);
    if times.len() < 2 || times.len() > PROCESSORS_MAX {
        return;
    }
    for disk in host.disks() {
        let Some(counts) = interrupts_of(&interrupts, &names_of(disk)) else { continue };
        let mut fact = Fact::of(disk);
        for (processor, (count, (serving, all))) in counts.iter().zip(&times).enumerate() {
            fact = fact
                .number(&format!("{INTERRUPTS}{processor}"), *count, "")
                .number(&format!("{SERVING}{processor}"), *serving, "ticks")
                .number(&format!("{TIME}{processor}"), *all, "ticks");
        }
        reader.add(fact);
    }
}

/// Ticks in interrupts (irq and softirq) and all ticks, for each processor.
fn processor_times(stat: &str) -> Vec<(f64, f64)> {
    let of = |line: &str| {
        let (name, ticks) = line.split_once(' ')?;
        name.strip_prefix("cpu")?.parse::<u32>().ok()?;
        let ticks: Vec<f64> = ticks.split_ascii_whitespace().flat_map(str::parse).collect();
        // The first columns already include the last two, guest and guest_nice.
        Some((ticks.get(5)? + ticks.get(6)?, ticks.iter().take(8).sum()))
    };
    stat.lines().filter_map(of).collect()
}

/// Names of a disk's interrupts, by its controller (`nvme0q1`, `virtio2-req.0`, `ahci[0000:00:1f.2]`).
fn names_of(disk: &HostDevice) -> Vec<String> {
    let mut found = Vec::new();
    for directory in &disk.above {
        let name = base_name(directory);
        if is_numbered(directory, "nvme") || is_numbered(directory, "virtio") {
            found.push(name);
            break;
        }
        if let Some(driver) = link_name(&directory.join("driver")).filter(|_| name.contains(':')) {
            // The PCI device in brackets after the driver.
            found.push(format!("{driver}[{name}]"));
        }
    }
    found
}

/// Interrupts of each processor, summed over the lines with one of these names.
fn interrupts_of(interrupts: &str, names: &[String]) -> Option<Vec<f64>> {
    let mut lines = interrupts.lines();
    let processors = lines.next()?.split_ascii_whitespace().count();
    let mut sums: Option<Vec<f64>> = None;
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let own = |word: &&str| {
            names.iter().any(|name| {
                // `nvme0q12` belongs to nvme0, and `virtio1-req.0` to virtio1; `virtio10-req.0` does not.
                let rest = word.strip_prefix(name.as_str());
                rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
            })
        };
        if words.len() <= processors + 1 || !words[processors + 1..].iter().any(own) {
            continue;
        }
        let sums = sums.get_or_insert_with(|| vec![0.0; processors]);
        for (sum, word) in sums.iter_mut().zip(&words[1..=processors]) {
            *sum += word.parse::<f64>().unwrap_or(0.0);
        }
    }
    sums
}

/// The rises of a fact's values whose names begin with `begin`, indexed by processor.
fn rises(fact: &SystemFact, begin: &str) -> Vec<f64> {
    let own = fact.values.iter().filter(|one| one.name.starts_with(begin));
    own.map(|one| fact.rise(&one.name).unwrap_or(0.0)).collect()
}

/// Keeps the three values of the processor with most interrupts: a machine may have hundreds of processors.
fn busiest(read: &SystemFact) -> Option<SystemFact> {
    let counts = rises(read, INTERRUPTS);
    let all: f64 = counts.iter().sum();
    let (most, count) = counts.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let of_most = |begin: &str| read.rise(&format!("{begin}{most}"));
    let (serving, time) = (of_most(SERVING)?, of_most(TIME).filter(|time| *time > 0.0)?);
    (all > 0.0).then(|| {
        Fact::again(read)
            .number(BUSIEST, most as f64, "")
            .number(ITS_SHARE, count / all, "share")
            .number(ITS_TIME, serving / time, "share")
            .read()
    })
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let (most, of_all) = (fact.number(BUSIEST)?, fact.number(ITS_SHARE)?);
    let share = fact.number(ITS_TIME)?;
    if of_all < ALL || share < FULL {
        return None;
    }
    let says = format!(
        "Processor {most} serves {} of the disk's interrupts and spends {} of its time in \
         interrupts.",
        format_share(of_all),
        format_share(share)
    );
    let action = "Spread the interrupts (irqbalance, /proc/irq/N/smp_affinity_list), give the device more queues, \
                  or spread completions (queue/rq_affinity 2).";
    let explains = [Effect::SlowReads, Effect::SlowWrites, Effect::WaitsAbove, Effect::CappedRate];
    let claim = Claim::unusual(says, &explains, action);
    Some(claim.with("time in interrupts", share, "share").by(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{between, cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    /// Interrupts of two processors, and the first one's softirq ticks out of 1,000.
    fn set(fake: &Fake, counts: [u32; 2], softirq: u32, ticks: u32) {
        fake.proc(
            "interrupts",
            &format!(
                "           CPU0       CPU1       \n  1:          0          9   IO-APIC   1-edge      i8042\n\
                 24:          0          0   PCI-MSI 49152-edge      virtio2-config\n 25:  {:>9}  {:>9}   PCI-MSI \
                 49153-edge      virtio2-req.0\n 26:          5          5   PCI-MSI 51200-edge      virtio20-req.0\n\
                 NMI:          0          0   Non-maskable interrupts\n",
                counts[0], counts[1]
            ),
        );
        fake.proc(
            "stat",
            &format!(
                "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 50 0 50 {} 0 0 {softirq} 0 0 0\ncpu1 50 0 50 {ticks} 0 0 0 0 0 0\n",
                ticks - softirq
            ),
        );
    }

    #[test]
    fn one_processor_full_of_the_disks_interrupts_is_a_cause_and_a_quiet_one_is_not() {
        let fake = Fake::new();
        fake.block("pci0000:00/0000:00:04.0/virtio2/block/vda", "254:0", 1 << 20);
        let vda = disk("vda", |facts| facts.virtual_disk = true);
        let staged = |counts, softirq| {
            set(&fake, [100, 100], 0, 1_000);
            between("interrupts", &fake, &vda, || set(&fake, counts, softirq, 2_000))
        };
        let full = staged([90_100, 100], 880);
        // The number of values does not depend on the number of processors.
        assert_eq!(full[0].values.len(), 3, "{full:?}");
        let now = Machine { facts: &full, disk: Some(&vda), ..Machine::default() };
        let says = cause_only_with_effect("interrupts", now, Effect::SlowReads, Load::default());
        assert!(says.starts_with("Processor 0 serves 100 %") && says.contains("88 %"), "{says}");
        for fine in [staged([90_100, 100], 120), staged([50_100, 50_100], 880)] {
            nothing("interrupts", Machine { facts: &fine, ..now }, Load::default());
        }
    }
}
