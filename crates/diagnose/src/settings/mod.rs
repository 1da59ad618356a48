//! Derives settings of other programs from a profile. Each setting comes with its numbers, formula and
//! default, so that a reader who disagrees can substitute another number. A setting without its measurement
//! names the missing figure. One whose measurement is too uncertain states the possible range. Rejected:
//! classes of devices ("SSD: 1.1 and 200"), silent clamps, and one limit on the ± of a check for all
//! settings: a wide interval may decide a setting that is clamped, and a narrow one may leave a choice open.

mod etcd;
mod fio;
mod linux;
mod mysql;
mod postgresql;
mod profile_facts;

use profile_facts::ProfileFacts;
use record::{Measured, Profile, SETTINGS_SCHEMA, Setting, Settings, Severity};

/// A program with settings for its use of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL with InnoDB.
    MySql,
    /// etcd.
    Etcd,
    /// The block layer's files in sysfs.
    Linux,
    /// A job for fio.
    Fio,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 5] = [Self::PostgreSql, Self::MySql, Self::Etcd, Self::Linux, Self::Fio];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Its name, the place of its settings, the lines before them, and the settings.
    fn facts(self) -> Facts {
        match self {
            Self::PostgreSql => {
                ("postgresql", "postgresql.conf, or per tablespace", &[], postgresql::settings)
            }
            Self::MySql => ("mysql", "my.cnf, section mysqld", &["[mysqld]"], mysql::settings),
            Self::Etcd => ("etcd", "etcd flags, or its --config-file", &[], etcd::settings),
            Self::Linux => {
                ("linux", "a root shell; permanently in a udev rule", &[], linux::settings)
            }
            Self::Fio => ("fio", "a file NAME.fio for fio", &["[global]"], fio::settings),
        }
    }
}

type Facts =
    (&'static str, &'static str, &'static [&'static str], fn(&ProfileFacts<'_>) -> Vec<Setting>);

/// The settings of a program that a profile supports. A setting keeps the value from an earlier
/// profile of the same disk (`earlier`, the latest first) if this measurement does not exclude it.
/// Two checks in a row then do not contradict each other by chance.
#[must_use]
pub fn settings(
    profile: &Profile,
    earlier: &[Profile],
    program: Program,
    halfpower_version: &str,
) -> Settings {
    let (name, place, head, settings) = program.facts();
    Settings {
        schema: SETTINGS_SCHEMA.to_owned(),
        halfpower_version: halfpower_version.to_owned(),
        program: name.to_owned(),
        place: place.to_owned(),
        profile_id: profile.id.clone(),
        target: profile.target.path.clone(),
        profile_time: profile.time.clone(),
        simulated: profile.simulated,
        head: head.iter().map(|&line| line.to_owned()).collect(),
        settings: judged(profile, settings(&ProfileFacts::new(profile, earlier))),
    }
}

/// An invalid profile supports no setting.
fn judged(profile: &Profile, mut settings: Vec<Setting>) -> Vec<Setting> {
    let invalid = profile.findings.iter().find(|finding| finding.severity == Severity::Invalid);
    if let Some(finding) = invalid {
        let why = format!("the check is not valid [{}]: {}", finding.code.name(), finding.claim);
        for one in &mut settings {
            (one.value, one.lines) = (Measured::not(&why), Vec::new());
            one.derivation.clear();
        }
    }
    settings
}

/// A value with its derivation, or why there is none.
type Derived = Result<(String, String), String>;

/// A setting with the lines that `line` makes from its value.
fn setting(name: &str, derived: Derived, line: impl Fn(&str) -> String) -> Setting {
    match derived {
        Ok((value, derivation)) => Setting {
            name: name.to_owned(),
            lines: line(&value).lines().map(str::to_owned).collect(),
            value: Measured::Value(value),
            derivation,
        },
        Err(why) => Setting {
            name: name.to_owned(),
            value: Measured::not(why),
            derivation: String::new(),
            lines: Vec::new(),
        },
    }
}

/// The same for a setting that prevents older versions of the program from starting: it is
/// commented out and names the version.
fn assigned_since(name: &str, version: &str, derived: Derived) -> Setting {
    setting(name, derived, |value| {
        format!("# {version} and later (remove the #):\n# {name} = {value}")
    })
}

/// The same for `name = value`.
fn assigned(name: &str, derived: Derived) -> Setting {
    setting(name, derived, |value| format!("{name} = {value}"))
}
