"""table: every command of both servers as one line: its name, its grammar, how replies compare.

    NAME grammar ; rule ; rule
    CAPITALS    a word of the syntax: an option of the command
    small       an argument of a kind that generate.py knows
    [x] [x|y]   optional; adjacent options may come in any order
    (x|y)       one of them
    (x y)...    one or more times

Rules, for replies that Redis does not fix (normal.py and choices.py apply them):
    sorted      an array whose items may come in any order
    pairs       an array of pairs, which may come in any order
    random      random members: the shapes must be equal, and all members must exist in the key
    choice      as random, but the command removes the members: the oracle is told to remove the same
    scan        a cursor: complete iterations must return the same
    kind        only the types of replies are compared; errors are compared completely
    nosort      as sorted, if the call has BY nosort
    async       the reply may be late, or several: wait until both servers have sent everything
    ids         the reply contains ids of connections
    unordered   as sorted, unless the call has ASC or DESC; as random with ANY
    big         an argument determines the memory used: either small, or so large that it is refused
    script      the arguments name a script and the commands that it runs, whose rules apply
    anyorder    the items of all arrays in the reply may come in any order
    rules       the reply has rules of users, compared without those about commands
    acllog      entries of ACL LOG, compared without times and addresses
    jumbled     the command looks up keys, and so sends keymiss events, in no fixed order
    dies        a deadline may be in the past: both servers remove expired data right after
    blocks      as async, if the call has BLOCK
    figures     the reply has figures of the server's own; scripts never show it as text

The grammar is not that of the rows' syntax lines, which neither name kinds of values that suit one
another nor say how replies compare. coverage.py checks it against redis-server's COMMAND DOCS.
"""
import re

TABLE = """
== string
SET skey value [NX|XX] [GET] [EX sec|PX ms|EXAT sec-at|PXAT ms-at|KEEPTTL] ; dies
GET skey
GETSET skey value
GETDEL skey
GETEX skey [EX sec|PX ms|EXAT sec-at|PXAT ms-at|PERSIST] ; dies
MGET skey...
MSET (skey value)...
MSETNX (skey value)...
SETNX skey value
SETEX skey sec value
PSETEX skey ms value
APPEND skey value
STRLEN skey
GETRANGE skey index index
SUBSTR skey index index
SETRANGE skey offset value ; big
INCR skey
DECR skey
INCRBY skey int
DECRBY skey int
INCRBYFLOAT skey float
LCS skey skey [LEN|IDX] [MINMATCHLEN int] [WITHMATCHLEN]
== bitmap
SETBIT bkey offset bit ; big
GETBIT bkey offset ; big
BITCOUNT bkey [index index [BYTE|BIT]]
BITPOS bkey bit [index [index [BYTE|BIT]]]
BITOP (AND|OR|XOR) bkey bkey...
BITOP NOT bkey bkey
BITFIELD bkey [(GET encoding bit-offset|[OVERFLOW (WRAP|SAT|FAIL)] SET encoding bit-offset int|[OVERFLOW (WRAP|SAT|FAIL)] INCRBY encoding bit-offset int)...] ; big
BITFIELD_RO bkey (GET encoding bit-offset)... ; big
== list
LPUSH lkey value...
RPUSH lkey value...
LPUSHX lkey value...
RPUSHX lkey value...
LPOP lkey [count]
RPOP lkey [count]
LLEN lkey
LRANGE lkey index index
LTRIM lkey index index
LREM lkey index value
LINDEX lkey index
LINSERT lkey (BEFORE|AFTER) value value
LSET lkey index value
LPOS lkey value [RANK index] [COUNT count] [MAXLEN count]
LMOVE lkey lkey (LEFT|RIGHT) (LEFT|RIGHT)
RPOPLPUSH lkey lkey
LMPOP lkeys (LEFT|RIGHT) [COUNT count]
BLPOP lkey... timeout ; async
BRPOP lkey... timeout ; async
BLMOVE lkey lkey (LEFT|RIGHT) (LEFT|RIGHT) timeout ; async
BRPOPLPUSH lkey lkey timeout ; async
BLMPOP timeout lkeys (LEFT|RIGHT) [COUNT count] ; async
== set
SADD tkey member...
SREM tkey member...
SMEMBERS tkey ; sorted
SISMEMBER tkey member
SMISMEMBER tkey member...
SCARD tkey
SPOP tkey [count] ; choice
SRANDMEMBER tkey [random-count] ; random
SMOVE tkey tkey member
SINTER tkey... ; sorted
SUNION tkey... ; sorted
SDIFF tkey... ; sorted
SINTERSTORE tkey tkey...
SUNIONSTORE tkey tkey...
SDIFFSTORE tkey tkey...
SINTERCARD tkeys [LIMIT count]
SSCAN tkey cursor [MATCH pattern] [COUNT scan-count] ; scan
== hash
HSET hkey (field value)...
HSETNX hkey field value
HMSET hkey (field value)...
HGET hkey field
HMGET hkey field...
HDEL hkey field...
HGETALL hkey ; pairs
HKEYS hkey ; sorted
HVALS hkey ; sorted
HLEN hkey
HEXISTS hkey field
HSTRLEN hkey field
HINCRBY hkey field int
HINCRBYFLOAT hkey field float
HRANDFIELD hkey [random-count [WITHVALUES]] ; random
HSCAN hkey cursor [MATCH pattern] [COUNT scan-count] ; scan
== sorted-set
ZADD zkey [NX|XX] [GT|LT] [CH] [INCR] (score member)...
ZREM zkey member...
ZCARD zkey
ZSCORE zkey member
ZMSCORE zkey member...
ZRANK zkey member
ZREVRANK zkey member
ZINCRBY zkey score member
ZCOUNT zkey min max
ZLEXCOUNT zkey lexmin lexmax
ZRANGE zkey index index [REV] [WITHSCORES]
ZRANGE zkey min max BYSCORE [REV] [LIMIT index index] [WITHSCORES]
ZRANGE zkey lexmin lexmax BYLEX [REV] [LIMIT index index] [WITHSCORES]
ZRANGESTORE zkey zkey index index [REV]
ZRANGESTORE zkey zkey min max BYSCORE [REV] [LIMIT index index]
ZRANGESTORE zkey zkey lexmin lexmax BYLEX [REV] [LIMIT index index]
ZREVRANGE zkey index index [WITHSCORES]
ZRANGEBYSCORE zkey min max [WITHSCORES] [LIMIT index index]
ZREVRANGEBYSCORE zkey max min [WITHSCORES] [LIMIT index index]
ZRANGEBYLEX zkey lexmin lexmax [LIMIT index index]
ZREVRANGEBYLEX zkey lexmax lexmin [LIMIT index index]
ZREMRANGEBYRANK zkey index index
ZREMRANGEBYSCORE zkey min max
ZREMRANGEBYLEX zkey lexmin lexmax
ZPOPMIN zkey [count]
ZPOPMAX zkey [count]
ZRANDMEMBER zkey [random-count [WITHSCORES]] ; random
ZUNION zkeys [WEIGHTS weights] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]
ZINTER zkeys [WEIGHTS weights] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]
ZDIFF zkeys [WITHSCORES]
ZUNIONSTORE zkey zkeys [WEIGHTS weights] [AGGREGATE (SUM|MIN|MAX)]
ZINTERSTORE zkey zkeys [WEIGHTS weights] [AGGREGATE (SUM|MIN|MAX)]
ZDIFFSTORE zkey zkeys
ZINTERCARD zkeys [LIMIT count]
ZMPOP zkeys (MIN|MAX) [COUNT count]
ZSCAN zkey cursor [MATCH pattern] [COUNT scan-count] ; scan
BZPOPMIN zkey... timeout ; async
BZPOPMAX zkey... timeout ; async
BZMPOP timeout zkeys (MIN|MAX) [COUNT count] ; async
== stream
XADD xkey * (field value)...
XADD xkey (*|newid) (field value)...
XADD xkey [NOMKSTREAM] [(MAXLEN [=|~] length|MINID [=|~] id) [LIMIT length]] (*|newid) (field value)...
XLEN xkey
XRANGE xkey idmin idmax [COUNT count]
XREVRANGE xkey idmax idmin [COUNT count]
XDEL xkey id...
XTRIM xkey (MAXLEN [=|~] length|MINID [=|~] id) [LIMIT length]
XSETID xkey id [ENTRIESADDED added] [MAXDELETEDID id]
XREAD [COUNT count] STREAMS streams ; blocks
XREAD [COUNT count] BLOCK wait STREAMS streams ; blocks ; async
XGROUP|CREATE xkey group (id|$) [MKSTREAM] [ENTRIESREAD added]
XGROUP|SETID xkey group (id|$) [ENTRIESREAD added]
XGROUP|DESTROY xkey group
XGROUP|CREATECONSUMER xkey group consumer
XGROUP|DELCONSUMER xkey group consumer
XREADGROUP GROUP group consumer [COUNT count] [NOACK] STREAMS groupstreams ; blocks
XREADGROUP GROUP group consumer [COUNT count] STREAMS groupstreams ; blocks
XREADGROUP GROUP group consumer [COUNT count] BLOCK wait [NOACK] STREAMS groupstreams ; blocks ; async
XACK xkey group id...
XPENDING xkey group [[IDLE idle] idmin idmax count [consumer]]
XPENDING xkey group [IDLE idle] idmin idmax count [consumer]
XCLAIM xkey group consumer idle id... [IDLE idle] [TIME ms-at] [RETRYCOUNT length] [FORCE] [JUSTID] [LASTID id]
XCLAIM xkey group consumer idle id...
XAUTOCLAIM xkey group consumer idle id [COUNT count] [JUSTID]
XINFO|STREAM xkey ; figures
XINFO|STREAM xkey FULL [COUNT count] ; figures
XINFO|GROUPS xkey ; figures
XINFO|CONSUMERS xkey group
== hyperloglog
PFADD pkey member...
PFADD pkey
PFCOUNT pkey...
PFMERGE pkey pkey...
PFDEBUG (GETREG|DECODE|ENCODING|TODENSE) pkey
== geo
GEOADD gkey [NX|XX] [CH] (lon lat member)...
GEOPOS gkey member...
GEODIST gkey member member [M|KM|FT|MI]
GEOHASH gkey member...
GEOSEARCH gkey (FROMMEMBER member|FROMLONLAT lon lat) (BYRADIUS radius (M|KM|FT|MI)|BYBOX radius radius (M|KM|FT|MI)) [ASC|DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH] ; unordered
GEOSEARCHSTORE gkey gkey (FROMMEMBER member|FROMLONLAT lon lat) (BYRADIUS radius (M|KM|FT|MI)|BYBOX radius radius (M|KM|FT|MI)) [ASC|DESC] [COUNT count] [STOREDIST]
GEOSEARCHSTORE gkey gkey FROMMEMBER member BYRADIUS radius M COUNT huge ANY
GEORADIUS gkey lon lat radius (M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC] ; unordered
GEORADIUS gkey lon lat radius (M|KM|FT|MI) [ASC|DESC] (STORE gkey|STOREDIST gkey)
GEORADIUSBYMEMBER gkey member radius (M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC] ; unordered
GEORADIUSBYMEMBER gkey member radius (M|KM|FT|MI) [ASC|DESC] (STORE gkey|STOREDIST gkey)
GEORADIUS_RO gkey lon lat radius (M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC] ; unordered
GEORADIUSBYMEMBER_RO gkey member radius (M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC] ; unordered
== expiry
EXPIRE key sec [NX|XX|GT|LT] ; dies
PEXPIRE key ms [NX|XX|GT|LT] ; dies
EXPIREAT key sec-at [NX|XX|GT|LT] ; dies
PEXPIREAT key ms-at [NX|XX|GT|LT] ; dies
TTL key
PTTL key
EXPIRETIME key
PEXPIRETIME key
PERSIST key
SET skey value (EX sec|PX ms|EXAT sec-at|PXAT ms-at) ; dies
GETEX skey (EX sec|PX ms|EXAT sec-at|PXAT ms-at|PERSIST) ; dies
HSET hkey field value
RPUSH lkey value
EXISTS key...
TYPE key
== generic
DEL key...
UNLINK key...
EXISTS key...
TOUCH key...
TYPE key
RENAME key key
RENAMENX key key
COPY key key [DB db] [REPLACE]
MOVE key db
KEYS pattern ; sorted
RANDOMKEY ; random
SCAN cursor [MATCH pattern] [COUNT scan-count] [TYPE type] ; scan
OBJECT|ENCODING key
OBJECT|FREQ key
OBJECT|IDLETIME key ; kind
OBJECT|REFCOUNT key
SORT sortkey [BY by] [LIMIT index index] [(GET get)...] [ASC|DESC] [ALPHA] ; nosort ; jumbled
SORT sortkey [BY by] [LIMIT index index] [(GET get)...] [ASC|DESC] [ALPHA] STORE lkey ; jumbled
SORT_RO sortkey [BY by] [LIMIT index index] [(GET get)...] [ASC|DESC] [ALPHA] ; nosort ; jumbled
DUMP key ; kind
WAIT zero waits ; async
== transactions
MULTI
EXEC
DISCARD
WATCH key...
UNWATCH
== scripts
EVAL script ; script
EVAL script ; script
EVAL_RO script ; script
EVALSHA script-sha ; script
EVALSHA_RO script-sha ; script
SCRIPT|LOAD body
SCRIPT|EXISTS sha...
SCRIPT|FLUSH [ASYNC|SYNC]
SCRIPT|KILL
== functions
FUNCTION|LOAD [REPLACE] library
FUNCTION|LOAD REPLACE library
FUNCTION|DELETE libname
FUNCTION|FLUSH [ASYNC|SYNC]
FUNCTION|LIST [LIBRARYNAME libname] [WITHCODE] ; anyorder
FUNCTION|KILL
FUNCTION|STATS
FUNCTION|DUMP ; kind
FCALL function ; script
FCALL function ; script
FCALL_RO function ; script
== pubsub
PUBLISH channel value
SPUBLISH channel value
SUBSCRIBE channel... ; async
UNSUBSCRIBE [channel...] ; async
PSUBSCRIBE chpattern... ; async
PUNSUBSCRIBE [chpattern...] ; async
SSUBSCRIBE channel... ; async
SUNSUBSCRIBE [channel...] ; async
PUBSUB|CHANNELS [chpattern] ; sorted
PUBSUB|NUMSUB [channel...]
PUBSUB|NUMPAT
PUBSUB|SHARDCHANNELS [chpattern] ; sorted
PUBSUB|SHARDNUMSUB [channel...]
== connection
PING [value]
ECHO value
SELECT db
HELLO [(2|3) [AUTH user password] [SETNAME name]] ; ids
RESET ; async
AUTH [user] password
ACL|WHOAMI
ACL|USERS
ACL|GETUSER user ; rules
CLIENT|SETNAME name
CLIENT|GETNAME
CLIENT|ID ; kind
CLIENT|INFO ; kind
CLIENT|LIST [TYPE (NORMAL|MASTER|REPLICA|SLAVE|PUBSUB)] ; kind
CLIENT|LIST ID ids ; kind
CLIENT|NO-EVICT (ON|OFF)
CLIENT|REPLY (ON|OFF|SKIP) ; async
CLIENT|UNBLOCK ids [TIMEOUT|ERROR]
CLIENT|UNPAUSE
== tracking
CLIENT|TRACKING (ON|OFF) [REDIRECT ids] [(PREFIX prefix)...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP] ; async
CLIENT|TRACKING ON OPTIN ; async
CLIENT|TRACKING ON OPTOUT ; async
CLIENT|CACHING (YES|NO)
CLIENT|GETREDIR ; ids
CLIENT|TRACKINGINFO ; ids
GET skey
SET skey value
HGET hkey field
DEL key
== users
ACL|SETUSER acluser rule...
ACL|SETUSER acluser rule...
ACL|LIST ; rules
ACL|GETUSER acluser ; rules
ACL|DRYRUN acluser call
ACL|LOG [count] ; acllog
ACL|LOG RESET ; acllog
ACL|DELUSER lostuser...
AUTH acluser password
AUTH acluser password
ACL|WHOAMI
SUBSCRIBE channel... ; async
PSUBSCRIBE chpattern... ; async
PUBLISH channel value
SORT sortkey [BY by] [LIMIT index index] [(GET get)...] ; nosort ; jumbled
EVAL script ; script
GET skey
SET skey value
== server
DBSIZE
FLUSHDB [ASYNC|SYNC]
FLUSHALL [ASYNC|SYNC]
SWAPDB db db
TIME
LOLWUT [VERSION int] ; kind
LASTSAVE ; kind
ROLE
MODULE|LIST
COMMAND ; kind
COMMAND|COUNT ; kind
COMMAND|INFO command... ; kind
COMMAND|DOCS command... ; kind
COMMAND|LIST [FILTERBY (MODULE name|ACLCAT name|PATTERN pattern)] ; kind
COMMAND|GETKEYS call
COMMAND|GETKEYSANDFLAGS call
MEMORY|USAGE key [SAMPLES int] ; kind
MEMORY|PURGE
SLOWLOG|LEN ; kind
SLOWLOG|GET [int] ; kind
LATENCY|LATEST
LATENCY|HISTORY event
LATENCY|RESET [event...]
"""

# What both servers have and random programs leave out, and why. Containers are left out by
# themselves, and so is every HELP: its lines are prose.
EXCLUDED = {
    "PFSELFTEST": "is always the same, and takes long",
    "QUIT": "ends the connection: tests/e2e",
    "MONITOR": "its lines are times and addresses: tests/e2e",
    "DEBUG": "the oracle's tools and ours are not the same",
    "SHUTDOWN": "ends the server", "INFO": "figures of this very process",
    "ACL|CAT": "has our own commands too", "ACL|GENPASS": "is random",
    "ACL|LOAD": "needs a file", "ACL|SAVE": "needs a file",
    "CONFIG|GET": "tests/e2e", "CONFIG|SET": "tests/e2e", "CONFIG|REWRITE": "writes a file",
    "CONFIG|RESETSTAT": "leaves nothing that can be read",
    "CLIENT|KILL": "closes connections: tests/e2e", "CLIENT|PAUSE": "waits in real time: tests/e2e",
    "MEMORY|STATS": "figures of this very process", "MEMORY|DOCTOR": "prose about this process",
    "MEMORY|MALLOC-STATS": "figures of this very process",
    "SLOWLOG|RESET": "real time decides what was there before",
    "LATENCY|DOCTOR": "prose about this process", "LATENCY|GRAPH": "a drawing of real time",
    "LATENCY|HISTOGRAM": "real time",
    "SAVE": "writes a file", "BGSAVE": "writes a file", "BGREWRITEAOF": "writes a file",
    "SCRIPT|DEBUG": "there is no debugger here",
    **dict.fromkeys("PSYNC SYNC REPLCONF REPLICAOF SLAVEOF FAILOVER".split(), "needs a second server: tests/e2e"),
    **dict.fromkeys(("READONLY", "READWRITE", "ASKING"), "there is no cluster: tests/e2e"),
    **dict.fromkeys((f"CLUSTER|{word}" for word in """
        ADDSLOTS ADDSLOTSRANGE BUMPEPOCH COUNT-FAILURE-REPORTS COUNTKEYSINSLOT DELSLOTS
        DELSLOTSRANGE FAILOVER FLUSHSLOTS FORGET GETKEYSINSLOT INFO KEYSLOT LINKS MEET MYID NODES
        REPLICAS REPLICATE RESET SAVECONFIG SET-CONFIG-EPOCH SETSLOT SHARDS SLAVES SLOTS
        """.split()), "there is no cluster: tests/e2e"),
    "FUNCTION|RESTORE": "payloads of FUNCTION DUMP are not the same bytes: tests/e2e",
    "RESTORE": "payloads of DUMP are not the same bytes: tests/e2e",
}

# Words of the oracle's COMMAND DOCS that a row need not have, and why.
WORDS_ELSEWHERE = {
    "COMMAND|LIST": "contains FILTERBY as two words",
}


class Row:
    """One line of the table."""

    def __init__(self, group, line):
        text, *rules = [part.strip() for part in line.split(";")]
        name, _, grammar = text.partition(" ")
        self.name, self.group, self.rules = name, group, frozenset(rules)
        self.words = [word.encode() for word in name.split("|")]
        self.grammar = parse(re.findall(r"\.\.\.|[\[\]()|]|[^\s\[\]()|.]+", grammar))

    def options(self):
        return set(literals(self.grammar))


def parse(tokens):
    """("seq", [node]) | ("alt", [node]) | ("opt", node) | ("rep", node) | ("lit", WORD) |
    ("arg", kind)"""
    def sequence(at):
        choices, items = [], []
        while at < len(tokens) and tokens[at] not in "])":
            token = tokens[at]
            if token == "|":
                choices.append(("seq", items))
                items = []
            elif token == "...":
                items.append(("rep", items.pop()))
            elif token in "[(":
                inner, at = sequence(at + 1)
                items.append(("opt", inner) if token == "[" else inner)
            elif token.upper() == token:
                items.append(("lit", token))
            else:
                items.append(("arg", token))
            at += 1
        choices.append(("seq", items))
        return (choices[0] if len(choices) == 1 else ("alt", choices)), at
    return sequence(0)[0]


def literals(node):
    kind, value = node
    if kind == "lit":
        yield value
    elif kind in ("seq", "alt"):
        for item in value:
            yield from literals(item)
    elif kind in ("opt", "rep"):
        yield from literals(value)


def rows():
    group, found = None, []
    for line in TABLE.strip().split("\n"):
        if line.startswith("=="):
            group = line[2:].strip()
        else:
            found.append(Row(group, line))
    return found
