//! Turns tests and trials into the rows of the path.
//!
//! Each component gets the rate of the test that loads it alone, as far as possible: memory from loads, the
//! page cache from calls on a cached file, bus and link from re-reads that a cache served, the
//! device from its own limits. If another part may have limited a test, its rate is a lower bound and
//! marked as such.

use crate::limits::bus::{Answer, best, largest, rates};
use crate::limits::pap::{
    Hop, Stated, buses, is_network, link_peak, memory_peak, network_peak, or_stated,
};
use crate::limits::path::conclude;
use crate::limits::plan::Purpose;
use host::kernel::Roots;
use record::{
    Advertised, BusTest, CacheEvidence, CgroupLimit, ComponentKind, Estimate, HalfPower, LimitedIo,
    Measured, NamedRate, OpKind, PathComponent, Profile, Target, format_bytes,
};
use trial::memory::MemoryRate;

/// The results for a path.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The first target, whose disk represents all disks of the path.
    pub target: &'a Target,
    /// Number of targets on separate disks.
    pub targets: u32,
    /// The rate of memory.
    pub memory: &'a Measured<MemoryRate>,
    /// Result of the disk-cache test.
    pub bus: &'a Measured<BusTest>,
    /// Finished trials with their purposes.
    pub answers: &'a [Answer],
    /// A profile of the same disk, used for the device's limits.
    pub profile: Option<&'a Profile>,
    /// Control-group limits of the disk.
    pub throttles: &'a [CgroupLimit],
    /// Advertised peaks of the components.
    pub peaks: &'a Peaks,
}

/// Advertised peaks, with their sources.
#[derive(Clone, Debug)]
pub struct Peaks {
    /// Peak of main memory.
    pub memory: Measured<Advertised>,
    /// Peaks of the links above the disk's own link.
    pub buses: Vec<Hop>,
    /// Peak of the disk's own link.
    pub link: Measured<Advertised>,
    /// Peak of the network to a remote file system.
    pub network: Measured<Advertised>,
    /// Peaks that the user stated with `--pap`.
    pub stated: Vec<Stated>,
}

impl Peaks {
    /// The peaks that this machine advertises for the target; unknown if it is simulated.
    #[must_use]
    pub fn of(target: &Target, simulated: bool, stated: Vec<Stated>) -> Self {
        if simulated {
            let not =
                || Measured::not("a simulated part has no advertised peak; to set one, use --pap");
            return Self { memory: not(), buses: Vec::new(), link: not(), network: not(), stated };
        }
        let roots = Roots::default();
        let device = target.device.as_ref();
        let link = device.and_then(|device| device.link.as_deref());
        Self {
            memory: memory_peak(&roots),
            buses: device.map(|device| buses(&roots, device)).unwrap_or_default(),
            link: match (link, link.and_then(link_peak)) {
                (_, Some(peak)) => Measured::Value(peak),
                (Some(link), None) => Measured::not(format!("{link} reports no speed")),
                (None, None) => Measured::not("the system reports no link"),
            },
            network: match &target.filesystem {
                Some(filesystem) => network_peak(&roots, filesystem),
                None => Measured::not("no file system"),
            },
            stated,
        }
    }
}

/// The path, from the processor to the medium.
#[must_use]
pub fn components(found: &Found<'_>) -> Vec<PathComponent> {
    let device = device(found);
    let one = device.rap_bytes_per_s.value().copied();
    let mut path = vec![processor(found), memory(found), file_cache(found)];
    let throttles = found.throttles.iter().filter(|limit| limit.limited == LimitedIo::Rbps);
    path.extend(throttles.map(|limit| throttle(found, limit)));
    let remote = found.target.filesystem.as_ref().is_some_and(is_network);
    if remote {
        path.push(network(found, &device));
    } else {
        path.extend(shared(found));
        path.push(link(found));
    }
    path.push(device);
    conclude(&mut path, one.as_ref());
    path
}

/// A row without a measured rate, with the peak that the user stated, otherwise `pap`.
fn row(
    found: &Found<'_>,
    kind: ComponentKind,
    name: impl Into<String>,
    pap: Measured<Advertised>,
) -> PathComponent {
    PathComponent {
        kind,
        name: name.into(),
        pap: or_stated(kind, &found.peaks.stated, pap),
        rap_bytes_per_s: Measured::not("no test loads this part alone"),
        rap_is_lower_bound: false,
        rap_method: String::new(),
        others: Vec::new(),
        ratio: None,
        half_power: HalfPower::NotKnown,
        disks: None,
    }
}

fn named(name: &str, rate: Option<Estimate>) -> Option<NamedRate> {
    rate.map(|bytes_per_s| NamedRate { name: name.to_owned(), bytes_per_s })
}

/// The rate at which the requests of this path would saturate all processors.
fn processor(found: &Found<'_>) -> PathComponent {
    let reads = [Purpose::Sequential(OpKind::Read), Purpose::First];
    let fastest = reads.into_iter().find_map(|purpose| {
        let (_, trial) = rates(found.answers, purpose).into_iter().next()?;
        Some((purpose, trial))
    });
    let saturation = fastest.and_then(|(purpose, of)| {
        let same = |answer: &&Answer| answer.0 == purpose && answer.1.cell == of.cell;
        let visits: Vec<f64> = found
            .answers
            .iter()
            .filter(same)
            .filter_map(|(_, trial)| trial.cpu.value()?.saturation_bytes_per_s)
            .collect();
        stats::visits_mean(&visits)
    });
    let pap = Measured::not("the throughput of CPUs is not advertised");
    let how = fastest.map(|(_, trial)| {
        let size = format_bytes(trial.workload.max_bs().0);
        format!("upper bound: CPU time charged per read of {size}, with all CPUs busy")
    });
    PathComponent {
        rap_bytes_per_s: saturation.ok_or("no trial measured the CPU cost").into(),
        rap_method: how.unwrap_or_default(),
        ..row(found, ComponentKind::Processor, "processors", pap)
    }
}

fn memory(found: &Found<'_>) -> PathComponent {
    let row = row(found, ComponentKind::Memory, "memory", found.peaks.memory.clone());
    let rate = found.memory.known();
    PathComponent {
        rap_bytes_per_s: rate.map(|rate| rate.bytes_per_s).into(),
        rap_method: rate.map_or_else(|_| String::new(), |rate| rate.method.clone()),
        ..row
    }
}

fn file_cache(found: &Found<'_>) -> PathComponent {
    let pap = Measured::not("not advertised, because it is a copy in memory");
    let read = best(found.answers, Purpose::Cached(OpKind::Read));
    let write = best(found.answers, Purpose::Cached(OpKind::Write));
    PathComponent {
        rap_bytes_per_s: read.ok_or("the path has no file-system cache").into(),
        rap_method: "reads of a cached file, 64 KiB each, at QD 1".to_owned(),
        others: named("write", write).into_iter().collect(),
        ..row(found, ComponentKind::FileCache, "file-system cache", pap)
    }
}

fn throttle(found: &Found<'_>, limit: &CgroupLimit) -> PathComponent {
    let bytes_per_s = limit.limit_per_s as f64;
    let source = format!("the control group {}", limit.group);
    let pap = Measured::Value(Advertised { bytes_per_s, source: source.clone() });
    PathComponent {
        rap_bytes_per_s: Measured::Value(Estimate::symmetric(bytes_per_s, 0.0, 1)),
        rap_method: format!("set by {source}"),
        ..row(found, ComponentKind::Throttle, "control group limit", pap)
    }
}

fn network(found: &Found<'_>, device: &PathComponent) -> PathComponent {
    let pap = found.peaks.network.clone();
    PathComponent {
        rap_bytes_per_s: device.rap_bytes_per_s.clone(),
        rap_is_lower_bound: true,
        rap_method: "reads through the mount; the server's disks may be the limit".to_owned(),
        ..row(found, ComponentKind::Network, "network to the server", pap)
    }
}

/// The test, if a cache served its re-reads; otherwise why it does not apply to bus and link.
fn served<'a>(found: &Found<'a>) -> Result<&'a BusTest, &'a str> {
    let test = found.bus.known()?;
    match test.evidence {
        CacheEvidence::Served => Ok(test),
        _ => Err(test.limit_bytes_per_s.reason().unwrap_or("no cache served the re-reads")),
    }
}

/// The parts that the disks share: one row per link above them, or one row if the links are unknown.
fn shared(found: &Found<'_>) -> Vec<PathComponent> {
    let hops: Vec<(String, Measured<Advertised>)> = found
        .peaks
        .buses
        .iter()
        .map(|hop| (format!("bus at {}", hop.address), Measured::Value(hop.peak.clone())))
        .collect();
    let named = found.peaks.stated.iter().any(|stated| stated.kind == ComponentKind::Bus);
    let rows = match hops.len() {
        0 if found.targets > 1 || named => vec![(
            "bus or controller".to_owned(),
            Measured::not(
                "the system reports no link above the disks; to set one, use --pap bus=RATE",
            ),
        )],
        _ => hops,
    };
    let alone = rows.len() == 1;
    let row = |(name, pap): (String, Measured<Advertised>)| {
        let row = row(found, ComponentKind::Bus, name, pap);
        match served(found) {
            Err(reason) => PathComponent { rap_bytes_per_s: Measured::not(reason), ..row },
            Ok(test) => {
                let most = largest(&test.points);
                let limit = test.limit_bytes_per_s.value().filter(|_| alone).copied();
                PathComponent {
                    rap_is_lower_bound: limit.is_none(),
                    rap_bytes_per_s: limit.or(most).ok_or("no trial was valid").into(),
                    rap_method: again_text(test, test.points.len() as u32),
                    ..row
                }
            }
        }
    };
    rows.into_iter().map(row).collect()
}

fn again_text(test: &BusTest, targets: u32) -> String {
    let (area, depth) = (format_bytes(test.area_bytes.0), test.depth);
    let on = if targets > 1 { format!(" on {targets} targets") } else { String::new() };
    format!("re-reads of {area} at QD {depth}{on}, served by a cache")
}

fn link(found: &Found<'_>) -> PathComponent {
    let disk = found.target.device.as_ref().map(|device| &device.disk);
    let name = disk.map_or("link of the disk".to_owned(), |disk| format!("link of {disk}"));
    let row = row(found, ComponentKind::Link, name, found.peaks.link.clone());
    match served(found) {
        Err(reason) => PathComponent { rap_bytes_per_s: Measured::not(reason), ..row },
        Ok(test) => {
            let one = test.points.first().map(|point| point.again_bytes_per_s);
            PathComponent {
                rap_bytes_per_s: one.ok_or("no trial was valid").into(),
                // Includes the time of the drive's own electronics.
                rap_is_lower_bound: true,
                rap_method: again_text(test, 1),
                ..row
            }
        }
    }
}

fn device(found: &Found<'_>) -> PathComponent {
    let disk = found.target.device.as_ref().map(|device| &device.disk);
    let remote = found.target.filesystem.as_ref().is_some_and(is_network);
    let name = match disk {
        Some(disk) => format!("device {disk}"),
        None if remote => "the server's disks".to_owned(),
        None => "device".to_owned(),
    };
    let pap =
        Measured::not("drives do not report their own rate; to set it, use --pap device=RATE");
    let row = row(found, ComponentKind::Device, name, pap);
    let (read, how, others) = match found.profile {
        Some(profile) => of_profile(profile),
        None => of_trials(found.answers),
    };
    PathComponent {
        rap_bytes_per_s: read.ok_or("no trial was valid").into(),
        rap_method: how,
        others,
        ..row
    }
}

type DeviceRates = (Option<Estimate>, String, Vec<NamedRate>);

fn of_profile(profile: &Profile) -> DeviceRates {
    let limits = &profile.limits;
    let smallest = profile.depth_curves.iter().map(|curve| curve.bs_bytes).min();
    let random = |name: &str, iops: Option<Estimate>| {
        let bytes = smallest?;
        let bytes_per_s = iops.filter(|iops| iops.value > 0.0)?.scaled(bytes as f64);
        named(&format!("{name}, {}", format_bytes(bytes)), Some(bytes_per_s))
    };
    let others = [
        named("write", limits.write_bytes_per_s),
        random("random read", limits.read_iops),
        random("random write", limits.write_iops),
    ];
    let how = format!("highest read rate of profile {}", record::short_id(&profile.id));
    (limits.read_bytes_per_s, how, others.into_iter().flatten().collect())
}

fn of_trials(answers: &[Answer]) -> DeviceRates {
    // The fastest workload of a purpose, with its request size and queue depth.
    let fastest = |purpose| {
        let (rate, trial) = rates(answers, purpose).into_iter().next()?;
        let workload = &trial.workload;
        Some((rate, format_bytes(workload.max_bs().0), workload.depth))
    };
    let other = |name: &str, purpose| {
        let (bytes_per_s, size, depth) = fastest(purpose)?;
        Some(NamedRate { name: format!("{name}, {size}, QD {depth}"), bytes_per_s })
    };
    let others = [
        other("write", Purpose::Sequential(OpKind::Write)),
        other("random read", Purpose::Random(OpKind::Read)),
        other("random write", Purpose::Random(OpKind::Write)),
    ];
    let read = fastest(Purpose::Sequential(OpKind::Read));
    let how =
        read.as_ref().map(|(_, size, depth)| format!("sequential reads of {size} at QD {depth}"));
    let read = read.map(|(rate, ..)| rate);
    (read, how.unwrap_or_default(), others.into_iter().flatten().collect())
}
