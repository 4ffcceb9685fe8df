"""Checks of the tree: references, cycles, depths, and what each node's folder holds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ari.checkpoint.findings import Study
from ari.checkpoint.projections import NODES_TREE_NAME, TREE_NAME
from ari.errors import FormatError, PathEscapeError
from ari.formats import legacy
from ari.formats.jsonio import Json, pointer
from ari.formats.node_report import NodeReport
from ari.formats.node_results import NodeResults, has_non_finite, loads_lenient
from ari.formats.nodes_tree import NodesTree
from ari.formats.tree import Tree
from ari.paths import escape_reason, inside

REPORT_NAME = "node_report.json"
_MODELS: dict[str, type[BaseModel]] = {TREE_NAME: Tree, NODES_TREE_NAME: NodesTree}


def check_trees(study: Study) -> None:
    """Check `tree.json` and `nodes_tree.json` and learn the nodes from them.

    Args:
        study: The checkpoint.
    """
    documents: dict[str, Json] = {}
    for file in (TREE_NAME, NODES_TREE_NAME):
        document = study.load(file)
        if document is not None and legacy.is_legacy_tree(document):
            study.legacy = True
            message = "the nodes are a list, a shape of old; `ari migrate` writes the specified one"
            study.add(file, "schema.type", "/nodes", message, "warning")
            document = legacy.convert_tree(document, study.directory)
        if document is not None:
            documents[file] = document
            _learn(study, document)
    study.depths = _true_depths(study.parents)
    for file, document in documents.items():
        study.check_model(file, _MODELS[file], document)
        _check_structure(study, file, document)
    if NODES_TREE_NAME in documents:
        _check_folders(study, documents[NODES_TREE_NAME])
    if TREE_NAME not in documents and not (study.directory / TREE_NAME).exists():
        study.add(TREE_NAME, "schema.required", "", "the file is missing", "warning")


def nodes_of(document: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk the nodes of a tree document, passing over what is no node.

    Args:
        document: The parsed file.

    Returns:
        Id and node.
    """
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    if isinstance(nodes, Mapping):
        for key, node in nodes.items():
            if isinstance(node, dict):
                yield str(key), node


def _learn(study: Study, document: Json) -> None:
    for key, node in nodes_of(document):
        parent = node.get("parent_id")
        study.parents.setdefault(key, parent if isinstance(parent, str) else None)
        if isinstance(node.get("work_dir"), str):
            study.work_dirs.setdefault(key, node["work_dir"])


def _true_depths(parents: Mapping[str, str | None]) -> dict[str, int]:
    """Count every node's steps to its root; nodes on or below a cycle have no depth."""
    depths: dict[str, int] = {}
    for start in parents:
        path: list[str] = []
        visited: set[str] = set()
        current: str | None = start
        while current is not None and current in parents and current not in depths and current not in visited:
            path.append(current)
            visited.add(current)
            current = parents[current]
        if current in visited:  # a cycle
            continue
        base = depths.get(current, -1) if current is not None else -1
        if current in parents and current not in depths:
            continue
        for node_id in reversed(path):
            base += 1
            depths[node_id] = base
    return depths


def _cycle_members(parents: Mapping[str, str | None]) -> set[str]:
    members: set[str] = set()
    done: set[str] = set()
    for start in parents:
        path: list[str] = []
        on_path: set[str] = set()
        current: str | None = start
        while current is not None and current in parents and current not in done:
            if current in on_path:
                members.update(path[path.index(current) :])
                break
            path.append(current)
            on_path.add(current)
            current = parents[current]
        done.update(path)
    return members


def _check_structure(study: Study, file: str, document: Json) -> None:
    if not isinstance(document, Mapping):
        return
    nodes = dict(nodes_of(document))
    root = document.get("root_node_id")
    if isinstance(root, str) and root not in nodes:
        study.add(file, "ref.unknown_node", "/root_node_id", f"there is no node {root}")
    parents = {key: _text(node.get("parent_id")) for key, node in nodes.items()}
    cyclic = _cycle_members(parents)
    depths = _true_depths(parents)
    for key, node in nodes.items():
        at = pointer("nodes", key)
        if isinstance(node.get("id"), str) and node["id"] != key:
            study.add(file, "tree.id_mismatch", f"{at}/id", f"the node under {key} has another id")
        parent = parents[key]
        if parent is not None and parent not in nodes:
            study.add(file, "ref.unknown_node", f"{at}/parent_id", f"there is no node {parent}")
        if key in cyclic:
            study.add(file, "tree.cycle", f"{at}/parent_id", "the parents run in a circle")
        depth = node.get("depth")
        if isinstance(depth, int) and key in depths and depth != depths[key]:
            study.add(
                file, "tree.depth", f"{at}/depth", f"depth is {depth}, but the parents make it {depths[key]}"
            )
    _check_children(study, file, nodes, cyclic)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _check_children(
    study: Study, file: str, nodes: Mapping[str, Mapping[str, Any]], cyclic: set[str]
) -> None:
    for key, node in nodes.items():
        children = node.get("children")
        for index, child in enumerate(children if isinstance(children, list) else []):
            where = pointer("nodes", key, "children", index)
            if not isinstance(child, str):
                continue
            if child not in nodes:
                study.add(file, "ref.unknown_node", where, f"there is no node {child}")
            elif _text(nodes[child].get("parent_id")) == key:
                if key in cyclic and child in cyclic:
                    study.add(file, "tree.cycle", where, f"{child} is an ancestor of its own parent")
            elif _leads_to(nodes, child, key):
                study.add(file, "tree.cycle", where, f"{child} is an ancestor of its own parent")
            else:
                study.add(file, "tree.id_mismatch", where, f"{child} names another parent")
        parent = _text(node.get("parent_id"))
        listed = nodes[parent].get("children") if parent is not None and parent in nodes else None
        if isinstance(listed, list) and key not in listed:
            where = pointer("nodes", key, "parent_id")
            study.add(file, "tree.id_mismatch", where, f"{parent} does not list {key} among its children")


def _leads_to(nodes: Mapping[str, Mapping[str, Any]], start: str, goal: str) -> bool:
    """Say whether `start` is `goal` or an ancestor of it, along the parents."""
    current: str | None = goal
    visited: set[str] = set()
    while current is not None and current in nodes and current not in visited:
        if current == start:
            return True
        visited.add(current)
        current = _text(nodes[current].get("parent_id"))
    return False


def work_dir(study: Study, node_id: str) -> Path | None:
    """Find a node's folder.

    Args:
        study: The checkpoint.
        node_id: The node.

    Returns:
        The folder; None when none is recorded or it would lie elsewhere than it may.
    """
    recorded = study.work_dirs.get(node_id, f"experiments/{node_id}")
    if not recorded:
        return None
    folder = study.directory / recorded
    if study.legacy or not (escape_reason(recorded) or folder.exists()):
        return folder
    try:
        return inside(study.directory, recorded)
    except PathEscapeError:
        return None


def _check_folders(study: Study, document: Json) -> None:
    for key, node in nodes_of(document):
        at = pointer("nodes", key)
        recorded = node.get("work_dir")
        if isinstance(recorded, str) and not study.legacy:
            try:
                inside(study.directory, recorded)
            except PathEscapeError as error:
                study.add(NODES_TREE_NAME, "path.escape", f"{at}/work_dir", error.message)
        folder = work_dir(study, key)
        artifacts = node.get("artifacts")
        if folder is None or not isinstance(artifacts, list):
            continue
        for index, entry in enumerate(artifacts):
            where = f"{at}/artifacts/{index}"
            study.check_hash(NODES_TREE_NAME, where, folder, entry, code="artifact.sha256")


def check_node_files(study: Study) -> None:
    """Check every node's report and results.

    Args:
        study: The checkpoint, its nodes known.
    """
    folders = {folder: key for key in study.parents if (folder := work_dir(study, key)) is not None}
    experiments = study.directory / "experiments"
    if experiments.is_dir():
        for folder in sorted(experiments.iterdir()):
            if folder.is_dir():
                folders.setdefault(folder, folder.name)
    for folder, node_id in folders.items():
        if not folder.is_dir():
            continue
        name = _relative(folder, study.directory)
        if (folder / REPORT_NAME).is_file():
            _check_report(study, f"{name}/{REPORT_NAME}", folder, node_id)
        for path in sorted(folder.glob("results*.json")):
            if path.is_file():
                _check_results(study, f"{name}/{path.name}")


def _relative(path: Path, base: Path) -> str:
    """The path from the checkpoint; in the legacy layout it climbs out of it."""
    return Path(os.path.relpath(path, base)).as_posix()


def _check_report(study: Study, file: str, folder: Path, node_id: str) -> None:
    document = study.load(file)
    if not isinstance(document, dict):
        if document is not None:
            study.check_model(file, NodeReport, document)
        return
    if study.legacy:
        document = legacy.convert_report(document)
    study.check_model(file, NodeReport, document)
    named = document.get("node_id")
    if isinstance(named, str) and named != node_id:
        code = "tree.id_mismatch" if named in study.parents else "ref.unknown_node"
        study.add(file, code, "/node_id", f"the report lies in the folder of {node_id}")
        return
    if node_id not in study.parents:
        study.add(file, "ref.unknown_node", "/node_id", f"there is no node {node_id}")
        return
    _check_lineage(study, file, document, node_id)
    artifacts = document.get("artifacts")
    for index, entry in enumerate(artifacts if isinstance(artifacts, list) else []):
        study.check_hash(file, f"/artifacts/{index}", folder, entry, code="artifact.sha256")


def _check_lineage(study: Study, file: str, document: Mapping[str, Any], node_id: str) -> None:
    depth = document.get("depth")
    if isinstance(depth, int) and node_id in study.depths and depth != study.depths[node_id]:
        study.add(
            file, "tree.depth", "/depth", f"depth is {depth}, but the tree says {study.depths[node_id]}"
        )
    parent = document.get("parent_id")
    if (
        parent is not None
        and study.require_node(file, "/parent_id", parent)
        and (parent != study.parents.get(node_id))
    ):
        study.add(file, "lineage.broken", "/parent_id", f"the tree names another parent of {node_id}")
    recorded = document.get("ancestor_ids")
    if isinstance(recorded, list):
        check_ancestors(study, file, "/ancestor_ids", recorded, node_id)


def check_ancestors(study: Study, file: str, where: str, recorded: list[Any], node_id: str) -> None:
    """Check that recorded ancestors are those of the tree.

    Args:
        study: The checkpoint.
        file: The file that records them.
        where: Where.
        recorded: The recorded ids, from the root down.
        node_id: The node whose ancestors they are.
    """
    known = [
        study.require_node(file, f"{where}/{index}", ancestor) for index, ancestor in enumerate(recorded)
    ]
    chain = study.ancestors(node_id)
    if all(known) and chain is not None and recorded != chain:
        study.add(file, "lineage.broken", where, f"these are not the ancestors of {node_id} in the tree")


def _check_results(study: Study, file: str) -> None:
    data = study.read(file)
    if data is None:
        return
    try:
        document = loads_lenient(data)
    except FormatError as error:
        study.add(file, "json.invalid", "", error.message)
        return
    if has_non_finite(document):
        message = "NaN and Infinity are no JSON; they are read as the documented encoding"
        study.add(file, "json.invalid", "", message, "warning")
        return
    if isinstance(document, dict):
        study.check_model(file, NodeResults, document)
