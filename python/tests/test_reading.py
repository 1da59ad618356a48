"""Reading documents and databases with the standard library alone."""

import json
import os
import pathlib
import shutil
import sqlite3
import tempfile
import unittest
import warnings

import halfpower
from halfpower import histogram, tables

from .produced import produced

STORE_DATA = pathlib.Path(__file__).parents[2] / "crates/store/tests/data"
PERCENTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p99_9": 0.999,
    "p99_99": 0.9999,
}


def directions(trial):
    """Each direction of each job of a trial."""
    for result in [trial["result"]] + [job["result"] for job in trial.get("beside", [])]:
        for name in ("read", "write", "trim", "flush"):
            if result.get(name):
                yield result[name]


class Tables(unittest.TestCase):
    def setUp(self):
        self.made = produced()
        self.results = halfpower.open(self.made.database)

    def test_percentiles_from_the_histograms_are_those_of_the_documents(self):
        compared, unknown = 0, 0
        for trial in self.made.trials.values():
            for direction in directions(trial):
                for name, share in PERCENTILES.items():
                    expected = direction["latency_ns"][name]
                    self.assertEqual(histogram.percentile(direction["histogram"], share), expected)
                    compared += 1
                    unknown += expected is None
        self.assertGreater(compared, 20)
        self.assertGreater(unknown, 3)

    def test_percentiles_from_the_rows_of_the_table_are_those_of_the_documents(self):
        rows = self.results.rows("histograms")
        for trial in self.made.trials.values():
            for job, result in enumerate([trial["result"]] + [j["result"] for j in trial.get("beside", [])]):
                for operation in ("read", "write"):
                    mine = [
                        (row["bucket"], row["ios"])
                        for row in rows
                        if (row["trial_id"], row["job"], row["operation"]) == (trial["id"], job, operation)
                    ]
                    direction = result[operation]
                    self.assertEqual(sum(ios for _, ios in mine), direction["ios"] if direction else 0)
                    if direction:
                        p90 = direction["latency_ns"]["p90"]
                        self.assertEqual(halfpower.percentile(mine, 0.9), p90)

    def test_buckets_touch_each_other_and_hold_the_numbers_that_they_say(self):
        for index in range(histogram.BUCKETS - 1):
            self.assertEqual(histogram.bucket_high(index) + 1, histogram.bucket_low(index + 1))
        self.assertEqual(histogram.bucket_low(127), 127)
        self.assertEqual(histogram.bucket_low(128), 128)
        self.assertEqual(histogram.bucket_low(129), 130)
        self.assertEqual(histogram.bucket_high(histogram.BUCKETS - 1), 2**64 - 1)
        for index in (-1, histogram.BUCKETS):
            with self.assertRaisesRegex(halfpower.HalfpowerError, "bucket"):
                histogram.bucket_low(index)

    def test_intervals_are_those_of_the_csv_of_the_program(self):
        for name in ("mixed", "open", "few"):
            trial = self.made.trials[name]
            mine = [
                row
                for row in self.results.rows("intervals")
                if row["trial_id"] == trial["id"] and row["job"] == 0
            ]
            theirs = self.made.csv(name)
            self.assertEqual(len(mine), len(theirs))
            self.assertGreater(len(mine), 1)
            names = [column.name for column in tables.TABLES["intervals"].columns]
            self.assertEqual([name for name in names if name != "job"], list(theirs[0]))
            for one, other in zip(mine, theirs):
                for key, text in other.items():
                    if one[key] is None:
                        self.assertEqual(text, "", key)
                    else:
                        self.assertEqual(type(one[key])(text), one[key], key)

    def test_a_trial_has_a_row_for_each_job_with_what_it_was_asked_and_what_came_back(self):
        rows = {(row["trial_id"], row["job"]): row for row in self.results.rows("trials")}
        mixed = self.made.trials["mixed"]
        row = rows[mixed["id"], 0]
        self.assertEqual(row["write_iops"], mixed["result"]["write"]["iops"])
        self.assertEqual(row["read_latency_p99_ns"], mixed["result"]["read"]["latency_ns"]["p99"])
        self.assertEqual((row["depth"], row["bs_bytes"], row["bs_mix"]), (8, 4096, None))
        self.assertEqual(row["device_ios"], mixed["device_counters"]["ios"])
        self.assertIsNone(row["cpu_user_ms"])
        self.assertIsNone(row["trim_ios"])
        self.assertIsNone(row["time"])
        beside = self.made.trials["beside"]
        first, second = rows[beside["id"], 0], rows[beside["id"], 1]
        self.assertEqual((first["bs_bytes"], first["bs_mix"]), (None, "4096/60:65536/40"))
        self.assertEqual((second["job_name"], second["depth"]), ("log", 2))
        self.assertEqual(second["write_ios"], beside["beside"][0]["result"]["write"]["ios"])
        self.assertEqual((first["write_ios"], second["read_ios"]), (None, None))
        # The counters are of both jobs, so that they are of neither.
        self.assertEqual((first["device_ios"], second["device_ios"]), (None, None))
        late = rows[self.made.trials["open"]["id"], 0]
        expected = self.made.trials["open"]["result"]["open_loop"]["late_mean_ns"]
        self.assertEqual(late["open_loop_late_mean_ns"], expected)
        few = rows[self.made.trials["few"]["id"], 0]
        self.assertIsNone(few["read_latency_p99_ns"])

    def test_cells_of_a_profile_are_those_that_were_printed(self):
        rows = self.results.rows("profiles")
        # Closed loops, and behind them the lone reads.
        closed = len(self.made.profile["cells"])
        cells = self.made.profile["cells"] + self.made.profile["mixes"]
        self.assertEqual([row["cell"] for row in rows], [cell["cell"] for cell in cells])
        for row, cell in zip(rows, cells):
            self.assertEqual(row["profile_id"], self.made.profile["id"])
            self.assertEqual(row["iops"], cell["iops"]["value"])
            self.assertEqual(row["latency_mean_high_ns"], cell["latency_ns"]["high"])
            self.assertEqual(row["trials"], len(cell["trial_ids"]))
            self.assertIsNone(row["cpu_us_per_io"])
        # A curve of the document gives the same percentile of the same cell.
        curve = self.made.profile["depth_curves"][0]
        compared = 0
        for point in curve["points"]:
            (cell,) = [
                row
                for row in rows[:closed]
                if (row["pattern"], row["depth"], row["bs_bytes"], row["read_percent"])
                == ("random", point["depth"], curve["bs_bytes"], 100 if curve["op"] == "read" else 0)
            ]
            self.assertEqual(cell["latency_p99_ns"], point["p99_ns"])
            compared += point["p99_ns"] is not None
        self.assertGreater(compared, 1)

    def test_the_trials_of_a_profile_are_found_by_it(self):
        mine = {row["trial_id"] for row in self.results.rows("trials", of="last")}
        cells = self.made.profile["cells"] + self.made.profile["mixes"]
        ids = {id for cell in cells for id in cell["trial_ids"]}
        self.assertLessEqual(ids, mine)
        self.assertFalse(mine & {trial["id"] for trial in self.made.trials.values()})
        by_id = self.results.rows("trials", of=self.made.profile["id"][:8].upper())
        self.assertEqual({row["trial_id"] for row in by_id}, mine)
        for of in ("zz", ""):
            with self.assertRaisesRegex(halfpower.HalfpowerError, "no profile or experiment"):
                self.results.rows("trials", of=of)
        with self.assertRaisesRegex(halfpower.HalfpowerError, "not one of trials"):
            self.results.rows("profiles", of="last")

    def test_a_diagnosis_keeps_verdicts_causes_alternatives_and_remedies(self):
        device = self.made.diagnosis["devices"][0]
        episodes = self.results.rows("diagnoses")
        verdicts = [episode["verdict"] for episode in device["episodes"]]
        self.assertEqual([row["verdict"] for row in episodes], verdicts)
        self.assertEqual(episodes[0]["latency_ns"], device["episodes"][0]["numbers"]["latency_ns"])
        self.assertEqual(episodes[0]["profile_id"], self.made.profile["id"])
        self.assertTrue(episodes[device["worst"]]["worst"])
        for table, key, of in (
            ("causes", "cause", "code"),
            ("alternatives", "probability", "probability"),
        ):
            expected = [part[of] for episode in device["episodes"] for part in episode[table]]
            self.assertEqual([row[key] for row in self.results.rows(table)], expected)
            self.assertTrue(expected)
        remedies = self.results.rows("remedies")
        self.assertEqual([row["strategy"] for row in remedies], [it["strategy"] for it in device["advice"]])
        after = device["advice"][0]["effect"]["latency_after_ns"]["value"]
        self.assertEqual(remedies[0]["latency_after_ns"], after)

    def test_an_observation_has_a_row_for_each_device_and_interval(self):
        rows = self.results.rows("observations")
        series = self.made.csv("diagnosis")
        self.assertEqual(len(rows), len(series))
        for row, moment in zip(rows, series):
            self.assertEqual(row["device"], moment["device"])
            self.assertEqual(row["begin_ns"], int(moment["begin_ns"]))
            self.assertEqual(row["all_per_s"], float(moment["iops"]))
            self.assertAlmostEqual(row["concurrency"], float(moment["concurrency"]))
            # A simulated clock is that of no calendar.
            self.assertIsNone(row["begin"])
            self.assertIsNone(row["flush_latency_ns"])


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = produced()

    def write(self, name, *documents):
        path = self.folder / name
        path.write_text("\n".join(json.dumps(document) for document in documents))
        return path

    def test_files_of_documents_give_the_rows_of_the_database(self):
        trials = list(self.made.trials.values())
        from_database = halfpower.open(self.made.database)
        ids = {trial["id"] for trial in trials}
        for table in ("trials", "intervals", "histograms"):
            expected = [row for row in from_database.rows(table) if row["trial_id"] in ids]
            one_after_the_other = self.write("lines.json", *trials)
            a_list = self.write("list.json", trials)
            for path in (one_after_the_other, a_list):
                self.assertEqual(halfpower.open(path).rows(table), expected)
        # Both files hold the same documents, each of which counts once.
        self.assertEqual(len(list(halfpower.open(self.folder).documents("trial"))), len(trials))
        profile = self.write("profile.json", self.made.profile, *trials)
        profile = halfpower.open(profile)
        self.assertEqual(profile.rows("profiles"), from_database.rows("profiles"))
        self.assertEqual(profile.rows("trials", of="last"), [])

    def test_of_a_folder_what_is_no_document_is_left_out_with_a_warning(self):
        self.write("trial.json", self.made.trials["few"])
        self.write("other.json", {"name": "not ours"})
        (self.folder / "notes.txt").write_text("not looked at")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            results = halfpower.open(self.folder)
        self.assertEqual(len(results.rows("trials")), 1)
        self.assertEqual(len(said), 1)
        self.assertIn("other.json", str(said[0].message))
        with self.assertRaisesRegex(halfpower.HalfpowerError, "another kind"):
            halfpower.open(self.folder / "other.json")

    def test_two_documents_of_one_id_that_differ_are_refused(self):
        trial = self.made.trials["few"]
        self.write("a.json", trial)
        self.write("b.json", {**trial, "seed": 7})
        with self.assertRaisesRegex(halfpower.HalfpowerError, "b.json.*" + trial["id"]):
            halfpower.open(self.folder)

    def test_documents_of_a_newer_schema_are_refused_wherever_they_are(self):
        newer = {**self.made.trials["few"], "schema": "halfpower/trial/2"}
        path = self.write("newer.json", newer)
        for place in (path, self.folder):
            with self.assertRaisesRegex(halfpower.UnknownSchemaError, "halfpower/trial/2.*update"):
                halfpower.open(place)
        for schema in ("halfpower/trial/2", "halfpower/trial/x", "other/1", None):
            copy = self.folder / "copy.db"
            shutil.copy(self.made.database, copy)
            with sqlite3.connect(copy) as connection:
                text = json.dumps({**newer, "schema": schema})
                connection.execute("UPDATE trial SET document = ? WHERE id = ?", (text, newer["id"]))
            connection.close()
            with self.assertRaisesRegex(halfpower.UnknownSchemaError, str(schema)):
                halfpower.open(copy).rows("trials")

    def test_a_database_of_a_newer_program_or_of_another_one_is_refused(self):
        copy = self.folder / "copy.db"
        for pragma, error in (("user_version = 5", "schema 5.*update"), ("application_id = 7", "another")):
            shutil.copy(self.made.database, copy)
            with sqlite3.connect(copy) as connection:
                connection.execute(f"PRAGMA {pragma}")
            connection.close()
            with self.assertRaisesRegex(halfpower.HalfpowerError, error):
                halfpower.open(copy)

    def test_databases_of_older_programs_are_read_and_stay_what_they_are(self):
        for name in ("v1.db", "v2.db"):
            copy = self.folder / name
            shutil.copy(STORE_DATA / name, copy)
            before = copy.read_bytes()
            results = halfpower.open(copy)
            self.assertTrue(results.rows("trials"))
            self.assertTrue(list(results.documents("profile")))
            for table in tables.TABLES:
                self.assertIsInstance(results.rows(table), list)
            self.assertEqual(copy.read_bytes(), before)

    def test_reading_changes_no_byte_and_needs_no_right_to_write(self):
        copy = self.folder / "with ? and #.db"
        shutil.copy(self.made.database, copy)
        before = copy.read_bytes()
        copy.chmod(0o444)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.assertEqual(len(halfpower.open(copy).rows("diagnoses")), 1)
        self.assertEqual(copy.read_bytes(), before)

    def test_what_is_saved_but_still_in_the_log_is_read(self):
        copy = self.folder / "copy.db"
        shutil.copy(self.made.database, copy)
        trial = {**self.made.trials["few"], "id": "ff"}
        connection = sqlite3.connect(copy)
        self.addCleanup(connection.close)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        with connection:
            connection.execute(
                "INSERT INTO trial (id, cell, target, kind, simulated, clean, document) "
                "VALUES ('ff', '', '', '', 1, 1, ?)",
                (json.dumps(trial),),
            )
        self.assertGreater(pathlib.Path(f"{copy}-wal").stat().st_size, 0)
        rows = halfpower.open(copy).rows("trials")
        self.assertEqual(rows[-1]["trial_id"], "ff")

    def test_a_document_that_is_not_what_its_schema_says_is_named(self):
        broken = json.loads(json.dumps(self.made.trials["few"]))
        del broken["result"]["read"]["ios"]
        path = self.write("broken.json", broken)
        with self.assertRaisesRegex(halfpower.HalfpowerError, f"{broken['id']}.*ios"):
            halfpower.open(path).rows("trials")

    def test_a_damaged_database_is_named(self):
        whole = self.made.database.read_bytes()
        copy = self.folder / "cut.db"
        copy.write_bytes(whole[: len(whole) // 2 - 100])
        with self.assertRaisesRegex(halfpower.HalfpowerError, "cut.db"):
            halfpower.open(copy).rows("trials")
        copy.write_bytes(whole[:16] + b"x" * 5000)
        with self.assertRaisesRegex(halfpower.HalfpowerError, "cut.db"):
            halfpower.open(copy)
        copy.write_bytes(whole)
        id = self.made.trials["few"]["id"]
        with sqlite3.connect(copy) as connection:
            connection.execute("UPDATE trial SET document = '{' WHERE id = ?", (id,))
        connection.close()
        with self.assertRaisesRegex(halfpower.HalfpowerError, f"cut.db.*{id}"):
            halfpower.open(copy).rows("trials")

    def test_what_cannot_be_read_says_what_and_where(self):
        with self.assertRaisesRegex(halfpower.HalfpowerError, "no file .*none.db.*halfpower check"):
            halfpower.open(self.folder / "none.db")
        (self.folder / "text.json").write_text("no JSON")
        with self.assertRaisesRegex(halfpower.HalfpowerError, "text.json is no JSON document"):
            halfpower.open(self.folder / "text.json")
        with self.assertRaisesRegex(halfpower.HalfpowerError, "no table 'trial'; there are trials"):
            halfpower.open(self.made.database).rows("trial")

    def test_the_default_database_is_the_one_that_the_program_uses(self):
        names = ("HALFPOWER_DB", "XDG_DATA_HOME", "HOME")
        before = {name: os.environ.get(name) for name in names}

        def restore():
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

        self.addCleanup(restore)
        cases = [
            (("/a.db", "/d", "/h"), "/a.db"),
            (("", "/d", "/h"), "/d/halfpower/halfpower.db"),
            (("", "d", "/h"), "/h/.local/share/halfpower/halfpower.db"),
        ]
        for values, expected in cases:
            os.environ.update(zip(names, values))
            self.assertEqual(str(halfpower.default_path()), expected)
        os.environ.update(zip(names, ("", "d", "h")))
        with self.assertRaisesRegex(halfpower.HalfpowerError, "XDG_DATA_HOME"):
            halfpower.default_path()

    def test_times_keep_their_nanoseconds(self):
        self.assertEqual(tables.nanoseconds("1970-01-01T00:00:00Z"), 0)
        self.assertEqual(tables.nanoseconds("2001-09-09T01:46:40.123456789Z"), 10**18 + 123456789)
        self.assertEqual(tables.nanoseconds("2001-09-09T01:46:40.5Z"), 10**18 + 500_000_000)
        for wrong in ("yesterday", "2001-09-09T01:46:40+02:00", "2001-09-09T01:46:40.x5Z"):
            with self.assertRaisesRegex(halfpower.HalfpowerError, "RFC 3339"):
                tables.nanoseconds(wrong)


if __name__ == "__main__":
    unittest.main()
