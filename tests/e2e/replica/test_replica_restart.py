#!/usr/bin/python3 -B
"""Restarts of masters and replicas: who continues with the stream, and who gets a full copy. Each row of
the table in doc/replication.md is run with the daemon and with redis-server."""
import os
import shutil
import sys
from contextlib import ExitStack, contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (
    BINARY, ROOT, Daemon, beside_redis, equal, main, oracle, own, plain, read_reply, wait_for)
from followers import SECONDS, await_caught_up, await_linked, call, follow, offset

JOURNAL = ("--appendonly", "yes")
SNAPSHOT = ("--save", "3600 1000000")  # written by SAVE, and at a clean stop
PARTIAL, FULL = "continues", "full copy"
PING = b"*1\r\n$4\r\nPING\r\n"


class Node(Daemon):
    """A server that restarts with its port and its role."""

    def __init__(self, *options, **how):
        super().__init__("--repl-diskless-sync-delay", "0", *options, tcp=True, **how)
        self.master = None

    def __exit__(self, kind, value, trace):
        if self.binary == BINARY:
            super().__exit__(kind, value, trace)
        else:
            self.clean()

    def arguments(self):
        more = ("--replicaof", f"127.0.0.1 {self.master.port}") if self.master else ()
        return [*super().arguments(), *more]

    def start(self):
        if not self.port:
            super().start()
            return
        self.launch()
        assert self.is_ready(), "it did not start again:\n" + self.log()
        assert wait_for(lambda: not self.said("PING").startswith("LOADING"), SECONDS)

    def again(self, stop):
        stop(self)
        self.start()

    def behind(self, master):
        """Follows it, now and after restarts. None: is a master."""
        self.master = master
        if master:
            follow(self, master)
        else:
            call(self, "REPLICAOF", "NO", "ONE")

    def said(self, *words):
        with self.raw() as raw:
            return str(plain(read_reply(raw.call(*words))[0]))

    def stats(self):
        """Full copies, and continuations, that others have asked it for."""
        text = call(self, "INFO", "stats").decode()
        found = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
        return int(found["sync_full"]), int(found["sync_partial_ok"])


def await_base(node):
    """After a full copy the journal begins with a base of the new data."""
    def is_written():
        text = call(node, "INFO", "persistence")
        return b"aof_rewrite_in_progress:0" in text and b"aof_rewrite_scheduled:0" in text
    assert wait_for(is_written, SECONDS), node.log()


def terminate(node):
    await_base(node)
    node.stop()


def kill(node):
    await_base(node)
    node.kill()


@contextmanager
def nodes(count, options, binary=BINARY):
    with ExitStack() as stack:
        yield [stack.enter_context(Node(*options, binary=binary)) for _ in range(count)]


def write(server, name, count=50):
    with server.raw() as raw:
        raw.calls([["RPUSH", "list", f"{name}:{i}"] for i in range(count)])
        raw.calls([["SET", f"{name}:{i}", i] for i in range(count)])


def check_equal(master, *replicas):
    await_caught_up(master, *replicas)
    for replica in replicas:
        equal(call(replica, "DEBUG", "DIGEST"), call(master, "DEBUG", "DIGEST"))


class Asked:
    """Tells how the replicas that come to this server get its stream."""

    def __init__(self, server, restarts=False):
        self.server, self.before = server, (0, 0) if restarts else server.stats()

    def outcome(self, *replicas):
        await_linked(*replicas)
        full, partial = (now - before for now, before in zip(self.server.stats(), self.before))
        assert full + partial > 0, self.server.log()
        return FULL if full else PARTIAL


# --- what the table shows ------------------------------------------------------------------------


def replica_restarts(stop, options, binary):
    """Writes go on while it is away."""
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        asked = Asked(master)
        stop(replica)
        write(master, "away")
        replica.start()
        found = asked.outcome(replica)
        write(master, "last")
        check_equal(master, replica)
        return found


def replica_has_an_older_snapshot(stop, options, binary):
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        equal(call(replica, "SAVE"), b"OK")
        write(master, "after the snapshot")
        await_caught_up(master, replica)
        asked = Asked(master)
        replica.again(stop)
        found = asked.outcome(replica)
        check_equal(master, replica)
        return found


def replica_wrote_as_a_master(stop, options, binary):
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        replica.master = None
        replica.again(stop)
        write(replica, "alone", 1)
        replica.master = master
        asked = Asked(master)
        replica.again(stop)
        found = asked.outcome(replica)
        check_equal(master, replica)
        return found


def master_restarts(stop, options, binary, times=1):
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        with replica.stopped() if times > 1 else ExitStack():
            for _ in range(times):
                master.again(stop)
        asked = Asked(master, restarts=True)
        found = asked.outcome(replica)
        write(master, "last")
        check_equal(master, replica)
        return found


def master_restarts_twice(stop, options, binary):
    return master_restarts(stop, options, binary, times=2)


def master_restarts_while_a_replica_is_away(stop, options, binary):
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        terminate(replica)
        write(master, "away")
        master.again(stop)
        asked = Asked(master, restarts=True)
        replica.start()
        found = asked.outcome(replica)
        write(master, "last")
        check_equal(master, replica)
        return found


def brother_restarts_after_a_failover(stop, options, binary):
    """The brother of the promoted replica was away, and knows only the id of the old master."""
    with nodes(3, options, binary) as (master, replica, brother):
        replica.behind(master)
        brother.behind(master)
        write(master, "first")
        await_caught_up(master, replica, brother)
        stop(brother)
        replica.behind(None)
        write(replica, "promoted")
        brother.master = replica
        asked = Asked(replica)
        brother.start()
        found = asked.outcome(brother)
        check_equal(replica, brother)
        return found


def old_master_restarts_as_a_replica(stop, options, binary):
    with nodes(2, options, binary) as (master, replica):
        replica.behind(master)
        write(master, "first")
        await_caught_up(master, replica)
        stop(master)
        replica.behind(None)
        write(replica, "promoted")
        master.master = replica
        asked = Asked(replica)
        master.start()
        found = asked.outcome(master)
        check_equal(replica, master)
        return found


def middle_of_a_chain_restarts(stop, options, binary):
    """How the last one of the chain continues with the middle one."""
    with nodes(3, options, binary) as (master, middle, last):
        middle.behind(master)
        last.behind(middle)
        write(master, "first")
        await_caught_up(master, middle, last)
        stop(middle)
        write(master, "away")
        middle.start()
        await_linked(middle)
        asked = Asked(middle, restarts=True)
        found = asked.outcome(last)
        write(master, "last")
        check_equal(master, middle, last)
        return found


# Of each row: its text, the scenario, how the server ends, its options; what we do, and what Redis does.
ROWS = [
    ("a replica stops and starts; journal",
     replica_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("the same; snapshot only",
     replica_restarts, terminate, SNAPSHOT, PARTIAL, PARTIAL),
    ("a replica is killed (`kill -9`) and starts; journal",
     replica_restarts, kill, JOURNAL, PARTIAL, FULL),
    ("the same; an older snapshot only",
     replica_has_an_older_snapshot, kill, SNAPSHOT, PARTIAL, PARTIAL),
    ("a replica was started as a master, written to, and is a replica again; journal",
     replica_wrote_as_a_master, terminate, JOURNAL, FULL, FULL),
    ("the same; snapshot only",
     replica_wrote_as_a_master, terminate, SNAPSHOT, FULL, FULL),
    ("a master stops and starts, its replicas stay; journal",
     master_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("the same; snapshot only",
     master_restarts, terminate, SNAPSHOT, PARTIAL, PARTIAL),
    ("a master stops and starts twice before its replica returns; journal",
     master_restarts_twice, terminate, JOURNAL, PARTIAL, FULL),
    ("a master stops and starts while a replica is away that has missed writes; journal",
     master_restarts_while_a_replica_is_away, terminate, JOURNAL, PARTIAL, FULL),
    ("the same; snapshot only",
     master_restarts_while_a_replica_is_away, terminate, SNAPSHOT, PARTIAL, FULL),
    ("the same, killed; journal",
     master_restarts_while_a_replica_is_away, kill, JOURNAL, FULL, FULL),
    ("a master is killed and starts; journal",
     master_restarts, kill, JOURNAL, PARTIAL, FULL),
    ("the same; snapshot only",
     master_restarts, kill, SNAPSHOT, FULL, FULL),
    ("after a failover the promoted replica's brother starts, which knows the old ID; journal",
     brother_restarts_after_a_failover, kill, JOURNAL, PARTIAL, FULL),
    ("after a failover the killed master starts as a replica; journal",
     old_master_restarts_as_a_replica, kill, JOURNAL, PARTIAL, FULL),
    ("the middle of a chain stops and starts: the replica behind it; journal",
     middle_of_a_chain_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("the same, killed",
     middle_of_a_chain_restarts, kill, JOURNAL, PARTIAL, FULL),
]


def add_row(number, text, scenario, stop, options, ours, theirs):
    def run():
        equal((scenario(stop, options, BINARY), scenario(stop, options, oracle())), (ours, theirs), text)
    name = " ".join([scenario.__name__, stop.__name__, "journal" if options is JOURNAL else "snapshot"])
    run.__name__ = f"row_{number}_{name}".replace(" ", "_")
    beside_redis(run)


for index, row in enumerate(ROWS, 1):
    add_row(index, *row)


@own
def table_of_the_page_has_these_rows():
    with open(os.path.join(ROOT, "doc", "replication.md"), encoding="utf-8") as page:
        text = page.read()
    table = text[text.index("## Restarts"):].split("|---|---|---|\n")[1].split("\n\n")[0]
    wanted = [f"| {text} | {ours} | {theirs} |" for text, _, _, _, ours, theirs in ROWS]
    equal(table.split("\n"), wanted)


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


BACKLOG = "dump.exp.backlog"


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
        for bad in (b"", good[:30], good[:-1], good + b"x", flip(good, 40), flip(good, len(good) - 500),
                    flip(good, len(good) - 3)):
            with open(path, "wb") as file:
                file.write(bad)
            master.start()
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
        assert wait_for(lambda: offset(replica) >= began + 2 * len(PING), SECONDS)
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
            equal(raw.calls([["SET", "k", "v"], ["WAIT", 1, 10000]]), [b"+OK\r\n", b":1\r\n"])
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
