"""The library against a local server that stands in for the services: no network is used."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ari.errors import LiteratureError, SkillError
from ari.literature.fetching import Answer, Cache, Fetcher, Question, Service
from ari.literature.library import KEY_VARIABLE, MAIL_VARIABLE, Library, services_of
from ari.literature.services import reference_question
from ari.settings import Settings, load
from ari.skills import call_tool
from ari.skills.binding import Binding, bind
from support.studies import copy_study

KEY = "k3y-never-written"
SCHOLAR = {
    "data": [
        {
            "title": "A law\nof planets",
            "authors": [{"name": "J. Kepler"}],
            "year": 1619,
            "venue": "Linz",
            "abstract": "<p>Squares and cubes.</p>",
            "externalIds": {"DOI": "10.1000/LAW", "ArXiv": "2401.01234v3"},
            "url": "https://example.org/1",
            "citationCount": 12,
        },
        {"title": None},
        "not an object",
    ]
}
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"><entry>
<id>http://arxiv.org/abs/2401.01234v3</id><title>A Law of Planets</title>
<published>2024-01-03T00:00:00Z</published>
<summary>Text.</summary><author><name>Johannes Kepler</name></author></entry>
<entry><id>http://arxiv.org/api/errors#bad</id><title>Error</title></entry></feed>"""
CROSSREF = {
    "title": ["Moons"],
    "author": [{"given": "Galileo", "family": "Galilei"}, {"name": "A Group"}],
    "issued": {"date-parts": [[1610, 3]]},
    "container-title": ["Sidereus"],
    "DOI": "10.1000/MOONS",
    "URL": "https://doi.org/10.1000/moons",
    "is-referenced-by-count": 7,
}

Reply = tuple[int, dict[str, str], str]


class Standing:
    """A server that stands in for the services; `script` is used up first, one reply a request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.script: list[Reply] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append((self.path, dict(self.headers.items())))
                status, headers, body = outer.script.pop(0) if outer.script else outer.reply(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                data = body.encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def reply(self, path: str) -> Reply:
        if path.startswith("/graph/v1/paper/search"):
            return 200, {}, json.dumps(SCHOLAR)
        if path.startswith("/api/query"):
            return 200, {}, ATOM
        if path.startswith("/works?"):
            return 200, {}, json.dumps({"message": {"items": [CROSSREF]}})
        if path == "/works/10.1000%2Fmoons":
            return 200, {}, json.dumps({"message": CROSSREF})
        return 404, {}, "Resource not found."


@pytest.fixture
def service() -> Iterator[Standing]:
    standing = Standing()
    yield standing
    standing.server.shutdown()
    standing.server.server_close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def library(service: Standing, tmp_path: Path, waits: list[float]) -> Callable[..., Library]:
    def make(*, online: bool = True, interval: float = 0.0, **more: Any) -> Library:
        names = ("semantic_scholar", "arxiv", "crossref")
        services = {name: Service(service.url, interval, {"x-api-key": KEY}) for name in names}
        cache = Cache(tmp_path / "cache", **more)
        return Library(Fetcher(services, cache, online=online, sleep=waits.append))

    return make


def test_three_services_are_searched_and_the_same_paper_comes_once(
    service: Standing, library: Callable[..., Library]
) -> None:
    found = library().search("law of planets", limit=5, years=(1600, None))
    [law, moons] = found.papers
    assert (law.title, law.year, law.doi, law.arxiv_id) == (
        "A law of planets",
        1619,
        "10.1000/law",
        "2401.01234",
    )
    assert (law.abstract, law.citations) == ("Squares and cubes.", 12)
    assert law.sources == ("semantic_scholar", "arxiv")
    assert (moons.title, moons.authors, moons.year) == ("Moons", ("Galileo Galilei", "A Group"), 1610)
    assert found.warnings == []
    queries = [parse_qs(urlsplit(path).query) for path, _ in service.seen]
    assert queries[0]["year"] == ["1600-"]
    assert queries[1]["search_query"][0].startswith(
        "all:law AND all:of AND all:planets AND submittedDate:[1600"
    )
    assert queries[2]["filter"] == ["from-pub-date:1600"]


def test_a_question_is_asked_once_and_the_answer_survives(
    service: Standing, library: Callable[..., Library]
) -> None:
    first = library().search("moons", services=["crossref"])
    assert len(service.seen) == 1
    again = library(online=False).search("moons", services=["crossref"])
    assert (again, len(service.seen)) == (first, 1)
    library().search("moons", services=["crossref"], refresh=True)
    assert len(service.seen) == 2
    with pytest.raises(
        LiteratureError, match=r"the web is off, and this question was not asked before\n  Set ARI_WEB=1"
    ):
        library(online=False).search("comets", services=["crossref"])


def test_a_busy_service_is_waited_for_as_it_asks(
    service: Standing, library: Callable[..., Library], waits: list[float]
) -> None:
    service.script = [(429, {"Retry-After": "7"}, ""), (503, {}, ""), (500, {"Retry-After": "soon"}, "")]
    assert library().search("moons", services=["crossref"]).papers
    assert waits == [7.0, 2.0, 4.0]


def test_a_date_to_wait_for_is_understood(
    service: Standing, library: Callable[..., Library], waits: list[float]
) -> None:
    service.script = [(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "")]
    assert library().search("moons", services=["crossref"]).papers
    assert waits == [0.0]


def test_patience_has_an_end(service: Standing, library: Callable[..., Library], waits: list[float]) -> None:
    service.script = [(500, {}, "")] * 5
    with pytest.raises(
        LiteratureError, match=r"crossref \(http://127.* does not answer /works.*: status 500"
    ):
        library().search("moons", services=["crossref"])
    assert waits == [1.0, 2.0, 4.0, 8.0]
    service.script = [(429, {"Retry-After": "86400"}, "")]
    with pytest.raises(LiteratureError, match="it asks to be left alone for 86400 s"):
        library().search("moons", services=["crossref"])
    service.script = [(400, {}, "")]
    with pytest.raises(LiteratureError, match="status 400"):
        library().search("moons", services=["crossref"])
    service.script = [(302, {"Location": "http://127.0.0.1:1/"}, "")]
    with pytest.raises(LiteratureError, match="status 302"):
        library().search("moons", services=["crossref"])
    assert list(library()._fetcher.cache.folder.glob("*/*.json")) == []


def test_a_service_that_fails_does_not_hide_the_others(
    service: Standing, library: Callable[..., Library]
) -> None:
    service.script = [
        (200, {}, "<html>"),
        (200, {}, "<feed"),
        (200, {}, json.dumps({"message": {"items": [CROSSREF]}})),
    ]
    found = library().search("moons")
    assert [paper.title for paper in found.papers] == ["Moons"]
    assert "answer of semantic_scholar" in found.warnings[0] and "is no JSON" in found.warnings[0]
    service.script = [(200, {}, "<!DOCTYPE feed [<!ENTITY a 'aa'>]><feed>&a;</feed>")]
    with pytest.raises(LiteratureError, match="it declares a document type"):
        library().search("moons", services=["arxiv"], refresh=True)
    assert "answer of arxiv" in found.warnings[1] and "no Atom feed" in found.warnings[1]


def test_no_connection_is_an_error_in_words(tmp_path: Path, waits: list[float]) -> None:
    services = {"crossref": Service("http://127.0.0.1:9", 0.0, {"x-api-key": KEY})}
    fetcher = Fetcher(services, Cache(tmp_path), online=True, sleep=waits.append)
    with pytest.raises(LiteratureError, match="ConnectError") as caught:
        Library(fetcher).search("moons", services=["crossref"])
    assert KEY not in str(caught.value)


def test_requests_are_spaced_across_processes(library: Callable[..., Library], waits: list[float]) -> None:
    for word in ("a", "b", "c"):
        library(interval=30.0).search(word, services=["crossref"])
    assert waits[0] == pytest.approx(30.0, abs=5.0)
    assert waits[1] == pytest.approx(60.0, abs=5.0)


def test_the_cache_is_bounded_and_a_damaged_answer_is_asked_again(
    service: Standing, library: Callable[..., Library]
) -> None:
    small = library(limit_bytes=1_500)
    for word in ("a", "b", "c", "d"):
        small.search(word, services=["crossref"])
    kept = list(small._fetcher.cache.folder.glob("*/*.json"))
    assert 1 <= len(kept) < 4
    for file in kept:
        file.write_text("{")
    small.search("d", services=["crossref"])
    assert len(service.seen) == 5


def test_no_key_is_ever_written(service: Standing, library: Callable[..., Library], tmp_path: Path) -> None:
    library().search("law of planets")
    assert all(headers["x-api-key"] == KEY for _, headers in service.seen)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
    assert KEY not in repr(library()._fetcher.services)


def test_headers_come_from_the_environment() -> None:
    services = services_of(Settings(), {KEY_VARIABLE: KEY, MAIL_VARIABLE: "a@example.org"})
    assert services["semantic_scholar"].headers["x-api-key"] == KEY
    assert "x-api-key" not in services["crossref"].headers
    assert services["crossref"].headers["User-Agent"].endswith("(mailto:a@example.org)")


def test_one_reference_by_doi_and_by_arxiv_id(service: Standing, library: Callable[..., Library]) -> None:
    for text in ("10.1000/MOONS", "https://doi.org/10.1000/moons", "doi:10.1000/moons"):
        assert library().fetch(text).title == "Moons"
    for text in ("2401.01234", "arXiv:2401.01234v2", "https://arxiv.org/abs/2401.01234"):
        assert library().fetch(text).authors == ("Johannes Kepler",)
    assert len(service.seen) == 2
    with pytest.raises(LiteratureError, match=r"crossref does not know 10\.1000/none"):
        library().fetch("10.1000/none")
    with pytest.raises(LiteratureError, match="neither a DOI nor an arXiv id"):
        reference_question("../../etc/passwd")


def test_what_makes_no_sense_is_refused(library: Callable[..., Library]) -> None:
    with pytest.raises(LiteratureError, match="nothing to search for"):
        library().search("  ")
    with pytest.raises(LiteratureError, match="0 papers cannot be asked for"):
        library().search("a", limit=0)
    with pytest.raises(LiteratureError, match="no service 'magic'"):
        library().search("a", services=["magic"])


def test_the_skill_is_off_unless_configured_and_a_study_replays(
    service: Standing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("ARI_WEB", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    study = copy_study("kepler", tmp_path)
    asked = {"query": "moons", "services": ["crossref"]}
    with pytest.raises(SkillError, match="the web is off"):
        call_tool("web", bind("web", Binding(checkpoint=study)), "search_papers", asked)
    assert load(study).settings.web is False
    monkeypatch.setenv("ARI_WEB", "1")
    for name in ("SEMANTIC_SCHOLAR", "ARXIV", "CROSSREF"):
        monkeypatch.setenv(f"ARI_{name}_URL", service.url)
    online = call_tool("web", bind("web", Binding(checkpoint=study)), "search_papers", asked)
    record = call_tool("web", bind("web", Binding()), "fetch_reference", {"identifier": "10.1000/moons"})
    assert record["key"] == "galilei1610" and "doi = {10.1000/moons}" in record["bibtex"]
    monkeypatch.delenv("ARI_WEB")
    assert call_tool("web", bind("web", Binding(checkpoint=study)), "search_papers", asked) == online
    assert len(service.seen) == 2


def test_a_survey_takes_what_there_is(
    service: Standing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ARI_WEB", raising=False)
    study = copy_study("kepler", tmp_path)
    (study / "refs.bib").write_text("@article{own,\n  title = {Orbits of planets},\n  year = {1619}\n}\n")
    node = next(path.name for path in sorted((study / "experiments").iterdir()))
    note = {"text": "orbits of planets scatter little"}
    call_tool("memory", bind("memory", Binding(checkpoint=study, node=node)), "remember", note)
    local = call_tool(
        "idea", bind("idea", Binding(checkpoint=study)), "survey", {"topic": "orbits of planets"}
    )
    assert (local["source"], local["papers"][0]["title"]) == ("local", "Orbits of planets")
    assert local["memory"][0]["text"] == note["text"]
    assert "the web is off" in local["warnings"][0]
    monkeypatch.setenv("ARI_WEB", "1")
    for name in ("SEMANTIC_SCHOLAR", "ARXIV", "CROSSREF"):
        monkeypatch.setenv(f"ARI_{name}_URL", service.url)
    monkeypatch.setattr(
        "ari.literature.library._INTERVALS", dict.fromkeys(("semantic_scholar", "arxiv", "crossref"), 0.0)
    )
    web = call_tool("idea", bind("idea", Binding(checkpoint=study)), "survey", {})
    assert (web["source"], len(web["papers"])) == ("web", 2)
    assert web["topic"].startswith("How long is a planet's year?")


def test_an_answer_is_kept_with_what_was_asked_and_when(tmp_path: Path) -> None:
    question = Question("crossref", "/works", (("query", "a b"),))
    answer = Answer(
        service="crossref", question=question.text, fetched_at="2026-01-01T00:00:00Z", status=200, body="{}"
    )
    Cache(tmp_path).put(question, answer)
    [file] = tmp_path.glob("crossref/*.json")
    assert json.loads(file.read_text())["question"] == "/works?query=a+b"
    assert Cache(tmp_path).get(question) == answer
