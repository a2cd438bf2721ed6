#!/usr/bin/python3 -B
"""Restarts of masters and replicas: who continues with the stream, and who gets a full copy. Each row of
the table in doc/replication.md is run with the daemon and with redis-server."""
import os
import sys
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, beside_redis, equal, main, oracle, own
from followers import await_caught_up, await_linked, call
from restarts import FULL, JOURNAL, PARTIAL, SNAPSHOT, Asked, check_equal, kill, nodes, terminate, write


# --- what the table shows ------------------------------------------------------------------------


def replica_restarts(stop, options, binary):
    """Writes continue while it is away."""
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


def sibling_restarts_after_a_failover(stop, options, binary):
    """A sibling of the promoted replica was away, and knows only the id of the old master."""
    with nodes(3, options, binary) as (master, replica, sibling):
        replica.behind(master)
        sibling.behind(master)
        write(master, "first")
        await_caught_up(master, replica, sibling)
        stop(sibling)
        replica.behind(None)
        write(replica, "promoted")
        sibling.master = replica
        asked = Asked(replica)
        sibling.start()
        found = asked.outcome(sibling)
        check_equal(replica, sibling)
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


# Of each row: its text in two columns, the scenario, how the server ends, its options; what we do, and what Redis does.
ROWS = [
    ("a replica stops and starts | journal",
     replica_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("a replica stops and starts | snapshot",
     replica_restarts, terminate, SNAPSHOT, PARTIAL, PARTIAL),
    ("a replica is killed (`kill -9`) and starts | journal",
     replica_restarts, kill, JOURNAL, PARTIAL, FULL),
    ("a replica is killed and starts | older snapshot",
     replica_has_an_older_snapshot, kill, SNAPSHOT, PARTIAL, PARTIAL),
    ("a replica was started as a master, written to, and is a replica again | journal",
     replica_wrote_as_a_master, terminate, JOURNAL, FULL, FULL),
    ("a replica was started as a master, written to, and is a replica again | snapshot",
     replica_wrote_as_a_master, terminate, SNAPSHOT, FULL, FULL),
    ("a master stops and starts, its replicas stay | journal",
     master_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("a master stops and starts, its replicas stay | snapshot",
     master_restarts, terminate, SNAPSHOT, PARTIAL, PARTIAL),
    ("a master stops and starts twice before its replica returns | journal",
     master_restarts_twice, terminate, JOURNAL, PARTIAL, FULL),
    ("a master stops and starts while a replica is away that has missed writes | journal",
     master_restarts_while_a_replica_is_away, terminate, JOURNAL, PARTIAL, FULL),
    ("a master stops and starts while a replica is away that has missed writes | snapshot",
     master_restarts_while_a_replica_is_away, terminate, SNAPSHOT, PARTIAL, FULL),
    ("a master is killed and starts while a replica is away that has missed writes | journal",
     master_restarts_while_a_replica_is_away, kill, JOURNAL, FULL, FULL),
    ("a master is killed and starts, its replicas stay | journal",
     master_restarts, kill, JOURNAL, PARTIAL, FULL),
    ("a master is killed and starts, its replicas stay | snapshot",
     master_restarts, kill, SNAPSHOT, FULL, FULL),
    ("after a failover another replica of the old master starts, which knows only its ID | journal",
     sibling_restarts_after_a_failover, kill, JOURNAL, PARTIAL, FULL),
    ("after a failover the killed master starts as a replica | journal",
     old_master_restarts_as_a_replica, kill, JOURNAL, PARTIAL, FULL),
    ("the middle of a chain stops and starts, and the replica behind it stays | journal",
     middle_of_a_chain_restarts, terminate, JOURNAL, PARTIAL, FULL),
    ("the middle of a chain is killed and starts, and the replica behind it stays | journal",
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
    table = text[text.index("## Restarts"):].split("|---|---|---|---|\n")[1].split("\n\n")[0]
    wanted = [f"| {text} | {ours} | {theirs} |" for text, _, _, _, ours, theirs in ROWS]
    equal(table.split("\n"), wanted)


if __name__ == "__main__":
    main(seconds=120)
