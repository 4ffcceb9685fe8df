"""`ari delete`: remove a checkpoint, and nothing that is not one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ari.cli.common import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="delete", short_help="Remove a checkpoint, after asking.")(delete)


def delete(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="The checkpoint to remove.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Remove a checkpoint with all its files, after asking.

    Refuses what is no checkpoint and what is being written.
    """
    from ari.cli.common import note
    from ari.errors import ConfigError

    _require_removable(checkpoint)
    files, size = _contents(checkpoint)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError(
                f"{checkpoint} was not removed: there is nobody to ask",
                cure="Give --yes to remove it without asking.",
            )
        note(f"{checkpoint}: {files} files, {size / 1e6:.1f} MB")
        _confirm("Remove it for good? [y/N] ")
    _remove(checkpoint)
    if as_json:
        print_json({"removed": str(checkpoint), "files": files, "bytes": size})
    else:
        print(f"removed {checkpoint} ({files} files, {size / 1e6:.1f} MB)")
    return 0


def _confirm(question: str) -> None:
    sys.stderr.write(question)
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise typer.Abort


def _require_removable(checkpoint: Path) -> None:
    from ari.checkpoint.readers import is_checkpoint
    from ari.errors import ConfigError

    if checkpoint.is_symlink():
        raise ConfigError(
            f"{checkpoint} is a symbolic link", cure=f"Name the checkpoint itself: {checkpoint.resolve()}"
        )
    if not is_checkpoint(checkpoint):
        raise ConfigError(
            f"{checkpoint} is no checkpoint and is left alone", cure="`ari projects` lists checkpoints."
        )
    here = Path.cwd().resolve()
    if here.is_relative_to(checkpoint.resolve()):
        raise ConfigError(f"{checkpoint} holds the current directory", cure="Go elsewhere, then try again.")


def _contents(checkpoint: Path) -> tuple[int, int]:
    count = size = 0
    for folder, _, names in os.walk(checkpoint):
        for name in names:
            count += 1
            size += (Path(folder) / name).lstat().st_size
    return count, size


def _remove(checkpoint: Path) -> None:
    """Take the lock, so that nobody is writing, and move the directory aside first: no half of it remains."""
    from ari.checkpoint.lock import Lock
    from ari.checkpoint.store import utc_now

    target = checkpoint.resolve()
    lock = Lock(target, since=utc_now())
    try:
        doomed = target.with_name(f".{target.name}.deleted-{os.getpid()}")
        target.rename(doomed)
        shutil.rmtree(doomed)
    finally:
        lock.release()
