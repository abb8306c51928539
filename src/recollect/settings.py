"""Where things are: the store, the profile, the models. Default < file < environment < argument."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import ProfileError
from recollect.files import write_private

MOST = 1_000_000
"""What no bound reaches."""
DAEMON = ("use", "off", "auto")
"""What commands may do about the server of a store."""
PATH_VARIABLES = ("RECOLLECT_DB", "RECOLLECT_CONFIG", "RECOLLECT_MODELS")
CHOICES = ("profile", "model", "reranker")
"""Settings that hold the name of something, or the path of a folder or a .toml file."""
NAME_OR_PATH = ("RECOLLECT_MODEL", "RECOLLECT_RERANKER", "RECOLLECT_PROFILE")
"""Variables that hold the name of something, or the path of a folder or a .toml file."""


class Settings(Struct, frozen=True, kw_only=True):
    """Where things are. A file that comes with somebody's project is never read: only the user's own."""

    db: str = ""
    """A path, or `:memory:`; blank means the user's data folder."""
    profile: str = "default"
    project: str = ""
    """The project that new memories belong to and searches see; blank means `default` and all of them."""
    model: str = "minilm"
    """The embedding model: a name, a folder, `hashing`, `none`, or a server: http://…/v1#model=NAME&dimensions=384."""
    model_key: str = ""
    """The key that such a server wants."""
    models: str = ""
    """The folder of installed models; blank means the user's data folder."""
    reranker: str = ""
    """The folder of a cross-encoder that reads the best hits again; blank or `none` means none."""
    offline: str = ""
    """`1` means that nothing is ever fetched: a model that is missing stays missing until it is installed by hand."""

    daemon: str = "use"
    """Whether commands use the server of the store: `use` one that runs, `off`, or `auto` to start one as well."""

    log_days: str = "180"
    """For how many days the recall log keeps a search; `none` for ever."""
    log_megabytes: str = "100"
    """How large the recall log grows before the oldest searches go; `none` without end."""

    @property
    def is_offline(self) -> bool:
        """Whether nothing may be fetched."""
        return self.offline.strip().lower() not in ("", "0", "no", "off", "false")


def bound(settings: Settings, name: str) -> float | None:
    """Return the number that the setting *name* sets as a bound; None for no bound."""
    text = str(getattr(settings, name)).strip()
    if text.lower() == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < MOST:
        raise ProfileError(f"{name} cannot be {text!r}", hint="give a number, or none")
    return number


def read_settings(**given: str | None) -> Settings:
    """Return the settings in force, those *given* first."""
    settings = _overlaid(Settings(), _from_file(), where="the settings file")
    settings = _overlaid(settings, _from_environment(), where="the environment")
    settings = _overlaid(settings, {key: value for key, value in given.items() if value is not None}, where="options")
    if settings.daemon not in DAEMON:
        raise ProfileError(f"daemon cannot be {settings.daemon!r}", hint=f"one of {', '.join(DAEMON)}")
    return replace(settings, db=settings.db or default_db())


def server_settings(settings: Settings) -> dict[str, str]:
    """Return the settings in which a server and its client must agree, or else their answers could differ."""
    same = ("profile", "model", "reranker", "model_key", "offline", "log_days", "log_megabytes", "project")
    values = {name: str(getattr(settings, name)) for name in same}
    paths = {name: absolute_path(value) for name, value in values.items() if name in CHOICES and is_path(value)}
    zone = os.environ.get("TZ", "")
    return {**values, **paths, "models": str(models_folder(settings).absolute()), "time_zone": zone}


def default_db() -> str:
    """Return where the store is when nobody says."""
    return str(home_folder() / "recollect.db")


def models_folder(settings: Settings) -> Path:
    """Return where installed models are."""
    return Path(settings.models).expanduser() if settings.models else home_folder() / "models"


def is_telemetry_forbidden() -> bool:
    """Say whether the user forbade the runtime of embedding models to send telemetry."""
    return os.environ.get("ORT_DISABLE_TELEMETRY") == "1"


def is_plain_terminal() -> bool:
    """Say whether the user asked for text without codes, or has a terminal that knows none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def editor() -> str:
    """Return the command of the user's editor; blank when none is named."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def environment_of(*names: str) -> Mapping[str, str]:
    """Return those of the variables *names* that are set: they tell other programs where to keep things."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def child_environment(db: str | None = None) -> dict[str, str]:
    """Return the variables of a process of ours that runs in another folder, for the store *db* where one is named.

    It imports nothing from the folder it runs in, and relative paths in our own variables keep their meaning.
    """
    given = {**os.environ, **({} if db is None else {"RECOLLECT_DB": db})}
    paths = {name: absolute_path(given[name]) for name in PATH_VARIABLES if name in given}
    names = {name: absolute_path(given[name]) for name in NAME_OR_PATH if is_path(given.get(name, ""))}
    return {**given, **paths, **names, "PYTHONSAFEPATH": "1"}


def absolute_path(address: str) -> str:
    """Return *address* as it reads from any folder; what is no path of a file stays as it is."""
    if not address or "://" in address or address == ":memory:":
        return address
    return os.path.abspath(os.path.expanduser(address))  # noqa: PTH100, PTH111  (a link stays a link)


def is_path(text: str) -> bool:
    """Tell whether the name of a model, a reranker or a profile is the path of one."""
    return bool({"/", os.sep} & set(text)) or text.endswith(".toml")


def segments_folder() -> Path:
    """Return where copies of what a store on a server keeps for all are kept."""
    return home_folder() / "segments"


def home_folder() -> Path:
    """Return the user's data folder for us."""
    if sys.platform.startswith("linux"):  # as the library has it, which takes longer to load than all else here
        return Path(os.environ.get("XDG_DATA_HOME", "").strip() or Path("~/.local/share").expanduser(), "recollect")
    from platformdirs import user_data_path  # noqa: PLC0415  (costs a start that names its store nothing)

    return user_data_path("recollect", appauthor=False)


def _from_environment() -> Mapping[str, str]:
    names = {name: f"RECOLLECT_{name.upper()}" for name in Settings.__struct_fields__}
    return {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}


def _from_file() -> Mapping[str, object]:
    path = _settings_file()
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        from tomllib import loads  # noqa: PLC0415  (most have no such file)

        return loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # what is no TOML or no UTF-8 is a ValueError
        raise ProfileError(f"cannot read the settings in {path}: {error}", hint="fix or remove the file") from error


def _settings_file() -> Path | None:
    named = os.environ.get("RECOLLECT_CONFIG")
    if named is not None:
        return Path(named).expanduser() if named else None
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or str(Path("~/.config").expanduser())
    return Path(home) / "recollect" / "settings.toml"


def save_setting(name: str, value: str) -> Path:
    """Keep one setting in the user's own file, the others as they are; return where it is."""
    path = _settings_file()
    if path is None:
        raise ProfileError("there is no settings file to write to", hint="unset RECOLLECT_CONFIG, or name a file in it")
    kept = {**_from_file(), name: value}
    lines = [f"{key} = {json.dumps(text, ensure_ascii=False)}\n" for key, text in kept.items()]
    try:
        write_private(path.resolve(), "".join(lines))
    except OSError as error:
        raise ProfileError(f"cannot write {path}: {error.strerror}", hint="check the rights of its folder") from error
    return path


def _overlaid(settings: Settings, values: Mapping[str, object], *, where: str) -> Settings:
    known = set(Settings.__struct_fields__)
    for key, value in values.items():
        if key not in known:
            raise ProfileError(f"{where}: unknown setting {key!r}", hint=f"one of {', '.join(sorted(known))}")
        if not isinstance(value, str):
            raise ProfileError(f"{where}: {key} must be text, not {value!r}", hint="put it in quotes")
    return replace(settings, **values)
