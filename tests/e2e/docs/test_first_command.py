#!/usr/bin/python3 -B
"""The command of doc/first-command.md: compiled into a daemon as the page says, and called.

The daemon is the one under test with one object file replaced, so compiling takes a few seconds.
make prints the commands that compile and link it, with the options of this build.
"""
import os
import re
import shlex
import subprocess
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, IS_REDIS, ROOT, Daemon, Skipped, equal, folder, main, test

HOME = "server/cmd/string/string_number.c"
TABLE = "static const struct command rows[] = {\n"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def block(start):
    """The page's block of C that begins with this."""
    found = [text for text in re.findall(r"```c\n(.*?)```", read("doc/first-command.md"), re.S)
             if text.startswith(start)]
    equal(len(found), 1)
    return found[0]


def with_command():
    """The source of the page's file with the handler above the table and the row in it."""
    text = read(HOME)
    assert TABLE in text, HOME
    return text.replace(TABLE, block("static bool add_value") + "\n" + TABLE + block("    ROW(\"GETSUM\""))


def build_commands():
    """How this build compiles the page's file and links the daemon, as lists of words."""
    build = os.environ.get("BUILD") or os.path.join(ROOT, "build")
    printed = subprocess.run(["make", "-n", "-W", HOME, "V=1", "LTO=", f"B={build}",
                              f"{build}/expired"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [shlex.split(line.rpartition(" && ")[2]) for line in printed.split("\n")]  # without mkdir
    compiles = [words for words in lines if HOME in words and "-c" in words]
    links = [words for words in lines if f"{build}/expired" in words and "-o" in words]
    equal((len(compiles), len(links)), (1, 1))
    return compiles[0], links[0]


def run(words):
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout + done.stderr), (0, ""))


def build(directory):
    """A daemon that has the page's command; its path."""
    source, object_file, binary = (os.path.join(directory, name)
                                   for name in ("first.c", "first.o", "expired"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(with_command())
    compile_it, link_it = build_commands()
    old = compile_it[compile_it.index("-o") + 1]
    run([{HOME: source, old: object_file}.get(word, word) for word in compile_it] + ["-Werror"])
    linked = link_it[link_it.index("-o") + 1]
    assert old in link_it, old
    # Without -fno-lto, the linker would optimize the whole daemon again, for a minute.
    run([{old: object_file, linked: binary}.get(word, word) for word in link_it] + ["-fno-lto"])
    return binary


def error_of(client, *words):
    try:
        return client.execute_command(*words)
    except redis.ResponseError as error:
        return str(error)


@test
def the_example_builds_and_replies_as_its_row_declares():
    if IS_REDIS:
        raise Skipped(f"{BINARY} is a redis-server")
    with folder() as directory, Daemon(binary=build(directory)) as daemon:
        client = daemon.redis()
        client.mset({"a": 40, "b": "-3", "text": "x", "huge": 2**63 - 1})
        client.lpush("list", "1")
        equal(client.execute_command("GETSUM", "a", "missing", "b", "a"), 77)
        equal(error_of(client, "GETSUM", "a", "list"),
              "WRONGTYPE Operation against a key holding the wrong kind of value")
        equal(error_of(client, "GETSUM", "text"), "value is not an integer or out of range")
        equal(error_of(client, "GETSUM", "huge", "a"), "increment or decrement would overflow")
        equal(error_of(client, "GETSUM"), "wrong number of arguments for 'getsum' command")
        equal(client.execute_command("COMMAND GETKEYS", "GETSUM", "a", "b"), ["a", "b"])


@test
def the_mutator_and_its_effect_are_quoted_from_the_source():
    for start, file in (("void txn_list_keep", "store/txn/txn_list.c"),
                        ("    ROW(KEEP)", "store/txn/effect_rows.c"),
                        ("bool apply_keep", "store/txn/apply.c")):
        assert block(start) in read(file), f"{file} has changed"


main()
