//! Chung, Gray, Worthington and Horst 2000: the files of `data/chung`.
//!
//! The paper's figures are pictures without data, so there are claims only: those of the text, then
//! the small tables as rows of their own (`CB` buffering modes, `CP` pairs of processor costs, `CT8`
//! the trace format, `CT9` random I/O). Megabytes are 10^6 bytes; in processor costs, `ms/MB`, the
//! paper counts 1,024 KB.
//!
//! Where the same quantity is printed twice with different values, the row whose value follows from
//! the rest of the paper is derived or simulated, and the other one is not reproducible, with the
//! contradiction as its reason. A measured processor cost is an input of the simulated host, so
//! that a run which gave it back would prove nothing.

use crate::library::Files;
use crate::row::Paper;

/// All of it.
pub(crate) const FILES: Files = Files {
    paper: Paper::Chung,
    claims: include_str!("../data/chung/claims.csv"),
    charts: &[],
    chart_table: include_str!("../data/chung/charts.csv"),
    series_table: include_str!("../data/chung/series.csv"),
    cases: include_str!("../data/chung/cases.csv"),
    rows: include_str!("../data/chung/rows.csv"),
};

#[cfg(test)]
mod tests {
    use super::FILES;
    use crate::friedman;
    use crate::library::Library;
    use crate::row::Class;

    #[test]
    fn every_row_of_the_two_later_papers_has_one_class_and_none_is_lost() {
        let rows = |files| Library::load(files).unwrap().entries.len();
        assert_eq!(rows(&FILES), 359 + 5 + 22 + 14 + 2);
        // Rates, Tables 1 to 6, formulae, the recording, series of figures 3 to 10.
        let expected = 52 + 6 + 36 + 12 + 12 + 9 + 7 + 5 + 2 + 12;
        assert_eq!(rows(&friedman::FILES), expected);
    }

    #[test]
    fn what_is_not_reproducible_says_why_in_more_than_a_word() {
        for files in [&FILES, &friedman::FILES] {
            for entry in Library::load(files).unwrap().entries {
                let silent = entry.class == Class::NotReproducible && entry.reason.len() < 12;
                assert!(!silent, "{}: {:?}", entry.id, entry.reason);
            }
        }
    }
}
