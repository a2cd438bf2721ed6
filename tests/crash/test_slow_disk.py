#!/usr/bin/python3 -B
"""A disk whose syncs and removals take long: a rewrite of the journal takes long, but reads do not wait,
and the daemon executes requests in the middle of it."""
import contextlib
import os
import select
import shutil
import signal

from crash import (COME_LATE, CUT, EVER, FIRST_PROCESS, HOLD, REMOVE, SYNC, Daemon, Kept, calls, encode, equal, happens,
                   run, test, wait_for)

SLOW = calls(SYNC, REMOVE)
SLOW_OR_CUT = calls(SYNC, REMOVE, CUT)
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


def arrived(raw):
    """Has a part of a reply arrived?"""
    return select.select([raw.socket], [], [], 0)[0] or raw.pending


def rests(daemon):
    """Does the main thread neither run nor become ready to for a while?"""
    def ran():
        with open(f"/proc/{daemon.process.pid}/schedstat", encoding="ascii") as file:
            return file.read()
    before = ran()
    return not happens(lambda: ran() != before, 0.05)


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
def reads_do_not_wait_for_any_call_of_a_rewrite():
    number = most = 1
    while number <= most:
        with kept() as (daemon, raw):
            if number == 1:
                daemon.plan.count(SLOW_OR_CUT, whose=FIRST_PROCESS)
                assert daemon.rewrite(), daemon.log()
                most = daemon.plan.calls
                assert most >= STEPS, most
            with held(daemon, number, SLOW_OR_CUT) as begun:
                assert raw.call("BGREWRITEAOF").startswith(b"+"), daemon.log()
                assert begun(), (number, most)
                equal(raw.calls([("PING",), ("GET", "k1")]), [b"+PONG\r\n", b"$1\r\n1\r\n"])
        number += 1


@test
def writes_wait_for_one_call_of_a_rewrite_and_not_for_all():
    with kept() as (daemon, raw):
        before, writes = daemon.files(), 0
        daemon.plan.set(1, COME_LATE, SLOW_OR_CUT, last=EVER, late=200_000)
        assert raw.call("BGREWRITEAOF").startswith(b"+"), daemon.log()
        while daemon.info()["aof_rewrite_in_progress"] == "1":
            equal(raw.call("SET", "k", "v"), OK)
            writes += 1
        assert daemon.plan.acted >= STEPS, daemon.plan.acted
        assert writes >= STEPS // 2, writes  # one that waited for all calls would be the only one
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


@contextlib.contextmanager
def held(daemon, number, which=calls(SYNC)):
    """Holds the sync or other call with this number, from now on, of the daemon but its children. The block has to
    begin it."""
    daemon.plan.set(number, HOLD, which, whose=FIRST_PROCESS)
    yield lambda: wait_for(lambda: daemon.plan.acted == 1)
    daemon.plan.heal()


def syncs_of_turning_on(daemon, raw):
    daemon.plan.count(calls(SYNC), whose=FIRST_PROCESS)
    equal(raw.call("CONFIG", "SET", "appendonly", "yes"), OK)
    daemon.await_quiet()
    return daemon.plan.calls


@test
def turning_the_journal_on_makes_no_other_client_wait_for_a_sync():
    for exists in (False, True):
        number = most = 1
        while number <= most:
            with Kept(fsync="no", fault=True, appendonly="no") as daemon, daemon.raw() as raw, daemon.raw() as other:
                equal(raw.call("SET", "k", "v"), OK)
                if exists:
                    syncs_of_turning_on(daemon, raw)
                    equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
                if number == 1:
                    most = syncs_of_turning_on(daemon, raw)
                    assert most > 2, most
                    equal(raw.call("CONFIG", "SET", "appendonly", "no"), OK)
                    if not exists:
                        shutil.rmtree(daemon.journal_dir)
                with held(daemon, number) as begun:
                    raw.send(encode("CONFIG", "SET", "appendonly", "yes"))
                    assert begun(), (exists, number, most)
                    equal(other.call("PING"), b"+PONG\r\n")
                equal(raw.reply(), OK)
                equal(other.call("SET", "l", "v"), OK)
                daemon.await_quiet()
                daemon.appendonly = "yes"
                check_restart(daemon)
            number += 1


def unsynced():
    """A daemon that does not sync what is written."""
    return Kept(fsync="no", fault=True)


@test
def turning_the_journal_off_makes_no_other_client_wait_for_a_sync():
    for number in (1, 2, 3):  # of the journal, the manifest and its folder
        with unsynced() as daemon, daemon.raw() as raw, daemon.raw() as other:
            equal(raw.call("SET", "k", "v"), OK)
            with held(daemon, number) as begun:
                raw.send(encode("CONFIG", "SET", "appendonly", "no"))
                assert begun(), number
                equal(other.call("GET", "k"), b"$1\r\nv\r\n")
            equal(raw.reply(), OK)
            equal(daemon.info()["aof_enabled"], "0")
            equal(other.call("SET", "l", "v"), OK)
            daemon.again()
            equal((daemon.call("EXISTS", "k"), daemon.call("EXISTS", "l")), (b":1\r\n", b":0\r\n"))


@test
def change_during_the_last_sync_is_answered_once_the_journal_is_off():
    with unsynced() as daemon, daemon.raw() as raw, daemon.raw() as other:
        equal(raw.call("SET", "k", "v"), OK)
        with held(daemon, 1) as begun:
            raw.send(encode("CONFIG", "SET", "appendonly", "no"))
            assert begun()
            other.send(encode("SET", "l", "v"))
            assert wait_for(lambda: daemon.call("EXISTS", "l") == b":1\r\n")
            equal(other.heard(), b"", "before the journal is off")
        equal((raw.reply(), other.reply()), (OK, OK))
        equal(daemon.info()["aof_enabled"], "0")


@test
def journal_goes_on_if_the_client_that_turns_it_off_leaves():
    with unsynced() as daemon, daemon.raw() as other:
        with held(daemon, 1) as begun:
            with daemon.raw() as raw:
                equal(raw.call("SET", "k", "v"), OK)
                raw.send(encode("CONFIG", "SET", "appendonly", "no"))
                assert begun()
                other.send(encode("SET", "l", "v"))
                assert wait_for(lambda: daemon.call("EXISTS", "l") == b":1\r\n")
            assert wait_for(lambda: daemon.info("clients")["blocked_clients"] == "0")
        equal(other.reply(), OK)
        equal(daemon.info()["aof_enabled"], "1")
        check_restart(daemon)


@test
def stop_while_the_journal_is_turned_off_keeps_all_changes():
    with unsynced() as daemon, daemon.raw() as raw, daemon.raw() as other:
        equal(raw.call("SET", "k", "v"), OK)
        with held(daemon, 1) as begun:
            raw.send(encode("CONFIG", "SET", "appendonly", "no"))
            assert begun()
            other.send(encode("SET", "l", "v"))
            assert wait_for(lambda: daemon.call("EXISTS", "l") == b":1\r\n")
            live = daemon.digest()
            daemon.process.send_signal(signal.SIGTERM)
            assert wait_for(lambda: "Received a signal to stop" in daemon.log())
        daemon.process.wait()
        daemon.again()
        equal(daemon.digest(), live)


@test
def exec_waits_for_the_disk_alone_and_may_be_given_up():
    turn_on = [("MULTI",), ("SET", "k", "v"), ("CONFIG", "SET", "appendonly", "yes"), ("EXEC",)]
    with Kept(fsync="no", fault=True, appendonly="no") as daemon, daemon.raw() as other:
        with held(daemon, 1) as begun:
            with daemon.raw() as raw:
                raw.send(b"".join(encode(*words) for words in turn_on))
                assert begun()
                equal(other.call("EXISTS", "k"), b":0\r\n")
            assert wait_for(lambda: other.call("CLIENT", "LIST").count(b"\nid=") == 1)
        equal((other.call("EXISTS", "k"), daemon.info()["aof_enabled"]), (b":0\r\n", "0"))
        equal(other.calls(turn_on)[-1], b"*2\r\n+OK\r\n+OK\r\n")
        daemon.await_quiet()
        daemon.appendonly = "yes"
        check_restart(daemon)


@test
def turning_the_journal_off_waits_alone_for_a_step_of_a_rewrite():
    with kept() as (daemon, raw), daemon.raw() as other:
        with held(daemon, 1) as begun:
            equal(raw.call("BGREWRITEAOF")[:1], b"+")
            assert begun()
            raw.send(encode("CONFIG", "SET", "appendonly", "no"))
            assert wait_for(lambda: daemon.info("clients")["blocked_clients"] == "1")
            equal(other.call("GET", "k1"), b"$1\r\n1\r\n")
        equal(raw.reply(), OK)
        equal(daemon.info()["aof_enabled"], "0")


@test
def files_of_the_folder_moved_to_stay():
    for number in range(4, STEPS + 1):
        with amid(number) as (daemon, raw):
            other = os.path.join(daemon.dir, "other")
            shutil.copytree(daemon.journal_dir, other + "/appendonlydir")
            with open(other + "/appendonlydir/appendonly.aof.77.incr.aof", "wb") as file:
                file.write(b"#EXPIRED-JOURNAL 2\r\n")
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


@test
def write_that_changes_nothing_waits_for_the_change_it_relies_on():
    writes = (("SADD", "s", "m"), ("SETNX", "k", "v"), ("POLICY", "SET", "p:*", "TTL", "5"),
              ("EVAL", "return redis.call('sadd', 's', 'm')", "0"), ("REDE.PUSHAT", "d", "99999999999999", "e", "p"),
              ("EVAL", "return redis.call('exists', 'k') == 0 and redis.call('set', 'k', 'v')", "0"))
    for write in writes:
        with (Kept(fsync="always", fault=True) as daemon, daemon.raw() as raw, daemon.raw() as other,
              daemon.raw() as reader):
            name = b" cmd=" + (b"policy|set" if write[0] == "POLICY" else write[0].lower().encode())
            with held(daemon, 1) as begun:
                raw.send(encode(*write))
                assert begun(), write
                other.send(encode(*write))
                assert wait_for(lambda: reader.call("CLIENT", "LIST").count(name) == 2), write
                equal(reader.call("EXISTS", "s", "k", "d"), b":%d\r\n" % (write[0] != "POLICY"))
                assert not happens(lambda: arrived(other), 0.1), (write, other.pending)
            first, second = raw.reply(), other.reply()
            assert (first == second) == (write[0] == "POLICY"), (write, first, second)


@test
def exec_that_a_watched_key_stops_waits_if_it_would_write():
    for write in (("INCR", "n"), ("EVAL", "return redis.call('incr', 'n')", 0)):
        with (Kept(fsync="always", fault=True) as daemon, daemon.raw() as raw, daemon.raw() as writer,
              daemon.raw() as reader):
            equal(writer.calls([("WATCH", "k"), ("MULTI",), write]), [OK, OK, b"+QUEUED\r\n"])
            equal(reader.calls([("WATCH", "k"), ("MULTI",), ("GET", "n")]), [OK, OK, b"+QUEUED\r\n"])
            with held(daemon, 1) as begun:
                raw.send(encode("SET", "k", "v"))
                assert begun()
                writer.send(encode("EXEC"))
                equal(reader.call("EXEC"), b"*-1\r\n")
                assert not happens(lambda: arrived(writer), 0.1), (write, writer.pending)
            equal(writer.reply(), b"*-1\r\n")


@test
def script_that_may_not_write_waits_for_no_change():
    script = "return redis.call('exists', 'k')"
    with Kept(fsync="always", fault=True) as daemon, daemon.raw() as raw, daemon.raw() as other:
        with held(daemon, 1) as begun:
            raw.send(encode("SET", "k", "v"))
            assert begun()
            equal(other.call("EVAL_RO", script, 0), b":1\r\n")
            equal(other.call("EVAL", "#!lua flags=no-writes\n" + script, 0), b":1\r\n")


@test
def client_that_reads_while_its_reply_waits_for_a_sync_lets_the_daemon_rest():
    big = 8 << 20  # more than a socket holds
    with Kept(fsync="always", fault=True) as daemon, daemon.raw() as raw, daemon.raw() as other:
        other.call("SET", "big", "x" * big)
        raw.send(encode("GET", "big"))
        raw.more()  # so the daemon has filled the socket
        daemon.plan.set(1, HOLD, calls(SYNC))
        raw.send(encode("SET", "k", "v"))
        assert wait_for(lambda: daemon.plan.acted == 1)
        raw.take()  # now there is room
        assert len(raw.pending) < big
        assert wait_for(lambda: rests(daemon)), "it runs while nothing is to be done"
        daemon.plan.heal()
        equal([len(reply) for reply in raw.replies(2)], [len(b"$%d\r\n\r\n" % big) + big, len(OK)])


run()
