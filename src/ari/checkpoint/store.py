"""The checkpoint of a run: created and written by one process, opened and read by any.

Promises of `Checkpoint`:

- *Journal first.* `append` returns when the event is on disk; only then do state and projections change.
- *One writer*, by the lock; readers take no lock and write nothing.
- *Nothing is lost.* When a write fails, what was recorded before stays as it was. A projection that could
  not be written is written with the next event, at the latest by `close`, and the warning says so.
- *Nothing is replaced by less.* The journal only grows; a finished node is not run again.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from pydantic import BaseModel

from ari.checkpoint import projections, readers
from ari.checkpoint.files import atomic_write, remove_temporaries, write_failure
from ari.checkpoint.journal import JOURNAL_NAME, Journal, read_journal
from ari.checkpoint.lock import LOCK_NAME, Lock
from ari.checkpoint.state import NodeState, RunState
from ari.errors import CheckpointError
from ari.formats.base import FormatModel
from ari.formats.jsonio import Json, encode_metric, encode_metrics, strict_dumps
from ari.formats.meta import Meta
from ari.formats.settings import require_no_secrets
from ari.paths import inside

META_NAME = "meta.json"
_PROTECTED = frozenset({JOURNAL_NAME, LOCK_NAME})


def utc_now() -> str:
    """Return the present time as the checkpoint writes it: ISO 8601, UTC, milliseconds, `Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def replay_source(path: Path) -> Path | None:
    """The study whose recordings answer in this one, which is its replay; None for a study of its own.

    Args:
        path: A checkpoint.

    Raises:
        FormatError: If its `meta.json` cannot be read.
    """
    file = path / META_NAME
    recorded = Meta.read(file).replay_of if file.exists() else None
    return None if recorded is None else Path(recorded)


class Checkpoint:
    """One checkpoint directory. Made by `create` and `open`, not directly.

    Attributes:
        path: The directory.
        warnings: What was odd but could be handled (a torn record, a lock taken over), for the user.
    """

    def __init__(
        self, path: Path, loaded: readers.Loaded, lock: Lock | None, journal: Journal | None
    ) -> None:
        self.path = path
        self.warnings = list(loaded.warnings)
        self._loaded = loaded
        self._state = loaded.state
        self._lock = lock
        self._journal = journal
        self._mutex = threading.RLock()
        self._tree = projections.TreeProjection()
        if journal is not None:
            self._tree.update(self._state, self._state.nodes)
        self._dirty = False

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        run_id: str,
        primary_metric: str,
        higher_is_better: bool,
        seed: int | None = None,
        goal: str = "",
        settings: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Create a checkpoint and become its writer.

        Args:
            path: The directory; created if absent, and may hold files already but no checkpoint.
            run_id: Identity of the run.
            primary_metric: The metric it is about.
            higher_is_better: Its direction.
            seed: The run's seed.
            goal: The experiment's goal.
            settings: The settings it starts with; they must hold no secret.
            meta: Further keys of `meta.json`: versions, data hashes, the commitment to the sealed rows.

        Returns:
            The checkpoint, open for writing.

        Raises:
            CheckpointError: If the directory holds a checkpoint or cannot be written.
            FormatError: If the settings hold a secret, or `meta` is not in the documented shape.
            LockHeldError: If another process is creating it at this moment.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(path, error) from error
        require_no_secrets(dict(settings or {}), source="the settings of the run")
        now = utc_now()
        lock = Lock(path, since=now)
        try:
            _refuse_existing(path)
            reading = read_journal(path / JOURNAL_NAME) if (path / JOURNAL_NAME).exists() else None
            record = Meta.from_document(
                {"schema_version": 1, "run_id": run_id, "seed": seed, "created_at": now, **(meta or {})},
                source=META_NAME,
            )
            atomic_write(path / META_NAME, record.to_bytes())
            journal = Journal(path / JOURNAL_NAME, reading or readers.EMPTY_READING)
            self = cls(path, readers.Loaded(RunState()), lock, journal)
            self.append(
                "run_created",
                run_id=run_id,
                seed=seed,
                goal=goal,
                primary_metric=primary_metric,
                higher_is_better=higher_is_better,
                settings=dict(settings or {}),
            )
            self._write_tree(sync=True)
        except BaseException:  # whatever happened, nobody would release it later
            lock.release()
            raise
        return self

    @classmethod
    def open(cls, path: Path, read_only: bool = True, *, take_over: bool = False) -> Self:
        """Open a checkpoint.

        A directory that has no journal (written by another tool, or in an older shape) can be read only.
        A workspace with one checkpoint under `checkpoints/` may be named instead of the checkpoint.

        Args:
            path: The directory.
            read_only: Read it without a lock; else become its writer.
            take_over: Free a lock whose holder cannot be shown to be gone, on the user's word.

        Returns:
            The checkpoint.

        Raises:
            CheckpointError: If there is no checkpoint, or it cannot be written as asked.
            JournalError: If the journal is damaged.
            LockHeldError: If another process is writing it.
        """
        directory = readers.locate(path)
        if read_only:
            return cls(directory, readers.load(directory), None, None)
        if not (directory / JOURNAL_NAME).exists():
            raise CheckpointError(
                f"{directory} has no {JOURNAL_NAME} and can only be read",
                cure=f"`ari migrate {directory} NEW_DIRECTORY` writes it in the present shape.",
            )
        lock = Lock(directory, since=utc_now(), take_over=take_over)
        try:
            remove_temporaries(directory)
            journal_path = directory / JOURNAL_NAME
            reading = read_journal(journal_path)
            loaded = readers.fold(journal_path, reading)
            journal = Journal(journal_path, reading)
            self = cls(directory, loaded, lock, journal)
            if lock.warning:
                self.warnings.append(lock.warning)
            self._write_tree(sync=False)
            self._write_decisions()
        except BaseException:  # whatever happened, nobody would release it later
            lock.release()
            raise
        return self

    @property
    def read_only(self) -> bool:
        """Whether this object may not write."""
        return self._journal is None

    @property
    def state(self) -> RunState:
        """The folded state; to be read, not changed."""
        return self._state

    @property
    def nodes(self) -> Mapping[str, NodeState]:
        """Id to node, in order of creation."""
        return MappingProxyType(self._state.nodes)

    @property
    def root_node_id(self) -> str | None:
        """The root of the tree."""
        return self._state.root_node_id

    @property
    def best_node_id(self) -> str | None:
        """What `results.json` names; before it is written, what `run_finished` named; else None."""
        return readers.best_node(self.path, self._loaded, self._state)

    @property
    def status_counts(self) -> dict[str, int]:
        """How many nodes have each status that occurs."""
        return dict(Counter(node.status for node in self._state.nodes.values()))

    @property
    def max_depth(self) -> int:
        """The depth of the deepest node; 0 for an empty tree."""
        return max((node.depth for node in self._state.nodes.values()), default=0)

    @property
    def meta(self) -> Meta:
        """The content of `meta.json`; where there is none, what the tree says of the run."""
        path = self.path / META_NAME
        if path.exists():
            return Meta.read(path)
        return Meta.model_validate({"run_id": self._state.run_id or self.path.name})

    def events(self) -> Iterator[dict[str, Any]]:
        """Read the events of the journal from the beginning.

        Returns:
            The events in order; none where there is no journal.
        """
        path = self.path / JOURNAL_NAME
        return iter(read_journal(path).events if path.exists() else [])

    def nodes_tree(self) -> dict[str, Any]:
        """Compose the document of `nodes_tree.json`, whether or not the file is up to date.

        Returns:
            The document.
        """
        if self._loaded.nodes_document is not None:
            return self._loaded.nodes_document
        return projections.nodes_tree_of(self._state, self.path)

    def append(self, event: str, **fields: Json) -> dict[str, Any]:
        """Record one transition: journal, then state, then `tree.json`.

        Metrics of `node_finished` and `node_evaluated` may hold non-finite numbers and NumPy scalars: they
        are encoded as documented. A score that is missing or not finite becomes 0.0.

        Args:
            event: Name of the event.
            **fields: Its keys, apart from `seq`, `ts` and `event`.

        Returns:
            The event as recorded.

        Raises:
            CheckpointError: If it cannot be recorded or contradicts the state; nothing has changed then.
            FormatError: If it is not in its documented shape; nothing has changed then.
        """
        with self._mutex:
            journal = self._writable()
            document = journal.prepare(event, utc_now(), _encode_fields(event, fields))
            self._state.check(document)
            journal.append(document)
            touched = self._state.apply(document)
            if touched:
                self._tree.update(self._state, touched)
                self._dirty = True
            self._project(event)
            return document

    def _project(self, event: str) -> None:
        """Bring the projections up to date; a failure is kept for later, for the event is recorded."""
        try:
            if self._dirty:
                self._write_tree(sync=False)
            if event == "lineage_decision":
                self._write_decisions()
        except CheckpointError as error:
            self.warnings.append(f"recorded, but not yet shown: {error.message}")

    def _write_tree(self, *, sync: bool) -> None:
        atomic_write(self.path / projections.TREE_NAME, self._tree.to_bytes(), sync=sync)
        self._dirty = False

    def _write_decisions(self) -> None:
        if self._state.decisions:
            atomic_write(self.path / projections.DECISIONS_NAME, projections.decisions_of(self._state))

    def write_product(self, relpath: str, content: bytes | str | BaseModel | Mapping[str, Any]) -> Path:
        """Write a finished product: atomic, and on disk when this returns.

        Args:
            relpath: Path inside the checkpoint; its directory is created.
            content: Bytes as they are, text as UTF-8, a model or a mapping as strict JSON.

        Returns:
            The file.

        Raises:
            CheckpointError: If it cannot be written; an earlier file stays as it was.
            PathEscapeError: If the path leaves the checkpoint.
            FormatError: If the content cannot be written as strict JSON.
        """
        with self._mutex:
            self._writable()
            target = inside(self.path, relpath)
            if target.parent == self.path and target.name in _PROTECTED:
                raise CheckpointError(f"{relpath} is kept by the checkpoint itself and is no product")
            if target.name == "settings.json" and isinstance(content, Mapping):
                require_no_secrets(content, source=relpath)
            data = _to_bytes(content)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_failure(target.parent, error) from error
            atomic_write(target, data)
            return target

    def write_nodes_tree(self) -> Path:
        """Write `nodes_tree.json` from the state and the traces.

        Returns:
            The file.

        Raises:
            CheckpointError: If it cannot be written.
        """
        return self.write_product(projections.NODES_TREE_NAME, self.nodes_tree())

    def write_results(self, best: str | None) -> Path:
        """Write `results.json`.

        Args:
            best: The best node, or None when no node has a result.

        Returns:
            The file.

        Raises:
            CheckpointError: If the node is unknown or sterile, or the file cannot be written.
        """
        if best is not None and best not in self._state.nodes:
            raise CheckpointError(f"the unknown node {best} cannot be the best one")
        if best is not None and self._state.nodes[best].search_state.sterile:
            raise CheckpointError(f"node {best} is sterile (it changed nothing) and cannot be the best one")
        return self.write_product(projections.RESULTS_NAME, projections.results_of(self._state, best))

    def verify_data_hashes(self, base: Path) -> None:
        """Refuse to go on with data that are not those the run began with.

        Args:
            base: The directory to which the paths of `meta.data_hashes` are relative.

        Raises:
            CheckpointError: If a file is missing or has another hash; names every one.
        """
        changed = []
        for relpath, recorded in self.meta.data_hashes.items():
            try:
                present = file_sha256(inside(base, relpath))
            except OSError as error:
                changed.append(f"{relpath} cannot be read: {error.strerror or error}")
                continue
            if present != recorded:
                changed.append(f"{relpath} has sha256 {present} instead of {recorded}")
        if changed:
            raise CheckpointError(
                f"the data under {base} are not those this run began with: {'; '.join(changed)}",
                cure="Put the original data back, or start a new run on the changed ones.",
            )

    def _writable(self) -> Journal:
        if self._journal is None:
            raise CheckpointError(f"{self.path} was opened for reading", cure="Open it with read_only=False.")
        return self._journal

    def close(self) -> None:
        """Bring `tree.json` to disk and let the lock go; closing twice is harmless.

        Raises:
            CheckpointError: If a projection could not be written; the journal holds everything.
        """
        with self._mutex:
            if self._journal is None or self._lock is None:
                return
            try:
                if self._state.run_id:
                    self._write_tree(sync=True)
                    self._write_decisions()
            finally:
                self._journal.close()
                self._journal = None
                self._lock.release()
                self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _refuse_existing(path: Path) -> None:
    journal = path / JOURNAL_NAME
    if journal.exists():
        reading = read_journal(journal)
        taken = bool(reading.events) or reading.damage is not None
    else:
        names = (projections.TREE_NAME, projections.NODES_TREE_NAME, projections.RESULTS_NAME)
        taken = any((path / name).exists() for name in names)
    if taken:
        raise CheckpointError(
            f"{path} holds a checkpoint already",
            cure=f"`ari resume {path}` goes on with it; or choose another directory with --output.",
        )


def _encode_fields(event: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Bring metrics and score into the form that a file may hold; models become dictionaries."""
    plain = {
        key: value.to_dict() if isinstance(value, FormatModel) else value for key, value in fields.items()
    }
    if event not in {"node_finished", "node_evaluated"}:
        return plain
    metrics, notes = encode_metrics(plain.get("metrics", {}), plain.get("metrics_with_metadata"))
    plain |= {"metrics": metrics, "metrics_with_metadata": notes}
    if event == "node_finished":
        score, _ = encode_metric(plain.get("score"))
        plain["score"] = 0.0 if score is None else score
    return plain


def _to_bytes(content: bytes | str | BaseModel | Mapping[str, Any]) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode("utf-8")
    if isinstance(content, FormatModel):
        return content.to_bytes()
    if isinstance(content, BaseModel):
        return strict_dumps(content.model_dump(mode="json", by_alias=True), indent=True)
    return strict_dumps(content, indent=True)


def file_sha256(path: Path) -> str:
    """Hash a file.

    Args:
        path: The file.

    Returns:
        SHA-256 in lower-case hexadecimal.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
