#!/usr/bin/python3 -B
"""Start with data: replies while the daemon loads, expiry of overdue keys, removal of leftover files, files of version
0.1."""
import errno
import os
import shutil
import subprocess
import time

from crash import (DIE_BEFORE, DIE_BEHIND, EIO, EVER, FIRST_PROCESS, LARGE_KEYS, LOADING, LOCK, NOON, READ, ROOT,
                   Budget, Kept, await_rewritten, calls, encode, equal, fill_large, run, seeded, start_slowly, test,
                   wait_for)
from daemon import free_port
from sentinels import DOWN_MSEC, Sentinel

OK = b"+OK\r\n"
MANY = 20_000
OLD = os.path.join(ROOT, "tests", "kept", "0.1", "journal")
DIGEST_0_1 = b"+20fc6c29e446d8fc95e0350f96ced7d0\r\n"  # as in tests/e2e/files/test_kept.py
CHECK = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools", "expired-check")
WRITES = 5  # in each form of the journal


@test
def clients_get_LOADING_while_the_daemon_loads():
    with Kept(fsync="no", fault=True) as daemon:
        fill_large(daemon)
        daemon.kill()
        start_slowly(daemon)
        with daemon.raw() as raw:
            for words in (("PING",), ("SET", "a", "b"), ("GET", "k1")):
                equal(raw.call(*words), LOADING, words)
        daemon.plan.heal()
        daemon.await_loaded()
        equal(daemon.call("DBSIZE"), b":%d\r\n" % LARGE_KEYS)


@test
def a_sentinel_considers_a_loading_daemon_alive():
    port = free_port()
    with Kept("--port", str(port), fsync="no", fault=True) as daemon:
        fill_large(daemon)
        with Sentinel(port, quorum=1) as sentinel:
            assert wait_for(lambda: sentinel.master()["flags"] == "master")
            daemon.kill()
            start_slowly(daemon, late=400_000)
            # For longer than the sentinel would wait for a daemon that does not answer.
            assert wait_for(lambda: int(daemon.info("server")["uptime_in_seconds"]) >= 3)
            assert wait_for(lambda: sentinel.master()["flags"] == "master" and
                            int(sentinel.master()["last-ok-ping-reply"]) < DOWN_MSEC)
            equal(daemon.call("PING"), LOADING)
        daemon.plan.heal()
        daemon.await_loaded()


@test
def daemon_stopped_while_loading_leaves_its_files_alone():
    for way in ("signal", "command"):
        with Kept("--save", "3600 1", fsync="no", fault=True) as daemon:
            fill_large(daemon)
            daemon.call("SAVE")
            daemon.kill()
            before = {name: os.path.getsize(os.path.join(daemon.data, name))
                      for name in daemon.files()}
            start_slowly(daemon)
            if way == "command":
                with daemon.raw() as raw:
                    raw.send(encode("SHUTDOWN"))
                    raw.rest()
                process, daemon.process = daemon.process, None
                equal(process.wait(), 0)
            else:
                daemon.stop()
            daemon.plan.heal()
            equal({name: os.path.getsize(os.path.join(daemon.data, name))
                   for name in daemon.files()}, before, way)
            daemon.start()
            equal(daemon.call("DBSIZE"), b":%d\r\n" % LARGE_KEYS)


@test
def overdue_keys_expire_after_loading_with_events_and_records():
    with Kept("--notify-keyspace-events", "Ex", fsync="no", fault=True) as daemon:
        at = daemon.hold() + 1000
        with daemon.raw() as raw:
            raw.send(b"".join(encode("SET", f"k{number}", b"x" * 150, "PXAT", at)
                              for number in range(MANY)))
            for _ in range(MANY):
                equal(raw.reply(), OK)
            raw.call("SET", "lasting", "x")
            raw.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
        daemon.again()
        with daemon.raw() as raw:
            raw.call("SUBSCRIBE", "__keyevent@0__:expired")
            equal(daemon.call("DBSIZE"), b":%d\r\n" % (MANY + 1))
            daemon.hold(at)
            equal(daemon.call("DBSIZE"), b":%d\r\n" % (MANY + 1))
            daemon.hold(at + 1)
            names = {raw.reply().split(b"\r\n")[-2] for _ in range(MANY)}
            equal(len(names), MANY)
        equal(daemon.call("DBSIZE"), b":1\r\n")
        equal(daemon.info("stats")["expired_keys"], f"{MANY}")
        live = daemon.digest()
        daemon.again()
        equal(daemon.call("DBSIZE"), b":1\r\n", "their records are in the journal")
        daemon.hold(at + 1)
        equal(daemon.digest(), live)


@test
def keys_overdue_at_the_start_expire_in_the_first_turns():
    with Kept("--notify-keyspace-events", "Ex", fsync="no", fault=True) as daemon:
        at = int(time.time() * 1000)
        daemon.hold(at - 1)
        with daemon.raw() as raw:
            raw.send(b"".join(encode("SET", f"k{number}", b"x" * 1500, "PXAT", at)
                              for number in range(MANY)))
            raw.send(encode("SADDEX", "set", "PXAT", at, "MEMBERS", 1, "m"))
            for _ in range(MANY + 1):
                raw.reply()
        daemon.kill()
        start_slowly(daemon)
        with daemon.raw() as raw:
            raw.call("SUBSCRIBE", "__keyevent@0__:expired")
            daemon.plan.heal()
            names = {raw.reply().split(b"\r\n")[-2] for _ in range(MANY)}
            equal(len(names), MANY, "who subscribed during the loading hears of all")
        assert wait_for(lambda: daemon.call("DBSIZE") == b":0\r\n"), daemon.call("DBSIZE")
        with daemon.raw() as raw:
            equal(raw.call("DEBUG", "CHECK"), OK)
        daemon.again()
        equal(daemon.info("stats")["expired_keys"], "0", "they died before, and for good")


@test
def downtime_does_not_extend_deadlines():
    with Kept(fsync="no") as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            for words in (("SET", "key", "v", "PX", 5000), ("HSET", "hash", "f", "v"),
                          ("HPEXPIRE", "hash", 5000, "FIELDS", 1, "f"),
                          ("SADDEX", "set", "PX", 5000, "MEMBERS", 1, "m"),
                          ("ZADDEX", "zset", "PX", 5000, 1, "m"),
                          ("REDE.PUSH", "rede", 5000, "payload", "id"),
                          ("REDE.PUSH", "claims", 0, "payload", "id"),
                          ("REDE.CLAIM", "claims", 5000)):
                assert not raw.call(*words).startswith(b"-"), words
        asked = (("PEXPIRETIME", "key"), ("HPEXPIRETIME", "hash", "FIELDS", 1, "f"),
                 ("SPEXPIRETIME", "set", "MEMBERS", 1, "m"),
                 ("ZPEXPIRETIME", "zset", "MEMBERS", 1, "m"),
                 ("REDE.RANGE", "rede", 0, NOON * 2), ("REDE.RANGE", "claims", 0, NOON * 2))
        answers = [daemon.call(*words) for words in asked]
        for way in ("kill", "rewrite", "snapshot"):
            if way == "rewrite":
                assert daemon.rewrite()
            if way == "snapshot":
                equal(daemon.call("DEBUG", "RELOAD"), OK)
            else:
                daemon.again()
            daemon.hold(NOON + 4000)
            for words, answer in zip(asked, answers):
                equal(daemon.call(*words), answer, f"{words} after {way}")
        daemon.again()
        daemon.hold(NOON + 5001)
        for key in ("key", "hash", "set", "zset"):
            equal(daemon.call("EXISTS", key), b":0\r\n", key)
        equal(daemon.call("REDE.LEN", "rede", "DUE"), b":1\r\n")
        equal(daemon.call("REDE.LEN", "claims", "DUE"), b":1\r\n", "its lease is over")


@test
def start_removes_files_that_a_crash_left():
    with Kept(fsync="no") as daemon:
        daemon.call("SET", "a", "1")
        daemon.kill()
        left = ("appendonlydir/temp-appendonly.aof.manifest", "appendonlydir/appendonly.aof.7.incr.aof",
                "appendonlydir/temp-appendonly.aof.9.base.exp", "temp-dump.exp",
                "appendonlydir/appendonly.aof.9.base.exp", "appendonlydir/temp-appendonly.aof.first")
        kept = ("appendonlydir/notes.txt", "temp-other", "appendonlydir/other.aof.1.base.exp",
                "appendonlydir/appendonly.aof.8.incr.aof", "appendonlydir/appendonly.aof.3.base.exp")
        for name in left + kept:
            content = b"x" * 100
            if name in left and "first" in name:
                content = b""
            elif name in left:
                content = b"#EXPIRED-JOURNAL 1\r\n" if "incr" in name else bytes(100)
            with open(os.path.join(daemon.data, name), "wb") as file:
                file.write(content)
        daemon.start()
        equal(daemon.call("GET", "a"), b"$1\r\n1\r\n")
        names = daemon.files()
        equal([name for name in left if name in names], [], "swept")
        equal([name for name in kept if name not in names], [], "not ours")


@test
def start_without_a_journal_names_the_journal_that_is_there():
    warning = "Starting without the data of the journal in "
    with Kept(fsync="no", appendonly="no") as daemon:
        assert warning not in daemon.log(), daemon.log()
        daemon.appendonly = "yes"
        daemon.again()
        equal(daemon.call("SET", "k", "v"), b"+OK\r\n")
        daemon.appendonly = "no"
        daemon.again()
        equal(daemon.call("EXISTS", "k"), b":0\r\n")
        assert f"{warning}{daemon.data}/appendonlydir, because appendonly is no" in daemon.log(), daemon.log()
        daemon.appendonly = "yes"
        daemon.again()
        equal(daemon.call("EXISTS", "k"), b":1\r\n")


@test
def failed_reload_changes_nothing():
    with Kept(fault=True) as daemon, daemon.raw() as raw:
        for number in range(100):
            raw.call("SADDEX", f"k{number}", "EX", 100000, "MEMBERS", 1, "m")
        equal(raw.call("POLICY", "SET", "x*", "TTL", "100000"), OK)
        equal(raw.call("SAVE"), OK)
        live, info = daemon.digest(), daemon.info()
        daemon.plan.set(1, EIO, calls(READ), last=EVER)
        for how in ("LOADAOF", "RELOAD"):
            reply = raw.call("DEBUG", how)
            assert reply.startswith(b"-ERR"), reply
            equal(daemon.digest(), live, how)
        daemon.plan.heal()
        with open(daemon.segment(), "r+b") as file:
            whole = file.read()
            file.seek(len(whole) // 2)
            file.write(b"x")
        reply = raw.call("DEBUG", "LOADAOF")
        assert b"is damaged" in reply, reply
        equal(daemon.digest(), live)
        with open(daemon.segment(), "r+b") as file:
            file.write(whole)
        for name in ("aof_base_size", "loading", "rdb_changes_since_last_save"):
            equal(daemon.info()[name], info[name], name)
        equal(raw.call("DEBUG", "LOADAOF"), OK)
        equal(daemon.digest(), live)
        equal(raw.call("SET", "after", "1"), OK)
        live = daemon.digest()
        daemon.again()
        equal(daemon.digest(), live)


class Rival(Kept):
    """A second daemon with the data folder of another one."""

    def __init__(self, other, appendonly):
        super().__init__(fsync="no", appendonly=appendonly)
        self.other = other

    def arguments(self):
        return [*super().arguments(), "--dir", self.other.data]


@test
def second_daemon_with_a_journal_in_one_folder_does_not_start():
    with Kept() as daemon:
        equal(daemon.call("SET", "k", "v"), OK)
        with Rival(daemon, "no") as rival:
            assert "Another expired uses" in rival.log(), rival.log()
            equal(rival.call("DBSIZE"), b":0\r\n")
            reply = rival.call("CONFIG", "SET", "appendonly", "yes")
            assert reply.startswith(b"-ERR CONFIG SET failed"), reply
            rival.stop()
            rival.appendonly = "yes"
            before = daemon.files()
            rival.refuses("another expired uses", daemon.data, "Set another dir")
            equal(daemon.files(), before)
            equal(daemon.call("SET", "l", "v"), OK)
            daemon.kill()
            rival.start()
            equal(rival.call("EXISTS", "k", "l"), b":2\r\n", "after the first one was killed")


@test
def start_waits_for_the_lock_of_a_dying_child():
    with Kept(fault=True) as daemon:
        equal(daemon.call("SET", "k", "v"), OK)
        daemon.kill()
        daemon.plan.set(1, errno.EWOULDBLOCK, calls(LOCK), last=5)
        daemon.start()
        equal(daemon.plan.acted, 5)
        equal(daemon.call("EXISTS", "k"), b":1\r\n")
        daemon.kill()
        daemon.plan.set(1, errno.EWOULDBLOCK, calls(LOCK), last=EVER)
        daemon.refuses("another expired uses", daemon.data, "Set another dir")
        daemon.plan.heal()
        daemon.start()


# ---- files of version 0.1 ---------------------------------------------------------------------

# The server continues such a journal in the first form, rewrites it into the second form, and writes on.

class Old(Kept):
    """The first start begins with the old folder."""

    def start(self):
        if self.plan is None:
            shutil.copytree(OLD, os.path.join(self.dir, "data"))
        super().start()

    def versions(self):
        """Of its journals, in their order."""
        names = [name for name in os.listdir(self.journal_dir) if name.endswith(".incr.aof")]
        found = []
        for name in sorted(names, key=lambda name: int(name.split(".")[2])):
            with open(os.path.join(self.journal_dir, name), "rb") as file:
                found.append(file.read(18)[-1:])
        return found


def write(daemon, numbers, sure):
    for number in numbers:
        equal(daemon.call("SET", f"since{number}", "v"), OK)
        sure.append(number)


def go_on(daemon, sure):
    """A start, writes in the first form, a rewrite, writes in the second form, a stop."""
    daemon.start()
    equal(daemon.versions(), [b"1"])
    write(daemon, range(WRITES), sure)
    equal(daemon.call("BGREWRITEAOF")[:1], b"+")
    await_rewritten(daemon)
    write(daemon, range(WRITES, 2 * WRITES), sure)
    equal(daemon.versions(), [b"2"])
    daemon.stop()


def check_old_data(daemon, sure):
    """Starts the daemon, and stops it."""
    daemon.start()
    for number in sure:
        equal(daemon.call("GET", f"since{number}"), b"$1\r\nv\r\n", number)
    daemon.call("DEL", *(f"since{number}" for number in range(2 * WRITES)))
    equal(daemon.digest(), DIGEST_0_1)
    daemon.stop()
    said = subprocess.run([CHECK, "--deep", daemon.data], capture_output=True, text=True, check=False)
    equal(said.returncode, 0, said.stdout + said.stderr)


def steps():
    """The number of calls from the start to the stop."""
    with Old(fault=True) as daemon:
        daemon.kill()
        daemon.plan.count(whose=FIRST_PROCESS)
        sure = []
        go_on(daemon, sure)
        count = daemon.plan.calls
        equal(len(sure), 2 * WRITES)
        check_old_data(daemon, sure)
    return count


def kill_at(number, how):
    with Old(fault=True) as daemon:
        daemon.kill()
        daemon.plan.set(number, how, whose=FIRST_PROCESS)
        sure = []
        try:
            go_on(daemon, sure)
        except (AssertionError, ConnectionError, OSError):
            if daemon.plan.acted == 0:
                raise
        if daemon.plan.acted > 0 and daemon.process is not None:  # None: it died in stop()
            daemon.await_death()
        daemon.plan.heal()
        check_old_data(daemon, sure)


@test
def kill_at_each_step_from_the_first_form_to_the_second_loses_nothing():
    count, budget = steps(), Budget()
    assert count > 4 * WRITES, count
    points = [(number, how) for number in range(1, count + 1) for how in (DIE_BEFORE, DIE_BEHIND)]
    seeded("points").shuffle(points)
    while budget.more(12):
        kill_at(*points[(budget.done - 1) % len(points)])


run()
