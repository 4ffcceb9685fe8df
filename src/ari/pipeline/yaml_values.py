"""YAML read safely and with line numbers: no tags, no objects, no repeated keys, bounded in size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1_000_000
MAX_VALUES = 20_000
"""A file with more values than this is refused; repeated aliases count each time."""


class Value(NamedTuple):
    """A value of the file and the line on which it begins."""

    data: Any
    line: int


class YamlFault(NamedTuple):
    """What makes a file unreadable, and where; line 0 is the file as a whole."""

    line: int
    message: str


class UnreadableError(Exception):
    """The file cannot be read as YAML of this kind."""

    def __init__(self, fault: YamlFault) -> None:
        self.fault = fault
        super().__init__(fault.message)


def read_yaml(data: bytes) -> Value | None:
    """Read a document.

    Args:
        data: The bytes of the file.

    Returns:
        The value with its lines; None for an empty file.

    Raises:
        UnreadableError: If it is no YAML, or of a kind that is refused.
    """
    import yaml

    if len(data) > MAX_BYTES:
        raise UnreadableError(YamlFault(0, f"the file is larger than {MAX_BYTES} bytes"))
    try:
        node = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
        return None if node is None else _Converter().convert(node)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UnreadableError(YamlFault(line, "the file is not UTF-8 text")) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise UnreadableError(YamlFault(mark.line + 1 if mark else 0, f"this is no YAML: {what}")) from error
    except RecursionError:
        raise UnreadableError(YamlFault(0, "the file is nested too deeply")) from None


class _Converter:
    """From YAML nodes to values that know their lines."""

    def __init__(self) -> None:
        import yaml

        self._yaml = yaml
        self._constructor = yaml.SafeLoader("")
        self._left = MAX_VALUES

    def convert(self, node: yaml.Node) -> Value:
        """Convert a node and everything below it."""
        line = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise UnreadableError(YamlFault(line, f"more than {MAX_VALUES} values"))
        if isinstance(node, self._yaml.MappingNode):
            return Value(self._mapping(node), line)
        if isinstance(node, self._yaml.SequenceNode):
            return Value([self.convert(item) for item in node.value], line)
        value = self._constructor.construct_object(node)
        if not isinstance(value, (str, int, float, bool, type(None))):
            value = node.value  # a date is meant as text
        if isinstance(value, bool) and node.value.lower() not in {"true", "false"}:
            value = node.value  # and so are yes, no, on and off
        return Value(value, line)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value
            if not isinstance(key, str) or key_node.tag == "tag:yaml.org,2002:merge":
                raise UnreadableError(YamlFault(line, "keys are plain text, without merging"))
            if key in found:
                raise UnreadableError(YamlFault(line, f"the key {key!r} stands here twice"))
            found[key] = self.convert(value_node)._replace(line=line)
        return found


def plain(value: Value) -> Any:  # noqa: ANN401 - any YAML value
    """The value without its lines, at any depth."""
    if isinstance(value.data, dict):
        return {key: plain(item) for key, item in value.data.items()}
    return [plain(item) for item in value.data] if isinstance(value.data, list) else value.data
