//! `halfpower export`: writes trials as tables for other programs.
//!
//! The output files are checked before any trial is read, and no file is replaced before all are complete.
//! The tables belong together: a full disk must not leave two from today and two from last week.

use crate::output::{self, Verdict};
use crate::recognise;
use crate::store_args::StoreArgs;
use anyhow::{bail, ensure};
use clap::Args;
use host::target::{InUse, OutputFile};
use plan::session::VERSION;
use record::{DocumentKind, Trial, counted, quoted};
use report::{TABLES, TableFile, TrialTables};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::{Library, Store};

/// The kinds of documents that contain trials.
const KINDS: [DocumentKind; 3] =
    [DocumentKind::Experiment, DocumentKind::Profile, DocumentKind::Trial];

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower export last --csv tables     the trials of the newest result\n  \
    halfpower export --all --csv tables    every trial in the database\n  \
    halfpower export trial.json 0197f3 --csv tables\n\n\
    DIR gets trials.csv (a row per job), intervals.csv, histograms.csv\n\
    and clients.csv (a row per client of a load from several machines).\n  \
    duckdb -c \"SELECT target, read_iops FROM 'tables/trials.csv'\"")]
pub(crate) struct ExportArgs {
    /// Trials, profiles or experiments: ids, beginnings or ends of ids, "last", or JSON files.
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "WHAT")]
    what: Vec<String>,
    /// Export every trial in the database.
    #[arg(long)]
    all: bool,
    /// Folder for the tables; created if missing.
    #[arg(long, value_name = "DIR", required = true)]
    csv: PathBuf,
    /// Print the list of written files as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

pub(crate) fn export(arguments: &ExportArgs) -> anyhow::Result<Verdict> {
    let places = places(arguments)?;
    let mut export = Export::default();
    if arguments.all {
        let store = arguments.keeping.existing()?;
        export.add_all(&store)?;
    } else {
        let library = arguments.keeping.library()?;
        for word in &arguments.what {
            export.add_named(&library, word)?;
        }
    }
    ensure!(export.tables.trials() > 0, "no trials to export; run `halfpower run` first");
    let trials = export.tables.trials();
    let files = export.tables.finish();
    write(&files, places)?;
    output::print(&said(arguments, trials, &files, &export.missing)?)?;
    for id in &export.missing {
        output::remark(&format!("trial {id} is missing and was skipped"));
    }
    Ok(Verdict::of(export.missing.is_empty()))
}

/// The tables under construction.
#[derive(Default)]
struct Export {
    tables: TrialTables,
    /// Ids of the trials in the tables.
    added: BTreeSet<String>,
    /// Ids of trials that a profile or an experiment names, but that are not saved.
    missing: BTreeSet<String>,
}

impl Export {
    /// Adds one trial at a time: together they may not fit in memory.
    fn add_all(&mut self, store: &Store) -> anyhow::Result<()> {
        for row in store.list::<Trial>()? {
            self.add(&store.document(&row.id)?)?;
        }
        Ok(())
    }

    fn add_named(&mut self, library: &Library, word: &str) -> anyhow::Result<()> {
        recognise::expect(word, recognise::has_documents)?;
        for mut document in library.named(word, &KINDS)? {
            if !document.kind().is_some_and(|kind| KINDS.contains(&kind)) {
                bail!(
                    "{} contains a document that has no trials; name trials, profiles or \
                     experiments",
                    quoted(word)
                );
            }
            document.trials().iter().try_for_each(|trial| self.add(trial))?;
            let named = document.trials_beside().map(|(ids, _)| ids).unwrap_or_default();
            self.missing.extend(named);
        }
        self.missing.retain(|id| !self.added.contains(id));
        Ok(())
    }

    fn add(&mut self, trial: &Trial) -> anyhow::Result<()> {
        if self.added.insert(trial.id.clone()) {
            self.tables.add(trial)?;
        }
        Ok(())
    }
}

/// The output files; none may be an input of this command.
fn places(arguments: &ExportArgs) -> anyhow::Result<Vec<OutputFile>> {
    let folder = &arguments.csv;
    output::create_folder("--csv", folder)?;
    let documents = arguments.what.iter().map(|what| InUse::new(what, "a document to export"));
    let mut in_use: Vec<InUse> = documents.collect();
    in_use.extend(arguments.keeping.kept());
    let place = |name| OutputFile::create(&output::TABLE, &path(folder, name), &in_use);
    Ok(TABLES.into_iter().map(place).collect::<Result<_, _>>()?)
}

fn path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.csv"))
}

/// Completes all files before it puts the first one in place.
fn write(files: &[TableFile], places: Vec<OutputFile>) -> anyhow::Result<()> {
    let pairs = files.iter().zip(places);
    let written = pairs.map(|(file, place)| place.write_beside(&file.csv));
    let written: Vec<_> = written.collect::<Result<_, _>>()?;
    for file in written {
        file.put_in_place()?;
    }
    Ok(())
}

/// A line about each written file, or JSON.
fn said(
    arguments: &ExportArgs,
    trials: usize,
    files: &[TableFile],
    missing: &BTreeSet<String>,
) -> anyhow::Result<String> {
    let folder = &arguments.csv;
    if arguments.json {
        let file = |file: &TableFile| {
            let path = path(folder, file.name);
            json!({"table": file.name, "path": path.display().to_string(), "rows": file.rows, "bytes": file.csv.len()})
        };
        return output::json(&json!({
            "schema": "halfpower/export/1",
            "halfpower_version": VERSION,
            "trials": trials,
            "missing_trials": missing,
            "written": files.iter().map(file).collect::<Vec<_>>(),
        }));
    }
    let line = |file: &TableFile| {
        let path = report::escape(&path(folder, file.name).display().to_string());
        let (rows, size) = (counted(file.rows as f64, "row"), file.csv.len().div_ceil(1000));
        format!("{path}: {rows}, {size} kB\n")
    };
    let trials = counted(trials as f64, "trial");
    Ok(files.iter().map(line).collect::<String>() + &format!("{trials} exported\n"))
}
