"""Sections that every paper has: introduction, what was tried, reproducibility, and the evidence appendix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ari.findings.analysis import taken
from ari.findings.study import Node, commands_of
from ari.paper.document import (
    Code,
    Emphasis,
    EvidenceTarget,
    Items,
    Paragraph,
    PlainFormula,
    Section,
    Table,
    listed,
    sentence,
)
from ari.paper.evidence import Number, note
from ari.paper.formula import short
from ari.paper.story import Story, sentences_of
from ari.settings import OFFLINE

HASH_DIGITS = 16
_FACT = re.compile(r"(?:data|study)_\w+")


# -------------------------------------------------------------------------------------- introduction


def question_sentences(story: Story, *, with_digits: bool) -> list[str]:
    """The sentences of the question that hold digits, or those that hold none: numbers belong to the data."""
    asked = sentences_of(story.study.question or story.study.goal)
    return [_plain(story, text) for text in asked if bool(re.search(r"\d", text)) is with_digits]


def _plain(story: Story, text: str) -> str:
    """A sentence of `experiment.md`: names in backticks become names."""
    return re.sub(r"`([^`]+)`", lambda match: story.marks.name(match.group(1)), text)


# -------------------------------------------------------------------------------------- what was tried


def tried(story: Story) -> Section:
    """Every node with what came of it, and in words what failed, changed nothing or was never reached."""
    section = Section("What was tried", "tried")
    opening = _overview(story)
    table = story.marks.table("tried")
    tree = story.see("tree")
    section.say(
        opening,
        sentence(
            f"{table} lists them all in the order in which they were planned"
            + (f"; {tree} shows who came from whom" if tree else "")
        ),
    )
    section.say(*_failures(story), *_sterile(story), *_pruned(story))
    section.blocks.append(_table(story))
    section.blocks += story.take("tree")
    return section


def _overview(story: Story) -> str:
    labels: dict[str, int] = {}
    for node in story.study.nodes:
        labels[node.label] = labels.get(node.label, 0) + 1
    purposes = {
        "draft": "new hypotheses", "improve": "improvements of a parent", "ablation": "ablations",
        "validation": "repeats for validation", "debug": "repairs", "other": "others",
    }  # fmt: skip
    by_size = sorted(labels, key=lambda label: (-labels[label], label))
    parts = [purposes.get(label, label) for label in by_size]
    total = story.root_fact("study_nodes", "", " experiments")
    depth = story.root_fact("study_depth", " down to depth ")
    head = f"The search ran {total}{depth}" if total else "The experiments of the search were"
    kinds = (
        f": {listed(parts)}" if len(parts) > 1 else f", all of them {parts[0]}" if total else f" {parts[0]}"
    )
    return sentence(head + kinds + (", the most frequent first" if len(parts) > 2 else ""))


def _failures(story: Story) -> list[str]:
    failed = [node for node in story.study.nodes if node.status == "errored"]
    if not failed:
        return (
            []
            if story.study.kind == "symbolic"
            else ["No experiment failed to run or to give a correct result."]
        )
    reasons: dict[str, list[Node]] = {}
    for node in failed:
        reasons.setdefault(_reason(node), []).append(node)
    return [
        sentence(f"{story.experiments(nodes)} failed: {_quoted(story, reason)}")
        for reason, nodes in reasons.items()
    ]


def _quoted(story: Story, reason: str) -> str:
    """A machine's words; what might be code or numbers is set as such."""
    return reason if re.fullmatch(r"[A-Za-z ,']+", reason) else story.marks.raw(reason)


def _reason(node: Node) -> str:
    text = " ".join((node.error or "no reason was recorded").split())
    if node.label == "ablation" and node.plan.get("part"):
        text = text.partition(": ")[0]  # the formula and the part are told with the ablations
    return text if len(text) <= 160 else text[:157] + "..."


def _sterile(story: Story) -> list[str]:
    sterile = [node for node in story.study.nodes if node.sterile]
    if not sterile:
        return []
    again = {"symbolic": "came back to the formula", "command": "ran the configuration"}.get(
        story.study.kind, "ran the programs"
    )
    named = story.experiments(sterile)
    return [sentence(f"{named} {again} of the parent and thus added nothing; no score was given")]


def _pruned(story: Story) -> list[str]:
    """What the stagnation rule decided, in the words that were recorded."""
    found = []
    for decision in story.study.decisions:
        node = story.study.node(str(decision.get("node_id")))
        kind = str(decision.get("decision", "")).replace("_", " ")
        if node is None or not kind:
            continue
        title = _idea(story, decision)
        idea = f" ({title})" if title else ""
        found.append(
            sentence(
                f"After {story.experiment(node)} the scores had stopped moving and the search decided to "
                f"{kind.replace('switch to idea', 'turn to another hypothesis')}{idea}"
            )
        )
    return found


def _table(story: Story) -> Table:
    symbolic = story.study.kind == "symbolic"
    metric = story.study.primary_metric
    head = ["node", "kind", "what was done", story.marks.name(metric)] + (["size"] if symbolic else [])
    rows = []
    for node in story.study.nodes:
        value = story.metric(node, metric) if node.status == "completed" else ""
        row = [story.marks.name(node.id), node.label, _what(story, node), value or _outcome(node)]
        rows.append(row + ([story.metric(node, "complexity") or "--"] if symbolic else []))
    caption = "Every experiment in the order planned."
    return Table("tried", caption, head, rows, "llYr" + ("r" if symbolic else ""), wide=True)


def _outcome(node: Node) -> str:
    if node.status == "errored":
        return "failed"
    return "unchanged" if node.sterile else "not measured" if node.status == "completed" else node.status


def _what(story: Story, node: Node) -> str:
    """What a node did: its formula, or the change it made."""
    if story.study.kind == "symbolic":
        formula = f": {story.marks.raw(short(node.formula))}" if node.formula else ""
        part = node.plan.get("part")
        strategies = node.plan.get("strategies")
        if node.label == "ablation" and part:
            return f"{taken(story.study, node).without(story.marks.raw)}{formula}"
        if node.label == "validation":
            return f"other splits, wider range{formula}"
        if isinstance(strategies, list) and strategies:
            return f"{listed([str(s).replace('_', ' ') for s in strategies])}{formula}"
        return f"refinement{formula}" if node.plan.get("refine") else f"{node.label}{formula}"
    if story.study.kind == "code":
        return plan_words(story, node)
    changed = node.plan.get("changed")
    if isinstance(changed, str) and changed in node.params:
        parent = story.study.node(node.parent)
        before = f"{story.level(parent, changed)} to " if parent is not None else ""
        return f"{story.marks.name(changed)}: {before}{story.level(node, changed)}"
    if node.parent is None:
        return "the first level of every parameter"
    return "repeats of the parent" if node.label == "validation" else _idea(story, node.plan) or node.label


def _idea(story: Story, plan: Mapping[str, Any]) -> str:
    """Title of the hypothesis that a plan or a decision names, in lower case."""
    index = plan.get("idea_index")
    ideas = story.study.ideas
    return (
        str(ideas[index].get("title", "")).lower()
        if isinstance(index, int) and 0 <= index < len(ideas)
        else ""
    )


def plan_words(story: Story, node: Node) -> str:
    """What the search asked of a node, in the words of whoever planned it, as machine text."""
    return story.marks.raw(_short(str(node.plan.get("summary") or node.label)).rstrip("."))


# -------------------------------------------------------------------------------------- reproducibility


def reproducibility(story: Story) -> Section:
    """What binds the paper to its files, and the commands that check it."""
    study, marks = story.study, story.marks
    section = Section("Reproducibility", "reproducibility")
    settings, meta = study.settings, study.meta
    run = str(meta.get("run_id") or study.path.name)
    seed = story.root_fact("study_seed", " with seed ")
    model = settings.get("model")
    by = f"; the researcher was {marks.name(model)}" if model else ""
    section.say(
        sentence(f"Everything above was derived from the study {marks.name(run)}{seed}{by}"),
        _versions(story),
        _hashes(story),
        "Every number in this text is a link to its entry in the appendix, which names the claim, the "
        "formula, the "
        "experiment and the hash of the file it rests on; a gate computed all of them anew from those files.",
    )
    if story.best.formula:
        section.say(f"In the expression language of the search {marks.equation('law')} reads:")
        section.blocks.append(PlainFormula(story.best.formula, study.target, story.best.id))
    section.blocks.append(Code(_commands(story)))
    return section


def _versions(story: Story) -> str:
    versions = story.study.meta.get("versions")
    if not isinstance(versions, Mapping) or not versions:
        return ""
    marks = story.marks
    shown = listed([marks.name(f"{name} {version}") for name, version in versions.items()])
    cited = {"numpy": "harris2020", "scipy": "virtanen2020"}
    keys = [key for name, key in cited.items() if name in versions]
    return sentence(f"The software was {shown}{' ' + marks.cite(*keys) if keys else ''}")


def _hashes(story: Story) -> str:
    marks, meta = story.marks, story.study.meta
    found = []
    data, sealed = meta.get("data"), meta.get("sealed")
    if isinstance(data, Mapping) and data.get("source_sha256"):
        found.append(f"the source data has the digest {marks.name(str(data['source_sha256'])[:HASH_DIGITS])}")
    if isinstance(sealed, Mapping) and sealed.get("sha256"):
        digest = marks.name(str(sealed["sha256"])[:HASH_DIGITS])
        found.append(f"the sealed rows were committed to {digest} before the first experiment")
    if not found:
        files = meta.get("data_hashes")
        if isinstance(files, Mapping) and files:
            found = [
                f"{marks.name(name)} has the digest {marks.name(str(digest)[:HASH_DIGITS])}"
                for name, digest in list(files.items())[:6]
            ]
    return sentence(f"By SHA-256, {listed(found)}") if found else ""


def _commands(story: Story) -> str:
    settings = story.study.settings
    options = [f"--seed {story.study.meta.get('seed', 0)}"]
    options += [f"--nodes {settings['nodes']}"] if "nodes" in settings else []
    options += [f"--model {settings['model']}"] if settings.get("model", OFFLINE) != OFFLINE else []
    return (
        f"ari run experiment.md {' '.join(options)}\nari gate CHECKPOINT --phase final\nari validate "
        "CHECKPOINT"
    )


# -------------------------------------------------------------------------------------- appendix


def evidence_appendix(story: Story) -> Section:
    """One entry a number of the evidence: claim, formula, operands, node, hashes, commands."""
    section = Section("Evidence", "evidence")
    section.say(
        "Each entry gives the value, the formula over its operands, and the metric and experiment where "
        "each operand "
        "stands; files and commands follow. Numbers of the evidence that the text does not use are listed "
        "too."
    )
    ordered = sorted(story.evidence.every(), key=lambda n: _natural(n.assertion.id))
    entries: list[str] = []
    told = ""
    for number in ordered:
        if number.claim.id != told:
            told = number.claim.id
            entries.append(_claim_head(story, number))
        entries.append(_entry(story, number))
    section.blocks.append(Items(entries, small=True))
    nodes = dict.fromkeys(o.node_id for n in ordered for o in n.assertion.operands.values())
    files = [text for text in (_files(story, node_id) for node_id in sorted(nodes)) if text]
    if files:
        section.say("Files and commands of the experiments:")
        section.blocks.append(Items(files, small=True))
    return section


def _claim_head(story: Story, number: Number) -> str:
    """What a claim is about: its kind and subject, without the numbers that its entries give."""
    kind, subject = note(number.claim, "kind"), note(number.claim, "subject")
    about = f" on {story.marks.raw(_short(str(subject)))}" if subject and subject != kind else ""
    return f"{story.marks.add(Emphasis(f'Claim {number.claim.id}'))}: {kind or 'claim'}{about}"


def _natural(identity: str) -> tuple[str, int]:
    match = re.search(r"\d+$", identity)
    return (identity[: match.start()], int(match.group())) if match else (identity, 0)


def _entry(story: Story, number: Number) -> str:
    marks, assertion = story.marks, number.assertion
    places = [
        f"{role} = {marks.name(operand.metric_path)} of {marks.name(operand.node_id)}"
        for role, operand in assertion.operands.items()
    ]
    head = marks.add(EvidenceTarget(number))
    return f"{head}, {marks.name(assertion.formula)} with {listed(places)}."


def _files(story: Story, node_id: str) -> str:
    node = story.study.node(node_id)
    if node is None:
        return ""
    marks = story.marks
    produced = [a for a in node.artifacts if a.get("sha256") and a.get("role") in ("data_output", None)]
    shown = [f"{marks.name(a['path'])} ({marks.name(str(a['sha256'])[:HASH_DIGITS])})" for a in produced[:3]]
    commands = [marks.raw(_short(command)) for command in commands_of(story.study, node)[:3]]
    parts = [listed(shown)] if shown else []
    parts += [f"run as {listed(commands)}"] if commands else []
    return sentence(f"{marks.name(node_id)}: {'; '.join(parts)}") if parts else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 120 else flat[:117] + "..."


def paragraph_of(texts: list[str]) -> Paragraph:
    """A paragraph of finished sentences."""
    return Paragraph([text for text in texts if text])


def field(document: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401 - a JSON value
    """A nested value of a JSON document; None where a step is missing."""
    current: Any = document
    for key in keys:
        if not isinstance(current, Mapping):
            return None
        current = current.get(key)
    return current
