"""What Tessera raises on purpose. The message of each is complete and fit to be shown."""

from __future__ import annotations


class TesseraError(Exception):
    """Base of all errors below."""


class UserError(TesseraError, ValueError):
    """The input is wrong; the message says what was expected and the remedy.

    ``file``, ``line`` and ``column`` (from 1) are where it is wrong; ``None``: unknown.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None,
                 column: int | None = None):
        super().__init__(message, file, line, column)
        self.file, self.line, self.column = file, line, column

    def __str__(self) -> str:
        return self.args[0]


class IllegalMapping(TesseraError):
    """A mapping cannot run on the architecture."""


class NoLegalMapping(TesseraError):
    """No mapping meets all constraints. ``reasons``: the constraints that none meets, as texts."""

    def __init__(self, message: str, reasons: list[str] | None = None):
        super().__init__(message, reasons)
        self.reasons = list(reasons) if reasons is not None else [message]

    def __str__(self) -> str:
        return self.args[0]


class LimitReached(TesseraError):
    """A limit ended the search before any mapping was found."""


class PluginError(TesseraError):
    """A plugin is unknown, does not fit, or broke its contract."""


class Bug(TesseraError):
    """An invariant of Tessera itself does not hold."""


class Stopped(BaseException):
    """The search that calls a strategy is stopped. Passes through it to the host."""
