#!/usr/bin/python3 -B
"""Finds names of files that do not exist: in pages, in comments of sources and in lists of tests.

A name that begins with a folder must be a path from the root or from the file's own folder; the end of a path is
enough for a source. In comments, and between `...` outside of a page's programs, the bare name of a source or a test
must be that of some file. "Redis' rdb.h" is a file of another program.
Prints file:line: the name; exits with status 1 if it printed anything.

    tools/lint/paths.py            checks all files that git lists
    tools/lint/paths.py FILE...    checks these
"""
import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# Not ours, or made to look like the files of another place.
FOREIGN = re.compile(r"tests/kept/|tests/fuzz/.*\.dict$|.*\.(svg|png|json|exp|aof|manifest|dict)$|LICENSE$|"
                     r"CHANGELOG\.md$")
COMMENT_OF = {
    "c": re.compile(r"//[^\n]*|/\*.*?\*/|(?P<no>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S),
    "py": re.compile(r'"""(?:.*?)"""|(?<![^\s])#[^\n]*', re.S),
    "js": re.compile(r"(?<![:\"'])//[^\n]*|/\*.*?\*/", re.S),
    "sh": re.compile(r"(?<![^\s])#[^\n]*"),
}
KIND = {"h": "c", "mjs": "js", "ts": "js", "css": "js", "html": None, "mk": "sh", "yml": "sh", "yaml": "sh"}
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
PATH = re.compile(r"(?<![\w./~$:@<>{}%-])(?:\w+=)?(?:\./)?([\w.*-]+(?:/[\w.*-]+)+/?|[\w.*-]+/)")
BARE = re.compile(r"(?<![\w./<*-])(?<!s' )(?<!'s )(\w+\.[ch]|test_\w+\.(?:py|mjs))(?![\w/(*.-])")
ROOMS = ("conf", "doc", "proto", "server", "store", "tests", "tools")
SOURCE = re.compile(r"\.(?:[ch]|py|mjs|md)$")
QUOTED = re.compile(r"`(\w+\.[ch]|test_\w+\.(?:py|mjs))`")


def blank(text):
    return "\n" * text.count("\n")


def comments_of(path, text):
    """The text with everything but its comments blank; all of a list or a page."""
    ending = path.rpartition(".")[2] if "." in os.path.basename(path) else ""
    shebang = text.split("\n", 1)[0]
    listed = not ending and not shebang.startswith("#!") and not path.endswith("Makefile")
    if ending == "md" or path.endswith(".md.in") or listed:
        return text
    kind = ending if ending in COMMENT_OF else KIND.get(ending)
    if kind is None:
        kind = "py" if "python" in shebang else "js" if "node" in shebang else "sh"
    kept, end = [], 0
    for match in COMMENT_OF[kind].finditer(text):
        kept.append(blank(text[end:match.start()]))
        kept.append(blank(match.group()) if "no" in match.re.groupindex and match.group("no") else match.group())
        end = match.end()
    return "".join(kept) + blank(text[end:])


class Tree:
    """The names of the files and folders that git lists."""

    def __init__(self):
        listed = subprocess.run(("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"), capture_output=True,
                                text=True, check=True).stdout.split("\n")
        self.files = [name for name in listed if os.path.isfile(os.path.join(ROOT, name))]
        self.paths = set(self.files)
        for name in self.files:
            while "/" in name:
                name = name.rpartition("/")[0]
                self.paths.add(name)
        self.ends = {path[at:] for path in self.paths for at in
                     [0] + [slash.end() for slash in re.finditer("/", path)]}

    def has(self, path):
        path = os.path.normpath(path)
        return path in self.paths or "*" in path and any(fnmatch.fnmatch(known, path) for known in self.paths)

    def lacks(self, name, folder):
        """Does the name begin with a folder, of the root or of this one, or look like a source, and is no file?"""
        first = name.partition("/")[0]
        bases = [base for base in ("", folder) if first == ".." or os.path.join(base, first) in self.paths]
        if bases and re.search(r"\.\w{1,4}$|/$", name):
            return not any(self.has(os.path.join(base, name)) for base in bases)
        if first in ROOMS:
            return not self.has(name) and not self.has(name + ".*")
        return SOURCE.search(name) and "*" not in name and name not in self.ends


def wrong_names(path, text, tree):
    """(line, name) of names of files that do not exist."""
    def line_of(match):
        return shown.count("\n", 0, match.start(1)) + 1

    shown = comments_of(path, text)
    for match in PATH.finditer(shown):
        name = match.group(1).rstrip(".")
        after = shown[match.end():match.end() + 1]
        if "..." in match.group() or name.startswith("build/") or after and after in "<{$" and not name.endswith("/"):
            continue
        if tree.lacks(name, os.path.dirname(path)):
            yield line_of(match), name
    if "/guide/" in path:  # where they are the reader's
        return
    page = path.endswith((".md", ".md.in"))
    if page:
        shown = FENCE.sub(lambda fence: blank(fence.group()), shown)
    for match in (QUOTED if page else BARE).finditer(shown):
        if match.group(1) not in tree.ends:
            yield line_of(match), match.group(1)


def main(files):
    tree = Tree()
    found = 0
    for file in files or [name for name in tree.files if not FOREIGN.match(name)]:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            text = source.read()
        for line, name in sorted(wrong_names(file, text, tree)):
            print(f"{file}:{line}: there is no file {name}", file=sys.stderr)
            found += 1
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))
