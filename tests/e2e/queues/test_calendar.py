#!/usr/bin/python3 -B
"""CRON.NEXT: replies, bad input, files of zones, and transitions of a sample of zones against
calendar_oracle. test_calendar_zones.py compares all of them. TEST_SEED chooses the sample."""
import datetime
import os
import random
import shutil
import sys
import zoneinfo

sys.path.insert(1, sys.path[0] + "/../../lib")
from calendar_check import SYSTEM, ask, check_transition, instant
from calendar_oracle import DAY, Spec, offset, transitions, zones
from daemon import Daemon, equal, folder, main, random_seed, test, wait_for

BERLIN = ("ZONE", "Europe/Berlin")
KNOWN = ["Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Africa/Casablanca",
         "America/Asuncion", "America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo", "Africa/Monrovia",
         "America/New_York", "Europe/Dublin", "Asia/Pyongyang", "America/Caracas", "Asia/Gaza"]


def upcoming(raw, spec, zone, after, count):
    """The next instants, as times in UTC."""
    reply, = ask(raw, ("CRON.NEXT", spec, "ZONE", zone, "FROM", instant(after), "COUNT", count))
    assert isinstance(reply, list), reply
    return [datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
            for at in reply]


# --- the rules ---------------------------------------------------------------------------------------


@test
def a_time_in_the_missing_hour_runs_after_the_gap():
    with Daemon() as daemon, daemon.raw() as raw:
        for spec in ("30 2 * * *", "*/20 2 * * *", "0 3 * * *"):
            equal(upcoming(raw, spec, "Europe/Berlin", "2026-03-28 12:00", 1), ["2026-03-29 01:00"], spec)
        equal(upcoming(raw, "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", 1), ["2026-10-03 15:30"])
        equal(upcoming(raw, "0 2 * * *", "Antarctica/Troll", "2026-03-28 12:00", 1), ["2026-03-29 01:00"])
        equal(upcoming(raw, "0 9 30 12 *", "Pacific/Apia", "2011-12-29 12:00", 1), ["2011-12-30 10:00"])
        equal(upcoming(raw, "30 0 * * *", "Asia/Beirut", "2026-03-28 12:00", 1), ["2026-03-28 22:00"])


@test
def a_time_in_the_doubled_hour_runs_at_its_first_occurrence():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(upcoming(raw, "30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", 2),
              ["2026-10-25 00:30", "2026-10-26 01:30"])
        equal(upcoming(raw, "45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00", 2),
              ["2026-04-04 14:45", "2026-04-05 15:15"])
        equal(upcoming(raw, "0 2 * * *", "Antarctica/Troll", "2026-10-24 12:00", 2),
              ["2026-10-25 00:00", "2026-10-26 02:00"])


@test
def hours_with_a_star_or_a_step_follow_elapsed_time():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(upcoming(raw, "30 * * * *", "Europe/Berlin", "2026-03-29 00:00", 3),
              ["2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"])
        equal(upcoming(raw, "30 * * * *", "Europe/Berlin", "2026-10-25 00:00", 3),
              ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"])
        equal(upcoming(raw, "0 */2 * * *", "Europe/Berlin", "2026-10-24 23:30", 3),
              ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 03:00"])


@test
def either_day_matches_unless_a_field_begins_with_a_star():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(upcoming(raw, "0 0 13 * FRI", "UTC", "2026-02-01 00:00", 3),
              ["2026-02-06 00:00", "2026-02-13 00:00", "2026-02-20 00:00"])
        equal(upcoming(raw, "0 0 */2 * MON", "UTC", "2026-02-01 00:00", 2),
              ["2026-02-09 00:00", "2026-02-23 00:00"])
        equal(upcoming(raw, "0 0 29 2 */7", "UTC", "2060-03-01 00:00", 2),
              ["2088-02-29 00:00", "2128-02-29 00:00"])


@test
def the_next_instants_begin_after_from():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold(instant("2026-01-01 00:00"))
        at = instant("2026-01-02 00:00")
        lines = [((), [at]), (("FROM", at), [at + DAY * 1000]), (("FROM", at - 1), [at]),
                 (("COUNT", 2), [at, at + DAY * 1000]), (("ZONE", "UTC", "FROM", at + 1), [at + DAY * 1000])]
        for options, wanted in lines:
            equal(ask(raw, ("CRON.NEXT", "@daily", *options))[0], wanted, options)
        equal(ask(raw, ("CRON.NEXT", "*/20 0 0 1 1 *", "FROM", at, "COUNT", 4))[0],
              [instant(text) for text in ("2027-01-01 00:00:00", "2027-01-01 00:00:20", "2027-01-01 00:00:40",
                                          "2028-01-01 00:00:00")])


# --- bad input ---------------------------------------------------------------------------------------


@test
def bad_texts_get_an_error_that_says_why():
    lines = [
        ("", "a schedule has 5 fields, or 6 if the first one is the second, and not 0"),
        ("* * * *", "a schedule has 5 fields, or 6 if the first one is the second, and not 4"),
        ("* " * 9, "a schedule has 5 fields, or 6 if the first one is the second, and not more than 6"),
        ("x" * 10000, "the text is longer than 1024 bytes"),
        ("60 * * * *", "minute: '60' is not within 0-59"),
        ("* 24 * * *", "hour: '24' is not within 0-23"),
        ("* * 0 * *", "day of month: '0' is not within 1-31"),
        ("* * * 13 *", "month: '13' is not within 1-12, and no name"),
        ("* * * * 8", "day of week: '8' is not within 0-7, and no name"),
        ("* * * foo *", "month: 'foo' is not within 1-12, and no name"),
        ("30-10 * * * *", "minute: '30-10' is a range that goes backward"),
        ("* * * * 5-0", "day of week: '5-0' is a range that goes backward"),
        ("*/0 * * * *", "minute: '*/0' needs a step of 1 or more"),
        ("*/ * * * *", "minute: '*/' needs a step of 1 or more"),
        ("*/-1 * * * *", "minute: '*/-1' needs a step of 1 or more"),
        ("*/60 * * * *", "minute: '*/60' has a step beyond its range"),
        ("5/10 * * * *", "minute: '5/10' has a step without a range, or * before it"),
        ("1,,2 * * * *", "minute: '' is an empty item of a list"),
        (", * * * *", "minute: '' is an empty item of a list"),
        ("-1 * * * *", "minute: '-1' is a range without a begin or an end"),
        ("* 5- * * *", "hour: '5-' is a range without a begin or an end"),
        ("99999999999999999999 * * * *", "minute: '99999999999999999999' is not within 0-59"),
        ("* * 1-L * *", "day of month: 'L' is not within 1-31"),
        ("* * * * L", "day of week: 'L' is not within 0-7, and no name"),
        ("\r\n\x01 * * * *", "minute: '???' is not within 0-59"),
        ("1" * 40 + " * * * *", "minute: '" + "1" * 24 + "...' is not within 0-59"),
        ("@reboot", "of the names only @yearly @annually @monthly @weekly @daily @midnight @hourly exist"),
        ("@daily *", "of the names only @yearly @annually @monthly @weekly @daily @midnight @hourly exist"),
        ("0 0 31 2 *", "no date ever matches it"),
        ("0 0 30-31 feb *", "no date ever matches it"),
        ("0 0 31 4,6,9,11 *", "no date ever matches it"),
    ]
    with Daemon() as daemon, daemon.raw() as raw:
        for text, why in lines:
            equal(ask(raw, ("CRON.NEXT", text))[0], f"ERR CRON: {why}".encode(), text[:40])
        # In Troll the clock skips these two hours each year, and a step follows the clock.
        equal(ask(raw, ("CRON.NEXT", "30 1-2/1 25-31 3 */7", "ZONE", "Antarctica/Troll", "FROM",
                        instant("2006-01-01 00:00")))[0],
              b"ERR CRON: the schedule does not run within 100 years")


@test
def bad_names_of_zones_get_an_error():
    name = (b"ERR CRON: a zone has a name such as Europe/Berlin: at most 64 letters, digits and _ + -, in parts "
            b"between slashes")
    missing = b"ERR CRON: zone %s: the system has no such zone. Is the package tzdata installed?"
    lines = [("../../etc/passwd", name), ("/etc/localtime", name), ("Europe/../UTC", name), ("", name),
             ("Europe//Berlin", name), ("Europe/Berlin/", name), (".", name), ("x" * 65, name), ("a b", name),
             ("UTC\0", name), ("Mars/Olympus", missing % b"Mars/Olympus"), ("Europe", missing % b"Europe")]
    with Daemon() as daemon, daemon.raw() as raw:
        for zone, wanted in lines:
            equal(ask(raw, ("CRON.NEXT", "@daily", "ZONE", zone))[0], wanted, zone)


@test
def bad_options_get_an_error():
    lines = [(("ZONE",), b"ERR syntax error: ZONE needs a value"),
             (("FOO", 1), b"ERR syntax error: unknown option 'FOO'"),
             (("COUNT", 1, "COUNT", 2), b"ERR syntax error: COUNT repeats or contradicts an option before it"),
             (("COUNT", 0), b"ERR COUNT must be between 1 and 1000"),
             (("COUNT", 1001), b"ERR COUNT must be between 1 and 1000"),
             (("FROM", -1), b"ERR unix-ms is not an integer or out of range"),
             (("FROM", 2**63 - 3), b"ERR CRON: the schedule does not run within 100 years")]
    with Daemon() as daemon, daemon.raw() as raw:
        for options, wanted in lines:
            equal(ask(raw, ("CRON.NEXT", "@daily", *options))[0], wanted, options)


# --- files -------------------------------------------------------------------------------------------


def next_noon(raw, zone):
    return ask(raw, ("CRON.NEXT", "0 12 * * *", "ZONE", zone, "FROM", instant("2026-01-01 00:00")))[0]


@test
def damaged_files_get_an_error_or_are_read_whole():
    with folder() as path, open(f"{SYSTEM}/Europe/Berlin", "rb") as file:
        whole, rng = file.read(), random.Random(random_seed())
        with Daemon(env={**os.environ, "TZDIR": path}) as daemon, daemon.raw() as raw:
            for length in [*range(0, len(whole), 37), *range(len(whole) - 40, len(whole))]:
                with open(f"{path}/T{length}", "wb") as cut:
                    cut.write(whole[:length])
                why = "it is no TZif file" if length < 44 else "the file is truncated"
                equal(next_noon(raw, f"T{length}"), f"ERR CRON: zone T{length}: {why}".encode())
            for number in range(300):
                damaged = bytearray(whole)
                for _ in range(rng.randint(1, 4)):
                    damaged[rng.randrange(len(whole))] = rng.randrange(256)
                with open(f"{path}/D{number}", "wb") as file:
                    file.write(damaged)
                reply = next_noon(raw, f"D{number}")
                assert isinstance(reply, list) or reply.startswith(b"ERR CRON: "), reply


@test
def names_that_are_no_files_get_an_error():
    missing = b"ERR CRON: zone %s: the system has no such zone. Is the package tzdata installed?"
    with folder() as path, Daemon(env={**os.environ, "TZDIR": path}) as daemon, daemon.raw() as raw:
        os.mkfifo(f"{path}/Fifo")
        os.mkdir(f"{path}/Folder")
        os.symlink("/dev/zero", f"{path}/Endless")
        os.symlink(f"{path}/Loop", f"{path}/Loop")
        equal(next_noon(raw, "Fifo"), b"ERR CRON: zone Fifo: it is no TZif file")
        for name in ("Folder", "Endless", "Loop"):
            equal(next_noon(raw, name), missing % name.encode(), name)


@test
def a_reload_reads_newer_files():
    with folder() as path, Daemon(env={**os.environ, "TZDIR": path}) as daemon, daemon.raw() as raw:
        equal(next_noon(raw, "UTC"), [instant("2026-01-01 12:00")], "UTC needs no file")
        shutil.copy(f"{SYSTEM}/Europe/Berlin", f"{path}/Here")
        equal(next_noon(raw, "Here"), [instant("2026-01-01 11:00")])
        shutil.copy(f"{SYSTEM}/Asia/Tokyo", f"{path}/Here")
        equal(next_noon(raw, "Here"), [instant("2026-01-01 11:00")])
        daemon.process.send_signal(1)
        wait_for(lambda: next_noon(raw, "Here") == [instant("2026-01-01 03:00")])


@test
def every_zone_is_read_once():
    """Tenants in all countries of the world use a few hundred zones."""
    with folder() as path:
        copied, moved = f"{path}/zones", f"{path}/moved"
        shutil.copytree(SYSTEM, copied, symlinks=True)
        with Daemon(env={**os.environ, "TZDIR": copied}) as daemon, daemon.raw() as raw:
            found = [next_noon(raw, zone) for zone in zones()]
            os.rename(copied, moved)
            equal([next_noon(raw, zone) for zone in zones()], found)


# --- against the oracle ------------------------------------------------------------------------------


@test
def instants_around_a_sample_of_transitions_are_the_oracles():
    rng = random.Random(random_seed())
    names = [*KNOWN, *rng.sample(zones(), 4)]
    with Daemon() as daemon, daemon.raw() as raw:
        for name in names:
            found = transitions(zoneinfo.ZoneInfo(name))
            for transition in rng.sample(found, min(len(found), 8)):
                check_transition(raw, rng, name, transition, 4)


def local_instant(zone, local):
    """The first instant at which the clock shows this local second or a later one: by a search in which
    zoneinfo is asked for each second at most once. Clocks must not be set back within two days before."""
    low, high = local - 27 * 3600, local + 27 * 3600
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle + offset(zone, middle) >= local else (middle, high)
    return high


@test
def rare_schedules_are_found_across_centuries():
    specs = ["0 0 29 2 *", "30 6 29 2 0", "0 12 29 2 */7", "15 4 31 12 *", "0 0 L 2 *", "0 8 1-7 * */7",
             "59 23 31 1,3,5 MON", "0 0 30 11 *"]
    with Daemon() as daemon, daemon.raw() as raw:
        for zone in (None, "Asia/Kolkata"):  # clocks that are not changed
            where = zoneinfo.ZoneInfo(zone) if zone else datetime.timezone.utc
            for text in specs:
                spec = Spec(text)
                end = 150 * 365
                wanted = [local_instant(where, day * DAY + second) for day in range(3, end) if spec.has_day(day)
                          for second in sorted(spec.seconds)][:1000]
                reply, = ask(raw, ("CRON.NEXT", text, *(("ZONE", zone) if zone else ()), "FROM", 3 * DAY * 1000 - 1,
                                   "COUNT", 1000))
                equal([at // 1000 for at in reply][:len(wanted)], wanted, text)


if __name__ == "__main__":
    main()
