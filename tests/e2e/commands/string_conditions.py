"""string_conditions: calls of SET with conditions, DELIFEQ, MSETEX, DELEX and DIGEST with their replies, on an
empty server. CALLS have the replies of Valkey 9.1.2; OF_REDIS, which it lacks, those that Redis 8.4 documents."""

OK, NULL, SYNTAX = b"+OK\r\n", b"$-1\r\n", b"-ERR syntax error\r\n"
WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
NUMKEYS = b"-ERR invalid numkeys value or out of range\r\n"
BAD_EXPIRE = b"-ERR invalid expire time in 'msetex' command\r\n"


def integer(value):
    return b":%d\r\n" % value


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


CALLS = [
    ("LPUSH l a", integer(1)), ("SET l v IFEQ a", WRONGTYPE), ("SET l v IFEQ a GET", WRONGTYPE),
    ("DELIFEQ l a", WRONGTYPE), ("SET n v IFEQ a", NULL), ("SET n v IFEQ a GET", NULL),
    ("EXISTS n", integer(0)), ("SET k v", OK), ("SET k w IFEQ v NX", SYNTAX), ("SET k w NX IFEQ v", SYNTAX),
    ("SET k w XX IFEQ v", SYNTAX), ("SET k w IFEQ v XX", SYNTAX), ("SET k w IFEQ", SYNTAX),
    ("SET k w IFEQ v IFEQ v", SYNTAX), ("SET k w IFEQ x GET", bulk(b"v")), ("GET k", bulk(b"v")),
    ("SET k v PXAT 4000000000000", OK), ("SET k w IFEQ v KEEPTTL", OK), ("PEXPIRETIME k", integer(4 * 10**12)),
    ("SET k 1 IFEQ w GET PXAT 4000000000001", bulk(b"w")), ("PEXPIRETIME k", integer(4 * 10**12 + 1)),
    ("SET k w IFEQ 1", OK), ("PEXPIRETIME k", integer(-1)), ("SET k NX IFEQ w", OK), ("GET k", bulk(b"NX")),
    ("DELIFEQ k x", integer(0)), ("DELIFEQ k NX", integer(1)), ("DELIFEQ k NX", integer(0)),
    ("SET k 12", OK), ("DELIFEQ k 012", integer(0)), ("DELIFEQ k 12", integer(1)),
    ("MSETEX 0 a b", NUMKEYS), ("MSETEX x a b", NUMKEYS), ("MSETEX -1 a b", NUMKEYS),
    ("MSETEX 2147483648 a b", NUMKEYS), ("MSETEX 2 a b", SYNTAX), ("MSETEX 2 a b c", SYNTAX),
    ("MSETEX 2 a b c d e", SYNTAX), ("MSETEX 1 a b NX XX", SYNTAX), ("MSETEX 1 a0 b NX NX", integer(1)),
    ("MSETEX 1 a b EX 10 KEEPTTL", SYNTAX), ("MSETEX 1 a b KEEPTTL EX 10", SYNTAX),
    ("MSETEX 1 a0 b KEEPTTL KEEPTTL", integer(1)), ("MSETEX 1 a b EX 10 PX 10", SYNTAX),
    ("MSETEX 1 a0 b PXAT 1 PXAT 4000000000000", integer(1)), ("PEXPIRETIME a0", integer(4 * 10**12)),
    ("MSETEX 1 a b EX 0", BAD_EXPIRE), ("MSETEX 1 a b EX -5", BAD_EXPIRE),
    ("MSETEX 1 a b EX 9223372036854775807", BAD_EXPIRE),
    ("MSETEX 1 a b EX x", b"-ERR value is not an integer or out of range\r\n"), ("MSETEX 1 a b EX", SYNTAX),
    ("MSETEX 1 a b FOO", SYNTAX), ("EXISTS a", integer(0)),
    ("MSETEX 2 a 1 a 2", integer(1)), ("GET a", bulk(b"2")), ("MSETEX 2 a 3 z 3 NX", integer(0)),
    ("MSETEX 2 a 3 z 3 XX", integer(0)), ("EXISTS z", integer(0)), ("MSETEX 2 y 1 z 2 NX", integer(1)),
    ("MSETEX 2 y 3 z 4 XX PXAT 4000000000000", integer(1)), ("MGET y z", b"*2\r\n" + bulk(b"3") + bulk(b"4")),
    ("PEXPIRETIME y", integer(4 * 10**12)), ("MSETEX 1 y 5 KEEPTTL", integer(1)),
    ("PEXPIRETIME y", integer(4 * 10**12)), ("MSETEX 1 y 5", integer(1)), ("PEXPIRETIME y", integer(-1)),
    ("MSETEX 1 y 6 XX EXAT 1", integer(1)), ("EXISTS y", integer(0)), ("MSETEX 1 l 3", integer(1)),
    ("TYPE l", b"+string\r\n"), ("COMMAND GETKEYS MSETEX 2 a 1 b 2 NX", b"*2\r\n" + bulk(b"a") + bulk(b"b"))]

HELLO, ZEROS = "9555e8555c62dcfd", "0" * 16  # the digest of hello, and another
SHORT = b"-ERR digest must be exactly 16 hexadecimal characters\r\n"
ARITY = b"-ERR wrong number of arguments for 'delex' command\r\n"
NOT_STRING = b"-ERR Key should be of string type if conditions are specified\r\n"
NO_CONDITION = b"-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE\r\n"

OF_REDIS = [
    ("RPUSH l a", integer(1)), ("SET l v IFNE a", WRONGTYPE), (f"SET l v IFDEQ {ZEROS}", WRONGTYPE),
    ("SET l v IFDNE 1 GET", WRONGTYPE), ("DIGEST l", WRONGTYPE), ("DIGEST none", NULL),
    ("SET k v IFDEQ 1", NULL), ("SET k v IFEQ v", NULL), ("SET k v IFDEQ 1 GET", NULL), ("EXISTS k", integer(0)),
    ("SET k hello IFNE hello", OK), ("SET k w IFNE hello", NULL), ("SET k w IFNE hello GET", bulk(b"hello")),
    ("DIGEST k", bulk(HELLO.encode())), (f"SET k w IFDEQ {ZEROS}", NULL), (f"SET k w IFDNE {HELLO}", NULL),
    (f"SET k w IFDNE {HELLO.upper()} GET", bulk(b"hello")), ("SET k w IFDEQ 123", SHORT),
    ("SET k w IFDNE 123 GET", SHORT), (f"SET k w IFDEQ 0{HELLO}", SHORT), ("GET k", bulk(b"hello")),
    (f"SET k w IFDEQ {HELLO.upper()} PXAT 4000000000000", OK), ("PEXPIRETIME k", integer(4 * 10**12)),
    (f"SET k hello IFDNE {ZEROS} KEEPTTL GET", bulk(b"w")), ("PEXPIRETIME k", integer(4 * 10**12)),
    (f"SET k w IFDNE {'z' * 16}", OK), ("SET k w IFNE", SYNTAX), ("SET k w IFDEQ", SYNTAX),
    ("SET k w IFNE a XX", SYNTAX), ("SET k w NX IFDNE a", SYNTAX), ("SET k w IFNE a IFEQ b", SYNTAX),
    ("SET new v IFDNE 1 GET", NULL), ("GET new", bulk(b"v")),
    ("DELEX none", integer(0)), ("DELEX none IFEQ a", integer(0)), ("DELEX none IFNE a", integer(0)),
    ("DELEX none IFDNE 1", integer(0)), ("DELEX none FOO a", integer(0)), ("DELEX none IFEQ", ARITY),
    ("DELEX k IFEQ a b", ARITY), ("DELEX k FOO a", NO_CONDITION), ("DELEX l FOO a", NOT_STRING),
    ("DELEX l IFEQ a", NOT_STRING), ("DELEX l IFDNE 1", NOT_STRING), ("DELEX l", integer(1)),
    ("DELEX k IFEQ x", integer(0)), ("DELEX k IFNE w", integer(0)), (f"DELEX k IFDEQ {ZEROS}", integer(0)),
    ("DELEX k IFDEQ 1", SHORT), ("DELEX k IFDNE 1", SHORT), ("SET k hello", OK),
    (f"DELEX k IFDNE {HELLO}", integer(0)), (f"DELEX k IFDEQ {HELLO}", integer(1)), ("SET k 0123", OK),
    ("DELEX k IFEQ 123", integer(0)), ("DELEX k IFNE 123", integer(1)), ("EXISTS k", integer(0))]


def differing(raw, calls=None):
    """[(call, reply, expected reply)]"""
    found = [(call, raw.call(*call.split()), wanted) for call, wanted in calls or CALLS]
    return [each for each in found if each[1] != each[2]]
