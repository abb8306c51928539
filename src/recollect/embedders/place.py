"""Where a model lies, asked before anything of the models is loaded."""

import os
from pathlib import Path
from typing import Final

FILE: Final = "model.toml"
"""What a folder with a model describes it in."""


def place_of(name: str, folder: Path) -> Path | None:
    """Return the folder of a model: *name* is its name below *folder*, or a path to it; nothing when it is not here."""
    # A bare name never means a folder that happens to lie where the program was started.
    places = [folder / name, *([Path(name).expanduser()] if {"/", os.sep} & set(name) else [])]
    return next((place for place in places if (place / FILE).is_file()), None)
