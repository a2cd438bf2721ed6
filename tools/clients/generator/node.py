"""node: the commands as functions for node-redis and ioredis (commands.js), and their types (commands.d.ts)."""
import textwrap

from arguments import needs_of, options_of

TYPES = {"key": "Key", "integer": "number", "double": "number", "unix-time": "number", "flag": "boolean"}
WIDTH = 100
MADE = "// Made from the command table by make reference.\n"
FUNCTIONS = {"list": "list", "tuple": "tuple", "rows": "rows", "map": "map", "union": "oneOf"}


def camel(name):
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest) + ("_" if name.endswith("_") else "")


# ---- types ---------------------------------------------------------------------------------------

def type_of(parameter):
    if parameter.choices:
        return " | ".join(f"'{choice}'" for choice in parameter.choices)
    found = [TYPES.get(kind, "Argument") for kind in parameter.types]
    if not parameter.repeated:
        return found[0]
    if len(found) == 1:
        return f"{found[0]} | readonly {found[0]}[]"
    parts = ", ".join(f"{camel(name)}: {hint}" for name, hint in zip(parameter.parts, found))
    return f"readonly (readonly [{parts}])[]"


def reply_type(tree):
    kind, *inside = tree
    simple = {"bulk": "T", "integer": "number", "double": "number", "simple": "string", "null": "null",
              "any": "unknown"}
    if kind in simple:
        return simple[kind]
    if kind == "text":
        return f"'{inside[0]}'"
    if kind == "record":
        fields = (f"'{name}': {reply_type(part)}" for name, part in zip(inside[::2], inside[1::2]))
        return f"{{ {'; '.join(fields)} }}"
    parts = [reply_type(part) for part in inside]
    if kind == "union":
        return " | ".join(dict.fromkeys(parts))
    if kind == "tuple":
        return f"readonly [{', '.join(parts)}]"
    if kind == "rows":
        return f"Array<readonly [{', '.join(parts)}]>"
    return f"{{ [name: string]: {parts[1]} }}" if kind == "map" else f"Array<{parts[0]}>"


def comment(command):
    lines = textwrap.wrap(command.summary, WIDTH - 7)
    usage = textwrap.wrap(command.usage, WIDTH - 11, break_on_hyphens=False)
    lines += ["", *(f"    {line}" for line in usage), ""]
    for reply in command.declared:
        form, _, when = reply.partition(":")
        lines += textwrap.wrap(f"- `{form}`:{when}", WIDTH - 7, subsequent_indent="  ", break_on_hyphens=False)
    return ["    /**", *(f"     * {line}".rstrip() for line in lines), "     */"]


def signature(command, chosen, tree):
    words = [f"{camel(one.name)}: {type_of(one)}" for one in command.parameters if not one.optional]
    options = []
    for one in command.parameters:
        if one.optional:
            must, hint = chosen.get(one.name, (False, type_of(one)))
            options.append(f"{camel(one.name)}{'' if must else '?'}: {hint}")
    if options:
        must = any(must for must, _ in chosen.values())
        words.append(f"options{'' if must else '?'}: {{ {'; '.join(options)} }}")
    line = f"    {camel(command.method)}({', '.join(words)}): Promise<{reply_type(tree)}>;"
    if len(line) <= WIDTH:
        return [line]
    lines = [line for word in words for line in ([f"        {word},"] if len(word) < WIDTH - 9 else
                                                 [*spread(word, options), "        },"])]
    return [f"    {camel(command.method)}(", *lines, f"    ): Promise<{reply_type(tree)}>;"]


def spread(word, options):
    """The options, each on a line."""
    return [f"        {word.partition('{')[0]}{{", *(f"            {option};" for option in options)]


def signatures(command):
    """The last one is what remains of them in a mapped type, so it is the general one."""
    dependent = {option.lower(): tree for option, tree in command.replies.under.items()}
    dependent = {one.name: dependent[one.name] for one in command.parameters if one.name in dependent}
    if dependent:
        types = {one.name: ("true", "false") if one.types == ["flag"] else (type_of(one), "undefined")
                 for one in command.parameters}
        without = {name: (False, types[name][1]) for name in dependent}
        yield from signature(command, without, command.replies.plain)
        for name, tree in dependent.items():
            yield from signature(command, {**without, name: (True, types[name][0])}, tree)
    yield from signature(command, {}, command.replies.always)


def declarations(commands):
    lines = [MADE, "export type Key = string | Buffer;", "export type Argument = string | Buffer | number;", "",
             "/** The methods; T is the type of strings in replies. */", "export interface Commands<T> {"]
    for command in commands:
        lines += [*comment(command), *signatures(command)]
    return "\n".join([*lines, "}", ""])


# ---- code ----------------------------------------------------------------------------------------

def shape(tree):
    kind, *inside = tree
    if kind == "record":
        fields = ", ".join(f"'{name}': {shape(part)}" for name, part in zip(inside[::2], inside[1::2]))
        return f"record({{ {fields} }})"
    if kind == "text":
        return f"text('{inside[0]}')"
    if not inside and kind != "tuple":
        return "nothing" if kind == "null" else kind
    return f"{FUNCTIONS[kind]}({', '.join(map(shape, inside))})"


def place(parameter):
    return f"options.{camel(parameter.name)}" if parameter.optional else camel(parameter.name)


def written(piece):
    """The statements that write a piece."""
    parameter, token = piece.parameter, f"'{piece.token}'"
    if piece.kind == "word":
        return [f"to.token({token});"]
    if piece.kind == "block":
        return written_block(piece)
    value = place(parameter)
    if piece.kind == "value":
        return [f"to.{'key' if parameter.types == ['key'] else 'value'}({value});"]
    if piece.kind == "length":
        return [f"to.length({value});"]
    if piece.kind == "values" and len(parameter.types) > 1:
        kinds = ", ".join(f"'{'key' if kind == 'key' else 'value'}'" for kind in parameter.types)
        return [f"to.tuples({value}, {kinds});"]
    if piece.kind == "values":
        return [f"to.{'keys' if parameter.types == ['key'] else 'values'}({value});"]
    return [f"to.{piece.kind}({token}, {value});"]


def written_block(piece):
    inside = [f"to.token('{piece.token}');"] if piece.token else []
    for inner in piece.pieces:
        if inner.kind == "flag" and inner.token == "":
            continue
        inside += [f"to.value({place(inner.parameter)});"] if inner.kind == "option" and inner.token == "" \
            else written(inner)
    needed = needs_of(piece)
    others = [parameter for parameter in options_of(piece) if parameter not in needed]
    names = ", ".join("[" + ", ".join(f"'{camel(one.name)}'" for one in found) + "]" for found in (needed, others))
    return [f"to.block(options, {names}, () => {{", *(f"    {line}" for line in inside), "});"]


def wait(command, values):
    """The milliseconds for which the server may wait: 0 for ever, undefined if it does not."""
    if command.wait is None:
        return ["        takes: true,"]
    name = camel(command.wait.parameter)
    if name in values:
        words, found = ", ".join(values[:values.index(name) + 1]), name
    else:
        words, found = ", ".join([*values, "options = {}"]), f"(options.{name} ?? NaN)"
    found = f"{found} * 1000" if command.wait.unit == 1 else found
    return ["        takes: true,", f"        wait: ({words}) => {found},"]


def code(commands):
    shapes = {command.method: shape(command.replies.always) for command in commands}
    used = [name for name in ("any", "bulk", "double", "integer", "list", "map", "nothing", "oneOf", "record",
                              "rows", "simple", "text", "tuple")
            if any(name in found for found in shapes.values())]
    lines = [MADE + f"import {{\n    {', '.join(used)},\n}} from './shapes.js';", "", "export const commands = {"]
    for command in commands:
        values = [camel(one.name) for one in command.parameters if not one.optional]
        options = [camel(one.name) for one in command.parameters if one.optional]
        words = ["to", *values, *(["options = {}"] if options else [])]
        statements = [line for piece in command.pieces for line in written(piece)]
        lines += [f"    {camel(command.method)}: {{", f"        name: '{command.name}',",
                  f"        readonly: {str(command.readonly).lower()},", f"        values: {len(values)},"]
        if options:
            lines += textwrap.wrap(f"options: [{', '.join(map(repr, options))}],", WIDTH, initial_indent=" " * 8,
                                   subsequent_indent=" " * 12)
        if statements:
            lines += [f"        write({', '.join(words)}) {{", *(f"            {line}" for line in statements),
                      "        },"]
        else:
            lines.append("        write() {},")
        if command.takes:
            lines += wait(command, values)
        lines += [f"        reply: {shapes[command.method]},", "    },"]
    return "\n".join([*lines, "};", ""])


def files(commands):
    return {"node/commands.js": code(commands), "node/commands.d.ts": declarations(commands)}
