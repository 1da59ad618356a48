//! Riedel, van Ingen and Gray 1997: the files of `data/riedel`.
//!
//! Claims and charts are as transcribed; the README beside them says how the charts were recovered
//! from the workbook in the paper. Its megabytes are 2^20 bytes.

use crate::library::Files;
use crate::row::Paper;

/// Pairs of a chart's name and its text.
macro_rules! charts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../data/riedel/", $name, ".csv")))),*]
    };
}

/// All of it.
pub(crate) const FILES: Files = Files {
    paper: Paper::Riedel,
    claims: include_str!("../data/riedel/claims.csv"),
    charts: charts![
        "fig02_out_of_box_overhead",
        "fig02_out_of_box_throughput",
        "fig03_fastwide_lastpoint_VARIANT",
        "fig03_unbuffered_read",
        "fig03_unbuffered_write_WCE",
        "fig03_unbuffered_write_noWCE",
        "fig04_cpu_ms_per_mb",
        "fig04_cpu_ms_per_request",
        "fig04_cpu_utilization",
        "fig05_overhead_with_unbuffered_write",
        "fig05_ultra_summary_throughput",
        "fig06_read_depth_1fast",
        "fig06_read_depth_1fast_VARIANT_bogus",
        "fig06_write_depth_1fast",
        "fig07_read_depth_4fast",
        "fig07_read_depth_4fast_VARIANT_bogus",
        "fig08_cpu_ms_per_mb_8unnamed",
        "fig08_read_stripes_3deep_fast",
        "fig08_read_stripes_3deep_fast_VARIANT",
        "fig08_write_stripes_3deep_fast_WCE",
        "fig08_write_stripes_3deep_fast_noWCE",
        "fig10_three_disks_1deep",
        "fig12_allocate_extend",
        "fig13_alignment_4ultra_3deep",
        "fig14_radial_zones",
        "fig16_striping_read",
        "fig16_striping_write",
        "fig17_raid5_cpu_ms_per_mb",
        "fig17_raid5_throughput",
        "table03_cache_vs_prefetch_hit",
    ],
    chart_table: include_str!("../data/riedel/charts.csv"),
    series_table: include_str!("../data/riedel/series.csv"),
    cases: include_str!("../data/riedel/cases.csv"),
    rows: include_str!("../data/riedel/rows.csv"),
};
