//! The published figures of three papers, against formulae and the simulator.
//!
//! The papers are data (`data/`): what was published, and a line per claim and series that says how
//! it comes about a second time. This crate reads that, says which simulated runs it needs, and
//! judges what comes back. It does not know the simulator: whoever calls [`Papers::evaluate`]
//! carries out the runs, each of which is a command line that anyone can type.
//!
//! The way through: [`library`] reads a paper, [`expression`] and `evaluator` turn a row's text into
//! values, [`quote`] says what a printed number claims, [`tolerance`] how far off a value may be,
//! `judge` writes the [`Report`]. `files` embeds the files of the papers.
//!
//! Rejected: a test per claim. A test tells that something broke; whoever changes the simulator
//! needs to see what moved, by how much, in which figure.
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
    /// One each.
    pub libraries: Vec<Library>,
}

/// What to reproduce, and with what.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Ids, figures, charts or papers; empty for all rows.
    pub only: Vec<String>,
    /// What to switch off in every simulated drive.
    pub without: Vec<Switch>,
    /// Machines that are simulated by another description than the program's, in words.
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

    /// Multiplies every published value that a row is held against by `factor`, and none that a
    /// formula uses: what is reproduced must not change by it.
    pub fn scale_published(&mut self, factor: f64) {
        for entry in self.libraries.iter_mut().flat_map(|library| &mut library.entries) {
            entry.quote = entry.quote.scaled(factor);
            for point in &mut entry.row.points {
                point.published = point.published.map(|value| value * factor);
            }
        }
    }
}
