"""normal: decides when two replies with different bytes are equal.

There are two kinds of rules: for what Redis leaves unspecified (order, random choice), by the rules of
table.py; and for deliberate differences, each with its line in doc/differs.md.
"""
import os
import re

import resp
import scripts
from servers import ROOT


def pairs_of(items):
    return sorted((repr(items[i:i + 2]) for i in range(0, len(items), 2)))


def shape(value):
    kind, payload = value
    return (kind, [shape(item) for item in payload]) if isinstance(payload, list) else kind


def is_array(value):
    return isinstance(value[1], list)


def same_sorted(ours, theirs):
    return (is_array(ours) and is_array(theirs) and ours[0] == theirs[0]
            and sorted(map(repr, ours[1])) == sorted(map(repr, theirs[1])))


def same_pairs(ours, theirs):
    return (is_array(ours) and is_array(theirs) and ours[0] == theirs[0]
            and pairs_of(ours[1]) == pairs_of(theirs[1]))


def same_shape(ours, theirs):
    return shape(ours) == shape(theirs)


def same_kind(ours, theirs):
    return ours[0] == theirs[0] and ours[0] != b"-"


def same_unordered(words, ours, theirs):
    if b"ANY" in words:
        return same_shape(ours, theirs)
    return b"ASC" not in words and b"DESC" not in words and same_sorted(ours, theirs)


def by_pattern(words):
    """SORT ... BY pattern, where elements are looked up."""
    return b"BY" in words[:-1] and b"*" in words[words.index(b"BY") + 1]


def same_nosort(words, ours, theirs):
    """Replies of SORT without a defined order: BY nosort, or equal weights. A list keeps its own order,
    unless there is a LIMIT, with which Redis sorts only a part."""
    if b"BY" not in words or by_pattern(words) and b"ALPHA" not in words:
        return False
    if words[1][:1] == b"L":
        return by_pattern(words) and b"LIMIT" in words and same_shape(ours, theirs)
    return same_sorted(ours, theirs) or b"LIMIT" in words and same_shape(ours, theirs)


def without_rules(value):
    """Texts without rules about commands, which Redis describes otherwise (doc/differs.md)."""
    kind, payload = value
    if isinstance(payload, list):
        return kind, [without_rules(item) for item in payload]
    text = re.sub(rb"(?<![^\s(])[+-][^\s)]+", b"", payload or b"")
    return kind, b" ".join(re.sub(rb"\s+\)", b")", re.sub(rb"\(\s+", b"(", text)).split())


HIDDEN_IN_LOG = (b"age-seconds", b"client-info", b"entry-id", b"timestamp-created",
                 b"timestamp-last-updated")


def log_entries(value):
    if not is_array(value):
        return value
    entries = []
    for _, entry in value[1]:
        if not isinstance(entry, list):
            return value
        fields = zip(entry[::2], entry[1::2])
        entries.append([(name, item) for (_, name), item in fields if name not in HIDDEN_IN_LOG])
    return entries


# Rules of the table that compare two replies without further commands.
OPEN = {
    "sorted": lambda _, ours, theirs: same_sorted(ours, theirs),
    "pairs": lambda _, ours, theirs: same_pairs(ours, theirs),
    "anyorder": lambda _, ours, theirs: scripts.in_any_order(ours) == scripts.in_any_order(theirs),
    "kind": lambda _, ours, theirs: same_kind(ours, theirs),
    "random": lambda _, ours, theirs: same_shape(ours, theirs),
    "choice": lambda _, ours, theirs: same_sorted(ours, theirs),
    "scan": lambda _, ours, theirs: ours[0] == theirs[0] == b"*",
    "rules": lambda _, ours, theirs: without_rules(ours) == without_rules(theirs),
    "acllog": lambda _, ours, theirs: log_entries(ours) == log_entries(theirs),
    "unordered": same_unordered,
    "nosort": same_nosort,
}


# --- on purpose ----------------------------------------------------------------------------------

def without_minus_zero(data):
    return data.replace(b"$2\r\n-0\r\n", b"$1\r\n0\r\n").replace(b",-0\r\n", b",0\r\n")


def minus_zero(words, ours, theirs):
    return (words[0][:1] in b"ZGB" or words[0] == b"EXEC") and \
        without_minus_zero(ours) == without_minus_zero(theirs)


def refcount(words, ours, theirs):
    return words[:2] == [b"OBJECT", b"REFCOUNT"] and ours == b":1\r\n" and \
        theirs[:1] == b":"


def is_same_number(one, other):
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False


def zscan_whole(words, ours, theirs):
    ours, theirs = ours.split(b"\r\n"), theirs.split(b"\r\n")
    return words[0] in (b"ZSCAN", b"EXEC") and len(ours) == len(theirs) and all(
        one == other or one[:1] == other[:1] == b"$" or is_same_number(one, other)
        for one, other in zip(ours, theirs))


RADIX = re.compile(rb"(radix-tree-(?:keys|nodes)\r\n):\d+")


def radix_tree(words, ours, theirs):
    return words[0] in (b"XINFO", b"EXEC") and RADIX.sub(rb"\1", ours) == RADIX.sub(rb"\1", theirs)


PROGRESS = re.compile(rb"((?:entries-read|lag)\r\n)(?::-?\d+|\$-1|_)")


def progress_of_groups(words, ours, theirs):
    def without(data):
        return RADIX.sub(rb"\1", PROGRESS.sub(rb"\1", data))
    return words[0] in (b"XINFO", b"EXEC") and without(ours) == without(theirs)


def without_scan_misses(theirs, ours):
    """Removes the keymiss events of keys that expired at the same time, which SCAN with TYPE sends."""
    expired = {key for channel, key in theirs if channel.endswith(b":expired")}

    def is_scan_miss(channel, payload):
        return channel.endswith(b":keymiss") and payload in expired or \
            payload == b"keymiss" and channel.partition(b":")[2] in expired
    kept, left = [], list(ours)
    for event in theirs if ours != theirs else ():
        if event in left:
            left.remove(event)
        elif is_scan_miss(*event):
            continue
        kept.append(event)
    return kept if ours != theirs else theirs


TOP_ITEM = (b"-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n",
            b"-ERR Elements are too large to be stored\r\n")


def last_sequence_number(words, ours, theirs):
    """The errors of XADD ms-*, by themselves or in the reply of EXEC."""
    def first_of(data):
        return data.replace(TOP_ITEM[1], TOP_ITEM[0])
    return words[0] in (b"XADD", b"EXEC") and first_of(theirs) == ours


# (the first cell of its line in doc/differs.md, are these replies the same)
ON_PURPOSE = [
    ("a score of -0", minus_zero),
    ("OBJECT REFCOUNT", refcount),
    ("`XINFO STREAM`: `radix-tree-keys`, `radix-tree-nodes`", radix_tree),
    ("`lag` and `entries-read` of a group that has not read entries that were removed",
     progress_of_groups),
    ("XADD with `ms-*` when the last entry has the highest sequence number of ms",
     last_sequence_number),
    ("ZSCAN of whole scores from 1e17 on in small sorted sets", zscan_whole),
]

# Commands that lockstep.py does not send, because their replies differ deliberately.
NOT_SENT = [
    "WATCH and SWAPDB",
    "BYLEX ranges over members with different scores",
    "deadlines in the last 2 ms of int64",
    "the end of a blocked command's wait",  # note_timeout
    "XREAD and XREADGROUP with BLOCK, and an entry that is added and removed at once",
    "SCAN with TYPE",  # without_scan_misses
    "a key that expires in its own transaction and is overwritten there",
    "SWAPDB and client-side caching",
    "client-side caching and an XREAD with an odd number of words after STREAMS",
    "COMMAND GETKEYS and GETKEYSANDFLAGS of a call with numkeys such as `1x`",
    "FLUSHALL's null through REDIRECT",
    "PFDEBUG GETREG, TODENSE",
    "XAUTOCLAIM with a COUNT above 1,000",
    "`XTRIM`, `XADD` with `~`",  # MINID, after XDEL
    "a client's push that serves another client's blocked move, under BCAST NOLOOP",
    "CLIENT TRACKING with overlapping prefixes, not the first",
    "keys that a script reads for a client with CLIENT TRACKING",
    "a blocked client whose user lost the permission",
    "CLIENT TRACKING with BCAST",
    "the reply of a failed login",
    "ACL SETUSER by a subscriber that takes its own channels away",
]


def unlisted():
    """Rules that have no line in doc/differs.md."""
    with open(os.path.join(ROOT, "doc/differs.md"), encoding="utf-8") as file:
        listed = set(re.findall(r"^\| (.*?) \|", file.read(), re.M))
    return [line for line, _ in ON_PURPOSE if line not in listed] + \
        [line for line in NOT_SENT if line not in listed]


# --- one reply -----------------------------------------------------------------------------------

def without_ids(data, ids):
    """Replaces each connection's id by its index in the list."""
    for number, own in enumerate(ids):
        data = data.replace(b":%s\r\n" % own, b":<%d>\r\n" % number)
        data = data.replace(b"'%s'" % own, b"'<%d>'" % number)
    return data


def same(words, rules, ours, theirs):
    """Are these two different replies (bytes) equivalent? words: the command, in capitals."""
    if any(rule(words, ours, theirs) for _, rule in ON_PURPOSE):
        return True
    marks = [mark for mark in rules if mark in OPEN]
    if not marks or ours[:1] == b"(" or theirs[:1] == b"(":
        return False
    ours, theirs = resp.value_of(ours)[0], resp.value_of(theirs)[0]
    return any(OPEN[mark](words, ours, theirs) for mark in marks)


def same_lines(ours, theirs):
    """Replies that can't be matched to commands are equal if their lines are, in any order."""
    return ours == theirs or sorted(ours.split(b"\r\n")) == sorted(theirs.split(b"\r\n"))
