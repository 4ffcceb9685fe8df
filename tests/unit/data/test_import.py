"""Importing tables: what columns become, and what is refused with the place and the cure."""

from __future__ import annotations

import builtins
import datetime
from decimal import Decimal

import numpy as np
import pytest

from sr_harness.core import AgentContext, ContextWriteError, inspect_context_data
from sr_harness.data import ColumnMapping, import_table
from sr_harness.errors import ImportDataError


@pytest.fixture
def load(tmp_path):
    def run(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        report = import_table(path, tmp_path / "context.data", **options)
        return report, AgentContext.from_directory(tmp_path / "context.data")

    return run


def refused(load, content, **options):
    with pytest.raises(ImportDataError) as raised:
        load(content, **options)
    return str(raised.value)


def column(load, *cells, **options):
    """Import one column besides a column of positions; return the report and the array."""
    rows = "".join(f'{number};"{cell}"\n' for number, cell in enumerate(cells))
    report, context = load(f"n;v\n{rows}", delimiter=";", **options)
    return report, context.data["v"]


def test_awkward_headers_and_decimal_commas(load, tmp_path):
    report, context = load(
        "\ufeff wind speed;temp (°C);CO2/ppm;x;X;température\n1;2,5;400;1.5;a;\n2;3,75;NA;2.5;b;4,0\n"
    )
    assert report.columns == {
        " wind speed": "wind_speed",
        "temp (°C)": "temp_C",
        "CO2/ppm": "CO2_ppm",
        "x": "x",
        "X": "X",
        "température": "température",
    }
    assert context.data["temp_C"].tolist() == [2.5, 3.75]
    assert context.data["wind_speed"].dtype == np.int64
    assert context.data["X"].tolist() == ["a", "b"]
    assert report.missing == {"CO2_ppm": 1, "température": 1}
    assert context.variable_descriptions["temp_C"] == 'Column "temp (°C)" of table.csv. Unit: °C.'
    assert ColumnMapping.from_descriptions(context.variable_descriptions) == report.mapping
    assert report.delimiter == ";"
    assert inspect_context_data(tmp_path / "context.data")["warnings"] == []


def test_names_that_algebra_libraries_trip_over(load):
    names = [
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
    names += ["x1", "x10", "_", "θ"]
    _, context = load(",".join(names) + "\n" + ",".join(str(n) for n in range(len(names))) + "\n")
    assert context.variables == tuple(names)
    assert [int(context.data[name][0]) for name in names] == list(range(len(names)))


def test_faulty_headers_are_refused_when_the_data_are_loaded(load, tmp_path):
    text = refused(load, " wind speed,x,X,x ,température,x,,__class__\n1,2,3,4,5,6,7,8\n")
    assert "the headers 'x' and 'x ' would both become the variable 'x'" in text
    assert "columns 2 and 6 have the same header 'x'" in text
    assert "column 7: the header is empty" in text
    assert "'__class__' is reserved" in text
    assert "nan" not in text.casefold()
    assert not (tmp_path / "context.data").exists()


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["1", "-2", "+3"], np.int64, [1, -2, 3]),
        (["1", str(2**63), "3"], np.uint64, [1, 2**63, 3]),
        (["1.5", "2", "-3e-2", ".5", "5."], np.float64, [1.5, 2, -0.03, 0.5, 5.0]),
        ([" 1 ", "2"], np.int64, [1, 2]),
        (["True", "false"], np.bool_, [True, False]),
        (["0", "1"], np.int64, [0, 1]),
        (["3,14", "2,5"], np.float64, [3.14, 2.5]),
        (["1,25", "3"], np.float64, [1.25, 3.0]),
        (["1.234,5", "2,5"], np.float64, [1234.5, 2.5]),
        (["1,234.5", "2"], np.float64, [1234.5, 2.0]),
        (["1,234,567", "1,234"], np.float64, [1234567.0, 1234.0]),
        (["1.234", "1.500"], np.float64, [1.234, 1.5]),
        (["2,50", "1,234"], np.float64, [2.5, 1.234]),
    ],
)
def test_numbers(load, cells, dtype, values):
    _, array = column(load, *cells)
    assert array.dtype == dtype
    assert array.tolist() == values


@pytest.mark.parametrize(
    "cells",
    [
        ["low", "high"],
        ["2020-01-31", "2021-12-01"],
        ["12:30", "13:45"],
        ["007", "010"],
        ["1_000", "2"],
        ["0x10", "1"],
        ["1.2.3", "4"],
        ["yes", "no"],
        ["true", ""],
        ["1;2", "3"],
        ["NA", "DE"],
        ["1,2,3", "4"],
        ["北京", "上海"],
        ["two\nlines", "one"],
    ],
)
def test_text_stays_as_it_is(load, cells):
    _, array = column(load, *cells)
    assert array.dtype.kind == "U"
    assert array.tolist() == cells


def test_missing_values(load):
    report, array = column(load, "1", "", "NA", "nan", "null", "2")
    assert np.isnan(array).tolist() == [False, True, True, True, True, False]
    assert report.missing == {"v": 4}
    report, array = column(load, "a", "", "NA", overwrite=True)
    assert array.tolist() == ["a", "", "NA"]
    assert report.missing == {"v": 1}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["", "NA"], "holds no values"),
        (["007", "008"], "kept as text because of leading zeros ('007')"),
        (["inf", "-Infinity", "1.5"], "holds 2 infinite values"),
        ([str(2**70), "1"], "rounds to 16 digits"),
        ([str(2**53 + 1), ""], "rounds to 16 digits"),
        (["1.234,5", "2,5"], "groups thousands: '1.234,5' was read as 1234.5"),
        (["1,234", "1,234,567"], "'1,234' was read as 1234"),
    ],
)
def test_what_the_user_is_told(load, cells, said):
    report, _ = column(load, *cells)
    assert said in "\n".join(report.warnings)


def test_a_number_with_two_readings_needs_a_decision(load):
    text = refused(load, 'n;v\n1;"1,234"\n2;"12,500"\n')
    assert "the column 'v' can be read in two ways: '1,234' is 1234 or 1.234" in text
    assert "--decimal" in text
    for decimal, value in ((",", 1.234), (".", 1234.0)):
        _, context = load('n;v\n1;"1,234"\n2;"12,500"\n', decimal=decimal, overwrite=True)
        assert context.data["v"][0] == value


def test_a_column_that_mixes_decimal_signs(load):
    assert "mixes decimal points and decimal commas, as in '2.5' and '3,14'" in refused(
        load, "n;v\n1;3,14\n2;2.5\n"
    )


def test_the_decision_does_not_depend_on_where_batches_end(load, monkeypatch):
    cells = ["1"] * 30 + ["2,5"] + [""] * 30 + ["3"] * 30
    monkeypatch.setattr("sr_harness.data.delimited.Delimited.batches.__defaults__", (7,))
    _, array = column(load, *cells)
    assert np.nansum(array) == 30 + 2.5 + 90
    assert np.isnan(array).sum() == 30


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(load, delimiter):
    report, context = load(delimiter.join(["a", "b b"]) + "\n" + delimiter.join(["1", '"x, y; z"']) + "\n")
    assert report.delimiter == delimiter
    assert context.data["b_b"].tolist() == ["x, y; z"]


def test_one_column_and_one_row(load):
    _, context = load("a\n5\n")
    assert context.data["a"].tolist() == [5]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends(load, newline):
    _, context = load(f"a,b{newline}1,2{newline}{newline}3,4")
    assert context.data["b"].tolist() == [2, 4]


def test_a_column_called_like_the_axis(load):
    report, context = load("row,row_\n1,2\n")
    assert report.axis == "row__"
    assert context.axes == ("row__",)


def test_encodings(load):
    text = "café;temp\n1;2\n"
    said = refused(load, text.encode("latin-1"))
    assert (
        "is not UTF-8: the byte at offset 3 is 0xe9; state its encoding, such as --encoding latin-1" in said
    )
    _, context = load(text.encode("latin-1"), encoding="latin-1")
    assert context.variables == ("café", "temp")
    assert "is UTF-16, not UTF-8; state --encoding utf-16" in refused(load, text.encode("utf-16"))
    _, context = load(text.encode("utf-16"), encoding="utf-16", overwrite=True)
    assert context.variables == ("café", "temp")
    assert "there is no encoding 'klingon'" in refused(load, text, encoding="klingon")


def test_the_offset_of_a_wrong_byte_far_into_the_file(load, monkeypatch):
    monkeypatch.setattr("sr_harness.data.delimited._BLOCK", 16)
    raw = b"a\n" + "é\n".encode() * 50 + b"\xff\n"
    assert f"offset {len(raw) - 2} is 0xff" in refused(load, raw)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "has column names but no rows"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 cells, but there are 2 columns"),
        (b'a,b\n"x\ny",2\n1,2,3\n', "line 4 has 3 cells"),
        (b'a,b\n1,"2\n', "line 2 cannot be read as delimited text: unexpected end of data; check its quotes"),
        (b'a,b\n1,"2"x\n', "line 2 cannot be read"),
        (b"a,b\n1,2\n3,\x004\n", "line 3 holds a NUL character"),
        (b"1.5,2\n3,4\n", "the first line holds only numbers (1.5, 2)"),
        (b"PK\x03\x04....", "Excel workbook; save the table as CSV"),
        (b"\x1f\x8b\x08....", "compressed with gzip"),
        (b"a\n" + b"x" * (1 << 21), "line 2 cannot be read as delimited text: field larger"),
    ],
)
def test_files_that_are_no_table(load, tmp_path, content, said):
    assert said in refused(load, content)
    assert not (tmp_path / "context.data").exists()


def test_sources_that_are_no_file(tmp_path):
    with pytest.raises(ImportDataError, match="does not exist"):
        import_table(tmp_path / "nothing.csv", tmp_path / "c")
    with pytest.raises(ImportDataError, match="is not a file"):
        import_table(tmp_path, tmp_path / "c")


@pytest.mark.parametrize(("option", "value"), [("decimal", "x"), ("delimiter", ",,")])
def test_options_that_mean_nothing(load, option, value):
    assert repr(value) in refused(load, "a,b\n1,2\n", **{option: value})


def test_text_too_wide_for_memory_is_refused(load, monkeypatch):
    monkeypatch.setattr("sr_harness.data.table._WIDEST_TEXT", 100)
    assert "one cell has 30 characters" in refused(load, "a,b\n" + "x" * 30 + ",1\ny,2\n")


def test_the_destination_is_kept_unless_overwriting_is_asked_for(load):
    load("a\n1\n")
    with pytest.raises(ContextWriteError, match="already holds data"):
        load("a\n2\n")
    _, context = load("a\n2\n", overwrite=True)
    assert context.data["a"].tolist() == [2]


def test_a_failed_import_leaves_the_old_directory(load, tmp_path):
    load("a\n1\n")
    refused(load, "a,a\n1,2\n", overwrite=True)
    assert AgentContext.from_directory(tmp_path / "context.data").data["a"].tolist() == [1]


class TestParquet:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    @pytest.fixture
    def parquet(self, tmp_path):
        def run(columns, names=None, **options):
            table = (
                self.pa.table(columns) if names is None else self.pa.Table.from_arrays(columns, names=names)
            )
            self.pq.write_table(table, tmp_path / "t.parquet")
            report = import_table(tmp_path / "t.parquet", tmp_path / "context.data", **options)
            return report, AgentContext.from_directory(tmp_path / "context.data")

        return run

    def test_types(self, parquet):
        report, context = parquet(
            {
                "wind speed (m/s)": [1.5, None, float("inf")],
                "i": [1, 2, 3],
                "gaps": [1, None, 3],
                "s": ["a", None, "c"],
                "b": [True, False, True],
                "maybe": [True, None, False],
                "d": [datetime.date(2020, 1, 2), None, datetime.date(2021, 1, 1)],
                "money": [Decimal("1.25"), Decimal("2.50"), Decimal("3.75")],
                "cat": self.pa.array(["u", "v", "u"]).dictionary_encode(),
                "small": self.pa.array([1, 2, 3], self.pa.uint8()),
            }
        )
        data = context.data
        assert report.columns["wind speed (m/s)"] == "wind_speed_m_s"
        assert np.isnan(data["wind_speed_m_s"][1])
        assert data["i"].dtype == np.int64
        assert np.isnan(data["gaps"][1])
        assert data["s"].tolist() == ["a", "", "c"]
        assert data["b"].tolist() == [True, False, True]
        assert data["maybe"].tolist() == ["true", "", "false"]
        assert data["d"].tolist() == ["2020-01-02", "", "2021-01-01"]
        assert data["money"].tolist() == [1.25, 2.5, 3.75]
        assert data["cat"].tolist() == ["u", "v", "u"]
        assert data["small"].dtype == np.uint8
        assert report.missing == {"wind_speed_m_s": 1, "gaps": 1, "s": 1, "maybe": 1, "d": 1}
        assert any("infinite" in warning for warning in report.warnings)
        assert any("rounded to float64" in warning for warning in report.warnings)

    def test_the_index_of_pandas_is_left_out_and_told(self, parquet):
        report, context = parquet({"a": [1], "__index_level_0__": [7]})
        assert context.variables == ("a",)
        assert any("row index" in warning for warning in report.warnings)

    @pytest.mark.parametrize(
        ("columns", "names", "said"),
        [
            ([[1], [2]], ["x", "x "], "would both become the variable 'x'"),
            ([[1], [2]], ["x", "x"], "have the same header 'x'"),
            ([[[1, 2]]], ["lists"], "'lists' holds list"),
            ([[b"raw"]], ["raw"], "'raw' holds binary"),
            ([[]], ["none"], "has no rows"),
        ],
    )
    def test_what_is_refused(self, parquet, columns, names, said):
        with pytest.raises(ImportDataError, match=said):
            parquet([self.pa.array(values) for values in columns], names)

    def test_a_file_that_is_no_parquet(self, tmp_path):
        (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
        with pytest.raises(ImportDataError, match="cannot be read as Parquet"):
            import_table(tmp_path / "t.parquet", tmp_path / "c")

    def test_without_pyarrow_the_message_says_how_to_get_it(self, tmp_path, monkeypatch):
        real = builtins.__import__

        def without(name, *args, **kwargs):
            if name.split(".")[0] == "pyarrow":
                raise ImportError(name)
            return real(name, *args, **kwargs)

        (tmp_path / "t.parquet").write_bytes(b"PAR1")
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportDataError, match=r"pip install 'ari-research\[data\]'"):
            import_table(tmp_path / "t.parquet", tmp_path / "c")
