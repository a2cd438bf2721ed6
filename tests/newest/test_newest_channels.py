#!/usr/bin/python3 -B
"""Full copies on a connection of their own, as Valkey 9 and Redis 8 make them for each other: `expired` declines, in
both roles, and gets and gives its copies in the usual way."""
import sys

sys.path.insert(1, sys.path[0] + "/../lib")
from daemon import Daemon, equal, main, own, wait_for
from followers import Load, await_caught_up, await_linked, call
from newest import REDIS, VALKEY, newest

CHANNELS = {VALKEY: ("--dual-channel-replication-enabled", "yes"), REDIS: ("--repl-rdb-channel", "yes")}
AT_ONCE = ("--repl-diskless-sync-delay", "0")
FAR = 4_000_000_000_000  # ms


def requests(one):
    return [("INCR", "count"), ("RPUSH", "list", one), ("SET", f"k:{one % 1000}", "v" * 100)]


def filled(server):
    with server.redis() as client, client.pipeline(transaction=False) as pipe:
        for i in range(20_000):
            pipe.set(f"key:{i}", "v" * 100)
        pipe.hset("h", mapping={"f": 1, "g": 2})
        pipe.execute_command("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f")
        pipe.execute()


def copy_under_load(master, replica):
    """The replica follows while the master is written to; then it has all that the master has."""
    filled(master)
    with Load(master, requests) as load:
        assert wait_for(lambda: load.sent > 20)
        call(replica, "REPLICAOF", "127.0.0.1", master.port)
        await_linked(replica)
        begun = load.sent
        assert wait_for(lambda: load.sent > begun + 200)
        load.stopped = True
        load.thread.join()
    await_caught_up(master, replica)
    equal(call(replica, "GET", "count"), str(load.sent).encode())
    equal(call(replica, "LLEN", "list"), load.sent)
    equal(call(replica, "DBSIZE"), call(master, "DBSIZE"))
    equal(call(replica, "HPEXPIRETIME", "h", "FIELDS", 2, "f", "g"), [FAR, -1])


@own
def masters_that_offer_a_second_connection_are_followed():
    for program, options in CHANNELS.items():
        for diskless in ("yes", "no"):
            with newest(program, *AT_ONCE, *options, "--repl-diskless-sync", diskless, tcp=True) as master, \
                    Daemon() as replica:
                copy_under_load(master, replica)


@own
def replicas_that_ask_for_a_second_connection_get_a_copy_on_the_first():
    for program, options in CHANNELS.items():
        for load in ("disabled", "swapdb"):
            with Daemon(*AT_ONCE, tcp=True) as master, \
                    newest(program, *options, "--repl-diskless-load", load, tcp=True) as replica:
                copy_under_load(master, replica)


@own
def chain_of_servers_with_second_connections_has_all_data():
    """A Valkey that follows a daemon that follows a Valkey."""
    options = (*AT_ONCE, *CHANNELS[VALKEY])
    with newest(VALKEY, *options, tcp=True) as first, Daemon(*AT_ONCE, tcp=True) as middle, \
            newest(VALKEY, *options, tcp=True) as last:
        filled(first)
        call(middle, "REPLICAOF", "127.0.0.1", first.port)
        await_linked(middle)
        copied = call(first, "DBSIZE")
        call(last, "REPLICAOF", "127.0.0.1", middle.port)
        await_linked(last)
        call(first, "SET", "after", "1")
        await_caught_up(first, middle, last)
        equal(call(last, "DBSIZE"), copied + 1)
        equal(call(last, "HPEXPIRETIME", "h", "FIELDS", 2, "f", "g"), [FAR, -1])


main(seconds=120)
