"""Whether a stage has to be run: its inputs, parameters and program against what the journal recorded.

A file that several stages write is kept as each of them left it (`records/stages/<stage>/outputs/`), so
that an earlier stage can be run again on what it was given, and a later one's work can be put back. A product
that the user has changed by hand is kept as it is, and what reads it sees the change.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ari.checkpoint import StageState
from ari.checkpoint.files import atomic_write
from ari.checkpoint.store import file_sha256
from ari.formats.jsonio import strict_dumps
from ari.pipeline.claim_gate.includes import read_source
from ari.pipeline.stage_worker import records_of
from ari.pipeline.workflow import Stage, Workflow

Hashes = dict[str, str | None]


class Verdict(NamedTuple):
    """What is to be done with a stage.

    Attributes:
        run: Whether it has to be run.
        why: The reason, for people.
        edited: Products that were changed by hand since.
    """

    run: bool
    why: str
    edited: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def code_version() -> str:
    """SHA-256 over the sources of this program; another program may give other products."""
    import ari
    import sr_harness

    digest = hashlib.sha256()
    for package in (ari, sr_harness):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*")):
            if path.suffix in {".py", ".json", ".yaml", ".tex"} and path.is_file():
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def parameters_of(stage: Stage) -> str:
    """SHA-256 of what a stage does: its tool, parameters and products."""
    outputs = [f"{ref.path}{'?' if ref.optional else ''}" for ref in stage.outputs]
    document: list[Any] = [stage.skill, stage.tool, dict(stage.parameters), outputs]
    if stage.outside is not None:
        document.append(stage.outside.model_dump(mode="json"))
    return hashlib.sha256(strict_dumps(document)).hexdigest()


def hash_of(path: Path) -> str | None:
    """SHA-256 of a file, or over the names and contents of a directory; None when it is absent."""
    if path.is_dir():
        digest = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(f"{file.relative_to(path).as_posix()}\0{file_sha256(file)}\n".encode())
        return digest.hexdigest()
    return file_sha256(path) if path.is_file() else None


class Freshness:
    """Decides for the stages of one workflow in one checkpoint.

    Args:
        checkpoint: The directory.
        workflow: The workflow.
        recorded: The stages as the journal knows them; read again at each question.
    """

    def __init__(
        self, checkpoint: Path, workflow: Workflow, recorded: Callable[[], Mapping[str, StageState]]
    ) -> None:
        self._checkpoint = checkpoint
        self._workflow = workflow
        self._recorded = recorded

    def verdict(self, stage: Stage) -> Verdict:
        """Say whether a stage has to be run; reads files, changes none."""
        if stage.skip_if_exists and all((self._checkpoint / path).exists() for path in stage.skip_if_exists):
            return Verdict(False, f"{', '.join(stage.skip_if_exists)} exists already")
        state = self._recorded().get(stage.name)
        if state is None or not state.finished:
            return Verdict(True, "it has not been run yet" if state is None else "it was broken off")
        if state.status != "done":
            return Verdict(True, f"last time it was {state.status}: {state.reason}")
        if state.reason:
            return Verdict(True, state.reason)
        return self._against(stage, state)

    def _against(self, stage: Stage, state: StageState) -> Verdict:
        if state.code != code_version():
            return Verdict(True, "the program has changed since")
        if state.parameters != parameters_of(stage):
            return Verdict(True, "its parameters have changed")
        present = self.input_hashes(stage)
        changed = [path for path in present if present[path] != state.inputs.get(path)]
        changed += [path for path in state.inputs if path not in present]
        if changed:
            verb = "have" if len(changed) > 1 else "has"
            return Verdict(True, f"{', '.join(changed)} {verb} changed")
        missing = [path for path in state.outputs if not (self._checkpoint / path).exists()]
        if missing:
            return Verdict(
                True, f"{', '.join(missing)} is gone" if len(missing) == 1 else "products are gone"
            )
        edited = tuple(path for path in state.outputs if self._edited(path))
        if edited:
            return Verdict(
                False, f"unchanged, but {', '.join(edited)} was changed by hand and is kept", edited
            )
        return Verdict(False, "unchanged: inputs, parameters and program are those of the last time")

    def input_hashes(self, stage: Stage) -> Hashes:
        """The inputs of a stage as it is to see them, and the files that a paper among them draws in."""
        hashes = {ref.path: self._seen(stage, ref.path) for ref in stage.inputs}
        for ref in stage.inputs:
            for path in self._drawn_in(ref.path):
                hashes.setdefault(path, hash_of(self._checkpoint / path))
        return hashes

    def _drawn_in(self, path: str) -> tuple[str, ...]:
        if not path.endswith(".tex"):
            return ()
        try:
            return read_source(self._checkpoint / path, self._checkpoint).files
        except OSError:
            return ()  # it is not there (yet)

    def _seen(self, stage: Stage, path: str) -> str | None:
        present = hash_of(self._checkpoint / path)
        source = self._source(stage, path)
        if source is None or not self._edited(path):
            given = self._left_by(source, path) if source is not None else None
            return given or present
        return present

    def prepare(self, stage: Stage) -> None:
        """Put back each shared file that a stage reads, as the stage before it left it."""
        for ref in stage.inputs:
            source = self._source(stage, ref.path)
            if source is not None and not self._edited(ref.path):
                self._put_back(source, ref.path)

    def restore(self, stage: Stage) -> None:
        """Put back the products of a stage that need not be run, where an earlier stage has replaced them."""
        for ref in stage.outputs:
            if self._shared(ref.path) and not self._edited(ref.path) and self._newest(ref.path) is stage:
                self._put_back(stage, ref.path)

    def keep(self, stage: Stage) -> None:
        """Keep the shared products of a stage as it left them."""
        for ref in stage.outputs:
            source = self._checkpoint / ref.path
            if self._shared(ref.path) and source.is_file():
                target = self._kept(stage, ref.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(target, source.read_bytes())

    def set_aside(self, stage: Stage) -> list[str]:
        """Copy products that were changed by hand before the stage replaces them.

        Returns:
            Names of the copies.
        """
        copies = []
        state = self._recorded().get(stage.name)
        for path in state.outputs if state is not None else ():
            source = self._checkpoint / path
            if not source.is_file() or not self._edited(path):
                continue
            number = 1
            while (copy := source.with_name(f"{source.stem}.edited-{number}{source.suffix}")).exists():
                number += 1
            shutil.copyfile(source, copy)
            copies.append(copy.relative_to(self._checkpoint).as_posix())
        return copies

    def _edited(self, path: str) -> bool:
        """Whether a product is none of those that any stage is known to have left.

        What a stage that was broken off may have written is its work and nobody's hand.
        """
        recorded = self._recorded()
        writers = [recorded.get(writer.name) for writer in self._workflow.writers(path)]
        if any(state is not None and not state.finished for state in writers):
            return False
        present = hash_of(self._checkpoint / path)
        known = [state.outputs[path] for state in recorded.values() if path in state.outputs]
        return present is not None and bool(known) and present not in known

    def _shared(self, path: str) -> bool:
        return len(self._workflow.writers(path)) > 1

    def _source(self, stage: Stage, path: str) -> Stage | None:
        """Of a shared file: the stage whose version another stage reads."""
        if not self._shared(path):
            return None
        before = self._workflow.before(stage.name)
        writers = [writer for writer in self._workflow.writers(path) if writer.name in before]
        return writers[-1] if writers else None

    def _left_by(self, stage: Stage, path: str) -> str | None:
        state = self._recorded().get(stage.name)
        return state.outputs.get(path) if state is not None and self._kept(stage, path).is_file() else None

    def _newest(self, path: str) -> Stage | None:
        """The last stage in order that has written a shared file and stands as done."""
        recorded = self._recorded()
        done = [
            writer
            for writer in self._workflow.writers(path)
            if writer.name in recorded and path in recorded[writer.name].outputs
        ]
        return done[-1] if done else None

    def _put_back(self, stage: Stage, path: str) -> None:
        kept, target = self._kept(stage, path), self._checkpoint / path
        if kept.is_file() and hash_of(kept) != hash_of(target):
            atomic_write(target, kept.read_bytes())

    def _kept(self, stage: Stage, path: str) -> Path:
        return records_of(self._checkpoint, stage.name) / "outputs" / path
