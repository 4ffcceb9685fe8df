"""Writing: what is written is what is read, and the target is always the old one or the new one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sr_harness.core import (
    AgentContext,
    Axis,
    ContextManifestError,
    ContextWriteError,
    Variable,
    atomic,
    inspect_context_data,
    load_context_data,
    update_context_data_descriptions,
    write_context_data,
)


def table(values=(1.0, 2.0, 3.0), description="A reading."):
    return {
        "variables": {"x": Variable(np.array(values), description, ["row"])},
        "axes": {"row": Axis("Row.", size=len(values))},
    }


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def written(tmp_path):
    return write_context_data(tmp_path / "context.data", **table())


def test_everything_comes_back(tmp_path):
    variables = {
        "theta": Variable(np.arange(6, dtype=np.float32).reshape(2, 3), "Phase.", ("time", "node")),
        "A": {
            "values": [[0, 1], [2, 0]],
            "description": "Edges.",
            "axes": ["edge", "end"],
            "kind": "relation",
        },
        "w": Variable([0.5, 1.5], "Weight.", ["edge"], structure="A"),
        "名": Variable(["a", "bcd", ""], "Label.", ["node"]),
        "flag": Variable([True, False], "Flag.", ["edge"], structure="A"),
        "g": Variable(9.81, "Scalar."),
        "when": Variable(np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "Date.", ["time"]),
        "fortran": Variable(np.asfortranarray(np.arange(6).reshape(2, 3)), "F.", ["time", "node"]),
        "strided": Variable(np.arange(12.0).reshape(2, 6)[:, ::2], "S.", ["time", "node"]),
    }
    axes = {
        "time": Axis("Time.", values=[0.0, 0.1]),
        "node": {"size": 3, "description": "Node."},
        "edge": Axis("Edge.", values=np.arange(2, dtype=np.int16)),
        "end": Axis("End.", values=["target", "source"]),
    }
    path = write_context_data(
        tmp_path / "deep" / "er" / "context.data", variables=variables, axes=axes, num_nodes=3
    )
    loaded = load_context_data(path)
    for name, given in variables.items():
        values = given["values"] if isinstance(given, dict) else given.values
        np.testing.assert_array_equal(loaded["data"][name], np.asarray(values))
    assert loaded["data"]["theta"].dtype == np.float32
    assert loaded["data"]["edge"].dtype == np.int16
    assert loaded["relation_names"] == ("A",)
    assert loaded["variable_structures"] == {"w": "A", "flag": "A"}
    sources = {name: entry["source"] for name, entry in loaded["axis_metadata"].items()}
    assert sources == {"time": "values", "node": "size", "edge": "file", "end": "values"}
    assert inspect_context_data(path)["warnings"] == []


def test_long_axes_and_those_json_cannot_keep_become_files(tmp_path):
    variables = {"x": Variable(np.zeros((200, 2)), "X.", ["a", "b"])}
    axes = {"a": Axis("A.", values=np.arange(200.0)), "b": Axis("B.", values=[0.0, np.nan])}
    path = write_context_data(tmp_path / "c", variables=variables, axes=axes)
    assert sorted(contents(path)) == ["a.npy", "b.npy", "manifest.json", "x.npy"]
    assert np.isnan(load_context_data(path)["data"]["b"][1])


def test_all_faults_of_what_is_given_are_named_and_nothing_is_written(tmp_path):
    with pytest.raises(ContextManifestError) as raised:
        write_context_data(
            tmp_path / "context.data",
            variables={
                "../x": Variable([1], "", ["row"]),
                "mixed": Variable([1, "a"], "", ["row"]),
                "objects": Variable([{}, {}], "", ["row"]),
                "ragged": Variable([[1], [1, 2]], "", ["row"]),
                "long": Variable([1, 2, 3], "", ["row"]),
                "none": Variable(None, "", ["row"]),
                "masked": Variable(np.ma.array([1, 2], mask=[True, False]), "", ["row"]),
                "record": Variable(np.zeros(2, dtype=[("a", "f8")]), "", ["row"]),
                "odd": {"values": [1, 2], "axes": ["row"]},
                "A": Variable([[0, 1], [1, 1]], "", ["row", "row"], kind="relation"),
                "text": Variable([1, 2], 7, ["row"]),
            },
            axes={
                "row": Axis("Row.", size=2),
                "both": Axis("Both.", values=[1], size=1),
                "idle": Axis("", size=1),
            },
        )
    text = str(raised.value)
    for said in (
        "'../x' cannot be a variable name",
        "'mixed' cannot be stored: they are objects of type int, str",
        "'objects' cannot be stored: they are objects of type dict",
        "'ragged' cannot be stored",
        "variables.long: dimension 0 has length 3, but the axis 'row' has 2",
        "'none' cannot be stored",
        "'masked' cannot be stored: a masked array",
        "'record' cannot be stored: the dtype",
        "'odd' must be a Variable or a mapping with the keys",
        "num_nodes: is missing",
        "variables.text.description: must be a string",
        "'both' needs either values or a size",
        "axes.idle: no variable uses this axis",
    ):
        assert said in text
    assert list(tmp_path.iterdir()) == []


def test_endpoints_are_checked_before_the_directory_is_put_in_place(tmp_path):
    with pytest.raises(ContextManifestError, match="found 5 in row 0, column 1"):
        write_context_data(
            tmp_path / "context.data",
            variables={"A": Variable([[0, 5]], "", ["e", "t"], kind="relation")},
            axes={"e": Axis("", size=1), "t": Axis("", size=2)},
            num_nodes=3,
        )
    assert list(tmp_path.iterdir()) == []


def test_text_with_half_a_character_is_refused(tmp_path):
    with pytest.raises(ContextManifestError, match="surrogate"):
        write_context_data(tmp_path / "c", **table(description="\ud800"))
    assert list(tmp_path.iterdir()) == []


def test_data_are_not_overwritten_unasked(written):
    before = contents(written)
    with pytest.raises(ContextWriteError, match="already holds data; overwrite it"):
        write_context_data(written, **table((4.0,)))
    assert contents(written) == before


def test_overwriting_replaces_all_of_it_and_keeps_the_mode(written):
    np.save(written / "stray.npy", np.zeros(1))
    written.chmod(0o750)
    write_context_data(written, **table((4.0, 5.0)), overwrite=True)
    assert sorted(contents(written)) == ["manifest.json", "x.npy"]
    assert load_context_data(written)["data"]["x"].tolist() == [4.0, 5.0]
    assert written.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in written.parent.iterdir()] == ["context.data"]


def test_a_context_can_replace_the_directory_it_is_mapped_from(tmp_path):
    path = write_context_data(tmp_path / "c", **table(np.arange(200_000.0)))
    context = AgentContext.from_directory(path)
    context.take("row", np.arange(199_999, -1, -1)).to_directory(path, overwrite=True)
    assert load_context_data(path)["data"]["x"][0] == 199_999.0
    assert context.data["x"][0] == 0.0


def test_foreign_files_are_never_replaced(written):
    (written / "notes.txt").write_text("mine")
    before = contents(written)
    with pytest.raises(ContextWriteError, match=r"not part of a context.data directory \(notes.txt\)"):
        write_context_data(written, **table(), overwrite=True)
    assert contents(written) == before


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "c").write_text("mine")
    with pytest.raises(ContextWriteError, match="is a file"):
        write_context_data(tmp_path / "c", **table(), overwrite=True)
    assert (tmp_path / "c").read_text() == "mine"


def test_a_link_to_a_directory_stays_a_link(written, tmp_path):
    (tmp_path / "link").symlink_to(written)
    write_context_data(tmp_path / "link", **table((4.0,)), overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert load_context_data(written)["data"]["x"].tolist() == [4.0]


def test_without_exchange_the_directory_is_still_replaced(written, monkeypatch):
    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    write_context_data(written, **table((4.0,)), overwrite=True)
    assert load_context_data(written)["data"]["x"].tolist() == [4.0]
    assert [path.name for path in written.parent.iterdir()] == ["context.data"]


def test_exchange_swaps_two_directories(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert atomic.exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()
    assert not atomic.exchange(tmp_path / "a", tmp_path / "nothing")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "mkdir"])
def test_any_failure_leaves_the_old_directory(written, monkeypatch, code, call):
    before = contents(written)

    def fail(*_args, **_kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ContextWriteError, match=f"{os.strerror(code)}. Nothing was changed"):
        write_context_data(written, **table((4.0,)), overwrite=True)
    monkeypatch.undo()
    assert contents(written) == before
    assert [path.name for path in written.parent.iterdir()] == ["context.data"]


def test_a_limit_on_file_size_really_reached(written):
    """A disk that fills while an array is written, made with a resource limit in a child process."""
    script = f"""
import resource
import numpy as np
from sr_harness.core import Axis, ContextWriteError, Variable, write_context_data
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_context_data({str(written)!r}, variables={{"x": Variable(np.zeros(1_000_000), "X.", ["row"])}},
                       axes={{"row": Axis("Row.", size=1_000_000)}}, overwrite=True)
except ContextWriteError as error:
    print(error)
"""
    before = contents(written)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "File too large. Nothing was changed; raise the limit" in done.stdout
    assert contents(written) == before
    assert [path.name for path in written.parent.iterdir()] == ["context.data"]


class TestDescriptions:
    def test_only_the_manifest_changes_and_keeps_its_mode(self, written):
        manifest = written / "manifest.json"
        manifest.chmod(0o640)
        stamp = (written / "x.npy").stat()
        update_context_data_descriptions(written, {"x": "Débit, m³/s", "row": "Zeile"})
        loaded = load_context_data(written)
        assert loaded["variable_descriptions"] == {"x": "Débit, m³/s"}
        assert loaded["axis_metadata"]["row"]["description"] == "Zeile"
        assert manifest.stat().st_mode & 0o777 == 0o640
        assert (written / "x.npy").stat() == stamp or (
            written / "x.npy"
        ).stat().st_mtime_ns == stamp.st_mtime_ns
        assert sorted(contents(written)) == ["manifest.json", "x.npy"]

    def test_numbers_and_order_of_the_manifest_survive(self, tmp_path):
        axes = {"t": Axis("T.", values=[0.1, 1e-300, 3.0])}
        path = write_context_data(
            tmp_path / "c", variables={"z": Variable([1, 2, 3], "Z.", ["t"])}, axes=axes
        )
        before = json.loads((path / "manifest.json").read_text())
        update_context_data_descriptions(path, {"z": "New."})
        after = json.loads((path / "manifest.json").read_text())
        before["variables"]["z"]["description"] = "New."
        assert json.dumps(after) == json.dumps(before)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"y": "?", "X": "?"}, "there is no variable or axis 'y'"),
            ({"rows": "?"}, "did you mean 'row'?"),
            ({"x": 3}, "must be a string, not int"),
            ({"x": "\udc80"}, "surrogate"),
        ],
    )
    def test_what_cannot_be_changed(self, written, change, said):
        before = contents(written)
        with pytest.raises(ContextManifestError, match=said.replace("?", r"\?")):
            update_context_data_descriptions(written, change)
        assert contents(written) == before

    def test_a_broken_manifest_is_not_touched(self, written):
        (written / "manifest.json").write_text('{"variables": {}, "axes": {}, "axes": {}}')
        before = contents(written)
        with pytest.raises(ContextManifestError, match="duplicate key 'axes'"):
            update_context_data_descriptions(written, {"x": "New."})
        assert contents(written) == before

    def test_a_missing_directory(self, tmp_path):
        with pytest.raises(ContextManifestError, match="no such directory"):
            update_context_data_descriptions(tmp_path / "nothing", {"x": "New."})

    def test_a_full_disk_leaves_the_old_manifest(self, written, monkeypatch):
        before = contents(written)

        def fail(_descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(ContextWriteError, match=r"No space left on device\. Nothing was changed; free"):
            update_context_data_descriptions(written, {"x": "New."})
        monkeypatch.undo()
        assert contents(written) == before
