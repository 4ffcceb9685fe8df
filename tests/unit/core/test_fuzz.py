"""Whatever lies in the directory: one kind of error at most, and nothing outside is read."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sr_harness.core import ContextManifestError, inspect_context_data, load_context_data

SECRET = "outside-secret-7f3a"
MANIFEST = {
    "num_nodes": 4,
    "variables": {
        "x": {"file": "x.npy", "description": "A reading.", "axes": ["t", "n"]},
        "A": {"file": "A.npy", "description": "Edges.", "axes": ["e", "end"], "kind": "relation"},
        "w": {"file": "w.npy", "description": "Weights.", "axes": ["e"], "structure": "A"},
    },
    "axes": {
        "t": {"file": "t.npy", "description": "Time."},
        "n": {"size": 4, "description": "Node."},
        "e": {"size": 3, "description": "Edge."},
        "end": {"values": ["target", "source"], "description": "End."},
    },
}
ARRAYS = {
    "x": np.arange(8.0).reshape(2, 4),
    "A": np.array([[0, 1], [1, 2], [3, 0]]),
    "w": np.array([0.5, 1.0, 2.0]),
    "t": np.array([0.0, 1.0]),
}
NAMES = st.sampled_from(
    [
        "x",
        "A",
        "w",
        "t",
        "n",
        "e",
        "end",
        "",
        ".",
        "..",
        "../outside",
        "/etc/passwd",
        "a\0b",
        "a/b",
        "\ud800",
        "k",
    ]
) | st.text(max_size=6)
KEYS = st.sampled_from(
    ["file", "description", "axes", "kind", "structure", "size", "values", "variables", "num_nodes", "x"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 6)
    | st.sampled_from([2**63, 2**64, -(2**70), 10**400, 1.5, float("inf"), float("nan"), 1e308])
    | NAMES
    | st.sampled_from(["x.npy", "../outside.npy", "relation", "A.npy", "manifest.json"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | NAMES, inner, max_size=4),
    max_leaves=8,
)


def spots(value, path=()):
    """Every place in a JSON document, as a path of keys."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from spots(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from spots(inner, (*path, index))


SPOTS = [path for path in spots(MANIFEST) if path]


@st.composite
def manifests(draw):
    """The good manifest after a few replacements, removals, additions and renamings."""
    manifest = json.loads(json.dumps(MANIFEST))
    for path in draw(st.lists(st.sampled_from(SPOTS), min_size=1, max_size=3)):
        place = manifest
        for key in path[:-1]:
            place = place[key] if isinstance(place, dict) and key in place else None
        if not isinstance(place, dict):
            continue
        action = draw(st.sampled_from(["replace", "remove", "add", "rename"]))
        if action == "replace":
            place[path[-1]] = draw(VALUES)
        elif action == "add":
            place[draw(KEYS | NAMES)] = draw(VALUES)
        elif path[-1] in place:
            value = place.pop(path[-1])
            if action == "rename":
                place[draw(NAMES)] = value
    return json.dumps(manifest).encode()


@st.composite
def damaged(draw, raw):
    """`raw` after some bytes were changed, inserted or cut."""
    data = bytearray(raw)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        action = draw(st.sampled_from(["set", "insert", "cut", "drop"]))
        piece = draw(
            st.binary(min_size=1, max_size=4) | st.sampled_from([b'"', b"{", b"\\u0000", b"NaN", b"L", b"'"])
        )
        if action == "set":
            data[at : at + len(piece)] = piece
        elif action == "insert":
            data[at:at] = piece
        elif action == "cut":
            del data[at:]
        else:
            del data[at : at + draw(st.integers(1, 8))]
    return bytes(data)


def npy(array):
    with tempfile.TemporaryFile() as file:
        np.save(file, array)
        file.seek(0)
        return file.read()


NPY = {name: npy(array) for name, array in ARRAYS.items()}
GOOD = json.dumps(MANIFEST).encode()
RUNS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("fuzz")
    for name in ("outside.npy", "etc.npy"):
        np.save(root / name, np.array([SECRET]))
    (root / "context.data").mkdir()
    return root / "context.data"


@pytest.fixture
def opened(monkeypatch):
    """Paths opened through `os.open`, which is the only way the reader opens files."""
    seen = []
    real = os.open

    def spy(path, flags, *args, **kwargs):
        descriptor = real(path, flags, *args, **kwargs)
        seen.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        return descriptor

    monkeypatch.setattr(os, "open", spy)
    return seen


def check(place, opened, manifest, arrays):
    for old in place.iterdir():
        old.unlink()
    (place / "manifest.json").write_bytes(manifest)
    for name, raw in arrays.items():
        (place / f"{name}.npy").write_bytes(raw)
    opened.clear()
    report = inspect_context_data(place)
    strict = json.dumps(report, allow_nan=False)
    assert SECRET not in strict
    try:
        loaded = load_context_data(place)
    except ContextManifestError as error:
        assert error.errors == report["errors"]
        assert str(error)
    else:
        assert report["valid"]
        for name, axes in loaded["variable_axes"].items():
            assert loaded["data"][name].ndim == len(axes)
    assert all(Path(path) == place or Path(path).parent == place for path in opened)


@RUNS
@given(manifest=manifests())
def test_mutated_manifests(place, opened, manifest):
    check(place, opened, manifest, NPY)


@RUNS
@given(manifest=damaged(GOOD))
def test_damaged_manifest_bytes(place, opened, manifest):
    check(place, opened, manifest, NPY)


@RUNS
@given(manifest=VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60))
def test_any_manifest(place, opened, manifest):
    check(place, opened, manifest, NPY)


@RUNS
@given(data=st.data(), name=st.sampled_from(sorted(NPY)))
def test_damaged_npy_bytes(place, opened, data, name):
    check(place, opened, GOOD, {**NPY, name: data.draw(damaged(NPY[name]))})


@RUNS
@given(
    descr=st.sampled_from(["<f8", "|O", "<U3", "|V4", "<M8[s]", "|b1", "<f16", "[('a','<f8')]"]),
    data=st.data(),
)
def test_any_header_of_the_right_form(place, opened, descr, data):
    shape = data.draw(st.lists(st.integers(-1, 5) | st.just(2**62), max_size=4).map(tuple))
    quoted = descr if descr.startswith("[") else repr(descr)
    header = (
        f"{{'descr': {quoted}, 'fortran_order': {data.draw(st.booleans())}, 'shape': {shape}, }}".encode()
    )
    body = data.draw(st.binary(max_size=80))
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body
    check(place, opened, GOOD, {**NPY, "x": raw})


def test_the_unharmed_directory_is_valid(place, opened):
    check(place, opened, GOOD, NPY)
    assert inspect_context_data(place)["valid"]
