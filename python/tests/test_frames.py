"""Data frames: the same values as the rows, with types that do not depend on them."""

import builtins
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import pandas

import halfpower
from halfpower import tables

from .produced import produced

TYPES = {
    tables.TEXT: "string",
    tables.TIME: "datetime64[ns, UTC]",
    tables.INTEGER: "Int64",
    tables.UNSIGNED: "UInt64",
    tables.NUMBER: "float64",
    tables.FLAG: "boolean",
}


class Frames(unittest.TestCase):
    def setUp(self):
        self.made = produced()
        self.results = halfpower.open(self.made.database)

    def test_every_table_has_its_types_and_the_values_of_its_rows(self):
        for name, spec in tables.TABLES.items():
            frame, rows = self.results.frame(name), self.results.rows(name)
            self.assertEqual(list(frame.columns), [column.name for column in spec.columns])
            self.assertEqual(len(frame), len(rows))
            self.assertGreater(len(frame), 0)
            for column in spec.columns:
                series = frame[column.name]
                self.assertEqual(str(series.dtype), TYPES[column.kind], column.name)
                known = [None if pandas.isna(value) else value for value in series]
                # A time is a row's nanoseconds.
                values = [it.value if isinstance(it, pandas.Timestamp) else it for it in known]
                self.assertEqual(values, [row[column.name] for row in rows], column.name)

    def test_a_table_without_rows_has_the_same_types(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = halfpower.open(folder)
            for name in tables.TABLES:
                frame = empty.frame(name)
                self.assertEqual(len(frame), 0)
                self.assertTrue((frame.dtypes == self.results.frame(name).dtypes).all(), name)

    def test_each_table_has_a_method_of_its_name(self):
        for name in tables.TABLES:
            pandas.testing.assert_frame_equal(getattr(self.results, name)(), self.results.frame(name))

    def test_percentiles_that_are_not_known_are_missing_and_not_zero(self):
        few = self.made.trials["few"]["id"]
        trials = self.results.trials().set_index("trial_id")
        self.assertTrue(pandas.isna(trials.loc[few, "read_latency_p99_ns"]))
        self.assertTrue(pandas.isna(trials.loc[few, "write_ios"]))
        self.assertGreater(trials.loc[few, "read_latency_p50_ns"], 0)

    def test_times_keep_their_nanoseconds_and_large_numbers_their_digits(self):
        trial = {
            **self.made.trials["few"],
            "time": "2026-11-26T21:10:39.123456789Z",
            "seed": 2**64 - 1,
        }
        trial["result"] = json.loads(json.dumps(trial["result"]))
        trial["result"]["read"]["bytes"] = 2**53 + 1
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trial.json"
            path.write_text(json.dumps(trial))
            row = halfpower.open(path).trials().iloc[0]
        self.assertEqual(row["time"], pandas.Timestamp("2026-11-26T21:10:39.123456789Z"))
        self.assertEqual((row["seed"], row["read_bytes"]), (2**64 - 1, 2**53 + 1))

    def test_without_pandas_the_error_says_what_to_install_and_rows_still_work(self):
        importing = builtins.__import__

        def without(name, *rest):
            if name == "pandas":
                raise ImportError(name)
            return importing(name, *rest)

        with mock.patch.dict(sys.modules), mock.patch.object(builtins, "__import__", without):
            self.assertTrue(self.results.rows("trials"))
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                self.results.trials()


if __name__ == "__main__":
    unittest.main()
