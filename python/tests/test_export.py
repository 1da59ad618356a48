"""What `halfpower export --csv` writes is what the package reads from the database."""

import csv
import pathlib
import tempfile
import unittest

import halfpower
from halfpower import tables

from .produced import produced, run

NAMES = ("trials", "intervals", "histograms", "clients")


class Exported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = produced()

    def export(self, words):
        """Exports to a new folder and gives the rows of each table."""
        out = self.folder / "tables"
        run(f"export {words} --csv {out} --db {self.made.database}", cwd=self.folder)
        rows = {}
        for name in NAMES:
            with (out / f"{name}.csv").open(newline="") as file:
                rows[name] = list(csv.reader(file))
        return rows

    def test_the_tables_have_the_columns_and_rows_of_the_database(self):
        exported = self.export("--all")
        results = halfpower.open(self.made.database)
        for name in NAMES:
            header, *rows = exported[name]
            columns = tables.TABLES[name].columns
            self.assertEqual(header, [column.name for column in columns])
            expected = results.rows(name)
            self.assertTrue(expected)
            self.assertEqual(len(rows), len(expected))
            for row, other in zip(rows, expected):
                for column, field in zip(columns, row):
                    self.compare(column, field, other[column.name])

    def compare(self, column, field, value):
        """Checks one field; of times, whether there is one."""
        if value is None:
            self.assertEqual(field, "", column.name)
        elif column.kind == tables.TIME:
            self.assertRegex(field, r"^\d{4}-\d\d-\d\dT")
        elif column.kind == tables.FLAG:
            self.assertEqual(field, str(value).lower(), column.name)
        else:
            self.assertEqual(type(value)(field), value, column.name)

    def test_percentiles_that_are_not_known_are_empty(self):
        header, row = self.export(self.made.trials["few"]["id"])["trials"]
        fields = dict(zip(header, row))
        self.assertEqual((fields["read_latency_p99_ns"], fields["write_ios"]), ("", ""))
        self.assertGreater(float(fields["read_latency_p50_ns"]), 0)


if __name__ == "__main__":
    unittest.main()
