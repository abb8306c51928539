"""Change a memory by hand: its words, its tags or what else is said of it; what it said stays in its history."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Memory, Revise
from recollect.remember.context import IngestContext
from recollect.remember.redact import FoundSecret
from recollect.replies import Degraded


class EditResult(Struct, frozen=True, kw_only=True):
    """What an edit changed: the names of the fields, and the secrets that were taken out of what is new."""

    json_members: ClassVar[str] = "id changed tags redacted secrets? degraded?"

    id: int
    changed: tuple[str, ...]
    tags: tuple[str, ...] = ()
    secrets: tuple[FoundSecret, ...] = ()
    degraded: Degraded | None = None

    @property
    def redacted(self) -> int:
        """How many secrets were taken out."""
        return len(self.secrets)


def edit(memory: Memory, changes: Mapping[str, Any], context: IngestContext) -> EditResult:
    """Put *changes* into *memory*, an event beside it; what is the same as before is not written.

    Secrets are looked for in what is new and nowhere else: what was kept on purpose stays.
    """
    if not changes:
        raise InputError("nothing to change", hint="give new words, a title, a type, tags, …")
    draft = context.prepare(replace(memory, **changes))
    fields = {name: getattr(draft.memory, name) for name in changes}
    changed = tuple(name for name, value in fields.items() if value != getattr(memory, name))
    secrets = tuple(each for each in draft.secrets if each.field.partition(".")[0] in changed)
    if changed:
        verb = "tag" if changed == ("tags",) else "edit"
        new = replace(memory, **fields)
        context.store.apply(
            [Revise(memory=new, verb=verb, facts=_facts(memory, new, context), detail={"changed": list(changed)})],
            at=context.now,
        )
    told = tuple(replace(each, memory_id=memory.id, source=memory.source) for each in secrets)
    return EditResult(id=memory.id, changed=changed, tags=fields.get("tags", memory.tags), secrets=told)


def _facts(old: Memory, new: Memory, context: IngestContext) -> Any:
    """Return what *new* states; nothing where its words are those of *old*, whose facts stay as they are."""
    return None if (old.content, old.title) == (new.content, new.title) else context.facts(new)


def tags_with(memory: Memory, *, add: Sequence[str], remove: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of *memory* with some more and without others; one that it does not have is refused."""
    missing = [tag for tag in remove if tag not in memory.tags]
    if missing:
        has = f"it has {', '.join(memory.tags)}" if memory.tags else "it has none"
        raise InputError(f"#{memory.id} has no tag {missing[0]!r}", hint=has)
    return tuple(dict.fromkeys([*(tag for tag in memory.tags if tag not in remove), *add]))
