#!/usr/bin/python3 -B
"""Programs in lock-step against redis-server 7.0.15: the reply bytes must be equal.

The programs are in compare/*/*.txt. A line that begins with == opens a section, which runs on an
empty server, once in RESP2 and once in RESP3. Every other line is a command, with quotes and
escapes as in redis-cli, behind marks. An indented line continues the one before it.

    @b              on connection b instead of a
    [sorted]        the reply's items come in any order
    [pairs]         the reply's items two by two (RESP2) or its map (RESP3) come in any order
    [sorted 1]      the same of the item at index 1 (SCAN)
    [kind]          only the reply's type is compared
    [near n]        integers, also inside the reply, that are at most n apart
    [fields]        only the names of name=value and name:value fields
    [values a b]    only the values of the fields a and b
    [replies n]     the command has n replies (SUBSCRIBE a b: 2)
    [shuffled]      the n replies (or messages) come in any order
    [id]            the client's id in HELLO's reply may differ
    [until r]       the command is repeated until the reply begins with r
    [each a b]      the line is run for each word in the place of %
    [differs]       the replies differ deliberately (doc/differs.md); they must not be equal
    [lua]           the line is a script, which EVAL runs; quotes and escapes are Lua's own
    [lua 1 k a]     the same with a number of keys, keys and arguments
    <               no command: waits for one more reply (a message)
    [messages w]    with <: all messages up to the one that contains w
    !               no command: the server must close the connection
"""
import difflib
import glob
import os
import re
import socket
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, Daemon, Raw, Skipped, encode, main, oracle, read_reply, test, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))

LAST_MSEC = "the latest deadline is 9223372036854775805 ms; the numbers beyond mean never"

# Deliberate differences: the line, or its section and the line, and why.
DIFFERS = {
    "PEXPIREAT k 9223372036854775807": LAST_MSEC,
    "SET k v PXAT 9223372036854775807": LAST_MSEC,
    "CONFIG SET notify-keyspace-events Q": "the letters S T I V are legal here",
    "CONFIG SET proto-max-bulk-len 1": "an argument may have 2 GiB at most, and the error says so",
    "TTL a b": "a second argument is a member, as KeyDB takes it",
    "Publishing to oneself in MULTI: EXEC":
        "Redis puts the message among EXEC's replies, one more than it announced; here it follows",
}

seen = set()  # entries of DIFFERS that were needed

CONTINUED = "\x1e"  # stands for the start of an indented line while a file is read

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "a": "\a"}


def words_of(line):
    """The arguments of a line, as bytes."""
    words, at = [], 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        word, quote = "", ""
        if line[at] in "\"'":
            quote, at = line[at], at + 1
        while at < len(line) and line[at] != (quote or " "):
            if quote == '"' and line[at] == "\\":
                if line[at + 1] == "x":
                    word += chr(int(line[at + 2:at + 4], 16))
                    at += 4
                    continue
                at += 1
                word += ESCAPES.get(line[at], line[at])
            else:
                word += line[at]
            at += 1
        at += 1 if quote else 0
        words.append(word.encode("latin-1"))
    return words


class Step:
    def __init__(self, line):
        self.text, self.connection, self.marks = line, "a", {}
        while line[:1] in ("@", "["):
            if line[0] == "@":
                self.connection, _, line = line[1:].partition(" ")
            else:
                mark, _, line = line[1:].partition("] ")
                name, _, value = mark.partition(" ")
                self.marks[name] = value
        self.line = line

    def count(self):
        return int(self.marks.get("replies", 1))

    def words(self):
        if "lua" not in self.marks:
            return words_of(self.line)
        return [b"EVAL", self.line.encode(), *words_of(self.marks["lua"] or "0")]


def sections_of(path):
    """[(name, [Step])]"""
    sections = []
    with open(path, encoding="utf-8") as file:
        lines = file.read().replace("\n ", CONTINUED).split("\n")
    for line in lines:
        line = line.replace(CONTINUED, "\n ")
        if line.startswith("=="):
            sections.append((line[2:].strip(), []))
        elif line and not line.startswith("#"):
            step = Step(line)
            for word in step.marks.get("each", "%").split():
                sections[-1][1].append(Step(line.replace("%", word)
                                            if "each" in step.marks else line))
    return sections


class Side:
    """One of the two servers in a section, with named connections."""

    def __init__(self, daemon, version):
        self.daemon, self.version, self.connections = daemon, version, {}
        with daemon.raw() as raw:
            raw.call("FLUSHALL")
            raw.call("CONFIG", "SET", "notify-keyspace-events", "")

    def connection(self, name):
        if name not in self.connections:
            self.connections[name] = raw = Raw(self.daemon.path)
            if self.version == 3:
                raw.call("HELLO", "3")
        return self.connections[name]

    def close(self):
        for raw in self.connections.values():
            raw.close()

    def send(self, step):
        if step.line not in ("<", "!"):
            self.connection(step.connection).send(encode(*step.words()))

    def receive(self, step):
        raw = self.connection(step.connection)
        try:
            if step.line == "!":
                raw.rest()
                return [b"(closed)"]
            if "messages" in step.marks:
                return [self.messages(raw, step.marks["messages"].encode())]
            replies = [raw.reply() for _ in range(step.count())]
            return sorted(replies) if "shuffled" in step.marks else replies
        except socket.timeout:
            return [b"(no reply)"]
        except (ConnectionError, AssertionError) as error:
            return [b"(" + str(error).encode() + b")"]

    @staticmethod
    def messages(raw, last):
        found = b""
        while last not in found:
            found += raw.reply()
        return found

    def repeat(self, step):
        wanted, replies = step.marks["until"].encode(), None

        def is_there():
            nonlocal replies
            self.send(step)
            replies = self.receive(step)
            return replies[0].startswith(wanted)
        wait_for(is_there, nap=0)
        return replies


def sort_pairs(items):
    pairs = [items[i:i + 2] for i in range(0, len(items), 2)]
    return [item for pair in sorted(pairs, key=repr) for item in pair]


def sorted_items(value, index, pairs):
    kind, items = value
    if not isinstance(items, list):
        return value
    if index:
        at = int(index)
        return kind, items[:at] + [sorted_items(items[at], "", pairs)] + items[at + 1:]
    return kind, sort_pairs(items) if pairs else sorted(items, key=repr)


def normal_form(reply, marks):
    """The part of a reply that must be equal."""
    if reply.startswith(b"("):
        return reply
    value = read_reply(reply)[0]
    if "kind" in marks:
        return value[0]
    if "values" in marks:
        found = dict(re.findall(rb"([\w-]+)[=:]([^ \r\n]*)", value[1]))
        return value[0], [found[name.encode()] for name in marks["values"].split()]
    if "fields" in marks:
        return value[0], re.findall(rb"([\w-]+)[=:]", value[1] or b"")
    if "sorted" in marks:
        value = sorted_items(value, marks["sorted"], False)
    if "pairs" in marks:
        value = sorted_items(value, marks["pairs"], True)
    return value


def is_near(ours, theirs, span):
    number = rb"(?<![^\n]):(-?\d+)\r"
    pairs = zip(re.findall(number, ours), re.findall(number, theirs))
    return re.sub(number, b":", ours) == re.sub(number, b":", theirs) and \
        all(abs(int(a) - int(b)) <= int(span) for a, b in pairs)


def is_same(ours, theirs, marks):
    if ours == theirs:
        return True
    if "id" in marks:
        number = rb"(\$2\r\nid\r\n:)\d+"
        return re.sub(number, rb"\1", ours) == re.sub(number, rb"\1", theirs)
    if "near" in marks:
        return is_near(ours, theirs, marks["near"])
    if marks.keys() & {"kind", "fields", "values", "sorted", "pairs"}:
        return normal_form(ours, marks) == normal_form(theirs, marks)
    return False


def difference(got, wanted, marks):
    if "messages" not in marks or b"(" in (got[0][:1], wanted[0][:1]):
        return f"      redis {b''.join(wanted)!r}\n      here  {b''.join(got)!r}"
    lines = difflib.ndiff(message_lines(wanted[0]), message_lines(got[0]))
    return "      (- redis, + here)\n" + "\n".join("      " + line for line in lines
                                                   if line[0] in "+-")


def message_lines(data):
    lines, at = [], 0
    while at < len(data):
        (_, items), at = read_reply(data, at)
        lines.append(repr(b" ".join(item[1] for item in items[2:])))
    return lines


def compare_section(name, steps, daemon, reference, version):
    """The differences, as text."""
    ours, theirs, found = Side(daemon, version), Side(reference, version), []
    try:
        for step in steps:
            if "until" in step.marks:
                got, wanted = ours.repeat(step), theirs.repeat(step)
            else:
                ours.send(step)
                theirs.send(step)
                got, wanted = ours.receive(step), theirs.receive(step)
            same = len(got) == len(wanted) and \
                all(is_same(a, b, step.marks) for a, b in zip(got, wanted))
            if "differs" in step.marks and same and daemon.binary != reference.binary:
                found.append(f"RESP{version} {step.text}\n      is no longer different: {got!r}")
            if same or "differs" in step.marks and b"(" not in (got[0][:1], wanted[0][:1]):
                continue
            if step.line in DIFFERS or f"{name}: {step.line}" in DIFFERS:
                seen.update((step.line, f"{name}: {step.line}"))
                continue
            found.append(f"RESP{version} {step.text}\n" + difference(got, wanted, step.marks))
            if b"(" in (got[0][:1], wanted[0][:1]):
                if not daemon.is_running():
                    found.append("    the daemon died:\n" + daemon.log()[-1000:])
                found.append("    (the rest of the section was left out)")
                break
    finally:
        ours.close()
        theirs.close()
    return found


# --- COMMAND INFO ------------------------------------------------------------------------------

INFO_FIELDS = ("name", "arity", "flags", "first key", "last key", "step", "ACL categories")


def plain(value):
    """Lists of plain values; sets are sorted."""
    kind, payload = value
    if not isinstance(payload, list):
        return payload
    items = [plain(item) for item in payload]
    return sorted(items, key=repr) if kind == b"~" else items


def infos_of(raw):
    """{name: row} of COMMAND INFO of every command and subcommand."""
    rows, found = plain(read_reply(raw.call("COMMAND"))[0]), {}
    for row in rows:
        found[row[0].lower()] = row
        for child in row[9]:
            found[child[0].lower()] = child
    return found


def compare_infos(ours, theirs):
    found = []
    for name in sorted(ours.keys() & theirs.keys()):
        for index, field in enumerate(INFO_FIELDS):
            got, wanted = ours[name][index], theirs[name][index]
            if field == "arity" and name in (b"ttl", b"pttl", b"persist", b"zrank", b"zrevrank"):
                continue  # they also take a member, or WITHSCORE
            if got != wanted:
                found.append(f"{name.decode()}: {field}\n      redis {wanted!r}\n"
                             f"      here  {got!r}")
    return found


# --- the tests ---------------------------------------------------------------------------------

SHARED = """
PING ECHO AUTH HELLO SELECT QUIT RESET CLIENT COMMAND DEL UNLINK EXISTS TYPE EXPIRE PEXPIRE EXPIREAT
PEXPIREAT TTL PTTL EXPIRETIME PEXPIRETIME PERSIST RENAME RENAMENX KEYS SCAN RANDOMKEY TOUCH DBSIZE
FLUSHDB FLUSHALL MEMORY OBJECT SET GET GETSET GETDEL GETEX MGET MSET MSETNX SETNX SETEX PSETEX
APPEND STRLEN INCR DECR INCRBY DECRBY INCRBYFLOAT LPUSH RPUSH LPOP RPOP LLEN LRANGE LTRIM LREM
LINDEX SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD HSET HGET HMGET HDEL HGETALL HLEN HEXISTS
HINCRBY HKEYS HVALS ZADD ZREM ZCARD ZSCORE ZMSCORE ZRANK ZREVRANK ZINCRBY ZCOUNT ZRANGE ZREVRANGE
ZRANGEBYSCORE ZREVRANGEBYSCORE ZREMRANGEBYSCORE ZREMRANGEBYRANK ZPOPMIN ZPOPMAX MULTI EXEC DISCARD
WATCH UNWATCH SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB INFO CONFIG TIME SHUTDOWN
DEBUG MEMORY|USAGE OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT CONFIG|GET CONFIG|SET
CONFIG|RESETSTAT CLIENT|ID CLIENT|GETNAME CLIENT|SETNAME CLIENT|INFO CLIENT|LIST CLIENT|KILL
CLIENT|NO-EVICT CLIENT|REPLY COMMAND|COUNT COMMAND|INFO COMMAND|DOCS COMMAND|LIST COMMAND|GETKEYS
PUBSUB|CHANNELS PUBSUB|NUMSUB PUBSUB|NUMPAT EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO
SCRIPT|LOAD SCRIPT|EXISTS SCRIPT|FLUSH SCRIPT|KILL SCRIPT|HELP FUNCTION|LOAD FUNCTION|DELETE
FUNCTION|FLUSH FUNCTION|LIST FUNCTION|STATS FUNCTION|DUMP FUNCTION|RESTORE FUNCTION|KILL FUNCTION|HELP
""".lower().split()


def add_section(name, steps, daemon, reference):
    for version in (2, 3):
        def run(version=version):
            if not daemon.is_running():
                daemon.start()
            found = compare_section(name, steps, daemon, reference, version)
            assert not found, "\n".join(found)
        run.__name__ = f"{name}, RESP{version}"
        test(run)


def add_info_tests(daemon, reference):
    @test
    def every_shared_command_exists():  # pylint: disable=unused-variable
        with daemon.raw() as raw:
            ours = infos_of(raw)
        missing = [name for name in SHARED if name.encode() not in ours]
        assert not missing, "missing: " + " ".join(missing)

    @test
    def command_info_of_shared_commands_is_equal():  # pylint: disable=unused-variable
        with daemon.raw() as ours, reference.raw() as theirs:
            ours.call("HELLO", "3")
            theirs.call("HELLO", "3")
            found = compare_infos(infos_of(ours), infos_of(theirs))
        assert not found, "\n".join(found)


def add_last_test():
    @test
    def every_deliberate_difference_is_still_one():  # pylint: disable=unused-variable
        stale = [line for line in DIFFERS if line not in seen]
        assert not stale, f"no longer different: {stale}"


def run():
    try:
        reference_binary = oracle()
    except (AssertionError, Skipped):
        test(oracle)  # fails, or is skipped
        main()
    with Daemon(binary=BINARY) as daemon, Daemon(binary=reference_binary) as reference:
        add_info_tests(daemon, reference)
        paths = sorted(glob.glob(os.path.join(HERE, "compare", "*", "*.txt")))
        assert paths, "no programs in compare/"
        for path in paths:
            for name, steps in sections_of(path):
                add_section(name, steps, daemon, reference)
        if BINARY != reference_binary:
            add_last_test()
        main()


run()
