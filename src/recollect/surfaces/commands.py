"""The table of operations as commands of click: their arguments and options, their help, what was perhaps meant."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from recollect.lazy import regex
from recollect.surfaces.cli import GLOBAL
from recollect.surfaces.completion import completer

if TYPE_CHECKING:
    from recollect.operations.answer import Operation
    from recollect.operations.request import Parameter

GROUPS: Final = {
    "daily": "Every day",
    "agents": "For agents and what they learn",
    "care": "Care of the store",
    "measure": "Quality",
}
"""The headings of the verbs, by their groups."""
MEANT: Final = {
    **dict.fromkeys(("find", "query", "ask", "grep", "recall"), "search"),
    **dict.fromkeys(("ls", "dir", "all"), "list"),
    **dict.fromkeys(("rm", "delete", "del", "remove", "hide"), "forget"),
    **dict.fromkeys(("cat", "get", "view", "read", "info"), "show"),
    **dict.fromkeys(("new", "remember", "save", "note", "put", "insert"), "add"),
    **dict.fromkeys(("load", "ingest", "index", "sync"), "import"),
    **dict.fromkeys(("update", "change", "modify"), "edit"),
    **dict.fromkeys(("undo", "undelete", "unforget"), "restore"),
    **dict.fromkeys(("erase", "wipe", "shred"), "purge"),
    **dict.fromkeys(("history", "timeline"), "list timeline"),
    **dict.fromkeys(("status", "count"), "stats"),
    **dict.fromkeys(("check", "fsck"), "doctor"),
    **{name: f"store {name}" for name in ("init", "move")},
    **{name: f"facts {name}" for name in ("stale", "reinforce")},
    **{name: f"show {name}" for name in ("related", "open")},
    **{name: f"search --leaning {name}" for name in ("decisions", "changes", "how-it-works")},
    "restore-backup": "backup restore",
    "activity": "log activity",
    "supersede": "edit supersede",
    "models": "model",
    "dump": "export",
    "tags": "tag",
    "unpin": "pin --off",
    "bench": "eval",
    "help": "--help",
}
"""What people type who know other programs, and what it is called here."""
SEVERAL: Final = ("paths", "words", "ids")
"""Kinds of arguments that take all the words that are left."""
ALSO: Final = "Also: --db, --project, --profile, --model, --reranker, --json; see: recollect --help"


def perhaps(word: str, known: Iterable[str]) -> str:
    """Return a question for what was perhaps meant by *word*; blank when nothing is near."""
    from difflib import get_close_matches  # noqa: PLC0415  (only for what nobody knows)

    near = get_close_matches(word.lower(), list(known), n=2, cutoff=0.65)
    return f"did you mean {' or '.join(near)}?" if near else ""


# --- commands -------------------------------------------------------------------------------


class Commands(click.Group):
    """Commands made from the table when they are asked for, so that a start costs little; *run* answers them."""

    def __init__(self, *args: Any, run: "Callable[[Operation, dict[str, Any]], None]", **more: Any) -> None:
        super().__init__(*args, **more)
        self._run = run
        self._made: dict[str, tuple[Operation, click.Command]] = {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end quietly when nobody reads its answer any more."""
        from recollect.surfaces.cli import ignore_broken_pipe  # noqa: PLC0415

        with ignore_broken_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command, in the order of the table."""
        return [*_operations(), *super().list_commands(ctx), *SERVING]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command *cmd_name*."""
        if cmd_name in SERVING:
            from recollect.surfaces.serving import COMMANDS  # noqa: PLC0415  (few serve)

            return global_options(COMMANDS[cmd_name])
        own = super().get_command(ctx, cmd_name)
        operation = None if own else _operation(cmd_name)
        if operation is not None:
            made = self._made.get(operation.name)
            if made is None or made[0] is not operation:
                made = self._made[operation.name] = operation, command_for(operation, self._run)
            return made[1]
        return own

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* name, by one word or two; of an unknown one say what was perhaps meant."""
        word, verb = args[0], " ".join(args[:2])
        if word in TWO_WORDS and len(args) > 1 and args[1].isalpha() and verb in _operations():
            return verb, self.get_command(ctx, verb), args[2:]
        if word in FAMILIES:
            raise click.UsageError(f"{word} needs one of {', '.join(_family(word))}", ctx)
        if not word.startswith("-") and self.get_command(ctx, word) is None:
            meant = f"did you mean {MEANT[word]}?" if word in MEANT else perhaps(word, self.list_commands(ctx))
            raise click.UsageError(f"No such command {word!r}{f'; {meant}' if meant else ''}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the first words of verbs that begin with *incomplete*."""
        return [each for each in super().shell_complete(ctx, incomplete) if " " not in each.value]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, each with all of its first line."""
        for group, heading in GROUPS.items():
            rows = {
                name.split()[0]: each.about
                for name, each in _operations().items()
                if each.traits.group == group and (" " not in name or name.split()[0] in FAMILIES)
            }
            others = [name for name in super().list_commands(ctx) if GROUPS_OF_OTHERS.get(name) == group]
            rows |= {name: str(self.commands[name].help) for name in others}
            rows |= SERVING if group == "agents" else {}
            if group in LISTED:
                formatter.write(f"{heading}:\n")
                with formatter.indentation():
                    formatter.write_dl([(name, _short(name, about)) for name, about in rows.items()])
            else:
                formatter.write_text(f"{heading}: {', '.join(rows)}")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options, a line each."""
        self.format_commands(ctx, formatter)
        records = [record for each in self.get_params(ctx) if (record := each.get_help_record(ctx))]
        formatter.write("Options, before or after the verb:\n")
        with formatter.indentation():
            formatter.write_dl([(name, _cut(about, LINE - OPTION_COLUMN)) for name, about in records])


def _family(word: str) -> list[str]:
    """Return the second words of the verbs that begin with *word*."""
    return [name.split()[1] for name in _operations() if name.startswith(f"{word} ")]


def _short(name: str, about: str) -> str:
    """Return the first clause of what a verb does, and the second words it takes."""
    also = _family(name)
    clause = FAMILIES.get(name) or about.split("\n\n", maxsplit=1)[0].partition(";")[0].partition(":")[0].rstrip(".")
    return _cut(f"{clause}; also: {', '.join(also)}" if also and name not in FAMILIES else clause, LINE - VERB_COLUMN)


def _cut(text: str, width: int) -> str:
    """Return *text* without what is in brackets at its end, and cut, where it does not fit."""
    text = text if len(text) <= width else text.rpartition(" (")[0] or text
    return text if len(text) <= width else f"{text[: width - 1].rsplit(' ', 1)[0]} …"


LINE, VERB_COLUMN, OPTION_COLUMN = 78, 15, 24
LISTED: Final = ("daily", "agents")
"""The groups whose verbs are described in the help of the program; of the others it has the names."""
TWO_WORDS: Final = frozenset({"backup", "edit", "facts", "list", "log", "show", "store"})
"""First words of verbs of two words; a command that begins with another one is found without loading all."""
FAMILIES: Final = {"store": "init or move a store"}
"""First words of verbs that are no verb by themselves."""
SERVING: Final = {
    "serve": "Serve this store: HTTP and MCP for programs, warm answers for commands and hooks.",
    "daemon": "Start, stop or look at the server of this store in the background.",
    "mcp": "Serve MCP on standard input and output: the command for an agent's configuration.",
    "hook": "Answer the hook event of a coding agent on standard input.",
    "install": "Put recollect into the configuration of an agent or editor.",
    "uninstall": "Take recollect out of it again: exactly what `install` put there.",
}
"""Commands of the warm process, and what they do; they are loaded when they are asked for."""
GROUPS_OF_OTHERS: Final = {"demo": "daily", "watch": "daily", "completion": "care"}


def _operation(verb: str) -> "Operation | None":
    """Return the operation of *verb*; of one word it loads no other operations than it must."""
    from recollect.operations import OPERATIONS  # noqa: PLC0415  (completion and --version need none)

    if " " in verb:
        return _operations().get(verb)
    found = OPERATIONS.get(verb)
    return found if found is not None and found.verb == verb else None


def _operations() -> "Mapping[str, Operation]":
    from recollect.operations import OPERATIONS  # noqa: PLC0415  (completion and --version need none)

    return {each.verb: each for each in OPERATIONS.values() if each.verb}


def global_options(command: click.Command, *, hidden: bool = True) -> click.Command:
    """Add the global options to *command*, except those that it has in a way of its own; the help has them once."""
    own = {each.name for each in command.params}
    others = {name: about for name, about in GLOBAL.items() if name not in own}
    command.params += [
        click.Option([f"--{name}"], metavar=name.upper(), help=about, hidden=hidden, shell_complete=completer(name))
        for name, about in others.items()
    ]
    if "as_json" not in own:  # a command that is kept is asked for more than once
        command.params.append(click.Option(["--json", "as_json"], is_flag=True, help="answer in JSON", hidden=hidden))
    if hidden:
        command.epilog = ALSO
    return command


def command_for(operation: "Operation", run: "Callable[[Operation, dict[str, Any]], None]") -> click.Command:
    """Return the command of *operation*; *run* gets what was typed."""

    def call(**given: Any) -> None:
        run(operation, given)

    params = [_parameter(parameter) for parameter in operation.parameters]
    kind = _Spoken if any(each.kind == "words" for each in operation.parameters) else click.Command
    return global_options(kind(operation.verb, callback=call, params=params, help=_help(operation)))


class _Spoken(click.Command):
    """A command that takes words: -friday is one of them, for an option has one letter or two dashes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let a word with one dash before it pass as it is; the space is lost when the words are joined."""
        return super().parse_args(ctx, [f" {each}" if _EXCLUDED.match(each) else each for each in args])


def _help(operation: "Operation") -> str:
    """Return what *operation* does and what its arguments are; options speak for themselves."""
    places = [f"{each.name.upper()}: {each.about}" for each in operation.parameters if each.place]
    return "\n\n".join([operation.about, *places])


# --- parameters -----------------------------------------------------------------------------


class _Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; of another one it is said what was perhaps meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the choice; refuse what is none."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            meant = perhaps(str(value), self.choices)
            told = f"{error.message.rstrip('.')}; {meant}" if meant else error.message
            raise click.BadParameter(told, ctx=ctx, param=param) from error


class _Id(click.ParamType):  # type: ignore[type-arg]
    """The id of a memory, with or without a # before it."""

    name = "id"

    def convert(self, value: Any, _: click.Parameter | None, __: click.Context | None) -> int:
        """Return the number; refuse what is none."""
        from recollect.operations.request import read_id  # noqa: PLC0415

        return value if isinstance(value, int) else read_id(value)


TYPES: Final[Mapping[str, Any]] = {"number": click.INT, "float": click.FLOAT, "id": _Id(), "ids": _Id()}
METAVARS: Final = {"number": "N", "float": "NUMBER", "id": "ID"}
_EXCLUDED: Final = regex(r"-[^\W\d_]{2}")


def _parameter(parameter: "Parameter") -> click.Parameter:
    return _argument(parameter) if parameter.place else _option(parameter)


def _argument(parameter: "Parameter") -> click.Parameter:
    return click.Argument(
        [parameter.name],
        nargs=-1 if parameter.kind in SEVERAL else 1,
        required=parameter.is_required,
        type=_type(parameter),
        callback=_joined if parameter.kind == "words" else _countable,
        shell_complete=_completer(parameter),
    )


def _option(parameter: "Parameter") -> click.Option:
    flag, several = parameter.kind == "flag", parameter.kind == "texts"
    name, off = parameter.option, parameter.hints.off.replace("_", "-")
    names = [f"--{name}/--{off}" if off else f"--{name}", parameter.name]
    return click.Option(
        [f"-{parameter.hints.short}", *names] if parameter.hints.short else names,
        is_flag=flag,
        multiple=several,
        default=bool(parameter.default) if flag else parameter.default,
        type=None if flag else _type(parameter),
        callback=_countable,
        metavar=None if flag else METAVARS.get(parameter.kind) or parameter.hints.metavar or parameter.name.upper(),
        help=_about(parameter),
        shell_complete=_completer(parameter),
    )


def _completer(parameter: "Parameter") -> Any:
    return completer(parameter.name, chosen=parameter.kind == "choice")


def _about(parameter: "Parameter") -> str:
    """Return what an option is for, the words it takes if its text does not say so, and whether it may be repeated."""
    missing = [choice for choice in parameter.choices if choice not in parameter.about]
    text = f"{', '.join(parameter.choices)}: {parameter.about}" if missing else parameter.about
    return f"{text} (may be repeated)" if parameter.kind == "texts" else text


def _joined(_: click.Context, __: click.Parameter, value: Sequence[str]) -> str:
    """Return the words of an argument as one text."""
    return " ".join(word[1:] if word.startswith(" -") else word for word in value)


def _countable(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return *value*, unless it is a number that no store can count to."""
    if isinstance(value, int) and abs(value) >= 2**63:
        raise click.BadParameter(f"{value} is too large", param=parameter)
    return value


def _type(parameter: "Parameter") -> Any:
    if parameter.kind == "choice":
        return _Choice(parameter.choices, case_sensitive=False)
    return TYPES.get(parameter.kind, click.STRING)
