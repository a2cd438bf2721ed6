"""zsets: the commands of sorted sets in the model; see members.py."""
import dataset as ds
from answer import number
from dataset import ADD, KEEP, NEVER
from members import UNITS, Life, command, find, look, or_new, value_of


class Zput:
    """ZADD's options."""

    def __init__(self, words, incr=False):
        self.words, self.incr = words, incr or b"INCR" in words

    def score(self, held, score):
        """What the member gets, or None where that is refused."""
        if b"NX" in self.words and held or b"XX" in self.words and not held:
            return None
        if not held:
            return score
        score = held[0] + score if self.incr else score
        if b"GT" in self.words and score <= held[0] or b"LT" in self.words and score >= held[0]:
            return None
        return score


def zadd(data, a, words, first, life=None, event=b"zadd"):
    put = Zput(words)
    key = find(data, a[1], "zset")
    if key is None and b"XX" in words:
        return None if put.incr else 0
    key = or_new(data, key, a[1], "zset")
    rule = life.rule(data, KEEP) if life else (KEEP if put.incr else ADD, NEVER)
    added = moved = 0
    score = None
    for text, name in zip(a[first::2], a[first + 1::2]):
        held = key.value.get(name)
        score = put.score(held, float(text))
        if score is None:
            continue
        same = held is not None and held[0] == score
        if held is None:
            data.note(key, ds.GROWN)
        data.put(key, name, score, event, *rule, same=same)
        if life and life.is_past(data) and (held is None or not life.keeps):
            data.expire_member(key, name, life.at)
            moved += held is not None
        else:
            added += held is None
            moved += held is not None and not same
    if put.incr:
        return None if score is None else number(score)
    return added + (moved if b"CH" in words else 0)


@command(b"ZADD", b"ZADDEX")
def _(data, a, __):
    words, at, life = set(), 2, Life() if a[0] == b"ZADDEX" else None
    while True:
        word = a[at].upper()
        if word in (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"):
            words.add(word)
            at += 1
        elif life and (word in UNITS or word == b"KEEPTTL"):
            at = life.take(data, a, at)
        else:
            break
    return zadd(data, a, words, at, life, b"zincr" if b"INCR" in words else b"zadd")


@command(b"ZINCRBY")
def _(data, a, __):
    return zadd(data, a, {b"INCR"}, 2, event=b"zincr")


@command(b"ZSCORE", b"ZMSCORE")
def _(data, a, __):
    held = value_of(look(data, a[1], "zset"))
    scores = [number(held[name][0]) if name in held else None for name in a[2:]]
    return scores if a[0] == b"ZMSCORE" else scores[0]


@command(b"ZRANK", b"ZREVRANK")
def _(data, a, __):
    key = look(data, a[1], "zset")
    if a[2] not in value_of(key):
        return None
    rank = ds.ranked(key).index(a[2])
    if a[0] == b"ZREVRANK":
        rank = key.size() - 1 - rank
    return [rank, number(key.value[a[2]][0])] if len(a) > 3 else rank


def bound(text, low):
    """A test of a score."""
    value = float(text.lstrip(b"("))
    if text[:1] == b"(":
        return (lambda score: score > value) if low else (lambda score: score < value)
    return (lambda score: score >= value) if low else (lambda score: score <= value)


def lex_bound(text, low):
    if text in (b"-", b"+"):
        return lambda name: (text == b"-") == low
    value = text[1:]
    if text[:1] == b"(":
        return (lambda name: name > value) if low else (lambda name: name < value)
    return (lambda name: name >= value) if low else (lambda name: name <= value)


def by_score(key, low, high):
    low, high = bound(low, True), bound(high, False)
    return [name for name in ds.ranked(key) if low(key.value[name][0]) and high(key.value[name][0])]


def by_lex(key, low, high):
    low, high = lex_bound(low, True), lex_bound(high, False)
    return [name for name in ds.ranked(key) if low(name) and high(name)]


def by_rank(names, first, last):
    first, last = (at + len(names) if at < 0 else at for at in (int(first), int(last)))
    return names[max(first, 0):max(last + 1, 0)]


def with_scores(key, names, shown):
    if not shown:
        return list(names)
    return [word for name in names for word in (name, number(key.value[name][0]))]


def zrange(key, a, first):
    """The members that ZRANGE's arguments from `first` on ask for, and whether scores are shown."""
    words = [word.upper() for word in a[first + 2:]]
    low, high = a[first], a[first + 1]
    if key is None:
        return [], b"WITHSCORES" in words
    reverse = b"REV" in words
    if b"BYSCORE" in words or b"BYLEX" in words:
        low, high = (high, low) if reverse else (low, high)
        names = (by_score if b"BYSCORE" in words else by_lex)(key, low, high)
        names = names[::-1] if reverse else names
        if b"LIMIT" in words:
            offset, count = (int(word) for word in words[words.index(b"LIMIT") + 1:][:2])
            names = [] if offset < 0 else names[offset:] if count < 0 \
                else names[offset:offset + count]
    else:
        names = by_rank(ds.ranked(key)[::-1 if reverse else 1], low, high)
    return names, b"WITHSCORES" in words


@command(b"ZRANGE")
def _(data, a, __):
    key = look(data, a[1], "zset")
    names, shown = zrange(key, a, 2)
    return with_scores(key, names, shown)


@command(b"ZRANGESTORE")
def _(data, a, __):
    key = look(data, a[2], "zset")
    names, _ = zrange(key, a, 3)
    data.store(a[1], "zset", {name: [key.value[name][0], NEVER] for name in names}, b"zrangestore")
    return len(names)


@command(b"ZCOUNT", b"ZLEXCOUNT")
def _(data, a, __):
    key = look(data, a[1], "zset")
    return len((by_score if a[0] == b"ZCOUNT" else by_lex)(key, a[2], a[3])) if key else 0


@command(b"ZREMRANGEBYRANK", b"ZREMRANGEBYSCORE", b"ZREMRANGEBYLEX")
def _(data, a, __):
    key = find(data, a[1], "zset")
    if key is None:
        return 0
    if a[0].endswith(b"RANK"):
        names = by_rank(ds.ranked(key), a[2], a[3])
    else:
        names = (by_score if a[0].endswith(b"SCORE") else by_lex)(key, a[2], a[3])
    for name in names:
        data.remove(key, name, a[0].lower())
    return len(names)


@command(b"ZPOPMIN", b"ZPOPMAX")
def _(data, a, __):
    key = find(data, a[1], "zset")
    if key is None:
        return []
    names, count = ds.ranked(key), int(a[2]) if len(a) > 2 else 1
    lowest = a[0] == b"ZPOPMIN"
    popped = names[:count] if lowest else names[::-1][:count]
    flat = with_scores(key, popped, True)
    for name in sorted(popped, key=names.index):
        data.remove(key, name, a[0].lower())
    return flat
