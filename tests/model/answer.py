"""answer: the forms of expected replies, and whether a reply has one."""


class Status(bytes):
    """A simple string."""


class Error(bytes):
    """An error line."""


class AnyOrder(list):
    """An array whose items may be in any order."""


class Pairs(list):
    """A flat array of pairs that may be in any order."""


class Check:
    """Accepts more than one reply: those for which `accepts(reply)` is true."""

    def __init__(self, text, accepts):
        self.text, self.accepts = text, accepts

    def __repr__(self):
        return f"<{self.text}>"


OK = Status(b"OK")
QUEUED = Status(b"QUEUED")
WRONGTYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"


def read(value):
    """The Python value of a value of tests/lib/resp.py; sets and maps become lists, doubles text."""
    kind, payload = value
    if kind == b":":
        return int(payload)
    if kind == b"_":
        return None
    if isinstance(payload, list):
        return [read(item) for item in payload]
    return {b"+": Status, b"-": Error}.get(kind, lambda same: same)(payload)


PAIRED = (b"ZRANGE", b"ZPOPMIN", b"ZPOPMAX", b"ZUNION", b"ZINTER", b"ZDIFF", b"HRANDFIELD",
          b"ZRANDMEMBER")


def flat(name, reply):
    """Flattens a list of pairs, as RESP3 replies it, into the list that RESP2 replies."""
    if name not in PAIRED or not isinstance(reply, list) or \
            not all(isinstance(item, list) and len(item) == 2 for item in reply):
        return reply
    return [word for pair in reply for word in pair]


def pairs_of(words):
    return list(zip(words[::2], words[1::2]))


def matches(reply, wanted):
    if isinstance(wanted, Check):
        return not isinstance(reply, Error) and wanted.accepts(reply)
    if isinstance(wanted, AnyOrder):
        return isinstance(reply, list) and sorted(reply) == sorted(wanted)
    if isinstance(wanted, Pairs):
        return isinstance(reply, list) and len(reply) == len(wanted) and \
            sorted(pairs_of(reply)) == sorted(pairs_of(wanted))
    if isinstance(wanted, list):
        return isinstance(reply, list) and len(reply) == len(wanted) and \
            all(map(matches, reply, wanted))
    if isinstance(reply, (Status, Error)) or isinstance(wanted, (Status, Error)):
        return type(reply) is type(wanted) and reply == wanted
    return reply == wanted


def number(value):
    """The text of a score."""
    return b"%d" % value if value == int(value) else repr(value).encode()
