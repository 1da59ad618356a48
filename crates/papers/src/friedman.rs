//! Friedman, "A simplified approach to Windows disk tuning": the files of `data/friedman`.
//!
//! Claims are the rates of the text, then the cells of Tables 1 to 6 (`FT1` to `FT6`), his formulae
//! with worked examples (`FF`) and what his three-hour recording shows (`FG`). Figures 3, 4 and 6
//! are Table 4 as rates and times, figure 5 the lines through it, figure 7 the M/M/1 curve.
//!
//! Table 4 is simulated from the drive of Table 1, with the file and the depths that the text names.
//! The recording was made on a load that he does not publish; here the arrival rate of ten-minute
//! intervals rises to a peak after two hours, and what is compared is the shape: short queues
//! before, queues longer than the service time at the peak.

use crate::library::Files;
use crate::row::Paper;

/// All of it.
pub(crate) const FILES: Files = Files {
    paper: Paper::Friedman,
    claims: include_str!("../data/friedman/claims.csv"),
    charts: &[
        ("fig03", include_str!("../data/friedman/fig03.csv")),
        ("fig04", include_str!("../data/friedman/fig04.csv")),
        ("fig05", include_str!("../data/friedman/fig05.csv")),
        ("fig06", include_str!("../data/friedman/fig06.csv")),
        ("fig07", include_str!("../data/friedman/fig07.csv")),
        ("fig09", include_str!("../data/friedman/fig09.csv")),
        ("fig10", include_str!("../data/friedman/fig10.csv")),
    ],
    chart_table: include_str!("../data/friedman/charts.csv"),
    series_table: include_str!("../data/friedman/series.csv"),
    cases: include_str!("../data/friedman/cases.csv"),
    rows: include_str!("../data/friedman/rows.csv"),
};
