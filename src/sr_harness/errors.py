"""The errors of `sr_harness`, drawn as one tree.

Every error says what is wrong, where, why, and what to do about it, and inherits from the built-in
exception of the same meaning, so that a caller who knows nothing of this package can still catch it.

    SRError
    ├── ContextManifestError (ValueError)   a `context.data` directory is not valid
    ├── ContextWriteError (OSError)         a `context.data` directory cannot be written
    ├── ImportDataError (ValueError)        a table cannot become a `context.data` directory
    ├── ExpressionError (ValueError)        a formula cannot be used
    │   ├── ParseError                      its text is not in the language
    │   ├── UnknownNameError                it names a column or function that does not exist
    │   └── AlignmentError                  its arrays do not lie on the same axes
    ├── FitError (ValueError)               a formula cannot be fitted to these data
    ├── ProblemError (ValueError)           data and target do not make a discovery problem
    │   └── UnknownChoiceError              a variable, axis or strategy is asked for that does not exist
    ├── ToolError (ValueError)              a symbolic tool was called with arguments it cannot use
    └── BenchmarkError (ValueError)         a benchmark cannot be run as asked
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class SRError(Exception):
    """Base class of every error that `sr_harness` raises on purpose."""


class ContextManifestError(SRError, ValueError):
    """A `context.data` directory is not valid; `errors` lists every fault found in one pass."""

    def __init__(self, path: str | Path, errors: Sequence[str]) -> None:
        self.path = Path(path)
        self.errors = list(errors)
        faults = "1 fault" if len(self.errors) == 1 else f"{len(self.errors)} faults"
        head = f"{self.path} is not a valid context.data directory ({faults}):"
        super().__init__("\n".join([head, *(f"  - {error}" for error in self.errors)]))


class ContextWriteError(SRError, OSError):
    """A `context.data` directory cannot be written; what was there before is unchanged."""


class ImportDataError(SRError, ValueError):
    """A table cannot be imported."""


class ExpressionError(SRError, ValueError):
    """A formula cannot be used."""


class ParseError(ExpressionError):
    """The text is not a formula of the expression language."""

    def __init__(self, reason: str, text: str, position: int) -> None:
        self.reason, self.text, self.position = reason, text, position
        shown = text if len(text) <= 120 else text[max(0, position - 60) : position + 60]
        super().__init__(f"cannot read the formula at character {position + 1}: {reason}\n  in: {shown}")


class UnknownNameError(ExpressionError):
    """A name in a formula is neither a column nor a function."""

    def __init__(self, name: str, message: str, suggestion: str | None = None) -> None:
        self.name, self.suggestion = name, suggestion
        super().__init__(message)


class AlignmentError(ExpressionError):
    """Arrays of a formula do not lie on the same axes; nothing is broadcast silently."""


class FitError(SRError, ValueError):
    """A formula cannot be fitted to these data."""


class ProblemError(SRError, ValueError):
    """Data and target do not make a discovery problem."""


class UnknownChoiceError(ProblemError):
    """A variable, an axis or a strategy is asked for that does not exist; the message names those that do."""


class ToolError(SRError, ValueError):
    """A symbolic tool was called with arguments it cannot use."""


class BenchmarkError(SRError, ValueError):
    """A table of problems cannot be used, or a benchmark cannot be run or resumed as asked."""
