"""resp: requests as bytes, and replies cut out of a stream and read as values.

A value is (type character, payload): bytes, None, or a list of values (a map's is flat).
"""
LINES = frozenset(b"+-:_#,(")
BULKS = frozenset(b"$=!")
LISTS = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2}


def encode(arguments):
    return b"*%d\r\n%s" % (len(arguments),
                           b"".join([b"$%d\r\n%s\r\n" % (len(arg), arg) for arg in arguments]))


def end_of(data, at):
    """Behind the reply that begins at `at`; -1 where it is not all there."""
    left = 1
    while left:
        line = data.find(b"\r\n", at)
        if line < 0:
            return -1
        kind, first = data[at], at + 1
        at = line + 2
        left -= 1
        if kind in LINES:
            continue
        length = int(data[first:line])
        if kind in BULKS:
            at += length + 2 if length >= 0 else 0
            if at > len(data):
                return -1
        else:
            left += length * LISTS[kind] if length > 0 else 0
    return at


def value_of(data, at=0):
    """(value, end) of a whole reply."""
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


def children_of(data):
    """The bytes of each item of an array, or None for what is no array."""
    if data[:1] not in (b"*", b"~", b">", b"%") or data[1:2] == b"-":
        return None
    at, found = data.index(b"\r\n") + 2, []
    while at < len(data):
        end = end_of(data, at)
        found.append(data[at:end])
        at = end
    return found


def class_of(data):
    """A reply's class, for what was covered: an error's first word, null, empty, or the type."""
    kind = data[:1]
    if kind == b"-":
        return data[:data.find(b" ")].decode("latin-1")
    if data[1:3] == b"-1" and kind in (b"$", b"*") or kind == b"_":
        return "null"
    if data[1:3] == b"0\r" and kind in (b"$", b"*", b"~", b"%"):
        return kind.decode() + "0"
    return "+QUEUED" if data == b"+QUEUED\r\n" else kind.decode()
