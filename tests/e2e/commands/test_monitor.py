#!/usr/bin/python3 -B
"""MONITOR: which commands of other clients it shows, and in which order."""
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, test


class Monitored:
    """A daemon, a client in MONITOR, and one whose commands are shown."""

    def __init__(self, *options, tcp=False):
        self.daemon, self.tcp = Daemon(*options, tcp=tcp), tcp

    def __enter__(self):
        self.daemon.__enter__()
        self.monitor, self.caller = self.daemon.raw(self.tcp), self.daemon.raw(self.tcp)
        return self

    def __exit__(self, *exception):
        self.monitor.close()
        self.caller.close()
        return self.daemon.__exit__(*exception)

    def shows(self, lines, wanted):
        """Sends the lines one by one; `wanted`: database and words of each line of MONITOR."""
        for line in lines:
            self.caller.call(*line.split())
        self.caller.call("ECHO", "the end")
        shown = []
        while True:
            line = self.monitor.reply().decode()
            found = re.fullmatch(r'\+\d+\.\d{6} \[(\d+) (\S+)\] (.*)\r\n', line)
            assert found, line
            if found.group(3) == '"ECHO" "the end"':
                break
            shown.append(f"{found.group(1)} {found.group(3)}".replace('"', ""))
        equal(shown, wanted)
        return found.group(2)


@test
def commands_are_shown_when_they_have_run():
    with Monitored() as world:
        world.monitor.call("MONITOR")
        peer = world.shows(["SELECT 1", "SET k v", "PING", "RESET"],
                           ["1 SELECT 1", "1 SET k v", "1 PING", "0 RESET"])
        equal(peer, "unix:" + world.daemon.path)
    with Monitored(tcp=True) as world:
        world.monitor.call("MONITOR")
        assert world.shows(["PING"], ["0 PING"]).startswith("127.0.0.1:")


@test
def exec_is_shown_after_its_commands():
    with Monitored() as world:
        world.monitor.call("MONITOR")
        world.shows(["MULTI", "SET k 1", "SELECT 2", "INCR k", "EXEC"],
                    ["0 MULTI", "0 SET k 1", "2 SELECT 2", "2 INCR k", "2 EXEC"])


@test
def passwords_admin_commands_and_refused_ones_are_not_shown():
    with Monitored("--requirepass", "secret") as world:
        world.monitor.call("AUTH", "secret")
        world.monitor.call("MONITOR")
        world.shows(["AUTH wrong", "AUTH secret", "HELLO 2 AUTH default secret", "CONFIG GET port",
                     "CLIENT LIST", "CLIENT ID", "NOSUCH", "GET"],
                    ["0 AUTH (redacted)", "0 AUTH (redacted)",
                     "0 HELLO 2 AUTH (redacted) (redacted)", "0 CLIENT ID"])
        world.caller.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
        world.caller.call("CONFIG", "SET", "requirepass", "other")
        assert b"other" not in world.caller.call("SLOWLOG", "GET", 1)


@test
def a_monitoring_client_cannot_use_keys():
    with Monitored() as world:
        monitor = world.monitor
        monitor.call("MONITOR")
        for line in ("GET k", "SET k v", "PUBLISH a b"):
            equal(monitor.call(*line.split()), b"-ERR Replica can't interact with the keyspace\r\n")
        equal(monitor.call("PING"), b"+PONG\r\n")
        assert b'"PING"' in monitor.reply()
        info = monitor.call("CLIENT", "INFO")
        assert b" flags=OU " in info, info
        monitor.reply()
        equal(monitor.call("RESET"), b"+RESET\r\n")
        equal(monitor.call("GET", "k"), b"$-1\r\n")


@test
def a_monitor_that_shows_nothing_is_not_idle():
    with Monitored("--timeout", "1") as world:
        world.monitor.call("MONITOR")
        with world.daemon.raw() as idle:
            equal(idle.rest(), b"")
        with world.daemon.raw() as other:
            other.call("PING")
        assert b'"PING"' in world.monitor.reply()


@test
def arguments_are_quoted():
    with Monitored() as world:
        world.monitor.call("MONITOR")
        world.caller.send(encode("ECHO", b'a "\\\n\r\t\a\b\x00\xff'))
        world.caller.reply()
        line = world.monitor.reply()
        assert line.endswith(rb'"ECHO" "a \"\\\n\r\t\a\b\x00\xff"' + b"\r\n"), line


main()
