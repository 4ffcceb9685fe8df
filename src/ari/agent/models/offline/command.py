"""How the offline researcher runs one configuration of a command."""

from __future__ import annotations

import json
from typing import Any

from ari.agent.models.offline.policy import Call, Steps
from ari.pipeline.experiment_spec import Experiment

VALIDATION_FACTOR = 3
"""A validation node repeats the measurement this many times as often as other nodes."""


def command_policy(facts: dict[str, Any]) -> Steps:
    """Write the configuration down, run it, measure the ceiling beside it, and collect what was printed."""
    experiment = Experiment.model_validate(facts["experiment"] | {"question": ""})
    params = {p.name: p.baseline for p in experiment.parameters} | facts["plan"].get("params", {})
    yield Call(
        "write_file", {"path": "params.json", "content": json.dumps(params, indent=1, ensure_ascii=False)}
    )
    script = "#!/usr/bin/env bash\nset -euo pipefail\n" + experiment.render_command(params) + "\n"
    yield Call("write_file", {"path": "run.sh", "content": script})
    repeats = experiment.repeats * (VALIDATION_FACTOR if facts["label"] == "validation" else 1)
    for _ in range(repeats):
        result = yield Call("run", {"command": "bash run.sh", "label": "measure"})
        fault = _fault(result, experiment)
        if fault:
            return fault
    provenance = yield from _measure_ceiling(experiment)
    if experiment.correctness:
        provenance[experiment.correctness.split()[0].rstrip("<>=")] = "correctness"
    results = yield Call("emit_results", {"params": params, "provenance": provenance})
    value = results.get("measurements", {}).get(experiment.primary_metric)
    return f"Ran {params or 'the command'} {repeats} times: {experiment.primary_metric} = {value}."


def _fault(result: dict[str, Any], experiment: Experiment) -> str | None:
    if "error" in result:
        return f"The command could not be run: {result['error']}"
    if result["outcome"] != "ok":
        return f"The run ended as {result['outcome']} (exit status {result['exit_status']})."
    if experiment.primary_metric not in result["metrics"]:
        return f"The program printed no {experiment.primary_metric}."
    return None


def _measure_ceiling(experiment: Experiment) -> Any:  # noqa: ANN401 - a sub-generator of Steps that returns tags
    ceiling = experiment.ceiling
    if ceiling is None:
        return {}
    result = yield Call("run", {"command": ceiling.command, "label": "ceiling"})
    measured = result.get("outcome") == "ok" and ceiling.metric in result.get("metrics", {})
    return {ceiling.metric: "microbench"} if measured else {}
