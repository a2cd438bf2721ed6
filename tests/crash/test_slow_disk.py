#!/usr/bin/python3 -B
"""A disk whose syncs and removals take long: a rewrite of the journal takes long, but reads do not wait,
and the daemon executes requests in the middle of it."""
import contextlib
import os
import shutil
import signal
import time

from crash import (COME_LATE, CUT, EVER, FIRST_PROCESS, HOLD, REMOVE, SYNC, Daemon, Kept, calls, equal, run,
                   test, wait_for)

SLOW = calls(SYNC, REMOVE)
OK = b"+OK\r\n"
STEPS = 9  # syncs and removals of a rewrite, not counting those of its child


@contextlib.contextmanager
def kept():
    with Kept("--enable-protected-configs", "yes", fsync="no", fault=True) as daemon, daemon.raw() as raw:
        raw.calls([("SET", f"k{i}", i) for i in range(1000)])
        yield daemon, raw


@contextlib.contextmanager
def amid(number):
    """A daemon in a rewrite whose call `number` takes a while."""
    with kept() as (daemon, raw):
        daemon.plan.set(number, COME_LATE, SLOW, late=300_000, whose=FIRST_PROCESS)
        assert raw.call("BGREWRITEAOF").startswith(b"+"), daemon.log()
        assert wait_for(lambda: daemon.plan.acted == 1), f"a rewrite has less than {number} calls"
        equal(raw.call("SET", "amid", number), OK)
        yield daemon, raw


def rests(daemon):
    """Does the main thread neither run nor become ready to for a while?"""
    def ran():
        with open(f"/proc/{daemon.process.pid}/schedstat", encoding="ascii") as file:
            return file.read()
    before = ran()
    return not wait_for(lambda: ran() != before, 0.05)


def check_listed(daemon):
    """Each file of the journal is in its manifest."""
    with open(daemon.journal_dir + "/appendonly.aof.manifest", encoding="ascii") as file:
        text = file.read()
    names = [name for name in os.listdir(daemon.journal_dir) if not name.endswith(".manifest")]
    equal([name for name in names if f"file {name} " not in text], [])


def check_restart(daemon):
    live = daemon.digest()
    daemon.again()
    equal(daemon.digest(), live)


@test
def reads_do_not_wait_for_a_rewrite_and_writes_for_one_sync():
    late = 0.6
    with kept() as (daemon, raw):
        before, longest = daemon.files(), {"PING": 0, "SET": 0, "GET": 0}
        daemon.plan.set(1, COME_LATE, calls(SYNC, REMOVE, CUT), last=EVER, late=int(late * 1e6))
        assert raw.call("BGREWRITEAOF").startswith(b"+"), daemon.log()
        while daemon.info()["aof_rewrite_in_progress"] == "1":
            for words in (("PING",), ("SET", "k", "v"), ("GET", "k")):
                began = time.monotonic()
                raw.call(*words)
                longest[words[0]] = max(longest[words[0]], time.monotonic() - began)
        assert daemon.plan.acted >= STEPS, daemon.plan.acted
        assert longest["PING"] < late / 2 and longest["GET"] < late / 2, longest
        assert longest["SET"] < 2 * late, longest
        daemon.plan.heal()
        assert len(daemon.files()) == 3 and not set(before[:-1]) & set(daemon.files()), daemon.files()
        check_restart(daemon)


@test
def journal_is_turned_off_and_on_amid_each_call():
    for number in range(1, STEPS + 1):
        with amid(number) as (daemon, raw):
            equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
            equal(raw.call("SET", "without", "v"), OK)
            equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
            equal(raw.call("SET", "with", "v"), OK)
            assert wait_for(lambda: daemon.info()["aof_enabled"] == "1")
            daemon.await_quiet()
            equal(len(daemon.files()), 3, daemon.files())
            check_restart(daemon)


@test
def files_of_the_folder_moved_to_stay():
    for number in range(4, STEPS + 1):
        with amid(number) as (daemon, raw):
            other = os.path.join(daemon.dir, "other")
            shutil.copytree(daemon.journal_dir, other + "/appendonlydir")
            with open(other + "/appendonlydir/appendonly.aof.77.incr.aof", "wb") as file:
                file.write(b"#EXPIRED-JOURNAL 1\r\n")
            there = sorted(os.listdir(other + "/appendonlydir"))
            equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
            # At once, unless the rewrite's child is slower than the thread.
            assert wait_for(lambda: raw.call("CONFIG", "SET", "dir", other) == OK)
            daemon.stop()  # which waits for the thread
            equal(sorted(os.listdir(other + "/appendonlydir")), there, number)


@test
def commands_about_files_are_served_in_the_middle_of_each_call():
    for number in range(1, STEPS + 1):
        with amid(number) as (daemon, raw):
            reply = raw.call("BGREWRITEAOF")
            assert b"in progress" in reply or reply.startswith(b"+"), reply
            assert raw.call("BGSAVE", "SCHEDULE").startswith(b"+Background saving")
            equal(raw.call("DEBUG", "LOADAOF"), OK)
            equal(raw.call("GET", "amid"), b"$1\r\n%d\r\n" % number)
            daemon.await_quiet()
            check_listed(daemon)
            check_restart(daemon)


@test
def shutdown_and_kill_amid_each_call_lose_nothing():
    for number in range(1, STEPS + 1):
        for end in ("stop", "kill"):
            with amid(number) as (daemon, _):
                live = daemon.digest()
                getattr(daemon, end)()
                daemon.start()
                equal(daemon.digest(), live, (number, end))
                check_listed(daemon)


@test
def shutdown_after_a_full_copy_amid_a_sweep_keeps_the_copy():
    with Daemon("--repl-diskless-sync-delay", "0", tcp=True) as master, kept() as (daemon, raw):
        with master.raw() as to_master:
            equal(to_master.call("SET", "copied", "v"), OK)
        daemon.plan.set(1, HOLD, calls(REMOVE), whose=FIRST_PROCESS)
        assert raw.call("BGREWRITEAOF").startswith(b"+"), daemon.log()
        assert wait_for(lambda: daemon.plan.acted == 1), "nothing is removed"
        equal(raw.call("REPLICAOF", "127.0.0.1", master.port), OK)
        assert wait_for(lambda: daemon.info("replication")["master_link_status"] == "up"), daemon.log()
        daemon.process.send_signal(signal.SIGTERM)
        assert wait_for(lambda: "Received a signal to stop" in daemon.log())
        assert wait_for(lambda: rests(daemon))  # it waits for the sweep; if it did not, a base is written
        daemon.plan.heal()
        daemon.process.wait()
        daemon.again()
        equal(daemon.call("GET", "copied"), b"$1\r\nv\r\n")
        check_listed(daemon)


run()
