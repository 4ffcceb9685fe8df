"""Column names become variable names: stated, reversible, and never two for one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sr_harness.core.names import name_fault
from sr_harness.data import ColumnMapping, column_mapping, variable_name
from sr_harness.data.columns import header_unit
from sr_harness.errors import ImportDataError

AWKWARD = [
    "N",
    "S",
    "E",
    "I",
    "O",
    "Q",
    "C",
    "pi",
    "beta",
    "gamma",
    "zeta",
    "lambda",
    "in",
    "is",
    "exp",
    "sin",
]
AWKWARD += ["x1", "x10", "_", "θ", "température", "温度", "x", "X", "None", "True", "class"]


@pytest.mark.parametrize("header", AWKWARD)
def test_an_identifier_is_kept_as_it_is(header):
    assert variable_name(header) == header


@pytest.mark.parametrize(
    ("header", "variable"),
    [
        (" wind speed", "wind_speed"),
        ("temp (°C)", "temp_C"),
        ("CO2/ppm", "CO2_ppm"),
        ("CO₂", "CO2"),
        ("x²", "x2"),
        ("x ", "x"),
        ("2018", "c_2018"),
        ("%", "u0025"),
        ("# %", "u0023_u0025"),
        ("a-b", "a_b"),
        ("a__b!", "a__b"),
        ("../../etc", "etc"),
        ("e\u0301", "é"),
    ],
)
def test_other_headers(header, variable):
    assert variable_name(header) == variable


@settings(deadline=None)
@given(st.text(max_size=40).filter(str.strip))
def test_every_header_becomes_a_legal_name_and_the_name_is_its_own(header):
    name = variable_name(header)
    assert name_fault(name) is None or not name.isascii()
    assert name.isidentifier()
    assert variable_name(name) == name
    assert variable_name(unicodedata.normalize("NFD", header)) == variable_name(
        unicodedata.normalize("NFC", header)
    )


@settings(deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=6))
def test_a_mapping_is_one_to_one_or_refused(headers):
    try:
        mapping = column_mapping(headers)
    except ImportDataError:
        return
    assert list(mapping.columns) == headers
    assert len(set(mapping.variables)) == len(headers)
    described = {variable: mapping.describe(header, "t.csv") for header, variable in mapping.columns.items()}
    assert ColumnMapping.from_descriptions(described) == mapping
    for header in headers:
        assert mapping.to_column(mapping.to_variable(header)) == header


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (["x", "y", "x"], "columns 1 and 3 have the same header 'x'"),
        (["x", "x "], "columns 1 and 2: the headers 'x' and 'x ' would both become the variable 'x'"),
        (["wind speed", "a", "wind_speed"], "the headers 'wind speed' and 'wind_speed' would both become"),
        (["µ", "μ"], "would both become the variable"),
        (["a", ""], "column 2: the header is empty"),
        (["a", "  "], "column 2: the header is empty"),
        (["__class__"], "'__class__' is reserved"),
        (["a" * 300], "has 300 characters"),
        ([3], "the header 3 is not text"),
    ],
)
def test_headers_that_are_refused(headers, said):
    with pytest.raises(ImportDataError) as raised:
        column_mapping(headers)
    assert said in str(raised.value)
    assert "nan" not in str(raised.value).casefold()


def test_all_faults_are_named_at_once():
    with pytest.raises(ImportDataError) as raised:
        column_mapping(["x", "x ", "", "x", "__init__"])
    assert len(str(raised.value).splitlines()) == 5


@pytest.mark.parametrize(
    ("header", "unit"),
    [("temp (°C)", "°C"), ("v [m/s]", "m/s"), ("plain", None), ("f(x) of y", None), ("a ( )", None)],
)
def test_units(header, unit):
    assert header_unit(header) == unit


class Frame:
    """As much of a data frame as the mapping uses."""

    def __init__(self, columns):
        self.data = dict(columns)

    @property
    def columns(self):
        return list(self.data)

    def __getitem__(self, names):
        return Frame({name: self.data[name] for name in names})

    def rename(self, columns):
        return Frame({columns[name]: value for name, value in self.data.items()})


class TestApply:
    mapping = column_mapping([" wind speed", "temp (°C)", "x", "X"])

    def test_the_same_names_when_predicting(self):
        table = {"X": [4], "temp (°C)": [2], " wind speed": [1], "x": [3], "extra": [5]}
        assert self.mapping.apply(table) == {"wind_speed": [1], "temp_C": [2], "x": [3], "X": [4]}

    def test_blanks_and_variable_names_do_not_matter(self):
        table = {"wind speed ": [1], "temp_C": [2], "x": [3], "X": [4], 7: [0]}
        assert list(self.mapping.apply(table)) == ["wind_speed", "temp_C", "x", "X"]

    def test_a_frame_stays_a_frame(self):
        frame = self.mapping.apply(Frame({"x": 1, "X": 2, "temp (°C)": 3, "wind_speed": 4, "z": 5}))
        assert isinstance(frame, Frame)
        assert frame.data == {"wind_speed": 4, "temp_C": 3, "x": 1, "X": 2}

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            (["wind speed", "temp (C)", "x"], "lacks the column 'X'"),
            (
                ["temp", "x", "X", "windspeed"],
                "lacks the columns ' wind speed', 'temp (°C)'; did you mean 'windspeed'?",
            ),
            (["wind speed", "wind_speed", "temp (°C)", "x", "X"], "both stand for the variable 'wind_speed'"),
        ],
    )
    def test_a_table_that_does_not_fit(self, columns, said):
        with pytest.raises(ImportDataError) as raised:
            self.mapping.apply(dict.fromkeys(columns))
        assert said in str(raised.value)
        assert "nan" not in str(raised.value).casefold()

    def test_unknown_names(self):
        with pytest.raises(
            ImportDataError, match="there is no column 'wnd speed'; did you mean ' wind speed'"
        ):
            self.mapping.to_variable("wnd speed")
        with pytest.raises(ImportDataError, match="there is no variable 'temp'; did you mean 'temp_C'"):
            self.mapping.to_column("temp")


def test_an_edited_description_falls_back_to_the_variable():
    mapping = ColumnMapping.from_descriptions({"a": 'Column "A b" of t.csv.', "y": "Wind speed in m/s."})
    assert mapping.columns == {"A b": "a", "y": "y"}
