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
    row, handler, mutator = blocks()
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
    with open(os.path.join(ROOT, "store/txn/txn_list.c"), encoding="utf-8") as source:
        assert mutator in source.read(), "the mutator has changed"


main()
