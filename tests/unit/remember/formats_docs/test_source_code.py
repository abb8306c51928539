"""Source code: doc comments with the name, signature and line of what they are about."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import open as open_store
from recollect.remember.formats.record import Origin
from recollect.remember.formats.source_code import read_code

SAMPLES = {
    "hive.py": '''"""Keep bees in boxes."""
import os

class Hive(Box):
    """A hive with frames."""

    async def open(self, *, smoke: bool = True) -> None:
        """Open the lid gently, after three puffs of smoke."""
        # not said aloud
        await lid()

def bare(): ...
''',
    "retry.go": """// Copyright 2020 The Authors.

// Package retry tries things again.
package retry

// Do runs f until it succeeds, waiting twice as long
// after each failure.
func Do(f func() error, opts ...Option) error {
	// wait a little, for the disk
	sleep(3)
	return nil
}
""",
    "queue.rs": """//! Queues between threads.

/// Parse a duration such as `5m`.
#[inline]
pub fn parse(text: &str) -> Result<Duration, Error> {
    let x = 1;
}

impl Queue {
    /// Push an item to the end.
    pub fn push(&mut self, item: T) {}
}
""",
    "cart.ts": """import x from "y";

/**
 * Format money for a locale.
 *
 * @param amount in cents
 */
export function money(
  amount: number, locale = "de"
): string {
  return ""
}

export class Cart {
  /** Add one article to the cart. */
  add(article: Article): void {
    /* nothing */
    call(article);
  }
}
""",
    "device.h": """/*
 * SPDX-License-Identifier: MIT
 */
#ifndef DEVICE_H
/** Open the device at @p path. */
int device_open(const char *path,
                int flags);
#endif
""",
    "backup.sh": """#!/bin/sh
# Copy the database to the NAS every night.

# Remove dumps older than a week.
prune() {
  find .
}
""",
    "Sum.java": """package a;
/** Sums things up for reports. */
public class Sum {
    /** Adds two numbers and checks for overflow. */
    public static int add(int a, int b) { return a; }
}
""",
}


def read(name: str) -> list[tuple[int | None, str, str]]:
    memories = read_code(SAMPLES[name], Origin(source=f"/src/{name}")).memories
    return [(each.line, each.title, each.content) for each in memories]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "hive.py",
            [
                (1, "hive.py", "Keep bees in boxes.\n\nDefines Hive, Hive.open, bare."),
                (4, "Hive", "class Hive(Box)\n\nA hive with frames."),
                (
                    7,
                    "Hive.open",
                    (
                        "async def open(self, *, smoke: bool=True) -> None\n\n"
                        "Open the lid gently, after three puffs of smoke."
                    ),
                ),
            ],
        ),
        (
            "retry.go",
            [
                (1, "retry.go", "Package retry tries things again.\n\nDefines Do."),
                (
                    8,
                    "Do",
                    (
                        "func Do(f func() error, opts ...Option) error\n\n"
                        "Do runs f until it succeeds, waiting twice as long\nafter each failure."
                    ),
                ),
            ],
        ),
        (
            "queue.rs",
            [
                (1, "queue.rs", "Queues between threads.\n\nDefines parse, Queue, Queue.push."),
                (
                    5,
                    "parse",
                    "pub fn parse(text: &str) -> Result<Duration, Error>\n\nParse a duration such as `5m`.",
                ),
                (11, "Queue.push", "pub fn push(&mut self, item: T)\n\nPush an item to the end."),
            ],
        ),
        (
            "cart.ts",
            [
                (1, "cart.ts", "Defines money, Cart, Cart.add."),
                (
                    8,
                    "money",
                    (
                        'export function money( amount: number, locale = "de" ): string\n\n'
                        "Format money for a locale.\n\n@param amount in cents"
                    ),
                ),
                (16, "Cart.add", "add(article: Article): void\n\nAdd one article to the cart."),
            ],
        ),
        (
            "device.h",
            [
                (1, "device.h", "Defines device_open."),
                (6, "device_open", "int device_open(const char *path, int flags)\n\nOpen the device at @p path."),
            ],
        ),
        (
            "backup.sh",
            [
                (1, "backup.sh", "Copy the database to the NAS every night.\n\nDefines prune."),
                (5, "prune", "prune()\n\nRemove dumps older than a week."),
            ],
        ),
        (
            "Sum.java",
            [
                (1, "Sum.java", "Defines Sum, Sum.add."),
                (3, "Sum", "public class Sum\n\nSums things up for reports."),
                (5, "Sum.add", "public static int add(int a, int b)\n\nAdds two numbers and checks for overflow."),
            ],
        ),
    ],
)
def test_a_definition_is_told_with_its_signature_and_its_line(
    name: str, expected: list[tuple[int | None, str, str]]
) -> None:
    assert read(name) == expected


def test_a_question_finds_the_definition_in_a_folder_of_sources(tmp_path: Path) -> None:
    titles = {
        "how is the hive opened": "Hive.open",
        "run a function again after a failure": "Do",
        "where is device_open": "device_open",
        "remove old dumps": "prune",
        "where is bare defined": "hive.py",
    }
    for name, text in SAMPLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    with open_store(tmp_path / "notes.db", model="none") as db:
        first, again = db.import_(tmp_path), db.import_(tmp_path)
        found = {question: db.search(question).hits[0].memory.title for question in titles}

    assert found == titles
    assert (again.memories["new"], again.memories["unchanged"]) == (0, first.memories["new"])


def test_a_file_without_words_or_definitions_gives_nothing() -> None:
    parsed = read_code("x = 1\nprint(x)\n", Origin(source="/a.py"))

    assert parsed.memories == ()


def test_what_a_program_wrote_is_left_out_and_counted() -> None:
    parsed = read_code(f"function a(){{{'b();' * 3000}}}", Origin(source="/lib.min.js"))

    assert (parsed.memories, parsed.skipped) == ((), {"file written by a program": 1})


def test_python_of_another_time_is_read_by_its_comments() -> None:
    memories = read_code("# Greets the whole world.\ndef greet():\n    print 'hi'\n", Origin(source="/a.py")).memories

    assert [each.title for each in memories] == ["a.py", "greet"]


MARKS = st.sampled_from(
    [
        "/*",
        "*/",
        "//",
        "#",
        '"""',
        "\n",
        "\n",
        " ",
        "def f(",
        "):",
        "class A",
        "{",
        "}",
        "(",
        "fn x",
        "impl Y",
        ";",
        "@doc",
        "=begin\n",
    ]
)


@pytest.mark.parametrize("suffix", [".py", ".c", ".rs", ".rb", ".lua", ".hs", ".ex", ".sql"])
@settings(max_examples=40)
@given(text=st.lists(MARKS | st.text(max_size=4), max_size=30).map("".join))
def test_no_text_makes_the_reader_raise(suffix: str, text: str) -> None:
    memories = read_code(text.replace("\0", ""), Origin(source=f"/a{suffix}")).memories

    assert all(each.content.strip() and (each.line or 0) >= 1 for each in memories)
