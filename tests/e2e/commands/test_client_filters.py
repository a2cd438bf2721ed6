#!/usr/bin/python3 -B
"""Options of CLIENT LIST and KILL that Redis 7.0 lacks, and CLIENT CAPA redirect."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from client_filters import ALL, CASES, SYNTAX, Crowd
from daemon import Daemon, equal, main, own, wait_for
from followers import await_linked


@own
def list_selects_as_valkey_does():
    with Daemon("--bind", "127.0.0.1", tcp=True) as daemon, Crowd(daemon) as crowd:
        equal(crowd.differing(), [])


def names(daemon):
    with daemon.redis() as client:
        return {found["name"] for found in client.client_list() if found["name"]}


@own
def kill_closes_what_list_shows_except_the_caller():
    for words, wanted in CASES:
        if words.count(" ") == 0 or isinstance(wanted, str) and wanted != SYNTAX:
            continue
        with Daemon("--bind", "127.0.0.1", tcp=True) as daemon, Crowd(daemon) as crowd:
            if "SKIPME" in words:
                continue
            arguments = words.format(**crowd.ids).split()
            reply = crowd.raw["-"].call("CLIENT", "KILL", *arguments)
            if wanted == SYNTAX:
                equal(reply, b"-ERR syntax error\r\n", words)
                continue
            equal(reply, b":%d\r\n" % len(wanted - {"-"}), words)
            equal(names(daemon), ALL - wanted - {"-"}, words)


@own
def kill_with_maxage_closes_connections_that_are_old_enough():
    with Daemon() as daemon, daemon.redis() as client:
        with daemon.raw() as raw:
            raw.call("CLIENT", "SETNAME", "old")
            # Real time, because ages are those of the monotonic clock.
            assert wait_for(lambda: any(found["name"] == "old" and int(found["age"]) >= 1
                                        for found in client.client_list()))
            equal(client.execute_command("CLIENT", "KILL", "MAXAGE", 1000), 0)
            assert client.execute_command("CLIENT", "KILL", "MAXAGE", 1) >= 1
            equal(names(daemon), set())


REDIRECTED = [
    ("READONLY", None), ("CLIENT CAPA other", "OK"), ("GET a", "$-1"), ("CLIENT CAPA other redirect", "OK"),
    ("GET a", "to"), ("SET a 1", "to"), ("DBSIZE", "to"), ("SCAN 0", "to"), ("PING", "PONG"),
    ("NOSUCH a", "ERR unknown command"), ("GET", "ERR wrong number"), ("EVAL_RO nothing 0", "to"), ("XREAD STREAMS a 0", "to"),
    ("MULTI", "OK"), ("PING", "QUEUED"), ("GET a", "to"), ("EXEC", "EXECABORT"), ("READONLY", "OK"), ("GET a", "$-1"),
    ("SET a 1", "to"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "*1"), ("READWRITE", "OK"), ("GET a", "to"),
    ("READONLY", "OK"), ("RESET", "RESET"), ("GET a", "to"), ("SUBSCRIBE x", "*3"), ("UNSUBSCRIBE x", "*3")]


def referred(raw, master):
    """[(call, reply, expected)] of a connection to a replica."""
    found = []
    for words, wanted in REDIRECTED:
        reply = raw.call(*words.split()).decode().lstrip("-+")
        wanted = f"REDIRECT 127.0.0.1:{master}\r\n" if wanted == "to" else wanted
        if wanted is not None and not reply.startswith(wanted):
            found.append((words, reply, wanted))
    return found


@own
def replica_refers_clients_that_ask_for_it_to_the_master():
    with Daemon(tcp=True) as master, Daemon("--replicaof", f"127.0.0.1 {master.port}", tcp=True) as replica:
        await_linked(replica)
        with replica.raw() as raw:
            equal(referred(raw, master.port), [])
            raw.call("MULTI")
            raw.call("READONLY")
            equal(raw.call("DISCARD"), b"+OK\r\n")
            with replica.redis() as client:
                client.execute_command("REPLICAOF", "NO", "ONE")
            equal(raw.call("SET", "a", 1), b"+OK\r\n")
        with master.raw() as raw:
            raw.call("CLIENT", "CAPA", "redirect")
            equal(raw.call("SET", "a", 1), b"+OK\r\n")


@own
def transaction_of_a_server_that_has_become_a_replica_is_referred():
    with Daemon(tcp=True) as master, Daemon(tcp=True) as other, other.raw() as raw:
        raw.call("CLIENT", "CAPA", "redirect")
        raw.call("MULTI")
        raw.call("SET", "a", 1)
        with other.redis() as client:
            client.execute_command("REPLICAOF", "127.0.0.1", master.port)
        equal(raw.call("EXEC"), b"-REDIRECT 127.0.0.1:%d\r\n" % master.port)
        equal(raw.call("DISCARD"), b"-ERR DISCARD without MULTI\r\n")


main()
