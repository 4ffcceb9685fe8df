"""What every model of a file shares: strict types, unknown keys kept, one way to read and write.

`FormatModel` validates the documented keys (no coercion: `"3"` is not a number, `true` is not 1), keeps
keys it does not know through a round trip, and writes only keys that were given. `problems` translates
what is wrong with a document into codes and JSON pointers; it never repeats a value of the document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from ari.errors import FormatError
from ari.formats.jsonio import Json, pointer, strict_dumps, strict_loads


class Problem(NamedTuple):
    """One thing wrong with a document.

    Attributes:
        code: One of `schema.required`, `schema.const`, `schema.enum`, `schema.type`.
        where: JSON pointer into the document.
        message: What is wrong there; never repeats the value.
    """

    code: str
    where: str
    message: str


def _metric(value: object) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("metric_type", "a metric is a finite number or null")
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("metric_type", "a metric that is not finite is written as null")
    return value


def _number(value: object) -> int | float:
    number = _metric(value)
    if number is None:
        raise PydanticCustomError("number_type", "a finite number is required")
    return number


MetricValue = Annotated[
    int | float | None, PlainValidator(_metric), WithJsonSchema({"type": ["number", "null"]})
]
"""A finite number or null, never a boolean."""

FiniteNumber = Annotated[int | float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
"""A finite number, never a boolean."""

Metrics = dict[str, MetricValue]
"""Metric name to value."""


class FormatModel(BaseModel):
    """Base of the models of the checkpoint's files and of their parts."""

    model_config = ConfigDict(extra="allow", strict=True, populate_by_name=True, allow_inf_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the document: the keys that were given, known and unknown, under their names in the file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def to_bytes(self) -> bytes:
        """Return the document as indented strict JSON with a final newline."""
        return strict_dumps(self.to_dict(), indent=True)

    @classmethod
    def from_document(cls, document: object, *, source: str) -> Self:
        """Validate a document that has been parsed.

        Args:
            document: The parsed JSON.
            source: Name of the file for the message.

        Returns:
            The model.

        Raises:
            FormatError: If the document is not in the documented shape; names every fault.
        """
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise faulty(source, translate(error, document)) from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and validate a file.

        Args:
            path: The file.

        Returns:
            The model.

        Raises:
            FormatError: If the file cannot be read, is not strict JSON or not in the documented shape.
        """
        return cls.from_document(read_json(path), source=str(path))


def faulty(source: str, faults: list[Problem]) -> FormatError:
    """Build the error that names every fault of a document.

    Args:
        source: Name of the file.
        faults: What `translate` found.

    Returns:
        The error, to be raised by the caller.
    """
    lines = "".join(f"\n  {fault.where or '(top)'}: {fault.message}" for fault in faults)
    return FormatError(
        f"{source} is not in its documented shape:{lines}",
        cure="`ari validate` lists every fault of the checkpoint.",
    )


def read_json(path: Path) -> Json:
    """Read a file of strict JSON.

    Args:
        path: The file.

    Returns:
        The parsed value.

    Raises:
        FormatError: If it cannot be read or parsed; the message names the file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return strict_loads(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}") from None


def _code(detail: ErrorDetails) -> str:
    if detail["type"] == "missing":
        return "schema.required"
    if detail["type"] == "literal_error":
        many = " or " in str(detail.get("ctx", {}).get("expected", ""))
        return "schema.enum" if many else "schema.const"
    return "schema.type"


def _where(location: tuple[int | str, ...], document: object, missing: bool) -> str:
    """Turn a location of pydantic into a pointer, leaving out parts that are no keys of the document."""
    place: list[str | int] = []
    current = document
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(current, Mapping):
            if part in current:
                current = current[part]
            elif not (last and missing):
                continue
        elif isinstance(current, list) and isinstance(part, int) and part < len(current):
            current = current[part]
        else:
            continue
        place.append(part)
    return pointer(*place)


def translate(error: ValidationError, document: object) -> list[Problem]:
    """Translate what pydantic found into codes and pointers.

    Args:
        error: The validation error.
        document: The document it is about.

    Returns:
        One problem per fault, in document order.
    """
    problems = []
    for detail in error.errors(include_url=False, include_input=False):
        code = _code(detail)
        where = _where(detail["loc"], document, code == "schema.required")
        problems.append(Problem(code, where, detail["msg"]))
    return problems


def problems(model: type[BaseModel], document: object) -> list[Problem]:
    """Say what is wrong with a document.

    Args:
        model: The model of the file.
        document: The parsed JSON.

    Returns:
        The faults; empty when the document is in the documented shape.
    """
    try:
        model.model_validate(document)
    except ValidationError as error:
        return translate(error, document)
    return []
