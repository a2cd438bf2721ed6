#!/usr/bin/python3 -B
"""tools/clients/generate: what it makes of rows, and that the files are what it makes of our rows."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, equal, main, test

CLIENTS = os.path.join(ROOT, "tools/clients")
REFERENCE = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools/command_reference")
sys.path.insert(1, os.path.join(CLIENTS, "generator"))
from arguments import Call
from replies import Replies


def value(name, kind="string", **more):
    return {"type": kind, "name": name, **more}


def word(token, **more):
    return {"type": "pure-token", "token": token, **more}


def group(kind, *arguments, **more):
    return {"type": kind, "arguments": list(arguments), **more}


def shown(pieces):
    """Pieces as text: WORD, name, #name for a length, name* for values, (...) for an option."""
    found = []
    for piece in pieces:
        name = piece.parameter.name if piece.parameter else ""
        found.append({
            "word": piece.token, "value": name, "length": "#" + name, "values": name + "*",
            "flag": f"({piece.token}?{name})", "option": f"({piece.token} {name})".replace("( ", "("),
            "each": f"({piece.token} {name})*", "block": "",
        }[piece.kind] or f"({' '.join([piece.token, shown(piece.pieces)]).strip()})")
    return " ".join(found)


def writes(wanted, *arguments):
    equal(shown(Call(list(arguments)).pieces), wanted)


# --- arguments -------------------------------------------------------------------------------------

@test
def values_words_and_options_become_parameters():
    writes("key seconds", value("key", "key"), value("seconds", "integer"))
    writes("key (COUNT count) (WITHIDS?withids)", value("key", "key"),
           value("n", "integer", token="COUNT", optional=True), word("WITHIDS", optional=True))
    writes("(unit)", value("unit", optional=True))
    writes("(NX?nx) (EX ex) (TO-KEY to_key)", group("oneof", word("NX"), value("s", token="EX"), optional=True),
           value("k", token="TO-KEY", optional=True))
    writes("(=?equal) (~?approximately)", group("oneof", word("="), word("~"), optional=True))


@test
def the_length_of_what_follows_is_counted():
    field = value("field", multiple=True)
    writes("FIELDS #fields fields*", word("FIELDS"), value("numfields", "integer"), field)
    writes("#items items*", value("numkeys", "integer"), group("block", value("key", "key"), value("v"), multiple=True))
    writes("numreplicas timeout", value("numreplicas", "integer"), value("timeout", "double"))


@test
def a_choice_that_must_be_made_is_a_parameter_or_options():
    writes("mode", group("oneof", word("FAIL"), word("FATAL")))
    writes("id", group("oneof", word("*"), value("id")))
    writes("(EX ex) (PX px)", group("oneof", value("s", token="EX"), value("ms", token="PX")))
    short = group("block", value("seconds", "integer"), value("member", multiple=True))
    named = group("block", value("nummembers", "integer"), value("member", multiple=True), token="MEMBERS")
    writes("MEMBERS #members members*", group("oneof", short, named))


@test
def an_option_of_several_parts_becomes_several_options():
    writes("(DEAD (dead) TO (dead_to))", group("block", value("count"), word("TO"), value("key"), token="DEAD",
                                               optional=True))
    inner = group("block", value("bytes", token="MAX", optional=True), token="VALUE", optional=True)
    writes("(LOG TO (log_to) (VALUE (?log_value) (MAX log_value_max)))",
           group("block", word("TO"), value("key"), inner, token="LOG", optional=True))
    writes("(LIMIT (limit) (limit_count))",
           group("block", value("offset"), value("count"), token="LIMIT", optional=True))


@test
def repeated_options_and_equal_names_are_told_apart():
    writes("(PREFIX prefixes)*", value("prefix", token="PREFIX", optional=True, multiple=True,
                                       repeats_token=True))
    writes("keys* args*", value("key", "key", multiple=True), value("arg", multiple=True))
    writes("items* items2*", *(group("block", value("a"), value("b"), multiple=True) for _ in range(2)))
    writes("words*", group("block", word("GET"), value("offset"), multiple=True))
    writes("from_ (IN in_)", value("from"), value("x", token="IN", optional=True))


# --- replies ---------------------------------------------------------------------------------------

BULK, INTEGER, NULL = ("bulk",), ("integer",), ("null",)


def reads(wanted, *declared):
    equal(Replies(declared).always, wanted)


@test
def forms_become_trees():
    reads(BULK, "bulk: it")
    reads(("union", BULK, NULL), "bulk: it", "null: none", "null-array: the timeout was reached")
    reads(("list", ("tuple", BULK, INTEGER)), "[[bulk integer] ...]: pairs")
    reads(("tuple", BULK, ("rows", BULK, BULK)), "[bulk [bulk bulk ...]]: a page")
    reads(("map", BULK, ("union", INTEGER, NULL)), "map[bulk integer|null ...]: all")
    reads(("record", "a b", INTEGER, "c", ("list", BULK)), "map['a b' integer 'c' [bulk ...]]: figures")
    reads(("list", ("union", ("text", "x"), ("text", "y"))), "['x'|'y' ...]: kinds")
    reads(("text", "OK"), "OK: done")


@test
def a_reply_that_differs_by_protocol_is_that_of_resp3():
    reads(("rows", BULK, ("double",)), "RESP2 [bulk bulk ...]: flat", "RESP3 [[bulk double] ...]: pairs")


@test
def a_reply_that_depends_on_an_option_is_known_by_it():
    replies = Replies(["[bulk ...]: all", "[[bulk bulk] ...]: with WITHIDS: pairs", "null: none"])
    equal(replies.plain, ("union", ("list", BULK), NULL))
    equal(replies.under, {"WITHIDS": ("union", ("list", ("tuple", BULK, BULK)), NULL)})


@test
def an_unknown_form_is_refused():
    for form in ("bulks: it", "[bulk: it", "(bulk): it"):
        try:
            Replies([form])
        except AssertionError:
            continue
        raise AssertionError(f"{form} was read")


# --- the files -------------------------------------------------------------------------------------

def rows():
    return subprocess.run([REFERENCE, "--json"], capture_output=True, text=True, check=True).stdout


def check(text):
    done = subprocess.run([os.path.join(CLIENTS, "generate"), "--check"], input=text, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout


@test
def the_files_are_those_of_the_rows():
    equal(check(rows()), (0, ""))


@test
def every_row_could_be_a_function():
    """Those of Redis too: rows to come may have any syntax and any form that a row has now."""
    loader = importlib.machinery.SourceFileLoader("generate", os.path.join(CLIENTS, "generate"))
    generate = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))
    loader.exec_module(generate)
    commands = [generate.command_of(json.loads(row)) for row in rows().splitlines()]
    assert len(commands) > 400, len(commands)
    for name, text in generate.python.files(commands).items():
        compile(text, name, "exec")
    code = generate.node.files(commands)["node/commands.js"]
    equal(code.count("        reply: "), len(commands))


@test
def a_new_row_changes_every_file():
    row = {"name": "NEW.ONE", "group": "string", "redis_7_0": False, "syntax": "key", "summary": "Is new.",
           "readonly": True, "replies": ["integer: 1"], "arguments": [value("key", "key")]}
    status, changes = check(rows() + json.dumps(row) + "\n")
    equal(status, 1)
    for line in ("    def new_one(self, key: KeyT) -> int:", "    def new_one(self, key: KeyT) -> Awaitable[int]:",
                 '    "NEW.ONE": _s.INTEGER,', "    newOne: {", "    newOne(key: Key): Promise<number>;"):
        assert "+" + line in changes.splitlines(), (line, changes)


@test
def a_row_that_can_t_be_read_is_named():
    row = {"name": "NEW.ONE", "group": "string", "redis_7_0": False, "replies": ["number: 1"], "arguments": []}
    done = subprocess.run([os.path.join(CLIENTS, "generate"), "--check"], input=json.dumps(row), capture_output=True,
                          text=True, check=False)
    equal((done.returncode, done.stderr),
          (1, "tools/clients/generate: NEW.ONE: an unknown word in a form: number\n"))


@test
def a_record_may_hold_lists():
    row = {"name": "NEW.INFO", "group": "string", "redis_7_0": False, "syntax": "", "summary": "Is new.",
           "readonly": True, "arguments": [],
           "replies": ["map['held' integer|null 'holders' [[bulk integer] ...]]: figures"]}
    _, changes = check(rows() + json.dumps(row) + "\n")
    for line in ('NewInfoReply = TypedDict("NewInfoReply", {', '    "held": "int | None",',
                 '    "holders": "list[tuple[Bulk, int]]",', "    def new_info(self) -> NewInfoReply:",
                 "    newInfo(): Promise<{ 'held': number | null; 'holders': Array<readonly [T, number]> }>;"):
        assert "+" + line in changes.splitlines(), (line, changes)


main()
