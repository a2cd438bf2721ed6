#!/usr/bin/python3 -B
"""doc/guide/point-in-time.md: its commands undo a FLUSHALL, one after the other, in a shell."""
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, die_with_parent, equal, free_port, main, own, wait_for

PAGE = os.path.join(ROOT, "doc/guide/point-in-time.md")
TOOLS = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools")


def sessions():
    """[(command, the lines below it)] of the page, in order."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"^```console\n(.*?)^```$", file.read(), re.M | re.S)
    found = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern_of(lines):
    return re.compile("\n".join(".*".join(map(re.escape, line.split("..."))) for line in lines))


class Shell:
    """Runs the page's commands with the programs, ports and folders of the test."""

    def __init__(self, daemon, until):
        self.then, self.port = os.path.join(daemon.dir, "then"), free_port()
        self.names = {"/var/lib/expired-then": self.then, "/var/lib/expired": daemon.dir,
                      "6380": str(self.port)}
        programs = os.path.join(daemon.dir, "programs")
        os.mkdir(programs)
        os.symlink(BINARY, os.path.join(programs, "expired"))
        os.symlink(os.path.join(TOOLS, "expired-check"), os.path.join(programs, "expired-check"))
        with open(os.path.join(programs, "date"), "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\necho {shlex.quote(until)}\n")
        os.chmod(file.name, 0o755)
        with open(os.path.join(programs, "redis-cli"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {REDIS_CLI} -p {daemon.port} "$@"\n')
        os.chmod(file.name, 0o755)
        self.env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")

    def run(self, command):
        for name, ours in self.names.items():
            command = command.replace(name, ours)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=self.env,
                              capture_output=True, text=True, preexec_fn=die_with_parent, check=False)
        return done.stdout.rstrip("\n") if done.stdout.strip() else "", done.stderr


REDIS_CLI = subprocess.run(["sh", "-c", "command -v redis-cli"], capture_output=True, text=True,
                           check=True).stdout.strip()


@own
def the_commands_of_the_page_undo_a_flushall():
    with Daemon("--appendonly", "yes", "--journal-keep", "1d", tcp=True) as daemon:
        with daemon.raw() as raw:
            now = daemon.hold(daemon.clock())
            raw.calls([("SET", "user:1", "Ann"), ("SET", "user:2", "Bob")])
            equal(raw.call("BGREWRITEAOF")[:1], b"+")
            assert wait_for(lambda: b"aof_kept_files:2" in raw.call("INFO", "persistence"))
            daemon.step(1000)
            raw.calls([("FLUSHALL",), ("SET", "new", "x")])
            daemon.clock("REAL")
            assert wait_for(lambda: time.time() * 1000 > now + 1000)
        seconds, msec = divmod(now + 500, 1000)
        until = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{msec:03}Z"
        shell = Shell(daemon, until)
        try:
            for command, wanted in sessions():
                printed, errors = shell.run(command)
                assert pattern_of(wanted).fullmatch(printed) or not (wanted or printed), (
                    f"{command}\nprints {printed!r} and {errors!r}, wanted {wanted}")
        finally:
            shell.run("redis-cli -p 6380 SHUTDOWN NOSAVE")
        with daemon.raw() as raw:
            equal(raw.call("GET", "user:2"), b"$3\r\nBob\r\n")
            equal(raw.call("GET", "new"), b"$-1\r\n")


main()
