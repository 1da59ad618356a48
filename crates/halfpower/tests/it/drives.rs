//! Drives of extracted parameters against the real ones, request by request.

use crate::documents::check_schema;
use crate::program::{halfpower, halfpower_in, program, run};
use record::DriveTruth;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The demerits that the simulator has which the parameters were extracted for (its own figures for these
/// traces), and what is accepted here.
const DRIVES: [(&str, f64, f64); 4] = [
    ("atlas10k", 0.069, 0.030),
    ("cheetah9LP", 0.025, 0.035),
    ("ibm18es", 0.026, 0.020),
    ("hp_c2247a", 0.006, 0.012),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drives")
}

/// The document of a drive, its trace unpacked by gzip; `None` where that is not there.
fn held(name: &str) -> Option<DriveTruth> {
    let packed = std::fs::File::open(folder().join(format!("{name}.trace.gz"))).unwrap();
    let unpacked = Command::new("gzip").arg("-dc").stdin(packed).stdout(Stdio::piped()).spawn();
    let Ok(mut unpacked) = unpacked else {
        testkit::skip("drives", "no gzip on the path");
        return None;
    };
    let parameters = folder().join(format!("{name}.parv"));
    let mut command = program();
    command.arg("drive").arg(parameters).args(["-", "--json"]);
    command.stdin(unpacked.stdout.take().unwrap());
    let ended = run(command, "").expect(0);
    assert!(unpacked.wait().unwrap().success());
    check_schema("drive-1", &ended.stdout);
    Some(serde_json::from_str(&ended.stdout).unwrap())
}

#[test]
fn four_real_drives_are_met_from_their_parameters_alone() {
    for (name, _theirs, most) in DRIVES {
        let Some(truth) = held(name) else { return };
        assert!(truth.requests >= 9_999, "{truth:?}");
        assert!(truth.demerit <= most, "{name}: {}", truth.demerit);
        let row = |quantity: &str| {
            let row = truth.rows.iter().find(|row| row.of == "all" && row.quantity == quantity);
            row.map(|row| row.simulated / row.measured - 1.0).unwrap()
        };
        for quantity in ["latency_mean_ns", "latency_p90_ns", "latency_p99_ns"] {
            assert!(row(quantity).abs() < 0.05, "{name} {quantity}: {}", row(quantity));
        }
    }
}

#[test]
fn such_a_drive_is_a_target_like_any_other() {
    let parameters = folder().join("hp_c2247a.parv");
    let path = parameters.display();
    let words = format!("run sim:{path} --rw randread --bs 8k --runtime 60s --json --no-save");
    let trial = halfpower(&words).expect(0).trial();
    let read = trial.result.read.as_ref().unwrap();
    // 5.6 ms for half a turn, 11.8 for a seek over a third of the cylinders, 4.6 for 16 blocks of which three
    // quarters are there before the bus takes 170 us for each, 0.8 of overheads.
    assert!((42.0..48.0).contains(&read.iops), "{read:?}");
    let words = format!("run sim:{path} --rw read --bs 64k --runtime 20s --json --no-save");
    let ordered = halfpower(&words).expect(0).trial();
    // The bus has 170 us for a block: 3.0 MB/s.
    let rate = ordered.result.read.as_ref().unwrap().bytes_per_s;
    assert!((2.2e6..3.01e6).contains(&rate), "{rate}");
    assert_eq!(trial.targets[0].size_bytes.0, 2_054_864 * 512);
}

/// A copy of a drive's files with one of them changed.
fn changed(file: &str, from: &str, to: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder()).unwrap().flatten() {
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let path = copy.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    copy
}

#[test]
fn what_is_wrong_in_a_file_of_parameters_is_named_by_file_line_and_key() {
    let refuses = |copy: &TempDir, words: &[&str]| {
        halfpower_in(copy.path(), "run sim:hp_c2247a.parv --no-save").refuses(2, words);
    };
    let place = "hp_c2247a_validate.model:";
    let rpm = "Rotation speed (in rpms) = 5400";
    let copy = changed("hp_c2247a_validate.model", rpm, "Rotation speed (in rpms) = fast");
    refuses(&copy, &[place, "Rotation speed", "\"fast\"", "not a number"]);
    let copy = changed("hp_c2247a_validate.model", rpm, "");
    refuses(&copy, &["dm_mech_g1 has no \"Rotation speed (in rpms)\""]);
    let copy =
        changed("hp_c2247a_validate.model", "Block count = 2054864", "Block count = 9054864");
    refuses(&copy, &[place, "Block count", "the zones hold 2130576"]);
    let copy = changed("hp_c2247a_validate.model", "Seek type = hplplus10", "Seek type = magic");
    refuses(&copy, &["\"magic\"", "extracted, hpl, hplplus10, curve, linear"]);
    let copy =
        changed("hp_c2247a.diskspecs", "source hp_c2247a_validate.model", "source gone.model");
    refuses(&copy, &["hp_c2247a.diskspecs:2", "gone.model", "No such file"]);
    let copy = changed("hp_c2247a.diskspecs", "Fast write level = 0", "Fast write level = 7");
    refuses(&copy, &["Fast write level", "is 7", "0 to 2"]);
    let copy = tempfile::tempdir().unwrap();
    std::fs::write(copy.path().join("empty.parv"), "# nothing\n").unwrap();
    halfpower_in(copy.path(), "run sim:empty.parv --no-save").refuses(2, &["describes no drive"]);
    halfpower_in(copy.path(), "run sim:gone.parv --no-save")
        .refuses(2, &["gone.parv", "No such file"]);
    std::fs::write(copy.path().join("bad.trace"), "R Hit 5 4 660.0 1.0\nR Hit x 4 660.0 1.0\n")
        .unwrap();
    let words = format!("drive {} bad.trace", folder().join("hp_c2247a.parv").display());
    halfpower_in(copy.path(), &words)
        .refuses(2, &["bad.trace", "line 2", "the first block is not a number"]);
    halfpower_in(copy.path(), "drive sim:mm1 bad.trace").expect(2);
}
