"""Restricted expressions of a contract, the digest of a bundle, memory backups, legacy conversion."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ari.errors import FormatError
from ari.formats import legacy
from ari.formats.manifest_lock import bundle_digest
from ari.formats.memory_store import memory_problems, read_backup
from ari.formats.metric_contract import forbidden_expressions
from ari.formats.restricted_expression import refusal


@pytest.mark.parametrize(
    "text",
    [
        "value <= 1",
        "geomean(gflops_byK / ceiling_byK)",
        "cache_bw if effective_bw > dram_peak_bw else dram_peak_bw",
        "0 <= value <= 1 and not (a == b)",
        "-x + +y * 1.5e-3",
        "max(a, b, 2)",
        "1+" * 499 + "1",
    ],
)
def test_allowed_expressions(text: str) -> None:
    assert refusal(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('id') == 0",
        "().__class__.__bases__",
        "a.real",
        "a[0]",
        "(lambda x: x)(1)",
        "[x for x in g]",
        "f'{a}'",
        "'a' * 9",
        "9**9**9",
        "7 // 2",
        "max(a, key=b)",
        "max(*g)",
        "open(a)",
        "a; b",
        "a := 1",
        "True",
        "1j",
        "a in g",
        "a\n+ b",
        "__builtins__",
        "",
        "   ",
        None,
        "(" * 300 + "1" + ")" * 300,
        "-" * 1900 + "1",
        "1+" * 2000 + "1",
        "a ≤ b",
        "a\0b",
    ],
)
def test_forbidden_expressions(text: object) -> None:
    assert refusal(text) != ""


def test_every_expression_of_a_contract_is_looked_at() -> None:
    evil = "open('x')"
    contract = {
        "formula": evil,
        "ceiling_select": evil,
        "invariants": ["value <= 1", evil],
        "correctness": {"expr": evil},
    }
    assert [f.where for f in forbidden_expressions(contract)] == [
        "/formula",
        "/ceiling_select",
        "/invariants/1",
        "/correctness/expr",
    ]
    assert list(forbidden_expressions({"formula": "", "ceiling_select": "", "invariants": 3})) == []
    assert list(forbidden_expressions([1])) == []


FILES = [
    {
        "path": "reproduce.sh",
        "size": 15,
        "sha256": "1b1f5c68cd5e6781b20ff468ba97fb722b3a8f2aa5c1662f2b00216ab92e5fc9",
    },
    {
        "path": "code/main.c",
        "size": 26,
        "sha256": "86004d65c4f387c95467c6cee92bc1f1f8cb04d6650be09fbd1e359834a56766",
    },
    {
        "path": "data/in.csv",
        "size": 8,
        "sha256": "6c6955cf5d127e05abbcb48ee1481252f54b53a8316acd00585341fdcb6583b2",
    },
]
DIGEST = "1489fdcefbd047ad962d81e7de9f1ac1f15b4eaca5fc40c496ab23fd0de57595"


def test_the_digest_depends_on_the_files_alone() -> None:
    assert bundle_digest(FILES) == DIGEST
    assert bundle_digest(reversed(FILES)) == DIGEST
    assert bundle_digest([{**entry, "mode": 33188} for entry in FILES]) == DIGEST
    assert bundle_digest([{**entry, "size": entry["size"] + 1} for entry in FILES]) != DIGEST
    assert bundle_digest([{**FILES[0], "path": "é"}]) != bundle_digest([{**FILES[0], "path": "e\u0301"}])


def test_a_backup_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory_backup.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"kind":"core_seed"}\n\n{"a":1}\n'))
    assert read_backup(path) == [{"kind": "core_seed"}, {"a": 1}]
    whole = path.read_bytes()
    for data in (whole[:-6], whole[:12], b"plain text", b""):
        path.write_bytes(data)
        if data:
            with pytest.raises(FormatError, match="cannot be unpacked"):
                read_backup(path)
    for line, message in ((b"{", "line 1"), (b"[]", "line 1 is no JSON object")):
        path.write_bytes(gzip.compress(line))
        with pytest.raises(FormatError, match=message):
            read_backup(path)


def test_memory_records_are_judged_by_kind() -> None:
    record = {
        "node_id": "n",
        "ancestor_ids": [],
        "kind": "node_scope",
        "text": "t",
        "metadata": {},
        "ts": "now",
    }
    assert memory_problems(record) == []
    assert [(p.code, p.where) for p in memory_problems({**record, "kind": "gossip"})] == [
        ("schema.enum", "/kind")
    ]
    assert memory_problems({"kind": "core_seed", "persona": ""}) == []
    assert memory_problems([]) != []


def test_flat_settings_of_old_are_nested() -> None:
    flat = {
        "llm_model": "m",
        "llm_provider": "ollama",
        "slurm_partition": "",
        "slurm_cpus": 4,
        "temperature": 1.0,
    }
    assert legacy.convert_settings(flat) == {
        "model": "m",
        "provider": "ollama",
        "hpc": {"cpus": 4},
        "temperature": 1.0,
    }
    present = {"model": "m", "provider": "p", "x": 1}
    assert legacy.convert_settings(present) == present


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("success", "completed"),
        ("failed", "errored"),
        ("abandoned", "errored"),
        ("running", "running"),
        ("odd", "errored"),
        (3, "errored"),
    ],
)
def test_statuses_of_old(old: object, new: str) -> None:
    assert legacy.convert_status(old) == new
