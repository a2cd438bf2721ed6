#!/usr/bin/python3 -B
"""How a replica reaches its master: TLS, users, announced addresses; and what a master asks of replicas."""
import sys
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, equal, main, oracle, own, wait_for
from followers import await_caught_up, call, follow, is_linked, role
from tls import TlsDaemon, certificates

QUICK = ("--repl-diskless-sync-delay", "0")
LARGE = 3 << 20


class TlsMember(TlsDaemon):
    """Follows, and is followed, over TLS."""

    def __init__(self, *options, **how):
        super().__init__(*QUICK, "--tls-replication", "yes", *options, tcp=True, **how)

    def follow(self, master):
        equal(call(self, "REPLICAOF", "127.0.0.1", master.tls_port), b"OK")


def says(server, text):
    assert wait_for(lambda: text in server.log()), f"{text}\n{server.log()}"


def members(stack, count, **how):
    return [stack.enter_context(TlsMember(**how)) for _ in range(count)]


def linked(replica):
    assert wait_for(lambda: is_linked(replica)), replica.log()


def check_same(master, *replicas):
    for replica in replicas:
        await_caught_up(master, replica)
        equal(call(replica, "DEBUG", "DIGEST"), call(master, "DEBUG", "DIGEST"))


def write(server, name):
    call(server, "SET", name + ":large", "x" * LARGE)
    with server.raw() as raw:
        raw.calls([("SET", f"{name}:{i}", i) for i in range(2000)])


@own
def copy_and_stream_come_over_tls_along_a_chain():
    with ExitStack() as stack:
        master, replica, last = members(stack, 3)
        write(master, "copy")
        replica.follow(master)
        linked(replica)
        last.follow(replica)
        linked(last)
        write(master, "stream")
        check_same(master, replica, last)
        # An unencrypted link would not get through the handshake of tls-port.
        equal(role(replica)[2], master.tls_port)
        equal(call(replica, "DBSIZE"), 4002)


@beside_redis
def redis_follows_and_is_followed_over_tls():
    redis = {"binary": oracle()}
    for of_master, of_replica in (({}, redis), (redis, {})):
        with TlsMember(**of_master) as master, TlsMember(**of_replica) as replica:
            write(master, "copy")
            replica.follow(master)
            linked(replica)
            write(master, "stream")
            await_caught_up(master, replica)
            equal(call(replica, "DBSIZE"), 4002)


@own
def a_master_of_another_authority_is_refused_and_named():
    with ExitStack() as stack:
        master, = members(stack, 1, certificate="stranger")
        replica, = members(stack, 1)
        call(replica, "SET", "old", "data")
        replica.follow(master)
        says(replica, f"Master 127.0.0.1:{master.tls_port}: TLS handshake failed: certificate verify "
             "failed: unable to get local issuer certificate")
        equal(call(replica, "GET", "old"), b"data")


@own
def a_replica_shows_its_client_certificate():
    files = certificates()
    pair = ("--tls-client-cert-file", files["stranger.crt"],
            "--tls-client-key-file", files["stranger.key"])
    with ExitStack() as stack:
        master, = members(stack, 1)
        replica = stack.enter_context(TlsMember(*pair))
        replica.follow(master)
        says(replica, f"Master 127.0.0.1:{master.tls_port}: ")
        says(master, "TLS handshake failed: certificate verify failed")
        equal(call(replica, "CONFIG", "SET", "tls-client-cert-file", files["worker.crt"],
                   "tls-client-key-file", files["worker.key"]), b"OK")
        linked(replica)


@own
def tls_replication_can_be_turned_on_while_running():
    files = certificates()
    with ExitStack() as stack:
        master, = members(stack, 1)
        replica = stack.enter_context(Daemon(*QUICK, tcp=True))
        refused = call(replica, "CONFIG", "SET", "tls-replication", "yes")
        assert b"tls-cert-file is not set" in refused, refused
        equal(call(replica, "CONFIG", "GET", "tls-replication"), [b"tls-replication", b"no"])
        equal(call(replica, "CONFIG", "SET", "tls-cert-file", files["server.crt"], "tls-key-file",
                   files["server.key"], "tls-ca-cert-file", files["ca.crt"], "tls-replication",
                   "yes"), b"OK")
        equal(call(replica, "REPLICAOF", "127.0.0.1", master.tls_port), b"OK")
        linked(replica)


@own
def a_user_of_the_master_with_few_rights_is_enough():
    with Daemon(*QUICK, "--requirepass", "hard", tcp=True) as master, \
            Daemon(*QUICK, "--masterauth", "wrong", "--masteruser", "copier", tcp=True) as replica, \
            master.raw() as raw:
        raw.call("AUTH", "hard")
        raw.call("ACL", "SETUSER", "copier", "on", ">secret", "+psync", "+replconf", "+ping")
        call(replica, "REPLICAOF", "127.0.0.1", master.port)
        says(replica, f"Master 127.0.0.1:{master.port}: refused masterauth: WRONGPASS")
        equal(call(replica, "CONFIG", "SET", "masterauth", "secret"), b"OK")
        linked(replica)
        raw.call("SET", "k", "v")
        assert wait_for(lambda: call(replica, "GET", "k") == b"v")


@own
def a_user_without_the_right_to_sync_is_named_in_the_log():
    with Daemon(*QUICK, tcp=True) as master, \
            Daemon("--masterauth", "secret", "--masteruser", "nobody", tcp=True) as replica:
        call(master, "ACL", "SETUSER", "nobody", "on", ">secret", "+ping", "+replconf")
        call(replica, "REPLICAOF", "127.0.0.1", master.port)
        says(replica, f"Master 127.0.0.1:{master.port}: answered PSYNC with '-NOPERM")


@beside_redis
def a_replica_is_shown_as_it_announces_itself():
    for binary in ({}, {"binary": oracle()}):
        with Daemon(*QUICK, tcp=True, **binary) as master, \
                Daemon("--replica-announce-ip", "example.test", "--replica-announce-port", "7",
                       tcp=True, **binary) as replica:
            follow(replica, master)
            equal(role(master)[2][0][:2], [b"example.test", b"7"])


@own
def writes_need_enough_replicas_at_once_when_the_option_is_set():
    refused = b"NOREPLICAS Not enough good replicas to write."
    with Daemon(*QUICK, tcp=True) as master, Daemon(tcp=True) as replica:
        equal(call(master, "CONFIG", "SET", "min-replicas-to-write", "1"), b"OK")
        equal(call(master, "SET", "k", "v"), refused)
        equal(call(master, "GET", "k"), None)
        equal(call(master, "CONFIG", "SET", "min-replicas-to-write", "0"), b"OK")
        equal(call(master, "SET", "k", "v"), b"OK")
        follow(replica, master)
        equal(call(master, "CONFIG", "SET", "min-replicas-to-write", "1"), b"OK")
        equal(call(master, "SET", "k", "w"), b"OK")
        replica.kill()
        assert wait_for(lambda: call(master, "SET", "k", "x") == refused)


@own
def a_lower_limit_cuts_a_replica_that_lags_already():
    with Daemon(*QUICK, tcp=True) as master, Daemon(tcp=True) as replica:
        follow(replica, master)
        with replica.stopped():
            for number in range(16):
                write(master, f"w{number}")
            assert "more than client-output-buffer-limit" not in master.log()
            equal(call(master, "CONFIG", "SET", "client-output-buffer-limit", "replica 2mb 0 0"),
                  b"OK")
            write(master, "last")
            says(master, "more than client-output-buffer-limit replica allows")
        linked(replica)
        check_same(master, replica)


@own
def a_shorter_repl_timeout_ends_links_that_are_silent_already():
    with Daemon(*QUICK, tcp=True) as master, Daemon(tcp=True) as replica:
        follow(replica, master)
        with replica.stopped():
            equal(call(master, "CONFIG", "SET", "repl-timeout", "1"), b"OK")
            says(master, "closed: silent for longer than repl-timeout")
        linked(replica)
        equal(call(master, "CONFIG", "SET", "repl-timeout", "60"), b"OK")
        with master.stopped():
            equal(call(replica, "CONFIG", "SET", "repl-timeout", "1"), b"OK")
            says(replica, f"Master 127.0.0.1:{master.port}: silent for longer than repl-timeout")
        equal(call(replica, "CONFIG", "SET", "repl-timeout", "60"), b"OK")
        linked(replica)


@own
def a_replica_closes_its_own_replicas_that_are_silent():
    with Daemon(*QUICK, "--repl-ping-replica-period", "1", tcp=True) as master, \
            Daemon(*QUICK, tcp=True) as replica, Daemon(tcp=True) as second:
        follow(replica, master)
        follow(second, replica)
        with second.stopped():
            equal(call(replica, "CONFIG", "SET", "repl-timeout", "3"), b"OK")
            says(replica, "closed: silent for longer than repl-timeout")
        linked(second)


@own
def a_larger_backlog_lets_a_replica_continue_after_more_writes():
    with Daemon(*QUICK, "--repl-backlog-size", "16kb", tcp=True) as master, \
            Daemon(tcp=True) as replica:
        follow(replica, master)
        equal(call(master, "CONFIG", "SET", "repl-backlog-size", "32mb"), b"OK")
        with replica.stopped():
            equal(call(master, "CLIENT", "KILL", "TYPE", "replica"), 1)
            write(master, "missed")
        linked(replica)
        check_same(master, replica)
        assert b"sync_partial_ok:1\r\n" in call(master, "INFO", "stats")


main()
