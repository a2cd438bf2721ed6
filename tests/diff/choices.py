"""choices: compares replies that may differ: random members, and pages of a scan.

Random members must exist, and be distinct where the command says so; a complete scan must return what
the other server's scan returns. Where a random choice changes data, the oracle gets a command to make the
same choice. All this sends further commands on the same connection, so no other reply may be on its
way there.
"""
import re

import resp
from difference import Difference
from normal import zscan_whole

MEMBERS = {b"RANDOMKEY": [b"KEYS", b"*"], b"SRANDMEMBER": [b"SMEMBERS"],
           b"HRANDFIELD": [b"HGETALL"], b"ZRANDMEMBER": [b"ZRANGE", b"0", b"-1", b"WITHSCORES"]}


def flat(value):
    if not isinstance(value[1], list):
        return [value[1]]
    return [word for item in value[1] for word in flat(item)]


def members_to_choose_from(pair, where, step):
    """The set that SPOP will take a part of, as replies; None where nothing is left to chance."""
    arguments = step[1]
    if len(arguments) not in (2, 3):
        return None
    if len(arguments) == 3 and not re.fullmatch(rb"[1-9][0-9]{0,8}", arguments[2]):
        return None
    ours, theirs = [server.connection(where).call(b"SMEMBERS", arguments[1])
                    for server in pair.both]
    members = resp.children_of(theirs)
    if members is None or sorted(resp.children_of(ours) or []) != sorted(members):
        return None
    wanted = int(arguments[2]) if len(arguments) == 3 else 1
    return members if wanted < len(members) else None


def choose(pair, where, step, members):
    """SPOP on the daemon; the oracle removes what that chose."""
    arguments = step[1]
    pair.mark()
    reply = pair.ours.connection(where).call(*arguments)
    chosen = resp.children_of(reply) if len(arguments) == 3 else [reply]
    wanted = int(arguments[2]) if len(arguments) == 3 else 1
    if chosen is None or len(set(chosen)) != wanted or not set(chosen) <= set(members):
        raise Difference("SPOP", step, reply, b"(%d of these) " % wanted + b"".join(members))
    names = [resp.value_of(item)[0][1] for item in chosen]
    pair.theirs.connection(where).call(b"SREM", arguments[1], *names)
    pair.count(step, [b"SPOP"], reply)
    pair.mark(renamed=(b"srem", b"spop"))


def check_random(pair, where, step, words, reply):
    """Each chosen item exists, and occurs once where it may occur only once."""
    query = MEMBERS[words[0]]
    if words[0] != b"RANDOMKEY":
        query = [query[0], step[1][1], *query[1:]]
    known = flat(resp.value_of(pair.ours.connection(where).call(*query))[0])
    chosen = flat(resp.value_of(reply)[0])
    if words[0] in (b"HRANDFIELD", b"ZRANDMEMBER"):
        known = list(zip(known[::2], known[1::2]))
        if len(words) == 4:
            chosen = list(zip(chosen[::2], chosen[1::2]))
        else:
            known = [name for name, _ in known]
    once = len(words) > 2 and not words[2].startswith(b"-")
    if not set(chosen) <= set(known) or once and len(set(chosen)) != len(chosen):
        raise Difference(words[0].decode(), step, reply, b"(of) " + repr(known).encode())


def iterate(connection, arguments, at, reply, step):
    """All items of a scan whose first page is `reply`; its cursor is arguments[at]."""
    items = []
    for _ in range(3000):
        cursor, page = resp.children_of(reply)
        items += resp.children_of(page)
        cursor = resp.value_of(cursor)[0][1]
        if cursor == b"0":
            return items
        reply = connection.call(*arguments[:at], cursor, *arguments[at + 1:])
    raise Difference("endless scan", step, reply, b"(an end)")


def compare_scans(pair, where, step, ours, theirs):
    """Pages differ, and orders; what the whole iteration meets does not."""
    arguments = step[1]
    name = arguments[0].upper()
    at = 1 if name == b"SCAN" else 2
    if arguments[at] != b"0":
        return  # cursors are a server's own
    found = []
    for server, reply in zip(pair.both, (ours, theirs)):
        items = iterate(server.connection(where), arguments, at, reply, step)
        if name in (b"HSCAN", b"ZSCAN"):
            items = [a + b for a, b in zip(items[::2], items[1::2])]
        found.append(b"".join(sorted(set(items))))
    if found[0] != found[1] and not zscan_whole([name], *found):
        raise Difference(name.decode(), step, b"(all) " + found[0], b"(all) " + found[1])
