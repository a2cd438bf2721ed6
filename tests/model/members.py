"""members: the model's commands of sets and hashes, and of members' deadlines; zsets.py has the rest of
sorted sets.

A command takes the data set, its arguments, and the daemon's reply, which is used where the daemon chooses at
random; it returns the expected reply.
"""
import dataset as ds
from answer import Check, Error, AnyOrder, OK, Pairs, WRONGTYPE, number
from dataset import ADD, CLEAR, KEEP, NEVER, SET, SET_NEW, Refused

COMMANDS = {}
LAST = (1 << 46) - 1  # the latest deadline of a member
KINDS = {b"S": "set", b"H": "hash", b"Z": "zset"}


def command(*names):
    def add(function):
        for name in names:
            COMMANDS[name] = function
        return function
    return add


def typed(key, kind):
    if key is not None and key.kind != kind:
        raise Refused(WRONGTYPE)
    return key


def find(data, name, kind):
    return typed(data.find(name), kind)


def look(data, name, kind):
    return typed(data.read(name), kind)


def or_new(data, key, name, kind):
    return data.create(name, kind) if key is None else key


def value_of(key):
    return {} if key is None else key.value


# --- deadlines in arguments ----------------------------------------------------------------------

UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}


def instant(data, name, text, unit):
    """An argument as the deadline of a member."""
    factor, is_span = unit
    count = int(text)
    if count < 0:
        raise Refused(b"ERR invalid expire time, must be >= 0")
    at = count * factor + (data.now if is_span else 0)
    if at > LAST:
        raise Refused(b"ERR invalid expire time in '%s' command" % name.lower())
    return at


def block(arguments, at, word):
    """The members behind FIELDS n, MEMBERS n."""
    assert arguments[at].upper() == word and int(arguments[at + 1]) == len(arguments) - at - 2
    return arguments[at + 2:]


class Life:
    """EX, PX, EXAT, PXAT and KEEPTTL among the options of a command."""

    def __init__(self):
        self.at, self.keeps = None, False

    def take(self, data, arguments, at):
        """Behind the option at `at`, or `at` if it is none."""
        word = arguments[at].upper()
        if word == b"KEEPTTL":
            self.keeps = True
            return at + 1
        if word in UNITS:
            self.at = instant(data, arguments[0], arguments[at + 1], UNITS[word])
            return at + 2
        return at

    def is_past(self, data):
        return self.at is not None and self.at <= data.now

    def rule(self, data, otherwise):
        """The rule and the deadline of a put."""
        if self.at is None:
            return (KEEP if self.keeps else otherwise), NEVER
        if self.is_past(data):
            return otherwise, NEVER
        return (SET_NEW if self.keeps else SET), self.at


# --- HEXPIRE, SEXPIRE, ZEXPIRE and their families ---------------------------------------------------

def holds(when, old, at):
    return {b"": True, b"NX": old == NEVER, b"XX": old != NEVER, b"GT": at > old,
            b"LT": at < old}[when]


def family(letter, kind, word):
    def expire(unit):
        def run(data, a, _):
            key = find(data, a[1], kind)
            at = instant(data, a[0], a[2], unit)
            when = a[3].upper() if a[3].upper() in (b"NX", b"XX", b"GT", b"LT") else b""
            if not when and len(a) == 6 + int(a[4]):  # the condition follows the members
                a, when = a[:-1], a[-1]
            codes = []
            for name in block(a, 4 if when == a[3] else 3, word):
                if name not in value_of(key):
                    codes.append(-2)
                elif not holds(when, key.value[name][1], at):
                    codes.append(0)
                else:
                    codes.append(1 if data.expire_member(key, name, at) else 2)
            return codes
        return run

    def deadline(shown):
        def run(data, a, _):
            held = value_of(look(data, a[1], kind))
            return [-2 if name not in held else -1 if held[name][1] == NEVER
                    else shown(held[name][1], data.now) for name in block(a, 2, word)]
        return run

    def persist(data, a, _):
        key = find(data, a[1], kind)
        return [-2 if name not in value_of(key) else 1 if data.persist_member(key, name) else -1
                for name in block(a, 2, word)]

    for name, unit in ((b"EXPIRE", b"EX"), (b"PEXPIRE", b"PX"), (b"EXPIREAT", b"EXAT"),
                       (b"PEXPIREAT", b"PXAT")):
        COMMANDS[letter + name] = expire(UNITS[unit])
    COMMANDS[letter + b"TTL"] = deadline(lambda at, now: (at - now + 999) // 1000)
    COMMANDS[letter + b"PTTL"] = deadline(lambda at, now: at - now)
    COMMANDS[letter + b"EXPIRETIME"] = deadline(lambda at, now: (at + 999) // 1000)
    COMMANDS[letter + b"PEXPIRETIME"] = deadline(lambda at, now: at)
    COMMANDS[letter + b"PERSIST"] = persist


family(b"H", "hash", b"FIELDS")
family(b"S", "set", b"MEMBERS")
family(b"Z", "zset", b"MEMBERS")


def expire_member(data, name, member, at):
    if not 0 <= at <= LAST:
        raise Refused(b"ERR invalid expire time in 'x' command")
    key = data.find(name)
    if key is not None and key.kind not in ds.COLLECTIONS:
        raise Refused(WRONGTYPE)
    if key is None or member not in key.value:
        return 0
    data.expire_member(key, member, at)
    return 1


@command(b"EXPIREMEMBER")
def _(data, a, __):
    factor = 1 if a[4:] == [b"ms"] else 1000
    return expire_member(data, a[1], a[2], data.now + int(a[3]) * factor)


@command(b"EXPIREMEMBERAT", b"PEXPIREMEMBERAT")
def _(data, a, __):
    return expire_member(data, a[1], a[2], int(a[3]) * (1000 if a[0][:1] == b"E" else 1))


def fields_of(key):
    if key is not None and key.kind not in ("hash", "set"):
        raise Refused(WRONGTYPE)
    return value_of(key)


@command(b"FIELDEXPIRE")
def _(data, a, __):
    at = instant(data, a[0], a[2], UNITS[b"EX"])
    key = data.find(a[1])
    fields_of(key)
    return [-2 if name not in value_of(key) else 1 if data.expire_member(key, name, at) else 2
            for name in a[3:]]


@command(b"FIELDTTL")
def _(data, a, __):
    key = data.read(a[1])
    held = fields_of(key).get(a[2])
    if key is None or held is None:
        return -2 if key is None else -3
    return -1 if held[1] == NEVER else (held[1] - data.now + 999) // 1000


# --- hashes ----------------------------------------------------------------------------------------

def hset(data, a):
    key = or_new(data, find(data, a[1], "hash"), a[1], "hash")
    return sum([data.put(key, field, value, b"hset", CLEAR)
                for field, value in zip(a[2::2], a[3::2])])


@command(b"HSET")
def _(data, a, __):
    return hset(data, a)


@command(b"HMSET")
def _(data, a, __):
    hset(data, a)
    return OK


@command(b"HSETNX")
def _(data, a, __):
    if a[2] in value_of(find(data, a[1], "hash")):
        return 0
    return hset(data, a)


@command(b"HINCRBY")
def _(data, a, __):
    key = find(data, a[1], "hash")
    held = value_of(key).get(a[2], [b"0"])
    try:
        value = int(held[0]) + int(a[3])
    except ValueError:
        raise Refused(b"ERR hash value is not an integer") from None
    data.put(or_new(data, key, a[1], "hash"), a[2], b"%d" % value, b"hincrby", KEEP)
    return value


@command(b"HDEL", b"SREM", b"ZREM")
def _(data, a, __):
    key = find(data, a[1], KINDS[a[0][:1]])
    removed = 0
    for name in a[2:]:
        if name in value_of(key):
            data.remove(key, name)
            removed += 1
    return removed


@command(b"HSETEX")
def _(data, a, __):
    life, at, words = Life(), 2, set()
    while a[at].upper() in (b"FNX", b"FXX", b"NX", b"KEEPTTL") or a[at].upper() in UNITS:
        behind = life.take(data, a, at)
        if behind == at:
            words.add(a[at].upper())
            behind += 1
        at = behind
    counts = a[at].isdigit()
    if counts:
        life.at = instant(data, a[0], a[at], UNITS[b"EX"])
        fields = a[at + 1:]
    else:
        assert a[at].upper() == b"FIELDS" and int(a[at + 1]) * 2 == len(a) - at - 2
        fields = a[at + 2:]
    key = find(data, a[1], "hash")
    for field in fields[::2]:
        present = field in value_of(key)
        if b"FNX" in words and present or b"FXX" in words and not present:
            return 0
    key = or_new(data, key, a[1], "hash")
    added = 0
    rule = life.rule(data, CLEAR)
    for field, value in zip(fields[::2], fields[1::2]):
        if b"NX" in words and field in key.value:
            continue
        added += data.put(key, field, value, b"hset", *rule)
        if life.is_past(data):
            data.expire_member(key, field, life.at)
    return added if counts else 1


@command(b"HGETEX")
def _(data, a, __):
    key = look(data, a[1], "hash")
    word, at = a[2].upper(), None
    if word in UNITS:
        at = instant(data, a[0], a[3], UNITS[word])
    values = []
    for field in block(a, 4 if at is not None else 3 if word == b"PERSIST" else 2, b"FIELDS"):
        held = value_of(key).get(field)
        values.append(held and held[0])
        if held is not None and at is not None:
            data.expire_member(key, field, at)
        elif held is not None and word == b"PERSIST":
            data.persist_member(key, field)
    return values


@command(b"HGETDEL")
def _(data, a, __):
    key = find(data, a[1], "hash")
    values = []
    for field in block(a, 2, b"FIELDS"):
        held = value_of(key).get(field)
        values.append(held and held[0])
        if held is not None:
            data.remove(key, field)
    return values


@command(b"HGET", b"HMGET", b"HEXISTS", b"HSTRLEN")
def _(data, a, __):
    held = value_of(look(data, a[1], "hash"))
    values = [held[field][0] if field in held else None for field in a[2:]]
    if a[0] == b"HMGET":
        return values
    value = values[0]
    return {b"HGET": value, b"HEXISTS": int(value is not None), b"HSTRLEN": len(value or b"")}[a[0]]


@command(b"HLEN", b"SCARD", b"ZCARD")
def _(data, a, __):
    return len(value_of(look(data, a[1], KINDS[a[0][:1]])))


@command(b"HGETALL", b"HKEYS", b"HVALS")
def _(data, a, __):
    held = value_of(look(data, a[1], "hash"))
    if a[0] == b"HGETALL":
        return Pairs([word for field, pair in held.items() for word in (field, pair[0])])
    return AnyOrder(held if a[0] == b"HKEYS" else [pair[0] for pair in held.values()])


# --- sets ------------------------------------------------------------------------------------------

@command(b"SADD")
def _(data, a, __):
    key = or_new(data, find(data, a[1], "set"), a[1], "set")
    return sum([data.put(key, name, None, b"sadd", ADD, same=name in key.value) for name in a[2:]])


@command(b"SADDEX")
def _(data, a, __):
    life, at, names, only = Life(), 2, [], None
    while at < len(a):
        if a[at].isdigit():
            life.at, names = instant(data, a[0], a[at], UNITS[b"EX"]), a[at + 1:]
            break
        if a[at] == b"MEMBERS":
            names = a[at + 2:][:int(a[at + 1])]
            at += 2 + len(names)
        elif a[at] in (b"MNX", b"MXX"):
            only, at = a[at], at + 1
        else:
            before, at = at, life.take(data, a, at)
            assert at > before
    key, is_of_redis = find(data, a[1], "set"), only or life.at is None
    if only and any((name in value_of(key)) == (only == b"MNX") for name in names):
        return 0
    key = or_new(data, key, a[1], "set")
    added, past = 0, life.is_past(data)
    rule = life.rule(data, KEEP if past else CLEAR)
    for name in names:
        is_new = data.put(key, name, None, b"sadd", *rule, same=name in key.value)
        added += is_new and not past
        if past and (is_new or not life.keeps):
            data.expire_member(key, name, life.at)
    return 1 if is_of_redis else added


@command(b"SISMEMBER", b"SMISMEMBER")
def _(data, a, __):
    held = value_of(look(data, a[1], "set"))
    found = [int(name in held) for name in a[2:]]
    return found if a[0] == b"SMISMEMBER" else found[0]


@command(b"SMEMBERS")
def _(data, a, __):
    return AnyOrder(value_of(look(data, a[1], "set")))


@command(b"SPOP")
def _(data, a, reply):
    key = find(data, a[1], "set")
    names, size = list(value_of(key)), len(value_of(key))
    if len(a) == 2 and key is None:
        return None
    if len(a) == 2:
        reply = [reply]
    count = min(size, int(a[2])) if len(a) > 2 else 1
    is_choice = not isinstance(reply, Error) and isinstance(reply, list) and \
        len(set(map(bytes, reply))) == len(reply) == count and set(reply) <= set(names)
    if not is_choice:
        return Check(f"{count} of {names}", lambda _: False)
    for name in reply:
        data.remove(key, name, b"spop", any_order=True)
    return Check("drawn", lambda _: True)


@command(b"SMOVE")
def _(data, a, __):
    source, target = data.find(a[1]), data.find(a[2])
    if source is None:
        return 0
    typed(source, "set")
    typed(target, "set")
    if a[3] not in source.value:
        return 0
    if source is target:
        return 1
    at = source.value[a[3]][1]
    data.remove(source, a[3])
    if not source.value:
        data.emptied.pop()
        data.drop_with_event(source, b"del")
    target = or_new(data, target, a[2], "set")
    data.put(target, a[3], None, b"sadd", ADD if at == NEVER else SET_NEW, at, same=a[3] in target.value)
    return 1


# --- random members -----------------------------------------------------------------------------------

@command(b"SRANDMEMBER", b"HRANDFIELD", b"ZRANDMEMBER")
def _(data, a, __):
    key = look(data, a[1], KINDS[a[0][:1]])
    if len(a) == 2:
        if key is None:
            return None
        return Check("a member", lambda reply: reply in key.value)
    if key is None:
        return []
    count, shown = int(a[2]), len(a) > 3
    size = -count if count < 0 else min(count, key.size())
    value = (lambda name: number(key.value[name][0])) if a[0][:1] == b"Z" \
        else lambda name: key.value[name][0]
    held = {name: value(name) if shown else None for name in key.value}

    def accepts(reply):
        pairs = list(zip(reply[::2], reply[1::2])) if shown else [(name, None) for name in reply]
        return len(pairs) == size and all(name in held and held[name] == value
                                          for name, value in pairs) and \
            (count < 0 or len({name for name, _ in pairs}) == size)
    return Check(f"{size} of {held}", accepts)
