//! Provides sample answers: a diagnosis, an effect of a change, a prediction and settings.

use record::{
    Change, Diagnosis, Estimate, LoadState, Locality, Measured, Mix, Offered, OpKind,
    PredictedPoint, PredictionDocument, Setting, Settings, WhatIf, WhatIfCase,
};
use serde_json::json;

/// A diagnosis of two devices, one of them slow.
pub fn diagnosis() -> Diagnosis {
    let numbers = json!({
        "requests": 900.0, "iops": 30.0, "read_share": 0.5, "bytes_per_s": 1.2e5,
        "request_bytes": 4096.0, "latency_ns": 2.2e7, "read_latency_ns": null,
        "write_latency_ns": null, "concurrency": 0.66, "utilization": 0.6,
    });
    let episode = |verdict: &str, alternatives: serde_json::Value| {
        json!({
            "begin_ns": 0, "duration_ns": 30_000_000_000_u64, "intervals": 30,
            "share_of_time": 1.0, "activity": "quiet", "verdict": verdict,
            "confidence": "likely", "probability": 0.8, "claim": format!("The claim of {verdict}."), "evidence": [],
            "alternatives": alternatives,
            "causes": [{"code": "service_slower", "claim": "The cause.", "evidence": []}],
            "operations": [],
            "numbers": numbers, "response_ci95_rel": null, "utilization_law": null,
            "calibrated": null,
            "misleading": {"disk_time_percent": 66.0, "queue_length": null, "svctm_ns": null,
                "iostat_busy_percent": 60.0},
            "extrapolated": ["An assumption."],
        })
    };
    let device = |name: &str, worst: Option<u32>, episode: serde_json::Value| {
        json!({
            "device": name, "model": "M", "profile": {"not_measured": "nothing fits"},
            "duration_ns": 30_000_000_000_u64,
            "shares": [{"verdict": episode["verdict"], "share_of_time": 1.0}],
            "episodes": [episode], "worst": worst, "hit_share": {"not_measured": "no reads"},
            "splits_compared": "They agree.",
            "notes": [{"code": "steal", "claim": "A note.", "evidence": []}],
            "advice": [{
                "strategy": "restore", "action": "Look at the log.", "cause": "service_slower",
                "episode": 0, "effect": {"not_measured": "no model"}, "gain": null,
                "assumes": "A.", "cost": "B.", "how_to_check": "C.", "change": null,
            }],
            "series": [],
        })
    };
    let other = json!([
        {"verdict": "overloaded", "doubt": "near_slow", "probability": 0.2, "because": "The queue.", "decided_by": "A longer look."}
    ]);
    serde_json::from_value(json!({
        "schema": "halfpower/diagnosis/1", "halfpower_version": "0", "id": "d1", "time": null,
        "observation_id": "o1", "source": "procfs", "host": "h",
        "devices": [
            device("sda", None, episode("healthy", json!([]))),
            device("sdb", Some(0), episode("slow", other)),
        ],
        "left_out": ["loop0: nothing is on it"], "findings": [],
    }))
    .unwrap()
}

fn mix() -> Mix {
    Mix::one(OpKind::Read, Locality::Random, 4096)
}

/// A load with a latency of 20 ms. Without half of the load it would be 8 ms. The effect of a
/// faster disk is unknown.
pub fn whatif() -> WhatIf {
    let state = |latency: f64, saturation: f64| {
        let rate = Estimate::symmetric(100.0, 5.0, 3);
        LoadState {
            mix: mix(),
            offered: Offered::PoissonPerS(100.0),
            latency_ns: Estimate::within_ratio(latency, 0.1),
            iops: rate,
            max_iops: rate.scaled(saturation.recip()),
            saturation,
            concurrency: 2.0,
        }
    };
    let case = |changes: Vec<Change>, after, ratio| WhatIfCase {
        changes,
        after,
        latency_ratio: ratio,
        assumes: vec!["the other disk <2> is idle".to_owned()],
        cost: vec!["moving".to_owned()],
        how_to_check: vec!["run `halfpower check` there".to_owned()],
        evidence: Vec::new(),
    };
    let half = Change::Without { share: 0.5, process: None };
    let ratio = Estimate::within_ratio(0.4, 0.05);
    WhatIf {
        target: Some("/dev/sdz".to_owned()),
        before: Some(state(2e7, 0.8)),
        cases: vec![
            case(vec![half], Measured::Value(state(8e6, 0.4)), Some(ratio)),
            case(vec![Change::Faster(0.3)], Measured::not("no profile"), None),
        ],
        ..WhatIf::default()
    }
}

/// A prediction for sessions from a document of commits, without any model's answer.
pub fn prediction() -> PredictionDocument {
    let point = |at: f64| PredictedPoint {
        at,
        latency_ns: Estimate::within_ratio(1e6 * at, 0.1),
        p99_ns: None,
        per_s: Estimate::symmetric(at, 0.0, 1),
    };
    PredictionDocument {
        target: Some("/dev/sdz".to_owned()),
        mix: mix(),
        offered: Some(Offered::Depth(4.0)),
        curve: [1.0, 2.0, 4.0, 8.0].map(point).to_vec(),
        ..PredictionDocument::default()
    }
}

pub fn advice() -> Settings {
    let setting = |name: &str, value: Measured<String>| Setting {
        name: name.to_owned(),
        value,
        derivation: "from `a` & b".to_owned(),
        lines: vec![format!("{name} = 3")],
    };
    Settings {
        schema: String::new(),
        halfpower_version: "0".to_owned(),
        program: "postgresql".to_owned(),
        place: "postgresql.conf".to_owned(),
        profile_id: "p1".to_owned(),
        target: "/dev/sdz".to_owned(),
        profile_time: None,
        simulated: false,
        head: Vec::new(),
        settings: vec![
            setting("random_page_cost", Measured::Value("3".to_owned())),
            setting("commit_delay", Measured::not("no commits")),
        ],
    }
}
