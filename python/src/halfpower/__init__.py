"""Reads what the program halfpower measured, as rows or as pandas data frames.

    import halfpower

    results = halfpower.open()              # the database that the program uses
    results = halfpower.open("trial.json")  # or a document, or a folder of documents
    results.trials()                        # a DataFrame; results.rows("trials") are plain dicts

Nothing is ever written. Without pandas everything but the data frames works.
"""

from .errors import HalfpowerError, UnknownSchemaError
from .histogram import percentile
from .results import Results, default_path, open

__all__ = [
    "HalfpowerError",
    "Results",
    "UnknownSchemaError",
    "default_path",
    "open",
    "percentile",
]
