"""AgentContext: built from what load returns, and rows taken without changing it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sr_harness.core import AgentContext, Axis, Variable, load_context_data, write_context_data
from sr_harness.core.lazy import LazyArrays
from sr_harness.errors import AlignmentError


@pytest.fixture
def context(tmp_path):
    path = write_context_data(
        tmp_path / "c",
        variables={
            "theta": Variable(np.arange(12.0).reshape(4, 3), "Phase.", ["time", "node"]),
            "K": Variable(np.arange(9.0).reshape(3, 3), "Coupling.", ["node", "node"]),
            "g": Variable(9.81, "Scalar."),
            "A": Variable([[0, 1], [1, 2]], "Edges.", ["edge", "end"], kind="relation"),
            "w": Variable(np.arange(8.0).reshape(4, 2), "Weights.", ["time", "edge"], structure="A"),
        },
        axes={
            "time": Axis("Time.", values=[0.0, 0.1, 0.2, 0.3]),
            "node": Axis("Node.", size=3),
            "edge": Axis("Edge.", size=2),
            "end": Axis("End.", values=["target", "source"]),
        },
        num_nodes=3,
    )
    return AgentContext.from_loaded(load_context_data(path))


def test_attributes(context):
    assert context.variables == ("theta", "K", "g", "A", "w")
    assert context.axes == ("time", "node", "edge", "end")
    assert context.relation_names == ("A",)
    assert context.num_nodes == 3
    assert context.variable_structures == {"w": "A"}
    assert context.axis_length("edge") == 2
    assert set(context.data) == set(context.variables) | set(context.axes)


@pytest.mark.parametrize("index", [[2, 0], np.array([-2, -4]), np.array([True, False, True, False])[::1]])
def test_take_indexes_everything_on_the_axis(context, index):
    positions = np.flatnonzero(index) if np.asarray(index).dtype == bool else np.asarray(index) % 4
    taken = context.take("time", index)
    np.testing.assert_array_equal(taken.data["theta"], np.asarray(context.data["theta"])[positions])
    np.testing.assert_array_equal(taken.data["w"], np.asarray(context.data["w"])[positions])
    np.testing.assert_array_equal(taken.data["time"], np.asarray(context.data["time"])[positions])
    assert taken.data["K"] is context.data["K"]
    assert taken.axis_length("time") == 2
    assert context.axis_length("time") == 4


def test_an_axis_used_twice_is_taken_twice(context):
    taken = context.take("node", [2, 1])
    np.testing.assert_array_equal(taken.data["K"], [[8.0, 7.0], [5.0, 4.0]])
    assert taken.data["node"].tolist() == [2, 1]
    assert taken.axis_metadata["node"]["source"] == "values"


def test_edges_are_taken_together_with_what_follows_them(context):
    taken = context.take("edge", [1])
    assert taken.data["A"].tolist() == [[1, 2]]
    assert taken.data["w"].shape == (4, 1)


def test_nothing_is_copied_before_it_is_used(context):
    taken = context.take("time", [0])
    assert callable(dict.__getitem__(taken.data, "w"))
    assert taken.data["w"] is taken.data["w"]


def test_a_selection_written_and_loaded_again(context, tmp_path):
    path = context.take("time", [3, 1]).take("node", [0]).to_directory(tmp_path / "out")
    again = AgentContext.from_directory(path)
    assert again.data["time"].tolist() == [0.3, 0.1]
    assert again.data["theta"].tolist() == [[9.0], [3.0]]
    assert again.variable_descriptions == context.variable_descriptions


def test_an_empty_selection(context):
    assert context.take("time", []).data["theta"].shape == (0, 3)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ([4], "lies outside the axis 'time' of length 4"),
        ([-5], "lies outside"),
        ([True, False], r"a mask for the axis 'time' has shape \(4,\)"),
        ([0.5], "one-dimensional array of integers"),
        ([[0]], "one-dimensional array of integers"),
    ],
)
def test_positions_that_are_none(context, index, said):
    with pytest.raises(IndexError, match=said):
        context.take("time", index)


def test_endpoint_columns_cannot_be_taken(context):
    with pytest.raises(AlignmentError, match="endpoints of the relation 'A'"):
        context.take("end", [0])


def test_an_unknown_axis(context):
    with pytest.raises(KeyError, match="depth"):
        context.take("depth", [0])


def test_a_structure_on_another_axis_would_be_misaligned(context):
    moved = AgentContext(
        data=context.data,
        variable_axes={"A": ("edge", "end"), "w": ("time", "other")},
        variable_structures={"w": "A"},
        relation_names=("A",),
        axis_metadata={**context.axis_metadata, "other": {"size": 2}},
    )
    with pytest.raises(AlignmentError, match="would misalign them"):
        moved.take("edge", [0])


class TestLazyArrays:
    @pytest.fixture
    def arrays(self):
        return LazyArrays({"a": np.zeros(2), "b": lambda: np.ones(3)})

    @pytest.mark.parametrize(
        "plain",
        [
            dict,
            lambda arrays: {**arrays},
            lambda arrays: dict(arrays.items()),
            lambda arrays: dict(zip(arrays, arrays.values(), strict=True)),
            lambda arrays: arrays | {},
            lambda arrays: {} | arrays,
            lambda arrays: dict(arrays.copy()),
            lambda arrays: pickle.loads(pickle.dumps(arrays)),
            lambda arrays: {name: arrays.get(name) for name in arrays},
            lambda arrays: {name: arrays.pop(name) for name in list(arrays)},
            lambda arrays: {name: arrays.setdefault(name, np.zeros(0)) for name in arrays},
            lambda arrays: dict(reversed([arrays.popitem(), arrays.popitem()])),
        ],
    )
    def test_every_way_to_read_it_gives_arrays(self, arrays, plain):
        found = plain(arrays)
        assert list(found) == ["a", "b"]
        assert all(isinstance(array, np.ndarray) for array in found.values())

    def test_what_is_absent(self, arrays):
        assert arrays.get("c") is None
        assert arrays.pop("c", 5) == 5
        with pytest.raises(KeyError):
            arrays["c"]
        with pytest.raises(KeyError):
            arrays.pop("c")
        assert "LazyArrays(a, b)" in repr(arrays)
