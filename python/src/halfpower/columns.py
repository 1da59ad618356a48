"""Intervals of an observation as the database keeps them: columns in a zlib stream.

The form is that of ``crates/store/src/columns.rs``: sections of a line of JSON and as many bytes as it says.
"""

import json
import struct
import zlib

_QUALITIES = (None, "measured", "derived")
_OPS = ("read", "write", "all")
_FIGURES_OF_OPS = ("per_s", "bytes_per_s", "request_bytes", "merged_per_s", "latency_ns")
_FIGURES = (
    "discards_per_s",
    "flushes_per_s",
    "busy_share",
    "concurrency",
    "in_flight",
    "splits_per_s",
)


def read_columns(packed):
    """The intervals and contexts of a database's column, as in the JSON of an observation."""
    data = zlib.decompress(packed)
    at, intervals, contexts, devices = 0, [], [], []
    while at < len(data):
        end = data.index(b"\n", at)
        section = json.loads(data[at:end])
        part = data[end + 1 : end + 1 + section["bytes"]]
        if len(part) != section["bytes"]:
            raise ValueError(f"column {section['name']!r} is cut")
        at = end + 1 + section["bytes"]
        name, count = section["name"], len(intervals)
        if "count" in section:
            devices = section.get("devices", [])
            intervals = [_interval() for _ in range(section["count"])]
        elif name == "others":
            others = json.loads(part)
            contexts = others["contexts"]
            for other in others["intervals"]:
                intervals[other.pop("interval")].update(other)
        elif name in ("device", "begin_ns", "duration_ns"):
            last = 0
            for interval, step in zip(intervals, _numbers(part, section["width"], count)):
                last = (last + step) % (1 << 64)
                interval[name] = devices[last] if name == "device" else last
        else:
            _set_figures(intervals, section, part)
    return intervals, contexts


def _interval():
    interval = {"device": "", "begin_ns": 0, "duration_ns": 0, "traced": None}
    for op in _OPS:
        interval[op] = dict.fromkeys(_FIGURES_OF_OPS)
    interval.update(dict.fromkeys(_FIGURES))
    return interval


def _set_figures(intervals, section, part):
    count = len(intervals)
    qualities, part = part[:count], part[count:]
    some = count - qualities.count(0)
    width = section.get("width")
    size = (width or 8) * some
    if width:
        divisor, factor = section["divisor"], section["factor"]
        values = [step / divisor * factor for step in _numbers(part[:size], width, some)]
    else:
        values = _doubles(part[:size], some)
    same = section.get("resolution")
    resolutions = [same] * some if same is not None else _doubles(part[size:], some)
    figures = iter(zip(values, resolutions))
    *above, key = section["name"].split(".")
    for interval, quality in zip(intervals, qualities):
        if quality:
            value, resolution = next(figures)
            owner = interval[above[0]] if above else interval
            owner[key] = {"value": value, "quality": _QUALITIES[quality], "resolution": resolution}


def _rows(planes, width, count):
    """Numbers one after the other, of byte planes."""
    if len(planes) != width * count:
        raise ValueError("a column has the wrong length")
    rows = bytearray(len(planes))
    for plane in range(width):
        rows[plane::width] = planes[plane * count : (plane + 1) * count]
    return bytes(rows)


def _numbers(planes, width, count):
    letter = {1: "b", 2: "h", 4: "i", 8: "q"}[width]
    return struct.unpack(f"<{count}{letter}", _rows(planes, width, count))


def _doubles(planes, count):
    return struct.unpack(f"<{count}d", _rows(planes, 8, count))
