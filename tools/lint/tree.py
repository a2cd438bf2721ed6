#!/usr/bin/python3
"""Checks the source tree against the layers and the smells of doc/design.md.

Layers: who may include whom, and no cycle among the includes. Smells: what can be seen in one line.
Prints file:line: what is wrong; ends with status 1 when there was anything to print.
"""
import pathlib
import re
import sys

FOLDERS = ("proto", "conf", "rdb", "store", "server", "tests", "tools")
CODE = ("proto/", "conf/", "rdb/", "store/", "server/")

# Who may include what, as patterns of paths from the root. The first row that fits a file counts.
# main is the wiring: it alone knows the commands and everything else.
LAYERS = (
    (r"proto/", r"proto/"),
    (r"conf/", r"conf/"),
    (r"rdb/", r"rdb/"),
    (r"store/", r"store/"),
    (r"server/cmd/", r"server/(call|args|error|command|payload)\.h|server/cmd/|proto/(resp_write|number)\.h|store/"),
    (r"server/admin/", r"server/(?!cmd/|main)|proto/|conf/|store/"),
    (r"server/main\.c", r"server/|proto/|conf/|store/"),
    (r"server/(rdb_object|payload|persist/import\w*)\.", r"server/(?!cmd/|admin/|main)|proto/|conf/|rdb/|store/"),
    (r"server/", r"server/(?!cmd/|admin/|main)|proto/|conf/|store/"),
    (r"tests/unit/(?P<own>proto|conf|rdb|store)/", r"(?P=own)/|tests/support/|tests/unit/(?P=own)/"),
    (r"tests/", r"tests/|server/|proto/|conf/|rdb/|store/"),
    (r"tools/bench/deadlines\.c", r"store/"),
    (r"tools/(files/|expired-)", r"tools/files/|server/persist/|proto/|conf/|store/"),
    (r"tools/", r"tools/(?!files/)|proto/|conf/"),
)

CLOCKS = r"\b(clock_gettime|gettimeofday|clock|time|timespec_get|ftime)\s*\("
SLEEPS = r"\b(sleep|usleep|nanosleep|clock_nanosleep)\s*\("

# (files, pattern, files it is allowed in, what is wrong)
SMELLS = (
    (CODE, CLOCKS, r"server/clock\.c", "only server/clock.c reads a clock"),
    (CODE, r"event2/", r"server/loop\.c", "only server/loop.c knows libevent"),
    (CODE, r"\bout(->|\.)version\s*[=!<>]=?\s*[23]\b(?!;)", r"proto/resp_write\.c",
     "only proto/resp_write.c tells RESP2 from RESP3"),
    (CODE, r"\bstruct server\b", None, "no struct server"),
    (("store/",), r"\b(malloc|calloc|realloc|free|strdup)\s*\(", r"store/mem\.c",
     "only store/mem.c allocates"),
    (FOLDERS, r"\bextern\b", r".*\.h", "no extern in a .c file"),
    (("tests/",), SLEEPS, None, "a test does not sleep"),
)
SCRIPT_SMELLS = (
    (r"\btime\.sleep\(|\basyncio\.sleep\(", "a test does not sleep"),
    (r"\bsetTimeout\(|timers/promises", "a test does not sleep"),
)

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# Comments and literals, which may say anything. Newlines inside are kept for the line numbers.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def without_noise(text):
    def blank(match):
        found = match.group()
        return '""' if found[0] in "\"'" else "\n" * found.count("\n")
    kept = []
    # An include's name is no noise: hide only what is not on an #include line.
    for part in re.split(r"(^\s*#\s*include[^\n]*$)", text, flags=re.M):
        kept.append(part if re.match(r"\s*#\s*include", part) else NOISE.sub(blank, part))
    return "".join(kept)


def layer_of(path):
    for own, others in LAYERS:
        match = re.match(own, path)
        if match:
            names = match.groupdict()
            return others.replace("(?P=own)", names["own"]) if "own" in names else others
    return None


def includes_of(path, lines):
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if not pathlib.Path(target).is_file():
            complain(path, number, f'"{target}" is not a path from the root')
        elif not re.match(layer_of(path), target):
            complain(path, number, f"{target} is beyond this file's layer")
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
            lines = without_noise(file.read_text(encoding="utf-8")).split("\n")
            graph[path] = includes_of(path, lines)
            find_smells(path, lines)
    find_cycles(graph)


def check_scripts():
    for file in sorted(pathlib.Path("tests/e2e").glob("test_*")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            for pattern, wrong in SCRIPT_SMELLS:
                if re.search(pattern, line):
                    complain(file.as_posix(), number, wrong)


def check_makefile():
    lines = pathlib.Path("Makefile").read_text(encoding="utf-8").count("\n")
    if lines >= 230:
        complain("Makefile", lines, "under 230 lines")


check_c()
check_scripts()
check_makefile()
print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
sys.exit(1 if problems else 0)
