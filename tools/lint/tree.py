#!/usr/bin/python3
"""Checks the source tree against the layers and the smells of doc/design.md.

Layers: which folder may include which, and no cycle among the includes, not even among files, each taken
together with its header. Parts: nobody includes the state header of another, or looks
inside the structs of a connection. Smells: what can be seen in one line. Python: each program compiles.
Prints file:line: what is wrong; exits with status 1 if it printed anything.

    tools/lint/tree.py           check
    tools/lint/tree.py --draw    print the table of folders that doc/design.md shows
"""
import collections
import pathlib
import re
import subprocess
import sys

FOLDERS = ("proto", "conf", "store", "server", "tests", "tools")
CODE = ("proto/", "conf/", "store/", "server/")
PAGE = "doc/design.md"

# The boxes of the picture in doc/design.md, each with its height. A folder may use folders of its own box and of
# lower boxes. A name that ends in / stands for the folder and all folders in it.
BOXES = (
    (0, "bottom", "store/base store/mem"),
    (1, "libraries", "proto/ conf/ server/base server/net/tls server/script/lua"),
    (1, "data", "store/"),
    (2, "files", "server/disk/ server/replica/stream"),
    (2, "commands", "server/cmd/"),
    (3, "engine", "server/engine/"),
    (3, "module", "server/module/"),
    (4, "connections", "server/net"),
    (4, "scripts", "server/script"),
    (5, "replicas", "server/replica"),
    (6, "administration", "server/admin/ server/http"),
    (7, "daemon", "server/daemon"),
)

# Single files that may include more than their folder.
EXCEPTIONS = (
    # main is the process that the daemon runs in.
    (r"server/main\.c", r"(server|proto|conf|store)/"),
    # The list of the groups of all types.
    (r"server/cmd/cmd\.c", r"server/cmd/"),
    # DUMP and RESTORE carry a payload in Redis' format.
    (r"server/cmd/key/dump\.c", r"server/disk/payload\.h"),
    (r"server/disk/payload\.c", r"proto/rdb/"),
)

# Headers that only some files may include, whatever their layer.
PRIVATE = {"store/txn/txn_internal.h": r"store/", "store/txn/txn_type.h": r"store/"}

# Tests and tools, as patterns of paths from the root. The first row that fits a file counts.
OTHERS = (
    (r"tests/unit/(?P<own>proto|conf|store)/", 
     r"(?P=own)/|store/(base|mem)/|tests/support/|tests/unit/(?P=own)/"),
    (r"tests/", r"tests/|server/|proto/|conf/|store/"),
    (r"tools/bench/deadlines\.c", r"store/"),
    (r"tools/(command_reference\.c|reference/)", r"tools/reference/|server/|store/"),
    (r"tools/(files/|expired-)",
     r"tools/files/|server/disk/(effect|format)/|server/base/version\.h|proto/|conf/|store/"),
    (r"tools/manual", r"tools/manual/|tools/files/usages\.h|server/base/version\.h|conf/"),
    (r"tools/", r"tools/(?!files/)|proto/|conf/|store/(base|mem)/"),
)

CLOCKS = r"\b(clock_gettime|gettimeofday|clock|time|timespec_get|ftime)\s*\("
SLEEPS = r"\b(sleep|usleep|nanosleep|clock_nanosleep)\s*\("

OUTSIDE = ("server/", "proto/", "conf/", "tools/")  # tests look inside

# (files, pattern, files in which it is allowed, message)
SMELLS = (
    (CODE, CLOCKS, r"server/base/clock\.c", "only server/base/clock.c reads a clock"),
    (CODE, r"event2/", r"server/base/loop\.c|server/http/.*",
     "only server/base/loop.c and server/http/ include libevent"),
    (CODE, r"\bloop_event_base\b", r"server/base/loop\.[ch]|server/http/.*",
     "only server/http/ needs libevent's loop"),
    (CODE, r"\bout(->|\.)version\s*[=!<>]=?\s*[23]\b(?!;)", r"proto/resp/resp_write\.c",
     "only proto/resp/resp_write.c tells RESP2 from RESP3"),
    (CODE, r"\bstruct server\b", None, "no struct server"),
    (("store/", "server/"), r"\b(now|until|next_due|expires_at|deadline)\s*[-+]\s*1\b",
     r"store/base/instant\.h", "a millisecond before or after is in store/base/instant.h"),
    (("store/",), r"\b(malloc|calloc|realloc|free|strdup)\s*\(", r"store/mem/(mem|shared)\.c",
     "only store/mem/mem.c and shared.c allocate"),
    (OUTSIDE, r"(?<!conf)(->|\.)databases\b|\bks(->|\.)dict\b", None,
     "struct database is private to store/; use store_database, keyspace_count ..."),
    (OUTSIDE, r"\btxn(->|\.)ks\s*=[^=]", None, "txn_call changes the database of a transaction"),
    (OUTSIDE, r"\b(keyspace_(init|drop|add|remove|replace|set_deadline|rearm|relocate)"
     r"|policies_(set|remove|drop|begin_pass)|access_(begin|note|set)"
     r"|(object|set|hash|zset)_widen|rewind_(note|entry|swapped)|reclaim_keyspace)\s*\(",
     None, "only store/ changes data this way; use a mutator of store/txn/txn.h"),
    (OUTSIDE, r"(->|\.)(accessed\s*[-+|]?=[^=]|policies\s*=[^=]|emptied|ruled_entry)", None,
     "only store/ writes this; use a mutator of store/txn/txn.h"),
    (FOLDERS, r"\bextern\b", r".*\.h", "no extern in a .c file"),
    (("tests/",), SLEEPS, r"tests/sim/kernel/calls_time\.c", "a test does not sleep"),
)
# The parts of a connection: nobody looks inside another's struct.
CONNECTION = "server/net/"
PARTS = ("transport", "requests", "limits", "input")

# The state header of a part is for the files whose names begin with the part's, and for these.
STATE_READERS = {
    "server/net/tls/tls_state.h": "server/net/tls/connection.c",
    "server/replica/replicas_state.h": "server/replica/replica_copies.c",
}

SCRIPT_SMELLS = (
    (r"\btime\.sleep\(|\basyncio\.sleep\(", "a test does not sleep"),
    (r"\bsetTimeout\(|timers/promises", "a test does not sleep"),
)
WIDEST = 30
DATA_FILES = r"(^|/)(appendonlydir|data|build)/|\.(aof|exp|rdb|o|so|a)$"

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# Comments and literals are not checked. Their newlines are kept for the line numbers.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


# ---- doors ----

def door_of(room):
    return f"{room}/{room.rpartition('/')[2]}.h"


def with_inner(names, rooms):
    """The folders that a list of names stands for."""
    found = set()
    for name in names.split():
        found |= {room for room in rooms if room + "/" == name or room == name
                  or name.endswith("/") and room.startswith(name)}
    return found


def read_doors():
    """What each folder of code is and which others it may include, as its door says:

    /* Folder store/mem: what it is. ... Start with mem.h.
     *
     * May use: store/base. */
    """
    rooms = {file.parent.as_posix() for folder in CODE for file in pathlib.Path(folder).rglob("*.[ch]")}
    rooms.discard("server")  # main.c
    whats, uses = {}, {}
    for room in sorted(rooms):
        door = pathlib.Path(door_of(room))
        text = door.read_text(encoding="utf-8") if door.is_file() else ""
        text = re.sub(r"\n \* ?", " ", text)
        opening = re.search(rf"Folder {room}: (.+?)(?=[:(;]|\.\s)(.*?)  May use: ([\w/ ]+)\.", text)
        if not opening or not re.search(r"Start (with|here)", opening.group(2)):
            complain(door, 1, f"says 'Folder {room}: what it is', where to start, and 'May use: folders.'")
            whats[room], uses[room] = "", {room}
            continue
        whats[room] = opening.group(1).strip()
        unknown = [name for name in opening.group(3).split() if not with_inner(name, rooms)]
        if unknown and opening.group(3) != "only libc":
            complain(door, 1, f"no folder {unknown[0]}")
        uses[room] = with_inner(opening.group(3), rooms) - {room} | {room}
    return whats, uses


WHATS, MAY = read_doors()


def box_of(room):
    """A folder belongs to the box that names it most exactly."""
    fitting = [(len(name), number) for number, (_, _, names) in enumerate(BOXES) for name in names.split()
               if room in with_inner(name, [room])]
    return max(fitting)[1] if fitting else None


def check_rooms():
    for room, others in MAY.items():
        box = box_of(room)
        if box is None:
            complain(door_of(room), 1, "belongs to no box of tools/lint/tree.py")
            continue
        for other in sorted(others):
            if box_of(other) not in (None, box) and BOXES[box_of(other)][0] >= BOXES[box][0]:
                complain(door_of(room), 1, f"{other} is not in a lower box")
    find_cycles({room: sorted(others - {room}) for room, others in MAY.items()})


def folder_of(path):
    return path.rpartition("/")[0]


def may_include(path, target):
    if target in PRIVATE and not re.match(PRIVATE[target], path):
        return False
    for own, others in EXCEPTIONS:
        if re.fullmatch(own, path) and re.match(others, target):
            return True
    if path.startswith(CODE):
        return folder_of(target) in MAY.get(folder_of(path), ())
    for own, others in OTHERS:
        match = re.match(own, path)
        if match:
            names = match.groupdict()
            pattern = others.replace("(?P=own)", names["own"]) if "own" in names else others
            return re.match(pattern, target) is not None
    return False


def draw():
    """The table of doc/design.md, the highest box first."""
    rows = ["| box | folder | what it is |", "|---|---|---|"]
    for number, (_, name, _) in reversed(tuple(enumerate(BOXES))):
        for room, what in sorted(WHATS.items()):
            if box_of(room) == number:
                rows.append(f"| {name} | [{room}](../{door_of(room)}) | {what} |")
                name = ""
    return "\n".join(rows)


def check_page():
    if draw() not in pathlib.Path(PAGE).read_text(encoding="utf-8"):
        complain(PAGE, 1, "the table of folders is not what tools/lint/tree.py --draw prints")


def without_noise(text):
    def blank(match):
        found = match.group()
        return '""' if found[0] in "\"'" else "\n" * found.count("\n")
    kept = []
    # Keep the names on #include lines, which look like literals.
    for part in re.split(r"(^\s*#\s*include[^\n]*$)", text, flags=re.M):
        kept.append(part if re.match(r"\s*#\s*include", part) else NOISE.sub(blank, part))
    return "".join(kept)


def includes_of(path, lines):
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if not pathlib.Path(target).is_file():
            complain(path, number, f'"{target}" is not a path from the root')
        elif not may_include(path, target):
            complain(path, number, f"{target} is not for this file to include")
        else:
            found.append(target)
    return found


def find_cycles(graph):
    state = {}

    def walk(node, trail):
        if state.get(node) == "done":
            return
        if node in trail:
            around = trail[trail.index(node):] + [node]
            complain(node, 1, "includes itself: " + " -> ".join(around))
            return
        for target in graph.get(node, ()):
            walk(target, trail + [node])
        state[node] = "done"

    for node in sorted(graph):
        walk(node, [])


# ---- parts ----

def part_of(path):
    """A header, its .c and its state header are one part."""
    return re.sub(r"(_state)?\.[ch]$", "", path)


def check_parts(graph):
    parts = {}
    for path, targets in graph.items():
        if not path.startswith(CODE):
            continue
        for target in targets:
            state = re.fullmatch(r"(.*)_state\.h", target)
            if state and not re.match(rf"{state[1]}(_\w+)?\.[ch]$", path) and STATE_READERS.get(target) != path \
                    and not is_public_state(target):
                complain(path, 1, f"{target} is the state of another part")
            if part_of(target) != part_of(path):
                parts.setdefault(part_of(path), set()).add(part_of(target))
    find_cycles({part: sorted(targets) for part, targets in parts.items()})


def is_public_state(target):
    """Headers of states that are an interface, not a struct."""
    return target == "server/cmd/call/session_state.h"


def check_connection(path, lines):
    if not path.startswith(CONNECTION):
        return
    own = path.removeprefix(CONNECTION).partition(".")[0]
    for number, line in enumerate(lines, 1):
        for part in PARTS:
            if part != own and re.search(rf"\b{part}->\w|(->|\.){part}\.\w", line):
                complain(path, number, f"only {part}.c and {part}.h look inside struct {part}")


# ---- names ----

STATIC = re.compile(r"^static\s+(?!inline)[\w\s*]*?\b(\w+)\(", re.M)


def check_names():
    """In one folder no two files define a static function of the same name, so that a search finds
    one."""
    homes = {}
    for folder in CODE:
        for file in sorted(pathlib.Path(folder).rglob("*.c")):
            path = file.as_posix()
            for name in set(STATIC.findall(without_noise(file.read_text(encoding="utf-8")))):
                homes.setdefault((folder_of(path), name), []).append(path)
    for (_, name), paths in sorted(homes.items()):
        if len(paths) > 1 and not name.startswith("cmd_"):
            complain(paths[1], 1, f"{name} is a static function of {paths[0]} as well")


# ---- smells ----

def find_smells(path, lines):
    for folders, pattern, allowed, wrong in SMELLS:
        if not path.startswith(folders) or (allowed and re.fullmatch(allowed, path)):
            continue
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line):
                complain(path, number, wrong)


def check_c():
    graph = {}
    for folder in FOLDERS:
        for file in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            path = file.as_posix()
            if "node_modules" in path:
                continue
            if path.startswith(CODE) and folder_of(path) not in MAY and path != "server/main.c":
                complain(path, 1, f"{folder_of(path)} has no door")
            lines = without_noise(file.read_text(encoding="utf-8")).split("\n")
            graph[path] = includes_of(path, lines)
            find_smells(path, lines)
            check_connection(path, lines)
    find_cycles(graph)
    check_parts(graph)


def check_folders():
    """A folder of tests that can be read at a glance."""
    paths = [path for path in tracked() if path.startswith("tests/")]
    for path in paths:
        if re.fullmatch(r"tests/(e2e|e2e/.*/.*|lib|(crash|sim)/.*)/test_[^/]*", path):
            complain(path, 1, "make does not run it: move it to a folder of tests/e2e/, to tests/crash/ or to tests/sim/")
    files = collections.Counter(path.rpartition("/")[0] for path in paths)
    for folder, count in files.items():
        if count > WIDEST:
            complain(folder, 1, f"{count} files; at most {WIDEST}: group them")


def check_scripts():
    for file in sorted(pathlib.Path("tests/e2e").glob("*/test_*")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            for pattern, wrong in SCRIPT_SMELLS:
                if re.search(pattern, line):
                    complain(file.as_posix(), number, wrong)


def check_makefile():
    lines = pathlib.Path("Makefile").read_text(encoding="utf-8").count("\n")
    if lines >= 270:
        complain("Makefile", lines, "under 270 lines")


def tracked():
    listed = subprocess.run(("git", "ls-files"), capture_output=True, text=True, check=False)
    return listed.stdout.split("\n")


def check_python():
    """Each Python program can be read by the Python that runs this check."""
    for name in tracked():
        file = pathlib.Path(name)
        if not file.is_file():
            continue
        with file.open("rb") as opened:
            first = opened.readline(80)
        if file.suffix != ".py" and not (first.startswith(b"#!") and b"python" in first):
            continue
        try:
            compile(file.read_bytes(), name, "exec")
        except SyntaxError as error:
            complain(name, error.lineno or 1, error.msg)


def check_tracked():
    """Files of data or build output have no place in the repository."""
    for path in tracked():
        if re.search(DATA_FILES, path) and not path.startswith("tests/kept/"):
            complain(path, 1, "looks like data or build output; remove it and ignore it")


if sys.argv[1:] == ["--draw"]:
    print(draw())
    sys.exit(0)
check_rooms()
check_page()
check_c()
check_names()
check_folders()
check_scripts()
check_makefile()
check_python()
check_tracked()
print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
sys.exit(1 if problems else 0)
