//! One page of every kind, made by the program itself on simulated devices.
//!
//! A simulated trial takes no real time and has the same result on every machine, so a page changes only if
//! the program does. Some kinds have several pages, if they look different (a design whose depths form
//! curves, one without a numeric axis).

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kind of page.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Whether the short form checks it.
    pub(super) short: bool,
    /// Commands whose JSON output is saved under a name, in order. `@NAME` is the file of an earlier command,
    /// `#NAME` the id of the document in it, and `$` the repository. The page is a report of the last one.
    documents: &'static [(&'static str, &'static str)],
    /// The command that makes the page instead, if any.
    page: Option<&'static str>,
}

/// The kind whose page is the picture of the README, and the path of the picture below the root.
pub(super) const PICTURED: (&str, &str) = ("readme", "docs/check-page.png");

const DISK: &str = "sim:st34371w";
const MEASURED: (&str, &str) = ("measured", "check DISK --seed 1");

/// A kind that the short form does not check.
const fn long(name: &'static str, documents: &'static [(&'static str, &'static str)]) -> Kind {
    Kind { name, short: false, documents, page: None }
}

/// A kind that the short form checks.
const fn short(name: &'static str, documents: &'static [(&'static str, &'static str)]) -> Kind {
    Kind { short: true, ..long(name, documents) }
}

pub(super) const KINDS: [Kind; 18] = [
    short("readme", &[("drive", "check sim:nvme-ssd,plp=on")]),
    long("trial", &[("trial", "run DISK --iodepth 4 --runtime 5s")]),
    long(
        "jobs",
        &[(
            "jobs",
            "run DISK --rw randrw --rwmixread 70 --iodepth 4 --numjobs 3 --runtime 5s --seed 2",
        )],
    ),
    Kind {
        page: Some("report @qd1 @qd2 @qd8"),
        ..long(
            "trials",
            &[
                ("qd1", "run DISK --rw randread --iodepth 1 --runtime 5s"),
                ("qd2", "run DISK --rw randread --iodepth 2 --runtime 5s"),
                ("qd8", "run DISK --rw randread --iodepth 8 --runtime 5s"),
            ],
        )
    },
    short("profile", &[("profile", "check DISK --seed 1")]),
    short("riedel", &[("riedel", "sweep riedel DISK --size 64m --seed 1")]),
    long("chung", &[("chung", "sweep chung DISK --size 64m --runtime 500ms --seed 1")]),
    long("modes", &[("modes", "sweep modes DISK --size 64m --runtime 500ms --seed 1")]),
    short(
        "comparison",
        &[
            ("before", "check DISK --seed 1"),
            ("after", "check DISK,disks=2,raid=0 --seed 1"),
            ("comparison", "compare @before @after"),
        ],
    ),
    short(
        "diagnosis",
        &[
            ("usual", "check sim:mmc,servers=8,service=1ms --budget 20s --seed 1"),
            (
                "diagnosis",
                "diagnose sim:mmc,servers=8,service=1ms --for 30s --seed 1 --profile #usual \
                 --load rw=randread_rate-iops=7600_arrival=poisson \
                 --load rw=write_bs=64k_rate-iops=500_from=10s_for=10s",
            ),
        ],
    ),
    long("limits", &[("limits", "limits sim:fireball,disks=4 --seed 1")]),
    long("zones", &[("zones", "zones sim:st15150w --seed 1")]),
    long("observation", &[("observation", "record $/crates/import/tests/samples/iostat.json")]),
    short(
        "whatif",
        &[
            MEASURED,
            (
                "whatif",
                "predict #measured --rate-iops 60 --faster 30 --disks 4 --raid 0 --cache-hit 20",
            ),
        ],
    ),
    long(
        "prediction",
        &[MEASURED, ("prediction", "predict #measured --rate-iops 60 --slo p99=100ms")],
    ),
    long("validation", &[MEASURED, ("validation", "show validate #measured --trials 6 --seed 1")]),
    long(
        "settings",
        &[
            ("measured", "check sim:nvme-ssd --seed 1"),
            ("settings", "advise --for postgresql #measured"),
        ],
    ),
    Kind { page: Some("papers --only riedel --html"), ..long("papers", &[]) },
];

/// Makes pages in a folder.
pub(super) struct Maker<'a> {
    pub(super) binary: PathBuf,
    pub(super) folder: &'a Path,
    pub(super) root: PathBuf,
}

impl Maker<'_> {
    /// Makes a page and returns its path.
    pub(super) fn make(&self, kind: &Kind) -> Result<PathBuf> {
        for (name, words) in kind.documents {
            let said = self.run(words, true).with_context(|| format!("halfpower {words}"))?;
            std::fs::write(self.document(name), said)?;
        }
        let page = self.folder.join(format!("{}.html", kind.name));
        let (last, _) = kind.documents.last().copied().unwrap_or_default();
        let report = || format!("report @{last}");
        let words = kind.page.map_or_else(report, str::to_owned);
        let flag = if words.starts_with("report") { " -o" } else { "" };
        self.run(&format!("{words}{flag} {}", page.display()), false)?;
        ensure!(page.is_file(), "halfpower {words} wrote no page");
        Ok(page)
    }

    fn document(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Runs the program and returns its output. Exit code 1 is accepted: the result is complete but not
    /// clean.
    fn run(&self, words: &str, json: bool) -> Result<String> {
        let mut command = Command::new(&self.binary);
        for word in words.split_whitespace() {
            let word = word.replace("DISK", DISK);
            let word = word.replace('$', &self.root.display().to_string());
            command.arg(match (word.strip_prefix('@'), word.strip_prefix('#')) {
                // Pages print the names of compared files, so these must not contain this run's folder.
                (Some(name), _) => format!("{name}.json"),
                (_, Some(name)) => self.id(name)?,
                // One value with several words.
                _ if word.starts_with("rw=") => word.replace('_', " "),
                _ => word,
            });
        }
        command.args(json.then_some("--json")).env("HALFPOWER_DB", self.folder.join("kept.db"));
        crate::child::text(command.current_dir(self.folder).stdin(Stdio::null()), &[0, 1])
    }

    fn id(&self, name: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.document(name))?;
        let document: serde_json::Value = serde_json::from_str(&text)?;
        Ok(document["id"].as_str().context("a document without an id")?.to_owned())
    }
}
