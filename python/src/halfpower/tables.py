"""The tables that documents make: names, kinds and values of their columns, as plain dicts.

The tables of trials have the columns of the files of `halfpower export --csv`. Names end in the unit;
what was not measured is `None`, never zero.
"""

import datetime
from collections import namedtuple

from . import histogram
from .errors import HalfpowerError

TEXT, TIME, INTEGER, UNSIGNED, NUMBER, FLAG = "text", "time", "integer", "unsigned", "number", "flag"

#: A column: its name, its kind, and a function that gives its value.
Column = namedtuple("Column", "name kind value")
#: A table: the kind of document that makes it, its columns, and a function from a document to what the
#: values are taken of.
Spec = namedtuple("Spec", "kind columns parts")

_OPERATIONS = ("read", "write", "trim", "flush")
#: A visit has percentiles from this many times its depth on, in requests.
_FILLED = 10
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _path(*keys, absent=()):
    """A value deep in a document. `None` on the way is `None`; a key that is missing is an error, unless
    documents may leave it out."""

    def value(document):
        for key in keys:
            if document is None:
                return None
            document = document.get(key) if key in absent else document[key]
        return document

    return value


def _measured(*keys):
    """The same below a value that may be `{"not_measured": reason}`."""

    def value(document):
        for key in keys:
            if document is None or isinstance(document, dict) and "not_measured" in document:
                return None
            document = document[key]
        if isinstance(document, dict) and "not_measured" in document:
            return None
        return document

    return value


def _columns(prefix, of, columns):
    """The columns of a part of a document, with names that begin with `prefix`."""

    def within(value):
        def of_part(document):
            part = of(document)
            return None if part is None else value(part)

        return of_part

    return [Column(prefix + name, kind, within(value)) for name, kind, value in columns]


def nanoseconds(time):
    """A time of RFC 3339 as nanoseconds since 1970; digits beyond nanoseconds are dropped."""
    if time is None:
        return None
    try:
        whole, _, zone = time.partition("Z")
        if zone or not time.endswith("Z"):
            raise ValueError("it does not end in Z")
        whole, _, fraction = whole.partition(".")
        if fraction and not fraction.isdecimal():
            raise ValueError("its fraction is no number")
        moment = datetime.datetime.fromisoformat(whole + "+00:00")
    except ValueError as error:
        raise HalfpowerError(f"{time!r} is no time in UTC of RFC 3339: {error}") from None
    seconds = round((moment - _EPOCH) / datetime.timedelta(seconds=1))
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])


# Trials


def _jobs(trial):
    """The jobs of a trial, each as if it had been alone. Counters that do not tell jobs apart are those of
    a trial with one job only."""
    beside = trial["workload"].get("beside", [])
    if not beside:
        return [dict(trial, job=0)]
    first = dict(trial, job=0, cpu=None, device_counters=None)
    jobs = [first]
    for number, (asked, came) in enumerate(zip(beside, trial.get("beside", [])), 1):
        targets = came["targets"] or trial["targets"]
        parts = {key: came[key] for key in ("result", "findings")}
        jobs.append(dict(first, job=number, workload=asked["workload"], targets=targets, **parts))
    return jobs


def _target_names(job):
    return " ".join(target["path"] for target in job["targets"])


def _first_target(*keys):
    value = _path(*keys)
    return lambda job: value(job["targets"][0]) if job["targets"] else None


def _only_size(job):
    sizes = job["workload"]["bs"]
    return sizes[0]["bytes"] if len(sizes) == 1 else None


def _size_mix(job):
    sizes = job["workload"]["bs"]
    if len(sizes) == 1:
        return None
    return ":".join(f"{size['bytes']}/{size['percent']}" for size in sizes)


def _workload(name):
    return _path("workload", name, absent=(name,))


_SUMMARY = [
    ("mean_ns", NUMBER, _path("mean")),
    ("stddev_ns", NUMBER, _path("stddev")),
    ("min_ns", INTEGER, _path("min")),
    ("p50_ns", NUMBER, _path("p50")),
    ("p90_ns", NUMBER, _path("p90")),
    ("p95_ns", NUMBER, _path("p95")),
    ("p99_ns", NUMBER, _path("p99")),
    ("p99_9_ns", NUMBER, _path("p99_9")),
    ("p99_99_ns", NUMBER, _path("p99_99")),
    ("max_ns", INTEGER, _path("max")),
    ("mean_ci95_rel", NUMBER, _path("mean_ci95_rel")),
]

_INTERVAL_DIRECTION = [
    ("ios", INTEGER, _path("ios")),
    ("bytes", INTEGER, _path("bytes")),
    ("iops", NUMBER, _path("iops")),
    ("bytes_per_s", NUMBER, _path("bytes_per_s")),
]

_DIRECTION = _INTERVAL_DIRECTION + [
    ("iops_ci95_rel", NUMBER, _path("iops_ci95_rel")),
    ("errors", INTEGER, _path("errors")),
    ("short", INTEGER, _path("short")),
    ("offered_iops", NUMBER, _path("offered_iops")),
]

_OF_JOB = [
    Column("trial_id", TEXT, _path("id")),
    Column("job", INTEGER, _path("job")),
]

_TRIAL = _OF_JOB + [
    Column("time", TIME, lambda job: nanoseconds(job["time"])),
    Column("simulated", FLAG, _path("simulated")),
    Column("valid", FLAG, lambda job: all(it["severity"] != "invalid" for it in job["findings"])),
    Column("findings", TEXT, lambda job: " ".join(it["code"] for it in job["findings"])),
    Column("halfpower_version", TEXT, _path("halfpower_version")),
    Column("seed", UNSIGNED, _path("seed")),
    Column("cell", TEXT, _path("cell")),
    Column("target", TEXT, _target_names),
    Column("target_kind", TEXT, _first_target("kind")),
    Column("target_size_bytes", INTEGER, _first_target("size_bytes")),
    Column("device", TEXT, _first_target("device", "disk")),
    Column("model", TEXT, _first_target("device", "model")),
    Column("job_name", TEXT, _workload("name")),
    Column("engine", TEXT, _workload("engine")),
    Column("cache", TEXT, _workload("cache")),
    Column("pattern", TEXT, _workload("pattern")),
    Column("read_percent", INTEGER, _workload("read_percent")),
    Column("instead", TEXT, _workload("instead")),
    Column("bs_bytes", INTEGER, _only_size),
    Column("bs_mix", TEXT, _size_mix),
    Column("iodepth", INTEGER, _workload("iodepth")),
    Column("numjobs", INTEGER, _workload("numjobs")),
    Column("depth", INTEGER, _workload("depth")),
    Column("arrival", TEXT, _workload("arrival")),
    Column("rate_iops", INTEGER, _workload("rate_iops")),
    Column("offset_bytes", INTEGER, _workload("offset_bytes")),
    Column("size_bytes", INTEGER, _workload("size_bytes")),
    Column("runtime_ns", INTEGER, _workload("runtime_ns")),
    Column("duration_ns", INTEGER, _path("result", "duration_ns")),
    Column("steady", FLAG, _path("result", "steady")),
    Column("ended_by", TEXT, _path("result", "ended_by")),
    # Documents from before it was counted have none, which the program reads as none, too.
    Column("unanswered", INTEGER, lambda job: job["result"].get("unanswered", 0)),
    Column("concurrency", NUMBER, _path("result", "concurrency")),
    Column("open_loop_offered_iops", NUMBER, _path("result", "open_loop", "offered_iops")),
    Column("open_loop_late_mean_ns", NUMBER, _path("result", "open_loop", "late_mean_ns")),
    Column("open_loop_late_p99_ns", NUMBER, _path("result", "open_loop", "late_p99_ns")),
    Column("open_loop_late_max_ns", INTEGER, _path("result", "open_loop", "late_max_ns")),
    Column("open_loop_backlog_max", INTEGER, _path("result", "open_loop", "backlog_max")),
    Column("cpu_user_ms", NUMBER, _measured("cpu", "user_ms")),
    Column("cpu_system_ms", NUMBER, _measured("cpu", "system_ms")),
    Column("cpu_lower_us_per_io", NUMBER, _measured("cpu", "lower_us_per_io")),
    Column("cpu_upper_us_per_io", NUMBER, _measured("cpu", "upper_us_per_io")),
    Column("device_counters_of", TEXT, _measured("device_counters", "device")),
    Column("device_ios", INTEGER, _measured("device_counters", "ios")),
    Column("device_bytes", INTEGER, _measured("device_counters", "bytes")),
    Column("device_merges", INTEGER, _measured("device_counters", "merges")),
    Column("device_busy_ms", NUMBER, _measured("device_counters", "busy_ms")),
    Column("device_concurrency", NUMBER, _measured("device_counters", "concurrency")),
    Column("harness_ceiling_iops", NUMBER, _measured("harness", "ceiling_iops")),
]
_OF_OPERATIONS = []
for _name in _OPERATIONS:
    _of = _path("result", _name, absent=(_name,))
    _OF_OPERATIONS += _columns(f"{_name}_", _of, _DIRECTION)
    for _times in ("latency", "completion"):
        _of_times = _path("result", _name, f"{_times}_ns", absent=(_name,))
        _OF_OPERATIONS += _columns(f"{_name}_{_times}_", _of_times, _SUMMARY)
_TRIAL += _OF_OPERATIONS


def _intervals(trial):
    for job in _jobs(trial):
        for interval in job["result"]["intervals"] or []:
            yield dict(interval, id=job["id"], job=job["job"], target=_target_names(job))


_INTERVAL = _OF_JOB + [
    Column("target", TEXT, _path("target")),
    Column("begin_ns", INTEGER, _path("begin_ns")),
    Column("length_ns", INTEGER, _path("length_ns")),
    Column("concurrency", NUMBER, _path("concurrency")),
]
for _name in _OPERATIONS:
    _INTERVAL += _columns(f"{_name}_", _path(_name, absent=(_name,)), _INTERVAL_DIRECTION)
    _of_times = _path(_name, "latency_ns", absent=(_name,))
    _INTERVAL += _columns(f"{_name}_latency_", _of_times, _SUMMARY)


def _buckets(trial):
    for job in _jobs(trial):
        for operation in _OPERATIONS:
            direction = job["result"].get(operation)
            for bucket, ios in direction["histogram"] if direction else []:
                yield {
                    "id": job["id"],
                    "job": job["job"],
                    "operation": operation,
                    "bucket": bucket,
                    "ios": ios,
                }


_BUCKET = _OF_JOB + [
    Column("operation", TEXT, _path("operation")),
    Column("bucket", INTEGER, _path("bucket")),
    Column("low_ns", INTEGER, lambda row: histogram.bucket_low(row["bucket"])),
    Column("high_ns", INTEGER, lambda row: histogram.bucket_high(row["bucket"])),
    Column("ios", INTEGER, _path("ios")),
]

# Clients of a trial that several machines made

#: What of a trial is said of the part of a client.
_OF_PART = (
    "valid",
    "findings",
    "target",
    "target_size_bytes",
    "device",
    "model",
    "duration_ns",
    "ended_by",
    "unanswered",
    "concurrency",
    "cpu_user_ms",
    "cpu_system_ms",
    "cpu_lower_us_per_io",
    "device_counters_of",
    "device_ios",
    "device_bytes",
    "device_merges",
    "device_busy_ms",
    "device_concurrency",
    "harness_ceiling_iops",
)


def _clients(trial):
    """The clients of a trial, each with its own part of it, if it has one."""
    together = trial.get("clients")
    parts = {part["id"]: part for part in trial.get("parts", [])}
    for client in together["each"] if together else []:
        part = parts.get(client["trial_id"])
        yield dict(client, id=trial["id"], together=together, part=part)


_CLIENT = [
    Column("trial_id", TEXT, _path("id")),
    Column("client", INTEGER, _path("rank")),
    Column("host", TEXT, _path("host")),
    Column("hostname", TEXT, _path("hostname")),
    Column("part_id", TEXT, _path("trial_id")),
    Column("first_job", INTEGER, _path("first_job")),
    Column("jobs", INTEGER, _path("jobs")),
    Column("depth", INTEGER, _path("depth", absent=("depth",))),
    Column("share", NUMBER, _path("share")),
    Column("iops_per_job", NUMBER, _path("iops_per_job")),
    Column("begin_skew_ns", INTEGER, _path("begin_skew_ns")),
    Column("clock_offset_ns", INTEGER, _path("clock", "offset_ns")),
    Column("clock_error_ns", INTEGER, _path("clock", "error_ns")),
    Column("clock_round_trip_ns", INTEGER, _path("clock", "round_trip_ns")),
    Column("clock_drift_ns", INTEGER, _path("clock", "drift_ns")),
    Column("lost", TEXT, _path("lost", "kind")),
    Column("lost_reason", TEXT, _path("lost", "reason")),
    Column("lost_until_ns", INTEGER, _path("lost", "until_ns")),
    Column("lost_ios", INTEGER, _path("lost", "ios")),
    Column("lost_bytes", INTEGER, _path("lost", "bytes")),
    Column("clients", INTEGER, lambda client: len(client["together"]["each"])),
    Column("sharing", TEXT, _path("together", "sharing")),
    Column("start_spread_ns", INTEGER, _path("together", "start_spread_ns")),
    Column("start_spread_error_ns", INTEGER, _path("together", "start_spread_error_ns")),
    Column("common_window_ns", INTEGER, _path("together", "common_window_ns")),
    Column("jain_index", NUMBER, _path("together", "jain_index")),
    *_columns("", _path("part"), [column for column in _TRIAL if column.name in _OF_PART]),
    *_columns("", _path("part"), _OF_OPERATIONS),
]

# Profiles


def _cells(profile):
    for cell in profile["cells"] + profile.get("mixes", []):
        yield dict(cell, profile=profile, targets=[profile["target"]])


def _estimate(name, of):
    """A measured value with the ends of its 95 % interval."""
    head, unit = name
    return [
        Column(f"{head}_{unit}", NUMBER, lambda row: (of(row) or {}).get("value")),
        Column(f"{head}_low_{unit}", NUMBER, lambda row: (of(row) or {}).get("low")),
        Column(f"{head}_high_{unit}", NUMBER, lambda row: (of(row) or {}).get("high")),
    ]


def _is_filled(cell):
    """Whether the visits of a cell are long enough for the percentiles of a full queue."""
    workload = cell["workload"]
    visits = len(cell["trial_ids"])
    is_closed = workload["arrival"] == "closed" and workload["depth"] > 1
    return not is_closed or cell["ios"] >= _FILLED * workload["depth"] * visits


def _cell_percentile(share):
    return lambda cell: histogram.percentile(cell["histogram"], share) if _is_filled(cell) else None


_CELL = [
    Column("profile_id", TEXT, _path("profile", "id")),
    Column("time", TIME, lambda cell: nanoseconds(cell["profile"]["time"])),
    Column("simulated", FLAG, _path("profile", "simulated")),
    Column("halfpower_version", TEXT, _path("profile", "halfpower_version")),
    Column("target", TEXT, _target_names),
    Column("target_kind", TEXT, _first_target("kind")),
    Column("device", TEXT, _first_target("device", "disk")),
    Column("model", TEXT, _first_target("device", "model")),
    Column("cell", TEXT, _path("cell")),
    Column("engine", TEXT, _workload("engine")),
    Column("cache", TEXT, _workload("cache")),
    Column("pattern", TEXT, _workload("pattern")),
    Column("read_percent", INTEGER, _workload("read_percent")),
    Column("bs_bytes", INTEGER, _only_size),
    Column("bs_mix", TEXT, _size_mix),
    Column("depth", INTEGER, _workload("depth")),
    Column("arrival", TEXT, _workload("arrival")),
    Column("rate_iops", INTEGER, _workload("rate_iops")),
    Column("trials", INTEGER, lambda cell: len(cell["trial_ids"])),
    Column("ios", INTEGER, _path("ios")),
    Column("iops", NUMBER, _path("iops", "value")),
    Column("iops_low", NUMBER, _path("iops", "low")),
    Column("iops_high", NUMBER, _path("iops", "high")),
    Column("rerun_iops_low", NUMBER, _path("rerun_iops", "low")),
    Column("rerun_iops_high", NUMBER, _path("rerun_iops", "high")),
    Column("bytes_per_s", NUMBER, _path("bytes_per_s", "value")),
    *_estimate(("latency_mean", "ns"), _path("latency_ns")),
    Column("latency_p50_ns", NUMBER, _cell_percentile(0.50)),
    Column("latency_p99_ns", NUMBER, _cell_percentile(0.99)),
    Column("latency_p99_9_ns", NUMBER, _cell_percentile(0.999)),
    Column("utilization", NUMBER, _measured("utilization")),
    *_estimate(("service", "ns"), _measured("service_ns")),
    Column("device_share", NUMBER, _measured("device_share")),
    *_estimate(("cpu", "us_per_io"), _measured("cpu_us_per_io")),
    Column("precise", FLAG, _path("precise")),
]

# Observations


def _observed(observation):
    # A simulated source counts from its own start, which is no time of a calendar.
    dated = observation["time"] is not None
    for interval in observation["intervals"]:
        begin = interval["begin_ns"] if dated else None
        yield dict(interval, observation=observation, begin=begin)


def _figure(*keys):
    """The value of a figure, which a source may not tell."""
    return _path(*keys, "value", absent=keys[-1:])


_OBSERVED = [
    Column("observation_id", TEXT, _path("observation", "id")),
    Column("source", TEXT, _path("observation", "source")),
    Column("host", TEXT, _path("observation", "host")),
    Column("device", TEXT, _path("device")),
    Column("begin", TIME, _path("begin")),
    Column("begin_ns", INTEGER, _path("begin_ns")),
    Column("duration_ns", INTEGER, _path("duration_ns")),
]
for _name in ("read", "write", "all"):
    for _figure_name in (
        "per_s",
        "bytes_per_s",
        "request_bytes",
        "merged_per_s",
        "latency_ns",
    ):
        _OBSERVED.append(Column(f"{_name}_{_figure_name}", NUMBER, _figure(_name, _figure_name)))
_OBSERVED += [
    Column(name, NUMBER, _figure(name))
    for name in (
        "discards_per_s",
        "flushes_per_s",
        "flush_latency_ns",
        "busy_share",
        "concurrency",
        "in_flight",
        "splits_per_s",
    )
]

# Diagnoses


def _episodes(diagnosis):
    for device in diagnosis["devices"]:
        for number, episode in enumerate(device["episodes"]):
            yield dict(
                episode, diagnosis=diagnosis, of=device, number=number, worst=device["worst"] == number
            )


def _of_episode(name):
    def parts(diagnosis):
        for episode in _episodes(diagnosis):
            for part in episode[name]:
                yield dict(part, diagnosis=diagnosis, of=episode["of"], number=episode["number"])

    return parts


def _remedies(diagnosis):
    for device in diagnosis["devices"]:
        for rank, remedy in enumerate(device["advice"]):
            yield dict(remedy, diagnosis=diagnosis, of=device, number=remedy["episode"], rank=rank)


_OF_EPISODE = [
    Column("diagnosis_id", TEXT, _path("diagnosis", "id")),
    Column("device", TEXT, _path("of", "device")),
    Column("episode", INTEGER, _path("number")),
]

_EPISODE = _OF_EPISODE + [
    Column("time", TIME, lambda row: nanoseconds(row["diagnosis"]["time"])),
    Column("observation_id", TEXT, _path("diagnosis", "observation_id")),
    Column("source", TEXT, _path("diagnosis", "source")),
    Column("host", TEXT, _path("diagnosis", "host")),
    Column("model", TEXT, _path("of", "model")),
    Column("profile_id", TEXT, _measured("of", "profile", "profile_id")),
    Column("worst", FLAG, _path("worst")),
    Column("begin_ns", INTEGER, _path("begin_ns")),
    Column("duration_ns", INTEGER, _path("duration_ns")),
    Column("share_of_time", NUMBER, _path("share_of_time")),
    Column("activity", TEXT, _path("activity")),
    Column("verdict", TEXT, _path("verdict")),
    Column("confidence", TEXT, _path("confidence")),
    Column("probability", NUMBER, _path("probability")),
    Column("claim", TEXT, _path("claim")),
    Column("requests", NUMBER, _path("numbers", "requests")),
    Column("iops", NUMBER, _path("numbers", "iops")),
    Column("read_share", NUMBER, _path("numbers", "read_share")),
    Column("bytes_per_s", NUMBER, _path("numbers", "bytes_per_s")),
    Column("request_bytes", NUMBER, _path("numbers", "request_bytes")),
    Column("latency_ns", NUMBER, _path("numbers", "latency_ns")),
    Column("read_latency_ns", NUMBER, _path("numbers", "read_latency_ns")),
    Column("write_latency_ns", NUMBER, _path("numbers", "write_latency_ns")),
    Column("concurrency", NUMBER, _path("numbers", "concurrency")),
    Column("utilization", NUMBER, _path("numbers", "utilization")),
    Column("friedman_service_ns", NUMBER, _path("utilization_law", "service_ns")),
    Column("friedman_queue_ns", NUMBER, _path("utilization_law", "queue_ns")),
    Column("unloaded_ns", NUMBER, _path("calibrated", "unloaded_ns")),
    *_estimate(("expected", "ns"), _path("calibrated", "expected_ns")),
    Column("latency_ratio", NUMBER, _path("calibrated", "latency_ratio")),
    Column("saturation", NUMBER, _path("calibrated", "saturation")),
]

_CAUSE = _OF_EPISODE + [
    Column("cause", TEXT, _path("code")),
    Column("claim", TEXT, _path("claim")),
]

_ALTERNATIVE = _OF_EPISODE + [
    Column("verdict", TEXT, _path("verdict")),
    Column("probability", NUMBER, _path("probability")),
    Column("doubt", TEXT, _path("doubt")),
    Column("because", TEXT, _path("because")),
    Column("decided_by", TEXT, _path("decided_by")),
]

_REMEDY = _OF_EPISODE + [
    Column("rank", INTEGER, _path("rank")),
    Column("strategy", TEXT, _path("strategy")),
    Column("cause", TEXT, _path("cause")),
    Column("action", TEXT, _path("action")),
    Column("gain", NUMBER, _path("gain")),
    Column("latency_before_ns", NUMBER, _measured("effect", "latency_before_ns")),
    *_estimate(("latency_after", "ns"), _measured("effect", "latency_after_ns")),
    Column("iops_before", NUMBER, _measured("effect", "iops_before")),
    Column("iops_after", NUMBER, _measured("effect", "iops_after", "value")),
    Column("assumes", TEXT, _path("assumes")),
    Column("cost", TEXT, _path("cost")),
    Column("how_to_check", TEXT, _path("how_to_check")),
]

#: All tables by name.
TABLES = {
    "trials": Spec("trial", _TRIAL, _jobs),
    "intervals": Spec("trial", _INTERVAL, _intervals),
    "histograms": Spec("trial", _BUCKET, _buckets),
    "clients": Spec("trial", _CLIENT, _clients),
    "profiles": Spec("profile", _CELL, _cells),
    "observations": Spec("observation", _OBSERVED, _observed),
    "diagnoses": Spec("diagnosis", _EPISODE, _episodes),
    "causes": Spec("diagnosis", _CAUSE, _of_episode("causes")),
    "alternatives": Spec("diagnosis", _ALTERNATIVE, _of_episode("alternatives")),
    "remedies": Spec("diagnosis", _REMEDY, _remedies),
}


def spec(table):
    """The table of a name."""
    if table not in TABLES:
        raise HalfpowerError(f"no table {table!r}; there are {', '.join(TABLES)}")
    return TABLES[table]


def rows_of(table, document):
    """The rows that a document makes in a table, as dicts."""
    try:
        return [
            {column.name: column.value(part) for column in table.columns}
            for part in table.parts(document)
        ]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise HalfpowerError(
            f"{table.kind} {document.get('id')} is not what its schema {document.get('schema')} says "
            f"({type(error).__name__}: {error})"
        ) from error
