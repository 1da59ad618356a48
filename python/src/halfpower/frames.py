"""Rows as pandas data frames, with a type for each column that does not depend on the rows.

Whole numbers, flags and texts have pandas' types with NA (a missing count must not turn counts into
floating-point numbers); other numbers are `float64` with NaN, which plots and sums understand.
"""

from . import tables

_TYPES = {
    tables.TEXT: "string",
    tables.INTEGER: "Int64",
    tables.UNSIGNED: "UInt64",
    tables.NUMBER: "float64",
    tables.FLAG: "boolean",
}


def frame(columns, rows):
    """A data frame of rows with these columns."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "data frames need pandas (pip install pandas); "
            "Results.rows() gives the same as plain dicts without it"
        ) from error


    def series(column):
        values = [row[column.name] for row in rows]
        if column.kind == tables.TIME:
            # Each from its whole nanoseconds: a float would lose the last digits.
            stamps = [None if value is None else pandas.Timestamp(value, unit="ns") for value in values]
            return pandas.Series(stamps, dtype="datetime64[ns]").dt.tz_localize("UTC")
        return pandas.Series(values, dtype=_TYPES[column.kind])

    return pandas.DataFrame({column.name: series(column) for column in columns})
