//! One disk under three loop devices, each of which stands for a host: who fills it is known, because this
//! starts the loads, and by how much the clocks differ, because this shifts the recordings.
//!
//! The disk is a loop device in memory, with a file for each host on it. A control group holds what all loads
//! together read from it down to so many requests or bytes a second, so that requests wait for each other below the
//! loop devices, as those of hosts do that share an array. Two hosts ask for little all of the time. The third, or two, ask for
//! much in bursts of irregular length, because regular ones fit several differences of the clocks. The program
//! is run as a user runs it: `record` on each device, then `diagnose --shared`.
//!
//! Processors that others want make all latencies rise together, as the disk does, so that a name can be missed on a
//! machine that is busy; each case says how long processors were idle. A smoke run asks only that every
//! step runs and that what does not depend on speed is right.

use crate::child::{self, ProcessorTime};
use crate::{arguments::Arguments, kept, place};
use anyhow::{Result, anyhow, ensure};
use record::{Observation, Profile, SharedDiagnosis};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::{Capability, LoopDevice, Mounted, Service, Throttle, ThrottledGroup};
use workload::Rng;

pub(crate) const SWITCHES: [&str; 2] = ["--smoke", "--no-keep"];
pub(crate) const VALUES: [&str; 4] = ["--binary", "--only", "--first", "--recordings"];

/// Where memory is a file system.
const MEMORY: &str = "/dev/shm";
const DISK_BYTES: u64 = 512 << 20;
const FILE_BYTES: u64 = 96 << 20;
const HOSTS: [&str; 3] = ["h0", "h1", "h2"];
/// Requests, and bytes, that the disk does in a second.
const IOPS: u64 = 600;
const BYTES_PER_S: u64 = 24_000_000;
const INTERVAL: Duration = Duration::from_millis(500);
const INTERVAL_SMOKE: Duration = Duration::from_millis(250);
/// How long the hosts record: a hundred intervals, and little more than the fewest.
const RECORDED: Duration = Duration::from_secs(60);
const RECORDED_SMOKE: Duration = Duration::from_secs(16);
/// How long a burst lasts, and the time between two, from and to, in seconds.
const BURST_S: (f64, f64) = (3.0, 7.0);
const PAUSE_S: (f64, f64) = (3.0, 9.0);
/// What the clocks of the recordings are ahead, in seconds.
const AHEAD_S: [f64; 3] = [0.0, 37.4, -12.75];
const TOGETHER_S: [f64; 3] = [0.0; 3];
/// Intervals that are taken out of the first recording where a case says so.
const GAP: usize = 12;
/// How long loads run before they are recorded, and how long one takes to start.
const WARM_UP: Duration = Duration::from_secs(2);
const STARTS: Duration = Duration::from_millis(700);
/// How far shares may be from those of the kernel's own counters: recordings begin and end moments apart. They are held
/// against them where so much of the time is compared.
const SHARE_OFF: f64 = 0.05;
const COMPARED_MIN: f64 = 0.95;

/// What holds the disk down, and to how much a second.
type Limit = (Throttle, u64);

/// What a host asks for.
#[derive(Clone, Copy)]
struct Asks {
    /// All of the time.
    steady: Option<&'static str>,
    /// In bursts.
    bursts: Option<&'static str>,
}

/// What is staged.
struct Case {
    name: &'static str,
    hosts: [Asks; 3],
    limit: Limit,
    ahead_s: [f64; 3],
    gap: bool,
    /// The host that is named.
    fills: Option<usize>,
    verdicts: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    const FINE: &[&str] = &["healthy", "not_the_disk", "not_enough_evidence"];
    const FILLED: &[&str] = &["overloaded", "slow_and_overloaded"];
    let asks = |steady| Asks { steady: Some(steady), bursts: None };
    let few = asks("--rw randread --bs 4k --rate-iops 60 --arrival poisson --iodepth 64");
    let more = asks("--rw randread --bs 4k --rate-iops 90 --arrival poisson --iodepth 64");
    let large = asks("--rw randread --bs 16k --rate-iops 60 --arrival poisson --iodepth 64");
    const DEEP: Option<&str> = Some("--rw randread --bs 4k --iodepth 32");
    let bursts = Asks { steady: None, bursts: DEEP };
    let case = Case {
        name: "one fills it in bursts, idle between",
        hosts: [few, more, bursts],
        limit: (Throttle::ReadIops, IOPS),
        ahead_s: AHEAD_S,
        gap: false,
        fills: Some(2),
        verdicts: FILLED,
    };
    let carried = "--rw randread --bs 4k --rate-iops 180 --arrival poisson --iodepth 64";
    let large_bursts = Some("--rw randread --bs 64k --iodepth 16");
    vec![
        Case {
            name: "the same, a load between, a gap",
            gap: true,
            hosts: [few, more, Asks { bursts: DEEP, ..more }],
            ..case
        },
        Case {
            name: "nobody bursts",
            hosts: [few, more, more],
            ahead_s: TOGETHER_S,
            fills: None,
            verdicts: FINE,
            ..case
        },
        Case { name: "two burst together", hosts: [few, bursts, bursts], fills: None, ..case },
        Case {
            name: "bursts that the disk carries",
            hosts: [few, more, Asks { steady: None, bursts: Some(carried) }],
            ahead_s: TOGETHER_S,
            fills: None,
            verdicts: FINE,
            ..case
        },
        Case {
            name: "three sizes, bytes fill it",
            hosts: [few, large, Asks { steady: None, bursts: large_bursts }],
            limit: (Throttle::ReadBytes, BYTES_PER_S),
            ..case
        },
        case,
    ]
}

pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    use Capability::{BlkioGroup, Ext4, Loop, Mount, Root};
    let smoke = flags.has("--smoke");
    if let Some(lacks) =
        [Root, Loop, Mount, Ext4, BlkioGroup].into_iter().find_map(Capability::lack)
    {
        println!("SKIP shared: {lacks}");
        return Ok(true);
    }
    let only: Option<String> = flags.value("--only")?;
    let recordings: Option<PathBuf> = flags.value("--recordings")?;
    let stage = Stage::new(place::binary(flags.value("--binary")?, smoke)?, smoke)?;
    let mut draws = Rng::new(flags.value("--first")?.unwrap_or(1));
    let (mut good, mut results, mut profiles) = (true, Vec::new(), Vec::new());
    let is_asked = |case: &Case| only.as_deref().is_none_or(|name| case.name.contains(name));
    for case in
        cases().iter().filter(|case| is_asked(case)).take(if smoke { 1 } else { usize::MAX })
    {
        let profile = stage.prepare(case, &mut profiles)?;
        let staged = stage.staged(case, profile.as_deref(), &mut draws);
        if let Some(folder) = &recordings {
            stage.copy_recordings(&folder.join(case.name.replace(' ', "-")))?;
        }
        let (wrong, found) = staged?;
        println!(
            "{:40} {}",
            case.name,
            if wrong.is_empty() { "as expected".to_owned() } else { wrong.join("; ") }
        );
        println!("  {found}");
        good &= wrong.is_empty();
        results.push(json!({ "case": case.name, "wrong": wrong, "found": found }));
    }
    if !smoke && !flags.has("--no-keep") && only.is_none() {
        kept::keep(
            "shared",
            &[("good", json!(good)), ("iops", json!(IOPS)), ("cases", json!(results))],
        )?;
    }
    Ok(good)
}

/// The disk, and the devices of its hosts.
struct Stage {
    binary: PathBuf,
    smoke: bool,
    recorded: Duration,
    // In the order in which they can be taken down.
    hosts: Vec<LoopDevice>,
    group: ThrottledGroup,
    _mounted: Mounted,
    disk: LoopDevice,
    kept: tempfile::TempDir,
}

impl Stage {
    fn new(binary: PathBuf, smoke: bool) -> Result<Self> {
        let disk = LoopDevice::within(Path::new(MEMORY), DISK_BYTES, 512)?;
        let mounted = Mounted::ext4(disk.path())?;
        let host = |name: &&str| -> Result<LoopDevice> {
            let file = mounted.path().join(name);
            // Written, so that reads go to the disk below.
            let mut write = Command::new("dd");
            write.arg(format!("of={}", file.display())).args([
                "if=/dev/urandom",
                "bs=1M",
                "oflag=direct",
            ]);
            child::output(write.arg(format!("count={}", FILE_BYTES >> 20)), &[0])?;
            Ok(LoopDevice::over(&file, &["--direct-io=on"])?)
        };
        let hosts = HOSTS.iter().map(host).collect::<Result<_>>()?;
        let recorded = if smoke { RECORDED_SMOKE } else { RECORDED };
        let (group, kept) = (ThrottledGroup::new()?, tempfile::tempdir()?);
        Ok(Self { binary, smoke, recorded, hosts, group, _mounted: mounted, disk, kept })
    }

    fn program(&self, words: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words.split_whitespace()).current_dir(self.kept.path());
        command.env("HALFPOWER_DB", self.kept.path().join("kept.db"));
        command
    }

    fn interval(&self) -> Duration {
        if self.smoke { INTERVAL_SMOKE } else { INTERVAL }
    }

    fn device(&self, host: usize) -> String {
        self.hosts[host].path().display().to_string()
    }

    /// A load on a host's device, within the group.
    fn load(&self, host: usize, words: &str, length: Duration, log: &str) -> Result<Service> {
        let mut command = self.group.entered();
        command.arg(&self.binary).args(["run", &self.device(host), "--no-save", "--quiet"]);
        command
            .args(words.split_whitespace())
            .arg("--runtime")
            .arg(format!("{}ms", length.as_millis()));
        Ok(Service::start(command, &self.kept.path().join(log))?)
    }

    /// The profile of the disk as it is held down, of a host that has it alone.
    fn profile(&self) -> Result<String> {
        let mut command = self.group.entered();
        command.arg(&self.binary).args([
            "check",
            &self.device(0),
            "--for-diagnosis",
            "--json",
            "--quiet",
        ]);
        command.args(["--budget", "120s", "--seed", "1"]);
        command.env("HALFPOWER_DB", self.kept.path().join("kept.db"));
        // One of too few requests says nothing of the disk, and is refused with exit code 1.
        let profile: Profile = serde_json::from_slice(&child::output(&mut command, &[0])?)?;
        Ok(profile.id)
    }

    /// Holds the disk down as a case asks, and gives its profile as it is then, which is made once.
    fn prepare(&self, case: &Case, known: &mut Vec<(Limit, String)>) -> Result<Option<String>> {
        let (what, per_s) = case.limit;
        for other in [Throttle::ReadIops, Throttle::ReadBytes] {
            self.group.limit(self.disk.path(), other, if other == what { per_s } else { 0 })?;
        }
        if self.smoke {
            return Ok(None);
        }
        if let Some((_, id)) = known.iter().find(|(limit, _)| *limit == case.limit) {
            return Ok(Some(id.clone()));
        }
        let id = self.profile()?;
        known.push((case.limit, id.clone()));
        Ok(Some(id))
    }

    /// Stages a case; what is wrong, and what was found.
    fn staged(
        &self,
        case: &Case,
        profile: Option<&str>,
        draws: &mut Rng,
    ) -> Result<(Vec<String>, Value)> {
        let bursts = bursts(case, self.recorded, draws);
        let (time_before, begin) = (ProcessorTime::now()?, Instant::now());
        let before = self.counters()?;
        let recordings = self.recordings(case, &bursts)?;
        let after = self.counters()?;
        let idle = ProcessorTime::since(&time_before)?.idle();
        let idle = idle.as_secs_f64() / begin.elapsed().as_secs_f64();
        let files = self.shifted(case, recordings)?;
        let mut words = String::from("diagnose --json --shared");
        for file in files {
            words += &format!(" {}", file.display());
        }
        if let Some(id) = profile {
            words += &format!(" --profile {id}");
        }
        let found: SharedDiagnosis =
            serde_json::from_slice(&child::output(&mut self.program(&words), &[0, 1])?)?;
        let counted: Vec<[f64; 2]> = before
            .iter()
            .zip(&after)
            .map(|(before, after)| [after[0] - before[0], after[1] - before[1]])
            .collect();
        let wrong = wrong(case, &found, &counted, self.smoke);
        let told = json!({
            "filled_by": found.filled_by, "hosts": found.hosts, "intervals": found.intervals,
            "left_out": found.left_out, "verdicts": verdicts(&found), "ahead_s": case.ahead_s,
            "counted_requests_and_bytes": counted, "bursts": bursts.each_ref().map(Vec::len),
            "idle_processors": idle,
        });
        Ok((wrong, told))
    }

    /// Reads and bytes read of each host's device so far.
    fn counters(&self) -> Result<Vec<[f64; 2]>> {
        let of = |device: &LoopDevice| -> Result<[f64; 2]> {
            let name = device.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(format!("/sys/block/{name}/stat"))?;
            let fields: Vec<f64> =
                text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            ensure!(fields.len() > 2, "{name} has no counters: {text:?}");
            Ok([fields[0], fields[2] * 512.0])
        };
        self.hosts.iter().map(of).collect()
    }

    /// Records all hosts under their loads.
    fn recordings(&self, case: &Case, bursts: &[Vec<Burst>; 3]) -> Result<Vec<Observation>> {
        let longer = self.recorded + Duration::from_secs(20);
        let mut steady = Vec::new();
        for (host, asks) in case.hosts.iter().enumerate() {
            if let Some(words) = asks.steady {
                steady.push(self.load(host, words, longer, &format!("steady-{host}.log"))?);
            }
        }
        sleep(WARM_UP);
        std::thread::scope(|scope| {
            let begin = Instant::now();
            let recording = |host: usize| {
                let words = format!(
                    "record {} --for {}s --interval {}ms --trace=no --no-processes --no-save --json --quiet",
                    self.device(host),
                    self.recorded.as_secs(),
                    self.interval().as_millis()
                );
                scope.spawn(move || child::output(&mut self.program(&words), &[0]))
            };
            let recording: Vec<_> = (0..HOSTS.len()).map(recording).collect();
            let bursting = |(host, bursts): (usize, &Vec<Burst>)| {
                let (words, bursts) = (case.hosts[host].bursts, bursts.clone());
                scope.spawn(move || -> Result<()> {
                    for burst in bursts {
                        sleep((begin + burst.begin).saturating_duration_since(Instant::now()));
                        let log = format!("bursts-{host}.log");
                        let _load =
                            self.load(host, words.unwrap_or_default(), burst.length, &log)?;
                        sleep(burst.length + STARTS);
                    }
                    Ok(())
                })
            };
            let bursting: Vec<_> = bursts.iter().enumerate().map(bursting).collect();
            for one in bursting {
                one.join().map_err(|_| anyhow!("a thread of bursts ended early"))??;
            }
            recording
                .into_iter()
                .map(|one| {
                    let bytes = one.join().map_err(|_| anyhow!("a recording ended early"))??;
                    Ok(serde_json::from_slice(&bytes)?)
                })
                .collect()
        })
    }

    /// Copies what was diagnosed last to a folder, with the profiles: as it was recorded, it can be diagnosed again.
    fn copy_recordings(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let files = HOSTS.iter().map(|host| format!("{host}.json"));
        for file in files.chain(["kept.db".to_owned()]) {
            let from = self.kept.path().join(&file);
            if from.exists() {
                std::fs::copy(from, folder.join(file))?;
            }
        }
        Ok(())
    }

    /// The recordings as three hosts would have made them, each with its own clock.
    fn shifted(&self, case: &Case, recordings: Vec<Observation>) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for (host, mut recording) in recordings.into_iter().enumerate() {
            // A short recording need not tell the clocks.
            let ahead_s = if self.smoke { 0.0 } else { case.ahead_s[host] };
            let ahead_ns = (ahead_s * 1e9) as i64;
            recording.host = Some(HOSTS[host].to_owned());
            let begins = recording.intervals.iter_mut().map(|it| &mut it.begin_ns);
            for begin_ns in begins.chain(recording.contexts.iter_mut().map(|it| &mut it.begin_ns)) {
                *begin_ns = begin_ns.saturating_add_signed(ahead_ns);
            }
            if case.gap && host == 0 {
                let device = self.device(host);
                let own = |it: &record::Interval| device.ends_with(&format!("/{}", it.device));
                let middle = recording.intervals.iter().filter(|it| own(it)).count() / 2;
                let mut at = 0;
                recording.intervals.retain(|it| {
                    at += usize::from(own(it));
                    !(own(it) && (middle..middle + GAP).contains(&at))
                });
            }
            let file = self.kept.path().join(format!("{}.json", HOSTS[host]));
            std::fs::write(&file, serde_json::to_vec(&recording)?)?;
            files.push(file);
        }
        Ok(files)
    }
}

/// A stretch of time in which a host asks for much, from when recording begins.
#[derive(Clone, Copy)]
struct Burst {
    begin: Duration,
    length: Duration,
}

/// The bursts of each host.
fn bursts(case: &Case, recorded: Duration, draws: &mut Rng) -> [Vec<Burst>; 3] {
    let mut between =
        |(low, high): (f64, f64)| Duration::from_secs_f64(low + (high - low) * draws.unit());
    let mut first: Option<Vec<Burst>> = None;
    case.hosts.map(|asks| {
        if asks.bursts.is_none() {
            return Vec::new();
        }
        let mut drawn = Vec::new();
        let mut begin = between(PAUSE_S);
        loop {
            let length = between(BURST_S);
            if begin + length > recorded {
                break;
            }
            drawn.push(Burst { begin, length });
            begin += length + STARTS + between(PAUSE_S);
        }
        // Of hosts that burst together, all do what the first one does.
        first.get_or_insert(drawn).clone()
    })
}

/// The verdicts of the disk under all of them, the longest first.
fn verdicts(found: &SharedDiagnosis) -> Vec<(String, f64)> {
    let mut episodes: Vec<_> =
        found.whole.devices.iter().flat_map(|device| &device.episodes).collect();
    episodes.sort_by_key(|episode| std::cmp::Reverse(episode.duration_ns));
    episodes.iter().map(|it| (it.verdict.name(), it.duration_ns as f64 / 1e9)).collect()
}

/// Shares that are not those of the kernel's counters.
fn wrong_shares(found: &SharedDiagnosis, counted: &[[f64; 2]]) -> Vec<String> {
    let mut wrong = Vec::new();
    let [requests, bytes] = [0, 1].map(|at| counted.iter().map(|one| one[at]).sum::<f64>());
    for (name, one) in HOSTS.iter().zip(counted) {
        let Some(part) = found.hosts.iter().find(|it| it.host == *name) else {
            wrong.push(format!("{name} is missing"));
            continue;
        };
        for (what, share, truth) in [
            ("requests", part.request_share, one[0] / requests),
            ("bytes", part.byte_share, one[1] / bytes),
        ] {
            if (share - truth).abs() > SHARE_OFF {
                wrong.push(format!(
                    "{name} has {share:.3} of the {what}, and {truth:.3} were counted"
                ));
            }
        }
    }
    wrong
}

/// What is not as it was staged, in words.
fn wrong(case: &Case, found: &SharedDiagnosis, counted: &[[f64; 2]], smoke: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let gap = if case.gap { GAP as u64 } else { 0 };
    // Moved against the grid, a gap touches one interval more; a busy machine takes a sample too late.
    if found.left_out < gap || found.left_out > gap + 2 && !smoke {
        wrong.push(format!("{} intervals are left out, and {gap} are missing", found.left_out));
    }
    let all: f64 = found.hosts.iter().map(|it| it.request_share).sum();
    if (all - 1.0).abs() > 1e-6 {
        wrong.push(format!("the shares of requests add up to {all}"));
    }
    if smoke {
        return wrong;
    }
    let compared = (found.intervals - found.left_out) as f64 * INTERVAL.as_secs_f64();
    if compared >= COMPARED_MIN * RECORDED.as_secs_f64() {
        wrong.extend(wrong_shares(found, counted));
    }
    let named = found.filled_by.value().map(String::as_str);
    let fills = case.fills.map(|host| HOSTS[host]);
    if named != fills {
        let told = |name: Option<&str>| name.unwrap_or("nobody").to_owned();
        wrong.push(format!("{} is named, and {} fills it", told(named), told(fills)));
    }
    // Ahead of the host whose clock the others are put on.
    let reference =
        found.hosts.iter().find(|it| it.ahead_s.value().is_some_and(|it| it.half_width() == 0.0));
    let truth =
        |name: &str| HOSTS.iter().position(|it| *it == name).map_or(0.0, |at| case.ahead_s[at]);
    for host in &found.hosts {
        let apart_s = truth(&host.host) - reference.map_or(0.0, |it| truth(&it.host));
        match host.ahead_s.value() {
            Some(ahead) if !(ahead.low..=ahead.high).contains(&apart_s) => {
                wrong.push(format!(
                    "{} is {apart_s} s ahead, and {:.2} s were found",
                    host.host, ahead.value
                ));
            }
            None if apart_s != 0.0 => {
                wrong.push(format!("the clock of {} was not found", host.host));
            }
            _ => {}
        }
    }
    let found = verdicts(found);
    let is_right = |(name, _): &(String, f64)| case.verdicts.contains(&name.as_str());
    if !found.iter().any(is_right) {
        wrong.push(format!("the verdicts are {found:?}"));
    }
    wrong
}
