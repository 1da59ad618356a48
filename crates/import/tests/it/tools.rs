//! Files that the real tools write on this machine.

use import::{Format, Options, detect, read};
use record::{FindingCode, Observation};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testkit::{SADC, requires};

/// The output of a program.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

fn iostat(words: &str) -> Command {
    let mut command = Command::new("iostat");
    command.args(["-o", "JSON"]).args(words.split_whitespace()).env("S_TIME_FORMAT", "ISO");
    command
}

#[track_caller]
fn observation(bytes: &[u8], format: Format) -> Observation {
    assert_eq!(detect(bytes), Ok(format), "{}", String::from_utf8_lossy(bytes));
    let mut read = read(&[bytes], None, &Options::default()).unwrap();
    assert_eq!(read.len(), 1);
    read.remove(0)
}

fn has(observation: &Observation, code: FindingCode) -> bool {
    observation.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn every_form_of_the_real_iostat_is_read() {
    requires!(Sysstat);
    let forms = ["-x -t 1 3", "-x -t -k 1 3", "-x -t -m 1 3", "-x -t -s 1 3", "-d -t 1 3"];
    // All at the same time, because each waits for seconds.
    let running = forms.map(|words| std::thread::spawn(move || output(&mut iostat(words))));
    for (words, running) in forms.into_iter().zip(running) {
        let read = observation(&running.join().unwrap(), Format::Iostat);
        let first = read.devices[0].name.clone();
        let intervals: Vec<_> = read.intervals.iter().filter(|it| it.device == first).collect();
        assert!(intervals.len() >= 2, "{words}: {} intervals", intervals.len());
        assert!(intervals.iter().all(|it| it.all.per_s.is_some()), "{words}: {intervals:?}");
        assert!(intervals.iter().all(|it| it.all.bytes_per_s.is_some()), "{words}");
        assert!(!has(&read, FindingCode::SourceDamaged), "{words}: {:?}", read.findings);
        assert!(!has(&read, FindingCode::TimesAssumed), "{words}: {:?}", read.findings);
        let timed = !words.starts_with("-d");
        let times = intervals.iter().all(|it| it.concurrency.is_some() && it.busy_share.is_some());
        assert_eq!(times, timed, "{words}: {intervals:?}");
    }
}

#[test]
fn an_iostat_that_is_killed_leaves_a_file_that_is_read() {
    requires!(Sysstat);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("iostat.json");
    let file = std::fs::File::create(&path).unwrap();
    let child = iostat("-x -t 1").stdout(Stdio::from(file)).spawn().unwrap();
    let mut child = Killed(child);
    let enough = |text: &str| text.matches("\"timestamp\"").count() >= 4;
    while !enough(&std::fs::read_to_string(&path).unwrap_or_default()) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.0.kill().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_err(), "it was not cut");
    let read = observation(&bytes, Format::Iostat);
    assert!(has(&read, FindingCode::SourceDamaged), "{:?}", read.findings);
    assert!(read.intervals.len() >= 2 * read.devices.len());
}

/// A child process that is killed at the end of the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_sar_collected_is_the_same_as_json_and_as_lines() {
    requires!(Sysstat);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sa");
    output(Command::new(SADC).args(["-S", "DISK", "1", "4"]).arg(&file));
    let sadf = |words: &str| {
        let (before, after) = words.split_once(" FILE ").unwrap();
        let mut command = Command::new("sadf");
        command.args(before.split_whitespace()).arg(&file).args(after.split_whitespace());
        output(&mut command)
    };
    let json = observation(&sadf("-j FILE -- -d"), Format::SadfJson);
    assert!(json.intervals.len() >= 2 * json.devices.len(), "{json:?}");
    assert!(!has(&json, FindingCode::SourceDamaged), "{:?}", json.findings);
    for words in ["-d FILE -- -d", "-d -U FILE -- -d", "-dh FILE -- -d"] {
        let lines = observation(&sadf(words), Format::SadfLines);
        assert_eq!(lines.host, json.host, "{words}");
        let as_json: Vec<_> = lines.intervals.iter().zip(&json.intervals).collect();
        assert_eq!(lines.intervals.len(), json.intervals.len(), "{words}");
        assert!(as_json.iter().all(|(one, other)| one == other), "{words}: {as_json:?}");
    }
    for (words, format) in
        [("-p FILE -- -d", Format::SadfPairs), ("-x FILE -- -d", Format::SadfXml)]
    {
        let other = observation(&sadf(words), format);
        assert_eq!(other.intervals, json.intervals, "{words}");
    }
    let mut sar = Command::new("sar");
    let table = observation(
        &output(sar.args(["-d", "-f"]).arg(&file).env("S_TIME_FORMAT", "ISO")),
        Format::Sar,
    );
    let figures = |of: &Observation| -> Vec<_> {
        of.intervals.iter().map(|it| (it.device.clone(), it.all, it.read, it.concurrency)).collect()
    };
    assert_eq!(figures(&table), figures(&json));
    let everything = observation(&sadf("-j FILE -- -A"), Format::SadfJson);
    assert!(everything.contexts.iter().all(|it| it.idle_share.is_some()), "{everything:?}");
    assert!(everything.contexts.iter().all(|it| it.memory_available_bytes.is_some()));
}

#[test]
fn the_only_report_of_an_iostat_without_averages_since_boot_is_used() {
    requires!(Sysstat);
    let bytes = output(&mut iostat("-x -t -y 1 1"));
    let options = Options { interval_ns: Some(1_000_000_000), ..Options::default() };
    let found = read(&[&bytes], None, &options).unwrap().remove(0);
    assert!(!has(&found, FindingCode::IntervalsLeftOut), "{:?}", found.findings);
}
