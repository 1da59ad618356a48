//! `halfpower show`: prints saved results.

use crate::output::{self, Verdict};
use crate::store_args::{StoreArgs, kinds};
use crate::validate::{ValidateArgs, validate};
use crate::values::one_of;
use clap::{Args, Subcommand};
use plan::session::StopFlag;
use record::{DocumentKind, HistogramSnapshot, KeptDocument, Measured, Profile, SavedDocument};
use store::{Document, LAST, Store, StoreError};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  \
    halfpower show                     the newest result\n  \
    halfpower show c0a6b831292e -v     all of a result, by its id\n  \
    halfpower show last --kind trial --json\n  \
    halfpower show trial.json\n  \
    halfpower show list                what is saved\n  \
    halfpower show validate last       test the predictions of a profile"
)]
pub(crate) struct ShowArgs {
    #[command(subcommand)]
    action: Option<ShowAction>,
    /// Saved document: an id, the beginning or end of an id, or last; a JSON file; or - for
    /// standard input.
    #[arg(value_name = "WHAT", default_value = LAST)]
    what: String,
    /// Only documents of this kind: trial, profile, experiment, limits, zones, observation, diagnosis,
    /// validation or cost-fit.
    #[arg(long, value_name = "KIND", value_parser = one_of(&DocumentKind::ALL, DocumentKind::name))]
    kind: Option<DocumentKind>,
    /// Print the document as JSON.
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Also print the latency histograms of a profile, which are megabytes of JSON.
    #[arg(long, requires = "json", help_heading = "Results")]
    with_trials: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// Other actions on saved documents.
#[derive(Debug, Subcommand)]
enum ShowAction {
    /// List the saved results.
    List(ListArgs),
    /// Test a profile's predictions on loads that the profile does not contain.
    Validate(ValidateArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only documents of this kind (as for `show --kind`); trial also lists the trials inside
    /// checks and experiments.
    #[arg(long, value_name = "KIND", value_parser = one_of(&DocumentKind::ALL, DocumentKind::name))]
    kind: Option<DocumentKind>,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

pub(crate) fn show(arguments: &ShowArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    match &arguments.action {
        Some(ShowAction::Validate(arguments)) => return validate(arguments, stop),
        Some(ShowAction::List(arguments)) => return list(arguments),
        None => {}
    }
    let what = std::slice::from_ref(&arguments.what);
    let mut found = arguments.keeping.documents(what, &kinds(arguments.kind))?;
    if !arguments.json {
        let pages: Vec<String> = report::stories(&found).iter().map(output::page).collect();
        let between = if output::is_quiet() { "" } else { "\n" };
        return output::print(&pages.join(between));
    }
    let mut left_out = Vec::new();
    for document in &mut found {
        if let SavedDocument::Profile(profile, _) = document
            && !arguments.with_trials
        {
            leave_out_histograms(profile);
            left_out.push(profile.id.clone());
        }
    }
    for id in left_out {
        output::remark(&format!(
            "latency histograms are omitted: --with-trials prints them, `halfpower report {id}` \
             plots the trials"
        ));
    }
    let texts: Vec<String> = found.iter().map(output::json).collect::<Result<_, _>>()?;
    output::print(&texts.concat())
}

fn leave_out_histograms(profile: &mut Profile) {
    for cell in profile.cells.iter_mut().chain(&mut profile.mixes) {
        cell.histogram = HistogramSnapshot::default();
    }
    if let Measured::Value(commits) = &mut profile.commits {
        for point in &mut commits.points {
            point.histogram = HistogramSnapshot::default();
        }
    }
}

fn list(arguments: &ListArgs) -> anyhow::Result<Verdict> {
    let store = arguments.keeping.existing()?;
    let kept = store.kept(&kinds(arguments.kind))?;
    if arguments.json {
        return output::print(&output::json(&kept)?);
    }
    let style = output::style();
    output::print(&match arguments.kind {
        Some(DocumentKind::Profile) => report::profile_list_text(&all(&store, &kept)?, &style),
        Some(DocumentKind::Experiment) => {
            report::experiment_list_text(&all(&store, &kept)?, &style)
        }
        Some(_) => report::kept_list_text(&kept, 0, &style),
        None => {
            let own = kept.iter().filter(|one| one.kind == DocumentKind::Trial.name()).count();
            let inner = store.kept(&[DocumentKind::Trial])?.len() - own;
            report::kept_list_text(&kept, inner, &style)
        }
    })
}

fn all<D: Document>(store: &Store, kept: &[KeptDocument]) -> Result<Vec<D>, StoreError> {
    kept.iter().map(|one| store.document(&one.id)).collect()
}
