#!/usr/bin/python3 -B
"""Random data that is loaded: always the same, from the journal, from a base, after kill -9 or by DEBUG;
and that of a point in time, by `import` with `until`, over journals that rewrites and kills cut into
several files, and over what `journal-keep` keeps of them. The history that a program wrote is the
model."""
import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

from crash import (CHANGING, DIE_BEFORE, ENOSPC, EVER, NOON, ROOT, WRITE, Budget, Daemon, Kept, calls,
                   equal, run, seeded, test, wait_for)
from programs import DATABASES, Program

OK = b"+OK\r\n"
KEYS = [f"k{number}" for number in range(6)]
CHECK = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools/expired-check")


@test
def the_same_data_comes_back_whichever_way_it_is_loaded():
    budget = Budget(0.4)
    while budget.more(2):
        rng = seeded("ways", budget.done)
        program = Program(rng, "p", NOON)
        with Kept(fsync="no") as daemon:
            daemon.hold()
            for _ in range(3):
                with daemon.raw() as raw:
                    for _ in range(300):
                        raw.call("SELECT", rng.randrange(DATABASES))
                        raw.call(*program.command())
                live = daemon.digest()
                for way in ("LOADAOF", "RELOAD", "LOADAOF"):
                    equal(daemon.call("DEBUG", way), b"+OK\r\n", way)
                    equal(daemon.digest(), live, f"DEBUG {way}")
                daemon.again()
                daemon.hold(program.now)
                equal(daemon.digest(), live, "after kill -9")
                assert daemon.rewrite(), daemon.log()
                equal(daemon.digest(), live, "after BGREWRITEAOF")
                daemon.again()
                daemon.hold(program.now)
                equal(daemon.digest(), live, "after BGREWRITEAOF and kill -9")
                step = rng.choice((1, 7, 60, 5001))
                program.now += step
                daemon.step(step)


# --- a point in time ----------------------------------------------------------------------------


class Source(Kept):
    """Its clock is held, and moves forward by `tick` alone. It begins at the present, so that an
    instant of it is soon in the past for another server."""

    def __init__(self, *options, keep="1h", **how):
        super().__init__("--journal-keep", keep, *options, **how)
        self.now = 0

    def start(self):
        super().start()
        self.now = self.clock("HOLD", max(self.now + 1, self.clock()))

    def tick(self, msec=1):
        self.now = self.step(msec)
        return self.now

    def set(self, value, msec=1):
        """Sets a key; returns the instant."""
        self.tick(msec)
        equal(self.call("SET", "key", value), OK)
        return self.now


def arguments(source, until):
    folder = source if isinstance(source, str) else source.data
    return ["--appendonly", "yes", "--import", folder, "--until", str(until)]


@contextmanager
def restored(source, until):
    """A daemon with the data as of that instant."""
    until_msec = until if isinstance(until, int) else 0
    assert wait_for(lambda: time.time() * 1000 >= max(source.now, until_msec)), "the held clock is far ahead"
    with Daemon(*arguments(source, until)) as daemon, daemon.raw() as raw:
        assert wait_for(lambda: raw.call("PING") == b"+PONG\r\n"), daemon.log()
        yield daemon


def value(daemon, key="key"):
    with daemon.raw() as raw:
        return raw.call("GET", key)


def value_at(source, until):
    with restored(source, until) as daemon:
        return value(daemon)


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text.encode())


def refuses(source, until, *words, now=None):
    if now is not None:
        assert wait_for(lambda: time.time() * 1000 >= now)
    with Daemon() as daemon:
        empty = os.path.join(daemon.dir, "empty")
        os.mkdir(empty)
        done = subprocess.run(
            [*daemon.arguments(), "--unixsocket", os.path.join(empty, "socket"), "--dir", empty,
             *arguments(source, until)], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode > 0, said
    for word in words:
        assert word in said, f"no '{word}' in:\n{said}"


# --- a random history ---------------------------------------------------------------------------


class History:
    """What a random program wrote: the data after each instant."""

    def __init__(self, rng, source):
        self.rng, self.source, self.data = rng, source, {}
        self.states = [(source.now, {})]

    def command(self):
        key, number = self.rng.choice(KEYS), self.rng.randrange(1000)
        kind = self.rng.randrange(10)
        if kind == 0:
            self.data.clear()
            return ("FLUSHALL",)
        if kind < 3:
            self.data.pop(key, None)
            return ("DEL", key)
        if kind < 5:
            self.data[key] = str(int(self.data.get(key, "0")) + number)
            return ("INCRBY", key, number)
        self.data[key] = str(number)
        return ("SET", key, number)

    def write(self):
        commands = [self.command() for _ in range(self.rng.randrange(1, 6))]
        if self.rng.randrange(3) == 0:
            commands = [("MULTI",), *commands, ("EXEC",)]
        with self.source.raw() as raw:
            raw.calls(commands)

    def live(self):
        way = self.rng.randrange(12)
        if way == 0:
            assert self.source.rewrite(), self.source.log()
        elif way == 1:
            self.source.again()
        else:
            self.source.tick(self.rng.randrange(1, 4))
        self.write()
        self.states.append((self.source.now, dict(self.data)))

    def at(self, until):
        return [data for at, data in self.states if at <= until][-1]


@test
def any_point_of_a_random_history_can_be_reached():
    budget, number = Budget(0.6), 0
    while budget.more(2):
        rng = seeded("history", number)
        number += 1
        with Source() as source:
            history = History(rng, source)
            for _ in range(40):
                history.live()
            whole = source.files()
            for at in rng.sample([at for at, _ in history.states], 5):
                until = at + rng.choice((-1, 0, 0, 1))
                if until < history.states[0][0]:
                    continue
                with restored(source, until) as daemon, daemon.raw() as raw:
                    found = {key: raw.call("GET", key) for key in KEYS}
                    log = daemon.log()
                wanted = {key: bulk(history.at(until)[key]) if key in history.at(until) else b"$-1\r\n"
                          for key in KEYS}
                equal(found, wanted, f"until {until}, written {history.states}\n{log}")
            equal(source.files(), whole, "the source's files")


# --- which instant ------------------------------------------------------------------------------


@test
def a_start_stops_before_the_first_later_change():
    with Source() as source:
        first = source.set("a")
        second = source.set("b", 10)
        equal(source.call("FLUSHALL"), OK)
        source.tick(5)
        equal(source.call("SET", "other", "x"), OK)
        equal(value_at(source, first), bulk("a"))
        equal(value_at(source, second - 1), bulk("a"))
        equal(value_at(source, second), b"$-1\r\n")
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(first // 1000)) + f".{first % 1000:03}Z"
        equal(value_at(source, text), bulk("a"))
        with restored(source, first) as daemon:
            assert "the next one was made at" in daemon.log(), daemon.log()
            equal(daemon.raw().call("SET", "key", "written"), OK)


@test
def deadlines_that_have_passed_since_then_expire_as_in_any_start():
    with Source() as source:
        at = source.tick()
        with source.raw() as raw:
            raw.calls([("SET", "short", "v", "PX", 1), ("SET", "long", "v", "PX", 10 ** 9)])
        source.tick(2)
        with restored(source, at) as daemon, daemon.raw() as raw:
            equal(raw.call("GET", "short"), b"$-1\r\n")
            equal(raw.call("GET", "long"), bulk("v"))
            equal(raw.call("PEXPIRETIME", "long"), b":%d\r\n" % (at + 10 ** 9))


@test
def a_start_with_until_is_a_start_of_its_own():
    """It writes its own journal, and a restart has the data without the options."""
    with Source() as source:
        first = source.set("a")
        source.set("b")
        with restored(source, first) as daemon:
            equal(daemon.raw().call("SET", "more", "x"), OK)
            daemon.stop()
            daemon.options = ["--appendonly", "yes"]
            daemon.start()
            assert wait_for(lambda: daemon.raw().call("PING") == b"+PONG\r\n")
            equal((value(daemon), value(daemon, "more")), (bulk("a"), bulk("x")))
            daemon.stop()
            done = subprocess.run([*daemon.arguments(), *arguments(source, first)],
                                  capture_output=True, text=True, check=False)
            assert done.returncode > 0 and "already has data" in done.stdout + done.stderr, done
            daemon.start()
        equal(value(source), bulk("b"))


@test
def instants_that_can_not_be_reached_are_refused():
    with Source() as source:
        first = source.set("a")
        refuses(source, first - 10 ** 6, "is before the first base", now=source.now)
        refuses(source, first + 10 ** 9, "is in the future")
        refuses(source, "yesterday", "until: must be milliseconds since 1970")
        refuses(source, "2026-02-30T00:00:00Z", "until: must be milliseconds since 1970")
        refuses("/nowhere", first, "/nowhere", now=source.now)
        source.kill()
        source.refuses("until needs import", options=("--until", "1"))


@test
def changes_while_the_journal_was_off_are_a_hole():
    with Source() as source:
        before = source.set("a")
        source.tick(10)
        equal(source.call("CONFIG", "SET", "appendonly", "no"), OK)
        hidden = source.set("b")
        source.tick(10)
        equal(source.call("CONFIG", "SET", "appendonly", "yes"), OK)
        assert wait_for(lambda: source.info()["aof_base_size"] != "0")
        source.await_quiet()
        after = source.set("c")
        equal(value_at(source, before), bulk("a"))
        refuses(source, hidden, "in a hole of the journal", now=source.now)
        equal(value_at(source, after - 1), bulk("b"))
        equal(value_at(source, after), bulk("c"))


@test
def a_missing_kept_journal_is_reported():
    with Source() as source:
        first = source.set("a")
        source.tick()
        assert source.rewrite()
        second = source.set("b")
        os.remove(os.path.join(source.journal_dir, "appendonly.aof.1.incr.aof"))
        refuses(source, first, "appendonly.aof.1.incr.aof is missing", now=source.now)
        equal(value_at(source, second), bulk("b"))
        source.again()
        equal(value(source), bulk("b"))


def set_back(source):
    """Two writes, and half of the time between them a second time. The instant of the first."""
    first = source.set("a", 5)
    source.set("b", 100)
    source.now = source.clock("HOLD", first + 50)
    return first


@test
def a_clock_that_was_set_back_ends_the_start_at_its_first_pass():
    with Source() as source:
        first = set_back(source)
        source.set("c")
        equal(value_at(source, first + 60), bulk("a"))
        equal(value_at(source, first + 100), bulk("c"))


@test
def a_base_of_the_second_pass_hides_the_rest_of_the_first():
    with Source() as source:
        first = set_back(source)
        assert source.rewrite()
        third = source.set("c")
        source.tick(100)
        equal(value_at(source, first + 49), bulk("a"))
        equal(value_at(source, first + 50), bulk("b"))
        equal(value_at(source, third), bulk("c"))


@test
def journals_without_instants_are_replayed_whole_or_not_at_all():
    with Source() as source:
        since = source.now
        old = source.set("a")
        source.kill()
        path = source.segment()
        with open(path, "rb") as file:
            text = file.read()
        # An earlier version wrote no marks: make them other comments of the same length, and the
        # checksums fit.
        marks = re.findall(rb"#@[^\n]*\n", text)
        assert marks, text
        rewritten = text[:len(b"#EXPIRED-JOURNAL 2\r\n")]
        body = text[len(rewritten):]
        for record, _ in re.findall(rb"(.*?)(#[0-9a-f]{8}\r\n)", body, re.S):
            rewritten += re.sub(rb"#@[^\n]*\n", b"", record)
            rewritten += b"#%08x\r\n" % crc32c(rewritten)
        with open(path, "wb") as file:
            file.write(rewritten)
        source.start()
        refuses(source, old, "can't tell which changes", now=source.now)
        new = source.set("b")
        refuses(source, old, "can't tell which changes", now=source.now)
        equal(value_at(source, new), bulk("b"))
        assert since <= old


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    total = 0xffffffff
    for byte in data:
        total = total >> 8 ^ table[(total ^ byte) & 255]
    return total ^ 0xffffffff


# --- what is kept -------------------------------------------------------------------------------


def kept(source):
    return int(source.info()["aof_kept_files"])


@test
def replaced_files_are_kept_until_they_are_old():
    with Source(keep="1h") as source:
        first = source.set("a")
        assert source.rewrite()
        second = source.set("b")
        assert source.rewrite()
        equal(kept(source), 4)
        size = sum(os.path.getsize(os.path.join(source.data, name)) for name in source.files()
                   if re.search(r"\.[12]\.(base|incr)", name))
        equal(int(source.info()["aof_kept_size"]), size)
        source.again()
        equal(kept(source), 4)
        equal(value_at(source, first), bulk("a"))
        equal(value_at(source, second), bulk("b"))
        source.tick(3_600_000)
        assert wait_for(lambda: kept(source) == 0), source.log()
        assert not any(re.search(r"\.[12]\.(base|incr)", name) for name in source.files())
        equal(value(source), bulk("b"))


@test
def base_before_the_first_instant_to_reach_is_needed():
    with Source(keep="400ms") as source:
        first = source.set("a")
        source.tick(300)
        assert source.rewrite()
        second = source.set("b")
        source.tick(200)
        assert source.rewrite()
        equal(kept(source), 4)
        equal(value_at(source, first + 150), bulk("a"))
        equal(value_at(source, second), bulk("b"))
        source.tick(300)
        assert wait_for(lambda: kept(source) == 2), source.log()
        refuses(source, first + 150, "is before the first base", now=source.now)
        equal(value_at(source, second + 150), bulk("b"))


@test
def without_journal_keep_a_rewrite_removes_what_it_replaces():
    with Source(keep="0") as source:
        source.set("a")
        assert source.rewrite()
        equal((kept(source), len(source.files())), (0, 3), source.files())
        equal(source.call("CONFIG", "SET", "journal-keep", "1h"), OK)
        assert source.rewrite()
        equal((kept(source), len(source.files())), (2, 5), source.files())
        equal(source.call("CONFIG", "SET", "journal-keep", "0"), OK)
        assert wait_for(lambda: kept(source) == 0), source.log()
        equal(len(source.files()), 3)
        assert source.call("CONFIG", "SET", "journal-keep", "soon").startswith(b"-ERR")


@test
def a_copy_without_the_kept_files_is_complete():
    with Source() as source:
        source.set("a")
        assert source.rewrite()
        last = source.set("b")
        source.kill()
        for name in source.files():
            if re.search(r"\.1\.(base|incr)", name):
                os.remove(os.path.join(source.data, name))
        source.start()
        equal((value(source), kept(source)), (bulk("b"), 0))
        equal(value_at(source, last), bulk("b"))


def assert_checked(source):
    done = subprocess.run([CHECK, source.data], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def lose_power_at(number, least):
    """A rewrite, and then the removal of old files, with a loss of power before call `number`.
    Returns False if there were fewer calls."""
    with Source(power=True) as source:
        source.set("a")
        assert source.rewrite()
        first = source.set("b")
        source.plan.set(number, DIE_BEFORE, CHANGING)
        try:
            source.call("BGREWRITEAOF")
            source.await_quiet()
            source.call("CONFIG", "SET", "journal-keep", "1")
            source.tick(1000)
            wait_for(lambda: kept(source) == 0)
        except (OSError, AssertionError):
            pass
        if source.plan.acted == 0:
            assert number > least, source.plan.calls
            source.plan.heal()
            return False
        source.await_death()
        source.lose_power()
        source.plan.heal()
        source.start()
        equal(value(source), bulk("b"), f"before call {number}")
        assert_checked(source)
        with restored(source, source.now) as daemon:
            equal(value(daemon), bulk("b"), f"before call {number}")
        assert first < source.now
        return True


@test
def a_loss_of_power_while_files_are_kept_or_removed_loses_nothing():
    number, least = 1, 12
    while lose_power_at(number, least):
        number += 1
    print(f"power lost before each of {number - 1} calls")


@test
def kept_files_can_be_removed_on_a_full_disk():
    with Source(fault=True) as source:
        source.set("a")
        assert source.rewrite()
        equal(kept(source), 2)
        source.plan.set(1, ENOSPC, calls(WRITE), last=EVER)
        equal(source.call("CONFIG", "SET", "journal-keep", "0"), OK)
        assert wait_for(lambda: not any(re.search(r"\.1\.(base|incr)", name)
                                        for name in source.files())), source.files()
        source.plan.heal()
        equal(value(source), bulk("a"))
        source.again()
        equal((value(source), kept(source)), (bulk("a"), 0))


@test
def an_earlier_version_s_files_have_no_points_but_their_base():
    """Files of 0.1: their base can be reached, the journal behind it can not."""
    folder = os.path.join(ROOT, "tests/kept/0.1/journal")
    with Daemon() as daemon:
        copy = os.path.join(daemon.dir, "copy")
        shutil.copytree(folder, copy)
        refuses(copy, int(time.time() * 1000) - 1000, "can't tell which changes")
        refuses(copy, 1000, "is before the first base")


run(180)
