"""What the certificate measures in every run and demands only once the verbs it needs are there: then say True."""

ERRORS_ARE_OURS = True
"""Whatever is wrong with a store, the error that a caller gets is a RecollectError."""

NO_FALSE_ALARM = True
"""`doctor` finds no damage beside writers."""

DEEP_DOCTOR = True
"""`doctor --deep` sees every change of content that nothing else reports."""

REINDEX_HEALS = True
"""`reindex` makes a store whole again whose derived tables were damaged."""

RECOVER_SAVES = True
"""`recover OLD NEW` saves every memory that can still be read, and none of them changed."""

HALF_MADE = True
"""A store whose making the power interrupted can be opened; nothing was acknowledged in it yet."""

SAFE_IGNORE_FILES = True
"""An ignore file that is a pipe or a device is refused, and not read for ever."""

OFFLINE = True
"""No socket is opened and no file written outside the store, the models and the temporary folder."""
