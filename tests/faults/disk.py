"""A disk in memory: what is left of some files when the process dies, or when the power goes."""

import random
from collections.abc import Mapping

from faulty_files import Change

SECTOR = 512
Files = Mapping[str, bytes]


class Disk:
    """Files as they were written, and the part of them that is certain to outlast a loss of power."""

    def __init__(self, files: Files) -> None:
        self.written = {name: bytearray(held) for name, held in files.items()}
        self.synced = dict(files)
        self.deleted: dict[str, bytes] = {}
        """Files that come back when the power goes before their folder is synced."""

    def make(self, change: Change) -> None:
        """Make one change, as SQLite asked for it."""
        match change.kind:
            case "write":
                self._write(self.written.setdefault(change.name, bytearray()), change)
            case "truncate":
                del self.written.setdefault(change.name, bytearray())[change.at :]
            case "sync":
                self.synced[change.name] = bytes(self.written.setdefault(change.name, bytearray()))
            case "delete":
                self.written.pop(change.name, None)
                if change.name in self.synced:
                    self.deleted[change.name] = self.synced.pop(change.name)
        if change.folder:
            self.deleted = {}

    @staticmethod
    def _write(held: bytearray, change: Change) -> None:
        end = change.at + len(change.data)
        held.extend(bytes(max(0, end - len(held))))
        held[change.at : end] = change.data

    def after_a_crash(self) -> Files:
        """Return the files as the operating system holds them when only the process died."""
        return {name: bytes(held) for name, held in self.written.items()}

    def after_power_loss(self) -> Files:
        """Return nothing but what was synced."""
        return self.deleted | self.synced

    def after_torn_power_loss(self, chance: random.Random) -> Files:
        """Return what was synced, with any of the sectors written since; a file that came or went did so or did not."""
        back = {name: held for name, held in sorted(self.deleted.items()) if chance.random() < 0.5}
        there = [name for name in sorted(self.written) if name in self.synced or chance.random() < 0.5]
        return back | {name: _torn(self.synced.get(name, b""), bytes(self.written[name]), chance) for name in there}


def _torn(old: bytes, new: bytes, chance: random.Random) -> bytes:
    """Return a mixture of the sectors of *old* and *new*, as long as one of them."""
    size = chance.choice([len(old), len(new)])
    mixed = bytearray(old[:size].ljust(size, b"\0"))
    for start in range(0, min(size, len(new)), SECTOR):
        if chance.random() < 0.5:
            piece = new[start : min(start + SECTOR, size)]
            mixed[start : start + len(piece)] = piece
    return bytes(mixed)
