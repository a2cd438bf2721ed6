#!/usr/bin/python3 -B
"""A full disk, as a small file system or as a limit to file sizes: acknowledged data stays, writes are
refused, reads continue, and writes succeed again when there is space."""
import contextlib
import os
import resource
import select
import subprocess

from crash import (EIO, ENOSPC, EVER, FREE_SPACE, OPEN, WRITE, Budget, Kept, Skipped, calls, encode, equal, happens,
                   run, seeded, test, wait_for)
from process import PATIENCE

OK = b"+OK\r\n"
LIMIT = 1 << 19  # bytes


class SmallDisk:
    """A tmpfs of its own for the data."""

    def __init__(self, daemon):
        self.daemon = daemon

    def begin(self):
        data = os.path.join(self.daemon.dir, "data")
        os.makedirs(data)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "crash", data],
                          capture_output=True, check=False).returncode != 0:
            raise Skipped("no file system may be mounted here")

    def end(self):
        subprocess.run(["umount", "-l", os.path.join(self.daemon.dir, "data")],
                       capture_output=True, check=False)

    def fill(self):
        pass

    def heal(self):
        subprocess.run(["mount", "-o", "remount,size=64m", self.daemon.data], check=True)


class SmallFiles:
    """A limit to the size of the daemon's files. Beyond it the kernel also sends a signal."""

    def __init__(self, daemon):
        self.daemon = daemon

    def begin(self):
        pass

    def end(self):
        pass

    def fill(self):
        self.limit(LIMIT)

    def heal(self):
        self.limit(resource.RLIM_INFINITY)

    def limit(self, size):
        pid = self.daemon.process.pid
        hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


class OnDisk(Kept):
    """A daemon whose data is on the small disk."""

    def __init__(self, kind, *options, **how):
        super().__init__(*options, **how)
        self.disk, self.begun = kind(self), False

    def start(self):
        if not self.begun:
            self.disk.begin()
            self.begun = True
        super().start()

    def clean(self):
        self.kill()
        self.disk.end()
        super().clean()


def fill(daemon, rng, acknowledged):
    """Writes until the disk is full. Returns the connection that got no reply, and its request."""
    raw, size = daemon.raw(), rng.choice((1500, 3000, 30_000))
    number = len(acknowledged)
    while True:
        number += 1
        value = rng.randbytes(size)
        raw.send(encode("SET", f"k{number}", value))
        while not select.select([raw.socket], [], [], 0.2)[0]:
            if daemon.info()["aof_last_write_status"] == "err" and not raw.pending:
                return raw, number, value
        equal(raw.reply(), OK)
        acknowledged[number] = value


def check(daemon, acknowledged):
    with daemon.redis() as client:
        for number, value in acknowledged.items():
            equal(client.get(f"k{number}"), value, f"k{number}")


def refuses_and_serves(daemon, acknowledged):
    assert daemon.call("SET", "other", "x").startswith(b"-MISCONF Errors writing to the AOF"), "SET"
    assert daemon.call("DEL", "k1").startswith(b"-MISCONF"), "DEL"
    equal(daemon.info()["aof_last_write_status"], "err")
    check(daemon, acknowledged)


def fill_and_heal(kind, fsync, seed):
    rng = seeded(seed, kind.__name__, fsync)
    with OnDisk(kind, fsync=fsync) as daemon:
        acknowledged = {}
        daemon.disk.fill()
        raw, number, value = fill(daemon, rng, acknowledged)
        refuses_and_serves(daemon, acknowledged)
        if rng.randrange(2):
            daemon.call("BGREWRITEAOF")
            daemon.call("BGSAVE")
            refuses_and_serves(daemon, acknowledged)
        daemon.disk.heal()
        equal(raw.reply(), OK, "who waited is answered")
        acknowledged[number] = value
        assert wait_for(lambda: daemon.call("SET", "other", "x") == OK), daemon.log()
        equal(daemon.info()["aof_last_write_status"], "ok")
        daemon.await_quiet()
        raw.close()
        daemon.again()
        check(daemon, acknowledged)
        equal(daemon.call("GET", "other"), b"$1\r\nx\r\n")
        assert daemon.rewrite(), daemon.log()
        live = daemon.digest()
        equal(daemon.call("DEBUG", "LOADAOF"), OK)
        equal(daemon.digest(), live)


def fill_and_crash(kind, fsync, seed):
    rng = seeded(seed, kind.__name__, fsync)
    with OnDisk(kind, fsync=fsync) as daemon:
        acknowledged = {}
        daemon.disk.fill()
        raw, number, value = fill(daemon, rng, acknowledged)
        with contextlib.closing(raw):
            daemon.again()  # on the same disk, which is still full
        check(daemon, acknowledged)
        reply = daemon.call("GET", f"k{number}")
        assert reply in (b"$-1\r\n", b"$%d\r\n%s\r\n" % (len(value), value)), reply[:80]
        daemon.disk.heal()
        assert wait_for(lambda: daemon.call("SET", "other", "x") == OK), daemon.log()
        daemon.again()
        check(daemon, acknowledged)


def each(how, kind):
    budget = Budget(0.2)
    while budget.more(1):
        for fsync in ("always", "everysec", "no"):
            how(kind, fsync, budget.done)


@test
def full_disk_stops_changes_until_there_is_room():
    each(fill_and_heal, SmallDisk)


@test
def file_size_limit_stops_changes_until_it_is_raised():
    each(fill_and_heal, SmallFiles)


@test
def crash_on_a_full_disk_loses_nothing_acknowledged():
    each(fill_and_crash, SmallDisk)


@test
def crash_at_a_file_size_limit_loses_nothing_acknowledged():
    each(fill_and_crash, SmallFiles)


@test
def client_lost_on_a_full_disk_does_not_keep_the_loop_busy():
    with OnDisk(SmallFiles, fsync="everysec") as daemon:
        daemon.disk.fill()
        raw, _, _ = fill(daemon, seeded("leaves"), {})
        raw.close()
        before = int(daemon.info("stats")["eventloop_cycles"])
        daemon.call("CLIENT", "PAUSE", "300")
        daemon.call("PING")  # is answered when the pause ends
        turns = int(daemon.info("stats")["eventloop_cycles"]) - before
        daemon.disk.heal()
        assert turns < 200, f"{turns} turns"


@test
def writes_resume_with_space_however_often_a_rewrite_failed():
    with OnDisk(SmallDisk, fsync="everysec") as daemon:
        raw, _, _ = fill(daemon, seeded("rewrite"), {})
        with contextlib.closing(raw):
            daemon.call("BGREWRITEAOF")
            assert wait_for(lambda: "Trying again in 3.2 s" in daemon.log()), daemon.log()
            daemon.disk.heal()
            # The next try of the rewrite would make room later.
            assert happens(lambda: daemon.call("SET", "other", "x") == OK, 2 * PATIENCE), daemon.log()


@test
def a_retry_does_not_wait_for_space_that_it_cannot_compare():
    with Kept(fault=True, appendonly="no") as daemon:
        daemon.plan.set(1, ENOSPC, calls(WRITE, FREE_SPACE), last=EVER)
        daemon.call("BGSAVE")
        assert wait_for(lambda: "Trying again in 0.1 s" in daemon.log()), daemon.log()
        assert "Trying again in 0.1 s, or once there is more space" not in daemon.log(), daemon.log()
        daemon.plan.heal()


@test
def flushall_ends_on_a_full_disk_and_frees_it():
    with OnDisk(SmallDisk, fsync="everysec") as daemon, daemon.raw() as raw:
        raw.calls([("SET", f"k{number}", bytes(50_000)) for number in range(12)])
        replies = raw.calls([("MULTI",), ("SET", "big", bytes(1 << 20)), ("FLUSHALL",), ("EXEC",)])
        equal(replies[-1], b"*2\r\n" + 2 * OK)
        equal(raw.call("SET", "k", bytes(400_000)), OK)
        daemon.again()
        equal(daemon.call("DBSIZE"), b":1\r\n")


@test
def a_rewrite_that_failed_begins_again():
    with Kept(fault=True) as daemon:
        daemon.plan.set(1, EIO, calls(OPEN))
        daemon.call("BGREWRITEAOF")
        assert wait_for(lambda: daemon.info()["aof_rewrites"] == "1"), daemon.log()
        assert "Rewriting the journal failed" in daemon.log()


run()
