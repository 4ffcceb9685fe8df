"""Inspecting and loading: escapes, damaged files and messages beyond the conformance vectors."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from sr_harness.core import AgentContext, ContextManifestError, inspect_context_data, load_context_data

GOOD = {
    "variables": {"x": {"file": "x.npy", "description": "A reading.", "axes": ["row"]}},
    "axes": {"row": {"size": 3, "description": "Row."}},
}


@pytest.fixture
def store(tmp_path):
    directory = tmp_path / "context.data"
    directory.mkdir()
    (directory / "manifest.json").write_text(json.dumps(GOOD))
    np.save(directory / "x.npy", np.array([1.0, 2.0, 3.0]))
    return directory


def errors_of(directory):
    report = inspect_context_data(directory)
    if report["errors"]:
        with pytest.raises(ContextManifestError) as raised:
            load_context_data(directory)
        assert raised.value.errors == report["errors"]
    else:
        load_context_data(directory)
    return "\n".join(report["errors"])


def put_manifest(store, raw):
    (store / "manifest.json").write_bytes(raw if isinstance(raw, bytes) else json.dumps(raw).encode())


def put_header(store, header, data=b"", version=b"\x01\x00"):
    text = header.encode() if isinstance(header, str) else header
    (store / "x.npy").write_bytes(b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data)


def test_a_sound_directory(store):
    assert errors_of(store) == ""
    loaded = load_context_data(store)
    assert loaded["data"]["x"].tolist() == [1.0, 2.0, 3.0]
    assert loaded["data"]["row"].tolist() == [0, 1, 2]
    assert loaded["variable_axes"] == {"x": ("row",)}
    assert loaded["axis_metadata"] == {"row": {"description": "Row.", "source": "size", "size": 3}}


def test_arrays_are_read_only(store):
    data = load_context_data(store)["data"]
    for name in ("x", "row"):
        with pytest.raises(ValueError, match="read-only"):
            data[name][0] = 5


def test_large_arrays_are_mapped_and_survive_replacing_the_directory(store):
    size = 1 << 18
    manifest = {**GOOD, "axes": {"row": {"size": size, "description": "Row."}}}
    put_manifest(store, manifest)
    np.save(store / "x.npy", np.arange(size, dtype=np.float64))
    array = load_context_data(store)["data"]["x"]
    assert not array.flags.owndata
    assert type(array) is np.ndarray
    np.save(store / "new.npy", np.zeros(size))
    (store / "new.npy").rename(store / "x.npy")
    assert array[-1] == size - 1


def test_mapped_arrays_hold_no_file_open_and_give_their_memory_back(store):
    np.save(store / "x.npy", np.arange(1 << 18, dtype=np.float64))
    put_manifest(store, {**GOOD, "axes": {"row": {"size": 1 << 18, "description": "Row."}}})
    before = len(list(Path("/proc/self/fd").iterdir()))
    arrays = [load_context_data(store)["data"]["x"][5:] for _ in range(20)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert Path("/proc/self/maps").read_text().count(str(store)) == 20
    assert all(array[0] == 5.0 for array in arrays)
    arrays.clear()
    assert str(store) not in Path("/proc/self/maps").read_text()


def test_a_mapping_that_the_system_refuses_is_a_fault(store, monkeypatch):
    np.save(store / "x.npy", np.arange(1 << 18, dtype=np.float64))
    put_manifest(store, {**GOOD, "axes": {"row": {"size": 1 << 18, "description": "Row."}}})

    def refuse(_descriptor, _length):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr("sr_harness.core.npy.map_file", refuse)
    assert "cannot be mapped" in errors_of(store)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe{\x00}\x00", "BOM"),
        (b'{"variables": "\xe9"}', "byte 15 is 0xe9"),
        (b"[" * 100_000 + b"]" * 100_000, "nested 100000 levels"),
        (b'{"a":' * 5_000, "nested 5000 levels"),
        (b'{"axes": {"row": {"values": [Infinity]}}}', "Infinity"),
        (b'{"num_nodes": ' + b"9" * 5000 + b"}", "5000 digits"),
        (b'{"axes": {"row": {"values": [1e999]}}}', "too large for a float64"),
        (b'{"variables": {"\\ud800": {}}}', "surrogate"),
        (b"null", "must be an object, not null"),
        (b"[1]", "must be an object, not an array"),
        (b'"text"', "must be an object, not 'text'"),
    ],
)
def test_manifests_that_are_no_legal_json(store, raw, said):
    put_manifest(store, raw)
    assert said in errors_of(store)


def test_a_duplicate_key_is_named_with_its_place_and_the_rest_is_still_checked(store):
    put_manifest(
        store,
        b'{"variables": {"x": {"file": "y.npy", "description": "a", "description": 3, "axes": ["row"]}},'
        b' "axes": {"row": {"size": 0, "description": "b"}},'
        b' "axes": {"row": {"size": -1, "description": "b"}}}',
    )
    text = errors_of(store)
    assert "variables.x: duplicate key 'description'" in text
    assert "root: duplicate key 'axes'" in text
    assert "variables.x.file" in text
    assert "variables.x.description: must be a string" in text
    assert "axes.row.size" in text


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([True, 1], "mixes types"),
        ([None], "null"),
        (["a\0"], "ends with NUL"),
        ([2**63, -1], "64 bits"),
        ([2**53 + 1, 0.5], "cannot be kept in a float64"),
        ("abc", "must be an array"),
        ({"a": 1}, "must be an array"),
        (["x" * 100_000] + ["y"] * 1000, "would need more than"),
    ],
)
def test_axis_values_that_no_array_keeps(store, values, said):
    put_manifest(store, {**GOOD, "axes": {"row": {"values": values, "description": ""}}})
    assert said in errors_of(store)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([2**63, 1, 2], np.uint64),
        ([True, False, True], np.bool_),
        ([1, 2.5, 3], np.float64),
        ([1, 2, 3], np.int64),
    ],
)
def test_axis_values_keep_their_type(store, values, dtype):
    put_manifest(store, {**GOOD, "axes": {"row": {"values": values, "description": ""}}})
    array = load_context_data(store)["data"]["row"]
    assert array.dtype == dtype
    assert array.tolist() == values


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (10**9,)}", "damaged header"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", "truncated"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", "tuple of lengths"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': [3]}", "tuple of lengths"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}", "tuple of lengths"),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "fortran_order"),
        ("{'descr': '<f8', 'fortran_order': False}", "without exactly"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "object dtype"),
        ("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}", "structured dtype"),
        ("{'descr': '<f8,<f8', 'fortran_order': False, 'shape': (3,)}", "has dtype '<f8,<f8'"),
        ("{'descr': '|V8', 'fortran_order': False, 'shape': (3,)}", "has dtype '|V8'"),
        ("{'descr': '<U0', 'fortran_order': False, 'shape': (3,)}", "no width"),
        ("{'descr': '<M8[parsec]', 'fortran_order': False, 'shape': (3,)}", "NumPy does not know"),
        ("{'descr': 3, 'fortran_order': False, 'shape': (3,)}", "not a dtype"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 33 + ")}", "33 dimensions"),
        ("(" * 9000, "damaged header"),
        ("-" * 9000 + "1", "damaged header"),
        ("__import__('os').system('true')", "damaged header"),
        (b"\xff\xfe\x00", "damaged header"),
        ("", "damaged header"),
        (" " * 20000, "limit is 10000"),
    ],
)
def test_damaged_headers(store, header, said):
    put_header(store, header, b"\0" * 24)
    assert said in errors_of(store)


def test_an_empty_array_too_long_for_any_machine(store):
    put_header(store, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 10000000000000000000)}")
    assert "cannot be mapped" in errors_of(store)


@pytest.mark.parametrize("length", [0, 3, 6, 8, 9, 10, 40, 127])
def test_a_file_cut_anywhere_in_its_header(store, length):
    raw = (store / "x.npy").read_bytes()
    (store / "x.npy").write_bytes(raw[:length])
    assert "x.npy: " in errors_of(store)


def test_bytes_after_the_array(store):
    with (store / "x.npy").open("ab") as file:
        file.write(b"more")
    assert "holds 4 bytes after its array" in errors_of(store)


def test_python2_headers_and_other_versions_are_read(store):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }"
    put_header(store, header, np.array([1.0, 2.0, 3.0]).tobytes())
    assert errors_of(store) == ""
    put_header(store, "", version=b"\x09\x00")
    assert "NPY version 9.0" in errors_of(store)


@pytest.mark.parametrize("kind", ["link", "link inside", "directory", "fifo", "absent", "dangling"])
def test_only_a_regular_file_is_read(store, tmp_path, kind):
    outside = tmp_path / "elsewhere.npy"
    (store / "x.npy").rename(outside)
    if kind == "link":
        (store / "x.npy").symlink_to(outside)
    elif kind == "link inside":
        outside.rename(store / "other.npy")
        (store / "x.npy").symlink_to("other.npy")
    elif kind == "directory":
        (store / "x.npy").mkdir()
    elif kind == "fifo":
        os.mkfifo(store / "x.npy")
    elif kind == "dangling":
        (store / "x.npy").symlink_to(tmp_path / "nothing")
    assert "x.npy: " in errors_of(store)


def test_a_linked_manifest_is_not_followed(store, tmp_path):
    (store / "manifest.json").rename(tmp_path / "m.json")
    (store / "manifest.json").symlink_to(tmp_path / "m.json")
    assert "manifest.json: is a symbolic link" in errors_of(store)


def test_a_directory_given_through_a_link_is_fine(store, tmp_path):
    (tmp_path / "link").symlink_to(store)
    assert errors_of(tmp_path / "link") == ""


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "a\\b", "", ".", "..", "n\0l", "é" * 130])
@pytest.mark.parametrize("table", ["variables", "axes"])
def test_names_that_leave_the_directory_or_name_no_file(store, tmp_path, name, table):
    np.save(tmp_path / "x.npy", np.zeros(3))
    manifest = json.loads(json.dumps(GOOD))
    if table == "variables":
        manifest["variables"][name] = {"file": f"{name}.npy", "description": "", "axes": ["row"]}
    else:
        manifest["axes"][name] = {"file": f"{name}.npy", "description": ""}
        manifest["variables"]["x"]["axes"] = ["row", name]
    put_manifest(store, manifest)
    assert "cannot be a" in errors_of(store)
    assert set(inspect_context_data(store)["variables"]) >= {"x"}


def test_an_axis_without_a_file_may_have_a_name_that_no_file_has(store, tmp_path):
    manifest = json.loads(json.dumps(GOOD).replace('"row"', '"lat/lon"'))
    put_manifest(store, manifest)
    assert errors_of(store) == ""
    context = AgentContext.from_directory(store).take("lat/lon", np.zeros(100, dtype=int))
    again = AgentContext.from_directory(context.to_directory(tmp_path / "again"))
    assert again.axis_metadata["lat/lon"]["source"] == "values"
    assert again.data["lat/lon"].tolist() == [0] * 100


@pytest.mark.parametrize("path", ["", "no\0where", "a" * 5000, None, 3.5])
def test_paths_that_are_none(path):
    report = inspect_context_data(path)
    assert report["valid"] is False
    assert report["errors"]
    with pytest.raises(ContextManifestError):
        load_context_data(path)


def test_a_file_in_place_of_the_directory(store):
    assert "is not a directory" in errors_of(store / "x.npy")


def test_the_exception_lists_every_fault_on_its_own_line(store):
    put_manifest(store, {"variables": {}, "axes": {}, "target": 1, "num_nodes": 0})
    with pytest.raises(ContextManifestError) as raised:
        load_context_data(store)
    lines = str(raised.value).splitlines()
    assert lines[0].endswith("is not a valid context.data directory (4 faults):")
    assert len(lines) == 5


class TestRelations:
    def manifest(self, num_nodes, shape):
        return {
            "num_nodes": num_nodes,
            "variables": {
                "A": {"file": "A.npy", "description": "", "axes": ["edge", "end"], "kind": "relation"},
            },
            "axes": {
                "edge": {"size": shape[0], "description": ""},
                "end": {"size": shape[1], "description": ""},
            },
        }

    def errors(self, store, array, num_nodes):
        (store / "x.npy").unlink(missing_ok=True)
        put_manifest(store, self.manifest(num_nodes, array.shape))
        np.save(store / "A.npy", array)
        return errors_of(store)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_the_place_of_a_wrong_endpoint(self, store, order):
        array = np.zeros((5, 2), dtype=np.int32, order=order)
        array[3, 1] = 7
        assert "found 7 in row 3, column 1" in self.errors(store, array, 7)
        assert self.errors(store, array, 8) == ""

    def test_wrong_endpoints_in_every_chunk_are_counted(self, store, monkeypatch):
        monkeypatch.setattr("sr_harness.core.npy._CHUNK", 64)
        array = np.zeros((100, 3), dtype=np.int16)
        array[::10, 2] = -1
        assert "found -1 in row 0, column 2 and 9 more" in self.errors(store, array, 4)

    def test_unsigned_endpoints_beyond_int64(self, store):
        array = np.array([[0, 2**64 - 1]], dtype=np.uint64)
        assert str(2**64 - 1) in self.errors(store, array, 10)
        assert self.errors(store, array, 2**64) == ""

    def test_a_narrow_dtype_with_many_nodes(self, store):
        assert self.errors(store, np.array([[0, 127]], dtype=np.int8), 100_000) == ""

    def test_advice_on_labels_and_structure(self, store):
        manifest = self.manifest(4, (2, 2))
        manifest["axes"]["end"] = {"values": ["source", "target"], "description": ""}
        manifest["variables"]["w"] = {"file": "w.npy", "description": "", "axes": ["edge"]}
        (store / "x.npy").unlink()
        put_manifest(store, manifest)
        np.save(store / "A.npy", np.zeros((2, 2), dtype=np.int64))
        np.save(store / "w.npy", np.zeros(2))
        warnings = "\n".join(inspect_context_data(store)["warnings"])
        assert "axes.end: the columns of a relation mean ('target', 'source')" in warnings
        assert "variables.w: lies on the axis 'edge'" in warnings

    def test_a_relation_takes_no_structure(self, store):
        manifest = self.manifest(4, (2, 2))
        manifest["variables"]["A"]["structure"] = "A"
        (store / "x.npy").unlink()
        put_manifest(store, manifest)
        np.save(store / "A.npy", np.zeros((2, 2), dtype=np.int64))
        assert "takes no structure" in errors_of(store)


def test_positions_of_a_long_axis_are_made_only_when_used(store):
    put_manifest(
        store,
        {
            "variables": {"x": {"file": "x.npy", "description": "", "axes": ["row", "none"]}},
            "axes": {
                "row": {"size": 10**15, "description": ""},
                "none": {"file": "none.npy", "description": ""},
            },
        },
    )
    np.save(store / "none.npy", np.zeros(0))
    put_header(store, "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 0)}")
    loaded = load_context_data(store)
    assert loaded["data"]["x"].shape == (10**15, 0)
    assert loaded["axis_metadata"]["row"]["size"] == 10**15
    assert "row" in loaded["data"]
