"""`experiment.md`: the metric line, and the block that the chosen idea appends.

The file is the author's. Two things in it are read or written by rule:

- *Metric line*: a line that begins with `Metrics:` (or `Metric:`) lists metrics; the first is the fallback
  primary metric. Fenced code, HTML comments and the appended block are passed over.
- *Appended block*: between two marker lines stands the selected idea. There is one block; it is rewritten
  when the idea changed and left alone when it did not. Every byte outside it stays as the author wrote it,
  whatever its encoding; the file is replaced in one step.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ari.checkpoint.files import atomic_write
from ari.errors import ExperimentError

BEGIN_MARKER = "<!-- AUTO-APPENDED BY VirSci (idea.json) — DO NOT EDIT -->"
END_MARKER = "<!-- END AUTO-APPENDED -->"

_METRIC_LINE = re.compile(
    r"[ \t]*[*_]{0,3}metrics?[ \t]*[*_]{0,3}[ \t]*[:：][ \t]*[*_]{0,3}(?P<items>.*)", re.IGNORECASE
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BYTES_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_SEPARATORS = re.compile(r"[,;，；、]")
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_HEADER = re.compile(rb"<!-- idea \d+ of \d+; sha256 ([0-9a-f]{16}); (\d+) lines -->")


def prose_lines(text: str) -> Iterator[str]:
    """Read the lines that are the author's prose.

    Fenced code, HTML comments and the appended block are left out; an unclosed one runs to the end.

    Args:
        text: The text of `experiment.md`.

    Returns:
        The lines without their ends; the prose around a comment in a line is kept.
    """
    fence = ""
    in_comment = in_block = False
    for line in _LINE_ENDS.split(text.removeprefix("\ufeff")):
        stripped = line.strip()
        if in_block:
            in_block = stripped != END_MARKER
            continue
        if fence:
            if re.fullmatch(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*", line):
                fence = ""
            continue
        if not in_comment and stripped == BEGIN_MARKER:
            in_block = True
            continue
        opened = None if in_comment else _FENCE.match(line)
        if opened:
            fence = opened.group(1)
            continue
        kept, in_comment = _without_comments(line, in_comment)
        yield kept


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    kept: list[str] = []
    position = 0
    while True:
        mark = "-->" if in_comment else "<!--"
        found = line.find(mark, position)
        if found < 0:
            if not in_comment:
                kept.append(line[position:])
            return "".join(kept), in_comment
        if not in_comment:
            kept.append(line[position:found])
        in_comment = not in_comment
        position = found + len(mark)


def metric_items(text: str) -> str | None:
    """Return what the first metric line lists, remarks included.

    Args:
        text: The text of `experiment.md`.

    Returns:
        The text behind the colon, or None when there is no metric line that lists anything.
    """
    for line in prose_lines(text):
        match = _METRIC_LINE.fullmatch(line)
        if match and _first_item(match.group("items")):
            return match.group("items").strip()
    return None


def _first_item(items: str) -> str:
    for piece in _SEPARATORS.split(_without_remarks(items)):
        item = piece.strip().strip("`*").strip()
        item = item.rstrip(".!。").rstrip()
        if item:
            return item
    return ""


def _without_remarks(items: str) -> str:
    """Leave out what stands in parentheses after a blank; `max(a)` is part of a name and stays."""
    kept: list[str] = []
    depth = 0
    for index, character in enumerate(items):
        opens = character in "(（" and (
            depth > 0 or character == "（" or index == 0 or items[index - 1] in " \t`*,;"
        )
        depth += opens
        if depth == 0:
            kept.append(character)
        elif character in ")）":
            depth -= 1
    return "".join(kept)


def parse_metric_from_experiment_md(text: str) -> str:
    """Read the first metric of the metric line.

    Specification: file formats, `experiment.md` (`Metrics: <token>, <token>, ...`).

    Args:
        text: The text of `experiment.md`.

    Returns:
        The metric without remarks in parentheses, code marks and sentence punctuation; empty when the file
        has no metric line.
    """
    items = metric_items(text)
    return "" if items is None else _first_item(items)


class _Span(NamedTuple):
    """A block in the bytes of the file: where it starts and ends, and its body."""

    start: int
    end: int
    body: bytes
    closed: bool


def append_idea_block(experiment_md: Path, idea: Mapping[str, Any]) -> bool:
    """Show the selected idea in the appended block of `experiment.md`.

    Specification: file formats, `experiment.md` (idempotent block between the two markers).

    The selected idea is `ideas[selected_index]` (default 0). A block that shows it already stays as it is;
    one that shows another is rewritten in its place; a lost end marker is put back; further blocks are
    removed.

    Args:
        experiment_md: The file; created when absent.
        idea: The content of `idea.json`.

    Returns:
        True when the file was changed.

    Raises:
        ExperimentError: If the file cannot be read.
        CheckpointError: If it cannot be written; it then is as before.
    """
    body = _render(idea)
    if not body:
        return False
    try:
        before = experiment_md.read_bytes()
    except FileNotFoundError:
        before = b""
    except OSError as error:
        raise ExperimentError(f"{experiment_md} cannot be read: {error.strerror or error}") from error
    after = _with_block(before, body, _selected(idea)[1])
    if after == before:
        return False
    atomic_write(experiment_md, after)
    return True


def _selected(idea: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    ideas = [entry for entry in idea.get("ideas", []) if isinstance(entry, Mapping)]
    index = idea.get("selected_index", 0)
    index = index if isinstance(index, int) and 0 <= index < len(ideas) else 0
    return index, (ideas[index] if ideas else {}), ideas


def _harmless(text: object) -> str:
    """Text of an idea, unable to open or close a comment and so to forge a marker."""
    lines = _LINE_ENDS.split(str(text).strip())
    return "\n".join(line.rstrip() for line in lines).replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def _render(idea: Mapping[str, Any]) -> str:
    index, chosen, ideas = _selected(idea)
    if not chosen:
        return ""
    title = " ".join(_harmless(chosen.get("title", "")).split()) or "(untitled)"
    parts = [f"## Selected research idea\n{title}"]
    if chosen.get("primary_metric"):
        parts.append(f"Judged by: {_harmless(chosen['primary_metric'])}")
    if chosen.get("experiment_plan"):
        parts.append(_harmless(chosen["experiment_plan"]))
    others = [_harmless(entry.get("title", "")) for i, entry in enumerate(ideas) if i != index]
    others += [_harmless(entry) for entry in chosen.get("alternatives_considered") or []]
    if any(others):
        parts.append("Not pursued:\n" + "\n".join(f"- {other}" for other in others if other))
    body = "\n\n".join(parts)
    digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    lines = body.count("\n") + 1
    return f"<!-- idea {index + 1} of {len(ideas)}; sha256 {digest}; {lines} lines -->\n{body}"


def _with_block(before: bytes, body: str, chosen: Mapping[str, Any]) -> bytes:
    newline = b"\r\n" if b"\r\n" in before and before.count(b"\r\n") * 2 > before.count(b"\n") else b"\n"
    block = newline.join(
        line.encode("utf-8", "replace") for line in (BEGIN_MARKER, *body.split("\n"), END_MARKER)
    )
    spans = list(_blocks(before))
    if not spans:
        gap = b"" if not before else newline if before.endswith(b"\n") else newline * 2
        return before + gap + block + newline
    first = spans[0]
    if _shows(first.body, block, chosen):
        closing = b"" if first.closed else _closing(before, first, newline)
        result = before[: first.end] + closing + before[first.end :]
        shift = len(closing)
    else:
        tail = newline
        result = before[: first.start] + block + tail + before[first.end :]
        shift = len(block) + len(tail) - (first.end - first.start)
    for span in reversed(spans[1:]):
        result = result[: span.start + shift] + result[span.end + shift :]
    return result


def _closing(before: bytes, span: _Span, newline: bytes) -> bytes:
    gap = b"" if before[: span.end].endswith(b"\n") else newline
    return gap + END_MARKER.encode() + newline


def _shows(body: bytes, block: bytes, chosen: Mapping[str, Any]) -> bool:
    """Say whether a block shows the idea: by its digest, or, where another tool wrote it, by its title."""
    old, new = _HEADER.search(body), _HEADER.search(block)
    if old and new:
        return old.group(1) == new.group(1)
    title = " ".join(str(chosen.get("title", "")).split()).encode("utf-8", "replace")
    return bool(title) and title in body


def _blocks(data: bytes) -> Iterator[_Span]:
    """Find the blocks.

    A marker inside fenced code is an example, unless our own header follows it: code that an author left
    unclosed must not hide the block appended behind it.
    """
    lines = data.splitlines(keepends=True) if b"\r" in data else data.split(b"\n")
    if b"\r" not in data:
        lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    begin, end = BEGIN_MARKER.encode(), END_MARKER.encode()
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    fence_end = 0
    index = 0
    while index < len(lines):
        text = lines[index].rstrip()
        ours = index + 1 < len(lines) and _HEADER.match(lines[index + 1]) is not None
        if text == begin and (index >= fence_end or ours):
            last, closed = _last_line(lines, index, begin, end)
            body = b"".join(lines[index + 1 : last + (0 if closed else 1)])
            yield _Span(offsets[index], offsets[last + 1], body, closed)
            index = last
        elif index >= fence_end:
            fence_end = _fence_end(lines, index)
        index += 1


def _fence_end(lines: Sequence[bytes], start: int) -> int:
    """Where the fenced code that opens here ends; 0 when none opens, or none closes it."""
    opened = _BYTES_FENCE.match(lines[start])
    if opened is None:
        return 0
    for index in range(start + 1, len(lines)):
        closing = _BYTES_FENCE.match(lines[index])
        if (
            closing
            and lines[index].strip() == closing.group(1)
            and closing.group(1).startswith(opened.group(1))
        ):
            return index + 1
    return 0


def _last_line(lines: Sequence[bytes], start: int, begin: bytes, end: bytes) -> tuple[int, bool]:
    """Find the last line of the block that starts here, and whether it is an end marker."""
    for index in range(start + 1, len(lines)):
        text = lines[index].rstrip()
        if text == end:
            return index, True
        if text == begin:
            break
    header = _HEADER.match(lines[start + 1]) if start + 1 < len(lines) else None
    if header:  # our own block says how long it is
        return min(start + 1 + int(header.group(2)), len(lines) - 1), False
    last = start
    while last + 1 < len(lines) and lines[last + 1].strip() and lines[last + 1].rstrip() != begin:
        last += 1
    return last, False
