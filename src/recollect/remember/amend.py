"""Amending one memory: what is written when somebody pins it, or says what took its place."""

from dataclasses import replace

from recollect.errors import InputError
from recollect.records import Memory, Revise


def pinning(memory: Memory, *, pinned: bool) -> Revise:
    """Return the write that keeps *memory* from ageing, or lets it age again."""
    return Revise(memory=replace(memory, pinned=pinned), verb="pin" if pinned else "unpin")


def superseding(old: Memory, new: Memory) -> Revise:
    """Return the write that puts *new* in the place of *old*."""
    if old.id == new.id:
        raise InputError("a memory cannot supersede itself", hint="name two different ids")
    return Revise(memory=replace(old, superseded_by=new.id), verb="supersede")
