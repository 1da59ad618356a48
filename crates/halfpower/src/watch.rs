//! `halfpower watch`: shows what the disks do now, and whether that is normal.
//!
//! On a terminal it is a screen. Elsewhere, or with `--once`, `--count`, `--json` or `--verbose`, it is a
//! line per device and interval. With `--listen` it serves metrics for Prometheus. All forms show the same
//! rows.

use crate::failure::interrupted;
use crate::followed_profiles::FollowedProfiles;
use crate::observing::{ObservingArgs, Recorder};
use crate::output::{self, Verdict};
use crate::store_args::StoreArgs;
use crate::values::one_of;
use clap::Args;
use diagnose::observe::{Pace, Source};
use host::kernel;
use live::exporter::{HostNames, Published, Server, Snapshot};
use live::{Judge, LineForm, Lines, Screen};
use plan::session::{SessionError, StopFlag, VERSION};
use report::{SortBy, WatchView};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower watch                        a screen of all disks; h shows its keys\n  \
    halfpower watch sda --interval 5s\n  \
    halfpower watch . --once               one line on the disk of this directory\n  \
    halfpower watch sda -v > sda.log       all columns, for awk\n  \
    halfpower watch --json --count 60 > minute.jsonl\n  \
    halfpower watch --listen 127.0.0.1:9750   metrics for Prometheus\n\n\
    On the screen: arrows, mouse or wheel pick a device, Enter opens it, a click on\n\
    a title or s sorts, / filters, u switches MB/s and MiB/s, h explains keys.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) observing: ObservingArgs,
    /// Sort key of the devices: queue-depth, iops, reads, writes, throughput, latency,
    /// latency-ratio (relative to the profile), busy, saturation, verdict or name.
    #[arg(long, default_value = SortBy::default().name(), value_parser = one_of(&SortBy::ALL, SortBy::name))]
    pub(crate) sort: SortBy,
    /// Compare the devices with this profile [default: the best match for each device].
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// Print one interval, a line per device, without a screen; --verbose prints all columns.
    #[arg(long, conflicts_with = "count", help_heading = "Without a screen")]
    pub(crate) once: bool,
    /// Print this number of intervals, a line per device and interval, without a screen.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Without a screen")]
    pub(crate) count: Option<u64>,
    /// Print each line as a JSON document, without a screen.
    #[arg(long, help_heading = "Without a screen")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) exporting: ExportingArgs,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

/// Flags for serving metrics instead of showing a screen.
#[derive(Debug, Args)]
pub(crate) struct ExportingArgs {
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics until a signal arrives, without
    /// a screen.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address,
        conflicts_with_all = ["once", "count", "json", "sort"], help_heading = "As an exporter")]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow --listen with an address that other machines can reach; for TLS and passwords, put a
    /// reverse proxy in front.
    #[arg(long, requires = "listen", help_heading = "As an exporter")]
    pub(crate) listen_beyond_loopback: bool,
    /// Also accept requests for this host name; can be repeated. Addresses, localhost and the
    /// machine's own names are always accepted.
    #[arg(long, value_name = "NAME", requires = "listen", help_heading = "As an exporter")]
    pub(crate) allow_host: Vec<String>,
}

/// Parses a listen address with its port. Only `localhost` is accepted as a name, because other names may
/// resolve to different addresses later.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let wrong = "use a numeric ADDRESS:PORT, such as 127.0.0.1:9750 or [::1]:9750; 0.0.0.0:9750 \
                 listens on all addresses of this machine";
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| wrong.to_owned())
}

pub(crate) fn watch(arguments: &WatchArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let observing = &arguments.observing;
    // Before any disk is read: fail at once if the address is in use.
    let server = arguments.exporting.server()?;
    let source = observing.source()?;
    let profiles = arguments.keeping.profiles_for_devices(arguments.profile.as_deref())?;
    // A profile that the user named stays in use, even if others are saved later.
    let followed = match server.is_some() && arguments.profile.is_none() {
        true => {
            let interval = observing.sampling.interval();
            FollowedProfiles::start(&arguments.keeping, &profiles, interval)?
        }
        false => None,
    };
    let judge = Judge::new(&observing.sampling.roots(), profiles, source.host(), VERSION);
    if let Some(server) = server {
        return serve(arguments, source, (judge, followed), server, stop);
    }
    let lines =
        arguments.once || arguments.count.is_some() || arguments.json || output::is_verbose();
    if lines || !live::terminal_is_there() {
        return print_lines(arguments, source, judge, stop);
    }
    // A recording from the screen goes only to the database. If saving fails, the recording ends.
    let record = |host| {
        let mut store = arguments.keeping.open()?;
        Ok(Recorder::new(VERSION, host, move |it| Ok(store.add_document(it)?)))
    };
    let screen = Screen::new(
        judge,
        source,
        (observing.sampling.interval(), observing.all),
        (arguments.sort, output::style().color),
        &record,
    )?;
    let ended = screen.show(stop)?;
    for id in &ended.recorded {
        let next = output::saved_by(&format!("halfpower diagnose {id}"));
        output::remark(&format!("recorded; to diagnose it: {next}"));
    }
    ended.outcome?;
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("a signal ended the screen"));
    }
    Ok(Verdict::Clean)
}

/// Prints lines until the count is reached, a signal arrives or the reader closes the pipe.
fn print_lines(
    arguments: &WatchArgs,
    mut source: Source,
    mut judge: Judge,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    let count = if arguments.once { Some(1) } else { arguments.count };
    let mut pace = Pace::new(arguments.observing.sampling.interval());
    let mut lines = Lines::new(arguments.form());
    let mut taken = 0;
    while count.is_none_or(|count| taken < count) {
        if !pace.wait(stop) {
            let printed = record::counted(taken as f64, "interval");
            return Err(interrupted(format!("{printed} printed")));
        }
        judge.add(source.sample()?);
        taken += 1;
        if !output::print_on(&lines.of(&judge)?)? {
            break;
        }
    }
    for finding in source.findings() {
        output::remark(&finding.claim);
    }
    Ok(Verdict::Clean)
}

impl WatchArgs {
    /// Output format without a screen.
    fn form(&self) -> LineForm {
        if self.json {
            return LineForm::Json;
        }
        if output::is_verbose() {
            return LineForm::Columns;
        }
        let all = self.observing.all || !self.observing.devices.is_empty();
        LineForm::Table(
            WatchView { sort: self.sort, all, ..WatchView::default() },
            output::style().width,
        )
    }
}

impl ExportingArgs {
    /// The listening server, if `--listen` is given.
    fn server(&self) -> anyhow::Result<Option<Server>> {
        let Some(address) = self.listen else { return Ok(None) };
        if !address.ip().to_canonical().is_loopback() && !self.listen_beyond_loopback {
            let text = format!(
                "other machines can reach {address}: to serve only this machine, or a reverse proxy \
                 on it that adds TLS and passwords, use 127.0.0.1:{}; to let anyone read the \
                 metrics, add --listen-beyond-loopback",
                address.port()
            );
            return Err(SessionError::Refused(text).into());
        }
        Ok(Some(Server::listen(address)?))
    }

    /// The host names that requests may use.
    fn names(&self) -> HostNames {
        let text = |path: &str| kernel::read::text(Path::new(path)).unwrap_or_default();
        let (hosts, resolver) = (text("/etc/hosts"), text("/etc/resolv.conf"));
        HostNames::new(&kernel::host_name(), &hosts, &resolver, &self.allow_host)
    }
}

/// Takes samples and serves the metrics until a signal arrives.
fn serve(
    arguments: &WatchArgs,
    mut source: Source,
    (mut judge, followed): (Judge, Option<FollowedProfiles>),
    server: Server,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    let interval = arguments.observing.sampling.interval();
    if !output::is_quiet() {
        output::remark(&format!("metrics at http://{}/metrics", server.address()));
        if arguments.exporting.listen_beyond_loopback {
            output::remark(
                "anyone who can reach this address can read the metrics; for TLS and passwords, put \
                 a reverse proxy in front",
            );
        }
    }
    let published = Arc::new(Published::new(VERSION, interval));
    let _serving = server.start(arguments.exporting.names(), Arc::clone(&published))?;
    let mut pace = Pace::new(interval);
    while pace.wait(stop) {
        if let Some(profiles) = followed.as_ref().and_then(FollowedProfiles::changed) {
            judge.compare_with(profiles);
        }
        judge.add(source.sample()?);
        published.publish(Snapshot::of(&judge), pace.missed());
    }
    Ok(Verdict::Clean)
}
