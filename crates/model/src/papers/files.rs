//! Embeds the data files of each paper (`data/`) in the program.
//!
//! **Riedel, van Ingen and Gray 1997.** Claims and charts as transcribed. The README next to them explains
//! how the charts were recovered from the workbook in the paper. Its megabytes are 2^20 bytes.
//!
//! **Chung, Gray, Worthington and Horst 2000.** The figures are pictures without data, so there are only
//! claims: those of the text, then the small tables as rows of their own (`CB` buffering modes, `CP` pairs
//! of processor costs, `CT8` the trace format, `CT9` random I/O). Megabytes are 10^6 bytes; in processor
//! costs, `ms/MB`, the paper counts 1,024 KB. Some quantities are printed twice with different values. Then
//! the row whose value follows from the rest of the paper is derived or simulated. The other row is not
//! testable, and its reason is the contradiction. A measured processor cost is an input of the simulated
//! host, so a run that reproduces it would prove nothing.
//!
//! **Friedman, "A simplified approach to Windows disk tuning".** Claims are the rates of the text, then the
//! cells of Tables 1 to 6 (`FT1` to `FT6`), his formulae with worked examples (`FF`) and the results of his
//! three-hour recording (`FG`). Figures 3, 4 and 6 are Table 4 as rates and times, figure 5 the lines
//! through it, figure 7 the M/M/1 curve. Table 4 is simulated from the drive of Table 1, with the file and
//! the queue depths that the text names. He does not publish the load of the recording. Here the arrival
//! rate of ten-minute intervals rises to a peak after two hours. The shape is compared: short queues before
//! the peak, queues longer than the service time at the peak.

use crate::papers::library::Files;
use crate::papers::row::Paper;

/// The files of a paper in its folder, with those of its charts.
macro_rules! files {
    ($paper:ident in $folder:literal, charts $($chart:literal)*) => {
        Files {
            paper: Paper::$paper,
            claims: files!($folder, "claims"),
            charts: &[$(($chart, files!($folder, $chart))),*],
            chart_table: files!($folder, "charts"),
            series_table: files!($folder, "series"),
            cases: files!($folder, "cases"),
            rows: files!($folder, "rows"),
        }
    };
    ($folder:literal, $name:literal) => {
        include_str!(concat!("../../data/", $folder, "/", $name, ".csv"))
    };
}

pub(crate) const FILES: &[Files] = &[
    files!(Riedel in "riedel", charts
        "fig02_out_of_box_overhead"
        "fig02_out_of_box_throughput"
        "fig03_fastwide_lastpoint_VARIANT"
        "fig03_unbuffered_read"
        "fig03_unbuffered_write_WCE"
        "fig03_unbuffered_write_noWCE"
        "fig04_cpu_ms_per_mb"
        "fig04_cpu_ms_per_request"
        "fig04_cpu_utilization"
        "fig05_overhead_with_unbuffered_write"
        "fig05_ultra_summary_throughput"
        "fig06_read_depth_1fast"
        "fig06_read_depth_1fast_VARIANT_bogus"
        "fig06_write_depth_1fast"
        "fig07_read_depth_4fast"
        "fig07_read_depth_4fast_VARIANT_bogus"
        "fig08_cpu_ms_per_mb_8unnamed"
        "fig08_read_stripes_3deep_fast"
        "fig08_read_stripes_3deep_fast_VARIANT"
        "fig08_write_stripes_3deep_fast_WCE"
        "fig08_write_stripes_3deep_fast_noWCE"
        "fig09_one_or_two_scsi_busses"
        "fig10_three_disks_1deep"
        "fig10_three_disks_3deep"
        "fig12_allocate_extend"
        "fig13_alignment_4ultra_3deep"
        "fig14_radial_zones"
        "fig16_striping_read"
        "fig16_striping_write"
        "fig17_raid5_cpu_ms_per_mb"
        "fig17_raid5_throughput"
        "table03_cache_vs_prefetch_hit"
    ),
    files!(Chung in "chung", charts),
    files!(Friedman in "friedman", charts
        "fig03" "fig04" "fig05" "fig06" "fig07" "fig09" "fig10"
    ),
];
