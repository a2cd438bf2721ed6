#!/usr/bin/python3 -B
"""The example of doc/first-command.md compiles in the files that the page names."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, equal, main, test



def blocks():
    with open(os.path.join(ROOT, "doc/first-command.md"), encoding="utf-8") as page:
        return re.findall(r"```c\n(.*?)```", page.read(), re.S)


@test
def the_example_compiles():
    row, handler = blocks()[:2]
    home = "server/cmd/string/string_number.c"
    with open(os.path.join(ROOT, home), encoding="utf-8") as source:
        text = source.read()
    table = "static const struct command rows[] = {\n"
    assert table in text, home
    text = text.replace(table, handler + "\n" + table + row)
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wconversion", "-Werror",
               "-fsyntax-only", "-I", ROOT, "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))


@test
def the_effect_is_quoted_from_the_source():
    quotes = blocks()[2:]
    files = ["store/txn/txn_list.c", "store/txn/effect_rows.c", "store/txn/apply.c"]
    equal(len(quotes), len(files))
    for quote, file in zip(quotes, files):
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            assert quote in source.read(), f"{file} has changed"


main()
