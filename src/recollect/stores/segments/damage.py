"""The error for a segment that cannot be used; it loads no NumPy."""

from recollect.errors import StoreError


class SegmentDamaged(StoreError):
    """Say that a folder holds no segment that can be used; it can be written again from the tables."""

    code = "segment_damaged"
