"""python: the commands as methods for redis-py, in a class for redis.Redis and one for redis.asyncio.Redis."""
import textwrap

from arguments import needs_of, options_of

TYPES = {"key": "KeyT", "integer": "int", "double": "float", "unix-time": "int", "flag": "bool"}
ARGUMENT = "EncodableT"
WIDTH = 100
HEAD = '''"""{title}

Made from the command table by make reference.
"""
from __future__ import annotations

from typing import {typing}

from redis.typing import EncodableT, KeyT

'''
HELPERS = '''from .arguments import block as _block
from .arguments import each as _each
from .arguments import flag as _flag
from .arguments import flat as _flat
from .arguments import option as _option
from .arguments import seconds as _seconds
from .once import Once
from .shapes import Bulk
'''


def type_of(parameter):
    if parameter.choices:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in parameter.choices) + "]"
    found = [TYPES.get(kind, ARGUMENT) for kind in parameter.types]
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]"


# ---- replies -------------------------------------------------------------------------------------

def reply_type(tree, record):
    kind, *inside = tree
    if kind == "record":
        return record
    if kind == "text":
        return "bool" if inside == ["OK"] else "str"
    simple = {"bulk": "Bulk", "integer": "int", "double": "float", "simple": "str", "null": "None", "any": "Any"}
    if kind in simple:
        return simple[kind]
    parts = [reply_type(part, record) for part in inside]
    if kind == "union":
        return " | ".join(dict.fromkeys(parts))
    if kind == "rows":
        return f"list[tuple[{', '.join(parts)}]]"
    if kind == "tuple" and not parts:
        return "tuple[()]"
    return {"list": "list", "tuple": "tuple", "map": "dict"}[kind] + f"[{', '.join(parts)}]"


def shape(tree):
    """The expression that makes the reader of a reply."""
    kind, *inside = tree
    if kind == "record":
        fields = ", ".join(f'"{name}": {shape(part)}' for name, part in zip(inside[::2], inside[1::2]))
        return f"_s.Record({{{fields}}})"
    if kind == "text":
        return "_s.OK" if inside == ["OK"] else f'_s.Text("{inside[0]}")'
    if not inside and kind != "tuple":
        return "_s." + kind.upper()
    name = {"list": "List", "tuple": "Tuple", "rows": "Rows", "map": "Map", "union": "OneOf"}[kind]
    return f"_s.{name}({', '.join(map(shape, inside))})"


def record_name(command):
    return command.name.replace(".", " ").title().replace(" ", "").replace("-", "") + "Reply"


def record_of(tree):
    if tree[0] == "record":
        return tree
    return next((found for part in tree[1:] if isinstance(part, tuple) and (found := record_of(part))), None)


def record_types(commands):
    """The reply's fields, which may have names that Python's syntax does not allow."""
    for command in commands:
        tree = record_of(command.replies.always)
        if tree is None:
            continue
        name = record_name(command)
        yield f'{name} = TypedDict("{name}", {{'
        for field, part in zip(tree[1::2], tree[2::2]):
            yield f'    "{field}": "{reply_type(part, "dict")}",'
        yield "})"


# ---- calls ---------------------------------------------------------------------------------------

def written(piece):
    """The part of the call's arguments that a piece stands for."""
    parameter = piece.parameter
    if piece.kind == "word":
        return f'"{piece.token}"'
    if piece.kind == "value":
        return parameter.name
    if piece.kind == "length":
        return f"len({parameter.name} or ())" if parameter.optional else f"len({parameter.name})"
    if piece.kind == "values":
        return f"*{parameter.name}" if len(parameter.types) == 1 else f"*_flat({parameter.name})"
    if piece.kind == "each":
        return f'*_each("{piece.token}", {parameter.name})'
    if piece.kind == "flag":
        return f'*_flag("{piece.token}", {parameter.name})'
    token = f'"{piece.token}", ' if piece.token else ""
    if piece.kind == "option":
        if parameter.repeated:
            return f"*_option({token}*_flat({parameter.name}))"
        return f"*_option({token}{parameter.name})"
    return written_block(piece, token)


def written_block(piece, token):
    others, inside = [], []
    for inner in piece.pieces:
        if inner.kind == "flag" and inner.token == "":  # the block itself
            others.append(inner.parameter.name)
        elif inner.kind == "option" and inner.token == "":
            inside.append(inner.parameter.name)
        else:
            inside.append(written(inner))
            others += [parameter.name for parameter in options_of(inner)]
    needed, others = ("{" + ", ".join(f'"{name}": {name}' for name in names) + "}" for names in (
        [parameter.name for parameter in needs_of(piece)], others))
    return f"*_block({needed}, {others}, {token}{', '.join(inside)})"


def signature(command, of_options, returns, indent="    "):
    """def name(self, ...) -> ..., in lines of bounded length."""
    must = [parameter for parameter in command.parameters if not parameter.optional]
    rest = must[-1] if must and must[-1].repeated and not any(one.repeated for one in must[:-1]) else None
    words = ["self"]
    for parameter in must:
        hint = type_of(parameter)
        if parameter is rest:
            words.append(f"*{parameter.name}: {hint}")
        elif parameter.repeated:
            words.append(f"{parameter.name}: Sequence[{hint}]")
        else:
            words.append(f"{parameter.name}: {hint}")
    options = [of_options(parameter) for parameter in command.parameters if parameter.optional]
    if options and rest is None:
        words.append("*")
    line = f"{indent}def {command.method}({', '.join(words + options)}) -> {returns}:"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{indent}def {command.method}(", *packed(words + options, indent + "    "),
                      f"{indent}) -> {returns}:"])


def wrapped(line, indent):
    return textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=indent + "    ",
                         break_on_hyphens=False, break_long_words=False)


def packed(words, indent):
    """The words with commas, in lines of bounded length."""
    lines = [indent + words[0] + ","]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 2 <= WIDTH:
            lines[-1] += f" {word},"
        else:
            lines.append(indent + word + ",")
    return lines


def option_hint(parameter):
    hint = type_of(parameter)
    if parameter.types == ["flag"]:
        return f"{parameter.name}: bool = False"
    return f"{parameter.name}: {f'Sequence[{hint}]' if parameter.repeated else hint} | None = None"


def overloads(command, reply):
    """A reply that depends on an option has a signature with the option, one without, and one for both."""
    names = {option.lower().replace("-", "_"): tree for option, tree in command.replies.under.items()}
    known = {parameter.name for parameter in command.parameters}
    names = {name: tree for name, tree in names.items() if name in known}
    if not names:
        return
    ways = [(None, command.replies.plain), *names.items()]
    for chosen, tree in ways:
        def hint(parameter, chosen=chosen):
            if parameter.name not in names:
                return option_hint(parameter)
            is_flag = parameter.types == ["flag"]
            if parameter.name == chosen:
                return f"{parameter.name}: {'Literal[True]' if is_flag else type_of(parameter)}"
            return f"{parameter.name}: {'Literal[False] = False' if is_flag else 'None = None'}"
        yield "    @overload\n" + signature(command, hint, reply(tree)) + " ...\n"
    yield "    @overload\n" + signature(command, option_hint, reply(command.replies.always)) + " ...\n"


def docstring(command):
    lines = textwrap.wrap(command.summary, WIDTH - 11)
    lines += ["", f"``{command.usage}``" if len(command.usage) < WIDTH - 16 else "::"]
    if lines[-1] == "::":
        lines += ["", *(f"    {line}" for line in textwrap.wrap(command.usage, WIDTH - 16))]
    lines.append("")
    for reply in command.declared:
        lines += textwrap.wrap(f"- ``{reply.partition(':')[0]}``:{reply.partition(':')[2]}", WIDTH - 8,
                               subsequent_indent="  ", break_on_hyphens=False)
    return ['        """' + lines[0], *(f"        {line}".rstrip() for line in lines[1:]), '        """']


def wait(command):
    """The seconds for which the server may wait: 0 for ever, None if it does not."""
    if command.wait is None:
        return "None"
    return command.wait.parameter if command.wait.unit == 1 else f"_seconds({command.wait.parameter})"


def body(command):
    words = [f'"{command.name}"'] + [written(piece) for piece in command.pieces]
    call = "execute_command"
    if command.takes:
        words, call = [wait(command), *words], "execute_once"
    line = f"        return self.{call}({', '.join(words)})"
    if len(line) <= WIDTH:
        return [line]
    lines = [line for word in words for line in wrapped(word + ",", "            ")]
    return [f"        return self.{call}(", *lines, "        )"]


def methods(commands, reply_in):
    for command in commands:
        def reply(tree, command=command):
            return reply_in.format(reply_type(tree, record_name(command)))
        yield "\n".join([*overloads(command, reply),
                         signature(command, option_hint, reply(command.replies.always)), *docstring(command),
                         *body(command)]) + "\n"


def module(commands, title, name, about, reply_in):
    text = "".join(methods(commands, reply_in))
    words = ["Awaitable", "Literal", "Sequence", "overload"]
    typing = ", ".join(["Any", *(word for word in words if word in text)])
    helpers = "".join(line + "\n" for line in HELPERS.splitlines() if line.split()[-1] in text + " Once")
    records = [record_name(command) for command in commands if record_of(command.replies.always)]
    names = f"from .replies import (\n{chr(10).join(packed(records, '    '))}\n)\n" if records else ""
    parts = [HEAD.format(title=title, typing=typing), helpers.replace("from .shapes", names + "from .shapes")]
    parts.append(f'\n\nclass {name}(Once):\n    """{about}"""\n\n')
    return "".join(parts) + "\n".join(methods(commands, reply_in))


def replies_module(commands):
    lines = ['"""Replies with named fields, and how each command\'s reply is read.', "",
             "Made from the command table by make reference.", '"""', "from typing import Any, TypedDict", "",
             "from . import shapes as _s", "from .shapes import Bulk", "", *record_types(commands), "", "SHAPES = {"]
    for command in commands:
        lines += wrapped(f'"{command.name}": {shape(command.replies.always)},', "    ")
    return "\n".join([*lines, "}", ""])


def files(commands):
    return {
        "python/expired/commands.py": module(
            commands, "The commands beyond those of Redis 7.0, for redis.Redis.", "Commands",
            "Methods for a class that has execute_command. In a pipeline they return the pipeline.", "{}"),
        "python/expired/async_commands.py": module(
            commands, "The commands beyond those of Redis 7.0, for redis.asyncio.Redis.", "AsyncCommands",
            "Like expired.commands.Commands, for a client whose execute_command is awaited.", "Awaitable[{}]"),
        "python/expired/replies.py": replies_module(commands),
    }
