//! `halfpower report`: a page, drawings, a summary and tables of what is kept.
//!
//! Documents are named by their ids in the database or by files; everything that can be wrong with
//! the places of the results is found before anything is read. The page is the default, because it
//! holds all of it. Rejected: overwriting whatever is there (a slip of the shell's completion would
//! cost a file); opening a browser (there is none on a server).

mod drawings;
mod find;
mod png;

use crate::failure::UsageError;
use crate::output::{self, InUse, Kind, OutputFile, Verdict};
use crate::store_args::StoreArgs;
use crate::trace::TraceFile;
use clap::Args;
use drawings::Drawings;
use record::Trial;
use report::{Saved, Story};
use serde_json::{Value, json};
use session::VERSION;
use std::path::PathBuf;

/// The page where nothing else is asked for.
const DEFAULT_PAGE: &str = "report.html";

/// `halfpower report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower report last                     the newest profile or experiment, as report.html\n  \
    halfpower report 0197f3 -o disk.html      a document by the beginning of its id\n  \
    halfpower report trial.json profile.json --md   a summary to paste into a ticket\n  \
    halfpower report last --kind profile --svg plots")]
pub(crate) struct ReportArgs {
    /// Ids of documents or their beginnings, "last", or JSON files of documents.
    #[arg(required = true, value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// The page: one file, needs no network [default: report.html, if nothing else is asked for].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only documents of this kind: trial, profile, experiment, limits, zones, observation,
    /// diagnosis.
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
    kind: Option<find::DocumentKind>,
    /// Write each plot as SVG to this folder.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write each plot as PNG to this folder, beside its SVG; only in a build with `--features png`.
    #[arg(long, value_name = "DIR", conflicts_with = "svg")]
    png: Option<PathBuf>,
    /// Print a summary in Markdown, to paste into a ticket.
    #[arg(long, conflicts_with = "json")]
    md: bool,
    /// Write every value of every plot to a CSV file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Append a line per trial to a trace (CSV of 14 fields, as `run --trace`).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The comment of these lines.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Print what was found and written as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// Finds the documents and writes what is asked for.
pub(crate) fn report(arguments: &ReportArgs) -> anyhow::Result<Verdict> {
    let places = Places::open(arguments)?;
    let kept = find::documents(&arguments.what, arguments.kind, &arguments.keeping)?;
    let stories = report::stories(&kept);
    let trials: Vec<&Trial> = kept.iter().flat_map(trials_of).collect();
    let traced = arguments.trace.as_ref().map(|path| {
        let comment = arguments.comment.as_deref().unwrap_or_default();
        append_traces(path, comment, &trials, &places.in_use)
    });
    let mut files = traced.transpose()?.into_iter().collect::<Vec<String>>();
    places.write(&stories, &mut files)?;
    let text = if arguments.md {
        report::markdown(&stories)
    } else if arguments.json {
        output::json(&summary(&stories, &files))?
    } else {
        let lines = files.iter().map(|file| format!("{}\n", report::escape(file)));
        lines.collect()
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}

/// The trials that a document is or holds.
fn trials_of(kept: &Saved) -> Vec<&Trial> {
    match kept {
        Saved::Trial(trial) => vec![trial],
        Saved::Profile(_, trials) | Saved::Experiment(_, trials) => trials.iter().collect(),
        Saved::Observation(_)
        | Saved::Limits(_)
        | Saved::Zones(_)
        | Saved::Comparison(_)
        | Saved::Diagnosis(_) => Vec::new(),
    }
}

/// Where results go.
struct Places {
    page: Option<OutputFile>,
    values: Option<OutputFile>,
    drawings: Option<Drawings>,
    in_use: Vec<InUse>,
    names: [Option<PathBuf>; 2],
}

impl Places {
    /// Makes sure of all of them: none may be something that is read here.
    fn open(arguments: &ReportArgs) -> anyhow::Result<Self> {
        let mut in_use: Vec<InUse> = arguments
            .what
            .iter()
            .map(|what| InUse { path: what.into(), role: "a document to report" })
            .collect();
        if let Ok(database) = arguments.keeping.file() {
            in_use.push(InUse { path: database, role: "the database of results" });
        }
        let other = arguments.md
            || arguments.json
            || [&arguments.svg, &arguments.png, &arguments.csv, &arguments.trace]
                .iter()
                .any(|place| place.is_some());
        let page = arguments.output.clone().or((!other).then(|| DEFAULT_PAGE.into()));
        let mut claim = |kind: Kind, path: &Option<PathBuf>, role: &'static str| {
            let Some(path) = path else { return anyhow::Ok(None) };
            let file = OutputFile::create(kind, path, &in_use)?;
            in_use.push(InUse { path: path.clone(), role });
            Ok(Some(file))
        };
        let page_file = claim(Kind::Report, &page, "the file of --output")?;
        let values = claim(Kind::Values, &arguments.csv, "the file of --csv")?;
        let drawings = match (&arguments.svg, &arguments.png) {
            (Some(folder), _) => Some(Drawings::open("--svg", folder, None)?),
            (None, Some(folder)) => {
                let rasteriser = png::Rasteriser::find()?;
                Some(Drawings::open("--png", folder, Some(rasteriser))?)
            }
            (None, None) => None,
        };
        let names = [page, arguments.csv.clone()];
        Ok(Self { page: page_file, values, drawings, in_use, names })
    }

    /// Writes them, and says what was written, a line each.
    fn write(self, stories: &[Story], files: &mut Vec<String>) -> anyhow::Result<()> {
        let [page_name, values_name] =
            self.names.map(|name| name.unwrap_or_default().display().to_string());
        if let Some(page) = self.page {
            let html = report::report_html(stories);
            let plots: usize = stories.iter().map(|story| story.charts.len()).sum();
            files.push(format!(
                "{page_name}: {}, {plots} plots, {} kB",
                match stories.len() {
                    1 => "1 document".to_owned(),
                    count => format!("{count} documents"),
                },
                html.len().div_ceil(1000)
            ));
            page.finish(&html)?;
        }
        if let Some(values) = self.values {
            let csv = report::csv(stories);
            files.push(format!("{values_name}: {} values", csv.lines().count().saturating_sub(1)));
            values.finish(&csv)?;
        }
        if let Some(drawings) = self.drawings {
            files.push(drawings.write(stories)?);
        }
        Ok(())
    }
}

/// Adds a line for each trial that one line can tell, and says how many.
fn append_traces(
    path: &std::path::Path,
    comment: &str,
    trials: &[&Trial],
    in_use: &[InUse],
) -> anyhow::Result<String> {
    report::check_trace_comment(comment).map_err(|error| UsageError(error.to_string()))?;
    let told = |trial: &&&Trial| report::check_trace_workload(&trial.workload).is_ok();
    let lines: Vec<&&Trial> = trials.iter().filter(told).collect();
    for trial in &lines {
        TraceFile::open(path, comment, &trial.workload, in_use)?.append(trial)?;
    }
    let mixed = trials.len() - lines.len();
    let rest = if mixed > 0 {
        format!("; {mixed} that mix directions or sizes are left out")
    } else {
        String::new()
    };
    Ok(format!("{}: {} trials added{rest}", path.display(), lines.len()))
}

/// What was found, without the data.
fn summary(stories: &[Story], files: &[String]) -> Value {
    let documents: Vec<Value> = stories
        .iter()
        .map(|story| {
            json!({
                "kind": story.kind,
                "subject": story.subject,
                "id": story.id,
                "simulated": story.simulated,
                "clean": story.is_clean(),
                "verdicts": story.badges.iter().map(|b| json!({"subject": b.subject, "verdict": b.words, "because": b.because})).collect::<Vec<_>>(),
                "headline": story.headline,
                "facts": story.facts.iter().map(|f| json!({"name": f.name, "of": f.of, "value": f.value})).collect::<Vec<_>>(),
                "actions": story.actions.iter().map(|a| json!({"subject": a.subject, "what": a.what, "details": a.details})).collect::<Vec<_>>(),
                "plots": story.charts.iter().map(|c| json!({"title": c.title, "finding": c.finding})).collect::<Vec<_>>(),
                "left_out": story.left_out,
                "commands": story.commands,
            })
        })
        .collect();
    json!({
        "schema": "halfpower/report/1",
        "halfpower_version": VERSION,
        "documents": documents,
        "written": files,
    })
}
