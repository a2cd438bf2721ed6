#!/usr/bin/python3 -B
"""tools/deps: its groups, and what `make` says on a machine without the libraries."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Skipped, equal, folder, main, own

PROGRAMS = ("sh", "make", "mkdir", "touch", "rm")


def make_without_libraries(folder):
    """A machine without headers, pkg-config and a compiler that finds libraries."""
    programs = os.path.join(folder, "bin")
    os.mkdir(programs)
    for name in PROGRAMS:
        os.symlink(shutil.which(name), os.path.join(programs, name))
    built = os.path.join(folder, "build")
    return subprocess.run(
        [shutil.which("make"), "-C", ROOT, f"B={built}", "CC=/bin/false", "MALLOC=libc",
         f"{built}/obj/store/mem/mem.o", f"{built}/obj/store/base/bytes.o"],
        env={"PATH": programs, "DEPS_INCLUDE": os.path.join(folder, "none")},
        capture_output=True, text=True, check=False)


@own
def make_without_the_libraries_says_what_to_install():
    with folder() as where:
        done = make_without_libraries(where)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    equal(said, ["Can't build: missing (Debian's package names) libc6-dev libevent-dev liblz4-dev "
                 "libluajit-5.1-dev lua-cjson-dev libssl-dev libxxhash-dev. `make run` installs them."])


@own
def mirror_whose_index_has_expired_is_explained():
    programs = {"apt-get": 'test "$1" = update && echo "E: Release file for http://m/InRelease is expired"; exit 100',
                "id": "echo 0", "pkg-config": "exit 1", "cc": "exit 1"}
    with folder() as where:
        for name, body in programs.items():
            with open(os.path.join(where, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{body}\n")
            os.chmod(file.name, 0o755)
        done = subprocess.run([os.path.join(ROOT, "tools", "deps"), "unit"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "PATH": f"{where}:{os.environ['PATH']}", "CC": "cc",
                                   "DEPS_INCLUDE": where})
    equal(done.returncode, 1)
    assert "Acquire::Check-Valid-Until=false" in done.stdout, done.stdout


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


@own
def packages_and_container_build_with_the_same_libraries():
    group = re.search(r"\ngroup_libraries\(\) \{\n(.*?)\n\}", read("tools", "deps"), re.S).group(1)
    libraries = set(re.findall(r"need (lib\S+|lua\S+) library", group)) - {"libc6-dev"}
    assert len(libraries) > 4, libraries
    for path in ("debian/control", "container/Containerfile", "arm64_test"):
        text = read("tools", *path.split("/"))
        equal([name for name in sorted(libraries) if name not in text], [], path)


@own
def every_group_of_packages_is_defined():
    text = read("tools", "deps")
    groups = re.search(r"case \$group in\n\s+([a-z_ |]+)\)", text).group(1).split(" | ")
    equal([name for name in groups if f"\ngroup_{name}() {{" not in text], [])


# In packages that every Debian has.
ESSENTIAL = {"bash", "find", "make", "mount", "setpriv", "sh", "umount"}


@own
def programs_that_tests_start_are_in_a_group():
    started = set()
    for name in glob.glob(os.path.join(ROOT, "tests", "**", "*.py"), recursive=True):
        if not {"service", "node_modules"} & set(name.split(os.sep)):
            started |= set(re.findall(r'(?:\brun\(|\bPopen\(|words = |command = )\["([a-z][a-z0-9.-]*)"', read(name)))
    assert {"openssl", "redis-cli", "mount"} < started, started
    equal(started - ESSENTIAL - set(re.findall(r"\bneed \S+ program (\S+)", read("tools", "deps"))), set())


PROVIDES = {"debhelper": "debhelper-compat (= 13)"}


def installed(package):
    """A package's paragraph in dpkg's status."""
    return (f"Package: {package}\nStatus: install ok installed\nVersion: 999\n"
            "Architecture: all\nMulti-Arch: allowed\n"
            f"Provides: {PROVIDES.get(package, package + '-virtual')}\n\n")


@own
def make_deb_installs_what_the_package_builds_with():
    if shutil.which("dpkg-checkbuilddeps") is None:
        raise Skipped("no dpkg-checkbuilddeps")
    groups = "".join(re.search(rf"\ngroup_{name}\(\) \{{\n(.*?)\n\}}", read("tools", "deps"), re.S)
                     .group(1) for name in ("libraries", "build", "deb"))
    packages = set(re.findall(r"\bneed (\S+)", groups))
    with folder() as where:
        os.mkdir(os.path.join(where, "admin"))
        with open(os.path.join(where, "admin", "status"), "w", encoding="utf-8") as file:
            file.writelines(installed(package) for package in sorted(packages))
        done = build_package(where, 'dpkg-checkbuilddeps --admindir="$ADMIN" && echo complete')
    assert "\ncomplete\n" in "\n" + done.stderr, done.stderr


def build_package(where, script):
    """tools/debian/build in a small tree, with a script for dpkg-buildpackage, whose output is shown."""
    tree, programs = os.path.join(where, "tree"), os.path.join(where, "bin")
    for path in ("server/base/version.h", "CHANGELOG.md", "tools/debian"):
        source, target = os.path.join(ROOT, path), os.path.join(tree, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
    os.mkdir(programs)
    program = os.path.join(programs, "dpkg-buildpackage")
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{script}\nexit 1 # builds nothing\n")
    os.chmod(program, 0o700)
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEB_BUILD_")}
    env.update(PATH=programs + ":" + env["PATH"], ADMIN=os.path.join(where, "admin"))
    return subprocess.run([os.path.join(tree, "tools/debian/build")], cwd=tree, env=env,
                          capture_output=True, text=True, check=False)


main()
