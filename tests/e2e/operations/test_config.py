#!/usr/bin/python3 -B
"""The configuration of Redis servers: Debian's redis.conf, every option of redis-server, renamed
commands, and lists of faults."""
import grp
import os
import re
import stat
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import (BINARY, THREADS, Daemon, Raw, Server, Skipped, equal, folder, main, oracle, own,
                    test)

DEBIAN = "/etc/redis/redis.conf"
# Options of Redis that are refused unless they are off, with a value that is on.
REFUSED = {"cluster-enabled": "yes"}
# Where they are given, or belong to other tests.
PLACES = {"port", "dir", "unixsocket", "bind", "logfile", "pidfile", "daemonize", "supervised"}
TLS = re.compile(r"^tls-")  # tests/e2e/access/test_tls.py compares them
# CONFIG SET differs, see doc/differs.md: it is not live here, or has other values.
OTHER_RULES = {
    "port", "bind", "save", "maxmemory-samples", "proto-max-bulk-len", "notify-keyspace-events",
    "activedefrag", "appendonly", "unixsocketperm", "dbfilename", "maxclients",
    "client-query-buffer-limit",
    "repl-backlog-size", "loglevel", "repl-diskless-load", *REFUSED,
}


class Oracle(Server):
    def __init__(self, *options):
        self.options = options

    def arguments(self):
        return [oracle(), *self.options, "--port", "0", "--unixsocket", self.path, "--dir",
                self.dir, "--save", "", "--appendonly", "no"]


def call(server, *words):
    with Raw(server.path) as raw:
        return raw.call(*words)


def texts(reply):
    """The bulk strings of a reply."""
    found, at = [], reply.index(b"\r\n") + 2
    while at < len(reply):
        end = reply.index(b"\r\n", at)
        size = int(reply[at + 1:end])
        found.append(reply[end + 2:end + 2 + size].decode())
        at = end + 2 + size + 2
    return found


def options_of(server):
    words = texts(call(server, "CONFIG", "GET", "*"))
    return dict(zip(words[::2], words[1::2]))


def write(path, text):
    with open(path, "w", encoding="utf-8") as to:
        to.write(text)
    return path


def refuses(*arguments):
    """The lines on standard error; the daemon must not start."""
    with folder() as where:
        done = subprocess.run([BINARY, *arguments, "--dir", where], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    return done.stderr.splitlines()


def accepted_in(log):
    """The names in the warning about options without effect; it must come once."""
    lines = re.findall(r"# Ignoring options of Redis that have no effect here: (.*)", log)
    assert len(lines) <= 1, lines
    return set(lines[0].split(", ")) if lines else set()


# ---- files of Redis --------------------------------------------------------------------------------

@own
def debians_redis_conf_starts_the_daemon():
    if not os.access(DEBIAN, os.R_OK):
        raise Skipped(f"can't read {DEBIAN}")
    with Daemon("--daemonize", "no", "--pidfile", "pid", "--logfile", "",
                before=[DEBIAN]) as daemon:
        shown = options_of(daemon)
        equal(shown["dbfilename"], "dump.rdb")
        equal(shown["lazyfree-lazy-expire"], "no")
        accepted = accepted_in(daemon.log())
        assert {"hz", "oom-score-adj-values", "repl-diskless-sync"} <= accepted, accepted
        assert not accepted & {"maxmemory", "save", "hash-max-listpack-entries"}, accepted


@own
def every_option_of_redis_is_known():
    with Oracle() as server:
        theirs = options_of(server)
    with folder() as where:
        lines = "".join(f'{name} "{value}"\n' if " " not in value or name == "proc-title-template"
                        else f"{name} {value}\n"
                        for name, value in theirs.items()
                        if name not in PLACES)
        path = write(os.path.join(where, "all.conf"), lines)
        with Daemon(before=[path]) as daemon:
            ours, accepted = options_of(daemon), accepted_in(daemon.log())
    equal(set(theirs) - set(ours), set(), "unknown")
    for name in set(theirs) - PLACES - {THREADS[0][2:] if THREADS else ""}:
        if name not in ("save", "appendonly", "enable-debug-command"):
            equal(ours[name], theirs[name], name)
    assert not accepted & set(REFUSED), accepted
    assert len(accepted) > 60, accepted
    assert not any(TLS.search(name) for name in accepted), accepted


# Redis 7.0 ignores the first three, and leaves the others out of CONFIG GET *.
IGNORED = {"list-max-ziplist-entries": "512", "list-max-ziplist-value": "64", "lua-replicate-commands": "yes",
           "key-load-delay": "0", "loading-process-events-interval-bytes": "2097152", "watchdog-period": "0",
           "lua-enable-deprecated-api": "no", "rdb-key-save-delay": "0", "use-exit-on-panic": "no"}


@own
def options_that_redis_ignores_or_hides_are_accepted():
    words = [word for name, value in IGNORED.items() for word in ("--" + name, value)]
    with Oracle(*words) as theirs, Daemon(*words) as ours:
        equal(accepted_in(ours.log()), set(IGNORED))
        equal({name for name in IGNORED if name in options_of(theirs)}, set())
        equal({name for name in IGNORED if name in options_of(ours)}, set())


# Lines of Debian's files of Redis 8 and Valkey 9, and of what their operators set; tests/newest/test_newest_config.py
# has all of them.
NEWER = """\
locale-collate ""
set-max-listpack-entries 128
replica-full-sync-buffer-limit 1mb
hide-user-data-from-log yes
rdb-version-check strict
dual-channel-replication-enabled no
commandlog-execution-slower-than 7
commandlog-slow-execution-max-len 9
commandlog-large-reply-max-len 128
server-cpulist 0-1
primaryauth secret
loglevel nothing
log-format legacy
import-mode no
"""


@own
def options_of_newer_servers_are_accepted_or_work():
    with folder() as where:
        with Daemon(before=[write(os.path.join(where, "newer.conf"), NEWER)]) as daemon:
            shown = options_of(daemon)
            equal(daemon.log(), "")
    equal([shown[name] for name in ("slowlog-log-slower-than", "slowlog-max-len", "masterauth", "server_cpulist",
                                    "replica-full-sync-buffer-limit", "log-format")],
          ["7", "9", "secret", "0-1", "1048576", "text"])


@own
def import_mode_is_refused_because_keys_would_expire():
    lines = refuses("--import-mode", "yes")
    assert "--import-mode: keys expire and are evicted during an import too" in lines[0], lines


def another_group():
    """The name and number of a group that a file of this process may be given to."""
    own_group = os.getegid()
    allowed = [group.gr_gid for group in grp.getgrall()] if os.geteuid() == 0 else os.getgroups()
    found = next((number for number in allowed if number != own_group), None)
    if found is None:
        raise Skipped("this process is in one group only")
    return grp.getgrgid(found).gr_name, found


@own
def unix_socket_belongs_to_the_group_that_is_named():
    name, number = another_group()
    with Daemon("--unixsocketgroup", name, "--unixsocketperm", "770") as daemon:
        there = os.stat(daemon.path)
        equal((there.st_gid, stat.S_IMODE(there.st_mode)), (number, 0o770))
    lines = refuses("--unixsocket", "socket", "--unixsocketgroup", "no-such-group")
    assert any("unixsocketgroup: no group 'no-such-group'" in line for line in lines), lines


@own
def accepted_options_do_not_warn_when_not_set():
    with Daemon() as daemon:
        equal(accepted_in(daemon.log()), set())


@own
def config_set_of_any_option_replies_as_redis():
    with Oracle() as theirs, Daemon() as ours:
        names = sorted(name for name in options_of(theirs)
                       if not TLS.search(name) and name not in OTHER_RULES)
        differing = [words for name in names for words in differences(theirs, ours, name)]
        equal(differing, [])


def differences(theirs, ours, name):
    """What CONFIG SET of an option replies or does otherwise, as (name, value, ours, theirs)."""
    default = options_of_one(theirs, name)
    for value in (default, "x", "-1", "yes", "0", "50", default):
        if harms(name, value):
            continue
        found = [call(server, "CONFIG", "SET", name, value).decode() for server in (ours, theirs)]
        if found[0].startswith("+"):
            found = [options_of_one(server, name) for server in (ours, theirs)]
        if found[0] != found[1]:
            yield name, value, *found


def options_of_one(server, name):
    return texts(call(server, "CONFIG", "GET", name))[1]


def harms(name, value):
    """Would it end the oracle's or the daemon's service to the test?"""
    return name == "requirepass" or (name.startswith("maxmemory") and value not in ("0", "x", "-1"))


@test
def config_set_changes_all_or_nothing():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(raw.call("CONFIG", "SET", "timeout", "7", "hz", "x"),
              b"-ERR CONFIG SET failed (possibly related to argument 'hz') - argument couldn't be "
              b"parsed into an integer\r\n")
        equal(options_of_one(daemon, "timeout"), "0")
        equal(raw.call("CONFIG", "SET", "timeout", "7", "hash-max-ziplist-entries", "9"),
              b"+OK\r\n")
        equal(options_of_one(daemon, "hash-max-listpack-entries"), "9")


@own
def options_that_cannot_take_effect_change_no_other():
    with Daemon("--appendonly", "no") as daemon, daemon.raw() as raw:
        write(os.path.join(daemon.dir, "appendonlydir"), "not a folder")
        for name, value, why in (("appendonly", "yes", b"Unable to turn on AOF. Check server logs."),
                                 ("maxclients", "4000000000", b"The operating system is not able to "
                                  b"handle the specified number of clients, try with ")):
            before = options_of(daemon)
            reply = raw.call("CONFIG", "SET", "timeout", "7", "requirepass", "x", name, value,
                             "notify-keyspace-events", "KEA")
            assert reply.startswith(b"-ERR CONFIG SET failed (possibly related to argument '%s') - %s"
                                    % (name.encode(), why)), reply
            equal(options_of(daemon), before)


@own
def options_that_may_not_be_ignored_are_refused_together():
    arguments = [word for name, value in REFUSED.items() for word in ("--" + name, *value.split())]
    lines = refuses(*arguments, "--loadmodule", "/x.so", "--prot", "1")
    equal([re.match(r"expired: --([a-z-]+): ", line).group(1) for line in lines],
          [*REFUSED, "loadmodule", "prot"])
    assert "one of the following: no, emulated, emulated-strict" in lines[0], lines
    assert "not supported" in lines[1], lines
    assert lines[-1].endswith("no such option. Is it port?"), lines


@own
def all_faults_of_files_are_named_and_nothing_starts():
    with folder() as where:
        inner = write(os.path.join(where, "inner.conf"), "timeout 5\nmaxclients many\n")
        outer = write(os.path.join(where, "outer.conf"),
                      "port zero\n\ninclude inner.conf\nsave 900\nrename-command NOSUCH x\n")
        os.chdir(where)
        lines = refuses(outer)
        os.chdir("/")
        equal([line.split(": ")[1] for line in lines],
              [f"{outer}:1", f"{os.path.basename(inner)}:2", f"{outer}:4", f"{outer}:5"])
        assert not os.path.exists(os.path.join(where, "appendonlydir"))


# ---- what may change -------------------------------------------------------------------------------

@test
def protected_options_need_permission():
    with Daemon() as daemon, daemon.raw() as raw:
        for name, value in (("dir", "/tmp"), ("dbfilename", "x.rdb")):
            equal(raw.call("CONFIG", "SET", name, value),
                  b"-ERR CONFIG SET failed (possibly related to argument '%s') - can't set "
                  b"protected config\r\n" % name.encode())
        for name in ("logfile", "pidfile", "unixsocket", "enable-protected-configs"):
            assert b"immutable config" in raw.call("CONFIG", "SET", name, "x"), name
    with Daemon("--enable-protected-configs", "local") as daemon, daemon.raw() as raw:
        equal(raw.call("CONFIG", "SET", "dbfilename", "x.rdb"), b"+OK\r\n")


ENCODINGS = (
    ("hash-max-listpack-entries", "2", ("HSET", "k", "a", "1", "b", "2"), ("HSET", "k", "c", "3")),
    ("hash-max-ziplist-value", "5", ("HSET", "k", "a", "12345"), ("HSET", "k", "b", "123456")),
    ("hash-max-listpack-entries", "600", ("HSET", "k", *map(str, range(1200))), None),
    ("zset-max-ziplist-entries", "2", ("ZADD", "k", "1", "a", "2", "b"), ("ZADD", "k", "3", "c")),
    ("zset-max-listpack-value", "5", ("ZADD", "k", "1", "12345"), ("ZADD", "k", "1", "123456")),
    ("set-max-intset-entries", "2", ("SADD", "k", "1", "2"), ("SADD", "k", "3")),
    ("hll-sparse-max-bytes", "60", ("PFADD", "k", *map(str, range(5))),
     ("PFADD", "k", *map(str, range(50)))),
)


@test
def encodings_follow_their_thresholds_as_in_redis():
    with Oracle() as theirs, Daemon() as ours:
        for name, value, first, then in ENCODINGS:
            for server in (theirs, ours):
                call(server, "DEL", "k")
                equal(call(server, "CONFIG", "SET", name, value), b"+OK\r\n")
            for words in (first, then):
                if words is None:
                    continue
                call(theirs, *words)
                call(ours, *words)
                for question in (("OBJECT", "ENCODING", "k"), ("STRLEN", "k")):
                    equal(call(ours, *question), call(theirs, *question), f"{name} {value}")


@test
def percentiles_of_latency_are_those_configured():
    with Daemon("--latency-tracking-info-percentiles", "25", "99.99", "100") as daemon, \
            daemon.raw() as raw:
        raw.call("PING")
        report = raw.call("INFO", "latencystats").decode()
        assert re.search(r"_usec_ping:p25=[\d.]+,p99.99=[\d.]+,p100=[\d.]+\r\n", report), report
        raw.call("CONFIG", "SET", "latency-tracking-info-percentiles", "")
        assert "latency_percentiles_usec_ping:\r\n" in raw.call("INFO", "latencystats").decode()


@own
def a_signal_saves_as_the_option_requires():
    for option, saves in (("save", True), ("nosave", False), ("default", False), ("save now force", True),
                          ("now nosave", False), ("now", False)):
        with Daemon("--shutdown-on-sigterm", *option.split(), "--enable-protected-configs", "yes") as daemon:
            call(daemon, "SET", "k", "v")
            path = os.path.join(daemon.dir, "dump.exp")
            daemon.stop()
            equal(os.path.exists(path), saves, option)


@own
def words_of_a_shutdown_are_shown_and_refused_as_in_redis():
    with Oracle() as theirs, Daemon() as ours:
        for words in ("now nosave", "save nosave", "force now", "default now", "NOW", "now now", "save force now",
                      "x now", "default", ""):
            replies = [(call(server, "CONFIG", "SET", "shutdown-on-sigint", words),
                        options_of_one(server, "shutdown-on-sigint")) for server in (ours, theirs)]
            equal(replies[0], replies[1], words)
        equal(call(ours, "CONFIG", "SET", "shutdown-on-sigint", "safe failover"), b"+OK\r\n")


@own
def a_rewrite_keeps_accepted_options_and_renames():
    with folder() as where:
        text = 'rename-command DEBUG ""\nhz 10\nactive-expire-effort 4\nrename-command KEYS "all keys"\n'
        path = write(os.path.join(where, "a.conf"), text)
        with Daemon(before=[path]) as daemon, daemon.raw() as raw:
            equal(raw.call("CONFIG", "SET", "hz", "20", "repl-timeout", "61"), b"+OK\r\n")
            equal(raw.call("CONFIG", "REWRITE"), b"+OK\r\n")
        with open(path, encoding="utf-8") as got:
            lines = got.read().splitlines()
        equal(lines[:4], text.replace("hz 10", "hz 20").splitlines())
        assert "repl-timeout 61" in lines, lines


# ---- renamed commands ------------------------------------------------------------------------------

RENAMES = ("--rename-command", "GET", "Fetch", "--rename-command", "FLUSHALL", "",
           "--rename-command", "fetch", "grab", "--rename-command", "DEL", "a b",
           "--rename-command", "LPUSH", "a-name-of-more-than-sixteen-bytes")
ASKED = (
    ("SET", "k", "v"), ("GET", "k"), ("fetch", "k"), ("GRAB", "k"), ("grab",), ("FLUSHALL",),
    ("COMMAND", "INFO", "get"), ("COMMAND", "INFO", "grab"), ("COMMAND", "INFO", "flushall"),
    ("COMMAND", "GETKEYS", "get", "k"), ("COMMAND", "GETKEYS", "grab", "k"),
    ("EVAL", "return redis.call('get', 'k')", "0"), ("EVAL", "return redis.call('Grab', 'k')", "0"),
    ("EVAL", "return redis.pcall('flushall')", "0"),
    ("MULTI",), ("grab", "k"), ("a b", "k"), ("EXEC",), ("MULTI",), ("get", "k"), ("EXEC",),
    ("A-Name-Of-More-Than-Sixteen-Bytes", "l", "x"), ("A-Name-Of-More-Than-Sixteen-Byte", "l", "x"),
    ("LPUSH", "l", "x"), ("LRANGE", "l", "0", "-1"),
    ("ACL", "SETUSER", "u", "+get"), ("ACL", "SETUSER", "w", "+flushall"),
    ("ACL", "SETUSER", "u", "+grab"), ("ACL", "GETUSER", "u"),
    ("ACL", "DRYRUN", "default", "grab", "k"), ("ACL", "DRYRUN", "default", "get", "k"),
)


@test
def renamed_commands_reply_as_in_redis():
    with Oracle(*RENAMES) as theirs, Daemon(*RENAMES) as ours:
        with Raw(theirs.path) as one, Raw(ours.path) as other:
            for words in ASKED:
                equal(other.call(*words), one.call(*words), " ".join(words))
            stats = other.call("INFO", "commandstats")
            assert b"cmdstat_get:" in stats and b"grab" not in stats, stats


@own
def a_disabled_command_is_not_listed():
    with Daemon("--rename-command", "FLUSHALL", "") as daemon, Daemon() as plain:
        equal(int(call(daemon, "COMMAND", "COUNT")[1:]), int(call(plain, "COMMAND", "COUNT")[1:]) - 1)
        assert b"flushall" not in call(daemon, "COMMAND", "LIST")


@own
def wrong_renames_are_refused():
    for words, why in ((("NOSUCH", "x"), "No such command"), (("GET", "SET"), "already exists"),
                       (("GET",), "wrong number"), (("GET", "x", "y"), "wrong number"),
                       (("GET", "x" * 65), "longer")):
        lines = refuses("--rename-command", *words)
        assert len(lines) == 1 and why in lines[0], lines


@own
def data_of_renamed_commands_are_replayed():
    with folder() as where:
        options = ("--appendonly", "yes", "--dir", where)
        with Daemon(*options) as daemon:
            call(daemon, "SET", "k", "v")
        with Daemon(*options, "--rename-command", "SET", "", "--rename-command", "GET", "g") as daemon:
            equal(call(daemon, "g", "k"), b"$1\r\nv\r\n")


class FromFile(Server):
    """A daemon with the options of a file."""

    def __init__(self, text, *options):
        self.text, self.options = text, options

    def arguments(self):
        file = os.path.join(self.dir, "file.conf")
        if not os.path.exists(file):
            write(file, self.text)
        return [BINARY, file, "--port", "0", "--unixsocket", self.path, "--dir", self.dir,
                *self.options]


POINTS = "3600 1 300 100 60 10000"
IN_MEMORY = "Data is kept in memory only"


@own
def a_file_without_journal_and_save_keeps_data_as_redis_does():
    with FromFile("appendonly no\nmaxclients 100\n") as daemon:
        equal(options_of(daemon)["save"], POINTS)
        equal(call(daemon, "SET", "key", "value"), b"+OK\r\n")
        daemon.stop()
        daemon.start()
        equal(call(daemon, "GET", "key"), b"$5\r\nvalue\r\n")
        assert IN_MEMORY not in daemon.log() and "Loaded 1 key from" in daemon.log(), daemon.log()
        equal(call(daemon, "CONFIG", "REWRITE"), b"+OK\r\n")
        daemon.stop()
        daemon.start()
        equal(options_of(daemon)["save"], POINTS)
        equal(call(daemon, "CONFIG", "SET", "save", ""), b"+OK\r\n")
        equal(call(daemon, "CONFIG", "REWRITE"), b"+OK\r\n")
        daemon.stop()
        daemon.start()
        equal(options_of(daemon)["save"], "")
        assert IN_MEMORY in daemon.log(), daemon.log()


@own
def save_points_that_were_turned_off_stay_off():
    for text, change in (("appendonly no\n", ("save", "")), ("maxclients 100\n", ("appendonly", "no"))):
        with FromFile(text) as daemon:
            equal(call(daemon, "CONFIG", "SET", *change), b"+OK\r\n")
            equal(call(daemon, "CONFIG", "REWRITE"), b"+OK\r\n")
            daemon.stop()
            daemon.start()
            equal(options_of(daemon)["save"], "", text)


@own
def other_files_have_the_save_points_that_they_say():
    for text, options, wanted in (
            ("appendonly yes\n", (), ""), ("maxclients 100\n", (), ""), ('appendonly no\nsave ""\n', (), ""),
            ('save ""\nappendonly no\n', (), ""), ("appendonly no\nsave 60 5\n", (), "60 5"),
            ("appendonly no\n", ("--save", "7", "1"), "7 1"), ("appendonly no\n", ("--save", ""), ""),
            ("maxclients 100\n", ("--appendonly", "no"), POINTS)):
        with FromFile(text, *options) as daemon:
            equal(options_of(daemon)["save"], wanted, (text, options))


@own
def a_server_that_keeps_nothing_logs_that():
    for options, wanted in ((("--appendonly", "yes"), False), (("--appendonly", "no"), True),
                            (("--appendonly", "no", "--save", "60", "1"), False)):
        with Daemon(*options) as daemon:
            equal(IN_MEMORY in daemon.log(), wanted, options)


@own
def a_missing_include_names_the_line_that_asks_for_it():
    with folder() as where:
        path = write(os.path.join(where, "a.conf"), f"maxclients 100\ninclude {where}/none.conf\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True,
                              check=False)
        equal(done.returncode, 1)
        assert f"{path}:2: include: {where}/none.conf: No such file or directory" in done.stderr, done.stderr


@own
def thousands_of_users_in_a_file_are_read_in_linear_time():
    lines = [f"user u{i} on >p{i} ~k{i}* +@read +set" for i in range(4000)]  # quadratic: a minute
    with folder() as where:
        path = write(os.path.join(where, "a.conf"), "\n".join(lines) + "\n")
        subprocess.run([BINARY, "--check-config", path], check=True)
        write(path, "\n".join(lines + ["user u7 on", "user u8x +nosuch"]) + "\n")
        done = subprocess.run([BINARY, "--check-config", path], capture_output=True, text=True,
                              check=False)
        equal([line.split(": ")[1] for line in done.stderr.splitlines()], [f"{path}:4001", f"{path}:4002"])


if __name__ == "__main__":
    main()
