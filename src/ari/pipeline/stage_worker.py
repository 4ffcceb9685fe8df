"""What runs inside a stage's own process: one call of its tool, and one answer on disk.

The answer, `records/stages/<stage>/outcome.json`, holds either what the tool returned or why it failed.
What it printed stands in `output.log` beside it, and the trace of an unforeseen error in `crash.txt`.
"""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ari.checkpoint.files import atomic_write
from ari.errors import AriError, FormatError
from ari.execution.child import announce, end_with_the_run, keep_output_off_the_terminal, lead_own_session
from ari.formats.jsonio import encode_document, strict_dumps
from ari.pipeline.outside import OutsideSkill, call_outside
from ari.pipeline.stages import StageCall, call, load
from sr_harness.errors import SRError

OUTCOME = "outcome.json"
OUTPUT_LOG = "output.log"
CRASH_LOG = "crash.txt"


class StageTask(BaseModel):
    """One stage to be run, as it crosses to its process."""

    model_config = ConfigDict(frozen=True)

    checkpoint: str
    stage: str
    skill: str
    tool: str
    target: str
    outside: OutsideSkill | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    parameters: dict[str, Any] = {}
    attempt: int = 0

    @property
    def records(self) -> Path:
        """Where the stage's records lie."""
        return records_of(Path(self.checkpoint), self.stage)


def records_of(checkpoint: Path, stage: str) -> Path:
    """Where the records of a stage lie."""
    return checkpoint / "records" / "stages" / stage


def stage_main(task_json: str) -> None:
    """Entry point of a stage's process."""
    lead_own_session()
    task = StageTask.model_validate_json(task_json)
    presence = announce(Path(task.checkpoint))
    end_with_the_run()
    keep_output_off_the_terminal(task.records / OUTPUT_LOG)
    os.environ["ARI_CHECKPOINT_DIR"] = task.checkpoint
    answer = _guarded(task)
    atomic_write(task.records / OUTCOME, strict_dumps(answer, indent=True))
    os.close(presence)


def _guarded(task: StageTask) -> dict[str, Any]:
    """Call the tool; whatever goes wrong becomes an answer with its reason."""
    try:
        return {"answer": encode_document(_answer(task))}
    except MemoryError:
        return {"error": "out of memory"}
    except AriError as error:
        return {"error": error.message, "cure": error.cure}
    except (SRError, OSError) as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - one stage's failure of any kind must never end the run
        (task.records / CRASH_LOG).write_text(traceback.format_exc(), encoding="utf-8")
        where = f"records/stages/{task.stage}/{CRASH_LOG}"
        return {"error": f"{type(error).__name__}: {error} (details in {where})"}


def _call_outside(task: StageTask) -> dict[str, Any]:
    assert task.outside is not None
    return call_outside(
        task.skill, task.outside, task.tool, task.parameters, checkpoint=Path(task.checkpoint)
    )


def _answer(task: StageTask) -> dict[str, Any]:
    request = StageCall(
        skill=task.skill,
        tool=task.tool,
        checkpoint=Path(task.checkpoint),
        inputs=task.inputs,
        outputs=task.outputs,
        parameters=task.parameters,
        attempt=task.attempt,
    )
    answer = _call_outside(task) if task.outside is not None else call(request, load(task.target))
    try:
        json.dumps(answer)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{task.skill}.{task.tool} answered with what JSON cannot hold: {error}") from None
    return answer
