"""Results of the program on simulated devices: the same each time, made once for all tests."""

import csv
import functools
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("HALFPOWER_BIN")

#: Runs with reads and writes, an open loop, several jobs, mixed sizes, trims, and too few requests for
#: most percentiles.
RUNS = {
    "mixed": "sim:mmc,service=1ms,servers=4 --rw randrw --iodepth 8 --interval 1s --runtime 5s",
    "open": "sim:mm1,service=5ms --rate-iops 100 --arrival poisson --iodepth 64 --interval 2s",
    "beside": "sim:mmc,service=1ms,servers=4 --iodepth 4 --bs 4k/60:64k/40 --interval 1s --runtime 3s "
    "--beside=--rw=randwrite\t--iodepth=2\t--job-name=log",
    "few": "sim:mm1,service=5ms --runtime 200ms --interval 100ms",
}


def run(words, cwd=None, code=0, more=()):
    """Runs the program, which must end so (with one of these codes), and gives its standard output."""
    if not PROGRAM:
        raise unittest.SkipTest("HALFPOWER_BIN names no program")
    environment = {**os.environ, "XDG_DATA_HOME": "/proc/none"}
    environment.pop("HALFPOWER_DB", None)
    arguments = [word.replace("\t", " ") for word in words.split(" ")] + list(more)
    ended = subprocess.run(
        [PROGRAM, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode not in (code if isinstance(code, tuple) else (code,)):
        raise AssertionError(f"{words} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


class Produced:
    """A database, and what the program printed when it was filled."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.database = self.folder / "kept.db"
        self.trials = {}
        for name, words in RUNS.items():
            # Of several jobs the program writes no CSV.
            csv_file = "" if name == "beside" else f" --csv {name}.csv"
            self.trials[name] = json.loads(self.run(f"run {words} --json{csv_file}"))
        target = "sim:mmc,servers=8,service=1ms"
        self.profile = json.loads(self.run(f"check {target} --budget 10s --json"))
        load = "--load\trate-iops=2500 arrival=poisson iodepth=64"
        slower = target.replace("1ms", "1500us")
        words = f"diagnose {slower} --profile last --json --csv diagnosis.csv"
        self.diagnosis = json.loads(self.run(words, more=load.split("\t")))

        self.together = self._together()

    def _together(self):
        """A trial of two agents on this machine, which is another one each time; what the machine gives
        may be clean or not."""
        for rank in range(2):
            (self.folder / f"of-{rank}").write_bytes(os.urandom(1 << 20))
        words = "run of-{rank} --hosts one,two --cache all --io-size 512k --runtime 1m --json"
        launch = ["--launch", f"{shlex.quote(PROGRAM)} agent"]
        return json.loads(self.run(words, more=launch, code=(0, 1)))

    def run(self, words, more=(), code=0):
        return run(f"{words} --db kept.db", cwd=self.folder, more=more, code=code)

    def csv(self, name):
        with (self.folder / f"{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))


@functools.lru_cache(maxsize=None)
def produced():
    return Produced()
