#!/usr/bin/python3 -B
"""A name server that does not answer holds up nobody: names are resolved beside the main thread.
slow_names.c makes the resolver wait until the test lets it answer."""
import os
import signal
import socket
import sys

sys.path.insert(1, sys.path[0] + "/../lib")
from crash import FAULT, preload
from daemon import REPLY_SECONDS, Daemon, encode, equal, free_port, main, own, wait_for
from followers import await_linked, call, follow, role

SHIM = os.path.join(os.path.dirname(FAULT), "slow_names.so")
QUICK = ("--repl-diskless-sync-delay", "0")
NO_REPLICA = b"-ERR FAILOVER target HOST and PORT is not a replica.\r\n"


class Unnamed(Daemon):
    """A daemon whose resolver waits for `give_address` when it is asked for slow.test."""

    def __init__(self, *options):
        super().__init__(*QUICK, *options, tcp=True)

    def start(self):
        self.fifo = os.path.join(self.dir, "names")
        os.mkfifo(self.fifo)
        self.env = preload(SHIM, SLOW_NAMES=self.fifo)
        super().start()

    def await_question(self):
        assert wait_for(lambda: os.path.exists(self.fifo + ".asked")), self.log()

    def has_reader(self):
        """Does the resolver wait for an answer? If so, it gets it."""
        try:
            os.close(os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def give_address(self):
        assert wait_for(self.has_reader), self.log()

    def await_end_of_search(self):
        """The FIFO has no reader any more."""
        assert wait_for(lambda: not self.has_reader())


@own
def a_replica_serves_while_its_masters_name_is_resolved():
    with Daemon(*QUICK, tcp=True) as master, Unnamed() as replica:
        equal(call(replica, "REPLICAOF", "slow.test", master.port), b"OK")
        replica.await_question()
        equal(role(replica)[3], b"connecting")
        replica.give_address()
        await_linked(replica)


@own
def a_start_does_not_wait_for_the_masters_name():
    with Daemon(*QUICK, tcp=True) as master, \
            Unnamed("--replicaof", f"slow.test {master.port}") as replica:
        replica.await_question()
        equal(call(replica, "PING"), b"PONG")
        replica.give_address()
        await_linked(replica)


@own
def an_answer_that_comes_too_late_is_dropped():
    with Daemon(*QUICK, tcp=True) as first, Daemon(*QUICK, tcp=True) as second, Unnamed() as replica:
        equal(call(replica, "REPLICAOF", "slow.test", first.port), b"OK")
        replica.await_question()
        equal(call(replica, "REPLICAOF", "127.0.0.1", second.port), b"OK")
        await_linked(replica)
        replica.give_address()
        replica.await_end_of_search()
        equal(role(replica)[2:4], [second.port, b"connected"])


@own
def a_stop_does_not_wait_for_a_name():
    with Unnamed() as replica:
        equal(call(replica, "REPLICAOF", "slow.test", 1), b"OK")
        replica.await_question()


@own
def failover_to_a_name_holds_up_its_own_client_alone():
    with Unnamed() as master, Daemon(*QUICK, tcp=True) as replica:
        follow(replica, master)
        with master.raw() as client:
            client.send(encode("FAILOVER", "TO", "slow.test", replica.port))
            master.await_question()
            equal(call(master, "SET", "k", "v"), b"OK")
            with master.raw() as other:
                equal(other.call("FAILOVER", "TO", "slow.test", replica.port), NO_REPLICA)
                equal(other.call("DEBUG", "CHECK"), b"+OK\r\n")
            master.give_address()
            equal(client.reply(), b"+OK\r\n")
        assert wait_for(lambda: role(replica)[0] == b"master"), replica.log()
        await_linked(master)


@own
def failover_to_a_name_can_be_given_up():
    with Unnamed() as master, Daemon(*QUICK, tcp=True) as replica:
        follow(replica, master)
        with master.raw() as client:
            number = client.call("CLIENT", "ID")[1:].strip()
            client.send(encode("FAILOVER", "TO", "slow.test", replica.port))
            master.await_question()
            equal(call(master, "CLIENT", "UNBLOCK", number), 1)
            equal(client.reply(), NO_REPLICA)
        master.give_address()
        master.await_end_of_search()
        equal(role(master)[0], b"master")


@own
def failover_in_multi_resolves_no_name():
    with Unnamed() as master, Daemon(*QUICK, tcp=True) as replica:
        follow(replica, master)
        with master.raw() as client:
            client.call("MULTI")
            client.call("FAILOVER", "TO", "slow.test", replica.port)
            equal(client.call("EXEC"), b"*1\r\n" + NO_REPLICA)
        assert not os.path.exists(master.fifo + ".asked")


def assert_listens(port, request, answer):
    with socket.create_connection(("127.0.0.1", port), REPLY_SECONDS) as link:
        link.sendall(request)
        assert link.recv(100).startswith(answer)


@own
def config_set_of_bind_holds_up_its_own_client_alone():
    for option, request, answer in (("bind", b"PING\r\n", b"+PONG"),
                                    ("metrics-bind", b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.")):
        metrics = free_port()
        with Unnamed("--metrics-port", str(metrics)) as daemon, daemon.raw() as client:
            client.send(encode("CONFIG", "SET", option, "-::1 slow.test"))
            daemon.await_question()
            equal(call(daemon, "SET", "k", "v"), b"OK")
            equal(call(daemon, "CONFIG", "GET", option)[1], b"127.0.0.1 -::1")
            daemon.give_address()
            equal(client.reply(), b"+OK\r\n")
            assert_listens(daemon.port if option == "bind" else metrics, request, answer)


@own
def a_reload_that_changes_bind_holds_up_nobody():
    with Unnamed() as daemon:
        daemon.stop()
        path = os.path.join(daemon.dir, "conf")
        daemon.before = [path]
        with open(path, "w", encoding="ascii") as file:
            file.write("bind 127.0.0.1\n")
        os.remove(daemon.fifo)
        daemon.start()
        with open(path, "w", encoding="ascii") as file:
            file.write("bind slow.test\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.await_question()
        equal(call(daemon, "CONFIG", "GET", "bind")[1], b"127.0.0.1")
        daemon.give_address()
        assert wait_for(lambda: "Configuration reloaded" in daemon.log()), daemon.log()
        equal(call(daemon, "CONFIG", "GET", "bind")[1], b"slow.test")
        assert_listens(daemon.port, b"PING\r\n", b"+PONG")


main()
