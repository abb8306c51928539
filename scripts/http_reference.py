"""The reference of the HTTP interface, made from the table of operations."""

import json
from collections.abc import Iterator
from typing import Any

from recollect.operations import OPERATIONS
from recollect.operations.answer import Operation
from recollect.operations.request import Parameter
from recollect.surfaces.serve.dispatcher import LONGEST
from recollect.surfaces.serve.incoming import MAX_BODY_BYTES
from recollect.surfaces.serve.openapi import (
    BASE,
    IN_ADDRESS,
    MOST_IN_ADDRESS,
    describe,
    schema_of,
)
from recollect.surfaces.serve.operation_routes import SEARCH_TIMEOUT_SECONDS
from recollect.surfaces.serve.problems import STATUS

INTRODUCTION = f"""# The HTTP interface

Made from the code by `make docs`; do not edit it here. How to start a server, tokens and limits:
[serving.md](serving.md).

Each operation of the command line that a server offers is one path below `{BASE}`. `POST` takes its values as a JSON
object; operations that only read also take `GET` with the same values as a query string. A text in an address has at
most {IN_ADDRESS:,} characters, and a parameter comes at most {MOST_IN_ADDRESS} times. A body has at most
{MAX_BODY_BYTES // 1024:,} KB, and a text in it, except the text of a memory, {LONGEST:,} characters. The answer is the
JSON that `--json` prints, described by the same [JSON Schema](../src/recollect/schemas/answers.json).
`GET {BASE}/openapi.json` describes all of this as OpenAPI 3.1. `GET /docs` renders it as a page to try it on.

```console
$ curl -s http://127.0.0.1:8765{BASE}/search --json '{json.dumps(OPERATIONS["search"].traits.example)}'
$ curl -s 'http://127.0.0.1:8765{BASE}/list?limit=20&tag=release'
```

`project` comes with each request; a token that is bound to a project needs none and reaches no other.

## Headers

- `Authorization: Bearer TOKEN`: who asks; needed beyond loopback and with `--require-token`.
- `ETag` and `If-None-Match`: the reply to a request that only reads has a tag of its content. While the content is
  the same, you get `304`. A request that names a session gets no tag, because it is logged.
- `Idempotency-Key` on writes: the same request with the same body within a day gets the first answer, marked
  `Idempotent-Replay: true`. With another body it gets `422`, while the first is still running `409`.
- `If-Match` is not read: an edit keeps in the history what a memory said before, so nothing is lost where two write.

## Pages

`list` takes `limit` and `offset`, or `limit` and `cursor`. If there are more memories, the answer has `next_cursor`.
The page for that cursor begins after the last memory of this one, whatever was written or forgotten in between.
`timeline`, `facts` and `log` have `limit` alone.

## Deadlines

Operations with the parameter `timeout` take it in seconds ({SEARCH_TIMEOUT_SECONDS:g} by default)
and end with `504` when it is over. A search whose client disconnects is given up.
"""
PROBLEMS = """## Errors

An error is `application/problem+json` with `type`, `title`, `status`, `detail`, and `error` as on every surface:
`code`, `message`, `hint`.

| status | codes |
|---|---|"""
OTHERS = f"""## Other paths

| path | |
|---|---|
| `POST {BASE}/import` | one memory for each line (`application/x-ndjson`); see below |
| `POST {BASE}/import?name=FILE` | the memories in a file (`application/octet-stream`); see below |
| `GET {BASE}/events` | what happens from now on, as server-sent events; see below |
| `GET {BASE}/openapi.json` | the OpenAPI description |
| `GET /docs` | the page that renders it |
| `/mcp` | MCP over streamable HTTP ([agents.md](agents.md)) |
| `GET /healthz`, `GET /readyz` | whether the server lives, whether the store answers; for anybody |
| `GET /metrics` | counts and durations for Prometheus; never what was asked |

An import takes any number of lines, each what `add` takes, and answers with one result a line as each is done: the
`line`, and what `add` answers or the `error`. With `Accept: text/event-stream` they are events `result` and, at the
end, `done`.

A file is read as `recollect import` reads it, whatever its format, up to 32 MB, and kept nowhere; its memories have its
name as their source. The answer counts what is `new` and `unchanged` under `memories`, and tells the `format`, what was
`redacted`, `left_out` and the `errors`.

The events are entries of [`activity`](#activity), each named `entry`, of one `project` or `session` where the query
string names one. A stream ends after five minutes; ask again.
"""


def http_reference() -> str:
    """Return the page."""
    offered = [each for each in OPERATIONS.values() if each.rights.is_offered]
    described = describe(offered, version="")["paths"]
    parts = [INTRODUCTION, "## Operations", ", ".join(f"[`{each.name}`](#{each.name})" for each in offered)]
    parts += [part for each in offered for part in _operation(each, described[f"{BASE}/{each.name}"])]
    parts += [OTHERS, "\n".join([PROBLEMS, *_codes()])]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _operation(each: Operation, item: dict[str, Any]) -> Iterator[str]:
    yield f"### {each.name}"
    methods = ", ".join(f"`{method.upper()}`" for method in item)
    yield f"{methods} `{BASE}/{each.name}`: {_line(each.about)}"
    yield "\n".join(["| name | takes | |", "|---|---|---|", *map(_row, each.served_parameters)])
    sent = json.dumps(each.traits.example, ensure_ascii=False)
    yield f"```console\n$ curl -s http://127.0.0.1:8765{BASE}/{each.name} --json '{sent}'\n```"


def _row(parameter: Parameter) -> str:
    needed = " (needed)" if parameter.is_required else ""
    return f"| `{parameter.name}`{needed} | {_kind(schema_of(parameter))} | {_line(parameter.about)} |"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}s"
    return str(schema["type"])


def _line(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split()).replace("|", "\\|")


def _codes() -> Iterator[str]:
    by_status: dict[int, list[str]] = {}
    for code, status in STATUS.items():
        by_status.setdefault(status, []).append(code)
    by_status.setdefault(400, []).append("bad_input and every other that the caller can mend")
    by_status.setdefault(500, []).append("internal")
    for status, codes in sorted(by_status.items()):
        if status != 499:  # nobody is there to read it
            yield f"| {status} | {', '.join(codes)} |"
