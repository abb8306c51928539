"""A set of whole numbers, one bit each: which places of a source were seen, which memories it holds."""

from collections.abc import Iterable


class Marks:
    """Numbers from 0 that are marked; a million of them take 125 KB."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._bits = bytearray()
        self.update(numbers)

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        return 0 <= at < len(self._bits) and bool(self._bits[at] >> (number & 7) & 1)

    def __len__(self) -> int:
        return int.from_bytes(self._bits, "little").bit_count()

    def update(self, numbers: Iterable[int]) -> None:
        """Mark *numbers*."""
        for number in numbers:
            at = number >> 3
            if at >= len(self._bits):
                # By half as much again, so that growing costs little however long it goes on.
                self._bits.extend(bytes(at + 1 - len(self._bits) + len(self._bits) // 2))
            self._bits[at] |= 1 << (number & 7)
