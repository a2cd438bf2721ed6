#!/usr/bin/python3 -B
"""Replies have the forms that the command table declares, here and on redis-server, in both protocols.
tests/unit/server/admin/command/reference_test.c does the same with random calls of the commands that
Redis 7.0 does not have."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ORACLE, ROOT, Daemon, equal, main, oracle, read_reply, test

sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))

import table  # noqa: E402
from generate import DATA_GROUPS, Generator  # noqa: E402

BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build")
SEED = os.environ.get("SEED") or "reference"
RANDOM_CALLS = 6000

# --- forms: see server/cmd/call/command.h ------------------------------------------------------------

# Types on the wire, by protocol; null-array alone tells *-1 from $-1.
SCALARS = {
    "simple": (b"+", b"+"), "bulk": (b"$", b"$"), "integer": (b":", b":"), "double": (b"$", b","),
    "verbatim": (b"$", b"="), "null": (b"$", b"_"), "null-array": (b"*", b"_"),
}
BRACKETS = {"": (b"*", b"*"), "map": (b"*", b"%"), "set": (b"*", b"~"), "push": (b"*", b">")}


def split(text, separator):
    """Splits at separators outside brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for char in text:
        quoted ^= char == "'"
        depth += not quoted and (char == "[") - (char == "]")
        if char == separator and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def fits(value, form, version):
    return any(fits_one(value, one, version) for one in split(form, "|"))


def fits_one(value, form, version):
    kind, content = value
    if form == "any":
        return True
    if form.startswith("'"):
        return kind == b"$" and content == form.strip("'").encode()
    if form.endswith("]"):
        name, items = form[:-1].split("[", 1)
        return (kind == BRACKETS[name][version - 2] and content is not None
                and fits_items(content, items, version))
    if form in SCALARS:
        empty = form.startswith("null") and version == 2
        return kind == SCALARS[form][version - 2] and (content is None) == empty
    return kind == b"+" and content == form.encode()


def fits_items(values, items, version):
    forms = split(items, " ") if items else []
    if forms and forms[-1] == "...":
        forms.pop()
        if len(values) % len(forms):
            return False
        forms *= len(values) // len(forms)
    return len(values) == len(forms) and all(
        fits(value, form, version) for value, form in zip(values, forms))


# Errors that any command may reply.
COMMON_ERRORS = ("ERR wrong number of arguments for '.*' command", "ERR unknown subcommand .*")


def pattern_of(text):
    """A pattern for an error's text, which has %s and the like for values."""
    return ".*".join(re.escape(part) for part in re.split(r"%(?:\.\*|\.\d+)?(?:ll)?[sdf]", text))


class Reference:
    """The declared forms and errors by command, and which commands Redis 7.0 has."""

    def __init__(self):
        listed = subprocess.run([os.path.join(BUILD, "tools", "command_reference"), "--forms"],
                                stdout=subprocess.PIPE, check=True, text=True).stdout
        self.forms, self.errors, self.redis = {}, {}, set()
        for line in listed.splitlines():
            name, redis, reply = line.split("\t")
            if reply.startswith("-"):
                self.errors.setdefault(name, []).append(pattern_of(reply[1:]))
            else:
                self.forms.setdefault(name, []).append(reply)
            if redis:
                self.redis.add(name)

    def name_of(self, arguments):
        words = [word.decode("latin1").upper() for word in arguments[:2]]
        return " ".join(words) if " ".join(words) in self.forms else words[0]

    def declares_error(self, arguments, text):
        errors = [*COMMON_ERRORS, *self.errors.get(self.name_of(arguments), ())]
        return any(re.fullmatch(error, text, re.S) for error in errors)

    def declares(self, arguments, reply, version):
        if reply[0] == b"-":
            return self.declares_error(arguments, reply[1].decode("latin1"))
        for declared in self.forms[self.name_of(arguments)]:
            if declared.startswith("RESP"):
                if declared[4] != str(version):
                    continue
                declared = declared[6:]
            if fits(reply, split(declared, ":")[0], version):
                return True
        return False


def check(reference, connection, arguments, version, may_fail):
    reply, _ = read_reply(connection.call(*arguments))
    assert may_fail or reply[0] != b"-", f"RESP{version} {arguments}: {reply}"
    assert reference.declares(arguments, reply, version), (
        f"RESP{version} {arguments}: {reply} is none of "
        f"{reference.forms[reference.name_of(arguments)]}, "
        f"{reference.errors.get(reference.name_of(arguments))}")


def servers():
    """The daemon, and Redis if it is installed."""
    return [BINARY, ORACLE] if oracle() else [BINARY]


# --- random calls of data commands ---------------------------------------------------------------


@test
def random_calls_reply_as_declared():
    reference = Reference()
    rows = [row for row in table.rows() if row.group in DATA_GROUPS and "async" not in row.rules]
    for binary in servers():
        for version in (2, 3):
            generator = Generator(rows, SEED)
            generator.now, generator.deadlines, generator.same_score = 1_900_000_000_000, [], False
            with Daemon(binary=binary) as daemon, daemon.raw() as connection:
                connection.call("HELLO", version)
                for _ in range(RANDOM_CALLS):
                    arguments = generator.command(generator.rng.choice(rows))[0]
                    if reference.name_of(arguments) in reference.forms:
                        check(reference, connection, arguments, version, may_fail=True)


# --- calls of all others -------------------------------------------------------------------------

# Each is the last call of its line; the calls before ";" prepare it.
CALLS = """
SADD s a; SMEMBERS s
BLPOP l 0.001
RPUSH l a b; BLPOP l 0
BRPOP l 0.001
RPUSH l a b; BRPOP l 0
BLMPOP 0.001 1 l LEFT
RPUSH l a b; BLMPOP 0 1 l LEFT COUNT 2
BLMOVE l m LEFT LEFT 0.001
RPUSH l a; BLMOVE l m LEFT LEFT 0
BLMOVEM l m LEFT LEFT 0.001
RPUSH l a b; BLMOVEM l m LEFT RIGHT 0 COUNT 2 BULK
BRPOPLPUSH l m 0.001
RPUSH l a; BRPOPLPUSH l m 0
BZPOPMIN z 0.001
ZADD z 1 a; BZPOPMIN z 0
BZPOPMAX z 0.001
ZADD z 1 a; BZPOPMAX z 0
BZMPOP 0.001 1 z MIN
ZADD z 1 a 2 b; BZMPOP 0 1 z MIN COUNT 2
XREAD BLOCK 1 STREAMS s 0
XADD s 1 a b; XREAD STREAMS s t 0 0
XADD s 1 a b; XGROUP CREATE s g 0; XREADGROUP GROUP g c STREAMS s >
XGROUP CREATE s g 0 MKSTREAM; XREADGROUP GROUP g c BLOCK 1 STREAMS s >
XADD s 1 a b; XGROUP CREATE s g 0; XREADGROUP GROUP g c STREAMS s >; XREADGROUP GROUP g c STREAMS s 0
XGROUP HELP
XINFO HELP
WAIT 0 1
WAITAOF 0 0 1
REPLICAOF NO ONE
SLAVEOF NO ONE
REPLCONF capa eof
SET k v; OBJECT IDLETIME k
OBJECT IDLETIME none
OBJECT HELP
CONFIG SET maxmemory-policy allkeys-lfu; SET k v; OBJECT FREQ k
CONFIG SET maxmemory-policy allkeys-lfu; OBJECT FREQ none
SET k v; DUMP k
PFSELFTEST
KEYS *
FLUSHALL
DBSIZE
MULTI
MULTI; DISCARD
MULTI; EXEC
MULTI; GET k; EXEC
WATCH k
UNWATCH
PUBLISH c m
SPUBLISH c m
SUBSCRIBE c
PSUBSCRIBE c*
SSUBSCRIBE c
UNSUBSCRIBE
SUBSCRIBE c; UNSUBSCRIBE c
PUNSUBSCRIBE
PSUBSCRIBE c*; PUNSUBSCRIBE c*
SUNSUBSCRIBE
SSUBSCRIBE c; SUNSUBSCRIBE c
PUBSUB CHANNELS
PUBSUB NUMSUB a b
PUBSUB NUMPAT
PUBSUB SHARDCHANNELS
PUBSUB SHARDNUMSUB a b
PUBSUB HELP
PING
PING text
SUBSCRIBE c; PING
SUBSCRIBE c; PING text
ECHO text
CONFIG SET requirepass secret; AUTH secret
HELLO
SELECT 1
QUIT
RESET
CLIENT ID
CLIENT GETNAME
CLIENT SETNAME me; CLIENT GETNAME
CLIENT SETNAME me
CLIENT SETINFO LIB-NAME lib
CLIENT INFO
CLIENT LIST
CLIENT KILL TYPE PUBSUB
CLIENT NO-EVICT ON
CLIENT NO-TOUCH ON
CLIENT PAUSE 0
CLIENT UNPAUSE
CLIENT REPLY ON
CLIENT TRACKING ON
CLIENT TRACKING ON OPTIN; CLIENT CACHING YES
CLIENT GETREDIR
CLIENT TRACKING ON BCAST PREFIX a; CLIENT TRACKINGINFO
CLIENT UNBLOCK 1
CLIENT CAPA redirect
CLIENT HELP
COMMAND
COMMAND COUNT
COMMAND INFO
COMMAND INFO get none
COMMAND DOCS
COMMAND DOCS get
COMMAND LIST
COMMAND GETKEYS GET k
COMMAND GETKEYSANDFLAGS GET k
COMMAND HELP
CONFIG GET max*
CONFIG SET maxmemory 0
CONFIG RESETSTAT
CONFIG HELP
DEBUG HELP
DEBUG DIGEST
DEBUG SLEEP 0
ROLE
MODULE LIST
MODULE HELP
LATENCY DOCTOR
LATENCY HISTORY command
LATENCY LATEST
LATENCY RESET
GET k; LATENCY HISTOGRAM
GET k; LATENCY HISTOGRAM get
LATENCY HELP
MEMORY DOCTOR
MEMORY MALLOC-STATS
MEMORY PURGE
SET k v; MEMORY STATS
SET k v; MEMORY USAGE k
MEMORY USAGE k
MEMORY HELP
SAVE
BGSAVE
BGREWRITEAOF
LASTSAVE
INFO
TIME
LOLWUT
CONFIG SET slowlog-log-slower-than 0; SLOWLOG GET
ACL CAT
ACL CAT read
ACL SETUSER gone on; ACL DELUSER gone none
ACL DRYRUN default GET k
ACL SETUSER u on; ACL DRYRUN u GET k
ACL GENPASS
ACL GENPASS 8
ACL SETUSER u on nopass ~a (+get); ACL GETUSER u
ACL GETUSER none
ACL HELP
ACL LIST
AUTH none x; ACL LOG
ACL LOG RESET
ACL SETUSER u reset +@all
ACL USERS
ACL WHOAMI
SLOWLOG LEN
SLOWLOG RESET
SLOWLOG HELP
MONITOR
EXPIRY NEXT
SET k v PX 100000; EXPIRY NEXT
EXPIRY FORECAST
EXPIRY LAG
EXPIRY HELP
POLICY HELP
POLICY SET a* TTL 5s; POLICY LIST
POLICY SET a* TTL 5s REFRESH WRITE; POLICY GET a*
POLICY SET a* TTL 5s; POLICY OF abc
POLICY SET a* TTL 5s; POLICY STATS a*
POLICY STATS a*
DEBUG CLOCK
REDE.BPOLL d 0.001
REDE.PUSH d 0 text id; REDE.BPOLL d 0
REDE.PUSH d 0 text id; REDE.BPOLL d 0 WITHIDS
LEASE.TAKE lock a 1000
LEASE.TAKE lock a 1000; LEASE.TAKE lock b 1000 WAIT 0.001
LEASE.TAKE lock a 1000; LEASE.INFO lock
GETFRESH page LEASE 1000; GETFRESH page
GETFRESH page; GETFRESH page WAIT 1
SET page v PX 1000 SOFT 500; GETFRESH page EARLY 600; GETFRESH page
REDE.CLAIM d 1000
REDE.CLAIM d 1000 BLOCK 0.001
REDE.PUSH d 0 text id; REDE.CLAIM d 1000
REDE.FAIRCLAIM d* 1000
REDE.FAIRCLAIM d* 1000 BLOCK 0.001
REDE.PUSH d 0 text id; REDE.FAIRCLAIM d* 1000 COUNT 2
REDE.PUSH d 0 text id; REDE.FAIRCLAIM * 1000 TOKENS
REDE.FAIRINFO d*
REDE.PUSH d 0 text id; REDE.FAIRINFO d*
BZTSPOP z 5 0.001
ZADD z 1 a 2 b; BZTSPOP z 5 0
BZTSMOVE z l 5 0.001
ZADD z 1 a 2 b; BZTSMOVE z l 5 0
EVAL return{1} 0
EVAL return{1} 0; EVALSHA 7da067d306ba2950a9b8ae9ef59deade71ff5b36 0
SCRIPT LOAD return{1}
SCRIPT LOAD return{1}; SCRIPT EXISTS 7da067d306ba2950a9b8ae9ef59deade71ff5b36 x
SCRIPT FLUSH
SCRIPT DEBUG NO
SCRIPT HELP
FUNCTION LIST
FUNCTION STATS
FUNCTION DUMP
FUNCTION HELP
REPLICAOF NO ONE
SLAVEOF NO ONE
REPLCONF listening-port 1
WAITAOF 0 0 0
"""

# Of a daemon that emulates a cluster; NODE is the ID of the node.
CLUSTER_CALLS = """
READONLY
READWRITE
ASKING
CLUSTER COUNT-FAILURE-REPORTS NODE
CLUSTER COUNTKEYSINSLOT 1
CLUSTER GETKEYSINSLOT 12539 1
CLUSTER HELP
CLUSTER INFO
CLUSTER KEYSLOT k
CLUSTER LINKS
CLUSTER MYID
CLUSTER NODES
CLUSTER REPLICAS NODE
CLUSTER SHARDS
CLUSTER SLAVES NODE
CLUSTER SLOTS
"""

# Of a daemon with a stepped clock.
CLOCK_CALLS = """
CLOCK GET
CLOCK SET 1900000000000
CLOCK ADVANCE 1000
CLOCK RUN
CLOCK FREEZE
CLOCK HELP
"""

# Commands that end the server or change the connection; other tests cover them.
LEFT_OUT = {"SHUTDOWN": "ends the server", "FCALL": "needs a library",
            "SCRIPT KILL": "needs a busy script", "FUNCTION KILL": "needs a busy function", "CONFIG REWRITE": "needs a file",
            "ACL LOAD": "needs a file", "ACL SAVE": "needs a file",
            "LATENCY GRAPH": "needs samples", "PSYNC": "a stream follows", "SYNC": "a stream follows",
            "FAILOVER": "needs a replica"}


def calls(text=CALLS):
    for line in text.strip().splitlines():
        yield [part.split() for part in line.split(";")]


def call_others(reference, daemon, version):
    """Replies that are not as declared, one line each."""
    wrong = []
    for steps in calls():
        arguments = [word.encode() for word in steps[-1]]
        name = reference.name_of(arguments)
        # DEBUG's subcommands differ.
        if daemon.binary == ORACLE and (name not in reference.redis or name == "DEBUG"):
            continue
        with daemon.raw() as connection:
            connection.call("HELLO", version)
            connection.call("FLUSHALL")
            for step in steps[:-1]:
                connection.call(*step)
            try:
                check(reference, connection, arguments, version, may_fail=False)
            except AssertionError as error:
                wrong.append(f"{os.path.basename(daemon.binary)}: {error}")
            if name == "AUTH":
                connection.call("CONFIG", "SET", "requirepass", "")
    return wrong


@test
def other_commands_reply_as_declared():
    reference, wrong = Reference(), []
    for binary in servers():
        for version in (2, 3):
            with Daemon(binary=binary) as daemon:
                wrong += call_others(reference, daemon, version)
    assert not wrong, "\n".join(wrong)


@test
def commands_of_an_emulated_cluster_reply_as_declared():
    reference = Reference()
    with Daemon("--cluster-enabled", "emulated") as daemon, daemon.raw() as connection:
        node = connection.call("CLUSTER", "MYID").split(b"\r\n")[1]
        connection.call("SET", "k", "v")
        for version in (2, 3):
            connection.call("HELLO", version)
            for steps in calls(CLUSTER_CALLS):
                words = [node if word == "NODE" else word.encode() for word in steps[-1]]
                check(reference, connection, words, version, may_fail=False)


@test
def commands_of_a_stepped_clock_reply_as_declared():
    reference = Reference()
    with Daemon("--clock", "stepped") as daemon, daemon.raw() as connection:
        for version in (2, 3):
            connection.call("HELLO", version)
            for steps in calls(CLOCK_CALLS):
                check(reference, connection, [word.encode() for word in steps[-1]], version, may_fail=False)


@test
def every_command_is_called_by_a_test():
    """Calls commands that no random program calls: those without data, and blocking ones."""
    reference = Reference()
    called = {reference.name_of([word.encode() for word in steps[-1]]) for text in (CALLS, CLUSTER_CALLS, CLOCK_CALLS)
              for steps in calls(text)}
    with Daemon() as daemon, daemon.redis(decode_responses=True) as client:
        flags = {}
        for command in client.execute_command("COMMAND").values():
            for one in [command, *command.get("subcommands", ())]:
                flags[one["name"] if isinstance(one, dict) else one[0]] = (
                    one["flags"] if isinstance(one, dict) else one[2])
    missing = []
    for name in reference.forms:
        said = flags[name.lower().replace(" ", "|")]
        is_random = ("write" in said or "readonly" in said) and "blocking" not in said
        if not is_random and name not in called and name not in LEFT_OUT:
            missing.append(name)
    equal(missing, [])


@test
def the_reference_marks_exactly_the_commands_of_redis():
    reference = Reference()
    with Daemon(binary=oracle()) as daemon, daemon.redis(decode_responses=True) as client:
        has = {name.upper().replace("|", " ") for name in client.execute_command("COMMAND LIST")}
    equal({name for name in reference.forms if name in has and name not in reference.redis}, set())
    equal({name for name in reference.redis if name not in has}, set())


main(120)
