"""Commands as clients of the running server: a request goes out as JSON, its typed reply comes back."""

from typing import TYPE_CHECKING, Any

from msgspec import json, msgpack
from msgspec.structs import asdict

from recollect.errors import RecollectError, WriteUncertain
from recollect.settings import Settings, server_settings
from recollect.surfaces.client import MSGPACK, NOTICE_HEADER, ConnectionLost, send, settings_header
from recollect.surfaces.front import OK, running_server

if TYPE_CHECKING:
    from recollect.operations.answer import Operation
    from recollect.operations.request import Request


def ask_server(operation: "Operation", request: "Request", settings: Settings) -> tuple[Any, str] | None:
    """Return the reply of the running server to *request*, and what went wrong with its model.

    None if the command must open the store itself: no server runs, or it opened the store with other settings.
    """
    address = running_server(settings.db, settings.daemon)
    if address is None:
        return None
    same = server_settings(settings)
    if request.project:
        del same["project"]  # the request names its own
    headers = {"content-type": "application/json", "accept": MSGPACK, **settings_header(same)}
    body = json.encode(request)
    sent = send(address, "POST", f"/api/v1/{operation.name}", body=body, headers=headers)
    if sent is None:
        return None
    with sent:
        try:
            sent.receive()
            content = sent.body()
        except ConnectionLost as error:
            if not operation.rights.writes(asdict(request)):
                return None
            raise WriteUncertain(
                "the server of this store ended before it replied", hint="look whether it was done"
            ) from error
    if sent.status == OK:
        return msgpack.decode(content, type=operation.reply), _notice(sent.headers.get(NOTICE_HEADER, ""))
    _raise_known(content)
    return None


def _notice(header: str) -> str:
    if not header:
        return ""
    from urllib.parse import unquote  # noqa: PLC0415  (all is well most of the time)

    return unquote(header)


def _raise_known(content: bytes) -> None:
    """Raise the error of the operation in *content*; an error of HTTP alone is none of the command."""
    error = json.decode(content)["error"]
    kinds = {kind.code: kind for kind in _tree(RecollectError)}
    if error["code"] in (*kinds, "internal"):
        raise kinds.get(error["code"], RecollectError)(error["message"], hint=error["hint"])


def _tree(kind: type[RecollectError]) -> list[type[RecollectError]]:
    return [each for child in kind.__subclasses__() for each in _tree(child)] + [kind]
