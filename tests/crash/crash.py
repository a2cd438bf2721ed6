"""crash: a daemon with a journal that a test kills, or whose system calls fail. Depends on lib/daemon
and on fault.c, the library that makes calls fail.

TEST_SEED chooses the random programs; CRASH_SECONDS is how long a test repeats with new ones.
"""
import errno
import fcntl
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

# pylint: disable=wrong-import-position,unused-import
from daemon import (BINARY, NOON, REPLY_SECONDS, ROOT, Daemon, Raw, Skipped, die_with_parent, encode, equal, fork,
                    happens, kill_child, main, own, random_seed, read_reply, test, wait_for)
from process import kill_and_wait

FAULT = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tests", "crash",
                     "fault.so")
SECONDS = float(os.environ.get("CRASH_SECONDS") or 0)
SEED = random_seed()
KILLED = -signal.SIGKILL

WRITE, SYNC, RENAME, CUT, OPEN, REMOVE, MAKE_DIR, READ, FREE_SPACE, LOCK = range(10)
CALL_NAMES = ("write", "sync", "rename", "cut", "open", "remove", "mkdir", "read", "free space", "lock")
DIE_BEFORE, DIE_BEHIND, SHORT, COME_LATE, HOLD = -1, -2, -3, -4, -5
EVER = 1 << 60
FIRST_PROCESS, EVERYONE, CHILDREN = 0, 1, 2
ENOSPC, EIO = errno.ENOSPC, errno.EIO


def calls(*which):
    return sum(1 << call for call in which)


CHANGING = calls(WRITE, SYNC, RENAME, CUT, OPEN, REMOVE, MAKE_DIR)


def preload(library, **variables):
    """The environment for a daemon with this library. Without the file ld.so would only warn, and
    the tests would pass with nothing failing."""
    assert os.path.exists(library), f"there is no {library}: run make tests-built"
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS=asan, **variables)


class Plan:
    """Says which calls fault.c makes fail; may be changed while the daemon runs."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(64))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 64)

    def number(self, index):
        return struct.unpack_from("q", self.page, 8 * index)[0]

    def put(self, index, value):
        struct.pack_into("q", self.page, 8 * index, value)

    def set(self, first, what, which=CHANGING, last=None, late=0, whose=EVERYONE):
        """Acts on call number `first` from now, or on calls `first` to `last`."""
        self.put(1, 0)
        self.put(0, 0)
        self.put(6, 0)
        for index, value in ((2, first if last is None else last), (3, what), (4, which),
                             (5, late), (7, whose), (1, first)):
            self.put(index, value)

    def count(self, which=CHANGING, whose=EVERYONE):
        """Counts the calls; none fails."""
        self.set(0, 0, which, whose=whose)

    def heal(self):
        self.put(1, 0)

    def is_unused(self):
        """Have all processes with the plan ended?"""
        with open(self.path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    @property
    def calls(self):
        return self.number(0)

    @property
    def acted(self):
        return self.number(6)


class Kept(Daemon):
    """A daemon with a journal in `data`; with `fault`, system calls there can be made to fail. It can
    be killed and started again in the same folder."""

    START_SECONDS = 60

    def __init__(self, *options, fsync="always", fault=False, power=False, appendonly="yes"):
        super().__init__(*options)
        self.fsync, self.fault, self.appendonly = fsync, fault or power, appendonly
        self.power = power
        self.plan = None

    def start(self):
        self.data = os.path.join(self.dir, "data")
        self.journal_dir = os.path.join(self.data, "appendonlydir")
        os.makedirs(self.data, exist_ok=True)
        if self.fault and self.plan is None:
            self.plan = Plan(os.path.join(self.dir, "plan"))
            self.env = preload(FAULT, FAULT_DIR=self.data,
                               FAULT_PLAN=os.path.join(self.dir, "plan"))
            if self.power:
                self.env["FAULT_SHADOW"] = self.shadow = os.path.join(self.dir, "shadow")
                os.mkdir(self.shadow)
        super().start()

    def arguments(self):
        return [*super().arguments(), "--dir", self.data, "--appendonly", self.appendonly,
                "--appendfsync", self.fsync, *self.options]

    def await_loaded(self):
        with self.raw() as raw:
            assert wait_for(lambda: raw.call("PING") == b"+PONG\r\n", self.START_SECONDS), self.log()

    def lose_power(self):
        """Call after the process has ended. Keeps only synced data of its files."""
        assert wait_for(self.plan.is_unused), "a child of the process goes on"
        number = os.stat(self.data).st_ino
        os.rename(self.data, self.data + ".lost")
        self.rebuild(number, self.data)
        shutil.rmtree(self.data + ".lost")
        shutil.rmtree(self.shadow)
        os.mkdir(self.shadow)
        for folder, _, _ in os.walk(self.data):  # the rebuilt files count as synced
            self.note(folder)

    def names(self, number):
        """{name: inode} of a folder at its last sync."""
        try:
            with open(os.path.join(self.shadow, f"d{number}"), encoding="ascii") as file:
                lines = [line.rstrip("\n").split(" ", 1) for line in file]
        except FileNotFoundError:
            return {}
        return {name: int(inode) for inode, name in lines if name not in (".", "..")}

    def rebuild(self, number, path):
        lost = os.path.join(self.data + ".lost", os.path.relpath(path, self.data))
        os.mkdir(path)
        for name, inode in self.names(number).items():
            to = os.path.join(path, name)
            if os.path.isdir(os.path.join(lost, name)):
                self.rebuild(inode, to)
                continue
            with open(to, "wb") as file:
                file.write(self.synced(f"f{inode}"))

    def synced(self, name):
        """The synced bytes of a file; none if only its name was synced."""
        try:
            with open(os.path.join(self.shadow, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def note(self, folder):
        entries = list(os.scandir(folder))
        with open(os.path.join(self.shadow, f"d{os.stat(folder).st_ino}"), "w",
                  encoding="ascii") as file:
            file.writelines(f"{entry.inode()} {entry.name}\n" for entry in entries)
        for entry in entries:
            if entry.is_file():
                number = entry.inode()
                shutil.copyfile(entry.path, os.path.join(self.shadow, f"f{number}"))
                os.link(entry.path, os.path.join(self.shadow, f"h{number}"))

    def await_death(self):
        """Waits until the plan has killed the daemon."""
        process, self.process = self.process, None
        try:
            equal(process.wait(), KILLED, "exit status")
        finally:
            kill_and_wait(process)

    def again(self, *options):
        """Kills the daemon if it runs, and starts it in the same folder."""
        self.kill()
        if options:
            self.options = list(options)
        self.start()

    def refuses(self, *words, options=()):
        """The daemon must not start, and its output must contain these words."""
        done = subprocess.run([*self.arguments(), *options], capture_output=True, text=True,
                              env=self.env, cwd=self.dir,
                              preexec_fn=die_with_parent)
        said = done.stdout + done.stderr
        assert done.returncode > 0, f"it ended with status {done.returncode}:\n{said}"
        for word in words:
            assert word in said, f"no '{word}' in:\n{said}"

    def call(self, *arguments):
        with self.raw() as raw:
            return raw.call(*arguments)

    def info(self, section="persistence"):
        text = self.call("INFO", section).split(b"\r\n")
        pairs = (line.split(b":", 1) for line in text if b":" in line)
        return {name.decode(): value.decode() for name, value in pairs}

    def digest(self):
        with self.raw() as raw:
            equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")
            return raw.call("DEBUG", "DIGEST")

    def await_quiet(self, seconds=40):
        """Waits until no rewrite and no snapshot is under way or scheduled."""
        def quiet():
            info = self.info()
            return all(info[name] == "0" for name in ("aof_rewrite_in_progress",
                                                      "rdb_bgsave_in_progress",
                                                      "aof_rewrite_scheduled"))
        assert wait_for(quiet, seconds), self.info()

    def rewrite(self):
        """Runs BGREWRITEAOF to its end; returns whether it succeeded."""
        reply = self.call("BGREWRITEAOF")
        assert reply.startswith(b"+Background append only"), reply
        self.await_quiet()
        return self.info()["aof_last_bgrewrite_status"] == "ok"

    def files(self):
        """The paths of all files, relative to data."""
        found = []
        for folder, _, names in os.walk(self.data):
            found += [os.path.relpath(os.path.join(folder, name), self.data) for name in names]
        return sorted(found)

    def segment(self):
        """The path of the journal's last segment."""
        with open(os.path.join(self.journal_dir, "appendonly.aof.manifest"),
                  encoding="ascii") as manifest:
            names = [line.split()[1] for line in manifest if " type i" in line]
        return os.path.join(self.journal_dir, names[-1])


LOADING = b"-LOADING Redis is loading the dataset in memory\r\n"


LARGE_KEYS = 400


def fill_large(daemon):
    """40 MB: enough that start_slowly takes a few seconds."""
    with daemon.raw() as raw:
        raw.calls([("SET", f"k{number}", b"x" * 100_000) for number in range(LARGE_KEYS)])


def start_slowly(daemon, late=60_000):
    """Delays each read of up to 1 MiB by `late` microseconds, so that a test can run while data is
    loaded. daemon.plan.heal() ends the delays."""
    daemon.plan.set(1, COME_LATE, calls(READ), last=EVER, late=late)
    daemon.launch()
    assert wait_for(lambda: not daemon.is_running() or daemon.answer(), daemon.START_SECONDS), daemon.log()


def await_rewritten(daemon):
    """Waits until the journal is on and has its base."""
    assert wait_for(lambda: daemon.info()["aof_enabled"] == "1"), daemon.log()
    daemon.await_quiet()
    assert wait_for(lambda: daemon.info()["aof_base_size"] != "0"), daemon.log()


class Budget:
    """Repeats a test `least` times, and in `make crash` until its share of the time is used."""

    def __init__(self, share=1.0):
        self.end = time.monotonic() + SECONDS * share
        self.done = 0

    def more(self, least):
        self.done += 1
        return self.done <= least or time.monotonic() < self.end


def seeded(*what):
    """A random generator that depends on SEED and on `what` only."""
    return random.Random(f"{SEED} {what}")


def run(seconds=None):
    main(seconds or max(60, int(2 * SECONDS) + 60))
