"""The symbolic tools as an agent's model sees them: definitions to be offered, and calls that never raise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_ai.tools import ToolDefinition

from sr_harness.tools import CATALOGUE, ToolContext

if TYPE_CHECKING:
    from sr_harness.tools import ToolSpec

LEFT_OUT = frozenset({"submit_formula", "validate_context_data"})
"""Tools that are not the model's business: the agent itself hands in, and the data have been checked."""

LEAST_WORK = 50


class Toolbox:
    """The tools over one context.

    Promises: a call with whatever name and arguments gives a dictionary, `{"error": …}` where it cannot be
    served; no call spends more than `work` model evaluations.

    Args:
        context: What the tools work on.
        work: Most model evaluations that one call may spend.
    """

    def __init__(self, context: ToolContext, *, work: int) -> None:
        self._context = context
        self._work = max(LEAST_WORK, work)
        self._arguments = {name: _arguments_model(spec) for name, spec in _offered()}

    @property
    def names(self) -> frozenset[str]:
        """What can be called; `submit_formula` is understood, too, as a proposal."""
        return frozenset(self._arguments)

    def definitions(self) -> list[ToolDefinition]:
        """The tools as models are told of them."""
        return [
            ToolDefinition(
                name=name,
                description=_description(CATALOGUE[name]),
                parameters_json_schema=model.model_json_schema(),
            )
            for name, model in self._arguments.items()
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool."""
        if name not in self._arguments:
            return {"error": f"there is no tool {name!r}; there are {', '.join(self._arguments)}"}
        try:
            checked = self._arguments[name].model_validate(dict(arguments))
        except ValidationError as error:
            return {"error": f"{name}: {_faults(error)}"}
        given = {key: getattr(checked, key) for key in type(checked).model_fields}
        if "work" in given:
            given["work"] = min(given["work"], self._work)
        try:
            return CATALOGUE[name].function(self._context, **given)
        except Exception as error:  # noqa: BLE001 - whatever a model asks of a tool costs it a step, never the run
            return {"error": f"{name}: {error}"}


def _offered() -> Iterator[tuple[str, ToolSpec]]:
    return ((name, spec) for name, spec in CATALOGUE.items() if name not in LEFT_OUT)


def _arguments_model(spec: ToolSpec) -> type[BaseModel]:
    """A model of a tool's arguments; superfluous ones are passed over, `"500"` is read as 500."""
    hints = get_type_hints(spec.function)
    parameters = list(inspect.signature(spec.function).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default)
        for p in parameters
    }
    model: type[BaseModel] = create_model(spec.name, __config__=ConfigDict(extra="ignore"), **fields)
    return model


def _description(spec: ToolSpec) -> str:
    lines = inspect.getdoc(spec.function) or spec.summary
    return "\n".join(line for line in lines.splitlines() if not line.strip().startswith("ctx:"))


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)
    )
