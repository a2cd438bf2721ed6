"""arguments: a command's arguments as parameters of a function, and how a call is written from them.

A row's arguments (tools/command_reference.c) become a list of parameters and a list of pieces:

    key [NX|XX] FIELDS numfields field [field ...] [COUNT count]

    parameters   key, fields (repeated); options nx, xx, count
    pieces       value key, flag NX, flag XX, word FIELDS, length of fields, values of fields,
                 option COUNT

Values that must be given are parameters in their order; all others are options. The number of values
before them is counted. Where a call can be written in two ways, the one with words in capitals is taken. What is
repeated is a tuple of values; if there are options or words in capitals in it, the caller writes its words.
"""
import dataclasses
import keyword
import re

# Python's and JavaScript's.
RESERVED = {*keyword.kwlist, "self", "arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum",
            "eval", "export", "extends", "function", "implements", "instanceof", "interface", "let", "new", "null",
            "options", "package", "private", "protected", "public", "static", "super", "switch", "this", "throw", "to",
            "true", "false", "typeof", "undefined", "var", "void"}
# As in COMMAND DOCS.
SYMBOLS = {"=": "equal", "~": "approximately", "*": "new-id", "$": "last-id"}


@dataclasses.dataclass
class Parameter:
    name: str  # words separated by "_"
    types: list  # of a value: key, integer, double, string, choice, flag; several: of each repeated tuple
    parts: list = dataclasses.field(default_factory=list)  # the names in a tuple
    choices: tuple = ()
    optional: bool = False
    repeated: bool = False


@dataclasses.dataclass
class Piece:
    kind: str  # word, value, length, values, option, each, flag, block
    token: str = ""
    parameter: Parameter = None
    pieces: list = None  # of a block, written if one of the options in it is given


def snake(text):
    name = re.sub(r"\W", "_", SYMBOLS.get(text, text).lower())
    return name + "_" if name in RESERVED else name


def plural(name):
    if name.endswith("y") and name != "key":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "ch")) else "s")


def is_length(argument, following):
    """Is it the number of the values behind it?"""
    return argument.get("name", "").startswith("num") and following is not None and following.get("multiple")


class Call:
    """The parameters and pieces of a command."""

    def __init__(self, arguments):
        self.parameters = []
        self.pieces = self.chain(arguments)

    def add(self, name, types, **more):
        taken = {parameter.name for parameter in self.parameters}
        name, count = snake(name), 2
        while name in taken:
            name, count = f"{snake(name)}{count}", count + 1
        parameter = Parameter(name, types, **more)
        self.parameters.append(parameter)
        return parameter

    # --- what must be given -------------------------------------------------------------------

    def chain(self, arguments):
        pieces, length = [], None
        for argument, following in zip(arguments, [*arguments[1:], None]):
            if is_length(argument, following):
                length = Piece("length")
                pieces.append(length)
                continue
            found = self.argument(argument)
            if length is not None:
                length.parameter = found[0].parameter
                assert length.parameter.name != "words", "can't count what is repeated, which has words in capitals"
                length = None
            pieces += found
        return pieces

    def argument(self, argument):
        if argument.get("optional"):
            return self.option(argument)
        if argument.get("multiple"):
            return [Piece("values", parameter=self.repeated(argument))]
        if argument["type"] == "pure-token":
            return [Piece("word", argument["token"])]
        if argument["type"] == "oneof":
            return self.choice(argument)
        word = [Piece("word", argument["token"])] if "token" in argument else []
        if argument["type"] == "block":
            return word + self.chain(argument["arguments"])
        return word + [Piece("value", parameter=self.add(argument["name"], [argument["type"]]))]

    def repeated(self, argument, **more):
        if argument["type"] != "block":
            return self.add(plural(argument["name"]), [argument["type"]], repeated=True, **more)
        inner = argument["arguments"]
        if not all("name" in part and not part.get("optional") for part in inner):
            return self.add("words", ["string"], repeated=True, **more)  # as the caller writes them
        names, types = [part["name"] for part in inner], [part["type"] for part in inner]
        return self.add("items", types, parts=[snake(name) for name in names], repeated=True, **more)

    def choice(self, argument):
        """One of these must be given."""
        ways = argument["arguments"]
        word = [Piece("word", argument["token"])] if "token" in argument else []
        if all(way["type"] == "pure-token" for way in ways):
            choices = tuple(way["token"] for way in ways)
            return word + [Piece("value", parameter=self.add("mode", ["choice"], choices=choices))]
        values = [way for way in ways if "name" in way and "token" not in way]
        if len(values) == 1 and all(way["type"] == "pure-token" for way in ways if way is not values[0]):
            return word + [Piece("value", parameter=self.add(values[0]["name"], ["string"]))]  # or a word
        blocks = [way for way in ways if way["type"] == "block" and "token" in way]
        if blocks:
            return word + self.argument(blocks[-1])
        return word + [piece for way in ways for piece in self.option(way)]

    # --- options ------------------------------------------------------------------------------

    def option(self, argument, prefix=""):
        token, kind = argument.get("token", ""), argument["type"]
        name = prefix + snake(token or argument.get("name", ""))
        if kind == "pure-token":
            return [Piece("flag", token, self.add(name, ["flag"], optional=True))]
        if kind == "oneof":
            return self.optional_choice(argument, name, prefix)
        if argument.get("multiple"):
            parameter = self.repeated(argument, optional=True)
            return [Piece("each" if argument.get("repeats_token") else "option", token, parameter)]
        if kind == "block":
            return [Piece("block", token, pieces=self.block(argument, name + "_" if token else prefix))]
        return [Piece("option", token, self.add(name, [kind], optional=True))]

    def optional_choice(self, argument, name, prefix):
        ways = argument["arguments"]
        if "token" not in argument:
            return [piece for way in ways for piece in self.option(way, prefix)]
        if all(way["type"] == "pure-token" for way in ways):
            choices = tuple(way["token"] for way in ways)
            return [Piece("option", argument["token"], self.add(name, ["choice"], choices=choices, optional=True))]
        inner = [piece for way in ways for piece in self.option(way, name + "_")]
        return [Piece("block", argument["token"], pieces=inner)]

    def block(self, argument, prefix):
        """[A count B key [C]]: the options a, a_b and a_c."""
        inner, pieces, word = argument["arguments"], [], ""
        named = prefix.rstrip("_") if prefix and "token" in argument else ""
        if named and all(part.get("optional") for part in inner):
            pieces.append(Piece("flag", "", self.add(named, ["flag"], optional=True)))
        for part in inner:
            if part["type"] == "pure-token" and not part.get("optional"):
                word = part["token"]
                pieces.append(Piece("word", word))
                continue
            if part.get("optional") or part["type"] in ("oneof", "block") or part.get("multiple"):
                pieces += self.option(part, prefix)
                continue
            name = prefix + (word or part["name"]) if word or not named else named
            named, word = "", ""
            pieces.append(Piece("option", "", self.add(name, [part["type"]], optional=True)))
        return pieces


def needs_of(block):
    """The options of a block that must be given if one of them is."""
    return [inner.parameter for inner in block.pieces if inner.kind == "option" and inner.token == ""]


def options_of(piece):
    """Its parameter, and those of the pieces in it."""
    found = [piece.parameter] if piece.parameter is not None else []
    for inner in piece.pieces or []:
        found += options_of(inner)
    return found
