"""Who can read what is remembered, and what leaves the machine: what a check-up tells of it."""

from pathlib import Path
from urllib.parse import urlsplit

from recollect.embedders.manifest import catalogue, telemetry_note
from recollect.embedders.models import Models
from recollect.files import readable_by_others
from recollect.settings import is_telemetry_forbidden
from recollect.stores.choice import shown_address


def exposed(address: str) -> tuple[str, ...]:
    """Return a line where other users of this machine may read the store at *address*."""
    path = Path(address).expanduser()
    command = readable_by_others(path) if path.is_file() else ""
    return (f"other users may have access to {path}; if they should not, run: {command}",) if command else ()


def leaving(models: Models, address: str = "") -> tuple[str, ...]:
    """Return what leaves this machine and where it goes, and what keeps the rest here; the model is loaded to see."""
    models.current()
    return (
        *_store(address),
        *_server(models, address),
        telemetry_note(told=is_telemetry_forbidden()),
        *_fetched(models),
    )


def _store(address: str) -> tuple[str, ...]:
    if "://" not in address:
        return ()
    place = shown_address(address)
    return (f"memories and what is searched for go to {place}, where the store is",)


def _server(models: Models, address: str) -> tuple[str, ...]:
    if "://" in models.name:
        host = urlsplit(models.name).netloc.rpartition("@")[2]
        return (f"the texts of memories and queries go to {host}, the embedding server that the setting model names",)
    if "://" in address:
        return ()
    return ("nothing that is stored or asked leaves this machine: no embedding server is configured",)


def _fetched(models: Models) -> tuple[str, ...]:
    if models.name not in catalogue() or models.offline or models.current() is not None:
        return ()
    return (f"the model {models.name} is downloaded when it is first written with; RECOLLECT_OFFLINE=1 forbids that",)
