"""Shapes of replies. A shape tells whether a reply has it, and reads such a reply.

RESP2 and RESP3 are read alike: in RESP2 maps and pairs arrive as flat lists, and doubles as text.
"""
from typing import Union

Bulk = Union[bytes, str]  # str if the client has decode_responses=True


def text_of(reply):
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply


class Value:
    """One value of these Python types, which `read` converts."""

    def __init__(self, types, read=lambda reply: reply):
        self.types, self.read = types, read

    def fits(self, reply):
        return isinstance(reply, self.types)


BULK = Value((bytes, str))
INTEGER = Value(int)
DOUBLE = Value((float, int, bytes, str), float)
SIMPLE = Value((bytes, str), text_of)
NULL = Value(type(None))
ANY = Value(object)


class Text:
    """This text; `value` stands for it."""

    def __init__(self, text, value=None):
        self.text, self.value = text, text if value is None else value

    def fits(self, reply):
        return text_of(reply) == self.text or reply is self.value

    def read(self, reply):
        return self.value


OK = Text("OK", True)  # as redis-py has it


class OneOf:
    """The first of these that fits."""

    def __init__(self, *shapes):
        self.shapes = shapes

    def fits(self, reply):
        return any(shape.fits(reply) for shape in self.shapes)

    def read(self, reply):
        return next((shape.read(reply) for shape in self.shapes if shape.fits(reply)), reply)


class List:
    def __init__(self, item):
        self.item = item

    def fits(self, reply):
        return isinstance(reply, (list, tuple, set)) and all(map(self.item.fits, reply))

    def read(self, reply):
        return [self.item.read(part) for part in reply]


class Tuple:
    def __init__(self, *items):
        self.items = items

    def fits(self, reply):
        return (isinstance(reply, (list, tuple)) and len(reply) == len(self.items) and
                all(item.fits(part) for item, part in zip(self.items, reply)))

    def read(self, reply):
        return tuple(item.read(part) for item, part in zip(self.items, reply))


class Rows:
    """A list of tuples, which may arrive as a flat list."""

    def __init__(self, *items):
        self.row = Tuple(*items)

    def rows(self, reply):
        width = len(self.row.items)
        if reply and not isinstance(reply[0], (list, tuple)) and len(reply) % width == 0:
            return [reply[i:i + width] for i in range(0, len(reply), width)]
        return reply

    def fits(self, reply):
        return isinstance(reply, (list, tuple)) and all(map(self.row.fits, self.rows(reply)))

    def read(self, reply):
        return [self.row.read(row) for row in self.rows(reply)]


def pairs(reply):
    """Of a map, which may arrive as a flat list."""
    return list(reply.items()) if isinstance(reply, dict) else list(zip(reply[::2], reply[1::2]))


class Map:
    def __init__(self, key, value):
        self.key, self.value = key, value

    def fits(self, reply):
        return isinstance(reply, dict) or isinstance(reply, list) and len(reply) % 2 == 0

    def read(self, reply):
        return {self.key.read(key): self.value.read(value) for key, value in pairs(reply)}


class Record:
    """A map with known names, and perhaps others."""

    def __init__(self, fields):
        self.fields = fields

    def fits(self, reply):
        return isinstance(reply, dict) or isinstance(reply, list) and len(reply) % 2 == 0

    def read(self, reply):
        found = ((text_of(name), value) for name, value in pairs(reply))
        return {name: self.fields.get(name, ANY).read(value) for name, value in found}
