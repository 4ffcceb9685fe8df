"""`science_data.json`, composed and written."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.formats.jsonio import encode_document, strict_dumps
from ari.formats.metric_contract import MetricContract
from ari.formats.science_data import ScienceData
from ari.transform.claims import derive_claims
from ari.transform.configurations import anomalies, configuration, left_out, ranked
from ari.transform.context import experiment_context
from ari.transform.spread import summary
from ari.transform.view import StudyView

SCIENCE_DATA = "science_data.json"
METRIC_CONTRACT = "metric_contract.json"


def nodes_to_science_data(*, checkpoint: Path) -> dict[str, Any]:
    """Build the data that a paper may rest on from the executed nodes: configurations, statistics, claims.

    Args:
        checkpoint: The study.

    Returns:
        How much there is: `configurations`, `claims`, `numeric_assertions`, `left_out`.

    Raises:
        FormatError: If a file of the study cannot be read.
        CheckpointError: If it cannot be written.
    """
    document = build_science_data(checkpoint)
    atomic_write(checkpoint / SCIENCE_DATA, strict_dumps(document, indent=True))
    counts = {
        name: len(document[name]) for name in ("configurations", "claims", "numeric_assertions", "left_out")
    }
    words = [f"{counts['configurations']} configurations", f"{counts['claims']} claims"]
    answer: dict[str, Any] = {"summary": f"{', '.join(words)} with {counts['numeric_assertions']} numbers"}
    odd = [f"{a['node_id']}: {a['metric'] or 'files'}: {a['reason']}" for a in document["_anomalies"]]
    return answer | counts | {"warnings": odd}


def build_science_data(checkpoint: Path) -> dict[str, Any]:
    """Compose the document without writing it.

    Args:
        checkpoint: The study.

    Returns:
        The content of `science_data.json`, checked against its model.

    Raises:
        FormatError: If a file of the study cannot be read.
    """
    view = StudyView(checkpoint)
    nodes = ranked(view)
    missing = left_out(view)
    claims = derive_claims(view, nodes)
    odd = anomalies(view, nodes)
    document: dict[str, Any] = {
        "configurations": [configuration(view, node, rank) for rank, node in enumerate(nodes, 1)],
        "experiment_context": experiment_context(view),
        "summary_stats": summary(view, nodes, len(missing)),
        "claims": claims,
        "numeric_assertions": [a for claim in claims for a in claim["numeric_assertions"]],
        "left_out": missing,
        "_config_nodes": {
            f"cfg{rank}": {"node_id": node.id, "environment": {}, "metrics": node.metrics}
            for rank, node in enumerate(nodes, 1)
        },
        "_anomalies": [asdict(anomaly) for anomaly in odd],
        "_anomalous_metrics": sorted({anomaly.metric for anomaly in odd if anomaly.metric}),
    }
    contract = checkpoint / METRIC_CONTRACT
    if contract.exists():
        document["metric_contract"] = MetricContract.read(contract).to_dict()
    encoded = encode_document(document)
    ScienceData.from_document(encoded, source=SCIENCE_DATA)
    return dict(encoded)
