"""Failures that nobody has to wait for or repeat: logged, and kept for `doctor`."""

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import StoreClosed, StoreError
from recollect.lazy import log_warning


class Failures:
    """The last failure of some background *work*; each is logged once."""

    def __init__(self, work: str) -> None:
        self._work = work
        self.last = ""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Go on where the block fails on the disk or in the store; forget the last failure where it does not."""
        try:
            yield
        except StoreClosed:
            return
        except (OSError, StoreError) as error:
            told = f"{self._work} failed: {error}"
            if told != self.last:
                log_warning(told)
            self.last = told
        else:
            self.last = ""
