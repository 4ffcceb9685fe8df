from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from ari.errors import ExecutionError
from ari.execution.workdir import FileHash, diff, excluded_by, hash_file, seed_from_parent, snapshot


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "parent"
    (made / "src").mkdir(parents=True)
    (made / "src" / "main.c").write_text("int main;")
    (made / "results.json").write_text("{}")
    (made / "run.sh").write_text("true")
    (made / "run.sh").chmod(0o755)
    return made


@pytest.fixture
def secret(tmp_path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("not for you")
    return path


def test_snapshot_hashes_every_file_by_relative_path(folder):
    found = snapshot(folder)
    assert list(found) == ["results.json", "run.sh", "src/main.c"]
    assert (found["src/main.c"].sha256, found["src/main.c"].size) == (digest("int main;"), 9)


def test_links_pipes_and_sockets_are_not_read(folder, secret):
    (folder / "leak").symlink_to(secret)
    (folder / "src" / "up").symlink_to(folder.parent, target_is_directory=True)
    (folder / "loop").symlink_to(".")
    os.mkfifo(folder / "pipe")
    assert list(snapshot(folder)) == ["results.json", "run.sh", "src/main.c"]


def test_a_link_is_refused_where_a_file_is_asked_for(folder, secret):
    (folder / "leak").symlink_to(secret)
    with pytest.raises(ExecutionError, match="leak cannot be read"):
        hash_file(folder / "leak")
    os.mkfifo(folder / "pipe")
    with pytest.raises(ExecutionError, match="not a regular file"):
        hash_file(folder / "pipe")


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(ExecutionError, match="nowhere cannot be read"):
        snapshot(tmp_path / "nowhere")


def test_names_that_are_no_text_stay_readable(folder):
    (folder / os.fsdecode(b"caf\xe9")).write_text("x")
    assert "caf\\xe9" in snapshot(folder)


def test_a_known_hash_is_reused_only_while_the_file_is_untouched(folder):
    path = folder / "results.json"
    status = path.stat()
    marks = (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    settled = FileHash("remembered", *marks, taken_ns=status.st_ctime_ns + 10**9)
    assert snapshot(folder, known={"results.json": settled})["results.json"].sha256 == "remembered"
    fresh = FileHash("remembered", *marks, taken_ns=status.st_ctime_ns)
    assert snapshot(folder, known={"results.json": fresh})["results.json"].sha256 == digest("{}")


def test_a_change_with_size_and_time_put_back_is_noticed(folder):
    path = folder / "results.json"
    before = snapshot(folder)
    times = path.stat()
    path.write_text("[]")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = snapshot(folder, known=before)
    assert diff(before, after).modified[0]["path"] == "results.json"


def test_diff_has_the_shape_of_a_node_report(folder):
    before = snapshot(folder)
    (folder / "src" / "main.c").write_text("int main();")
    (folder / "results.json").unlink()
    (folder / "new.csv").write_text("1")
    changed = diff(before, snapshot(folder), from_node_id="node_tile")
    assert changed.as_dict() == {
        "added": [{"path": "new.csv", "sha256": digest("1")}],
        "modified": [
            {
                "path": "src/main.c",
                "sha256": digest("int main();"),
                "sha256_before": digest("int main;"),
                "sha256_after": digest("int main();"),
            }
        ],
        "deleted": ["results.json"],
        "inherited_unchanged": [{"path": "run.sh", "sha256": digest("true"), "from_node_id": "node_tile"}],
    }
    assert not changed.sterile


def test_a_file_written_again_with_the_same_content_changes_nothing(folder):
    before = snapshot(folder)
    (folder / "results.json").write_text("{}")
    after = snapshot(folder)
    changed = diff(before, after)
    assert changed.sterile
    assert len(changed.inherited_unchanged) == 3 and "from_node_id" not in changed.inherited_unchanged[0]


def test_written_since_sees_a_rewrite_with_the_same_content(folder):
    before = snapshot(folder)["results.json"]
    replacement = folder / "other"
    replacement.write_text("{}")
    replacement.rename(folder / "results.json")
    assert hash_file(folder / "results.json").written_since(before)
    assert not before.written_since(before)


def test_a_child_inherits_content_and_permissions(folder, tmp_path):
    seeded = seed_from_parent(folder, tmp_path / "child")
    child = tmp_path / "child"
    assert diff(snapshot(folder), seeded.files).sterile
    assert os.access(child / "run.sh", os.X_OK) and not os.access(child / "src" / "main.c", os.X_OK)
    assert (child / "run.sh").stat().st_ino != (folder / "run.sh").stat().st_ino


def test_writing_in_the_child_leaves_the_parent_alone(folder, tmp_path):
    seed_from_parent(folder, tmp_path / "child")
    (tmp_path / "child" / "results.json").write_text("changed")
    assert (folder / "results.json").read_text() == "{}"


def test_results_of_the_parent_are_not_inherited(folder, tmp_path):
    (folder / "out").mkdir()
    (folder / "out" / "results_2.json").write_text("{}")
    seeded = seed_from_parent(folder, tmp_path / "child", exclude=["results*.json"])
    assert list(seeded.files) == ["run.sh", "src/main.c"]
    assert seeded.excluded == ["out/results_2.json", "results.json"]


@pytest.mark.parametrize(
    ("path", "pattern", "excluded"),
    [
        ("results.json", "results*.json", True),
        ("a/b/results_1.json", "results*.json", True),
        ("build/deep/x.o", "build", True),
        ("out/a.csv", "out/*.csv", True),
        ("other/out/a.csv", "out/*.csv", False),
        ("my_results.json", "results*.json", False),
        ("Results.json", "results*.json", False),
    ],
)
def test_patterns(path, pattern, excluded):
    assert excluded_by(path, [pattern]) is excluded


def test_links_that_leave_the_folder_are_left_behind(folder, secret, tmp_path):
    (folder / "absolute").symlink_to(secret)
    (folder / "relative").symlink_to("../secret.txt")
    (folder / "src" / "dots").symlink_to("../../secret.txt")
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    (folder / "via").symlink_to("folder/secret.txt")
    os.mkfifo(folder / "pipe")
    seeded = seed_from_parent(folder, tmp_path / "child")
    assert seeded.skipped == ["absolute", "folder", "pipe", "relative", "src/dots", "via"]
    assert not any(
        "not for you" in path.read_text() for path in (tmp_path / "child").rglob("*") if path.is_file()
    )


def test_links_within_the_folder_stay_within_the_child(folder, tmp_path):
    (folder / "latest").symlink_to("src/main.c")
    (folder / "src" / "back").symlink_to("../run.sh")
    (folder / "whole").symlink_to(folder / "results.json")
    seed_from_parent(folder, tmp_path / "child")
    child = tmp_path / "child"
    assert (child / "latest").read_text() == "int main;"
    for name, target in {"latest": "src/main.c", "src/back": "run.sh", "whole": "results.json"}.items():
        assert (child / name).is_symlink()
        assert (child / name).resolve() == (child / target).resolve()


def test_a_child_that_has_something_already_is_refused(folder, tmp_path):
    (tmp_path / "child").mkdir()
    (tmp_path / "child" / "work").write_text("precious")
    with pytest.raises(ExecutionError, match=r"(?s)child is not empty.*Remove it"):
        seed_from_parent(folder, tmp_path / "child")
    assert (tmp_path / "child" / "work").read_text() == "precious"


def test_a_read_only_file_can_be_changed_in_the_child(folder, tmp_path):
    (folder / "run.sh").chmod(0o444)
    seed_from_parent(folder, tmp_path / "child")
    assert (tmp_path / "child" / "run.sh").stat().st_mode & 0o777 == 0o644
