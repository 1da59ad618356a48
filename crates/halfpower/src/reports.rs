//! `halfpower report`: makes a page, plots, a summary and tables from saved results.
//!
//! Documents are named by their ids in the database or by files. All problems with the output files are found
//! before any document is read. The page is the default, because it contains everything. Rejected:
//! overwriting existing files (a mistake in shell completion would cost a file); opening a browser (a server
//! has none).

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::store_args::{StoreArgs, kinds};
use crate::values::one_of;
use clap::Args;
use host::target::{InUse, OutputFile};
use plan::session::VERSION;
use record::{DocumentKind, SavedDocument, Trial, counted};
use report::{PLOT_MARK, Story};
use std::path::{Path, PathBuf};

/// Name of the page if the user requests no other output.
const DEFAULT_PAGE: &str = "report.html";

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower report last                 the newest result, as report.html\n  \
    halfpower report 0197f3 -o disk.html  a result by its id\n  \
    halfpower report trial.json profile.json --md    a summary for a ticket\n  \
    halfpower report last --kind profile --svg plots\n  \
    halfpower predict last --rate-iops 300 --json | halfpower report -\n\n\
    WHAT can also be the --json output of any other command.")]
pub(crate) struct ReportArgs {
    /// Documents: ids, beginnings or ends of ids, "last", JSON files, or - for standard input.
    #[arg(required = true, value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// Write an HTML page that needs no network to this file [default: report.html, unless another
    /// output is requested].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only documents of this kind: trial, profile, experiment, limits, zones, observation,
    /// diagnosis.
    #[arg(long, value_name = "KIND", value_parser = one_of(&DocumentKind::ALL, DocumentKind::name))]
    kind: Option<DocumentKind>,
    /// Write each plot as SVG to this folder.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Print a summary in Markdown, to paste into a ticket.
    #[arg(long, conflicts_with = "json")]
    md: bool,
    /// Write every value of every plot to a CSV file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Append a line of 14 fields per trial to a CSV file, as `run --sqlio-csv` does.
    #[arg(long, value_name = "FILE")]
    sqlio_csv: Option<PathBuf>,
    /// Comment in the lines of --sqlio-csv.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Print the results and the list of written files as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

pub(crate) fn report(arguments: &ReportArgs) -> anyhow::Result<Verdict> {
    let places = Places::open(arguments)?;
    let documents = documents(arguments)?;
    let stories = report::stories(&documents);
    let trials: Vec<&Trial> = documents.iter().flat_map(SavedDocument::trials).collect();
    let mut files = Vec::new();
    if let Some(path) = &arguments.sqlio_csv {
        files.push(append_lines(path, arguments.comment.as_deref(), &trials, &places.in_use)?);
    }
    places.write(&stories, &mut files)?;
    let text = if arguments.md {
        report::markdown(&stories)
    } else if arguments.json {
        output::json(&report::summary(&stories, VERSION, &files))?
    } else {
        files.iter().map(|file| format!("{}\n", report::escape(file))).collect()
    };
    output::print(&text)
}

/// The requested documents, in the order of the command line.
fn documents(arguments: &ReportArgs) -> anyhow::Result<Vec<SavedDocument>> {
    let found = arguments.keeping.documents(&arguments.what, &kinds(arguments.kind))?;
    let other = found.iter().find(|document| document.kind() != arguments.kind);
    if let (Some(kind), Some(other)) = (arguments.kind, other) {
        let (kind, other) = (kind.name(), other.id());
        let text = format!("the files contain a document that is not of --kind {kind}: {other}");
        return Err(usage(text));
    }
    Ok(found)
}

struct Places {
    page: Option<(PathBuf, OutputFile)>,
    values: Option<(PathBuf, OutputFile)>,
    plots: Option<PathBuf>,
    in_use: Vec<InUse>,
}

impl Places {
    /// Opens all outputs; none may be an input of this command.
    fn open(arguments: &ReportArgs) -> anyhow::Result<Self> {
        let documents = arguments.what.iter().map(|what| InUse::new(what, "a document to report"));
        let mut in_use: Vec<InUse> = documents.collect();
        in_use.extend(arguments.keeping.kept());
        let files = [&arguments.svg, &arguments.csv, &arguments.sqlio_csv];
        let other = arguments.md || arguments.json || files.iter().any(|place| place.is_some());
        let page = arguments.output.clone().or((!other).then(|| DEFAULT_PAGE.into()));
        let mut claim = |kind, path: &Option<PathBuf>| {
            let file = OutputFile::claim(kind, path.as_deref(), &mut in_use)?;
            anyhow::Ok(path.clone().zip(file))
        };
        let page = claim(&output::REPORT, &page)?;
        let values = claim(&output::VALUES, &arguments.csv)?;
        let plots = arguments.svg.clone();
        if let Some(folder) = &plots {
            output::create_folder("--svg", folder)?;
        }
        Ok(Self { page, values, plots, in_use })
    }

    /// Writes all outputs, and adds a line about each to `files`.
    fn write(self, stories: &[Story], files: &mut Vec<String>) -> anyhow::Result<()> {
        if let Some((name, page)) = self.page {
            let html = report::report_html(stories);
            let plots: usize = stories.iter().map(|story| story.charts.len()).sum();
            let documents = counted(stories.len() as f64, "document");
            let plots = counted(plots as f64, "plot");
            let size = html.len().div_ceil(1000);
            files.push(format!("{}: {documents}, {plots}, {size} kB", name.display()));
            page.finish(&html)?;
        }
        if let Some((name, values)) = self.values {
            let csv = report::csv(stories);
            let rows = csv.lines().count().saturating_sub(1) as f64;
            files.push(format!("{}: {}", name.display(), counted(rows, "value")));
            values.finish(&csv)?;
        }
        if let Some(plots) = self.plots {
            files.push(write_plots(&plots, stories)?);
        }
        Ok(())
    }
}

/// Writes all plots into a folder and returns a line with their number.
fn write_plots(folder: &Path, stories: &[Story]) -> anyhow::Result<String> {
    let plots = report::plot_files(stories);
    for (name, svg) in &plots {
        let file = folder.join(format!("{name}.svg"));
        let drawing = OutputFile::create(&output::PLOT, &file, &[])?;
        drawing.finish(format!("{PLOT_MARK}\n{svg}"))?;
    }
    let plots = counted(plots.len() as f64, "plot");
    Ok(format!("{}: {plots} as SVG", folder.display()))
}

/// Appends a line for each trial that fits in one line, and returns a line with their number.
fn append_lines(
    path: &Path,
    comment: Option<&str>,
    trials: &[&Trial],
    in_use: &[InUse],
) -> anyhow::Result<String> {
    let fits = |trial: &&&Trial| report::check_trace_workload(&trial.workload).is_ok();
    let lines: Vec<&&Trial> = trials.iter().filter(fits).collect();
    let file = output::trace(path, comment, in_use)?;
    for trial in &lines {
        output::append(&file, trial, comment.unwrap_or_default())?;
    }
    let rest = match trials.len() - lines.len() {
        0 => String::new(),
        mixed => {
            format!("; {} omitted (mixed directions or sizes)", counted(mixed as f64, "trial"))
        }
    };
    Ok(format!("{}: {} added{rest}", path.display(), counted(lines.len() as f64, "trial")))
}
