"""What `halfpower export --parquet` writes, as DuckDB, pyarrow and pandas read it."""

import json
import pathlib
import tempfile
import unittest

import duckdb
import pandas
import pyarrow
import pyarrow.parquet

import halfpower
from halfpower import tables

from .produced import produced, run

NAMES = ("trials", "intervals", "histograms", "clients")
TYPES = {
    tables.TEXT: pyarrow.string(),
    tables.TIME: pyarrow.timestamp("ns", tz="UTC"),
    tables.INTEGER: pyarrow.int64(),
    tables.UNSIGNED: pyarrow.uint64(),
    tables.NUMBER: pyarrow.float64(),
    tables.FLAG: pyarrow.bool_(),
}


def duckdb_has_nanoseconds():
    """Whether this version has a type of nanoseconds with a zone; older ones round to the microsecond."""
    try:
        duckdb.sql("SELECT NULL::TIMESTAMPTZ_NS")
    except duckdb.Error:
        return False
    return True


DUCKDB_HAS_NANOSECONDS = duckdb_has_nanoseconds()
DUCKDB_TYPES = {
    tables.TEXT: "VARCHAR",
    tables.TIME: "TIMESTAMPTZ_NS" if DUCKDB_HAS_NANOSECONDS else "TIMESTAMP WITH TIME ZONE",
    tables.INTEGER: "BIGINT",
    tables.UNSIGNED: "UBIGINT",
    tables.NUMBER: "DOUBLE",
    tables.FLAG: "BOOLEAN",
}


def columns(name):
    return tables.TABLES[name].columns


def by_pyarrow(path, name):
    """The rows of a file, with times as nanoseconds."""
    table = pyarrow.parquet.read_table(path)
    for index, column in enumerate(columns(name)):
        if column.kind == tables.TIME:
            times = table.column(index).cast(pyarrow.int64())
            table = table.set_column(index, column.name, times)
    return table.to_pylist()


def by_duckdb(path, name):
    """The same."""
    names = [
        f"epoch_ns({column.name})" if column.kind == tables.TIME else column.name
        for column in columns(name)
    ]
    rows = duckdb.sql(f"SELECT {', '.join(names)} FROM '{path}'").fetchall()
    return [dict(zip([column.name for column in columns(name)], row)) for row in rows]


def by_pandas(path, name):
    """The same as by pyarrow, from a data frame whose types hold nulls."""
    frame = pandas.read_parquet(path, dtype_backend="numpy_nullable")
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    times = [column.name for column in columns(name) if column.kind == tables.TIME]
    return [
        {key: value.value if key in times and value else value for key, value in row.items()}
        for row in rows
    ]


def rounded(rows, name):
    """The rows with times as this version of DuckDB can tell them."""
    if not any(column.kind == tables.TIME for column in columns(name)) or DUCKDB_HAS_NANOSECONDS:
        return rows
    return [{**row, "time": row["time"] and row["time"] // 1000 * 1000} for row in rows]


class Exported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = produced()

    def export(self, words):
        """Exports to a new folder and gives the files by the names of their tables."""
        out = self.folder / "tables"
        run(f"export {words} --parquet {out} --db {self.made.database}", cwd=self.folder)
        return {name: out / f"{name}.parquet" for name in NAMES}

    def compare(self, files, results):
        """Checks that all readers and the package give the same rows."""
        for name in NAMES:
            expected = results.rows(name)
            self.assertTrue(expected)
            self.assertEqual(by_pyarrow(files[name], name), expected)
            self.assertEqual(by_pandas(files[name], name), expected)
            self.assertEqual(by_duckdb(files[name], name), rounded(expected, name))

    def test_every_reader_finds_the_rows_of_the_database(self):
        self.compare(self.export("--all"), halfpower.open(self.made.database))

    def test_every_reader_finds_the_same_types_and_who_wrote_the_file(self):
        files = self.export("--all")
        for name, path in files.items():
            schema = pyarrow.parquet.read_schema(path)
            self.assertEqual(schema.names, [column.name for column in columns(name)])
            self.assertEqual(schema.types, [TYPES[column.kind] for column in columns(name)])
            self.assertEqual(schema.metadata, {b"halfpower.schema": f"halfpower/{name}/1".encode()})
            created_by = pyarrow.parquet.read_metadata(path).created_by
            self.assertRegex(created_by, r"^halfpower version \d+\.\d+\.\d+$")
            described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
            self.assertEqual(
                [row[:2] for row in described],
                [(column.name, DUCKDB_TYPES[column.kind]) for column in columns(name)],
            )

    def test_the_schema_is_the_same_whatever_was_run(self):
        files = self.export(self.made.trials["few"]["id"])
        one = {name: pyarrow.parquet.read_schema(path) for name, path in files.items()}
        files = self.export("--all")
        self.assertEqual(one, {name: pyarrow.parquet.read_schema(path) for name, path in files.items()})

    def test_times_large_numbers_odd_texts_and_tables_of_many_row_groups_arrive_whole(self):
        documents = []
        for number in range(40):
            trial = json.loads(json.dumps(self.made.trials["mixed"]))
            trial["clients"] = json.loads(json.dumps(self.made.together["clients"]))
            trial["parts"] = self.made.together["parts"]
            trial["clients"]["each"][0]["begin_skew_ns"] = -(2**63) + number
            trial["id"] = f"{number:032x}"
            trial["time"] = f"2026-11-26T21:10:{number:02}.123456789Z" if number % 3 else None
            trial["seed"] = 2**64 - 1 - number
            trial["result"]["read"]["bytes"] = 2**63 - 1 - number
            # Each in a bucket of its own, all but those that no signed number holds.
            trial["result"]["read"]["histogram"] = [[bucket, 1] for bucket in range(3648)]
            trial["result"]["steady"] = (True, False, None)[number % 3]
            trial["targets"][0]["path"] = ("sim:mm1", "/data/ä, \"b\"\n\u0000'", "", "x" * 100_000)[number % 4]
            documents.append(trial)
        path = self.folder / "trials.json"
        path.write_text(json.dumps(documents))
        files = self.export(str(path))
        groups = pyarrow.parquet.read_metadata(files["histograms"]).num_row_groups
        self.assertGreater(groups, 1)
        self.compare(files, halfpower.open(path))

    def test_a_question_of_shares_is_answered_by_joining_clients_and_trials(self):
        files = self.export("--all")
        rows = duckdb.sql(
            "SELECT client, share, clients.read_ios::DOUBLE / trials.read_ios, clients.depth, trials.depth "
            f"FROM '{files['clients']}' clients JOIN '{files['trials']}' trials USING (trial_id) "
            "ORDER BY client"
        ).fetchall()
        shares = [client["share"] for client in self.made.together["clients"]["each"]]
        self.assertEqual(len(rows), 2)
        for number, (client, share, counted, depth, depth_of_all) in enumerate(rows):
            self.assertEqual((client, share, depth, depth_of_all), (number, shares[number], 1, 2))
            self.assertAlmostEqual(share, counted)

    def test_percentiles_that_are_not_known_are_null_for_every_reader(self):
        files = self.export(self.made.trials["few"]["id"])
        for read in (by_pyarrow, by_duckdb, by_pandas):
            (row,) = read(files["trials"], "trials")
            self.assertIsNone(row["read_latency_p99_ns"])
            self.assertIsNone(row["write_ios"])
            self.assertGreater(row["read_latency_p50_ns"], 0)

    def test_a_file_that_another_program_changed_is_kept(self):
        files = self.export("--all")
        table = pyarrow.parquet.read_table(files["trials"])
        pyarrow.parquet.write_table(table, files["trials"])
        changed = files["trials"].read_bytes()
        words = f"export --all --parquet {self.folder / 'tables'} --db {self.made.database}"
        run(words, cwd=self.folder, code=3)
        self.assertEqual(files["trials"].read_bytes(), changed)


if __name__ == "__main__":
    unittest.main()
