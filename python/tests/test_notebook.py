"""The notebook, run as it stands on a run and a sweep, and its figure compared with the documents."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import matplotlib

matplotlib.use("Agg")

import halfpower  # noqa: E402  (after the choice of a back end that needs no screen)

from .produced import run  # noqa: E402

NOTEBOOK = pathlib.Path(__file__).parents[1] / "notebooks/figure1.ipynb"
TARGET = "sim:nvme-ssd,preconditioned=random"
SWEEP = "--set rw=read --set bs=4k,64k --set iodepth=1,4,16 --set size=8m --blocks 2"


class Notebook(unittest.TestCase):
    def test_it_draws_a_run_and_a_sweep(self):
        cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        self.assertTrue(all(not cell.get("outputs") for cell in cells))
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "kept.db"
            words = "--rw randrw --rwmixread 70 --iodepth 16 --interval 250ms --runtime 2s --json"
            trial = json.loads(run(f"run {TARGET} {words} --db {database}"))
            experiment = json.loads(run(f"sweep riedel {TARGET} {SWEEP} --json --db {database}"))
            names = {}
            with mock.patch.dict(os.environ, {"HALFPOWER_DB": str(database)}):
                for cell in code:
                    exec(compile(cell, NOTEBOOK.name, "exec"), names)
            picture = pathlib.Path(os.environ.get("HALFPOWER_FIGURE", f"{folder}/figure1.png"))
            names["figure"].savefig(picture, dpi=100)
            self.assertGreater(picture.stat().st_size, 20_000)
        over_time, distribution, by_size, latency = names["axes"].flat
        self.assertEqual(names["trial"], trial["id"])
        self.assertEqual(names["experiment"], experiment["id"])

        lines = {line.get_label(): line for line in over_time.get_lines()}
        medians = [interval["read"]["latency_ns"]["p50"] for interval in trial["result"]["intervals"]]
        self.assertEqual(list(lines["read p50"].get_ydata()), [median / 1e3 for median in medians])
        self.assertIn("write p99", lines)

        longer = list(distribution.get_lines()[0].get_ydata())
        buckets = trial["result"]["read"]["histogram"]
        ios = trial["result"]["read"]["ios"]
        self.assertEqual(len(longer), len(buckets))
        self.assertAlmostEqual(longer[0], 1 - buckets[0][1] / ios)
        self.assertAlmostEqual(longer[-2], buckets[-1][1] / ios)

        deepest = [c for c in by_size.containers if c.get_label() == "depth 16"][0]
        for size, drawn in zip(("4k", "64k"), deepest.lines[0].get_ydata()):
            (cell,) = [
                cell
                for cell in experiment["cells"]
                if {**cell["levels"], "cache": "direct"} == cell["levels"]
                and (cell["levels"]["bs"], cell["levels"]["iodepth"]) == (size, "16")
            ]
            self.assertAlmostEqual(drawn * 1e6, cell["bytes_per_s"]["value"], delta=1e-6 * drawn * 1e6)
        self.assertEqual(len(latency.containers), 2)


if __name__ == "__main__":
    unittest.main()
