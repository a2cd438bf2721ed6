#!/usr/bin/python3 -B
"""bind, port, tls-port, metrics-port, metrics-bind and dir are changed while the daemon runs, by CONFIG
SET as in redis-server and by a reload; a value that cannot take effect changes nothing."""
import contextlib
import os
import signal
import socket
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, Raw, Skipped, equal, folder, main, oracle, own, test, wait_for
from process import free_port
from tls import TlsRaw, certificates

OK = b"+OK\r\n"
NOWHERE = "192.0.2.1"  # RFC 5737: no machine has it


@contextlib.contextmanager
def busy_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def answers(port, host="127.0.0.1"):
    try:
        with Raw((host, port)) as raw:
            return raw.call("PING") == b"+PONG\r\n"
    except ConnectionError:
        return False


def settings(server, *words):
    """The reply to CONFIG SET, with numbers of ports replaced."""
    with server.raw() as raw:
        return raw.call("CONFIG", "SET", *words)


def shown(server, name):
    with server.raw() as raw:
        return raw.call("CONFIG", "GET", name)


@test
def ports_and_addresses_change_as_in_redis():
    with Daemon("--bind", "127.0.0.1") as ours, busy_port() as busy, \
            Daemon("--bind", "127.0.0.1", binary=oracle()) as theirs:
        mine, other = {ours: free_port(), theirs: free_port()}, {}
        other[ours], other[theirs] = free_port(), free_port()
        steps = (
            (lambda server: ("port", mine[server]), lambda server: mine[server]),
            (lambda _: ("port", busy), lambda server: mine[server]),
            (lambda _: ("port", 70000), lambda server: mine[server]),
            (lambda _: ("bind", NOWHERE), lambda server: mine[server]),
            (lambda _: ("bind", "127.0.0.1", "port", busy), lambda server: mine[server]),
            (lambda server: ("port", busy, "bind", "127.0.0.1"), lambda server: mine[server]),
            (lambda _: ("bind", f"127.0.0.1 -{NOWHERE}"), lambda server: mine[server]),
            (lambda _: ("bind", "*"), lambda server: mine[server]),
            (lambda server: ("bind", "127.0.0.1", "port", other[server]),
             lambda server: other[server]),
            (lambda _: ("maxclients", 100, "bind", "no.such.host.invalid"),
             lambda server: other[server]),
            (lambda _: ("port", 0), lambda server: None),
            (lambda server: ("port", mine[server]), lambda server: mine[server]),
            (lambda _: ("bind", ""), lambda server: None),
            (lambda _: ("unixsocket", "x"), lambda server: None),
        )
        for words, open_port in steps:
            replies = [settings(server, *words(server)) for server in (ours, theirs)]
            equal(replies[0], replies[1], str(words(ours)))
            equal(shown(ours, "bind"), shown(theirs, "bind"))
            equal(shown(ours, "maxclients"), shown(theirs, "maxclients"))
            for server in (ours, theirs):
                for port in (mine[server], other[server]):
                    equal(answers(port), port == open_port(server), f"{words(server)}: {port}")


@own
def connections_stay_when_their_port_is_closed():
    with Daemon(tcp=True) as daemon, daemon.raw(tcp=True) as raw:
        equal(raw.call("CONFIG", "SET", "port", free_port()), OK)
        assert not answers(daemon.port)
        equal(raw.call("PING"), b"+PONG\r\n")
        assert "Listening on 127.0.0.1:" in daemon.log()


@own
def tls_begins_and_ends_while_the_daemon_runs():
    files, port = certificates(), free_port()
    given = ("tls-cert-file", files["server.crt"], "tls-key-file", files["server.key"],
             "tls-ca-cert-file", files["ca.crt"])
    with Daemon() as daemon, busy_port() as busy:
        assert b"'tls-port'" in settings(daemon, "tls-port", port)
        equal(shown(daemon, "tls-port"), b"*2\r\n$8\r\ntls-port\r\n$1\r\n0\r\n")
        reply = settings(daemon, *given, "tls-port", busy)
        assert b"Unable to listen on this port. Check server logs." in reply, reply
        assert files["server.crt"].encode() not in shown(daemon, "tls-cert-file")
        equal(settings(daemon, *given, "tls-port", port), OK)
        with contextlib.closing(TlsRaw(port)) as raw:
            equal(raw.call("PING"), b"+PONG\r\n")
            equal(settings(daemon, "tls-port", 0), OK)
            equal(raw.call("PING"), b"+PONG\r\n")
        assert not answers(port)


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return True
    except OSError:
        return False


def serves_metrics(port, host="127.0.0.1"):
    try:
        with socket.create_connection((host, port), 20) as link:
            link.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return link.recv(1000).startswith(b"HTTP/1.1 200")
    except ConnectionRefusedError:
        return False


@own
def the_metrics_port_changes():
    first, second = free_port(), free_port()
    with Daemon() as daemon, busy_port() as busy:
        equal(settings(daemon, "metrics-port", first), OK)
        assert serves_metrics(first)
        reply = settings(daemon, "metrics-port", busy, "timeout", 9)
        assert b"argument 'metrics-port'" in reply and b"in use" in reply, reply
        assert shown(daemon, "timeout").endswith(b"$1\r\n0\r\n")
        assert serves_metrics(first)
        assert b"metrics-bind" in settings(daemon, "metrics-bind", NOWHERE)
        assert serves_metrics(first)
        equal(settings(daemon, "metrics-port", second, "metrics-bind", "*"), OK)
        assert serves_metrics(second) and not serves_metrics(first)
        equal(settings(daemon, "metrics-port", 0), OK)
        assert not serves_metrics(second)
        equal(settings(daemon, "metrics-port", first), OK)
        assert serves_metrics(first)


@own
def both_ports_do_without_optional_addresses():
    metrics = free_port()
    for lacking in ("-" + NOWHERE, "-no.such.host.invalid"):
        bind = "127.0.0.1 " + lacking
        with Daemon("--bind", bind, "--metrics-port", str(metrics), "--metrics-bind", bind, tcp=True) as daemon:
            assert answers(daemon.port) and serves_metrics(metrics)
            for option in ("bind", "metrics-bind"):
                equal(settings(daemon, option, "127.0.0.1"), OK)
                equal(settings(daemon, option, bind), OK, option)
                assert answers(daemon.port) and serves_metrics(metrics)


@own
def metrics_are_served_on_all_addresses_of_both_families():
    if not has_ipv6():
        raise Skipped("this machine has no IPv6")
    port = free_port()
    with Daemon("--metrics-port", str(port), "--metrics-bind", "* ::*"):
        assert serves_metrics(port) and serves_metrics(port, "::1")


@own
def the_folder_changes_where_there_is_no_journal():
    with folder() as place, Daemon("--enable-protected-configs", "yes") as daemon, \
            daemon.raw() as raw:
        missing = settings(daemon, "dir", place + "/none")
        equal(missing, b"-ERR CONFIG SET failed (possibly related to argument 'dir') - No such file "
                       b"or directory\r\n")
        equal(settings(daemon, "dir", place), OK)
        assert os.path.realpath(place).encode() in shown(daemon, "dir")
        equal(raw.call("SET", "k", "v"), OK)
        equal(raw.call("SAVE"), OK)
        assert os.path.exists(os.path.join(place, "dump.exp"))
        equal(settings(daemon, "appendonly", "yes"), OK)
        assert wait_for(lambda: b"aof_rewrite_in_progress:0" in raw.call("INFO", "persistence"))
        assert os.path.isdir(os.path.join(place, "appendonlydir"))
        reply = settings(daemon, "dir", daemon.dir)
        assert b"argument 'dir'" in reply and b"appendonly to no" in reply, reply
        equal(settings(daemon, "dir", place), OK)  # where it is
        equal(settings(daemon, "appendonly", "no"), OK)
        equal(settings(daemon, "dir", daemon.dir), OK)
        equal(settings(daemon, "appendonly", "yes"), OK)
        assert wait_for(lambda: os.path.isdir(os.path.join(daemon.dir, "appendonlydir")))


def hang_up(daemon, said):
    """Reloads until the log says so."""
    os.kill(daemon.process.pid, signal.SIGHUP)
    assert wait_for(lambda: said in daemon.log()), daemon.log()


@own
def a_reload_changes_places_too():
    first, second = free_port(), free_port()
    with folder() as place, busy_port() as busy:
        path = os.path.join(place, "a.conf")

        def say(text):
            with open(path, "w", encoding="utf-8") as to:
                to.write(text)
        say(f"metrics-port {first}\n")
        with Daemon(before=[path]) as daemon:
            assert serves_metrics(first)
            say(f"metrics-port {second}\ntimeout 7\n")
            hang_up(daemon, "Options changed by the reload: timeout, metrics-port")
            assert wait_for(lambda: serves_metrics(second)) and not serves_metrics(first)
            say(f"metrics-port {busy}\ntimeout 8\n")
            hang_up(daemon, "metrics-port: metrics-port: can't listen")
            assert wait_for(lambda: serves_metrics(second))
            assert b"\r\n8\r\n" in shown(daemon, "timeout")
            assert str(second).encode() in shown(daemon, "metrics-port")


main()
