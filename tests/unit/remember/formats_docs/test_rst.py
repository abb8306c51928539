"""reStructuredText: sections by underlines, code whole, directives by what they hold."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import open as open_store
from recollect.remember.formats.record import Origin
from recollect.remember.formats.rst import read_rst

GUIDE = """\
.. _deploying:

==========
Deployment
==========

Use :ref:`the guide <guide>` with ``make deploy``; see `the wiki <https://wiki.example>`_ and :class:`~shop.Client`.

.. contents::
   :local:

.. include:: ../secrets.txt

.. raw:: html

   <b>shouted</b>

.. warning:: Never deploy on Friday.

   Ask Marta first.

   .. code-block:: bash
      :linenos:

      pg_dump shop > shop.sql

      make deploy

Rollback
--------

To roll back, run::

    git revert HEAD

    make deploy

and wait for the green light.

=========  ======
Cluster    Owner
=========  ======
alpha      Bela
=========  ======

+---------+----------+
| Port    | Service  |
+---------+----------+
| 9200    | search   |
+---------+----------+

.. versionadded:: 2.23
   The command ``shop switch`` came.

.. a comment that
   nobody reads

History
~~~~~~~

Began in 2019.

----

Moved to Fly in 2022.

Contact
-------

Write to ops.
"""


def read(text: str) -> list[tuple[int | None, str, str | None, str]]:
    memories = read_rst(text, Origin(source="/docs/a.rst")).memories
    return [(each.line, each.title, each.section, each.content) for each in memories]


@pytest.mark.parametrize(
    ("question", "section", "words"),
    [
        ("may I deploy on Friday", "Deployment", "Ask Marta first."),
        ("how to roll back", "Deployment > Rollback", "```\ngit revert HEAD\n\nmake deploy\n```"),
        ("who owns cluster alpha", "Deployment > Rollback", "alpha      Bela"),
        ("when did we move to Fly", "Deployment > Rollback > History", "2022"),
    ],
)
def test_a_question_finds_the_section_that_answers_it(tmp_path: Path, question: str, section: str, words: str) -> None:
    path = tmp_path / "guide.rst"
    path.write_text(GUIDE, encoding="utf-8")

    with open_store(tmp_path / "notes.db", model="none") as db:
        db.import_(path)
        again = db.import_(path)
        best = db.search(question).hits[0].memory

    assert (best.section, again.memories["new"]) == (section, 0)
    assert words in best.content


def test_sections_have_titles_paths_and_lines_and_no_underline_is_a_memory() -> None:
    found = read(GUIDE)

    assert [(line, section) for line, _, section, _ in found] == [
        (7, "Deployment"),
        (32, "Deployment > Rollback"),
        (61, "Deployment > Rollback > History"),
        (70, "Deployment > Contact"),
    ]
    assert not any("====" in text or "----" in text or "~~~~" in text for *_, text in found)


def test_roles_and_references_are_the_words_a_reader_sees() -> None:
    ((_, _, _, text),) = read("Use :ref:`the guide <guide>` with ``make``; see `the wiki <https://w>`_, :class:`~a.B`.")

    assert text == "Use the guide with `make`; see the wiki, a.B."


def test_nothing_that_a_text_asks_for_is_done() -> None:
    words = "\n".join(text for *_, text in read(GUIDE))

    assert [each for each in ("secrets", "shouted", "nobody", "linenos", "local", "deploying") if each in words] == []


def test_code_of_a_directive_stays_whole_in_a_fence() -> None:
    words = read(GUIDE)[0][3]

    assert "```bash\npg_dump shop > shop.sql\n\nmake deploy\n```" in words


def test_a_directive_within_another_is_followed_so_far_and_no_further() -> None:
    deep = "".join(f"{' ' * 3 * depth}.. note::\n" for depth in range(500)) + " " * 1500 + "the end"

    found = read(deep)

    assert "the end" in found[-1][3]


MARKS = st.sampled_from(
    [
        "==\n",
        "----\n",
        "A\n",
        ".. note::\n",
        "   in\n",
        "::\n",
        "\n",
        ".. code::\n",
        ":a:`b <c>`",
        "``",
        "`",
        "|",
        "+--+\n",
        "\t",
    ]
)


@given(text=st.lists(MARKS | st.text(max_size=5), max_size=30).map("".join))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    memories = read_rst(text.replace("\0", ""), Origin(source="/a.rst")).memories

    assert all(each.content.strip() and each.line is not None and each.line >= 1 for each in memories)


def test_lines_stay_within_the_file_whatever_is_cut() -> None:
    dice = random.Random(7)
    lines = GUIDE.split("\n")

    for _ in range(200):
        some = "\n".join(dice.sample(lines, dice.randrange(1, len(lines))))
        assert all(1 <= (line or 0) <= some.count("\n") + 1 for line, *_ in read(some))
