"""resp: encodes requests, finds the end of a reply in a stream, and parses replies. Depends on nothing.

A value is (type character, payload): bytes, None, or a list of values (a map's is flat).
"""
import re

LINES = frozenset(b"+-:_#,(")
SHORT = frozenset(bytes((kind,)) for kind in LINES)
BULKS = frozenset(b"$=!")
LISTS = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2}


def encode(*arguments):
    """A request; arguments that are not bytes are written as text."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if not isinstance(argument, bytes):
            argument = str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
    return b"".join(parts)


def walk(data, at, left=1):
    """Passes over the next `left` values as far as they have come: (where it stopped, values left, bytes that the
    next value lacks at least). Begun again there when more has come, it passes over each value once."""
    while left:
        line = data.find(b"\r\n", at)
        if line < 0:
            return at, left, 1
        kind, first, end = data[at], at + 1, line + 2
        if kind not in LINES:
            assert kind in BULKS or kind in LISTS, f"not a reply: {data[at:at + 61]!r}"
            length = int(data[first:line])
            if kind in LISTS:
                left += length * LISTS[kind] if length > 0 else 0
            elif length >= 0:
                end += length + 2
                if end > len(data):
                    return at, left, end - len(data)
                assert data[end - 2:end] == b"\r\n", data[at:end]
        at = end
        left -= 1
    return at, 0, 0


def end_of(data, at):
    """The end of the reply that begins at `at`; -1 if the reply is incomplete."""
    end, left, _ = walk(data, at)
    return -1 if left else end


def value_of(data, at=0):
    """(value, end) of the complete reply that begins at `at`."""
    line = data.index(b"\r\n", at)
    kind, payload, at = data[at:at + 1], data[at + 1:line], line + 2
    if kind[0] in LINES:
        return (kind, payload), at
    length = int(payload)
    if length < 0:
        return (kind, None), at
    if kind[0] in BULKS:
        return (kind, data[at:at + length]), at + length + 2
    items = []
    for _ in range(length * LISTS[kind[0]]):
        item, at = value_of(data, at)
        items.append(item)
    return (kind, items), at


def read_reply(data, at=0):
    """(value, end) of the reply that begins at `at`, or None if it is incomplete."""
    if data[at:at + 1] in SHORT:
        line = data.find(b"\r\n", at)
        return None if line < 0 else ((data[at:at + 1], data[at + 1:line]), line + 2)
    return value_of(data, at) if end_of(data, at) >= 0 else None


def plain(value, encoding=None):
    """A value without its types: int, None, list, dict, or bytes, decoded if there is an encoding."""
    kind, payload = value
    if kind == b"_" or payload is None:
        return None
    if isinstance(payload, list):
        items = [plain(item, encoding) for item in payload]
        return dict(zip(items[::2], items[1::2])) if kind == b"%" else items
    if kind == b":":
        return int(payload)
    return payload.decode(encoding) if encoding else payload


class EitherNull(bytes):
    """A reply with nulls of RESP3, which may stand for either of RESP2's."""

    def __eq__(self, other):
        return isinstance(other, bytes) and bytes(self) == other.replace(b"*-1\r\n", b"$-1\r\n")

    def __ne__(self, other):
        return not self == other

    __hash__ = bytes.__hash__


ENTRY = re.compile(rb"\*\d+\r\n\*2\r\n\$\d+\r\n\d+-\d+\r\n")
SCORED = re.compile(rb"\*2\r\n[$+].*\r\n,[^\r]*\r\n\Z", re.S)


def resp2_of(data):
    """A reply of RESP3 as RESP2 writes the same value: flat lists for maps and scored members, pairs for streams and
    their entries, bulks for doubles, integers for booleans."""
    written = rewritten(data)
    return EitherNull(written) if b"_\r\n" in data and b"$-1\r\n" in written else written


def rewritten(data):
    kind, line = data[:1], data.find(b"\r\n")
    if kind in b"+-:$":
        return data
    if kind == b"_":
        return b"$-1\r\n"
    if kind == b"#":
        return b":%d\r\n" % (data[1:2] == b"t")
    if kind in b",(":
        return b"$%d\r\n%s\r\n" % (line - 1, data[1:line])
    if kind in b"=!":
        text = data[line + 2:-2]
        return b"-%s\r\n" % text if kind == b"!" else b"$%d\r\n%s\r\n" % (len(text) - 4, text[4:])
    items = children_of(data)
    if items is None:
        return data
    if kind == b"%" and items and all(map(ENTRY.match, items[1::2])):
        items = [b"*2\r\n" + name + entries for name, entries in zip(items[::2], items[1::2])]
    elif items and all(map(SCORED.match, items)):
        items = [part for item in items for part in children_of(item)]
    return b"*%d\r\n" % len(items) + b"".join(map(rewritten, items))


def children_of(data):
    """The bytes of each item of an array; None if the reply is not an array."""
    if data[:1] not in (b"*", b"~", b">", b"%") or data[1:2] == b"-":
        return None
    at, found = data.index(b"\r\n") + 2, []
    while at < len(data):
        end = end_of(data, at)
        found.append(data[at:end])
        at = end
    return found


def class_of(data):
    """A reply's class, for coverage: an error's first word, null, empty, or the type."""
    kind = data[:1]
    if kind == b"-":
        return data[:data.find(b" ")].decode("latin-1")
    if data[1:3] == b"-1" and kind in (b"$", b"*") or kind == b"_":
        return "null"
    if data[1:3] == b"0\r" and kind in (b"$", b"*", b"~", b"%"):
        return kind.decode() + "0"
    return "+QUEUED" if data == b"+QUEUED\r\n" else kind.decode()
