//! Compares the published figures of three papers with formulae and the simulator.
//!
//! The papers are data (`data/`): the published values, and for each claim and series a line that defines
//! how it is reproduced. This module reads the data, lists the simulated runs it needs, and judges the
//! results. It does not know the simulator: the caller of [`Papers::evaluate`] executes the runs. Each run
//! is an ordinary command line.
//!
//! Steps: [`library`] reads a paper, [`expression`] and `evaluator` turn a row's text into values,
//! [`quote`] interprets a printed number, [`tolerance`] sets the allowed deviation, `judge` writes the
//! [`Report`]. `files` embeds the files of the papers.
//!
//! Rejected: a test per claim. A test shows only that something broke. A developer who changes the
//! simulator needs to see which figure moved, and by how much.
#![forbid(unsafe_code)]

pub mod csv;
mod evaluator;
pub mod expression;
mod files;
mod judge;
pub mod library;
mod metric;
pub mod quote;
mod row;
mod run_line;
pub mod tolerance;

pub use library::{DataError, Library};
pub use row::{
    Chart, Class, ClassCount, PAPERS_SCHEMA, Paper, Point, Report, Row, Verdict, papers_schema,
};
pub use run_line::{RunLine, Switch};

/// All papers.
#[derive(Clone, Debug)]
pub struct Papers {
    /// One per paper.
    pub libraries: Vec<Library>,
}

/// Which rows to reproduce, and with which simulated drives.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Ids, figures, charts or papers; empty for all rows.
    pub only: Vec<String>,
    /// Parts of the physics to switch off in every simulated drive.
    pub without: Vec<Switch>,
    /// Machines that are simulated by a description other than the program's own, in words.
    pub machines: Vec<String>,
}

impl Papers {
    /// Reads the embedded data.
    ///
    /// # Errors
    /// Only if the data of the program itself are wrong.
    pub fn load() -> Result<Self, DataError> {
        let libraries = files::FILES.iter().map(Library::load).collect::<Result<_, _>>()?;
        Ok(Self { libraries })
    }

    /// Multiplies every published value that a row is compared with by `factor`, but no value that a
    /// formula uses. Reproduced values must not change.
    pub fn scale_published(&mut self, factor: f64) {
        for entry in self.libraries.iter_mut().flat_map(|library| &mut library.entries) {
            entry.quote = entry.quote.scaled(factor);
            for point in &mut entry.row.points {
                point.published = point.published.map(|value| value * factor);
            }
        }
    }
}
