"""case: a program as text, with one line per step, as `a SET k "v w"` (connection a), `clock 5`, or
`carry key to` (see lockstep)."""
import re

ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def quoted(arg):
    if re.fullmatch(rb"[!#-\[\]-~]+", arg):
        return arg.decode()
    inside = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in arg)
    return f'"{inside}"'


def unquoted(match):
    if match[1] is None:
        return match[2].encode()
    text = re.sub(r"\\(x[0-9a-fA-F]{2}|.)",
                  lambda found: chr(int(found[1][1:], 16)) if len(found[1]) == 3
                  else ESCAPES.get(found[1], found[1]), match[1])
    return text.encode("latin-1")


def line_of(step):
    if step[0] == "clock":
        return f"clock {step[1]}"
    return " ".join([step[0], *map(quoted, step[1])])


def text_of(program):
    return "".join(line_of(step) + "\n" for step in program)


def program_of(text):
    steps = []
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        where, _, rest = line.partition(" ")
        if where == "clock":
            steps.append(("clock", int(rest), ()))
        else:
            steps.append((where, [unquoted(match) for match in WORD.finditer(rest)], ()))
    return steps
