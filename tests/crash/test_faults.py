#!/usr/bin/python3 -B
"""Fails each system call of a run with rewrites and snapshots in turn: nothing acknowledged is lost,
no refused write exists, reads continue, and the daemon recovers by itself. The same run is also killed
at each call: everything acknowledged is there at the next start.

With fsync always, the power fails too: the files keep only what was synced, and data that a failed
sync did not write stays lost, whatever later syncs report.

The data is a list that grows by one number. Each number was acknowledged, refused, or neither if its
reply was held back or the connection broke.
"""
import concurrent.futures
import itertools
import os
import select
import time

from crash import (CALL_NAMES, CHANGING, CUT, DIE_BEFORE, DIE_BEHIND, EIO, ENOSPC, EVER, OPEN,
                   RENAME, SECONDS, SHORT, SYNC, WRITE, Budget, Kept, calls, encode, equal, run,
                   seeded, test, wait_for)

AT_ONCE = 4  # runs in parallel; most of their time they wait for the next attempt
OK_STATUS = "ok"


class Fault:
    """The calls that fail, and how."""

    def __init__(self, nth, what, which=CHANGING, last=None, fsync="always"):
        self.nth, self.what, self.which, self.last = nth, what, which, last
        self.fsync = fsync

    def __str__(self):
        what = {DIE_BEFORE: "killed before", DIE_BEHIND: "killed after", SHORT: "half a write at",
                ENOSPC: "ENOSPC at", EIO: "EIO at"}[self.what]
        names = [name for call, name in enumerate(CALL_NAMES) if self.which >> call & 1]
        return (f"{what} call {self.nth}{' and all later ones' if self.last else ''} of "
                f"{'+'.join(names)}, appendfsync {self.fsync}")

    @property
    def kills(self):
        return self.what in (DIE_BEFORE, DIE_BEHIND)


class Writer:
    """Appends numbers to the list, and notes which were acknowledged or refused."""

    def __init__(self, daemon):
        self.daemon, self.raw = daemon, daemon.raw()
        self.look = daemon.raw()
        self.next = 0
        self.acknowledged, self.refused, self.unsure, self.held = [], [], [], []

    def close(self):
        for raw in (self.raw, self.look, *(raw for raw, _ in self.held)):
            raw.close()

    def says_err(self):
        return b"aof_last_write_status:err" in self.look.call("INFO", "persistence")

    def put(self):
        """Appends a number. If its reply is held back, continues on a new connection."""
        self.next += 1
        self.unsure.append(self.next)
        self.raw.send(encode("RPUSH", "log", self.next))
        while not select.select([self.raw.socket], [], [], 0.02)[0]:
            if not self.says_err():
                continue
            if select.select([self.raw.socket], [], [], 0.05)[0]:
                break
            self.held.append((self.raw, self.next))
            self.raw = self.daemon.raw()
            return
        self.note(self.raw.reply(), self.next)

    def note(self, reply, number):
        self.unsure.remove(number)
        if reply[:1] == b":":
            self.acknowledged.append(number)
        else:
            assert reply.startswith(b"-MISCONF "), reply
            self.refused.append(number)

    def ask(self, *words):
        self.put()
        self.look.call(*words)
        for _ in range(3):
            self.put()

    def await_quiet(self):
        quiet = (b"aof_rewrite_in_progress:0", b"rdb_bgsave_in_progress:0")
        wait_for(lambda: all(word in self.look.call("INFO", "persistence") for word in quiet))

    def go(self):
        """Writes numbers between rewrites and snapshots."""
        for words in (("BGREWRITEAOF",), ("BGSAVE",), ("SAVE",), ("BGREWRITEAOF",),
                      ("BGREWRITEAOF",), ("PING",)):
            self.ask(*words)
            self.await_quiet()
            self.put()

    def await_recovery(self):
        """The daemon must recover by itself: INFO shows no error, and held-back and new writes are
        acknowledged."""
        assert wait_for(lambda: not self.says_err()), self.daemon.log()
        for raw, number in self.held:
            self.note(raw.reply(), number)
        self.put()
        equal(self.acknowledged[-1], self.next, self.daemon.log())

    def check(self):
        """The list must have every acknowledged number, and no refused one."""
        reply = self.daemon.redis().lrange("log", 0, -1)
        there = [int(number) for number in reply]
        equal(there, sorted(set(there)), "the order")
        lost = set(self.acknowledged) - set(there)
        assert not lost, f"lost: {sorted(lost)} of {there}, refused {self.refused}"
        extra = set(there) - set(self.acknowledged) - set(self.unsure)
        assert not extra, f"refused, and yet there: {sorted(extra)}"


def check_no_leftovers(daemon):
    """After a rewrite no file is left from failed attempts."""
    assert wait_for(daemon.rewrite), daemon.log()
    names = [name for name in daemon.files() if name.startswith("appendonlydir/")]
    equal(len(names), 3, f"{names}")
    assert not any("temp-" in name for name in names), names


def check_after_restart(daemon, writer):
    """Starts the daemon again without faults, and checks the data."""
    daemon.plan.heal()
    daemon.again()
    writer.daemon = daemon
    writer.check()
    live = daemon.digest()
    equal(daemon.call("DEBUG", "LOADAOF"), b"+OK\r\n", "DEBUG LOADAOF")
    equal(daemon.digest(), live, "DEBUG LOADAOF")
    equal(daemon.call("DEBUG", "RELOAD"), b"+OK\r\n", "DEBUG RELOAD")
    equal(daemon.digest(), live, "DEBUG RELOAD")
    check_no_leftovers(daemon)


def run_with(fault):
    """Runs the daemon with the fault; returns whether a call failed."""
    power = fault.fsync == "always"
    with Kept(fsync=fault.fsync, fault=True, power=power) as daemon:
        writer = Writer(daemon)
        daemon.plan.set(fault.nth, fault.what, fault.which, last=fault.last)
        try:
            writer.go()
        except OSError:
            if not fault.kills:
                raise
        acted = daemon.plan.acted > 0
        if not fault.kills:
            daemon.plan.heal()
            writer.await_recovery()
            daemon.kill()
        elif acted:
            daemon.await_death()
        else:
            daemon.kill()
        if power:
            daemon.plan.heal()
            daemon.lose_power()
        check_after_restart(daemon, writer)
        writer.close()
        return acted


def start_with(fault):
    """Starts the daemon with the fault: in a folder with a journal, with a snapshot only, or empty."""
    for left in ("journal", "snapshot", "nothing"):
        with Kept(fsync=fault.fsync, fault=True) as daemon:
            writer = Writer(daemon)
            if left != "nothing":
                writer.ask("SAVE")
                writer.put()
            if left == "snapshot":
                writer.look.call("SAVE")
            daemon.kill()
            if left != "journal":
                for name in daemon.files():
                    if left == "nothing" or name.startswith("appendonlydir"):
                        os.remove(os.path.join(daemon.data, name))
                os.rmdir(daemon.journal_dir)
            daemon.plan.set(fault.nth, fault.what, fault.which, last=fault.last)
            try:
                daemon.start()
            except (AssertionError, OSError):
                daemon.process = None
            check_after_restart(daemon, writer)
            writer.close()


def run_all(faults, how=run_with):
    """Runs all of these; returns in how many a call failed."""
    def one(fault):
        try:
            return how(fault)
        except Exception as error:
            raise AssertionError(f"{fault}: {error}") from error

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(one, fault) for fault in faults]
        try:
            return sum(bool(future.result()) for future in futures)
        finally:
            for future in futures:
                future.cancel()


def length_of_run(which, fsync):
    """How many calls a run without faults makes."""
    with Kept(fsync=fsync, fault=True) as daemon:
        writer = Writer(daemon)
        daemon.plan.count(which)
        writer.go()
        equal(writer.acknowledged, list(range(1, writer.next + 1)))
        made = daemon.plan.calls
        check_after_restart(daemon, writer)
        writer.close()
    return made


def sample(faults, seed, least, how=run_with):
    """Runs `least` of them, chosen at random. `make crash` runs all while there is time."""
    rng = seeded(seed)
    faults = list(faults)
    rng.shuffle(faults)
    budget = Budget(0.12)
    failed = 0
    while faults and budget.more(1):
        most = AT_ONCE * 4 if SECONDS else least
        failed += run_all(faults[:most], how)
        faults = faults[most:]
    return failed


def nths(which=CHANGING, fsync="always"):
    return range(1, length_of_run(which, fsync) + 1)


@test
def one_call_fails():
    assert sample((Fault(nth, what) for nth, what in
                   itertools.product(nths(), (ENOSPC, EIO))), "once", 24) > 0


@test
def all_calls_fail_from_the_nth_on():
    assert sample((Fault(nth, what, last=EVER, fsync=fsync) for nth, what, fsync in
                   itertools.product(nths(), (ENOSPC, EIO), ("always", "everysec"))),
                  "ever", 16) > 0


@test
def one_kind_of_call_fails_from_the_nth_on():
    faults = []
    for kind in (WRITE, SYNC, RENAME, OPEN, CUT):
        faults += [Fault(nth, EIO, calls(kind), last=EVER) for nth in nths(calls(kind))]
    assert sample(faults, "kind", 20) > 0


@test
def writes_fall_short():
    assert sample((Fault(nth, SHORT, calls(WRITE), last=last, fsync=fsync) for nth, last, fsync in
                   itertools.product(nths(calls(WRITE)), (None, EVER), ("always", "everysec"))),
                  "short", 12) > 0


@test
def daemon_is_killed_at_any_call():
    assert sample((Fault(nth, what, fsync=fsync) for nth, what, fsync in
                   itertools.product(nths(), (DIE_BEFORE, DIE_BEHIND), ("always", "everysec"))),
                  "death", 30) > 0


@test
def start_fails_or_is_killed_at_any_call():
    whats = (ENOSPC, EIO, DIE_BEFORE, DIE_BEHIND)
    sample((Fault(nth, what, last=last) for nth, what, last in
            itertools.product(range(1, 30), whats, (None, EVER))
            if last is None or what in (ENOSPC, EIO)), "start", 16, start_with)


@test
def failed_rewrite_is_retried_at_growing_intervals():
    """After 100, 200 and 400 ms. Only lower bounds are asserted, which hold on a slow machine too."""
    with Kept(fault=True) as daemon:
        with daemon.raw() as writer:
            daemon.plan.set(1, EIO, calls(SYNC), last=EVER)
            began = time.monotonic()
            writer.send(encode("RPUSH", "log", 1))
            # The journal's sync, and one of each rewrite, which ends at its first sync: that of the folder.
            assert wait_for(lambda: daemon.plan.acted >= 5), daemon.plan.acted
            waited = time.monotonic() - began
            daemon.plan.heal()
            equal(writer.reply(), b":1\r\n", daemon.log())
        assert waited >= 0.69, f"four rewrites in {waited:.3f} s:\n{daemon.log()}"


run()
