"""The commands beyond those of Redis 7.0, for redis.asyncio.Redis.

Made from the command table by make reference.
"""
from __future__ import annotations

from typing import Any, Awaitable, Literal, overload

from redis.typing import EncodableT, KeyT

from .arguments import block as _block
from .arguments import flag as _flag
from .arguments import flat as _flat
from .arguments import option as _option
from .arguments import seconds as _seconds
from .once import Once
from .replies import (
    ExpiryLagReply, ExpiryWhyReply, LeaseInfoReply, PolicyStatsReply, RedeFairinfoReply,
    RedeInfoReply,
)
from .shapes import Bulk


class AsyncCommands(Once):
    """Like expired.commands.Commands, for a client whose execute_command is awaited."""

    def blmovem(
        self, source: KeyT, destination: KeyT, mode: Literal["LEFT", "RIGHT"],
        mode2: Literal["LEFT", "RIGHT"], timeout: float, *, count: int | None = None,
        exactly: int | None = None, obo: bool = False, bulk: bool = False,
    ) -> Awaitable[list[Bulk] | None]:
        """Moves elements from an end of a list to an end of another one and returns them. Blocks
        until there is one, or with EXACTLY until there are that many.

        ::

            BLMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT
            count|EXACTLY count> <OBO | BULK>]

        - ``[bulk ...]``: the elements, in the order that they have at the destination
        - ``null-array``: the timeout was reached
        """
        return self.execute_once(
            timeout,
            "BLMOVEM",
            source,
            destination,
            mode,
            mode2,
            timeout,
            *_block({}, {"count": count, "exactly": exactly, "obo": obo, "bulk": bulk},
                *_option("COUNT", count), *_option("EXACTLY", exactly), *_flag("OBO", obo),
                *_flag("BULK", bulk)),
        )

    def bztsmove(
        self, key: KeyT, destination: KeyT, count: int, timeout: float,
    ) -> Awaitable[list[Bulk] | None]:
        """Moves the members whose scores are at most the current Unix time in seconds to the tail
        of a list, lowest first, or blocks until there is one.

        ``BZTSMOVE key destination count timeout``

        - ``[bulk ...]``: the members that were moved
        - ``null-array``: the timeout was reached
        """
        return self.execute_once(timeout, "BZTSMOVE", key, destination, count, timeout)

    def bztspop(
        self, key: KeyT, count: int, timeout: float,
    ) -> Awaitable[list[tuple[Bulk, float]] | None]:
        """Removes and returns the members whose scores are at most the current Unix time in
        seconds, lowest first, or blocks until there is one.

        ``BZTSPOP key count timeout``

        - ``RESP2 [bulk bulk ...]``: members, each followed by its score
        - ``RESP3 [[bulk double] ...]``: members with their scores
        - ``null-array``: the timeout was reached
        """
        return self.execute_once(timeout, "BZTSPOP", key, count, timeout)

    def cl_throttle(
        self, key: KeyT, max_burst: EncodableT, count: int, period_seconds: EncodableT, *,
        quantity: EncodableT | None = None,
    ) -> Awaitable[tuple[int, int, int, int, int]]:
        """Limits the rate of actions: after a burst, count actions per period, evenly spaced. A
        quantity of 0 changes nothing.

        ``CL.THROTTLE key max-burst count period-seconds [quantity]``

        - ``[integer integer integer integer integer]``: 1 if the actions are refused, else 0; the
          most actions at once; how many are left; seconds until the same call is allowed, -1 if it
          was allowed or never will be; seconds until all are available again
        """
        return self.execute_command(
            "CL.THROTTLE",
            key,
            max_burst,
            count,
            period_seconds,
            *_option(quantity),
        )

    def cl_throttlems(
        self, key: KeyT, max_burst: EncodableT, count: int, period_milliseconds: EncodableT, *,
        quantity: EncodableT | None = None,
    ) -> Awaitable[tuple[int, int, int, int, int]]:
        """Limits the rate of actions as CL.THROTTLE does, with times in milliseconds.

        ``CL.THROTTLEMS key max-burst count period-milliseconds [quantity]``

        - ``[integer integer integer integer integer]``: as CL.THROTTLE, with times in milliseconds
        """
        return self.execute_command(
            "CL.THROTTLEMS",
            key,
            max_burst,
            count,
            period_milliseconds,
            *_option(quantity),
        )

    def cl_window(
        self, key: KeyT, limit: int, window_milliseconds: EncodableT, *,
        quantity: EncodableT | None = None,
    ) -> Awaitable[tuple[int, int, int, int, int]]:
        """Admits at most limit requests in any window of this length. Refused requests do not
        count.

        ``CL.WINDOW key limit window-milliseconds [quantity]``

        - ``[integer integer integer integer integer]``: 1 if the requests are refused, else 0; the
          limit; how many are left; milliseconds until the same call is allowed, -1 if it was
          allowed; milliseconds until the window is empty
        """
        return self.execute_command(
            "CL.WINDOW",
            key,
            limit,
            window_milliseconds,
            *_option(quantity),
        )

    def clock_advance(self, milliseconds: int) -> Awaitable[int]:
        """Moves a stepped clock forward and stops it. Everything that becomes due on the way
        happens in order before the reply.

        ``CLOCK ADVANCE milliseconds``

        - ``integer``: the server's time in milliseconds
        """
        return self.execute_command("CLOCK ADVANCE", milliseconds)

    def clock_freeze(self) -> Awaitable[int]:
        """Stops a stepped clock that runs.

        ``CLOCK FREEZE``

        - ``integer``: the server's time in milliseconds
        """
        return self.execute_command("CLOCK FREEZE")

    def clock_get(self) -> Awaitable[int]:
        """Returns the server's time.

        ``CLOCK GET``

        - ``integer``: the server's time in milliseconds
        """
        return self.execute_command("CLOCK GET")

    def clock_run(self) -> Awaitable[int]:
        """Lets a stepped clock run from where it stands.

        ``CLOCK RUN``

        - ``integer``: the server's time in milliseconds
        """
        return self.execute_command("CLOCK RUN")

    def clock_set(self, unix_time_milliseconds: int) -> Awaitable[int]:
        """Sets and stops a stepped clock. If it moves forward, everything that becomes due on the
        way happens in order before the reply.

        ``CLOCK SET unix-time-milliseconds``

        - ``integer``: the server's time in milliseconds
        """
        return self.execute_command("CLOCK SET", unix_time_milliseconds)

    def cron_next(
        self, spec: EncodableT, *, zone: EncodableT | None = None, from_: int | None = None,
        count: int | None = None,
    ) -> Awaitable[list[int]]:
        """Lists the next instants of a schedule by the calendar in a time zone, after now or after
        FROM.

        ``CRON.NEXT spec [ZONE zone] [FROM unix-time-milliseconds] [COUNT count]``

        - ``[integer ...]``: the next instants, as Unix times in milliseconds
        """
        return self.execute_command(
            "CRON.NEXT",
            spec,
            *_option("ZONE", zone),
            *_option("FROM", from_),
            *_option("COUNT", count),
        )

    def delex(
        self, key: KeyT, *, ifeq: EncodableT | None = None, ifne: EncodableT | None = None,
        ifdeq: EncodableT | None = None, ifdne: EncodableT | None = None,
    ) -> Awaitable[int]:
        """Deletes a key of any type, or, with a condition, a string whose value or digest is equal
        to the given one, or is not.

        ::

            DELEX key [IFEQ comparison-value|IFNE comparison-value|IFDEQ comparison-digest|IFDNE
            comparison-digest]

        - ``integer``: 1 if the key was deleted, 0 if the condition does not hold or there is no
          such key
        """
        return self.execute_command(
            "DELEX",
            key,
            *_option("IFEQ", ifeq),
            *_option("IFNE", ifne),
            *_option("IFDEQ", ifdeq),
            *_option("IFDNE", ifdne),
        )

    def delifeq(self, key: KeyT, value: EncodableT) -> Awaitable[int]:
        """Deletes a key if its string value is equal to the given one.

        ``DELIFEQ key value``

        - ``integer``: 1 if the key was deleted, 0 if it has another value or does not exist
        """
        return self.execute_command("DELIFEQ", key, value)

    def digest(self, key: KeyT) -> Awaitable[Bulk | None]:
        """Returns the digest (XXH3, 64 bits) of a string value.

        ``DIGEST key``

        - ``bulk``: the digest, 16 hexadecimal digits
        - ``null``: there is no such key
        """
        return self.execute_command("DIGEST", key)

    def expiremember(
        self, key: KeyT, member: EncodableT, delay: int, *, unit: EncodableT | None = None,
    ) -> Awaitable[int]:
        """Sets the time to live of a member of a set, hash or sorted set, in seconds (unit s) or
        milliseconds (ms).

        ``EXPIREMEMBER key member delay [unit]``

        - ``integer``: 1 if the deadline was set, 0 if there is no such key or member
        """
        return self.execute_command("EXPIREMEMBER", key, member, delay, *_option(unit))

    def expirememberat(
        self, key: KeyT, member: EncodableT, unix_time_seconds: int,
    ) -> Awaitable[int]:
        """Sets the deadline of a member of a set, hash or sorted set to a Unix time in seconds.

        ``EXPIREMEMBERAT key member unix-time-seconds``

        - ``integer``: 1 if the deadline was set, 0 if there is no such key or member
        """
        return self.execute_command("EXPIREMEMBERAT", key, member, unix_time_seconds)

    def expiry_forecast(self) -> Awaitable[list[tuple[Bulk, int, int, int]]]:
        """Counts the keys, members and elements of the selected database by the time left to their
        deadlines.

        ``EXPIRY FORECAST``

        - ``[[bulk integer integer integer] ...]``: for each span (1s, 10s, 1m, 10m, 1h, 1d, later,
          never) its name, and how many keys, members and elements of dehydrators are due in it and
          in no shorter one
        """
        return self.execute_command("EXPIRY FORECAST")

    def expiry_lag(self) -> Awaitable[ExpiryLagReply]:
        """Returns how late expired data was removed: percentiles in milliseconds.

        ``EXPIRY LAG``

        - ``map['p50' integer 'p90' integer 'p99' integer 'p99.9' integer 'max' integer 'count'
          integer]``: percentiles of the time between deadline and removal, the maximum, and the
          number of removals
        """
        return self.execute_command("EXPIRY LAG")

    def expiry_next(self, *, count: int | None = None) -> Awaitable[list[tuple[Bulk, int, str]]]:
        """Returns the next deadlines of the selected database, one for each key.

        ``EXPIRY NEXT [count]``

        - ``[[bulk integer 'key'|'member'|'field'|'element'|'entry'|'holder'] ...]``: key, deadline
          as Unix time in milliseconds, and what is due
        """
        return self.execute_command("EXPIRY NEXT", *_option(count))

    def expiry_why(
        self, key: KeyT, *, member: EncodableT | None = None,
    ) -> Awaitable[ExpiryWhyReply]:
        """Tells who set the deadline of a key or member, or what ended it.

        ``EXPIRY WHY key [MEMBER member]``

        - ``map['state' 'live'|'overdue'|'missing' 'deadline' integer|null 'db' integer 'hash' bulk
          'since' integer 'shared' integer 'records' [map['what' bulk 'at' integer 'deadline'
          integer|null 'before' integer|null 'late-ms' integer|null 'by' bulk 'policy' bulk|null
          'option' bulk|null 'command' bulk|null 'script' integer 'client-id' integer|null
          'client-name' bulk|null 'user' bulk|null 'memory' integer|null 'to-db' integer|null
          'to-hash' bulk|null] ...]]``: the state and the deadline of the key or member ('overdue':
          expired and still kept), and what is recorded of it, newest first; 'before' is null if
          there was none or it is not known
        """
        return self.execute_command("EXPIRY WHY", key, *_option("MEMBER", member))

    def fieldexpire(self, key: KeyT, seconds: int, *fields: EncodableT) -> Awaitable[list[int]]:
        """Sets the time to live of fields of a hash or members of a set in seconds.

        ``FIELDEXPIRE key seconds field [field ...]``

        - ``[integer ...]``: for each field, 1 if the deadline was set, -2 if there is no such key
          or field
        """
        return self.execute_command("FIELDEXPIRE", key, seconds, *fields)

    def fieldttl(self, key: KeyT, field: EncodableT) -> Awaitable[int]:
        """Returns the remaining time to live of a field of a hash or a member of a set in seconds.

        ``FIELDTTL key field``

        - ``integer``: the seconds left; -1 without a deadline, -2 if there is no such key, -3 if
          there is no such field
        """
        return self.execute_command("FIELDTTL", key, field)

    def getfresh(
        self, key: KeyT, *, early: int | None = None, lease: int | None = None,
        wait: int | None = None,
    ) -> Awaitable[tuple[Bulk | None, Bulk]]:
        """Returns a string and whether it is stale, and chooses one client to load a new value.

        ``GETFRESH key [EARLY milliseconds] [LEASE milliseconds] [WAIT milliseconds]``

        - ``[bulk|null bulk]``: the string, null if there is none, and its state: 'fresh', 'stale',
          'refresh' (the caller should load a new one), 'fill' (there is none, and the caller should
          load it) or 'missing' (there is none, and another client is loading it)
        """
        return self.execute_once(
            _seconds(wait),
            "GETFRESH",
            key,
            *_option("EARLY", early),
            *_option("LEASE", lease),
            *_option("WAIT", wait),
        )

    def hexpire(
        self, key: KeyT, seconds: int, *fields: EncodableT, nx: bool = False, xx: bool = False,
        gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of fields of a hash in seconds.

        ``HEXPIRE key seconds [NX|XX|GT|LT] FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, 1 if the deadline was set, 2 if it is past and the
          field was removed, 0 if the condition did not hold, -2 if there is no such key or field
        """
        return self.execute_command(
            "HEXPIRE",
            key,
            seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "FIELDS",
            len(fields),
            *fields,
        )

    def hexpireat(
        self, key: KeyT, unix_time_seconds: int, *fields: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of fields of a hash to a Unix time in seconds.

        ``HEXPIREAT key unix-time-seconds [NX|XX|GT|LT] FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, 1 if the deadline was set, 2 if it is past and the
          field was removed, 0 if the condition did not hold, -2 if there is no such key or field
        """
        return self.execute_command(
            "HEXPIREAT",
            key,
            unix_time_seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "FIELDS",
            len(fields),
            *fields,
        )

    def hexpiretime(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of fields of a hash as Unix times in seconds.

        ``HEXPIRETIME key FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, its deadline as a Unix time in seconds, rounded up; -1
          without a deadline, -2 if there is no such key or field
        """
        return self.execute_command("HEXPIRETIME", key, "FIELDS", len(fields), *fields)

    def hgetdel(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[Bulk | None]]:
        """Removes one or more fields from a hash and returns their values.

        ``HGETDEL key FIELDS numfields field [field ...]``

        - ``[bulk|null ...]``: the values that were removed; null where there is no such field
        """
        return self.execute_once(None, "HGETDEL", key, "FIELDS", len(fields), *fields)

    def hgetex(
        self, key: KeyT, *fields: EncodableT, ex: int | None = None, px: int | None = None,
        exat: int | None = None, pxat: int | None = None, persist: bool = False,
    ) -> Awaitable[list[Bulk | None]]:
        """Returns the values of one or more fields of a hash and sets or removes their deadlines.

        ::

            HGETEX key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-
            milliseconds|PERSIST] FIELDS numfields field [field ...]

        - ``[bulk|null ...]``: the values; null where there is no such field
        """
        return self.execute_command(
            "HGETEX",
            key,
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("PERSIST", persist),
            "FIELDS",
            len(fields),
            *fields,
        )

    def hpersist(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[int]]:
        """Removes the deadlines of fields of a hash.

        ``HPERSIST key FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, 1 if a deadline was removed, -1 if there was none, -2
          if there is no such key or field
        """
        return self.execute_command("HPERSIST", key, "FIELDS", len(fields), *fields)

    def hpexpire(
        self, key: KeyT, milliseconds: int, *fields: EncodableT, nx: bool = False, xx: bool = False,
        gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of fields of a hash in milliseconds.

        ``HPEXPIRE key milliseconds [NX|XX|GT|LT] FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, 1 if the deadline was set, 2 if it is past and the
          field was removed, 0 if the condition did not hold, -2 if there is no such key or field
        """
        return self.execute_command(
            "HPEXPIRE",
            key,
            milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "FIELDS",
            len(fields),
            *fields,
        )

    def hpexpireat(
        self, key: KeyT, unix_time_milliseconds: int, *fields: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of fields of a hash to a Unix time in milliseconds.

        ::

            HPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] FIELDS numfields field [field
            ...]

        - ``[integer ...]``: for each field, 1 if the deadline was set, 2 if it is past and the
          field was removed, 0 if the condition did not hold, -2 if there is no such key or field
        """
        return self.execute_command(
            "HPEXPIREAT",
            key,
            unix_time_milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "FIELDS",
            len(fields),
            *fields,
        )

    def hpexpiretime(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of fields of a hash as Unix times in milliseconds.

        ``HPEXPIRETIME key FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, its deadline as a Unix time in milliseconds; -1 without
          a deadline, -2 if there is no such key or field
        """
        return self.execute_command("HPEXPIRETIME", key, "FIELDS", len(fields), *fields)

    def hpttl(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of fields of a hash in milliseconds.

        ``HPTTL key FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, the milliseconds left; -1 without a deadline, -2 if
          there is no such key or field
        """
        return self.execute_command("HPTTL", key, "FIELDS", len(fields), *fields)

    def hsetex(
        self, key: KeyT, *items: tuple[EncodableT, EncodableT], fnx: bool = False,
        fxx: bool = False, ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]:
        """Sets the values and the deadlines of one or more fields of a hash.

        ::

            HSETEX key [FNX|FXX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-
            time-milliseconds|KEEPTTL] <seconds field value [field value ...]|FIELDS numfields
            field value [field value ...]>

        - ``integer``: 1 if the fields were set, 0 if FNX or FXX did not hold; with seconds instead
          of FIELDS the number of fields added
        """
        return self.execute_command(
            "HSETEX",
            key,
            *_flag("FNX", fnx),
            *_flag("FXX", fxx),
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("KEEPTTL", keepttl),
            "FIELDS",
            len(items),
            *_flat(items),
        )

    def httl(self, key: KeyT, *fields: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of fields of a hash in seconds.

        ``HTTL key FIELDS numfields field [field ...]``

        - ``[integer ...]``: for each field, the seconds left, rounded up; -1 without a deadline, -2
          if there is no such key or field
        """
        return self.execute_command("HTTL", key, "FIELDS", len(fields), *fields)

    @overload
    def increx(
        self, key: KeyT, *, byint: int | None = None, byfloat: None = None,
        lbound: EncodableT | None = None, ubound: EncodableT | None = None, saturate: bool = False,
        nx: bool = False, xx: bool = False, ex: int | None = None, px: int | None = None,
        exat: int | None = None, pxat: int | None = None, persist: bool = False, enx: bool = False,
    ) -> Awaitable[tuple[int, int]]: ...

    @overload
    def increx(
        self, key: KeyT, *, byint: int | None = None, byfloat: float,
        lbound: EncodableT | None = None, ubound: EncodableT | None = None, saturate: bool = False,
        nx: bool = False, xx: bool = False, ex: int | None = None, px: int | None = None,
        exat: int | None = None, pxat: int | None = None, persist: bool = False, enx: bool = False,
    ) -> Awaitable[tuple[float, float]]: ...

    @overload
    def increx(
        self, key: KeyT, *, byint: int | None = None, byfloat: float | None = None,
        lbound: EncodableT | None = None, ubound: EncodableT | None = None, saturate: bool = False,
        nx: bool = False, xx: bool = False, ex: int | None = None, px: int | None = None,
        exat: int | None = None, pxat: int | None = None, persist: bool = False, enx: bool = False,
    ) -> Awaitable[tuple[int, int] | tuple[float, float]]: ...

    def increx(
        self, key: KeyT, *, byint: int | None = None, byfloat: float | None = None,
        lbound: EncodableT | None = None, ubound: EncodableT | None = None, saturate: bool = False,
        nx: bool = False, xx: bool = False, ex: int | None = None, px: int | None = None,
        exat: int | None = None, pxat: int | None = None, persist: bool = False, enx: bool = False,
    ) -> Awaitable[tuple[int, int] | tuple[float, float]]:
        """Increments the number in a key by one or the given number, if the result stays within the
        bounds, and optionally sets or removes the key's expiration.

        ::

            INCREX key [BYINT increment|BYFLOAT float-increment] [LBOUND lowerbound] [UBOUND
            upperbound] [SATURATE] [NX|XX] [EX seconds|PX milliseconds|EXAT unix-time-
            seconds|PXAT unix-time-milliseconds|PERSIST] [ENX]

        - ``[integer integer]``: the value afterwards and the increment that was applied, 0 if the
          sum is out of bounds or NX or XX does not hold
        - ``[double double]``: the same with BYFLOAT
        """
        return self.execute_command(
            "INCREX",
            key,
            *_option("BYINT", byint),
            *_option("BYFLOAT", byfloat),
            *_option("LBOUND", lbound),
            *_option("UBOUND", ubound),
            *_flag("SATURATE", saturate),
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("PERSIST", persist),
            *_flag("ENX", enx),
        )

    def lease_check(self, key: KeyT, token: EncodableT) -> Awaitable[int | None]:
        """Returns how much longer a lease will be held.

        ``LEASE.CHECK key token``

        - ``integer``: the milliseconds left of the lease
        - ``null``: the token no longer holds a lease
        """
        return self.execute_command("LEASE.CHECK", key, token)

    def lease_drop(self, key: KeyT, token: EncodableT) -> Awaitable[int]:
        """Ends a lease before its time.

        ``LEASE.DROP key token``

        - ``integer``: 1 if the lease was ended, 0 if the token no longer holds one
        """
        return self.execute_command("LEASE.DROP", key, token)

    def lease_extend(self, key: KeyT, token: EncodableT, ttl: int) -> Awaitable[int | None]:
        """Makes a lease end ttl milliseconds from now.

        ``LEASE.EXTEND key token ttl``

        - ``integer``: the new end of the lease as a Unix time in milliseconds
        - ``null``: the token no longer holds a lease
        """
        return self.execute_command("LEASE.EXTEND", key, token, ttl)

    def lease_info(self, key: KeyT) -> Awaitable[LeaseInfoReply]:
        """Returns who holds a lock or permits, and how many clients wait.

        ``LEASE.INFO key``

        - ``map['permits' integer 'held' integer 'waiting' integer 'grants-in-ms' integer 'holders'
          [[bulk integer integer] ...]]``: the numbers of permits, of holders and of waiting
          clients; milliseconds until leases are granted again after a promotion or crash (0: they
          are granted now); owner, token and milliseconds left of each holder
        """
        return self.execute_command("LEASE.INFO", key)

    def lease_take(
        self, key: KeyT, owner: EncodableT, ttl: int, *, permits: int | None = None,
        wait: float | None = None,
    ) -> Awaitable[tuple[int, int] | None]:
        """Takes a lock, or one of several permits, for ttl milliseconds. With WAIT, waits until it
        can be granted.

        ``LEASE.TAKE key owner ttl [PERMITS count] [WAIT timeout]``

        - ``[integer integer]``: the fencing token, and the end of the lease as a Unix time in
          milliseconds
        - ``null-array``: no permit is free or other clients are waiting; with WAIT, the timeout was
          reached
        """
        return self.execute_once(
            wait,
            "LEASE.TAKE",
            key,
            owner,
            ttl,
            *_option("PERMITS", permits),
            *_option("WAIT", wait),
        )

    def lmovem(
        self, source: KeyT, destination: KeyT, mode: Literal["LEFT", "RIGHT"],
        mode2: Literal["LEFT", "RIGHT"], *, count: int | None = None, exactly: int | None = None,
        obo: bool = False, bulk: bool = False,
    ) -> Awaitable[list[Bulk] | None]:
        """Moves elements from an end of a list to an end of another one and returns them: one, at
        most COUNT, or EXACTLY that many. OBO moves them one by one, BULK keeps their order.

        ::

            LMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count|EXACTLY count>
            <OBO | BULK>]

        - ``[bulk ...]``: the elements, in the order that they have at the destination; empty if
          there is no such source
        - ``null-array``: the source has fewer elements than EXACTLY asks for
        """
        return self.execute_once(
            None,
            "LMOVEM",
            source,
            destination,
            mode,
            mode2,
            *_block({}, {"count": count, "exactly": exactly, "obo": obo, "bulk": bulk},
                *_option("COUNT", count), *_option("EXACTLY", exactly), *_flag("OBO", obo),
                *_flag("BULK", bulk)),
        )

    def msetex(
        self, *items: tuple[KeyT, EncodableT], nx: bool = False, xx: bool = False,
        ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]:
        """Sets the string values of one or more keys and optionally their expiration, with NX only
        if none of them exists, with XX only if all do.

        ::

            MSETEX numkeys key value [key value ...] [NX|XX] [EX seconds|PX milliseconds|EXAT
            unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]

        - ``integer``: 1 if all keys were set, 0 if none was, because NX or XX did not hold for one
          of them
        """
        return self.execute_command(
            "MSETEX",
            len(items),
            *_flat(items),
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("KEEPTTL", keepttl),
        )

    def pexpirememberat(
        self, key: KeyT, member: EncodableT, unix_time_milliseconds: int,
    ) -> Awaitable[int]:
        """Sets the deadline of a member of a set, hash or sorted set to a Unix time in
        milliseconds.

        ``PEXPIREMEMBERAT key member unix-time-milliseconds``

        - ``integer``: 1 if the deadline was set, 0 if there is no such key or member
        """
        return self.execute_command("PEXPIREMEMBERAT", key, member, unix_time_milliseconds)

    def policy_del(self, name: EncodableT) -> Awaitable[int]:
        """Deletes a policy. Deadlines that it set do not change.

        ``POLICY DEL name``

        - ``integer``: 1 if the policy was removed, 0 if there is none of this name
        """
        return self.execute_command("POLICY DEL", name)

    def policy_get(self, name: EncodableT) -> Awaitable[dict[Bulk, int | Bulk] | None]:
        """Returns the options of a policy.

        ``POLICY GET name``

        - ``map[bulk integer|bulk ...]``: the options that do not have their default, and their
          values
        - ``null``: there is no policy of this name
        """
        return self.execute_command("POLICY GET", name)

    def policy_list(self) -> Awaitable[dict[Bulk, dict[Bulk, int | Bulk]]]:
        """Returns all policies, sorted by name.

        ``POLICY LIST``

        - ``map[bulk map[bulk integer|bulk ...] ...]``: each policy's name and options
        """
        return self.execute_command("POLICY LIST")

    def policy_of(self, key: KeyT) -> Awaitable[Bulk | None]:
        """Returns the name of the policy that applies to a key, whether the key exists or not.

        ``POLICY OF key``

        - ``bulk``: the name of the policy that applies to the key
        - ``null``: no policy applies to it
        """
        return self.execute_command("POLICY OF", key)

    def policy_set(
        self, name: EncodableT, *, ttl: EncodableT | None = None, maxttl: EncodableT | None = None,
        jitter: int | None = None, refresh: Literal["NEVER", "WRITE", "ACCESS"] | None = None,
        memberttl: EncodableT | None = None, maxlen: int | None = None,
        keep: Literal["HIGH", "LOW"] | None = None, retain: EncodableT | None = None,
        maxdeliveries: int | None = None, maxdeliveries_to: EncodableT | None = None,
        backoff: EncodableT | None = None, backoff_max_delay: EncodableT | None = None,
        backoff_jitter: int | None = None, rate: int | None = None,
        rate_per: EncodableT | None = None, claimed: int | None = None, fair: bool = False,
        expired_to: EncodableT | None = None, expired_value: bool = False,
        expired_value_max: EncodableT | None = None, option: EncodableT | None = None,
    ) -> Awaitable[bool]:
        """Sets options of a policy: rules of expiration and length for the keys with a prefix, or
        for one key. Options that are not named stay; option NONE removes one. Durations: 5000,
        5000ms, 5s, 5m, 5h, 5d.

        ::

            POLICY SET name [TTL duration] [MAXTTL duration] [JITTER percent] [REFRESH <NEVER |
            WRITE | ACCESS>] [MEMBERTTL duration] [MAXLEN count] [KEEP <HIGH | LOW>] [RETAIN
            duration] [MAXDELIVERIES count TO dead-key] [BACKOFF first-delay max-delay [JITTER
            percent]] [RATE count PER duration] [CLAIMED count] [FAIR] [EXPIRED TO log-key
            [VALUE [MAX bytes]]] [option NONE]

        - ``OK``: the policy was set
        """
        return self.execute_command(
            "POLICY SET",
            name,
            *_option("TTL", ttl),
            *_option("MAXTTL", maxttl),
            *_option("JITTER", jitter),
            *_option("REFRESH", refresh),
            *_option("MEMBERTTL", memberttl),
            *_option("MAXLEN", maxlen),
            *_option("KEEP", keep),
            *_option("RETAIN", retain),
            *_block({"maxdeliveries": maxdeliveries, "maxdeliveries_to": maxdeliveries_to}, {},
                "MAXDELIVERIES", maxdeliveries, "TO", maxdeliveries_to),
            *_block({"backoff": backoff, "backoff_max_delay": backoff_max_delay}, {"backoff_jitter":
                backoff_jitter}, "BACKOFF", backoff, backoff_max_delay, *_option("JITTER",
                backoff_jitter)),
            *_block({"rate": rate, "rate_per": rate_per}, {}, "RATE", rate, "PER", rate_per),
            *_option("CLAIMED", claimed),
            *_flag("FAIR", fair),
            *_block({"expired_to": expired_to}, {"expired_value": expired_value,
                "expired_value_max": expired_value_max}, "EXPIRED", "TO", expired_to, *_block({},
                {"expired_value": expired_value, "expired_value_max": expired_value_max}, "VALUE",
                *_option("MAX", expired_value_max))),
            *_block({"option": option}, {}, option, "NONE"),
        )

    def policy_stats(self, name: EncodableT) -> Awaitable[PolicyStatsReply | None]:
        """Returns how many keys of a policy were set, and how many expired unread or after reads.

        ``POLICY STATS name``

        - ``map['set' integer 'expired-unread' integer 'expired-read' integer 'expired-misses'
          integer]``: keys set under the policy; keys that expired without a read since they were
          set; keys that expired after one; reads of keys that were known to have expired
        - ``null``: there is no policy of this name
        """
        return self.execute_command("POLICY STATS", name)

    def rede_ack(self, key: KeyT, *items: tuple[EncodableT, EncodableT]) -> Awaitable[int]:
        """Removes the elements whose claims still have the given tokens.

        ``REDE.ACK key id token [id token ...]``

        - ``integer``: the number of claims that still had their token; their elements are removed,
          or due again if they have EVERY or CRON
        """
        return self.execute_command("REDE.ACK", key, *_flat(items))

    @overload
    def rede_bpoll(
        self, key: KeyT, timeout: float, *, count: int | None = None,
        withids: Literal[False] = False,
    ) -> Awaitable[list[Bulk] | None]: ...

    @overload
    def rede_bpoll(
        self, key: KeyT, timeout: float, *, count: int | None = None, withids: Literal[True],
    ) -> Awaitable[list[tuple[Bulk, Bulk]] | None]: ...

    @overload
    def rede_bpoll(
        self, key: KeyT, timeout: float, *, count: int | None = None, withids: bool = False,
    ) -> Awaitable[list[Bulk] | list[tuple[Bulk, Bulk]] | None]: ...

    def rede_bpoll(
        self, key: KeyT, timeout: float, *, count: int | None = None, withids: bool = False,
    ) -> Awaitable[list[Bulk] | list[tuple[Bulk, Bulk]] | None]:
        """Removes and returns the elements that are due, earliest first, or blocks until one is
        due.

        ``REDE.BPOLL key timeout [COUNT count] [WITHIDS]``

        - ``[bulk ...]``: the payloads that were due, in order
        - ``[[bulk bulk] ...]``: with WITHIDS: ids and payloads
        - ``null-array``: the timeout was reached
        """
        return self.execute_once(
            timeout,
            "REDE.BPOLL",
            key,
            timeout,
            *_option("COUNT", count),
            *_flag("WITHIDS", withids),
        )

    @overload
    def rede_claim(
        self, key: KeyT, lease: int, *, count: int | None = None, block: float | None = None,
        tokens: Literal[False] = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, int]]]: ...

    @overload
    def rede_claim(
        self, key: KeyT, lease: int, *, count: int | None = None, block: float | None = None,
        tokens: Literal[True],
    ) -> Awaitable[list[tuple[Bulk, Bulk, int, int]]]: ...

    @overload
    def rede_claim(
        self, key: KeyT, lease: int, *, count: int | None = None, block: float | None = None,
        tokens: bool = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, int]] | list[tuple[Bulk, Bulk, int, int]]]: ...

    def rede_claim(
        self, key: KeyT, lease: int, *, count: int | None = None, block: float | None = None,
        tokens: bool = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, int]] | list[tuple[Bulk, Bulk, int, int]]]:
        """Returns the elements that are due and hides them for lease milliseconds.

        ``REDE.CLAIM key lease [COUNT count] [BLOCK timeout] [TOKENS]``

        - ``[[bulk bulk integer] ...]``: id, payload and number of deliveries of each claimed
          element; empty if none is due, even after the timeout of BLOCK
        - ``[[bulk bulk integer integer] ...]``: with TOKENS: the same, and the token of each claim
        """
        return self.execute_once(
            block,
            "REDE.CLAIM",
            key,
            lease,
            *_option("COUNT", count),
            *_option("BLOCK", block),
            *_flag("TOKENS", tokens),
        )

    def rede_count(self, key: KeyT, min: EncodableT, max: EncodableT) -> Awaitable[int]:
        """Returns the number of elements that are due between two Unix times in milliseconds.

        ``REDE.COUNT key min max``

        - ``integer``: the number of elements that are due between the two instants
        """
        return self.execute_command("REDE.COUNT", key, min, max)

    def rede_extend(
        self, key: KeyT, lease: int, *items: tuple[EncodableT, EncodableT],
    ) -> Awaitable[int]:
        """Extends the leases of the claims that still have the given tokens, even leases that have
        ended.

        ``REDE.EXTEND key lease id token [id token ...]``

        - ``integer``: the number of claims that still had their token; their leases end lease
          milliseconds from now
        """
        return self.execute_command("REDE.EXTEND", key, lease, *_flat(items))

    @overload
    def rede_fairclaim(
        self, prefix: EncodableT, lease: int, *, count: int | None = None,
        block: float | None = None, tokens: Literal[False] = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, Bulk, int]]]: ...

    @overload
    def rede_fairclaim(
        self, prefix: EncodableT, lease: int, *, count: int | None = None,
        block: float | None = None, tokens: Literal[True],
    ) -> Awaitable[list[tuple[Bulk, Bulk, Bulk, int, int]]]: ...

    @overload
    def rede_fairclaim(
        self, prefix: EncodableT, lease: int, *, count: int | None = None,
        block: float | None = None, tokens: bool = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, Bulk, int]] | list[tuple[Bulk, Bulk, Bulk, int, int]]]: ...

    def rede_fairclaim(
        self, prefix: EncodableT, lease: int, *, count: int | None = None,
        block: float | None = None, tokens: bool = False,
    ) -> Awaitable[list[tuple[Bulk, Bulk, Bulk, int]] | list[tuple[Bulk, Bulk, Bulk, int, int]]]:
        """Claims due elements of the dehydrators with a prefix, one of each in turn.

        ``REDE.FAIRCLAIM prefix lease [COUNT count] [BLOCK timeout] [TOKENS]``

        - ``[[bulk bulk bulk integer] ...]``: key, id, payload and number of deliveries of each
          claimed element; empty if none is due, even after the timeout of BLOCK
        - ``[[bulk bulk bulk integer integer] ...]``: with TOKENS: the same, and the token of each
          claim
        """
        return self.execute_once(
            block,
            "REDE.FAIRCLAIM",
            prefix,
            lease,
            *_option("COUNT", count),
            *_option("BLOCK", block),
            *_flag("TOKENS", tokens),
        )

    def rede_fairinfo(self, prefix: EncodableT) -> Awaitable[RedeFairinfoReply | None]:
        """Returns figures of all dehydrators with a prefix.

        ``REDE.FAIRINFO prefix``

        - ``map['keys' integer 'due-keys' integer 'due' integer 'claimed' integer 'other-types'
          integer 'oldest-due-ms' integer|null]``: figures of the dehydrators with the prefix
        - ``null-array``: CLIENT UNBLOCK ended the wait
        """
        return self.execute_command("REDE.FAIRINFO", prefix)

    def rede_gidpush(
        self, key: KeyT, ttl: int, element: EncodableT, *, keep: bool = False,
        replace: bool = False, postpone: bool = False, postpone_atmost: int | None = None,
        remember: int | None = None, every: int | None = None, cron: EncodableT | None = None,
        cron_zone: EncodableT | None = None,
    ) -> Awaitable[Bulk]:
        """Adds an element to a dehydrator under a generated id and returns the id.

        ::

            REDE.GIDPUSH key ttl element [KEEP | REPLACE | POSTPONE [ATMOST milliseconds]]
            [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]

        - ``bulk``: the new id: 31 characters of 0-9 and A-Z
        """
        return self.execute_command(
            "REDE.GIDPUSH",
            key,
            ttl,
            element,
            *_flag("KEEP", keep),
            *_flag("REPLACE", replace),
            *_block({}, {"postpone": postpone, "postpone_atmost": postpone_atmost}, "POSTPONE",
                *_option("ATMOST", postpone_atmost)),
            *_option("REMEMBER", remember),
            *_option("EVERY", every),
            *_block({"cron": cron}, {"cron_zone": cron_zone}, "CRON", cron, *_option("ZONE",
                cron_zone)),
        )

    def rede_info(self, key: KeyT) -> Awaitable[RedeInfoReply]:
        """Returns the numbers of all, due and claimed elements, the next deadline, the memory used,
        the end of the pause, how many elements were delivered, and how late.

        ``REDE.INFO key``

        - ``map['length' integer 'due' integer 'claimed' integer 'redelivered' integer
          'next-deadline' integer|null 'distinct-ttls' integer 'bytes' integer 'paused-until'
          integer|null 'oldest-due-ms' integer|null 'pushed' integer 'delivered' integer 'acked'
          integer 'retried' integer 'dead' integer 'lateness-p50' integer|null 'lateness-p99'
          integer|null]``: figures; all 0 or null if there is no such key. A pause without end is
          -1; times are in milliseconds
        """
        return self.execute_command("REDE.INFO", key)

    def rede_len(self, key: KeyT, *, due: bool = False, claimed: bool = False) -> Awaitable[int]:
        """Returns the number of elements, or of those that are due or claimed.

        ``REDE.LEN key [DUE | CLAIMED]``

        - ``integer``: the number of elements, or of those that are due or claimed
        """
        return self.execute_command("REDE.LEN", key, *_flag("DUE", due), *_flag("CLAIMED", claimed))

    def rede_look(self, key: KeyT, id: EncodableT) -> Awaitable[Bulk | None]:
        """Returns an element by its id without removing it.

        ``REDE.LOOK key id``

        - ``bulk``: the payload
        - ``null``: there is no such key or id
        """
        return self.execute_command("REDE.LOOK", key, id)

    def rede_mpush(
        self, key: KeyT, *items: tuple[int, EncodableT, EncodableT], keep: bool = False,
        replace: bool = False, postpone: bool = False, postpone_atmost: int | None = None,
        remember: int | None = None, every: int | None = None, cron: EncodableT | None = None,
        cron_zone: EncodableT | None = None,
    ) -> Awaitable[int]:
        """Adds several elements to a dehydrator. Without KEEP, REPLACE or POSTPONE it adds none if
        an id exists or is given twice.

        ::

            REDE.MPUSH key ttl element id [ttl element id ...] [KEEP | REPLACE | POSTPONE
            [ATMOST milliseconds]] [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE
            zone]]

        - ``integer``: the number of elements added or replaced
        """
        return self.execute_command(
            "REDE.MPUSH",
            key,
            *_flat(items),
            *_flag("KEEP", keep),
            *_flag("REPLACE", replace),
            *_block({}, {"postpone": postpone, "postpone_atmost": postpone_atmost}, "POSTPONE",
                *_option("ATMOST", postpone_atmost)),
            *_option("REMEMBER", remember),
            *_option("EVERY", every),
            *_block({"cron": cron}, {"cron_zone": cron_zone}, "CRON", cron, *_option("ZONE",
                cron_zone)),
        )

    def rede_nack(self, key: KeyT, delay: int, *ids: EncodableT) -> Awaitable[int]:
        """Ends the claims of the given elements, which are due again in delay milliseconds.

        ``REDE.NACK key delay id [id ...]``

        - ``integer``: the number of claims given back
        """
        return self.execute_command("REDE.NACK", key, delay, *ids)

    def rede_pause(self, key: KeyT, *, until: int | None = None) -> Awaitable[bool]:
        """Stops the deliveries of a dehydrator, until a Unix time in milliseconds or until
        REDE.RESUME. Pushes and acknowledgements continue.

        ``REDE.PAUSE key [UNTIL unix-time-milliseconds]``

        - ``OK``: it delivers nothing from now on
        """
        return self.execute_command("REDE.PAUSE", key, *_option("UNTIL", until))

    @overload
    def rede_poll(
        self, key: KeyT, *, count: int | None = None, withids: Literal[False] = False,
    ) -> Awaitable[list[Bulk]]: ...

    @overload
    def rede_poll(
        self, key: KeyT, *, count: int | None = None, withids: Literal[True],
    ) -> Awaitable[list[tuple[Bulk, Bulk]]]: ...

    @overload
    def rede_poll(
        self, key: KeyT, *, count: int | None = None, withids: bool = False,
    ) -> Awaitable[list[Bulk] | list[tuple[Bulk, Bulk]]]: ...

    def rede_poll(
        self, key: KeyT, *, count: int | None = None, withids: bool = False,
    ) -> Awaitable[list[Bulk] | list[tuple[Bulk, Bulk]]]:
        """Removes and returns the elements that are due, earliest first.

        ``REDE.POLL key [COUNT count] [WITHIDS]``

        - ``[bulk ...]``: the payloads that were due, in order
        - ``[[bulk bulk] ...]``: with WITHIDS: ids and payloads
        """
        return self.execute_once(
            None,
            "REDE.POLL",
            key,
            *_option("COUNT", count),
            *_flag("WITHIDS", withids),
        )

    def rede_pull(
        self, key: KeyT, id: EncodableT, *, forget: bool = False,
    ) -> Awaitable[Bulk | None]:
        """Removes and returns an element by its id, whether it is due or not. With FORGET the id is
        not remembered, so that it can be pushed again at once.

        ``REDE.PULL key id [FORGET]``

        - ``bulk``: the payload
        - ``null``: there is no such key or id
        """
        return self.execute_once(None, "REDE.PULL", key, id, *_flag("FORGET", forget))

    def rede_push(
        self, key: KeyT, ttl: int, element: EncodableT, id: EncodableT, *, keep: bool = False,
        replace: bool = False, postpone: bool = False, postpone_atmost: int | None = None,
        remember: int | None = None, every: int | None = None, cron: EncodableT | None = None,
        cron_zone: EncodableT | None = None,
    ) -> Awaitable[bool | None]:
        """Adds an element to a dehydrator, due in ttl milliseconds.

        ::

            REDE.PUSH key ttl element id [KEEP | REPLACE | POSTPONE [ATMOST milliseconds]]
            [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]

        - ``OK``: the element was added, or replaces one of the same id
        - ``null``: the id exists and KEEP was given, or it is remembered and KEEP, REPLACE or
          POSTPONE was given
        """
        return self.execute_command(
            "REDE.PUSH",
            key,
            ttl,
            element,
            id,
            *_flag("KEEP", keep),
            *_flag("REPLACE", replace),
            *_block({}, {"postpone": postpone, "postpone_atmost": postpone_atmost}, "POSTPONE",
                *_option("ATMOST", postpone_atmost)),
            *_option("REMEMBER", remember),
            *_option("EVERY", every),
            *_block({"cron": cron}, {"cron_zone": cron_zone}, "CRON", cron, *_option("ZONE",
                cron_zone)),
        )

    def rede_pushat(
        self, key: KeyT, unix_time_milliseconds: int, element: EncodableT, id: EncodableT, *,
        keep: bool = False, replace: bool = False, postpone: bool = False,
        postpone_atmost: int | None = None, remember: int | None = None, every: int | None = None,
        cron: EncodableT | None = None, cron_zone: EncodableT | None = None,
    ) -> Awaitable[bool | None]:
        """Adds an element to a dehydrator, due at a Unix time in milliseconds.

        ::

            REDE.PUSHAT key unix-time-milliseconds element id [KEEP | REPLACE | POSTPONE [ATMOST
            milliseconds]] [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]

        - ``OK``: the element was added, or replaces one of the same id
        - ``null``: the id exists and KEEP was given, or it is remembered and KEEP, REPLACE or
          POSTPONE was given
        """
        return self.execute_command(
            "REDE.PUSHAT",
            key,
            unix_time_milliseconds,
            element,
            id,
            *_flag("KEEP", keep),
            *_flag("REPLACE", replace),
            *_block({}, {"postpone": postpone, "postpone_atmost": postpone_atmost}, "POSTPONE",
                *_option("ATMOST", postpone_atmost)),
            *_option("REMEMBER", remember),
            *_option("EVERY", every),
            *_block({"cron": cron}, {"cron_zone": cron_zone}, "CRON", cron, *_option("ZONE",
                cron_zone)),
        )

    def rede_range(
        self, key: KeyT, min: EncodableT, max: EncodableT, *, count: int | None = None,
    ) -> Awaitable[list[tuple[Bulk, int]]]:
        """Returns the ids and deadlines of the elements that are due between two Unix times in
        milliseconds.

        ``REDE.RANGE key min max [COUNT count]``

        - ``[[bulk integer] ...]``: ids and deadlines as Unix times in milliseconds, in order
        """
        return self.execute_command("REDE.RANGE", key, min, max, *_option("COUNT", count))

    def rede_reschedule(self, key: KeyT, ttl: int, *ids: EncodableT) -> Awaitable[int]:
        """Sets the deadlines of the given elements to ttl milliseconds from now.

        ``REDE.RESCHEDULE key ttl id [id ...]``

        - ``integer``: the number of elements whose deadline was moved
        """
        return self.execute_command("REDE.RESCHEDULE", key, ttl, *ids)

    def rede_resume(self, key: KeyT) -> Awaitable[bool]:
        """Ends the pause of a dehydrator and serves clients that wait for its elements.

        ``REDE.RESUME key``

        - ``OK``: it is not paused
        """
        return self.execute_command("REDE.RESUME", key)

    def rede_retry(
        self, key: KeyT, delay: EncodableT, *items: tuple[EncodableT, EncodableT],
        nocount: bool = False,
    ) -> Awaitable[int]:
        """Ends the claims that still have the given tokens. The elements are due again in delay
        milliseconds, after the BACKOFF of the key's policy, or now, before all that are due;
        with NOCOUNT the delivery does not count.

        ``REDE.RETRY key <delay | AUTO | FIRST> [NOCOUNT] id token [id token ...]``

        - ``integer``: the number of claims that still had their token, now given back
        """
        return self.execute_command(
            "REDE.RETRY",
            key,
            delay,
            *_flag("NOCOUNT", nocount),
            *_flat(items),
        )

    def rede_scan(
        self, key: KeyT, cursor: int, *, match: EncodableT | None = None, count: int | None = None,
    ) -> Awaitable[tuple[Bulk, list[tuple[Bulk, Bulk]]]]:
        """Returns some elements with their ids and the cursor for the next call. Begin with cursor
        0.

        ``REDE.SCAN key cursor [MATCH pattern] [COUNT count]``

        - ``[bulk [bulk bulk ...]]``: the next cursor, 0 at the end; ids, each with its payload
        """
        return self.execute_command(
            "REDE.SCAN",
            key,
            cursor,
            *_option("MATCH", match),
            *_option("COUNT", count),
        )

    def rede_ttn(self, key: KeyT) -> Awaitable[int | None]:
        """Returns the milliseconds until the next element is due.

        ``REDE.TTN key``

        - ``integer``: the milliseconds until the next element is due; 0 if one is due
        - ``null``: there are no elements
        """
        return self.execute_command("REDE.TTN", key)

    def rede_update(self, key: KeyT, id: EncodableT, element: EncodableT) -> Awaitable[Bulk]:
        """Replaces the payload of an element and returns the old one. The deadline does not change.

        ``REDE.UPDATE key id element``

        - ``bulk``: the old payload
        """
        return self.execute_command("REDE.UPDATE", key, id, element)

    def rede_xack(self, key: KeyT, *ids: EncodableT) -> Awaitable[list[Bulk | None]]:
        """Removes and returns those of the given elements that are due or claimed.

        ``REDE.XACK key id [id ...]``

        - ``[bulk|null ...]``: the payloads of the elements removed; null for an id that is absent
          or not yet due
        """
        return self.execute_once(None, "REDE.XACK", key, *ids)

    def rede_xpoll(self, key: KeyT, *, count: int | None = None) -> Awaitable[list[Bulk]]:
        """Returns the ids of the elements that are due, earliest first.

        ``REDE.XPOLL key [COUNT count]``

        - ``[bulk ...]``: the ids of the elements that are due, in order
        """
        return self.execute_command("REDE.XPOLL", key, *_option("COUNT", count))

    @overload
    def saddex(
        self, key: KeyT, *members: EncodableT, mnx: Literal[False] = False, mxx: bool = False,
        ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]: ...

    @overload
    def saddex(
        self, key: KeyT, *members: EncodableT, mnx: Literal[True], mxx: bool = False,
        ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]: ...

    @overload
    def saddex(
        self, key: KeyT, *members: EncodableT, mnx: bool = False, mxx: bool = False,
        ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]: ...

    def saddex(
        self, key: KeyT, *members: EncodableT, mnx: bool = False, mxx: bool = False,
        ex: int | None = None, px: int | None = None, exat: int | None = None,
        pxat: int | None = None, keepttl: bool = False,
    ) -> Awaitable[int]:
        """Adds members to a set, with a deadline. MNX adds them only if all are new, MXX only if
        all exist. Existing members receive the deadline too. Without a deadline they lose
        theirs, unless KEEPTTL is given.

        ::

            SADDEX key [MNX|MXX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-
            time-milliseconds] [KEEPTTL] <seconds member [member ...]|MEMBERS nummembers member
            [member ...]>

        - ``integer``: the number of members added
        - ``integer``: with MNX or MXX, or without a deadline: 1 if the members were set, 0 if the
          condition does not hold
        """
        return self.execute_command(
            "SADDEX",
            key,
            *_flag("MNX", mnx),
            *_flag("MXX", mxx),
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("KEEPTTL", keepttl),
            "MEMBERS",
            len(members),
            *members,
        )

    def sdiffcard(self, *keys: KeyT, limit: int | None = None) -> Awaitable[int]:
        """Returns the number of members of the first set that are in none of the others, up to a
        limit.

        ``SDIFFCARD numkeys key [key ...] [LIMIT limit]``

        - ``integer``: the number of members of the first set that are in none of the others, at
          most LIMIT
        """
        return self.execute_command("SDIFFCARD", len(keys), *keys, *_option("LIMIT", limit))

    def sexpire(
        self, key: KeyT, seconds: int, *members: EncodableT, nx: bool = False, xx: bool = False,
        gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of members of a set in seconds.

        ``SEXPIRE key seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "SEXPIRE",
            key,
            seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def sexpireat(
        self, key: KeyT, unix_time_seconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of members of a set to a Unix time in seconds.

        ::

            SEXPIREAT key unix-time-seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "SEXPIREAT",
            key,
            unix_time_seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def sexpiretime(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of members of a set as Unix times in seconds.

        ``SEXPIRETIME key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, its deadline as a Unix time in seconds, rounded up; -1
          without a deadline, -2 if there is no such key or member
        """
        return self.execute_command("SEXPIRETIME", key, "MEMBERS", len(members), *members)

    def softttl(self, key: KeyT) -> Awaitable[int]:
        """Returns the time left until a string becomes stale, in milliseconds.

        ``SOFTTTL key``

        - ``integer``: milliseconds to the soft deadline, 0 after it; -1 if the key has none, -2 if
          there is no such key
        """
        return self.execute_command("SOFTTTL", key)

    def spersist(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Removes the deadlines of members of a set.

        ``SPERSIST key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if a deadline was removed, -1 if there was none, -2
          if there is no such key or member
        """
        return self.execute_command("SPERSIST", key, "MEMBERS", len(members), *members)

    def spexpire(
        self, key: KeyT, milliseconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of members of a set in milliseconds.

        ``SPEXPIRE key milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "SPEXPIRE",
            key,
            milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def spexpireat(
        self, key: KeyT, unix_time_milliseconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of members of a set to a Unix time in milliseconds.

        ::

            SPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] MEMBERS nummembers member
            [member ...]

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "SPEXPIREAT",
            key,
            unix_time_milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def spexpiretime(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of members of a set as Unix times in milliseconds.

        ``SPEXPIRETIME key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, its deadline as a Unix time in milliseconds; -1
          without a deadline, -2 if there is no such key or member
        """
        return self.execute_command("SPEXPIRETIME", key, "MEMBERS", len(members), *members)

    def spttl(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of members of a set in milliseconds.

        ``SPTTL key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, the milliseconds left; -1 without a deadline, -2 if
          there is no such key or member
        """
        return self.execute_command("SPTTL", key, "MEMBERS", len(members), *members)

    def stale(self, *keys: KeyT) -> Awaitable[int]:
        """Makes strings stale now, if they are not yet.

        ``STALE key [key ...]``

        - ``integer``: the number of keys that exist; all are stale now
        """
        return self.execute_command("STALE", *keys)

    def sttl(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of members of a set in seconds.

        ``STTL key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, the seconds left, rounded up; -1 without a deadline,
          -2 if there is no such key or member
        """
        return self.execute_command("STTL", key, "MEMBERS", len(members), *members)

    def sunioncard(
        self, *keys: KeyT, approx: bool = False, limit: int | None = None,
    ) -> Awaitable[int]:
        """Returns the number of members in the union of sets, up to a limit. It is exact even with
        APPROX.

        ``SUNIONCARD numkeys key [key ...] [APPROX] [LIMIT limit]``

        - ``integer``: the number of members in any of the sets, at most LIMIT
        """
        return self.execute_command(
            "SUNIONCARD",
            len(keys),
            *keys,
            *_flag("APPROX", approx),
            *_option("LIMIT", limit),
        )

    def waitaof(
        self, numlocal: int, numreplicas: int, timeout: float,
    ) -> Awaitable[tuple[int, int]]:
        """Waits until the journals of this server, if numlocal is 1, and of numreplicas replicas
        have synced this client's writes, or until the timeout.

        ``WAITAOF numlocal numreplicas timeout``

        - ``[integer integer]``: 1 if the journal of this server has synced the client's writes,
          else 0; and the number of replicas whose journals have synced them
        """
        return self.execute_once(_seconds(timeout), "WAITAOF", numlocal, numreplicas, timeout)

    def xackdel(
        self, key: KeyT, group: EncodableT, *ids: EncodableT, keepref: bool = False,
        delref: bool = False, acked: bool = False,
    ) -> Awaitable[list[int]]:
        """Acknowledges entries for a group, and removes them from the stream.

        ``XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]``

        - ``[integer ...]``: for each ID 1 if it was acknowledged and the entry removed, -1 if it
          was not pending, 2 if another group still needs the entry (ACKED)
        """
        return self.execute_command(
            "XACKDEL",
            key,
            group,
            *_flag("KEEPREF", keepref),
            *_flag("DELREF", delref),
            *_flag("ACKED", acked),
            "IDS",
            len(ids),
            *ids,
        )

    def xcfgset(
        self, key: KeyT, *, idmp_duration: int | None = None, idmp_maxsize: int | None = None,
    ) -> Awaitable[bool]:
        """Sets how long a stream remembers entries that XADD with IDMP or IDMPAUTO has added
        (default: 100 seconds), and how many for each producer (100). A change forgets all of
        them.

        ``XCFGSET key [IDMP-DURATION seconds] [IDMP-MAXSIZE count]``

        - ``OK``: it was set
        """
        return self.execute_command(
            "XCFGSET",
            key,
            *_option("IDMP-DURATION", idmp_duration),
            *_option("IDMP-MAXSIZE", idmp_maxsize),
        )

    def xdelex(
        self, key: KeyT, *ids: EncodableT, keepref: bool = False, delref: bool = False,
        acked: bool = False,
    ) -> Awaitable[list[int]]:
        """Removes entries from a stream, and on request from the pending lists of all groups, or
        only entries that no group needs any more.

        ``XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]``

        - ``[integer ...]``: for each ID 1 if the entry was removed, -1 if there is none, 2 if a
          group still needs it (ACKED)
        """
        return self.execute_command(
            "XDELEX",
            key,
            *_flag("KEEPREF", keepref),
            *_flag("DELREF", delref),
            *_flag("ACKED", acked),
            "IDS",
            len(ids),
            *ids,
        )

    def xidmprecord(
        self, key: KeyT, producer_id: EncodableT, idempotent_id: EncodableT, id: EncodableT,
    ) -> Awaitable[bool]:
        """Records that XADD with IDMP has added an entry. Used by replication and journals.

        ``XIDMPRECORD key producer-id idempotent-id id``

        - ``OK``: it is remembered
        """
        return self.execute_command("XIDMPRECORD", key, producer_id, idempotent_id, id)

    def xnack(
        self, key: KeyT, group: EncodableT, mode: Literal["SILENT", "FAIL", "FATAL"],
        *ids: EncodableT, delay: int | None = None, retrycount: int | None = None,
        force: bool = False,
    ) -> Awaitable[int]:
        """Releases pending entries, so that any consumer can claim them, at once or after a delay.
        With SILENT the delivery does not count; FATAL sets the number of deliveries to its
        maximum.

        ::

            XNACK key group <SILENT | FAIL | FATAL> [DELAY milliseconds] [RETRYCOUNT count]
            [FORCE] IDS numids id [id ...]

        - ``integer``: the number of entries released
        """
        return self.execute_command(
            "XNACK",
            key,
            group,
            mode,
            *_option("DELAY", delay),
            *_option("RETRYCOUNT", retrycount),
            *_flag("FORCE", force),
            "IDS",
            len(ids),
            *ids,
        )

    def zaddex(
        self, key: KeyT, *items: tuple[float, EncodableT], ex: int | None = None,
        px: int | None = None, exat: int | None = None, pxat: int | None = None,
        keepttl: bool = False, nx: bool = False, xx: bool = False, gt: bool = False,
        lt: bool = False, ch: bool = False,
    ) -> Awaitable[int]:
        """Adds members with a deadline to a sorted set, or updates their scores. Existing members
        receive the deadline too, unless KEEPTTL is given.

        ::

            ZADDEX key <EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-
            milliseconds> [KEEPTTL] [NX|XX] [GT|LT] [CH] score member [score member ...]

        - ``integer``: the number of members added; with CH, of members added, with a changed score,
          or removed because the deadline has passed
        """
        return self.execute_command(
            "ZADDEX",
            key,
            *_option("EX", ex),
            *_option("PX", px),
            *_option("EXAT", exat),
            *_option("PXAT", pxat),
            *_flag("KEEPTTL", keepttl),
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            *_flag("CH", ch),
            *_flat(items),
        )

    def zexpire(
        self, key: KeyT, seconds: int, *members: EncodableT, nx: bool = False, xx: bool = False,
        gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of members of a sorted set in seconds.

        ``ZEXPIRE key seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "ZEXPIRE",
            key,
            seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def zexpireat(
        self, key: KeyT, unix_time_seconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of members of a sorted set to a Unix time in seconds.

        ::

            ZEXPIREAT key unix-time-seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "ZEXPIREAT",
            key,
            unix_time_seconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def zexpiretime(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of members of a sorted set as Unix times in seconds.

        ``ZEXPIRETIME key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, its deadline as a Unix time in seconds, rounded up; -1
          without a deadline, -2 if there is no such key or member
        """
        return self.execute_command("ZEXPIRETIME", key, "MEMBERS", len(members), *members)

    def zpersist(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Removes the deadlines of members of a sorted set.

        ``ZPERSIST key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if a deadline was removed, -1 if there was none, -2
          if there is no such key or member
        """
        return self.execute_command("ZPERSIST", key, "MEMBERS", len(members), *members)

    def zpexpire(
        self, key: KeyT, milliseconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the time to live of members of a sorted set in milliseconds.

        ``ZPEXPIRE key milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "ZPEXPIRE",
            key,
            milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def zpexpireat(
        self, key: KeyT, unix_time_milliseconds: int, *members: EncodableT, nx: bool = False,
        xx: bool = False, gt: bool = False, lt: bool = False,
    ) -> Awaitable[list[int]]:
        """Sets the deadline of members of a sorted set to a Unix time in milliseconds.

        ::

            ZPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] MEMBERS nummembers member
            [member ...]

        - ``[integer ...]``: for each member, 1 if the deadline was set, 2 if it is past and the
          member was removed, 0 if the condition did not hold, -2 if there is no such key or member
        """
        return self.execute_command(
            "ZPEXPIREAT",
            key,
            unix_time_milliseconds,
            *_flag("NX", nx),
            *_flag("XX", xx),
            *_flag("GT", gt),
            *_flag("LT", lt),
            "MEMBERS",
            len(members),
            *members,
        )

    def zpexpiretime(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the deadlines of members of a sorted set as Unix times in milliseconds.

        ``ZPEXPIRETIME key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, its deadline as a Unix time in milliseconds; -1
          without a deadline, -2 if there is no such key or member
        """
        return self.execute_command("ZPEXPIRETIME", key, "MEMBERS", len(members), *members)

    def zpttl(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of members of a sorted set in milliseconds.

        ``ZPTTL key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, the milliseconds left; -1 without a deadline, -2 if
          there is no such key or member
        """
        return self.execute_command("ZPTTL", key, "MEMBERS", len(members), *members)

    def zttl(self, key: KeyT, *members: EncodableT) -> Awaitable[list[int]]:
        """Returns the remaining time to live of members of a sorted set in seconds.

        ``ZTTL key MEMBERS nummembers member [member ...]``

        - ``[integer ...]``: for each member, the seconds left, rounded up; -1 without a deadline,
          -2 if there is no such key or member
        """
        return self.execute_command("ZTTL", key, "MEMBERS", len(members), *members)
