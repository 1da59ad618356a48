"""What can go wrong, each as one message: what was tried, on what, and what to do."""


class HalfpowerError(Exception):
    """A file or a document that cannot be read."""


class UnknownSchemaError(HalfpowerError):
    """A file or a document of a version that this package does not know.

    Its fields may mean something else, so that none of it is read.
    """
