"""events: keyspace notifications as a subscriber sees them, between marks that the runner publishes."""
import itertools

import resp
from normal import without_scan_misses

MARK = b"__mark"
MARK_HEAD = b"*3\r\n$7\r\nmessage\r\n$6\r\n" + MARK


def listen(server):
    server.connection("events").call(b"SUBSCRIBE", MARK)
    server.connection("events").call(b"PSUBSCRIBE", b"__key*")


def until_mark(server):
    """Bytes of all notifications up to a mark that is set now."""
    server.connection("control").call(b"PUBLISH", MARK, b"")
    connection = server.connection("events")
    while True:
        at = connection.pending.find(MARK_HEAD)
        end = resp.end_of(connection.pending, at) if at >= 0 else -1
        if end >= 0:
            events, connection.pending = connection.pending[:at], connection.pending[end:]
            return events
        connection.more()


def events_of(data):
    """[(channel, payload)]"""
    at, found = 0, []
    while at < len(data):
        value, at = resp.value_of(data, at)
        found.append((value[1][2][1], value[1][3][1]))
    return found


def difference_of(ours, theirs, ordered=True, renamed=None):
    """(ours, theirs, signature) of the bytes of two until_mark, or None."""
    ours, theirs = events_of(ours), events_of(theirs)
    if renamed:
        theirs = [tuple(word.replace(*renamed) for word in event) for event in theirs]
    if not ordered:
        ours = sorted(ours)
        theirs = without_scan_misses(sorted(theirs), ours)
    if ours == theirs:
        return None
    return listing(ours), listing(theirs), ("events", *first_difference(ours, theirs))


def first_difference(ours, theirs):
    """The kinds of the events where two lists begin to differ."""
    for pair in itertools.zip_longest(ours, theirs, fillvalue=(b"__keyspace", b"")):
        if pair[0] != pair[1]:
            return [payload if channel.startswith(b"__keyspace") else channel.rpartition(b":")[2]
                    for channel, payload in pair]
    return []


def listing(events):
    return b"(" + b", ".join(channel + b" " + payload for channel, payload in events) + b")"
