"""What is known of a study's subject: text that the author gives, for the panel that finds ideas.

It is taken from the sections `## Survey`, `## Background`, `## Related work` and `## Literature` of
`experiment.md` and from the files `survey.md` and `survey.json` beside it, in this order.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from ari.errors import ExperimentError
from ari.formats.jsonio import strict_dumps
from ari.pipeline.experiment_spec import sections_of

SECTIONS = ("survey", "background", "related work", "literature")
FILES = ("survey.md", "survey.json")
MOST_BYTES = 1_000_000


def survey_of(text: str, folder: Path) -> str:
    """The survey of an experiment; empty where there is none.

    Args:
        text: The text of `experiment.md`.
        folder: Where it lies.

    Raises:
        ExperimentError: When a file is there and cannot be read.
    """
    sections = sections_of(text)
    parts = [sections[name].text for name in SECTIONS if name in sections]
    parts += [_read(folder / name) for name in FILES if (folder / name).is_file()]
    return "\n\n".join(part for part in parts if part.strip())


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        if len(data) > MOST_BYTES:
            raise ExperimentError(
                f"{path} has {len(data)} bytes; a survey may have {MOST_BYTES}",
                cure="Keep what matters for the question.",
            )
        if path.suffix == ".json":
            return strict_dumps(orjson.loads(data), indent=True).decode()
        return data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, ExperimentError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ExperimentError(
            f"{path} cannot be read: {reason}", cure="Mend the file, or take it away."
        ) from error
