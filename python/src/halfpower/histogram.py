"""Histograms of latencies: the bucket scheme of the program, and percentiles from it.

Below 128 ns there is a bucket per nanosecond, above it 64 for each power of two. A bucket's middle is
within 1/128 of every value in it. A document keeps the buckets that hold something, as pairs of index
and count.
"""

import math

from .errors import HalfpowerError

_SUB_BITS = 6
#: Number of buckets.
BUCKETS = (64 - _SUB_BITS + 1) << _SUB_BITS
#: As fewer values than this lie beyond a percentile, it is not known.
_LEAST_BEYOND = 10


def bucket_low(index):
    """The smallest value of a bucket, in nanoseconds."""
    if not 0 <= index < BUCKETS:
        raise HalfpowerError(f"a histogram has a bucket {index}, but only {BUCKETS} exist")
    shift = max((index >> _SUB_BITS) - 1, 0)
    return (index - (shift << _SUB_BITS)) << shift


def bucket_high(index):
    """The largest value of a bucket, in nanoseconds."""
    if index == BUCKETS - 1:
        return 2**64 - 1
    return bucket_low(index + 1) - 1


def percentile(buckets, share):
    """The value, in nanoseconds, at or below which a share (0 to 1) of the values lies.

    `buckets` are pairs of index and count, by rising index; those of several histograms may stand beside
    each other. The value is the middle of its bucket. It is `None` with fewer than ten values beyond it (for
    shares of one half and above), as in the program.
    """
    total = sum(count for _, count in buckets)
    few = share >= 0.5 and (1.0 - share) * total < _LEAST_BEYOND - 1e-6
    if total == 0 or few:
        return None
    rank = max(math.ceil(share * total), 1)
    seen = 0
    for index, count in buckets:
        seen += count
        if seen >= rank:
            break
    return (float(bucket_low(index)) + float(bucket_high(index))) / 2.0
