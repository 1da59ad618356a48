//! Tests the presets about a real machine: each finds its effect on a device in which the effect is planted,
//! and not on one without it.
//!
//! The planted effects are large and caused by the kernel (a loop device, the page cache), so a busy machine
//! changes figures but no verdict. The tests use devices that they create themselves.

use crate::program::{halfpower, program_under, run};
use crate::sweep_presets::swept;
use record::{
    CacheMode, EffectMeasure, Experiment, ExperimentCell, ExperimentEffect, Finding, FindingCode,
};
use std::path::Path;
use testkit::{LoopDevice, Mounted, Zram, disk_folder, requires};

/// The only cell with these levels (`axis level axis level …`).
#[track_caller]
fn cell<'a>(experiment: &'a Experiment, at: &str) -> &'a ExperimentCell {
    let words: Vec<&str> = at.split_whitespace().collect();
    let matches = |cell: &&ExperimentCell| {
        words.chunks(2).all(|pair| cell.levels.get(pair[0]).is_some_and(|level| level == pair[1]))
    };
    let found: Vec<&ExperimentCell> = experiment.cells.iter().filter(matches).collect();
    assert_eq!(found.len(), 1, "{at}: {:#?}", experiment.cells);
    found[0]
}

#[track_caller]
fn extra(experiment: &Experiment, at: &str, name: &str) -> f64 {
    let cell = cell(experiment, at);
    cell.extras.get(name).unwrap_or_else(|| panic!("no {name}: {cell:#?}")).value
}

/// An experiment whose program always gets a CPU immediately, regardless of other load on the machine.
#[track_caller]
fn undisturbed(words: &str) -> Experiment {
    let words = format!("sweep {words} --json --no-save");
    let ended = run(program_under("chrt --fifo 1"), &words).expect(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

fn of_code(experiment: &Experiment, code: FindingCode) -> Option<&Finding> {
    experiment.findings.iter().find(|finding| finding.code == code)
}

fn number(finding: &Finding, what: &str) -> f64 {
    finding.evidence.iter().find(|evidence| evidence.what == what).unwrap().value
}

#[test]
fn layers_finds_what_a_loop_device_takes_over_and_nothing_between_two_equal_disks() {
    requires!(Root, Loop, Zram);
    const SIZE: u64 = 32 << 20;
    let (bare, other) = (Zram::new(SIZE).unwrap(), Zram::new(SIZE).unwrap());
    let layered = LoopDevice::over(bare.path(), &[]).unwrap();
    // CPU time, because the wait for the loop device's threads depends on other load.
    let cost = |second: &Path| {
        let pair = undisturbed(&format!(
            "layers {} {} --size 32m --runtime 60s --set io-size=256m --set until-precision= \
             --set rw=randread --set bs=256k --set iodepth=1 --blocks 8",
            bare.path().display(),
            second.display()
        ));
        let asked = |effect: &&ExperimentEffect| {
            effect.level == "layered" && effect.measure == EffectMeasure::Cpu
        };
        pair.effects.iter().find(asked).cloned().unwrap()
    };
    // zram fills the 64 pages within the call. With the loop device, a kernel thread does so, and the call
    // costs only one sleep and one wake-up: less, by the whole interval. For a single page the two are about
    // equal, and which one costs more depends on the CPU.
    let loops = cost(layered.path());
    assert!(loops.found == Some(true) && loops.ratio.high < 1.0, "{loops:?}");
    let equal = cost(other.path());
    // Tested by its interval: in parallel with other tests, the ratio of eight blocks was 1.25 (0.83 to
    // 1.89).
    assert!(equal.ratio.low < 1.25 && equal.ratio.high > 0.8, "{equal:?}");
    let alike = (0.9..1.1).contains(&equal.ratio.value);
    assert!(equal.found != Some(true) || alike, "{equal:?}");
}

#[test]
fn layers_has_a_striper_of_its_own_over_two_files_of_a_directory_and_not_over_a_file() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = |target: &Path| {
        format!(
            "sweep layers {} --size 4m --runtime 60s --set io-size=1m --set until-precision= --set bs=64k \
             --set iodepth=1 --blocks 1 --json --no-save",
            target.display()
        )
    };
    let ended = halfpower(&words(folder.path())).expect(0);
    assert!(ended.stderr.contains("it needs 2 targets, but only 1 is named; name 2"), "{ended:?}");
    let own: Experiment = serde_json::from_str(&ended.stdout).unwrap();
    let striped = own.plan.iter().find(|planned| planned.levels["layer"] == "striper").unwrap();
    assert_eq!((striped.workload.stripe_bytes.unwrap().0, striped.workload.targets), (65_536, 2));
    assert_eq!(own.cells.len(), 4, "bare and striper, read and randread");
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7; 4 << 20]).unwrap();
    let ended = halfpower(&words(&file)).expect(0);
    assert!(ended.stderr.contains("it uses one target twice"), "{ended:?}");
}

#[test]
fn blocks_that_were_never_written_are_read_and_are_zeros() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = "--size 4m --set bs=64k --set iodepth=1 --blocks 1";
    let states = swept(&format!("extend {} {words}", folder.path().display()));
    let read = |file: &str| {
        cell(&states, &format!("file {file}")).extras.get("holes_read_as_zero").map(|ok| ok.value)
    };
    assert_eq!((read("preallocated"), read("last-first")), (Some(1.0), Some(1.0)));
    assert_eq!((read("written"), read("append")), (None, None), "they have no such blocks");
    // A write anywhere but at the end of an empty file would leave a hole before it.
    for planned in &states.plan {
        let at_end = planned.levels["file"] == "append";
        assert_eq!(planned.workload.from_start, at_end, "{planned:?}");
    }
}

#[test]
fn engines_leaves_the_mapping_out_which_reads_through_the_page_cache() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = format!(
        "sweep engines {} --size 4m --runtime 60s --set io-size=1m --set until-precision= --blocks 1 --json --no-save",
        folder.path().display()
    );
    let ended = halfpower(&words).expect(0);
    let said = "skipped: 1 combination (way mmap, 8 jobs): mmap uses the page cache";
    assert!(ended.stderr.contains(said), "{ended:?}");
    let engines: Experiment = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(engines.cells.len(), 7);
    assert!(engines.plan.iter().all(|planned| planned.workload.cache == CacheMode::Device));
}

#[test]
fn modes_has_the_flush_outside_and_inside_the_time_and_says_what_a_crash_could_lose() {
    requires!(Root, Mount, Disk);
    let folder = disk_folder().unwrap();
    let memory = Mounted::tmpfs(4 << 30).unwrap();
    let modes = |target: &Path, levels: &str| {
        swept(&format!(
            "modes {} --size 32m --runtime 200ms --set rw=write --set bs=64k --set cache={levels}",
            target.display()
        ))
    };
    let disk = modes(folder.path(), "all,device,fdatasync,none");
    let share = |experiment: &Experiment, mode: &str| {
        let at = format!("cache {mode}");
        extra(experiment, &at, "flushed_bytes_per_s") / cell(experiment, &at).bytes_per_s.value
    };
    assert!(share(&disk, "all") < 0.97, "{:#?}", disk.cells);
    assert!(extra(&disk, "cache fdatasync", "flush_ms") > 0.0);
    assert!(!cell(&disk, "cache device").extras.contains_key("flush_ms"), "nothing flushes it");
    assert!(extra(&disk, "cache all", "flush_ms") > 1.0);
    let flushed: Vec<&str> = disk
        .effects
        .iter()
        .filter(|effect| effect.base == "none")
        .map(|effect| effect.level.as_str())
        .collect();
    assert_eq!(flushed, ["all", "fdatasync"], "what is not durable is not held against what is");
    let loss = of_code(&disk, FindingCode::CrashLoss).unwrap();
    assert!(loss.claim.contains("all: the contents of the page cache"), "{loss:?}");
    assert!(loss.claim.contains("none: nothing"), "{loss:?}");
    // In memory there is nothing to flush to.
    assert!(share(&modes(memory.path(), "all,none"), "all") > 0.97);
    // If no mode is durable, there is no choice.
    let no_choice = modes(folder.path(), "all,device");
    assert_eq!(of_code(&no_choice, FindingCode::CrashLoss), None);
}

#[test]
fn align_says_the_allocation_unit_and_what_files_lose_by_rounding_to_it() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = format!(
        "align {} --size 4m --runtime 60s --set io-size=1m --set until-precision= --set bs=64k --set rw=randread \
         --blocks 1",
        folder.path().display()
    );
    let told =
        || -> Finding { of_code(&swept(&words), FindingCode::RoundingLoss).cloned().unwrap() };
    let none = told();
    assert!(none.claim.contains("no file below"), "{none:?}");
    let unit = number(&none, "allocation unit");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/whole"), vec![1; 2 * unit as usize]).unwrap();
    let whole = told();
    assert_eq!((number(&whole, "files"), number(&whole, "lost at that unit")), (1.0, 0.0));
    std::fs::write(folder.path().join("small"), [1]).unwrap();
    let small = told();
    let lost = number(&small, "lost at that unit");
    assert!((lost - (unit - 1.0) / (3.0 * unit)).abs() < 1e-9, "{small:?}");
    let lost = number(&small, "lost at 64 KiB");
    assert!((lost - (1.0 - (2.0 * unit + 1.0) / (2.0 * 65_536.0))).abs() < 1e-9, "{small:?}");
    // A design about something else does not check file sizes.
    let other = swept(&format!(
        "friedman {} --size 4m --runtime 60s --set io-size=1m --set until-precision= --set bs=4k --blocks 1",
        folder.path().display()
    ));
    assert_eq!(of_code(&other, FindingCode::RoundingLoss), None);
}
