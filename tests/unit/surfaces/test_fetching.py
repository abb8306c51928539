"""Commands that write go on by words alone where the model cannot be had, and say so in one line."""

from pathlib import Path

import pytest
from command import apart

NOTE = (
    "note: by words alone: the model minilm is not installed, and nothing is fetched offline "
    "(run: recollect model install minilm)\n"
)


def without(folder: Path) -> dict[str, str]:
    """The default model, in a folder that holds none."""
    return {"RECOLLECT_MODEL": "minilm", "RECOLLECT_MODELS": str(folder / "models")}


@pytest.mark.req("C-35")
@pytest.mark.parametrize(
    "words",
    [("add", "We ship on Tuesdays"), ("import", "{notes}"), ("capture", "[MEMORY] type=decision: We ship on Tuesdays")],
)
def test_a_command_that_writes_goes_on_by_words_alone_and_says_why(tmp_path: Path, words: tuple[str, ...]) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Shipping\n\nWe ship on Tuesdays.\n")

    wrote = apart(*(word.format(notes=notes) for word in words), folder=tmp_path, **without(tmp_path))
    found = apart("search", "when do we ship", "--json", folder=tmp_path, **without(tmp_path))

    assert (wrote.code, wrote.err) == (0, NOTE)
    assert (found.code, found.err) == (0, "")
    assert found.value["degraded"] == "no_model"
    assert "Tuesdays" in found.value["hits"][0]["snippet"]


@pytest.mark.req("C-35")
def test_the_demo_goes_on_by_words_alone_and_says_why(tmp_path: Path) -> None:
    shown = apart("demo", folder=tmp_path, **without(tmp_path))

    assert shown.code == 0
    assert f"({NOTE.removeprefix('note: ').strip()})" in shown.out
    assert "recollect model install" in shown.out


@pytest.mark.req("C-35")
def test_vectors_asked_for_by_name_are_refused_with_the_reason(tmp_path: Path) -> None:
    told = apart("embed", folder=tmp_path, **without(tmp_path))

    assert (told.code, told.out) == (3, "")
    assert told.err == NOTE.replace("note: by words alone: ", "error: ")


def test_a_damaged_model_is_called_damaged_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "models" / "minilm").mkdir(parents=True)
    apart("add", "We ship on Tuesdays", "--no-embed", folder=tmp_path, **without(tmp_path))

    told = {
        words: apart(*words.split(), folder=tmp_path, **without(tmp_path))
        for words in ("search ship", "add another", "model list")
    }

    mend = "damaged: model.toml is missing (run: recollect model install minilm)"
    assert [each.code for each in told.values()] == [0, 0, 0]
    assert told["search ship"].err == told["add another"].err == f"note: by words alone: the model minilm is {mend}\n"
    assert "damaged: " in told["model list"].out
    assert "run: recollect model install minilm" in told["model list"].out
    assert not any("not installed" in each.out + each.err for each in told.values())
