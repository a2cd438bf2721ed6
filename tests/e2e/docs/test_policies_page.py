#!/usr/bin/python3 -B
"""doc/policies.md has each option of POLICY SET, and its table of commands says which count as reads and writes; each
must behave so."""
import os
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, equal, main, own, read_reply

PAGE = os.path.join(ROOT, "doc", "policies.md")
SPAN, PASSED = 1_000_000, 100_000

# For each type the commands that create the key k, and a call of each command that takes such a key;
# the call finds data, and changes them if the command can. TOKEN is the largest integer that the last command of the
# creation returned. X is a missing key, y one of the same type
# without a policy. If a command has several rows in the table, the position of k follows its name.
CALLS = {
    "SET k 10": """
        APPEND k x|CL.THROTTLE k 1 1 1|CL.THROTTLEMS k 1 1 1|BITCOUNT k|BITFIELD k SET u8 0 1|BITFIELD_RO k GET u8 0|BITPOS k 1|DECR k
        DECRBY k 2|DUMP k|DELEX k IFEQ 10|DELIFEQ k 10|DIGEST k|EXISTS k|EXPIRE k 50|EXPIREAT k 1900000500|EXPIRETIME k|GET k|GETBIT k 0
        GETDEL k|GETEX k|GETFRESH k|SOFTTTL k|STALE k|GETRANGE k 0 1|GETSET k v|INCR k|INCRBY k 1|INCRBYFLOAT k 1|INCREX k|LCS k y|MGET k
        MOVE k 1|MSET k v|MSETEX 1 k v|MSETNX X v k v|PERSIST k|PEXPIRE k 50|PEXPIREAT k 1900000500000
        PEXPIRETIME k|PSETEX k 500 v|PTTL k|SET k v|SETBIT k 0 1|SETEX k 5 v|SETNX k v
        SETRANGE k 0 x|STRLEN k|SUBSTR k 0 1|TOUCH k|TTL k|TYPE k|UNLINK k|DEL k|BITOP:source NOT X k
        COPY:source k X|RENAME:source k X|RENAMENX:source k X|WATCH k
        OBJECT ENCODING k|OBJECT IDLETIME k|OBJECT REFCOUNT k|MEMORY USAGE k|KEYS *
        SCAN 0|RANDOMKEY|DBSIZE|POLICY OF k|EXPIRY NEXT|BITOP:target NOT k y
        COPY:target y k REPLACE|RENAME:target y k""",
    "CL.WINDOW k 5 1000|POLICY SET k TTL 1000000|PEXPIRE k 1000000": "CL.WINDOW k 5 1000",
    "PFADD k a|PFCOUNT k": "PFADD k b|PFCOUNT k|PFDEBUG ENCODING k|PFMERGE:source X k|PFMERGE:target k y",
    "RPUSH k 1 2 3": """
        BLMOVE:source k X LEFT LEFT 1|BLMOVEM:source k X LEFT LEFT 1|BLMPOP 1 1 k LEFT|BLPOP k 1|BRPOP k 1|BRPOPLPUSH:source k X 1
        LINDEX k 0|LINSERT k BEFORE 2 x|LLEN k|LMOVE:source k X LEFT LEFT|LMOVEM:source k X LEFT LEFT|LMPOP 1 k LEFT|LPOP k
        LPOS k 1|LPUSH k x|LPUSHX k x|LRANGE k 0 -1|LREM k 0 1|LSET k 0 x|LTRIM k 1 2|RPOP k
        RPOPLPUSH:source k X|RPUSH k x|RPUSHX k x|SORT k|SORT_RO k|SORT:source k STORE X
        SORT:target y STORE k|LMOVE:target y k LEFT LEFT|BLMOVE:target y k LEFT LEFT 1
        LMOVEM:target y k LEFT LEFT|BLMOVEM:target y k LEFT LEFT 1|        RPOPLPUSH:target y k|BRPOPLPUSH:target y k 1""",
    "SADD k 1 2 3": """
        EXPIREMEMBER k 1 50|EXPIREMEMBERAT k 1 1900000500|FIELDEXPIRE k 50 1|FIELDTTL k 1
        PEXPIREMEMBERAT k 1 1900000500000|SADD k x|SADDEX k 50 x|SCARD k|SDIFF k|SDIFFCARD 1 k|SINTER k
        SINTERCARD 1 k|SISMEMBER k 1|SMEMBERS k|SMISMEMBER k 1|SMOVE:source k X 1|SPOP k|SRANDMEMBER k
        SREM k 1|SSCAN k 0|SUNION k|SUNIONCARD 1 k|SEXPIRE k 50 MEMBERS 1 1|SEXPIREAT k 1900000500 MEMBERS 1 1
        SPEXPIRE k 50 MEMBERS 1 1|SPEXPIREAT k 1900000500000 MEMBERS 1 1|SEXPIRETIME k MEMBERS 1 1
        SPEXPIRETIME k MEMBERS 1 1|STTL k MEMBERS 1 1|SPTTL k MEMBERS 1 1|SDIFFSTORE:source X k
        SINTERSTORE:source X k|SUNIONSTORE:source X k|SDIFFSTORE:target k y
        SINTERSTORE:target k y|SUNIONSTORE:target k y""",
    "SADD k 1 2 3|SADD y 9": "SMOVE:target y k 9",
    "DEL y|RPUSH k 1|DEL y|ZADD y 1 a": "BZTSMOVE:target y k 1 1",
    "SADDEX k 5000 1 2 3": "SPERSIST k MEMBERS 1 1",
    "HSET k a 1 b 2": """
        HDEL k a|HEXISTS k a|HEXPIRE k 50 FIELDS 1 a|HEXPIREAT k 1900000500 FIELDS 1 a
        HEXPIRETIME k FIELDS 1 a|HGET k a|HGETALL k|HGETDEL k FIELDS 1 a|HGETEX k FIELDS 1 a
        HINCRBY k a 1|HINCRBYFLOAT k a 1|HKEYS k|HLEN k|HMGET k a|HMSET k a 2
        HPEXPIRE k 50 FIELDS 1 a|HPEXPIREAT k 1900000500000 FIELDS 1 a|HPEXPIRETIME k FIELDS 1 a
        HPTTL k FIELDS 1 a|HRANDFIELD k|HSCAN k 0|HSET k a 2|HSETEX k FIELDS 1 a 2|HSETNX k c 1
        HSTRLEN k a|HTTL k FIELDS 1 a|HVALS k""",
    "HSETEX k 5000 a 1 b 2": "HPERSIST k FIELDS 1 a",
    "ZADD k 1 a 2 b 3 c": """
        BZMPOP 1 1 k MIN|BZPOPMAX k 1|BZPOPMIN k 1|BZTSMOVE:source k X 1 1|BZTSPOP k 1 1|ZADD k 9 x
        ZADDEX k EX 50 9 x|ZCARD k|ZCOUNT k 1 2|ZDIFF 1 k|ZEXPIRE k 50 MEMBERS 1 a
        ZEXPIREAT k 1900000500 MEMBERS 1 a|ZEXPIRETIME k MEMBERS 1 a|ZINCRBY k 1 a|ZINTER 1 k
        ZINTERCARD 1 k|ZLEXCOUNT k - +|ZMPOP 1 k MIN|ZMSCORE k a|ZPEXPIRE k 50 MEMBERS 1 a
        ZPEXPIREAT k 1900000500000 MEMBERS 1 a|ZPEXPIRETIME k MEMBERS 1 a|ZPOPMAX k|ZPOPMIN k
        ZPTTL k MEMBERS 1 a|ZRANDMEMBER k|ZRANGE k 0 -1|ZRANGEBYLEX k - +|ZRANGEBYSCORE k 0 9
        ZRANK k a|ZREM k a|ZREMRANGEBYLEX k [a [a|ZREMRANGEBYRANK k 0 0|ZREMRANGEBYSCORE k 1 1
        ZREVRANGE k 0 -1|ZREVRANGEBYLEX k + -|ZREVRANGEBYSCORE k 9 0|ZREVRANK k a|ZSCAN k 0|ZSCORE k a
        ZTTL k MEMBERS 1 a|ZUNION 1 k|ZDIFFSTORE:source X 1 k|ZINTERSTORE:source X 1 k
        ZUNIONSTORE:source X 1 k|ZRANGESTORE:source X k 0 -1|ZDIFFSTORE:target k 1 y
        ZINTERSTORE:target k 1 y|ZUNIONSTORE:target k 1 y|ZRANGESTORE:target k y 0 -1""",
    "ZADDEX k EX 5000 1 a 2 b": "ZPERSIST k MEMBERS 1 a",
    "GEOADD k 1 1 a 2 2 b": """
        GEOADD k 3 3 c|GEODIST k a b|GEOHASH k a|GEOPOS k a|GEORADIUS k 1 1 9 km
        GEORADIUSBYMEMBER k a 9 km|GEORADIUSBYMEMBER_RO k a 9 km|GEORADIUS_RO k 1 1 9 km
        GEOSEARCH k FROMMEMBER a BYRADIUS 9 km|GEOSEARCHSTORE:source X k FROMMEMBER a BYRADIUS 9 km
        GEOSEARCHSTORE:target k y FROMMEMBER a BYRADIUS 9 km
        GEORADIUS:source k 1 1 9 km STORE X|GEORADIUSBYMEMBER:source k a 9 km STORE X
        GEORADIUS:target y 1 1 9 km STORE k|GEORADIUSBYMEMBER:target y a 9 km STORE k""",
    "REDE.MPUSH k 0 p i 0 p j 9999999 p late": """
        REDE.BPOLL k 1 COUNT 1|REDE.CLAIM k 500 COUNT 1|REDE.COUNT k - +|REDE.FAIRCLAIM k* 500|REDE.FAIRINFO k*
        REDE.GIDPUSH k 5 p|REDE.INFO k|REDE.LEN k
        REDE.LOOK k i|REDE.MPUSH k 5 p x|REDE.POLL k COUNT 1|REDE.PULL k i|REDE.PUSH k 5 p x
        REDE.PUSHAT k 1900000500000 p x|REDE.RANGE k - +|REDE.RESCHEDULE k 500 i|REDE.SCAN k 0
        REDE.TTN k|REDE.UPDATE k i x|REDE.XACK k i|REDE.XPOLL k""",
    "REDE.PUSH k 0 p i|REDE.PUSH k 99999999 p j|REDE.CLAIM k 99999999": "REDE.NACK k 5 i",
    "REDE.PUSH k 0 p i|REDE.PUSH k 99999999 p j|REDE.CLAIM k 99999999 TOKENS": """
        REDE.ACK k i TOKEN|REDE.EXTEND k 5 i TOKEN|REDE.RETRY k 5 i TOKEN""",
    "REDE.PUSH k 9999999 p i": "REDE.PAUSE k",
    "REDE.PUSH k 9999999 p i|REDE.PAUSE k": "REDE.RESUME k",
    "LEASE.TAKE k a 9999999 PERMITS 2|LEASE.TAKE k b 9999999 PERMITS 2": """
        LEASE.TAKE k a 9999999 PERMITS 2|LEASE.EXTEND k TOKEN 9999999|LEASE.DROP k TOKEN|LEASE.CHECK k TOKEN|LEASE.INFO k""",
    "XADD k 1-1 f v|XADD k 2-1 f v|XGROUP CREATE k g 0|XREADGROUP GROUP g c COUNT 1 STREAMS k >": """
        XACK k g 1-1|XACKDEL k g IDS 1 1-1|XADD k * f v|XAUTOCLAIM k g c 0 0|XCLAIM k g c 0 1-1
        XCFGSET k IDMP-MAXSIZE 5|XIDMPRECORD k p a 9-9
        XDEL k 1-1|XDELEX k IDS 1 1-1|XGROUP CREATE k h 0|XGROUP CREATECONSUMER k g d
        XGROUP DELCONSUMER k g c|XGROUP DESTROY k g|XGROUP SETID k g 0|XINFO CONSUMERS k g
        XINFO GROUPS k|XINFO STREAM k|XLEN k|XNACK k g FAIL IDS 1 1-1|XPENDING k g|XRANGE k - +
        XREAD STREAMS k 0|XREADGROUP GROUP g c STREAMS k >|XREVRANGE k + -|XSETID k 9-9
        XTRIM k MAXLEN 1""",
}
ROLES = {"source": " (from it)", "target": " (to it)"}
# Added here because its argument is binary. A RESTORE that replaces a key creates it.
BY_HAND = {"RESTORE": "write"}
# They read the old value and set the key anew.
SET_ANEW = {"GETSET"}
# The commands of a script count, not the script.
SCRIPTS = {"EVAL", "EVALSHA", "EVALSHA_RO", "EVAL_RO", "FCALL", "FCALL_RO"}


def calls():
    for make, text in CALLS.items():
        for line in text.split("\n"):
            for call in filter(None, line.strip().split("|")):
                name, *words = call.split()
                yield make.split("|"), name, words


def word_of(daemon, raw, make, call):
    """How the call counts for the key k."""
    spans = {}
    for refresh in ("WRITE", "ACCESS"):
        daemon.hold()
        for words in (["FLUSHALL"], ["POLICY", "DEL", "k"],
                      ["POLICY", "SET", "k", "TTL", SPAN, "REFRESH", refresh]):
            raw.call(*words)
        for key in "yk":
            for words in make:
                reply = raw.call(*[key if word == "k" else word for word in words.split()])
                assert reply[:1] != b"-", (words, reply)
        token = max(re.findall(rb":(\d+)", reply), key=int, default=b"")
        equal(raw.call("PTTL", "k"), b":%d\r\n" % SPAN, str(make))
        daemon.step(PASSED)
        reply = raw.call(*[token if word == "TOKEN" else word for word in call])
        assert reply[:1] != b"-", (call, reply)
        raw.call("UNWATCH")
        spans[refresh] = int(raw.call("PTTL", "k")[1:])
    left = SPAN - PASSED
    return {(SPAN, SPAN): "write", (left, SPAN): "read", (left, left): "neither",
            (-2, -2): "gone"}.get((spans["WRITE"], spans["ACCESS"]), "deadline")


def row_name(name, words):
    """The name in the table, with the subcommand or the role of the key."""
    name, _, role = name.partition(":")
    if name in ("EXPIRY", "MEMORY", "OBJECT", "POLICY", "XGROUP", "XINFO"):
        return f"`{name} {words[0]}`"
    return f"`{name}`{ROLES.get(role, '')}"


def groups_of(raw):
    """The group of each command, from COMMAND DOCS."""
    items = read_reply(raw.call("COMMAND", "DOCS"))[0][1]
    groups = {}
    for (_, name), (_, about) in zip(items[::2], items[1::2]):
        words = [word for _, word in about]
        groups[name.decode().upper()] = words[words.index(b"group") + 1].decode()
    return groups


def cell(names):
    return ", ".join(sorted(names, key=lambda name: name.replace("`", " ")))


def table_of(daemon, raw):
    groups, rows, rest = groups_of(raw), {}, {"deadline": [], "gone": []}
    for name in BY_HAND:
        rows.setdefault(groups[name], {}).setdefault(BY_HAND[name], []).append(f"`{name}`")
    for make, name, words in calls():
        plain = name.partition(":")[0]
        found = word_of(daemon, raw, make, [plain, *words])
        cells = rest if found in rest else rows.setdefault(groups[plain], {})
        cells.setdefault(found, []).append(row_name(name, words))
    lines = ["| group | counts as a read | counts as a write | counts as neither |",
             "|---|---|---|---|"]
    for group, cells in sorted(rows.items()):
        cells = [cell(cells.get(word, [])) for word in ("read", "write", "neither")]
        lines.append(f"| {group} | {' | '.join(cells)} |")
    lines += ["", f"These commands set the key's deadline: {cell(rest['deadline'])}.", "",
              f"These remove the key: {cell(rest['gone'])}."]
    return "\n".join(lines) + "\n"


def keyed_commands(raw):
    """Commands that take keys of the data set."""
    for row in read_reply(raw.call("COMMAND"))[0][1]:
        name, _, flags, first, *_ = [cell[1] for cell in row[1]]
        flags = {flag[1] for flag in flags}
        if (int(first) > 0 or b"movablekeys" in flags) and b"pubsub" not in flags:
            yield name.decode().upper()


def options_of(page):
    """The option and the types of keys in each row of the page's table of options."""
    with open(os.path.join(ROOT, "doc", page), encoding="utf-8") as file:
        table = file.read().split("| option | applies to keys of type | what it does |\n|---|---|---|\n")[1]
    return re.findall(r"^\| `([A-Z]+).*?` \| (.*?) \|", table.split("\n\n")[0], re.M)


def reads_of(daemon, raw):
    """The names in the table whose calls read k for POLICY STATS, of those after which k exists."""
    for make, name, words in calls():
        daemon.hold()
        for start in (["FLUSHALL"], ["POLICY", "DEL", "k"], ["POLICY", "SET", "k", "MAXTTL", SPAN]):
            raw.call(*start)
        for key in "yk":
            for line in make:
                reply = raw.call(*[key if word == "k" else word for word in line.split()])
        token = max(re.findall(rb":(\d+)", reply), key=int, default=b"")
        plain, _, role = name.partition(":")
        # What the creation has read is forgotten with the name.
        for call in (["RENAME", "k", "X"], ["RENAME", "X", "k"], ["CONFIG", "RESETSTAT"],
                     [plain, *[token if word == "TOKEN" else word for word in words]], ["UNWATCH"]):
            raw.call(*call)
        hits = int(re.search(rb"keyspace_hits:(\d+)", raw.call("INFO", "stats"))[1])
        raw.call("PEXPIRE", "k", 1)
        daemon.step(2)
        unread, read = [int(number) for number in re.findall(rb":(\d+)", raw.call("POLICY", "STATS", "k"))[1:3]]
        # A hit may be one of another key.
        if role == "" and "y" not in words and unread + read == 1 and name not in SET_ANEW:
            equal(read, int(hits > 0), name)
        if read:
            yield row_name(name, words)


@own
def the_page_has_each_option_of_the_reference():
    options = options_of("commands/policies.md")
    equal(options_of("policies.md"), options)
    with open(PAGE, encoding="utf-8") as file:
        syntax = file.read().split("```")[1].split("POLICY GET")[0]
    equal([name for name, _ in options if not re.search(rf"\[{name}\b", syntax)], [])


@own
def every_command_with_keys_is_asked():
    known = {name.partition(":")[0] for _, name, _ in calls()}
    known.update(BY_HAND, SCRIPTS)
    with Daemon() as daemon, daemon.raw() as raw:
        equal(sorted(set(keyed_commands(raw)) - known), [])


@own
def the_table_is_what_the_commands_do():
    with Daemon("--lease-max-ttl", str(10 * SPAN)) as daemon, daemon.raw() as raw:
        table = table_of(daemon, raw)
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    assert table in page, "doc/policies.md has another table than this:\n" + table


@own
def the_page_says_which_commands_read_a_key_for_the_figures():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    table = page.split("| group | counts as a read |")[1].split("\n\n")[0]
    listed = {name for row in table.split("\n")[2:] for name in row.split(" | ")[1].split(", ")}
    with Daemon("--lease-max-ttl", str(10 * SPAN)) as daemon, daemon.raw() as raw:
        found = set(reads_of(daemon, raw))
    equal(sorted(listed - found - {""}), [], "commands that read, but not for the figures")
    more = cell(found - listed)
    assert f"These read a key too: {more}." in " ".join(page.split()), "the page does not have this list: " + more


main()
