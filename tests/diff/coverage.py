"""coverage: checks that the table has every command and option, and that programs exercised each."""
import resp
from table import EXCLUDED, WORDS_ELSEWHERE


def problems(rows, pair, ours, theirs):
    """What both servers have and the table lacks."""
    known = {row.name for row in rows}
    shared = ours & theirs
    containers = {name.partition("|")[0] for name in shared if "|" in name}
    found = [f"table.py lacks {name}" for name in sorted(shared - known - containers)
             if name not in EXCLUDED and not name.endswith("|HELP")]
    options = {}
    for row in rows:
        options.setdefault(row.name, set()).update(row.options())
    documented = documented_words(pair)
    for name in sorted(known & shared):
        lacks = documented.get(name, set()) - options[name]
        if lacks and name not in WORDS_ELSEWHERE:
            found.append(f"table.py lacks options of {name}: " + " ".join(sorted(lacks)))
    return found


def documented_words(pair):
    """{name: words of the syntax}, from the oracle's COMMAND DOCS."""
    connection = pair.theirs.connection("docs")
    reply = resp.value_of(connection.call(b"COMMAND", b"DOCS"))[0]
    found = {}

    def walk(pairs):
        for key, value in zip(pairs[::2], pairs[1::2]):
            name = key[1].decode().upper()
            doc = as_dict(value)
            found[name] = set(words_of(doc.get(b"arguments", (b"*", []))[1]))
            walk(doc.get(b"subcommands", (b"*", []))[1])
    walk(reply[1])
    return found


def as_dict(value):
    return {key[1]: item for key, item in zip(value[1][::2], value[1][1::2])}


def words_of(arguments):
    for argument in arguments:
        fields = as_dict(argument)
        if b"token" in fields:
            yield from fields[b"token"][1].decode().upper().split()
        yield from words_of(fields.get(b"arguments", (b"*", []))[1])


def is_answer(kind):
    """An answer to the command itself: no error, and not just its place in a queue."""
    return kind != "+QUEUED" and not kind.startswith("-")


def summary(rows, seen):
    """The lines that say how much of the table was exercised."""
    answered = {(name, option) for name, option, kind in seen if is_answer(kind)}
    refused = {name for name, _, kind in seen if kind.startswith("-")}
    names = sorted({row.name for row in rows})
    options = sorted({(row.name, option) for row in rows for option in row.options()})
    done = [name for name in names if (name, "") in answered]
    done_options = [pair for pair in options if pair in answered]
    lines = [f"coverage: {len(done)} of {len(names)} commands and {len(done_options)} of "
             f"{len(options)} options answered, {len(set(names) & refused)} commands refused, "
             f"{len(seen)} classes of replies, {sum(n for k, n in seen.items() if not k[1])} replies"]
    never = sorted(set(names) - set(done))
    if never:
        lines.append("never answered: " + " ".join(never))
    never = [f"{name} {option}" for name, option in options if (name, option) not in answered]
    if never:
        lines.append("options never answered: " + ", ".join(never))
    return "\n".join(lines)
