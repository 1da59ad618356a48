//! scratch
use experiment::*;
use model::*;
use record::*;
use simdisk::SimSpec;
use std::sync::atomic::AtomicBool;
use trial::*;
fn main() {
    let verbose = std::env::var("V").is_ok();
    for text in std::env::args().skip(1) {
        let start = std::time::Instant::now();
        let spec = SimSpec::parse(&text).unwrap();
        let area = Bytes(2 << 30).min(spec.size());
        let target = Target {
            path: format!("sim:{text}"),
            kind: TargetKind::Simulated,
            size_bytes: area,
            device: None,
            filesystem: None,
            extents: None,
        };
        let identity = || Identity {
            id: "x".into(),
            time: None,
            halfpower_version: "0".into(),
            targets: vec![target.clone()],
            environment: None,
            findings: vec![],
            scrubbed: None,
            preconditioning: None,
        };
        let stop = AtomicBool::new(false);
        let mut rig = SimRig::new(&spec, 1);
        let settings = CheckSettings {
            area,
            engine: EngineName::Sim,
            alignment: 1,
            budget: Nanos(1_000_000_000_000_000),
            write: true,
            full: false,
            target_rel: 0.05,
            seed: 1,
        };
        let mut plan = DiagnosisPlan::new(settings).unwrap();
        let mut trials = Vec::new();
        while let Some(p) = plan.next_trial() {
            let t = conduct(&mut rig, &p.workload, p.seed, identity(), &stop, &mut |_| ()).unwrap();
            plan.observe(&t, p.workload.ramp_ns.plus(p.workload.runtime_ns));
            trials.push(t);
        }
        let cells = aggregate(&trials, 0.05);
        if let Ok(path) = std::env::var("DUMP") {
            std::fs::write(
                format!("{path}/{}.json", text.replace([',', '='], "_")),
                serde_json::to_string(&cells).unwrap(),
            )
            .unwrap();
        }
        let ios: u64 = cells.iter().map(|c| c.ios).sum();
        let predictor = Predictor::of_cells(&cells);
        println!(
            "== {text}: {} cells, {} trials, {:.1} M requests, {:.1} s",
            cells.len(),
            trials.len(),
            ios as f64 / 1e6,
            start.elapsed().as_secs_f64()
        );
        for e in predictor.errors() {
            println!(
                "   held out {:16} {:6.1} %  loaded {:6.1} % ({})",
                e.model.name(),
                e.median_rel * 100.0,
                e.loaded_median_rel * 100.0,
                e.trials
            );
        }
        if verbose {
            for t in predictor.open_trials() {
                let m: Vec<String> = t
                    .mix
                    .classes
                    .iter()
                    .map(|c| format!("{:?}{:?}{}k:{:.2}", c.op, c.locality, c.bytes >> 10, c.share))
                    .collect();
                println!(
                    "   {:40} rho {:.2} meas {:9.0} cal {:+.1} % mix {:+.1} % p99 {:?}",
                    m.join(" "),
                    t.saturation,
                    t.response_ns / 1e3,
                    (t.ratio(ModelName::Calibrated).unwrap_or(0.0) - 1.0) * 100.0,
                    (t.ratio(ModelName::MixCapacity).unwrap_or(0.0) - 1.0) * 100.0,
                    t.p99_ratio.map(|r| ((r - 1.0) * 100.0).round())
                );
            }
        }
        let n = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
        let mut rig = SimRig::new(&spec, 2);
        let mut errs: Vec<(u64, Vec<f64>, f64, f64, f64)> = Vec::new();
        for (i, case) in validation_cases(7, n, true).into_iter().enumerate() {
            let mix = case.load.mix();
            let max = predictor.max_rate(&mix).unwrap().value;
            let rate = (max * case.percent as f64 / 100.0).round().max(1.0);
            let p: Vec<f64> = ModelName::ALL
                .iter()
                .map(|m| {
                    predictor
                        .predict_by(*m, &mix, Offered::PoissonPerS(rate))
                        .map_or(f64::NAN, |p| p.response_ns.value)
                })
                .collect();
            let mut run = |amount, requests: f64, rate: f64, seed| {
                let mut w = case.load.workload(amount, area, EngineName::Sim, 1).unwrap();
                w.runtime_ns = Nanos((requests / rate * 1e9) as u64);
                w.ramp_ns = Nanos(w.runtime_ns.0 / 10);
                conduct(&mut rig, &w, seed, identity(), &stop, &mut |_| ()).unwrap()
            };
            let mean = |t: &Trial| {
                let d: Vec<_> = t
                    .result
                    .read
                    .iter()
                    .chain(&t.result.write)
                    .filter_map(|d| Some((d.ios as f64, d.response_ns.as_ref()?.mean)))
                    .collect();
                d.iter().map(|(n, m)| n * m).sum::<f64>() / d.iter().map(|(n, _)| n).sum::<f64>()
            };
            let a = mean(&run(Amount::Poisson(rate as u64), 40000.0, rate, 1000 + i as u64));
            let b = mean(&run(Amount::Poisson(rate as u64), 40000.0, rate, 2000 + i as u64));
            let t = run(Amount::Depth(64), 8000.0, max, 3000 + i as u64);
            let x: f64 = t.result.read.iter().chain(&t.result.write).map(|d| d.iops).sum();
            let m = (a + b) / 2.0;
            if verbose {
                let c: Vec<String> = mix
                    .classes
                    .iter()
                    .map(|c| format!("{:?}{:?}{}k:{:.2}", c.op, c.locality, c.bytes >> 10, c.share))
                    .collect();
                println!(
                    "   {:3} % meas {:9.0} us rep {:4.1} % cal {:+6.1} % mix {:+6.1} %  max {:8.0} pred {:+.1} % {}",
                    case.percent,
                    m / 1e3,
                    (a - b).abs() / m * 100.0,
                    (p[5] / m - 1.0) * 100.0,
                    (p[4] / m - 1.0) * 100.0,
                    x,
                    (max / x - 1.0) * 100.0,
                    c.join(" ")
                );
            }
            errs.push((
                case.percent,
                p.iter().map(|p| (p / m - 1.0).abs()).collect(),
                (a - b).abs() / m,
                (max / x - 1.0).abs(),
                rate / x,
            ));
        }
        let med = |f: &dyn Fn(&(u64, Vec<f64>, f64, f64, f64)) -> f64, loaded: bool| {
            let mut v: Vec<f64> = errs
                .iter()
                .filter(|e| (e.4 >= 0.7) == loaded)
                .map(f)
                .filter(|v| v.is_finite())
                .collect();
            v.sort_by(f64::total_cmp);
            v.get(v.len() / 2).copied().unwrap_or(f64::NAN) * 100.0
        };
        for (k, m) in ModelName::ALL.iter().enumerate() {
            println!(
                "   {:18} <70 {:6.1} %  >=70 {:6.1} %",
                m.name(),
                med(&|e| e.1[k], false),
                med(&|e| e.1[k], true)
            );
        }
        println!(
            "   repeat <70 {:.1} % >=70 {:.1} %; max rate {:.1} / {:.1} %; {:.1} s; advised {:?}",
            med(&|e| e.2, false),
            med(&|e| e.2, true),
            med(&|e| e.3, false),
            med(&|e| e.3, true),
            start.elapsed().as_secs_f64(),
            predictor.advised()
        );
    }
}
