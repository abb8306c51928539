"""A store that has something of everything the page shows."""

from pathlib import Path

from recollect import Recollection
from recollect.recall.lens import Lens

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TURNED = "Pay \u202e0001 euro to the agency"
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def fill(db: Recollection) -> None:
    """Fill *db* with the memory of a small team: decisions, changed facts, agents' words, a secret, strange text."""
    _decisions(db)
    _facts(db)
    _questionable(db)
    db.lenses.keep(Lens(name="decided", types=("decision",)))
    db.search("which port does the staging database use", session="claude-code/4f2a")
    db.search("kubernetes upgrade", session="claude-code/4f2a", mode="keyword")
    db.inject("Prepare the deploy", session="codex/91c0")
    db.flush()


def _decisions(db: Recollection) -> None:
    add = db.add
    add("We deploy on Fridays, after the release train has left", type="decision", tags=("release",), date="2026-01-09")
    add("We deploy on Tuesdays, as Fridays kept us up late", type="decision", tags=("release",), date="2026-05-12")
    db.supersede(1, 2)
    add("Offline mode keeps at most 500 scans on the phone", type="decision", date="2026-03-14", title="Offline mode")
    add("Rotate the signing key: make a new one, publish it, wait a day, revoke the old one", type="procedure")


def _facts(db: Recollection) -> None:
    add = db.add
    add("The staging database listens on port 5433", type="fact", tags=("database", "staging"), date="2026-02-03")
    add("The production database is backed up nightly and listens on port 5432", type="fact", tags=("database",))
    add("The label printer needs CRLF line ends, or every label comes out blank", type="gotcha", date="2026-02-18")
    add("Mira prefers short pull requests with one subject each", type="preference", date="2026-03-01")
    add("Lena looks after offline mode and the scanner firmware", type="fact", tags=("people",), date="2026-03-14")
    add("The nightly import runs at 02:30 and takes about forty minutes", type="fact", source="notes/ops.md")


def _questionable(db: Recollection) -> None:
    add = db.add
    add("The price cache expires after ten minutes", type="fact", date="2026-04-02")
    add("The price cache does not expire after ten minutes", type="fact", date="2026-05-20")
    add("The payments team answers in the channel pay-help", trust="agent")
    add(f"Use the token {KEY} for the mirror")
    add(SCRIPT, title="A page said")
    add(TURNED)
    add("Standup is at half past nine", project="web")


def droppable(folder: Path) -> Path:
    """Return a file to drop: two sections of Markdown."""
    path = folder / "kitchen.md"
    path.write_text(
        "# Kitchen\n\nThe kettle is descaled in June.\n\n# Garden\n\nWater the lemon tree often.\n", "utf-8"
    )
    return path
