from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import SandboxError
from ari.execution import sandbox as module
from ari.execution.sandbox import Sandbox, detect, visible_temporary, wrap

CONTAINED = Sandbox("bubblewrap", "for the test", "/usr/bin/bwrap", ("--disable-userns",))


@pytest.fixture
def fresh_probe():
    module._probe.cache_clear()
    yield
    module._probe.cache_clear()


def script(folder: Path, text: str) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def test_plain_on_request():
    assert detect("plain") == Sandbox("plain", "asked for")


def test_without_bubblewrap_the_reason_says_so(monkeypatch, tmp_path, fresh_probe):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module.sys, "prefix", str(tmp_path))
    found = detect()
    assert (found.kind, found.reason) == ("plain", "bubblewrap (bwrap) is not installed")


def test_a_bubblewrap_that_fails_is_not_used_and_its_words_are_kept(monkeypatch, tmp_path, fresh_probe):
    script(tmp_path, "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = detect()
    assert found.kind == "plain"
    assert "No permissions to create new namespace" in found.reason


def test_an_older_bubblewrap_is_used_without_the_option_it_lacks(monkeypatch, tmp_path, fresh_probe):
    script(tmp_path, 'case " $* " in *--disable-userns*) exit 1;; esac')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert detect() == Sandbox("bubblewrap", "bubblewrap works on this machine", str(tmp_path / "bwrap"), ())


def test_insisting_where_it_does_not_work_is_an_error_with_a_cure(monkeypatch, tmp_path, fresh_probe):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module.sys, "prefix", str(tmp_path))
    with pytest.raises(SandboxError, match=r"(?s)bwrap\) is not installed.*Install the package"):
        detect("bubblewrap")


def test_plain_leaves_the_command_as_it_is(tmp_path):
    assert wrap(["a", "b c"], work_dir=tmp_path, sandbox=detect("plain")) == ["a", "b c"]


def binds(argv: list[str]) -> dict[str, str]:
    """Where each of our paths is bound, in order."""
    return {argv[i + 1]: argv[i] for i in range(len(argv) - 2) if argv[i] in ("--bind", "--ro-bind")}


def test_only_the_work_folder_is_writable(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    argv = wrap(["true"], work_dir=work, sandbox=CONTAINED)
    assert [path for path, option in binds(argv).items() if option == "--bind"] == [str(work)]
    assert argv[-4:] == ["--chdir", str(work), "--", "true"]


def test_inner_folders_are_bound_after_outer_ones(tmp_path):
    inside = tmp_path / "work" / "given"
    inside.mkdir(parents=True)
    argv = wrap(["true"], work_dir=tmp_path / "work", sandbox=CONTAINED, read_only=[inside, tmp_path])
    ours = [(path, option) for path, option in binds(argv).items() if path.startswith(str(tmp_path))]
    assert ours == [
        (str(tmp_path), "--ro-bind"),
        (str(tmp_path / "work"), "--bind"),
        (str(inside), "--ro-bind"),
    ]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(SandboxError, match=r"nowhere cannot be shown .* does not exist"):
        wrap(["true"], work_dir=tmp_path, sandbox=CONTAINED, read_only=[tmp_path / "nowhere"])
    with pytest.raises(SandboxError, match=r"the work folder .*nowhere does not exist"):
        wrap(["true"], work_dir=tmp_path / "nowhere", sandbox=CONTAINED)


def test_temporary_files_are_private_in_both_kinds():
    assert visible_temporary(CONTAINED) == "/tmp"
    assert visible_temporary(detect("plain")) is None  # the runner makes a folder for each run
