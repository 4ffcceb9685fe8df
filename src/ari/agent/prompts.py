"""The texts that instruct models: files with a version, copied into the study that uses them.

Each prompt is a Markdown file in `ari/configs/prompts/` that begins with its version:

    ---
    version: 1
    ---
    You are a researcher. …

A study copies all of them into its `prompts/` and records their hashes in `meta.json` when it is created, so
that a resumed or replayed study instructs its models in the same words. Files of the same names in a folder
`prompts/` beside `experiment.md` replace ours. `ari validate` reports a copy that was changed, and such a
study is not carried further.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ari.errors import CheckpointError, ConfigError, PathEscapeError
from ari.paths import inside

FOLDER = "prompts"
"""Where a checkpoint keeps its prompts, and where an experiment may bring its own."""

PACKAGED = Path(__file__).resolve().parents[1] / "configs" / FOLDER

_HEAD = re.compile(r"\A---\nversion: (\d+)\n---\n")


@dataclass(frozen=True)
class Prompt:
    """One prompt.

    Attributes:
        name: Its file name without `.md`.
        version: The number at its head; it grows whenever the text changes.
        text: What the model is told.
        sha256: Hash of the whole file.
    """

    name: str
    version: int
    text: str
    sha256: str


class Prompts:
    """The prompts that one study uses.

    Args:
        folder: The study's own; a name that it lacks comes with the program.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @classmethod
    def of(cls, checkpoint: Path) -> Prompts:
        """The prompts of a study; those of the program where the study has none of its own."""
        folder = checkpoint / FOLDER
        return cls(folder if folder.is_dir() else None)

    def get(self, name: str) -> Prompt:
        """Read a prompt.

        Raises:
            ConfigError: When there is none of that name, or the file is not a prompt.
        """
        path = self._path(name)
        try:
            return _parse(name, path.read_bytes(), path)
        except OSError as error:
            raise ConfigError(
                f"{path}: the prompt cannot be read: {error.strerror}",
                cure=f"There are: {', '.join(packaged_names())}.",
            ) from error

    def text(self, *names: str) -> str:
        """Several prompts as one text, in the order given."""
        return "\n\n".join(self.get(name).text for name in names)

    def _path(self, name: str) -> Path:
        own = self._folder / f"{name}.md" if self._folder is not None else None
        return own if own is not None and own.is_file() else PACKAGED / f"{name}.md"


def node_prompts(kind: str, label: str) -> tuple[str, str, str]:
    """Names of the prompts that instruct a node: for all, for its kind of experiment, for its label."""
    known = f"label_{label}"
    return "node", f"node_{kind}", known if known in packaged_names() else "label_other"


def packaged_names() -> tuple[str, ...]:
    """Names of all prompts that come with the program, sorted."""
    return tuple(sorted(path.stem for path in PACKAGED.glob("*.md")))


def install(checkpoint: Path, beside: Path) -> dict[str, str]:
    """Copy every prompt into a new study.

    Args:
        checkpoint: The study's directory.
        beside: The folder of `experiment.md`; its `prompts/` may replace some.

    Returns:
        Path in the checkpoint to SHA-256, for `meta.json`.

    Raises:
        ConfigError: When a file of the experiment's own is not a prompt or replaces nothing.
    """
    own = beside / FOLDER
    _refuse_strangers(own)
    prompts = Prompts(own if own.is_dir() else None)
    target = checkpoint / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    recorded: dict[str, str] = {}
    for name in packaged_names():
        recorded[f"{FOLDER}/{name}.md"] = prompts.get(name).sha256
        (target / f"{name}.md").write_bytes(prompts._path(name).read_bytes())
    return recorded


def _refuse_strangers(folder: Path) -> None:
    names = packaged_names()
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        if path.stem not in names:
            raise ConfigError(
                f"{path}: there is no prompt of this name to be replaced",
                cure=f"There are: {', '.join(names)}.",
            )


def check(checkpoint: Path, recorded: Mapping[str, str]) -> list[str]:
    """Say which prompts of a study are no longer those that were recorded, one text for each."""
    faults = []
    for path, sha256 in sorted(recorded.items()):
        try:
            present = hashlib.sha256(inside(checkpoint, path).read_bytes()).hexdigest()
        except OSError as error:
            faults.append(f"{path} cannot be read: {error.strerror}")
            continue
        except PathEscapeError as error:
            faults.append(error.message)
            continue
        if present != sha256:
            faults.append(f"{path} has sha256 {present} instead of {sha256}")
    return faults


def verify(checkpoint: Path, recorded: Mapping[str, str]) -> None:
    """Refuse to go on with other prompts than those the study began with.

    Raises:
        CheckpointError: Naming every prompt that differs.
    """
    faults = check(checkpoint, recorded)
    if faults:
        raise CheckpointError(
            f"the prompts of {checkpoint} are not those this study began with: {'; '.join(faults)}",
            cure="Put them back, or start a new study with a folder prompts/ beside experiment.md.",
        )


def _parse(name: str, data: bytes, path: Path) -> Prompt:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the prompt is not UTF-8", cure="Save the file as UTF-8.") from error
    head = _HEAD.match(text)
    body = text[head.end() :].strip() if head else ""
    if head is None or not body:
        what = "its first lines do not give its version" if head is None else "it holds no text"
        raise ConfigError(
            f"{path}: this is not a prompt: {what}",
            cure="Begin the file with the lines '---', 'version: 1', '---', then write the text.",
        )
    return Prompt(name, int(head.group(1)), body, hashlib.sha256(data).hexdigest())
