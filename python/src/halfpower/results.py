"""Where documents come from: the database of the program, a file, or a folder of files.

A database is opened read-only. Its rows are the documents that `--json` prints, so that both ways give
the same tables.
"""

import json
import os
import pathlib
import sqlite3
import urllib.parse
import warnings
import weakref
import zlib

from . import tables
from .columns import read_columns
from .errors import HalfpowerError, UnknownSchemaError

#: SQLite's application id of the program's databases: the letters `hpow`.
_APPLICATION_ID = int.from_bytes(b"hpow", "big")
#: The newest schema of a database that this package knows.
_NEWEST_DATABASE = 4
#: The versions of documents that this package knows, by kind.
_KNOWN = {
    "trial": 1,
    "profile": 1,
    "experiment": 1,
    "observation": 1,
    "diagnosis": 1,
}
_SQLITE_MAGIC = b"SQLite format 3\0"


def default_path():
    """The database that the program uses: `HALFPOWER_DB`, else its place in the XDG data directory."""
    named = os.environ.get("HALFPOWER_DB")
    if named:
        return pathlib.Path(named)
    data = pathlib.Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():
        home = pathlib.Path(os.environ.get("HOME", ""))
        if not home.is_absolute():
            raise HalfpowerError(
                "no place for the database: neither XDG_DATA_HOME nor HOME is an absolute path; "
                "name a file, or set HALFPOWER_DB"
            )
        data = home / ".local/share"
    return data / "halfpower/halfpower.db"


def open(path=None):
    """The results in a database, a JSON file or a folder of JSON files; without a path, those of the
    database that the program uses.

    A file holds a document, a list of them, or one after the other. Of a folder, files that are no
    documents of the program are left out with a warning.
    """
    path = default_path() if path is None else pathlib.Path(path)
    if path.is_dir():
        return Results(_Files(sorted(path.glob("*.json")), whole_folder=True), path)
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE_MAGIC))
    except FileNotFoundError:
        raise HalfpowerError(
            f"no file {path}; run `halfpower check` first, or name another database or document"
        ) from None
    except OSError as error:
        raise HalfpowerError(f"cannot read {path}: {error.strerror}") from error
    if start == _SQLITE_MAGIC:
        return Results(_Database(path), path)
    return Results(_Files([path], whole_folder=False), path)


class Results:
    """Documents, and the tables that they make."""

    def __init__(self, source, path):
        self._source = source
        #: Where they come from.
        self.path = path

    def __repr__(self):
        return f"<halfpower.Results of {str(self.path)!r}>"

    def documents(self, kind):
        """The documents of a kind (`trial`, `profile`, …) as dicts, in the order in which they were saved,
        or found."""
        if kind not in _KNOWN:
            raise HalfpowerError(f"no kind of document {kind!r}; there are {', '.join(_KNOWN)}")
        for document in self._source.documents(kind):
            _check_schema(document, self.path)
            yield document

    def rows(self, table, of=None):
        """A table as a list of dicts, with `None` for what is not known.

        `table` is one of `halfpower.tables.TABLES`. Of the tables of trials, `of` takes those of a profile
        or an experiment: its id, the beginning of it, or "last" for the newest.
        """
        spec = tables.spec(table)
        if of is not None and spec.kind != "trial":
            raise HalfpowerError(f"the table {table} is not one of trials; leave out of={of!r}")
        members = None if of is None else self._trial_ids(of)
        rows = []
        for document in self.documents(spec.kind):
            if members is None or document["id"] in members:
                rows.extend(tables.rows_of(spec, document))
        return rows

    def _trial_ids(self, of):
        """The ids of the trials of a profile or an experiment."""
        owners = self._source.owners()
        if of == "last":
            found = owners[-1:]
        else:
            found = [owner for owner in owners if of and owner[1].startswith(of.lower())]
            found = [owner for owner in found if owner[1] == of.lower()] or found
        if not found:
            raise HalfpowerError(f"no profile or experiment {of!r} in {self.path}")
        if len(found) > 1:
            names = ", ".join(f"{kind} {id}" for kind, id in found[:5])
            raise HalfpowerError(f"{of!r} stands for more than one document: {names}")
        return self._source.trial_ids(*found[0])

    def trials(self, of=None):
        """A row per job of a trial: what was asked, and what came back."""
        return self.frame("trials", of)

    def intervals(self, of=None):
        """A row per interval of a trial that was run with `--interval`."""
        return self.frame("intervals", of)

    def histograms(self, of=None):
        """A row per bucket of the latencies of a trial."""
        return self.frame("histograms", of)

    def clients(self, of=None):
        """A row per client of a trial that several machines made: its share, its rates, its clock."""
        return self.frame("clients", of)

    def profiles(self):
        """A row per cell of a profile: a workload, and what its trials came to."""
        return self.frame("profiles")

    def observations(self):
        """A row per device and interval of an observation."""
        return self.frame("observations")

    def diagnoses(self):
        """A row per device and episode of a diagnosis, with its verdict."""
        return self.frame("diagnoses")

    def causes(self):
        """A row per cause that a diagnosis found."""
        return self.frame("causes")

    def alternatives(self):
        """A row per explanation that a diagnosis does not exclude."""
        return self.frame("alternatives")

    def remedies(self):
        """A row per piece of advice of a diagnosis."""
        return self.frame("remedies")

    def frame(self, table, of=None):
        """A table as a pandas DataFrame."""
        from .frames import frame

        return frame(tables.spec(table).columns, self.rows(table, of))


def _check_schema(document, path):
    """Refuses a document whose fields may mean something else."""
    schema = str(document.get("schema"))
    known = {f"halfpower/{kind}/{version}" for kind, version in _KNOWN.items()}
    if schema not in known:
        raise UnknownSchemaError(
            f"{path}: {document.get('id')} has the schema {schema}, this package knows "
            f"{', '.join(sorted(known))}; update the package halfpower"
        )


def _connection(place):
    """A connection that has read something, which is when SQLite first looks at the file."""
    connection = sqlite3.connect(place, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Database:
    """The database of the program."""

    def __init__(self, path):
        self._path = path
        self._connection = self._connect()
        weakref.finalize(self, self._connection.close)
        try:
            application = self._one("PRAGMA application_id")
            version = self._one("PRAGMA user_version")
        except sqlite3.Error as error:
            raise HalfpowerError(f"cannot read the database {path}: {error}") from error
        if application != _APPLICATION_ID:
            raise HalfpowerError(f"{path} is a SQLite file of another program")
        if version > _NEWEST_DATABASE:
            raise UnknownSchemaError(
                f"{path} was written by a newer halfpower: schema {version}, this package knows "
                f"{_NEWEST_DATABASE}; update the package halfpower"
            )
        # A database that no program has opened since has no tables for what came later.
        self._tables = {name for (name,) in self._all("SELECT name FROM sqlite_master")}

    def _connect(self):
        # The characters that a URI gives a meaning (https://www.sqlite.org/uri.html).
        place = "file:" + urllib.parse.quote(os.path.abspath(self._path)) + "?mode=ro"
        log = pathlib.Path(f"{self._path}-wal")
        try:
            return _connection(place)
        except sqlite3.OperationalError as error:
            # A folder that cannot be written has no room for the index of the log; without a log there
            # is nothing to index.
            if log.exists() and log.stat().st_size > 0:
                raise HalfpowerError(f"cannot read the database {self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise HalfpowerError(
                f"cannot read the database {self._path}: {error}; it is damaged, or the SQLite of this "
                f"Python ({sqlite3.sqlite_version}) is older than 3.37"
            ) from error
        try:
            return _connection(f"{place}&immutable=1")
        except sqlite3.Error as error:
            raise HalfpowerError(f"cannot read the database {self._path}: {error}") from error

    def _all(self, sql, parameters=()):
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Error as error:
            raise HalfpowerError(f"cannot read the database {self._path}: {error}") from error

    def _one(self, sql):
        return self._connection.execute(sql).fetchone()[0]

    def _own_table(self, kind):
        return kind in ("trial", "profile", "experiment")

    def documents(self, kind):
        table = kind if self._own_table(kind) else "document"
        if table not in self._tables:
            return
        condition = "1" if table == kind else f"kind = '{kind}'"
        # Files of before have the intervals of an observation in its text.
        columns = "columns" if kind == "observation" and self._has_columns() else "NULL"
        sql = f"SELECT id, document, {columns} FROM {table} WHERE {condition} ORDER BY rowid"
        for id, text, packed in self._all(sql):
            try:
                document = json.loads(text)
                if packed is not None:
                    document["intervals"], document["contexts"] = read_columns(packed)
            except (ValueError, KeyError, IndexError, zlib.error) as error:
                raise HalfpowerError(f"{self._path}: {kind} {id} is damaged: {error}") from error
            if kind == "experiment":
                document["done"] = self._done(id)
            yield document

    def _has_columns(self):
        return any(row[1] == "columns" for row in self._all("PRAGMA table_info(document)"))

    def _done(self, id):
        sql = (
            "SELECT position, trial_id, extras FROM experiment_trial "
            "WHERE experiment_id = ? ORDER BY position"
        )
        return [
            {"position": position, "trial_id": trial_id, "extras": json.loads(extras)}
            for position, trial_id, extras in self._all(sql, (id,))
        ]

    def owners(self):
        kinds = [kind for kind in ("profile", "experiment") if kind in self._tables]
        parts = [f"SELECT rowid, '{kind}', id FROM {kind}" for kind in kinds]
        rows = self._all(" UNION ALL ".join(parts) + " ORDER BY 1")
        return [(kind, id) for _, kind, id in rows]

    def trial_ids(self, kind, id):
        sql = f"SELECT trial_id FROM {kind}_trial WHERE {kind}_id = ?"
        return {trial_id for (trial_id,) in self._all(sql, (id,))}


class _NotOursError(HalfpowerError):
    """A file that is no document of the program."""


class _Files:
    """JSON files, read once."""

    def __init__(self, paths, whole_folder):
        self._documents = {}
        for path in paths:
            try:
                for document in _documents_of(path):
                    self._add(path, document)
            except _NotOursError as error:
                if not whole_folder:
                    raise
                warnings.warn(f"left out: {error}", stacklevel=3)

    def _add(self, path, document):
        schema = str(document.get("schema")) if isinstance(document, dict) else ""
        parts = schema.split("/")
        if len(parts) != 3 or parts[0] != "halfpower":
            raise _NotOursError(f"{path} holds a document of another kind ({schema!r})")
        kind = parts[1]
        if kind not in _KNOWN:
            # Documents that make no table are no error, and no row.
            return
        _check_schema(document, path)
        key = (kind, document.get("id"))
        other = self._documents.setdefault(key, document)
        if other != document:
            raise HalfpowerError(
                f"{path} holds another {kind} of the id {key[1]} than a file before it; "
                "remove one of the two"
            )

    def documents(self, kind):
        return [document for (its, _), document in self._documents.items() if its == kind]

    def owners(self):
        return [key for key in self._documents if key[0] in ("profile", "experiment")]

    def trial_ids(self, kind, id):
        document = self._documents[(kind, id)]
        if kind == "experiment":
            return {done["trial_id"] for done in document["done"]}
        cells = document["cells"] + document.get("mixes", [])
        return {trial_id for cell in cells for trial_id in cell["trial_ids"]}


def _documents_of(path):
    """The documents of a file: one, a list, or one after the other."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HalfpowerError(f"cannot read {path}: {error}") from error
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _NotOursError(f"{path} is no JSON document of halfpower: {error}") from error
        yield from value if isinstance(value, list) else [value]
