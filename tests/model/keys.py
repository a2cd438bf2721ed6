"""keys: the model's commands of keys, strings, lists, several sets at once, and policies; see members.py."""
import dataset as ds
from answer import AnyOrder, Check, OK, Pairs, Status, WRONGTYPE, number
from dataset import BANDS, NEVER, Refused, band_of
from members import COMMANDS, KINDS, UNITS, command, find, holds, look, or_new, value_of
from zsets import with_scores

LISTED = ("list", "set", "zset")
TYPE_ENCODINGS = {"string": (b"int", b"embstr", b"raw"), "list": (b"quicklist",),
                  "set": (b"intset", b"hashtable"), "hash": (b"listpack", b"hashtable"),
                  "zset": (b"listpack", b"skiplist")}


# --- keys ------------------------------------------------------------------------------------------

@command(b"DEL", b"UNLINK")
def _(data, a, __):
    gone = 0
    for name in a[1:]:
        key = data.find(name)
        if key is not None:
            data.drop_with_event(key, b"del")
            gone += 1
    return gone


@command(b"EXISTS")
def _(data, a, __):
    return sum([data.find(name) is not None for name in a[1:]])


@command(b"TOUCH")
def _(data, a, __):
    return sum([data.read(name) is not None for name in a[1:]])


@command(b"TYPE")
def _(data, a, __):
    key = data.find(a[1])
    return Status(key.kind.encode() if key else b"none")


@command(b"OBJECT")
def _(data, a, __):
    key = data.find(a[2])
    return Check("an encoding of the type", lambda reply: reply in TYPE_ENCODINGS[key.kind]
                 if key else reply is None)


@command(b"DBSIZE")
def _(data, _a, __):
    return len(data.dbs[data.db])


@command(b"INFO")
def _(data, _a, __):
    """The counts of keys, and of keys with a deadline, of each database."""
    wanted = {db: (len(held), sum(key.at != NEVER for key in held.values()))
              for db, held in enumerate(data.dbs) if held}

    def accepts(reply):
        found = {}
        for line in reply.decode().split("\r\n"):
            if line[:2] == "db":
                name, _, rest = line.partition(":")
                figures = dict(pair.split("=") for pair in rest.split(","))
                found[int(name[2:])] = (int(figures["keys"]), int(figures["expires"]))
        return found == wanted
    return Check(f"keys, expires: {wanted}", accepts)


@command(b"SCAN", b"SSCAN", b"HSCAN", b"ZSCAN")
def _(data, a, __):
    """COUNT is large enough that one call returns everything."""
    if a[0] == b"SCAN":
        return [b"0", AnyOrder(data.dbs[data.db])]
    held = value_of(look(data, a[1], KINDS[a[0][:1]]))
    if a[0] == b"SSCAN" or a[-1] in (b"NOVALUES", b"NOSCORES"):
        return [b"0", AnyOrder(held)]
    shown = number if a[0] == b"ZSCAN" else lambda value: value
    return [b"0", Pairs([word for name, pair in held.items() for word in (name, shown(pair[0]))])]


@command(b"KEYS")
def _(data, _a, __):
    return AnyOrder(data.dbs[data.db])


@command(b"RANDOMKEY")
def _(data, _a, __):
    held = data.dbs[data.db]
    return Check("a key", lambda reply: reply in held) if held else None


@command(b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT")
def _(data, a, __):
    unit = {b"EXPIRE": b"EX", b"PEXPIRE": b"PX", b"EXPIREAT": b"EXAT", b"PEXPIREAT": b"PXAT"}[a[0]]
    factor, is_span = UNITS[unit]
    at = int(a[2]) * factor + (data.now if is_span else 0)
    key = data.find(a[1])
    moves = key is not None and holds(a[3].upper() if a[3:] else b"", key.at, at)
    if moves:
        data.expire(key, at)
    return int(moves)


@command(b"PERSIST")
def _(data, a, __):
    key = data.find(a[1])
    if key is None:
        return 0
    if len(a) == 2:
        return int(data.persist(key))
    return int(key.kind in ds.COLLECTIONS and a[2] in key.value
               and data.persist_member(key, a[2]))


@command(b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME")
def _(data, a, __):
    key = data.find(a[1])
    if key is None:
        return -2
    at = key.at
    if len(a) > 2:
        at = key.value[a[2]][1] if key.kind in ds.COLLECTIONS and a[2] in key.value else NEVER
    if at == NEVER:
        return -1
    at -= data.now if a[0].endswith(b"TTL") else 0
    return at if a[0][:1] == b"P" else (at + 500) // 1000


@command(b"COPY")
def _(data, a, __):
    words = [word.upper() for word in a[3:]]
    db = int(words[words.index(b"DB") + 1]) if b"DB" in words else data.db
    if db == data.db and a[1] == a[2]:
        raise Refused(b"ERR source and destination objects are the same")
    key = data.read(a[1])
    if key is None or data.find(a[2], db) is not None and b"REPLACE" not in words:
        return 0
    data.copy(key, db, a[2])
    return 1


@command(b"RENAME", b"RENAMENX")
def _(data, a, __):
    key = data.find(a[1])
    if key is None:
        raise Refused(b"ERR no such key")
    only_new = a[0] == b"RENAMENX"
    if only_new and data.find(a[2]) is not None:
        return 0
    if a[1] != a[2]:
        data.rename(key, a[2])
    return 1 if only_new else OK


@command(b"MOVE")
def _(data, a, __):
    if int(a[2]) == data.db:
        raise Refused(b"ERR source and destination objects are the same")
    key = data.find(a[1])
    return int(key is not None and data.move(key, int(a[2])))


@command(b"SWAPDB")
def _(data, a, __):
    data.swap(int(a[1]), int(a[2]))
    return OK


@command(b"FLUSHALL", b"FLUSHDB")
def _(data, a, __):
    for db in data.dbs if a[0] == b"FLUSHALL" else [data.dbs[data.db]]:
        db.clear()
    return OK


@command(b"SELECT")
def _(data, a, __):
    data.db = int(a[1])
    return OK


# --- strings and lists -------------------------------------------------------------------------------

def put_string(data, name, value, words, event=b"set"):
    """words: "PX milliseconds", KEEPTTL or nothing."""
    at = data.now + int(words[1]) if b"PX" in words else NEVER
    key = data.find(name)
    if key is None:
        key = data.create(name, "string", b"")
    key.kind, key.value = "string", value
    if b"KEEPTTL" not in words:
        key.at = at
        data.note(key, ds.CREATED if at == NEVER else ds.DEADLINE_SET)
    data.note(key, ds.WRITTEN)
    data.notify_each(key, event)
    if at != NEVER:
        data.notify_each(key, b"expire")


def condition_holds(key, words):
    """IFEQ or IFNE and a value, at the end."""
    if len(words) < 2 or words[-2] not in (b"IFEQ", b"IFNE"):
        return True
    return (key is not None and key.value == words[-1]) == (words[-2] == b"IFEQ")


@command(b"SET")
def _(data, a, __):
    key = find(data, a[1], "string") if {b"IFEQ", b"IFNE"} & {*a[3:]} else None
    if not condition_holds(key, a[3:]):
        return None
    put_string(data, a[1], a[2], a[3:])
    return OK


@command(b"MSETEX")
def _(data, a, __):
    end = 2 + 2 * int(a[1])
    words, names = a[end:], a[2:end:2]
    for only, refused in ((b"NX", lambda key: key is not None), (b"XX", lambda key: key is None)):
        if words[:1] == [only]:
            words = words[1:]
            for name in names:
                if refused(data.find(name)):
                    return 0
    for name, value in zip(names, a[3:end:2]):
        put_string(data, name, value, words)
    return 1


@command(b"DELIFEQ", b"DELEX")
def _(data, a, __):
    words = [b"IFEQ", a[2]] if a[0] == b"DELIFEQ" else a[2:]
    key = data.find(a[1])
    if key is None:
        return 0
    if words and key.kind != "string":
        raise Refused(WRONGTYPE if a[0] == b"DELIFEQ" else
                      b"ERR Key should be of string type if conditions are specified")
    holds = condition_holds(key, words)
    if holds:
        data.drop_with_event(key, b"del")
    return int(holds)


@command(b"INCREX")
def _(data, a, __):
    """BYINT number UBOUND bound [SATURATE] [PX milliseconds [ENX]|PERSIST]"""
    key = find(data, a[1], "string")
    old, words = int(key.value) if key and key.value.lstrip(b"-").isdigit() else None, a[6:]
    if key is not None and old is None:
        raise Refused(b"ERR value is not an integer or out of range")
    old = old or 0
    new, top = old + int(a[3]), int(a[5])
    if new > top and b"SATURATE" not in words:
        return [old, 0]
    new, had = min(new, top), key is not None and key.at != NEVER
    keeps = b"PX" not in words or (b"ENX" in words and had)
    put_string(data, a[1], b"%d" % new, [b"KEEPTTL"] if keeps else words[words.index(b"PX"):], b"incrby")
    if b"PERSIST" in words and key is not None:
        data.persist(key)
    return [new, new - old]


@command(b"GET")
def _(data, a, __):
    key = look(data, a[1], "string")
    return key and key.value


@command(b"LPUSH", b"RPUSH")
def _(data, a, __):
    key = or_new(data, find(data, a[1], "list"), a[1], "list")
    for element in a[2:]:
        key.value.insert(0 if a[0] == b"LPUSH" else key.size(), element)
        data.write(key, a[0].lower())
        data.note(key, ds.HEAD if a[0] == b"LPUSH" else ds.TAIL)
    return key.size()


@command(b"LPOP", b"RPOP")
def _(data, a, __):
    key = find(data, a[1], "list")
    if key is None:
        return None
    element = key.value.pop(0 if a[0] == b"LPOP" else -1)
    data.write(key, a[0].lower())
    data.left(key)
    return element


@command(b"LMOVEM")
def _(data, a, __):
    source = find(data, a[1], "list")
    count = min(int(a[6]), source.size()) if source else 0
    if count == 0 or (a[5] == b"EXACTLY" and count < int(a[6])):
        return None if a[5] == b"EXACTLY" else []
    target = or_new(data, find(data, a[2], "list"), a[2], "list")
    taken = source.value[:count] if a[3] == b"LEFT" else source.value[-count:][::-1]
    head = a[4] == b"LEFT"
    in_order = taken if a[7] == b"OBO" or (a[3] == b"LEFT") != head else taken[::-1]
    for element in in_order:
        target.value.insert(0 if head else target.size(), element)
        data.write(target, b"lpush" if head else b"rpush")
        data.note(target, ds.HEAD if head else ds.TAIL)
    if a[3] == b"LEFT":
        del source.value[:count]
    else:
        del source.value[-count:]
    data.write(source, b"lpop" if a[3] == b"LEFT" else b"rpop")
    data.left(source)
    return in_order[::-1] if head else in_order


@command(b"LLEN", b"LRANGE")
def _(data, a, __):
    key = look(data, a[1], "list")
    elements = list(key.value) if key else []
    return len(elements) if a[0] == b"LLEN" else elements


@command(b"SORT")
def _(data, a, __):
    words = [word.upper() for word in a[2:]]
    assert b"ALPHA" in words
    key = data.read(a[1])
    if key is not None and key.kind not in LISTED:
        raise Refused(WRONGTYPE)
    elements = sorted(value_of(key), reverse=b"DESC" in words)
    if b"LIMIT" in words:
        offset, count = (int(word) for word in words[words.index(b"LIMIT") + 1:][:2])
        elements = elements[offset:offset + count]
    if b"STORE" not in words:
        return elements
    data.store(a[2:][words.index(b"STORE") + 1], "list", elements, b"sortstore")
    return len(elements)


# --- several sets ------------------------------------------------------------------------------------

def combine(operation, sets):
    if operation.startswith(b"UNION"):
        return set().union(*sets)
    if operation.startswith(b"INTER"):
        return set(sets[0]).intersection(*sets[1:])
    return set(sets[0]).difference(*sets[1:])


@command(b"SINTER", b"SUNION", b"SDIFF", b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE")
def _(data, a, __):
    stores = a[0].endswith(b"STORE")
    sets = [set(value_of(look(data, name, "set"))) for name in a[2 if stores else 1:]]
    found = combine(a[0][1:], sets)
    if not stores:
        return AnyOrder(found)
    data.store(a[1], "set", {name: [None, NEVER] for name in found}, a[0].lower())
    return len(found)


@command(b"SINTERCARD", b"SUNIONCARD", b"SDIFFCARD")
def _(data, a, __):
    keys = a[2:2 + int(a[1])]
    limit = int(a[-1]) if len(a) > 2 + len(keys) else 0
    count = len(combine(a[0][1:], [set(value_of(look(data, name, "set"))) for name in keys]))
    return min(count, limit) if limit else count


def scored(data, name):
    """A source: {member: score}."""
    key = data.read(name)
    if key is not None and key.kind not in ("set", "zset"):
        raise Refused(WRONGTYPE)
    return {member: 1.0 if key.kind == "set" else held[0] for member, held in value_of(key).items()}


@command(b"ZINTER", b"ZUNION", b"ZDIFF", b"ZINTERSTORE", b"ZUNIONSTORE", b"ZDIFFSTORE",
         b"ZINTERCARD")
def _(data, a, __):
    stores = a[0].endswith(b"STORE")
    first = 3 if stores else 2
    count = int(a[first - 1])
    words = [word.upper() for word in a[first + count:]]
    sources = [scored(data, name) for name in a[first:first + count]]
    weights = [1.0] * count
    if b"WEIGHTS" in words:
        weights = [float(word) for word in words[words.index(b"WEIGHTS") + 1:][:count]]
    join = {b"SUM": sum, b"MIN": min, b"MAX": max}[
        words[words.index(b"AGGREGATE") + 1] if b"AGGREGATE" in words else b"SUM"]
    found = {}
    for name in combine(a[0][1:], [set(source) for source in sources]):
        found[name] = [join([weight * source[name] for source, weight in zip(sources, weights)
                             if name in source]), NEVER]
    if a[0] == b"ZINTERCARD":
        limit = int(words[1]) if words else 0
        return min(len(found), limit) if limit else len(found)
    if stores:
        data.store(a[1], "zset", found, a[0].lower())
        return len(found)
    result = ds.Key(0, b"", "zset", found)
    return with_scores(result, ds.ranked(result), b"WITHSCORES" in words)


# --- looking ahead -----------------------------------------------------------------------------------

def forecast(data):
    counts = {name: [0, 0] for name, _ in BANDS}
    for key in data.dbs[data.db].values():
        for member, at in enumerate(data.deadlines(key)):
            counts[band_of(at - data.now)][member > 0] += 1
    return [[name, *counts[name], 0] for name, _ in BANDS]  # no dehydrators


def next_of(data, key):
    """The earliest deadline of a key and its members, as EXPIRY NEXT shows it."""
    at = min(data.deadlines(key))
    what = b"key" if at == key.at else b"field" if key.kind == "hash" else b"member"
    return [key.name, at, what]


@command(b"EXPIRY")
def _(data, a, __):
    if a[1] == b"FORECAST":
        return forecast(data)
    coming = [next_of(data, key) for key in data.dbs[data.db].values()]
    coming = sorted(one for one in coming if one[1] != NEVER)
    instants = sorted(one[1] for one in coming)[:int(a[2])]
    return Check(f"the first {a[2]} of {coming}", lambda reply:
                 [one[1] for one in reply] == instants and all(one in coming for one in reply)
                 and len({one[0] for one in reply}) == len(reply))


# --- policies ----------------------------------------------------------------------------------------

@command(b"POLICY")
def _(data, a, __):
    word = a[1].upper()
    if word == b"DEL":
        return int(data.policies.pop(a[2], None) is not None)
    assert word == b"SET"
    old = data.policies.get(a[2])
    options = {} if old is None else old.options()
    options.update(zip(a[3::2], a[4::2]))
    options = {option: value for option, value in options.items() if value != b"NONE"}
    if b"REFRESH" in options and b"TTL" not in options:
        raise Refused(b"ERR REFRESH requires TTL")
    if b"KEEP" in options and b"MAXLEN" not in options:
        raise Refused(b"ERR KEEP requires MAXLEN")
    if not options:
        raise Refused(b"ERR a policy needs one of TTL, MAXTTL, MEMBERTTL, MAXLEN, RETAIN, MAXDELIVERIES, "
                      b"BACKOFF, RATE, CLAIMED, FAIR and EXPIRED. POLICY DEL removes it")
    figure = lambda option: int(options.get(option, b"0"))
    data.set_policy(a[2], ds.Policy(
        figure(b"TTL"), figure(b"MAXTTL"), options.get(b"REFRESH", b"NEVER").decode(),
        figure(b"MEMBERTTL"), figure(b"MAXLEN"), options.get(b"KEEP") == b"LOW"))
    return OK


def run(data, arguments, reply):
    """Runs a command and records its events; runner.py handles MULTI."""
    data.begin_call()
    before = len(data.records)
    try:
        return COMMANDS[arguments[0]](data, arguments, reply)
    except Refused:
        if len(data.records) == before:
            data.notes = {}  # a failed call that changed nothing does not count as access to its keys
        raise
    finally:
        data.end_call()
