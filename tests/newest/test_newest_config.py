#!/usr/bin/python3 -B
"""The options of Redis 8.0.6 and Valkey 9.1.2, and Debian's files of them: the daemon starts with each, and shows the
same values, or refuses one because ignoring it would be unsafe."""
import os
import sys

sys.path[1:1] = [sys.path[0] + "/../" + name for name in ("lib", "e2e/operations")]
from daemon import Daemon, equal, folder, main, own
from newest import PROGRAMS, REDIS, VALKEY, newest

# They name places, or belong to other tests.
PLACES = {"port", "dir", "unixsocket", "bind", "logfile", "pidfile", "daemonize", "supervised", "save", "appendonly",
          "databases", "enable-debug-command"}
# The same value has another name here.
RENAMED = {"log-format": {"legacy": "text"}}
# CONFIG GET * leaves these out.
HIDDEN = {
    "cluster-message-gossip-perc", "cluster-ping-interval", "debug-context", "enable-debug-assert",
    "io-threads-always-active", "key-load-delay", "loading-process-events-interval-bytes", "lua-enable-deprecated-api",
    "lua-enable-insecure-api", "min-io-threads-avoid-copy-reply", "min-string-size-avoid-copy-reply",
    "min-string-size-avoid-copy-reply-threaded", "rdb-key-save-delay", "repl-rdb-channel", "use-exit-on-panic",
    "watchdog-period",
}
# They ignore these, and CONFIG GET does not know them.
IGNORED = ("events-per-io-thread", "list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands")


def options_of(server):
    with server.redis() as client:
        shown = client.config_get("*")
        hidden = [client.config_get(name) for name in HIDDEN]
    return shown, {name: value for reply in hidden for name, value in reply.items()}


def line_of(name, value):
    words = value if " " in value and name != "proc-title-template" else f'"{value}"'
    return f"{name} {words}\n"


def start_with_all(program):
    with newest(program) as server:
        shown, hidden = options_of(server)
    given = {name: value for name, value in {**shown, **hidden}.items() if name not in PLACES}
    with folder() as where:
        path = os.path.join(where, "all.conf")
        with open(path, "w", encoding="utf-8") as to:
            to.write("".join(line_of(*one) for one in [*given.items(), *((name, "1") for name in IGNORED)]))
        with Daemon(before=[path]) as daemon, daemon.redis() as client:
            ours = client.config_get("*")
    equal(set(shown) - set(ours), set(), "unknown")
    equal({name: ours[name] for name in set(shown) - PLACES},
          {name: RENAMED.get(name, {}).get(shown[name], shown[name]) for name in set(shown) - PLACES})


def start_with_file(path):
    path = os.path.join(PROGRAMS, "../root/etc", path)
    with Daemon("--daemonize", "no", "--pidfile", "pid", "--logfile", "", before=[path]) as daemon:
        with daemon.redis() as client:
            equal(client.config_get("dbfilename"), {"dbfilename": "dump.rdb"})


@own
def every_option_of_redis_8_is_known():
    start_with_all(REDIS)


@own
def every_option_of_valkey_9_is_known():
    start_with_all(VALKEY)


@own
def debians_files_of_redis_8_and_valkey_9_start_the_daemon():
    start_with_file("redis/redis.conf")
    start_with_file("valkey/valkey.conf")


main()
