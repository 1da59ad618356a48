//! fio's options by name, and what happens to those that do not become a flag.
//!
//! The names are those of fio 3.33 and 3.38, including the options of its engines.

use crate::fio::values::did_you_mean;

/// Whether an option on the command line takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// A value, after an equals sign or in the next word.
    WithValue,
    /// No value, or a value after an equals sign.
    Switch,
    /// fio has no such option.
    Unknown,
}

/// The main name of an option that has several.
pub(crate) fn canonical(name: &str) -> &str {
    match name {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "io_limit" => "io_size",
        "timeout" => "runtime",
        "wait_for_previous" => "stonewall",
        "ba" => "blockalign",
        "iomem" => "mem",
        "blocksize_range" => "bsrange",
        "blocksize_unaligned" => "bs_unaligned",
        "fileoffset" => "offset",
        "fill_fs" => "fill_device",
        "nr_files" => "nrfiles",
        "ss" => "steadystate",
        _ => name,
    }
}

/// The names that [`canonical`] replaces and that are too different for a typing error.
const ALIASES: &str = "
    blocksize readwrite io_limit timeout blocksize_range fileoffset fill_fs nr_files iomem
";

/// fio's switches: a value is only possible after an equals sign.
const SWITCHES: &str = "
    bs_unaligned blocksize_unaligned norandommap time_based verify_only exitall exitall_on_error
    stonewall wait_for_previous new_group thread group_reporting zero_buffers refill_buffers
    hipri fixedbufs registerfiles sqthread_poll userspace_reap minimal append-terse readonly
    showcmd parse-only version help warnings-fatal daemonize latency-log bandwidth-log
    eta-newline
";

/// Options that other modules of this crate read.
const READ: &str = "
    rw bs bsrange bssplit blockalign percentage_random random_distribution randseed norandommap
    rwmixread rwmixwrite filename directory size filesize offset offset_increment io_size
    number_ios loops runtime time_based ramp_time nrfiles file_service_type filename_format
    fill_device numjobs iodepth ioengine direct buffered sync invalidate overwrite mem hipri sqthread_poll
    cpus_allowed cpus_allowed_policy cpumask numa_cpu_nodes prio prioclass fsync fdatasync sync_file_range rate
    rate_iops rate_process thinktime thinktime_blocks zero_buffers buffer_compress_percentage
    verify do_verify stonewall startdelay wait_for read_iolog replay_redirect replay_time_scale
    replay_no_stall kb_base write_bw_log write_lat_log write_iops_log log_avg_msec per_job_logs
    name exec_prerun create_only flow zonemode bs_unaligned
    exitall rw_sequencer file_append
";

/// Options that are always in effect or change no request, each with a note for the user.
const NOTES: &[(&str, &str)] = &[
    ("group_reporting new_group", "the result is the total of all jobs of a section"),
    ("randrepeat allrandrepeat", "to repeat the same sequence, use randseed"),
    (
        "refill_buffers scramble_buffers buffer_pattern buffer_compress_chunk",
        "each write contains different bytes",
    ),
    (
        "dedupe_percentage dedupe_mode dedupe_global dedupe_working_set_percentage",
        "every write has different bytes, so a device that deduplicates behaves differently",
    ),
    (
        "fallocate unlink unlink_each_loop create_on_open allow_file_create",
        "a test file is removed after the run; before it, the file is written in full if a job reads, otherwise only allocated",
    ),
    ("registerfiles fixedbufs nonvectored userspace_reap", "halfpower does this if the kernel can"),
    (
        "iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low",
        "each request is submitted separately, unless submitting several at once is faster",
    ),
    (
        "gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement disable_bw clocksource gtod_cpu",
        "latencies are always measured",
    ),
    (
        "lat_percentiles clat_percentiles slat_percentiles percentile_list significant_figures",
        "percentiles are printed if the number of requests supports them",
    ),
    (
        "end_fsync fsync_on_close end_syncfs",
        "halfpower does not flush after the last write; fio does, and counts the time",
    ),
    ("exit_what exitall_on_error", "each job runs until it is finished"),
    (
        "softrandommap random_generator",
        "halfpower's own generator determines the order of random blocks",
    ),
    ("io_submit_mode", "each job submits its requests itself"),
    ("serialize_overlap", "requests of one job may overlap"),
    (
        "verify_interval verify_offset verify_pattern verify_pattern_interval verify_fatal verify_dump verify_async verify_async_cpus verify_backlog verify_backlog_batch verifysort verifysort_nr verify_state_save verify_state_load verify_header_seed verify_write_sequence experimental_verify verify_policy",
        "halfpower checks blocks after the run, with its own tags",
    ),
    (
        "write_iolog",
        "halfpower does not log requests; to record them, use halfpower record --trace-io FILE",
    ),
    (
        "write_hist_log log_hist_msec log_hist_coarseness",
        "halfpower does not log histograms; --output-format=json+ contains the histogram of the \
         run",
    ),
    (
        "log_offset log_prio log_issue_time log_max_value log_window_value log_entries log_compression log_compression_cpus log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles bwavgtime iopsavgtime",
        "logs have one line per interval and direction: time, mean, direction",
    ),
    (
        "rate_min ratemin rate_iops_min rate_cycle ratecycle max_latency",
        "the run does not end if this limit is violated; compare the limit with the result",
    ),
    (
        "continue_on_error ignore_error error_dump",
        "errors are counted by kind, and the run continues as long as the device answers",
    ),
    (
        "steadystate steadystate_duration ss_dur steadystate_ramp_time ss_ramp steadystate_check_interval ss_interval",
        "the run takes its full time, and the page shows whether the rate was steady; to end a \
         run early, use --until-precision",
    ),
    ("stats", "every job has a result"),
    ("unified_rw_reporting", "reads and writes are reported separately"),
    ("fadvise_hint write_hint", "halfpower gives the kernel no such hint"),
    ("hugepage-size", "the kernel chooses the size of huge pages"),
    ("sqthread_poll_cpu", "the kernel chooses the CPU of its polling thread"),
    (
        "status-interval",
        "progress is shown on the terminal; --interval 1s --csv FILE writes a line for each interval",
    ),
    (
        "minimal append-terse terse-version",
        "terse output is not supported; --output-format=json has the same numbers",
    ),
    ("latency-log bandwidth-log", "to write a log, use write_lat_log or write_bw_log"),
    ("idle-prof", "the page shows the CPU time"),
    (
        "trim_backlog trim_backlog_batch trim_verify_zero",
        "these options have no effect, because a job cannot mix trims and writes",
    ),
    ("openfiles", "all files are open during the run"),
    (
        "numa_mem_policy",
        "buffers are on the NUMA node of the thread that uses them; to select the node, use \
         numa_cpu_nodes",
    ),
    ("aux-path", "name files by their paths"),
];

/// Options without an effect or a note.
const SILENT: &str = "
    description thread threads eta eta-interval eta-newline disk_util create_serialize
    create_fsync unit_base max-jobs alloc-size warnings-fatal allow_mounted_write filetype
    unique_filename iomem_align mem_align debug read_iolog_chunked job_start_clock_id
    rwmixcycle
";

/// Options that are not supported, each with the reason.
const REFUSALS: &[(&str, &str)] = &[
    (
        "replay_align replay_scale replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters merge-blktrace-only",
        "halfpower replays a recording unchanged",
    ),
    ("flow_id flow_watermark flow_sleep", "the rates of jobs are independent of each other"),
    ("trim_percentage", "trims and writes in the same job are not supported"),
    ("nice", "run halfpower under nice"),
    ("uid gid", "run halfpower as that user"),
    (
        "cgroup cgroup_weight cgroup_nodelete",
        "name the group with halfpower's --cgroup, or start halfpower in that group",
    ),
    (
        "latency_target latency_window latency_percentile latency_run",
        "a run does not search for a queue depth; `halfpower check` measures the latency at each \
         depth, and `halfpower predict` computes the rate that meets a target",
    ),
    (
        "zonesize zonerange zoneskip zonecapacity read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency recover_zbd_write_error write_zone_remainder",
        "halfpower cannot confine requests to zones",
    ),
    (
        "cmdprio_percentage cmdprio_class cmdprio cmdprio_hint cmdprio_bssplit priohint",
        "all requests of a job have the same priority; set it with prio and prioclass",
    ),
    ("opendir", "name the files with filename, separated by colons"),
    ("exec_postrun", "run that command after halfpower"),
    ("ioscheduler", "set the scheduler before the run: echo NAME > /sys/block/DEV/queue/scheduler"),
    (
        "pre_read",
        "halfpower does not read the file into the page cache before the run; to do \
                  that, read it with cat",
    ),
    (
        "thinktime_spin thinktime_iotime thinktime_blocks_type thinkcycles rate_ignore_thinktime",
        "the only supported pause is a sleep after each request",
    ),
    (
        "percentage_sequential bs_is_seq_rand sprandom spr_num_regions spr_op spr_cs random_sequence_stride num_range offset_align",
        "halfpower chooses random requests differently; see --pattern",
    ),
    (
        "atomic uncached nowait force_async write_barrier lockfile lockmem libaio_vectored hipri_percentage md_per_io_size",
        "halfpower cannot set this on requests",
    ),
    ("verify_only", "blocks are checked after the writes, in the same run"),
    (
        "client server remote-config server-internal daemonize",
        "for a load from several machines, use halfpower run --hosts A,B",
    ),
    (
        "trigger trigger-file trigger-timeout trigger-remote inflate-log profile cpuclock-test crctest memcpytest cmdhelp enghelp showcmd ramp_size",
        "halfpower has no equivalent",
    ),
    (
        "fdp fdp_pli fdp_pli_select dataplacement data_placement plid_select plids dp_scheme",
        "halfpower does not send placement hints",
    ),
    ("gpu_dev_id comm", "halfpower cannot set this"),
];

/// Options that only engines of fio have.
const OF_ENGINES: &str = "
    apptag apptag_mask arguments bindname brick busy_poll chunk_size clientname clustername
    cmd_type conf cont cpuchunks cpuload cpumode cuda_io deac donorname exit_on_io_done
    gpu_dev_ids grace_time hdfs_use_direct hdfsdirectory hostname http_host http_mode http_pass
    http_s3_key http_s3_keyid http_s3_region http_s3_sse_customer_algorithm
    http_s3_sse_customer_key http_s3_storage_class http_swift_auth_token http_user http_verbose
    https initiator inplace interface libblkio_driver libblkio_path listen mss namenode nfs_url
    no_completion_thread nodelay object_class page_fault pi_act pi_chk pingpong pool port
    program protocol rbdname read_mode readfua serverip sg_write_mode skip_bad stat_type
    std_redirect touch_objects ttl uri verb volume window_size write_mode writefua xnvme_be
    xnvme_async xnvme_sync xnvme_mem direct_write_to_pmem busy_wait_polling thp
";

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|listed| listed == name)
}

pub(crate) fn is_of_engine(name: &str) -> bool {
    lists(OF_ENGINES, name)
}

fn names() -> impl Iterator<Item = &'static str> {
    let tables = NOTES.iter().chain(REFUSALS).map(|(names, _)| *names);
    let lists = [SWITCHES, READ, SILENT, OF_ENGINES, ALIASES].into_iter().chain(tables);
    lists.flat_map(str::split_whitespace)
}

/// Whether an option takes a value on the command line.
#[must_use]
pub fn option_kind(name: &str) -> OptionKind {
    if lists(SWITCHES, name) {
        return OptionKind::Switch;
    }
    let first = canonical(name);
    let listed = |names: &str| lists(names, name) || lists(names, first);
    let known = [READ, SILENT, OF_ENGINES].into_iter().any(listed)
        || NOTES.iter().chain(REFUSALS).any(|(names, _)| listed(names));
    if known { OptionKind::WithValue } else { OptionKind::Unknown }
}

/// The note, if any, for an option that did not become a flag.
///
/// # Errors
/// The reason if it is not supported.
pub(crate) fn leftover(name: &str, value: Option<&str>) -> Result<Option<&'static str>, String> {
    let first = canonical(name);
    let of = |table: &'static [(&str, &'static str)]| {
        table.iter().find(|(names, _)| lists(names, name) || lists(names, first))
    };
    if lists(SILENT, name) {
        return Ok(None);
    }
    if let Some((_, note)) = of(NOTES) {
        return Ok(Some(note));
    }
    if let Some((_, why)) = of(REFUSALS) {
        // An option that is switched off has no effect.
        let off = matches!(value, Some("0" | "none"));
        return if off { Ok(None) } else { Err((*why).to_owned()) };
    }
    if is_of_engine(name) {
        return Err("this option belongs to an engine that halfpower does not have".to_owned());
    }
    match option_kind(name) {
        OptionKind::Unknown => {
            Err(format!("fio has no such option{}", did_you_mean(name, names())))
        }
        // The option is supported, but has no effect in this job.
        _ => Ok(Some("it has no effect in this job, as in fio")),
    }
}

/// The note, if any, for a fio option among flags of `halfpower run`, without a job in fio's language.
///
/// # Errors
/// The reason if it is not allowed there.
pub fn without_load(name: &str, value: Option<&str>) -> Result<Option<&'static str>, String> {
    match canonical(name) {
        "time_based" => Ok(Some("a run always takes the whole --runtime")),
        "readonly" => Ok(Some("a run only reads, unless --rw requests writes")),
        "norandommap" => Ok(Some("random blocks can always repeat")),
        "name" => Ok(Some("a run needs no name")),
        "filename" | "directory" => Err("the target is already named; omit this option".to_owned()),
        first if lists(READ, first) => Err(
            "`halfpower run` has no such flag; add --name=JOB to use a fio command line, or use \
             the flags in `halfpower run --help`"
                .to_owned(),
        ),
        _ => leftover(name, value),
    }
}
