"""The errors of `ari`, drawn as one tree.

Every error carries what is wrong (with the place) and, where there is one, the cure. The command line
prints both without a stack trace.

    AriError
    ├── ConfigError (ValueError)            a setting, option or variable has a value that cannot be used
    │   └── WorkflowError                   workflow.yaml cannot be run as it is written
    ├── ExperimentError (ValueError)        experiment.md does not describe an experiment that can be run
    ├── FormatError (ValueError)            a file of the checkpoint is not in its documented shape
    ├── PathEscapeError (ValueError)        a path from data, a manifest or a tool call leaves its directory
    ├── CheckpointError (RuntimeError)      a checkpoint cannot be created, opened or written
    │   ├── LockHeldError                   another process is writing it
    │   └── JournalError                    its journal is damaged in the middle
    ├── ExecutionError (RuntimeError)       a command cannot be run at all
    │   └── SandboxError                    it cannot be contained as asked
    ├── BudgetExhausted (RuntimeError)      what may be spent is spent; nothing was asked for
    ├── ReplayError (RuntimeError)          a study asks for what its recordings do not hold
    ├── EvaluationError (RuntimeError)      a node's result cannot be measured
    ├── ModelError (RuntimeError)            a model service cannot be reached
    ├── PaperError (RuntimeError)           a paper cannot be written, or prints what was not measured
    ├── LiteratureError (RuntimeError)      a literature service cannot be asked, or does not answer
    └── SkillError (RuntimeError)           a skill or tool failed or does not exist
"""

from __future__ import annotations


class AriError(Exception):
    """Base class of every error that `ari` raises on purpose.

    Args:
        message: What is wrong, where and why.
        cure: What the user can do about it.
    """

    def __init__(self, message: str, *, cure: str = "") -> None:
        self.message = message
        self.cure = cure
        super().__init__(f"{message}\n  {cure}" if cure else message)


class ConfigError(AriError, ValueError):
    """A setting, option or environment variable has a value that cannot be used."""


class WorkflowError(ConfigError):
    """`workflow.yaml` cannot be run as it is written; the message names every fault with its line."""


class ExperimentError(AriError, ValueError):
    """`experiment.md` does not describe an experiment that can be run."""


class FormatError(AriError, ValueError):
    """A file of the checkpoint is not in its documented shape."""


class PathEscapeError(AriError, ValueError):
    """A path from data, a manifest, a tool call or a URL would leave its directory."""


class CheckpointError(AriError, RuntimeError):
    """A checkpoint cannot be created, opened or written."""


class LockHeldError(CheckpointError):
    """Another process is writing the checkpoint."""


class JournalError(CheckpointError):
    """The journal is damaged in the middle and nothing may be guessed."""


class ExecutionError(AriError, RuntimeError):
    """A command cannot be run at all."""


class SandboxError(ExecutionError):
    """A command cannot be contained as asked."""


class BudgetExhausted(AriError, RuntimeError):  # noqa: N818 - the name of the state a run ends in
    """What may be spent is spent; the call was not made."""


class ReplayError(AriError, RuntimeError):
    """A study that is replayed asks for what its recordings do not hold."""


class EvaluationError(AriError, RuntimeError):
    """A node's result cannot be measured."""


class ModelError(AriError, RuntimeError):
    """A model service cannot be reached."""


class PaperError(AriError, RuntimeError):
    """A paper cannot be written, or what it prints is not what was measured."""


class LiteratureError(AriError, RuntimeError):
    """A literature service cannot be asked, does not answer, or answers with what cannot be read."""


class SkillError(AriError, RuntimeError):
    """A skill or tool failed or does not exist."""
