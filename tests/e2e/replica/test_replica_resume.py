#!/usr/bin/python3 -B
"""After a restart a server continues with exactly the offset that its data has, whatever a crash, a backup or
another setting has left of its files."""
import os
import shutil
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import beside_redis, equal, main, oracle, own, wait_for
from followers import await_caught_up, await_linked, call, follow, offset, role
from restarts import (
    FULL, JOURNAL, PARTIAL, SNAPSHOT, Asked, await_base, check_equal, kill, nodes, terminate, write)

PING = b"*1\r\n$4\r\nPING\r\n"
BACKLOG = "dump.exp.backlog"
RECORD_BYTES = 4096  # a journal record with more is ended by the transaction that reaches them

# --- the offset is that of the data --------------------------------------------------------------


def last_segment(node):
    folder = os.path.join(node.dir, "appendonlydir")
    names = [name for name in os.listdir(folder) if ".incr." in name]
    return os.path.join(folder, max(names, key=lambda name: int(name.split(".")[-3])))


class Saved:
    """The journal of a node as it is now."""

    def __init__(self, node):
        self.node, self.copy = node, node.dir + "/saved"
        shutil.copytree(node.dir + "/appendonlydir", self.copy)

    def restore(self, cut=0):
        """Puts it back, without the last bytes of its last segment."""
        shutil.rmtree(self.node.dir + "/appendonlydir")
        shutil.copytree(self.copy, self.node.dir + "/appendonlydir")
        os.truncate(last_segment(self.node), os.path.getsize(last_segment(self.node)) - cut)


def write_units(server, name):
    """Transactions, scripts and several databases, so that a wrong place would be seen."""
    with server.raw() as raw:
        for i in range(20):
            raw.calls([["SELECT", i % 3], ["MULTI"], ["RPUSH", "list", f"{name}:{i}"], ["INCR", "sum"], ["EXEC"],
                       ["EVAL", "redis.call('RPUSH', 'list', ARGV[1]); redis.call('APPEND', 'text', ARGV[1])", 0, i],
                       ["PUBLISH", "channel", "message"],
                       ["SADDEX", "set", 1000, "FIELDS", 1, f"{name}:{i}"]])
        raw.calls([["SELECT", 5], ["RPUSH", "last", name]])


def write_where_it_was(server, name):
    """The stream does not select this database again."""
    with server.raw() as raw:
        raw.calls([["SELECT", 5], ["RPUSH", "last", name]])


@own
def replica_continues_from_any_torn_end_of_its_journal():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        await_base(replica)
        write_units(master, "first")
        await_caught_up(master, replica)
        replica.kill()
        saved = Saved(replica)
        write_where_it_was(master, "away")
        for cut in (1, 11, 12, 60, 100, 101, 150, 333, 777, 1500, 2000):
            saved.restore(cut)
            asked = Asked(master)
            replica.start()
            equal(asked.outcome(replica), PARTIAL, f"{cut} bytes cut off")
            check_equal(master, replica)
            replica.kill()
        replica.start()


@own
def replica_that_is_told_to_follow_after_its_start_continues_in_the_database_of_the_stream():
    with nodes(2, JOURNAL) as (master, replica):
        follow(replica, master)
        await_base(replica)
        write_units(master, "first")
        await_caught_up(master, replica)
        replica.kill()
        write_where_it_was(master, "away")
        replica.start()
        asked = Asked(master)
        follow(replica, master)
        equal(asked.outcome(replica), PARTIAL)
        check_equal(master, replica)


@own
def replica_continues_after_a_unit_that_fills_a_record():
    """The record ends with this unit, before anything later could give it a position."""
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        await_base(replica)
        write_units(master, "first")
        for size in (RECORD_BYTES, 10 * RECORD_BYTES):
            call(master, "RPUSH", "list", "x" * size)
            await_caught_up(master, replica)
            asked = Asked(master)
            replica.kill()
            replica.start()
            equal(asked.outcome(replica), PARTIAL)
            check_equal(master, replica)


@own
def replica_continues_after_its_journal_was_rewritten():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        await_base(replica)
        for stop in (terminate, kill):
            write_units(master, "first")
            equal(call(replica, "BGREWRITEAOF"), b"Background append only file rewriting started")
            write_units(master, "meanwhile")
            await_caught_up(master, replica)
            asked = Asked(master)
            stop(replica)
            write_where_it_was(master, "away")
            replica.start()
            equal(asked.outcome(replica), PARTIAL)
            check_equal(master, replica)


@own
def replica_whose_journal_was_off_continues_from_the_end_of_that():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        await_base(replica)
        write_units(master, "first")
        await_caught_up(master, replica)
        equal(call(replica, "CONFIG", "SET", "appendonly", "no"), b"OK")
        write_units(master, "without a journal")
        await_caught_up(master, replica)
        asked = Asked(master)
        replica.kill()
        replica.start()
        equal(asked.outcome(replica), PARTIAL)
        check_equal(master, replica)


@own
def replica_without_a_journal_then_with_one_continues_from_its_snapshot():
    with nodes(2, SNAPSHOT) as (master, replica):
        replica.behind(master)
        write_units(master, "first")
        await_caught_up(master, replica)
        for _ in range(2):
            asked = Asked(master)
            replica.stop()
            replica.options = ["--repl-diskless-sync-delay", "0", *JOURNAL]
            write_where_it_was(master, "away")
            replica.start()
            equal(asked.outcome(replica), PARTIAL)
            check_equal(master, replica)


@own
def replica_that_is_killed_before_the_base_of_its_copy_is_written_has_the_masters_data():
    with nodes(2, JOURNAL) as (master, replica):
        write_units(master, "first")
        replica.behind(master)
        await_base(replica)
        write_units(master, "second")
        await_caught_up(master, replica)
        call(replica, "REPLICAOF", "NO", "ONE")
        call(replica, "SET", "alone", "x")
        write_units(master, "third")
        follow(replica, master)  # by a full copy, because it has written
        replica.kill()
        replica.start()
        await_linked(replica)
        check_equal(master, replica)
        equal(call(replica, "EXISTS", "alone"), 0)


@own
def master_that_starts_with_older_data_gives_full_copies_to_those_that_have_more():
    with nodes(3, JOURNAL) as (master, ahead, behind):
        for replica in (ahead, behind):
            replica.behind(master)
            await_base(replica)
        write_units(master, "first")
        await_caught_up(master, ahead, behind)
        behind.stop()
        saved = Saved(master)
        write_units(master, "lost")
        await_caught_up(master, ahead)
        master.kill()
        saved.restore()
        master.start()
        write_units(master, "other")  # so that its offset is beyond that of `ahead`
        write_units(master, "more")
        asked = Asked(master, restarts=True)
        equal(asked.outcome(ahead), FULL)
        check_equal(master, ahead)
        asked = Asked(master)
        behind.start()
        equal(asked.outcome(behind), PARTIAL)
        check_equal(master, behind)


@own
def backlog_that_a_stop_has_left_is_used_once():
    with nodes(2, JOURNAL) as (master, replica):
        path = os.path.join(master.dir, BACKLOG)
        replica.behind(master)
        write_units(master, "first")
        await_caught_up(master, replica)
        terminate(replica)
        write_units(master, "missed")
        for _ in range(2):
            master.stop()
            assert os.path.exists(path)
            master.start()
            assert not os.path.exists(path)
        asked = Asked(master)
        replica.start()
        equal(asked.outcome(replica), PARTIAL)
        write_where_it_was(master, "last")
        check_equal(master, replica)


@own
def backlog_that_is_damaged_or_not_of_the_data_is_ignored():
    def flip(data, at):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    with nodes(2, JOURNAL) as (master, replica):
        path = os.path.join(master.dir, BACKLOG)
        replica.behind(master)
        await_base(replica)
        write_units(master, "first")
        await_caught_up(master, replica)
        replica.kill()
        saved = Saved(replica)
        write_units(master, "missed")
        master.stop()
        with open(path, "rb") as file:
            good = file.read()
        whole = Saved(master)
        for bad in (b"", good[:13], good[:30], bytes(len(good)), good[:-1], good + b"x", flip(good, 40),
                    flip(good, len(good) - 500), flip(good, len(good) - 3)):
            with open(path, "wb") as file:
                file.write(bad)
            master.start()
            assert not os.path.exists(path), bad[:40]
            asked = Asked(master)
            replica.start()
            equal((asked.outcome(replica), len(bad)), (FULL, len(bad)))
            check_equal(master, replica)
            replica.kill()
            master.kill()
            saved.restore()
            whole.restore()
        with open(path, "wb") as file:
            file.write(good)
        master.start()
        asked = Asked(master)
        replica.start()
        equal(asked.outcome(replica), PARTIAL)
        check_equal(master, replica)


@own
def file_of_another_program_with_the_backlogs_name_stays():
    with nodes(2, JOURNAL) as (master, replica):
        path = os.path.join(master.dir, BACKLOG)
        replica.behind(master)
        write_units(master, "first")
        with open(path, "w", encoding="ascii") as file:
            file.write("mine")
        for _ in range(2):
            master.again(terminate)
        with open(path, encoding="ascii") as file:
            equal(file.read(), "mine")
        assert f"Can't keep the backlog in {master.dir}/{BACKLOG}: a file of that name" in master.log(), master.log()


@own
def replicas_of_an_idle_master_that_is_killed_continue():
    with nodes(2, (*JOURNAL, "--repl-ping-replica-period", "1")) as (master, replica):
        replica.behind(master)
        write_units(master, "first")
        began = offset(master)
        assert wait_for(lambda: offset(replica) >= began + 2 * len(PING))
        master.kill()
        master.start()
        equal(Asked(master, restarts=True).outcome(replica), PARTIAL)
        check_equal(master, replica)


@own
def replicas_of_a_master_that_is_killed_after_wait_continue():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        write_units(master, "first")
        with master.raw() as raw:
            equal(raw.calls([["SET", "k", "v"], ["WAIT", 1, 0]]), [b"+OK\r\n", b":1\r\n"])
        master.kill()
        master.start()
        equal(Asked(master, restarts=True).outcome(replica), PARTIAL)
        check_equal(master, replica)


@own
def old_master_that_starts_as_a_master_first_continues_unless_it_writes():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        write_units(master, "first")
        await_caught_up(master, replica)
        for wrote, wanted in ((False, PARTIAL), (True, FULL)):
            master.kill()
            replica.behind(None)
            write_units(replica, "promoted")
            master.master = None
            for _ in range(2):
                master.start()
                if wrote:
                    call(master, "SET", "alone", "x")
                master.kill()
            master.start()
            asked = Asked(replica)
            master.behind(replica)
            equal(asked.outcome(master), wanted)
            check_equal(replica, master)
            await_base(master)
            master, replica = replica, master  # and now the other way round


@own
def replica_that_is_ahead_of_the_middle_of_its_chain_waits_for_it():
    with nodes(3, JOURNAL) as (master, middle, last):
        middle.behind(master)
        last.behind(middle)
        await_base(middle)
        write_units(master, "first")
        await_caught_up(master, middle)
        saved = Saved(middle)
        write_units(master, "second")
        await_caught_up(master, middle, last)
        middle.kill()
        saved.restore(cut=20)
        middle.start()
        equal(Asked(middle, restarts=True).outcome(middle, last), PARTIAL)
        write_where_it_was(master, "last")
        check_equal(master, middle, last)


@own
def policies_of_the_configuration_do_not_change_a_replica_that_continues():
    with nodes(2, JOURNAL) as (master, replica):
        replica.behind(master)
        await_base(replica)
        replica.options += ["--policy", "session:*", "TTL", "1000"]
        asked = Asked(master)
        replica.again(terminate)
        equal(asked.outcome(replica), PARTIAL)
        equal(call(replica, "POLICY", "LIST"), call(master, "POLICY", "LIST"))
        check_equal(master, replica)


# --- an upgrade ----------------------------------------------------------------------------------


class Writer:
    """Appends numbers to a list, one after the other, at whichever server is the master."""

    def __init__(self, *servers):
        self.servers, self.sure, self.tried, self.stopped = servers, [], 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.stopped:
            for server in self.servers:
                try:
                    with server.raw() as raw:
                        self.write_to(raw)
                except OSError:
                    pass  # it is away

    def write_to(self, raw):
        while not self.stopped:
            self.tried += 1
            if not raw.call("RPUSH", "numbers", self.tried).startswith(b":"):
                return
            self.sure.append(b"%d" % self.tried)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()


def hand_over(old, new):
    equal(call(old, "FAILOVER", "TO", "127.0.0.1", new.port), b"OK")
    assert wait_for(lambda: role(new)[0] == b"master"), new.log()
    old.master, new.master = new, None
    await_linked(old)


@own
def upgrade_by_failover_loses_no_write_and_needs_no_full_copy():
    with nodes(2, JOURNAL) as (one, two):
        two.behind(one)
        await_base(two)
        with Writer(one, two) as writer:
            for master, replica in ((one, two), (two, one)):
                replica.again(terminate)
                await_linked(replica)
                hand_over(master, replica)
                began = len(writer.sure)
                assert wait_for(lambda begin=began: len(writer.sure) > begin)
        check_equal(one, two)
        kept = call(one, "LRANGE", "numbers", 0, -1)
        there = set(kept)
        equal([number for number in writer.sure if number not in there], [])
        equal(len(set(kept)), len(kept))
        equal(one.log().count("Full copy from the master loaded"), 0)
        equal(two.log().count("Full copy from the master loaded"), 1)


# --- with Redis ----------------------------------------------------------------------------------


@beside_redis
def replica_of_a_redis_continues_after_its_restart():
    with nodes(1, (), oracle()) as (master,), nodes(1, JOURNAL) as (replica,):
        replica.behind(master)
        await_base(replica)
        for stop in (terminate, kill):
            write(master, stop.__name__)
            await_caught_up(master, replica)
            asked = Asked(master)
            stop(replica)
            write(master, "away")
            replica.start()
            equal(asked.outcome(replica), PARTIAL)
            await_caught_up(master, replica)
            equal(call(replica, "LRANGE", "list", 0, -1), call(master, "LRANGE", "list", 0, -1))


@beside_redis
def redis_continues_with_a_master_that_restarts():
    with nodes(1, JOURNAL) as (master,), nodes(1, (), oracle()) as (replica,):
        replica.behind(master)
        for stop in (terminate, kill):
            write(master, stop.__name__)
            await_caught_up(master, replica)
            master.again(stop)
            equal(Asked(master, restarts=True).outcome(replica), PARTIAL)
            write(master, "last")
            await_caught_up(master, replica)
            equal(call(replica, "LRANGE", "list", 0, -1), call(master, "LRANGE", "list", 0, -1))


if __name__ == "__main__":
    main(seconds=120)
