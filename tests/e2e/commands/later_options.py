"""later_options: calls of options that Redis 7.0 lacks, with the replies of Valkey 9.1.2, on an empty server. Redis 8.0
replies the same, but has no NOSCORES."""

SYNTAX = b"-ERR syntax error\r\n"
WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
NOTHING = b"*-1\r\n"


def arity(command):
    return b"-ERR wrong number of arguments for '%s' command\r\n" % command


CALLS = [
    ("ZADD z 1 a 2.5 b", b":2\r\n"), ("HSET h f v", b":1\r\n"), ("LPUSH l a", b":1\r\n"),
    ("ZRANK z b WITHSCORE", b"*2\r\n:1\r\n$3\r\n2.5\r\n"), ("ZRANK z x WITHSCORE", NOTHING),
    ("ZRANK none x WITHSCORE", NOTHING), ("ZRANK z b", b":1\r\n"), ("ZRANK z x", b"$-1\r\n"),
    ("ZRANK z b FOO", SYNTAX), ("ZRANK none b FOO", SYNTAX), ("ZRANK l b FOO", SYNTAX),
    ("ZRANK l b WITHSCORE", WRONGTYPE), ("ZRANK z b WITHSCORE x", arity(b"zrank")),
    ("ZRANK l b WITHSCORE x", arity(b"zrank")), ("ZREVRANK z b withscore", b"*2\r\n:0\r\n$3\r\n2.5\r\n"),
    ("ZREVRANK z a WITHSCORE", b"*2\r\n:1\r\n$1\r\n1\r\n"),
    ("HSCAN h 0 NOVALUES", b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nf\r\n"),
    ("HSCAN h 0 NOVALUES NOVALUES COUNT 10", b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nf\r\n"),
    ("HSCAN h 0 COUNT 3 novalues MATCH g*", b"*2\r\n$1\r\n0\r\n*0\r\n"), ("HSCAN l 0 NOVALUES", WRONGTYPE),
    ("HSCAN h 0 MATCH NOVALUES", b"*2\r\n$1\r\n0\r\n*0\r\n"), ("HSCAN h 0 NOVALUES MATCH", SYNTAX),
    ("ZSCAN z 0 NOSCORES", b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
    ("HSCAN none 0 NOVALUES", b"*2\r\n$1\r\n0\r\n*0\r\n")]


def differing(raw):
    """[(call, reply, expected reply)]"""
    found = [(call, raw.call(*call.split()), wanted) for call, wanted in CALLS]
    return [each for each in found if each[1] != each[2]]
