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
    /// Commands whose JSON output is saved under a name, in order. `@NAME` is the file of an earlier command,
    /// `#NAME` the id of the document in it, and `$` the repository.
    documents: &'static [(&'static str, &'static str)],
    /// The command that writes the page to `@page`.
    page: &'static str,
    /// Whether the short form checks it.
    pub(super) short: bool,
    /// Path below the root of a picture of the page for the documentation.
    pub(super) picture: Option<&'static str>,
}

const DISK: &str = "sim:st34371w";

pub(super) const KINDS: [Kind; 18] = [
    Kind {
        name: "readme",
        documents: &[("drive", "check sim:nvme-ssd,plp=on")],
        page: "report @drive -o @page",
        short: true,
        picture: Some("docs/check-page.png"),
    },
    Kind {
        name: "trial",
        documents: &[("trial", "run DISK --iodepth 4 --runtime 5s")],
        page: "report @trial -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "jobs",
        documents: &[(
            "jobs",
            "run DISK --rw randrw --rwmixread 70 --iodepth 4 --numjobs 3 --runtime 5s --seed 2",
        )],
        page: "report @jobs -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "trials",
        documents: &[
            ("qd1", "run DISK --rw randread --iodepth 1 --runtime 5s"),
            ("qd2", "run DISK --rw randread --iodepth 2 --runtime 5s"),
            ("qd8", "run DISK --rw randread --iodepth 8 --runtime 5s"),
        ],
        page: "report @qd1 @qd2 @qd8 -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "profile",
        documents: &[("profile", "check DISK --seed 1")],
        page: "report @profile -o @page",
        short: true,
        picture: None,
    },
    Kind {
        name: "riedel",
        documents: &[("riedel", "sweep riedel DISK --size 64m --seed 1")],
        page: "report @riedel -o @page",
        short: true,
        picture: None,
    },
    Kind {
        name: "chung",
        documents: &[("chung", "sweep chung DISK --size 64m --runtime 500ms --seed 1")],
        page: "report @chung -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "modes",
        documents: &[("modes", "sweep modes DISK --size 64m --runtime 500ms --seed 1")],
        page: "report @modes -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "comparison",
        documents: &[
            ("before", "check DISK --seed 1"),
            ("after", "check DISK,disks=2,raid=0 --seed 1"),
            ("comparison", "compare @before @after"),
        ],
        page: "report @comparison -o @page",
        short: true,
        picture: None,
    },
    Kind {
        name: "diagnosis",
        documents: &[
            ("usual", "check sim:mmc,servers=8,service=1ms --budget 20s --seed 1"),
            (
                "diagnosis",
                "diagnose sim:mmc,servers=8,service=1ms --for 30s --seed 1 --profile #usual \
                 --load rw=randread_rate-iops=7600_arrival=poisson \
                 --load rw=write_bs=64k_rate-iops=500_from=10s_for=10s",
            ),
        ],
        page: "report @diagnosis -o @page",
        short: true,
        picture: None,
    },
    Kind {
        name: "limits",
        documents: &[("limits", "limits sim:fireball,disks=4 --seed 1")],
        page: "report @limits -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "zones",
        documents: &[("zones", "zones sim:st15150w --seed 1")],
        page: "report @zones -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "observation",
        documents: &[("observation", "record $/crates/import/tests/samples/iostat.json")],
        page: "report @observation -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "whatif",
        documents: &[
            ("measured", "check DISK --seed 1"),
            (
                "whatif",
                "predict #measured --rate-iops 60 --faster 30 --disks 4 --raid 0 --cache-hit 20 --simulate",
            ),
        ],
        page: "report @whatif -o @page",
        short: true,
        picture: None,
    },
    Kind {
        name: "prediction",
        documents: &[
            ("measured", "check DISK --seed 1"),
            ("prediction", "predict #measured --rate-iops 60 --slo p99=100ms"),
        ],
        page: "report @prediction -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "validation",
        documents: &[
            ("measured", "check DISK --seed 1"),
            ("validation", "show validate #measured --trials 6 --seed 1"),
        ],
        page: "report @validation -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "settings",
        documents: &[
            ("measured", "check sim:nvme-ssd --seed 1"),
            ("settings", "advise --for postgresql #measured"),
        ],
        page: "report @settings -o @page",
        short: false,
        picture: None,
    },
    Kind {
        name: "papers",
        documents: &[],
        page: "papers --only riedel --html @page",
        short: false,
        picture: None,
    },
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
        self.run(&kind.page.replace("@page", &page.display().to_string()), false)?;
        ensure!(page.is_file(), "halfpower {} wrote no page", kind.page);
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
        let output = command.current_dir(self.folder).stdin(Stdio::null()).output()?;
        let done = matches!(output.status.code(), Some(0 | 1));
        ensure!(done, "halfpower {words}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn id(&self, name: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.document(name))?;
        let document: serde_json::Value = serde_json::from_str(&text)?;
        Ok(document["id"].as_str().context("a document without an id")?.to_owned())
    }
}
