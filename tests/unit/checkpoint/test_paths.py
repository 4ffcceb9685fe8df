"""Safe names for any text, and paths that never leave their directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ari.errors import PathEscapeError
from ari.paths import MAX_NAME_BYTES, directory_text, inside, named_directory, original_name, safe_name

LONG = "A title: with / and spaces, " + "面试 " * 100


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("node_0001", "node_0001"),
        ("prov-x/some-model:free@2026", "prov-x=2Fsome-model=3Afree@2026"),
        ("a b", "a=20b"),
        ("é", "=C3=A9"),
        ("a=b", "a=3Db"),
        ("..", "=2E=2E"),
        (".", "=2E"),
        (".hidden", "=2Ehidden"),
        ("-rf", "=2Drf"),
        ("end.", "end=2E"),
        ("con", "=63on"),
        ("NUL.txt", "=4EUL.txt"),
        ("", "=="),
        ("a\0\n", "a=00=0A"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert safe_name(text) == name
    assert original_name(name) == text


@given(st.text(alphabet=st.characters(), max_size=400))
def test_every_text_has_a_bounded_name_that_gives_it_back(text: str) -> None:
    name = safe_name(text)
    assert name.isascii() and 0 < len(name) <= MAX_NAME_BYTES
    assert not set(name) & set("/\\:*?\"<>|%$`'&;# \0\n\t")
    assert name not in {".", ".."} and name[0] not in ".-" and name[-1] != "."
    assert original_name(name) in {text, None}


@given(st.text(max_size=150), st.text(max_size=150))
def test_different_texts_have_different_names(a: str, b: str) -> None:
    assert (safe_name(a) == safe_name(b)) == (a == b)


def test_a_long_text_is_shortened_and_recorded(tmp_path: Path) -> None:
    name = safe_name(LONG)
    assert len(name) <= MAX_NAME_BYTES
    assert original_name(name) is None
    directory = named_directory(tmp_path, LONG)
    assert directory == named_directory(tmp_path, LONG)
    assert directory.name == name
    assert directory_text(directory) == LONG
    assert safe_name(LONG + "x") != name
    assert directory_text(named_directory(tmp_path, "a b")) == "a b"


@pytest.mark.parametrize("name", ["a b", "=2f", "=41", "=C3", "a/b", "=zz"])
def test_what_is_no_safe_name_is_not_read_back(name: str) -> None:
    with pytest.raises(ValueError):
        original_name(name)


@pytest.mark.parametrize("relpath", ["a", "a/b.txt", "./a", "a/./b", "dir with space/é.png", "..a", "a..b/c"])
def test_a_path_inside(tmp_path: Path, relpath: str) -> None:
    assert inside(tmp_path, relpath) == tmp_path / relpath


@pytest.mark.parametrize(
    ("relpath", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("..", "climbs"),
        ("a/../../b", "climbs"),
        ("a/..", "climbs"),
        ("..\\b", "climbs"),
        ("C:\\x", "drive"),
        ("\\\\host\\share", "drive"),
        ("a\0b", "NUL"),
        ("out/secret", "symbolic link"),
        ("loop/x", "cannot be resolved|symbolic link"),
    ],
)
def test_a_path_that_leaves_is_refused(tmp_path: Path, relpath: str, reason: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(PathEscapeError, match=reason):
        inside(root, relpath)


def test_a_link_that_stays_inside_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert inside(tmp_path, "link/x") == tmp_path / "link" / "x"
