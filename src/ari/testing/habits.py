"""The habits of models: a call in all the forms that it comes in, and replies that hold none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ari.testing.replies import Call, Reply


def odd_calls(tool: str, arguments: Mapping[str, Any]) -> dict[str, Reply]:
    """Replies that mean one and the same call, each in another form; every one is to be read as that call.

    Args:
        tool: The tool to be called.
        arguments: Its arguments, at least one.
    """
    inner = json.dumps(dict(arguments), ensure_ascii=False)
    call = json.dumps({"name": tool, "arguments": dict(arguments)}, ensure_ascii=False)
    parameters = "".join(f"<parameter={name}>\n{value}\n</parameter>" for name, value in arguments.items())
    invoked = "".join(f'<parameter name="{name}">{value}</parameter>' for name, value in arguments.items())
    return {
        "a native call": Reply(calls=(Call(tool, arguments),)),
        "a native call with a trailing comma": Reply(calls=(Call(tool, inner[:-1] + ",}"),)),
        "a native call encoded twice": Reply(calls=(Call(tool, json.dumps(inner)),)),
        "bare JSON": Reply(call),
        "JSON in a fence, with words around it": Reply(f"Let me try.\n```json\n{call}\n```\nThat should do."),
        "a trailing comma": Reply(call[:-1] + ",}"),
        "single quotes": Reply(repr({"name": tool, "arguments": dict(arguments)})),
        "the form of the wire": Reply(
            json.dumps({"type": "function", "function": {"name": tool, "arguments": inner}})
        ),
        "a list": Reply(f"[{call}]"),
        "another name for the arguments": Reply(json.dumps({"tool": tool, "parameters": dict(arguments)})),
        "an element": Reply(f"<tool_call>\n{call}\n</tool_call>"),
        "an element that is not closed": Reply(f"<tool_call>{call}"),
        "an element for each parameter": Reply(f"<function={tool}>{parameters}</function>"),
        "an invocation": Reply(f'<function_calls><invoke name="{tool}">{invoked}</invoke></function_calls>'),
        "a thought before it": Reply(f'<think>Maybe {{"name": "nothing", "arguments": {{}}}}?</think>{call}'),
    }


def useless_replies(tool: str, arguments: Mapping[str, Any]) -> dict[str, Reply]:
    """Replies that were to be a call and hold none that can be made.

    Args:
        tool: The tool that was to be called.
        arguments: Its arguments, at least one.
    """
    inner = json.dumps(dict(arguments), ensure_ascii=False)
    call = json.dumps({"name": tool, "arguments": dict(arguments)}, ensure_ascii=False)
    return {
        "prose": Reply("I would rather explain in words what could be done here."),
        "nothing": Reply(""),
        "a refusal": Reply(refusal="I cannot help with that."),
        "an unknown tool": Reply(calls=(Call("launch_rocket", {"speed": 3}),)),
        "an unknown tool in text": Reply('{"name": "launch_rocket", "arguments": {"speed": 3}}'),
        "JSON that is cut off": Reply(call[: len(call) * 2 // 3]),
        "arguments that are cut off": Reply(calls=(Call(tool, inner[:-2]),)),
        "the length limit": Reply(calls=(Call(tool, inner[:-2]),), finish_reason="length"),
        "the length limit before a word": Reply("", finish_reason="length"),
    }
