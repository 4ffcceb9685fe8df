r"""Where code and data of a paper are: a section that names the place and burns the bundle's digest in.

The section stands between two marks, before the bibliography, so that writing it again replaces it. The
digest stands in `\codedigest{…}`, where a reader of the bundle looks for it, and in print.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.errors import PaperError
from ari.formats.manifest_lock import ManifestLock
from ari.paper.writing import PAPER, paper_file

LOCKS = ("ear_published/manifest.lock", "ear/manifest.lock")
BEGIN, END = "% BEGIN CODE AVAILABILITY", "% END CODE AVAILABILITY"
_BLOCK = re.compile(rf"{BEGIN}\n.*?{END}\n+", re.DOTALL)
_PLACE = re.compile(r"^\\(?:bibliographystyle|bibliography|printbibliography|appendix|end\{document\})", re.M)
_URL = re.compile(r"https?://[^\s{}\\^\"<>]{1,500}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def inject_code_availability(
    *, checkpoint: Path, url: str = "", codedigest: str = "", paper: str = PAPER
) -> dict[str, Any]:
    """Write into the paper where its code and data are, or replace what was written before.

    Args:
        checkpoint: The study.
        url: Where a reader finds them, `https://…`; empty when only the digest is known.
        codedigest: SHA-256 of the published bundle, 64 hexadecimal digits; default: that of the study's
            `manifest.lock`, where there is one.
        paper: The source, relative to the checkpoint.

    Returns:
        `paper`; `codedigest` and `url` as they stand there; `replaced`: whether an earlier section was;
        `summary`.

    Raises:
        PaperError: When there is no paper, nothing to say, or an address or digest cannot be used.
    """
    target = paper_file(checkpoint, paper)
    if not target.is_file():
        raise PaperError(f"{target} does not exist", cure="Write it first: ari paper CHECKPOINT")
    digest = codedigest.strip().lower() or _digest_of(checkpoint)
    if url and not _URL.fullmatch(url):
        raise PaperError(f"{url!r:.200} is no address", cure="Write https://… without blanks and braces.")
    if digest and not _DIGEST.fullmatch(digest):
        raise PaperError(f"{digest!r:.100} is no SHA-256", cure="Give 64 hexadecimal digits.")
    if not url and not digest:
        raise PaperError(
            f"{checkpoint} has no published bundle and no address is given: there is nothing to say",
            cure="Publish the bundle first, or give url or codedigest.",
        )
    text = target.read_text(encoding="utf-8")
    bare = _BLOCK.sub("", text)
    place = _PLACE.search(bare)
    if place is None:
        raise PaperError(
            f"{target} has neither a bibliography nor an end", cure="It must be a whole document."
        )
    changed = f"{bare[: place.start()]}{_section(url, digest)}{bare[place.start() :]}"
    atomic_write(target, changed.encode("utf-8"))
    return {
        "paper": paper,
        "codedigest": digest or None,
        "url": url or None,
        "replaced": bare != text,
        "summary": f"{paper} says where its code and data are",
    }


def _digest_of(checkpoint: Path) -> str:
    for name in LOCKS:
        if (checkpoint / name).is_file():
            return ManifestLock.read(checkpoint / name).bundle_sha256
    return ""


def _section(url: str, digest: str) -> str:
    lines = [BEGIN, r"\section*{Code availability}"]
    where = rf" at \url{{{url}}}" if url else " as a bundle"
    lines.append(f"Code, data and records behind every number of this paper are published{where}.")
    if digest:
        lines.append(rf"The bundle's SHA-256 is \url{{{digest}}}.\codedigest{{{digest}}}")
    return "\n".join([*lines, END, "", ""])
