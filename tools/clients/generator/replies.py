"""replies: the declared forms of a reply (REPLIES in server/cmd/call/command.h) as trees.

A tree is a tuple: its kind, then what is in it:

    bulk integer double simple null any     one value; a verbatim string is a bulk
    (text, "OK")                            this text
    (list, item)  (tuple, item, ...)        [bulk ...]  [bulk integer]
    (rows, item, ...)                       [bulk integer ...]: read as a list of tuples, and flat in RESP2 at least
    (map, key, value)  (record, name, ...)  map[bulk integer ...]; map['a' integer 'b' bulk], names and items
    (union, tree, ...)                      a|b
"""
import re

WORD = re.compile(r"\s*('[^']*'|(?:map|set|push)?\[|\]|\||\.\.\.|[A-Za-z-]+)")
SIMPLE = {"bulk": "bulk", "verbatim": "bulk", "integer": "integer", "double": "double", "simple": "simple",
          "null": "null", "null-array": "null", "any": "any"}
NULL = ("null",)


class Reader:
    def __init__(self, form):
        self.words = WORD.findall(form)
        assert "".join(self.words) == re.sub(r"\s(?=(?:[^']*'[^']*')*[^']*$)", "", form), f"can't read the form {form}"
        assert sum(word.endswith("[") for word in self.words) == self.words.count("]"), f"a bracket is left in {form}"

    def union(self):
        found = [self.item()]
        while self.words and self.words[0] == "|":
            self.words.pop(0)
            found.append(self.item())
        return union(found)

    def item(self):
        word = self.words.pop(0)
        if word.startswith("'"):
            return ("text", word[1:-1])
        if word.endswith("["):
            return self.array(word)
        if word in SIMPLE:
            return (SIMPLE[word],)
        assert word.isupper(), f"an unknown word in a form: {word}"
        return ("text", word)

    def array(self, opening):
        items, repeated = [], False
        while self.words[0] != "]":
            if self.words[0] == "...":
                self.words.pop(0)
                repeated = True
            else:
                items.append(self.union())
        self.words.pop(0)
        if opening == "map[":
            return ("map", *items) if repeated else record(items)
        if not repeated:
            return ("tuple", *items)
        return ("list", items[0]) if len(items) == 1 else ("rows", *items)


def record(items):
    names = [name[1] for name in items[::2]]
    return ("record", *(part for pair in zip(names, items[1::2]) for part in pair))


def union(trees):
    flat = []
    for tree in trees:
        for part in tree[1:] if tree[0] == "union" else (tree,):
            if part not in flat:
                flat.append(part)
    return flat[0] if len(flat) == 1 else ("union", *flat)


def flat_in_resp2(tree):
    """The tree of RESP3's form, if RESP2 has another one."""
    return ("rows", *tree[1][1:]) if tree[0] == "list" and tree[1][0] == "tuple" else tree


class Replies:
    """`always`: the tree of all forms. `under`: for each option (NX) that has a form of its own, the tree
    with it; `plain`: the tree without such an option."""

    def __init__(self, declared):
        forms = [reply.partition(":")[::2] for reply in declared]
        # A client sees RESP3's form in both protocols.
        if any(form.startswith("RESP3 ") for form, _ in forms):
            forms = [(form, when) for form, when in forms if not form.startswith("RESP2 ")]
        found = [(flat_in_resp2(Reader(form[6:]).union()) if form.startswith("RESP") else Reader(form).union(),
                  when.strip()) for form, when in forms if form != "none"]
        self.always = union([tree for tree, _ in found]) if found else NULL
        self.under = {}
        plain = [tree for tree, _ in found]
        for tree, when in found:
            option = re.match(r"(?:the same )?with ([A-Z]+)\b", when)
            if option is None:
                continue
            self.under[option[1]] = union([tree] + [other for other, _ in found if other == NULL])
            plain.remove(tree)
        self.plain = union(plain) if plain else self.always
