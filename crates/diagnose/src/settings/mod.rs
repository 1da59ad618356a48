//! Settings of other programs that a profile has an answer to, each with its derivation.
//!
//! A setting is given only where the profile measured what it stands for; otherwise it says what is
//! missing. What no disk can tell (memory, processors, how much may be lost) is not spoken of. The
//! derivation names numbers, formula and default, so that whoever disagrees with the formula can
//! put another number in its place.
//!
//! Rejected: classes of devices ("SSD: 1.1 and 200"), which is what the numbers are measured for not
//! having to guess; and silent clamps: where a program has bounds, the derivation says them.

mod fio;
mod io_cost;
mod linux;
mod mysql;
mod postgresql;
mod scylla;
mod seen;
#[cfg(test)]
mod tests;

use record::{Measured, Profile, SETTINGS_SCHEMA, Setting, Settings};
use seen::Seen;

/// A program that can be told how to use a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL with InnoDB.
    MySql,
    /// The block layer's files in sysfs.
    Linux,
    /// The cost model of control groups.
    IoCost,
    /// ScyllaDB, and whatever else is built on Seastar.
    Scylla,
    /// A job for fio.
    Fio,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::PostgreSql, Self::MySql, Self::Linux, Self::IoCost, Self::Scylla, Self::Fio];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql",
            Self::MySql => "mysql",
            Self::Linux => "linux",
            Self::IoCost => "io.cost",
            Self::Scylla => "scylla",
            Self::Fio => "fio",
        }
    }

    /// Where its settings belong.
    fn place(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql.conf, or per tablespace",
            Self::MySql => "my.cnf, section mysqld",
            Self::Linux => "a root shell; for good as a udev rule",
            Self::IoCost => "a root shell: /sys/fs/cgroup/io.cost.model",
            Self::Scylla => "/etc/scylla.d/io_properties.yaml",
            Self::Fio => "a file NAME.fio for fio",
        }
    }

    fn head(self) -> &'static [&'static str] {
        match self {
            Self::MySql => &["[mysqld]"],
            Self::Scylla => &["disks:", "  - mountpoint: /var/lib/scylla"],
            Self::Fio => &["[global]"],
            Self::PostgreSql | Self::Linux | Self::IoCost => &[],
        }
    }
}

/// The settings of a program that a profile gives.
#[must_use]
pub fn settings(profile: &Profile, program: Program, halfpower_version: &str) -> Settings {
    let seen = Seen::new(profile);
    let settings = match program {
        Program::PostgreSql => postgresql::settings(&seen),
        Program::MySql => mysql::settings(&seen),
        Program::Linux => linux::settings(&seen),
        Program::IoCost => io_cost::settings(&seen),
        Program::Scylla => scylla::settings(&seen),
        Program::Fio => fio::settings(&seen),
    };
    Settings {
        schema: SETTINGS_SCHEMA.to_owned(),
        halfpower_version: halfpower_version.to_owned(),
        program: program.name().to_owned(),
        place: program.place().to_owned(),
        profile_id: profile.id.clone(),
        target: profile.target.path.clone(),
        profile_time: profile.time.clone(),
        simulated: profile.simulated,
        head: program.head().iter().map(|&line| line.to_owned()).collect(),
        settings,
    }
}

/// A value with its derivation, or why there is none.
type Derived = Result<(String, String), String>;

/// A setting written as one line.
fn setting(name: &str, derived: Derived, line: impl Fn(&str) -> String) -> Setting {
    match derived {
        Ok((value, derivation)) => Setting {
            name: name.to_owned(),
            lines: vec![line(&value)],
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

/// The same for `name = value`.
fn assigned(name: &str, derived: Derived) -> Setting {
    setting(name, derived, |value| format!("{name} = {value}"))
}
