//! Options that become no flag: those that change nothing here, and those that are refused, with why.

/// What is done anyway, or what changes no request; `None` where there is nothing to say.
pub(crate) fn harmless(name: &str) -> Option<Option<&'static str>> {
    let note = match name {
        "description" | "thread" | "eta" | "eta-newline" | "disk_util" | "create_serialize"
        | "create_fsync" | "file_service_type" | "openfiles" | "unit_base" | "exitall"
        | "max-jobs" | "append-terse" => None,
        "group_reporting" | "new_group" => Some("the result is of all jobs of a section together"),
        "norandommap" => Some("random blocks are drawn with replacement, as with norandommap"),
        "randrepeat" | "allrandrepeat" => Some("give randseed for the same sequence again"),
        "refill_buffers" | "scramble_buffers" => Some("each write carries other bytes anyway"),
        "overwrite" | "fallocate" | "unlink" => {
            Some("a test file is written out before the run and removed after it")
        }
        "registerfiles" | "fixedbufs" | "nonvectored" => Some("done anyway where the kernel can"),
        "iodepth_batch"
        | "iodepth_batch_submit"
        | "iodepth_batch_complete"
        | "iodepth_batch_complete_min"
        | "iodepth_batch_complete_max" => {
            Some("each request is handed over by itself, unless batches turn out faster")
        }
        "gtod_reduce"
        | "disable_lat"
        | "disable_clat"
        | "disable_slat"
        | "disable_bw_measurement"
        | "clocksource"
        | "gtod_cpu" => Some("latencies are measured all the same"),
        "lat_percentiles" | "clat_percentiles" | "slat_percentiles" | "percentile_list" => {
            Some("the percentiles are those that the numbers of requests bear")
        }
        "end_fsync" | "fsync_on_close" => Some(
            "no flush after the last write is made, and its time is not counted; fio counts it",
        ),
        _ => return None,
    };
    Some(note)
}

/// Why an option cannot be honoured, where more is to say than that.
pub(crate) fn refusal(name: &str) -> &'static str {
    match name {
        "write_bw_log" | "write_lat_log" | "write_iops_log" | "write_hist_log" | "log_avg_msec"
        | "log_hist_msec" => {
            "no such logs are written; --interval 1s and --csv FILE write a line for each interval"
        }
        "write_iolog" => "requests are recorded with halfpower record --trace-io FILE",
        "replay_align" | "replay_scale" | "replay_skip" | "read_iolog_chunked" => {
            "a recording is made again as it is"
        }
        "flow" => "the rates of jobs are not tied to each other",
        "wait_for" => "a job waits for all before it (stonewall), or for none",
        "bsrange" | "bs_unaligned" | "blocksize_range" | "blocksize_unaligned" => {
            "sizes come from a list with shares; use bssplit"
        }
        "trim_percentage" | "trim_verify_zero" => "trims are not supported yet",
        "cpus_allowed" | "numa_cpu_nodes" | "numa_mem_policy" | "cpumask" => {
            "jobs are not bound to processors; run the program under taskset or numactl"
        }
        "nice" => "run the program under nice",
        "cgroup" | "cgroup_weight" => {
            "name the group with halfpower's --cgroup, or start the program in it"
        }
        "nrfiles" | "filesize" => "a job has one file; name several with filename",
        "replay_redirect" | "replay_no_stall" => "nothing is replayed yet",
        "latency_target" | "latency_window" | "latency_percentile" => {
            "the depth is not searched for; `halfpower check` tells which depth is enough"
        }
        _ => "no flag of `halfpower run` does that",
    }
}
