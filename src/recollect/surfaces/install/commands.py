"""The commands `install` and `uninstall`."""

import difflib
import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from recollect.errors import RecollectError
from recollect.files import python_command
from recollect.surfaces.cli import chosen_options
from recollect.surfaces.front import ALL, IDLE, START_SERVER
from recollect.surfaces.install.clients import BY_NAME, Client, Place
from recollect.surfaces.install.edit import Edit, put_in, take_out, write

AUTO: Final = "auto"
"""The project of the folder that a client works in."""


def here(project: str = AUTO) -> Place:
    """Return where things are for this user, and which projects a client shall read and write."""
    options = () if project == AUTO else ("--scope", "all") if project == ALL else ("--project", project)
    return Place(home=Path.home(), command=program(), environment=os.environ, options=options)


def program() -> tuple[str, ...]:
    """Return how a client starts this very program, wherever it runs: the script beside this Python, or the module."""
    script = Path(sysconfig.get_path("scripts"), "recollect.exe" if os.name == "nt" else "recollect")
    return (str(script),) if script.is_file() else tuple(python_command("recollect"))


@click.command()
@click.argument("client", type=click.Choice(list(BY_NAME)))
@click.option("--dry-run", is_flag=True, help="show what would change")
@click.option(
    "--project",
    default=AUTO,
    show_default=True,
    metavar="auto|NAME|all",
    help="the project that sessions read and write: that of their folder, always NAME, or read all",
)
def install(client: str, dry_run: bool, project: str, **given: Any) -> None:  # noqa: FBT001
    """Put recollect into the configuration of CLIENT: its memory tools, and its hooks where it has any."""
    chosen_options(given, {"project"})
    chosen = BY_NAME[client]
    edits = [put_in(each) for each in chosen.plan(here(project))]
    _do(chosen, edits, dry_run=dry_run, done="installed", after=chosen.after)


@click.command()
@click.argument("client", type=click.Choice(list(BY_NAME)))
@click.option("--dry-run", is_flag=True, help="show what would change")
def uninstall(client: str, dry_run: bool, **given: Any) -> None:  # noqa: FBT001
    """Take recollect out of the configuration of CLIENT again: exactly what `install` put there."""
    chosen_options(given)
    chosen = BY_NAME[client]
    edits = [take_out(each) for each in chosen.plan(here())]
    _do(chosen, edits, dry_run=dry_run, done="removed", after="")


def _do(client: Client, edits: Sequence[Edit], *, dry_run: bool, done: str, after: str) -> None:
    changing = [each for each in edits if each.changes]
    if not changing:
        click.echo(f"{client.title}: nothing to change")
        return
    for edit in changing:
        if dry_run:
            click.echo(_difference(edit))
            continue
        try:
            kept = write(edit)
        except OSError as error:
            raise RecollectError(f"cannot write {edit.path}: {error.strerror}", hint="check its rights") from error
        click.echo(f"{edit.path}: {done}" + (f" (before: {kept.name})" if kept else ""))
    if done == "installed" and any(START_SERVER in (edit.after or "") for edit in changing):
        click.echo(
            f"{client.title}: its hooks start a server of the store where none runs; it ends when idle for {IDLE}"
        )
    if after and not dry_run:
        click.echo(f"{client.title}: {after}")


def _difference(edit: Edit) -> str:
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(), (edit.after or "").splitlines(), str(edit.path), str(edit.path), lineterm=""
    )
    return "\n".join(lines)
