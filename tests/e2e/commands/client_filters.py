"""client_filters: connections, and the options of CLIENT LIST that select them, with what Valkey 9.1.2 replies.

The connections have names; a reply is the names that are listed ("-" is the one that asks, which has none), or an
error."""

SYNTAX = "ERR syntax error"
NO_USER = "ERR No such user 'nobody'"
ALL = {"-", "ann", "bob", "sub"}

CASES = [
    ("", ALL), ("NAME bob", {"bob"}), ("NAME", SYNTAX), ("NAME BOB", set()), ("NOT-NAME bob", ALL - {"bob"}),
    ("name bob NAME ann", {"ann"}), ("NAME bob NOT-NAME bob", set()), ("USER default", ALL - {"ann"}),
    ("USER nobody", NO_USER), ("NOT-USER nobody", NO_USER), ("NOT-USER default", {"ann"}), ("USER u", {"ann"}),
    ("ADDR 1.2.3.4:5", set()), ("NOT-ADDR 1.2.3.4:5", ALL), ("NOT-LADDR x", ALL), ("LADDR x", set()),
    ("SKIPME yes", ALL - {"-"}), ("SKIPME NO", ALL), ("SKIPME maybe", SYNTAX),
    ("MAXAGE 0", "ERR maxage should be greater than 0"), ("MAXAGE -1", "ERR maxage should be greater than 0"),
    ("MAXAGE x", "ERR maxage is not an integer or out of range"), ("MAXAGE 100000", set()),
    ("IDLE 0", "ERR idle should be greater than 0"), ("IDLE 100000", set()),
    ("IDLE x", "ERR idle is not an integer or out of range"), ("NOT-MAXAGE 1", SYNTAX), ("NOT-IDLE 1", SYNTAX),
    ("FLAGS P", {"sub"}), ("FLAGS PN", set()), ("NOT-FLAGS P", ALL - {"sub"}), ("NOT-FLAGS PN", ALL),
    ("FLAGS x", {"bob"}), ("FLAGS Q", "ERR Unknown flags found in the provided filter: Q"),
    ("FLAGS NQ", "ERR Unknown flags found in the provided filter: NQ"), ("FLAGS bcdeirtuxABEIMNOPRSTU", set()),
    ("LIB-NAME lib", {"ann"}), ("NOT-LIB-NAME lib", ALL - {"ann"}), ("LIB-VER 1.2", {"ann"}), ("LIB-VER 1", set()),
    ("NOT-LIB-VER 1.2", ALL - {"ann"}), ("DB 3", {"bob"}), ("DB 0", ALL - {"bob"}), ("NOT-DB 3", ALL - {"bob"}),
    ("DB 99", "ERR DB number should be between 0 and 15"), ("DB -1", "ERR DB number should be between 0 and 15"),
    ("DB x", "ERR DB is not an integer or out of range"), ("CAPA r", {"ann"}), ("CAPA rr", {"ann"}),
    ("NOT-CAPA r", ALL - {"ann"}), ("CAPA z", "ERR Unknown capa found in the provided filter: z"),
    ("IP 127.0.0.1", ALL), ("IP 127.0.0", set()), ("NOT-IP 127.0.0.1", set()), ("TYPE normal", ALL - {"sub"}),
    ("TYPE pubsub", {"sub"}), ("NOT-TYPE pubsub", ALL - {"sub"}), ("TYPE primary", set()), ("TYPE replica", set()),
    ("TYPE foo", "ERR Unknown client type 'foo'"), ("TYPE PUBSUB TYPE NORMAL", ALL - {"sub"}), ("FOO x", SYNTAX),
    ("NOT- x", SYNTAX), ("NOT-NOT-NAME x", SYNTAX), ("NAME bob FOO", SYNTAX), ("ID", SYNTAX),
    ("TYPE normal DB 0 NOT-USER u", {"-"}), ("ID {ann}", {"ann"}), ("ID {ann} {bob} 99999", {"ann", "bob"}),
    ("ID {ann} {bob} NAME bob", {"bob"}), ("NOT-ID {ann} {bob}", {"-", "sub"}),
    ("ID {ann} {sub} TYPE pubsub NOT-ID {bob}", {"sub"})]


class Crowd:
    """The connections of CASES, of a server with a TCP port."""

    def __init__(self, server):
        self.raw = {name: server.raw(tcp=True) for name in ALL}
        self.raw["-"].call("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*")
        for name in ALL - {"-"}:
            self.raw[name].call("CLIENT", "SETNAME", name)
        ann, bob = self.raw["ann"], self.raw["bob"]
        self.ids = {name: int(self.raw[name].call("CLIENT", "ID")[1:]) for name in ALL}
        for words in ("AUTH u x", "CLIENT SETINFO LIB-NAME lib", "CLIENT SETINFO LIB-VER 1.2", "CLIENT CAPA redirect"):
            ann.call(*words.split())
        bob.call("SELECT", 3)
        bob.call("MULTI")
        self.raw["sub"].call("SUBSCRIBE", "channel")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for raw in self.raw.values():
            raw.close()

    def asked(self, words):
        reply = self.raw["-"].call("CLIENT", "LIST", *words.format(**self.ids).split())
        if reply[:1] == b"-":
            return reply[1:-2].decode()
        fields = [dict(field.partition("=")[::2] for field in line.split(" "))
                  for line in reply.decode().split("\r\n", 1)[1].split("\n") if line.startswith("id=")]
        return {field["name"] or "-" for field in fields}

    def differing(self):
        """[(words, what is listed, what should be)]"""
        found = [(words, self.asked(words), wanted) for words, wanted in CASES]
        return [each for each in found if each[1] != each[2]]
