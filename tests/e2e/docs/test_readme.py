#!/usr/bin/python3 -B
"""The sessions of README.md and of doc/guide/recipes.md, command by command, against a fresh daemon for each.

A block marked ```console holds lines with redis-cli's prompt and the replies below them, or
"$ redis-cli ..." with its output. "..." in a line matches any text, a line of only
"..." any lines.
"""
import ast
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import IS_REDIS, ROOT, Daemon, main, test

PAGES = ("README.md", "doc/guide/recipes.md")
PROMPT = re.compile(r"^127\.0\.0\.1:6379(?:\[\d+\])?(?:\(TX\))?> (.*)$")


def blocks_of(kind):
    found = []
    for page in PAGES:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            found += re.findall(rf"^```{kind}\n(.*?)^```$", file.read(), re.M | re.S)
    return found


def sessions_of(block):
    """[(redis-cli's arguments, its input, its output)]; consecutive prompts are one session."""
    sessions, talking = [], False
    for line in block.splitlines():
        prompt = PROMPT.match(line)
        if prompt:
            if not talking:
                sessions.append((["--no-raw"], [], []))
            sessions[-1][1].append(prompt.group(1))
            talking = True
        elif line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "redis-cli", line
            sessions.append((words[1:], [], []))
            talking = False
        else:
            sessions[-1][2].append(line)
    return sessions


def pattern_of(lines):
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.split("..."))) + r"\n")
    return re.compile("".join(parts) + r"\n*\Z")


def play(block):
    with Daemon() as daemon:
        for arguments, commands, wanted in sessions_of(block):
            done = subprocess.run(["redis-cli", "-s", daemon.path, *arguments],
                                  input="".join(command + "\n" for command in commands),
                                  capture_output=True, text=True)
            assert pattern_of(wanted).match(done.stdout), (
                "the page says\n" + "\n".join(wanted) + "\nredis-cli prints\n" + done.stdout +
                done.stderr)


def add_session(number, block):
    def run():
        play(block)
    run.__name__ = f"session_{number}_{block.splitlines()[0][:60]}"
    test(run)


@test
def the_programs_are_python():
    for program in blocks_of("python"):
        ast.parse(program)


@test
def every_recipe_is_shown():
    shown = "\n".join(blocks_of("console"))
    for command in ("MULTI", "ZADD", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZREVRANGE",
                    "MEMORY USAGE", "PX", "PEXPIRE", "PERSIST", "EXPIREAT", "SADD", "REDE.PUSH",
                    "REDE.POLL", "POLICY SET", "SADDEX", "HEXPIRE", "EXPIRY NEXT"):
        assert command in shown, command


@test
def the_readme_is_read_in_a_few_minutes():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        assert len(file.readlines()) <= 250


for index, text in enumerate(blocks_of("console")):
    if not (IS_REDIS and "REDE." in text):
        add_session(index + 1, text)
main()
