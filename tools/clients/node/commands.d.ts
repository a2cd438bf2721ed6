// Made from the command table by make reference.

export type Key = string | Buffer;
export type Argument = string | Buffer | number;

/** The methods; T is the type of strings in replies. */
export interface Commands<T> {
    /**
     * Moves elements from an end of a list to an end of another one and returns them. Blocks until
     * there is one, or with EXACTLY until there are that many.
     *
     *     BLMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT count|EXACTLY
     *     count> <OBO | BULK>]
     *
     * - `[bulk ...]`: the elements, in the order that they have at the destination
     * - `null-array`: the timeout was reached
     */
    blmovem(
        source: Key,
        destination: Key,
        mode: 'LEFT' | 'RIGHT',
        mode2: 'LEFT' | 'RIGHT',
        timeout: number,
        options?: { count?: number; exactly?: number; obo?: boolean; bulk?: boolean },
    ): Promise<Array<T> | null>;
    /**
     * Moves the members whose scores are at most the current Unix time in seconds to the tail of a
     * list, lowest first, or blocks until there is one.
     *
     *     BZTSMOVE key destination count timeout
     *
     * - `[bulk ...]`: the members that were moved
     * - `null-array`: the timeout was reached
     */
    bztsmove(key: Key, destination: Key, count: number, timeout: number): Promise<Array<T> | null>;
    /**
     * Removes and returns the members whose scores are at most the current Unix time in seconds,
     * lowest first, or blocks until there is one.
     *
     *     BZTSPOP key count timeout
     *
     * - `RESP2 [bulk bulk ...]`: members, each followed by its score
     * - `RESP3 [[bulk double] ...]`: members with their scores
     * - `null-array`: the timeout was reached
     */
    bztspop(key: Key, count: number, timeout: number): Promise<Array<readonly [T, number]> | null>;
    /**
     * Limits the rate of actions: after a burst, count actions per period, evenly spaced. A
     * quantity of 0 changes nothing.
     *
     *     CL.THROTTLE key max-burst count period-seconds [quantity]
     *
     * - `[integer integer integer integer integer]`: 1 if the actions are refused, else 0; the most
     *   actions at once; how many are left; seconds until the same call is allowed, -1 if it was
     *   allowed or never will be; seconds until all are available again
     */
    clThrottle(
        key: Key,
        maxBurst: Argument,
        count: number,
        periodSeconds: Argument,
        options?: { quantity?: Argument },
    ): Promise<readonly [number, number, number, number, number]>;
    /**
     * Limits the rate of actions as CL.THROTTLE does, with times in milliseconds.
     *
     *     CL.THROTTLEMS key max-burst count period-milliseconds [quantity]
     *
     * - `[integer integer integer integer integer]`: as CL.THROTTLE, with times in milliseconds
     */
    clThrottlems(
        key: Key,
        maxBurst: Argument,
        count: number,
        periodMilliseconds: Argument,
        options?: { quantity?: Argument },
    ): Promise<readonly [number, number, number, number, number]>;
    /**
     * Admits at most limit requests in any window of this length. Refused requests do not count.
     *
     *     CL.WINDOW key limit window-milliseconds [quantity]
     *
     * - `[integer integer integer integer integer]`: 1 if the requests are refused, else 0; the
     *   limit; how many are left; milliseconds until the same call is allowed, -1 if it was
     *   allowed; milliseconds until the window is empty
     */
    clWindow(
        key: Key,
        limit: number,
        windowMilliseconds: Argument,
        options?: { quantity?: Argument },
    ): Promise<readonly [number, number, number, number, number]>;
    /**
     * Moves a stepped clock forward and stops it. Everything that becomes due on the way happens in
     * order before the reply.
     *
     *     CLOCK ADVANCE milliseconds
     *
     * - `integer`: the server's time in milliseconds
     */
    clockAdvance(milliseconds: number): Promise<number>;
    /**
     * Stops a stepped clock that runs.
     *
     *     CLOCK FREEZE
     *
     * - `integer`: the server's time in milliseconds
     */
    clockFreeze(): Promise<number>;
    /**
     * Returns the server's time.
     *
     *     CLOCK GET
     *
     * - `integer`: the server's time in milliseconds
     */
    clockGet(): Promise<number>;
    /**
     * Lets a stepped clock run from where it stands.
     *
     *     CLOCK RUN
     *
     * - `integer`: the server's time in milliseconds
     */
    clockRun(): Promise<number>;
    /**
     * Sets and stops a stepped clock. If it moves forward, everything that becomes due on the way
     * happens in order before the reply.
     *
     *     CLOCK SET unix-time-milliseconds
     *
     * - `integer`: the server's time in milliseconds
     */
    clockSet(unixTimeMilliseconds: number): Promise<number>;
    /**
     * Lists the next instants of a schedule by the calendar in a time zone, after now or after
     * FROM.
     *
     *     CRON.NEXT spec [ZONE zone] [FROM unix-time-milliseconds] [COUNT count]
     *
     * - `[integer ...]`: the next instants, as Unix times in milliseconds
     */
    cronNext(
        spec: Argument,
        options?: { zone?: Argument; from_?: number; count?: number },
    ): Promise<Array<number>>;
    /**
     * Deletes a key of any type, or, with a condition, a string whose value or digest is equal to
     * the given one, or is not.
     *
     *     DELEX key [IFEQ comparison-value|IFNE comparison-value|IFDEQ comparison-digest|IFDNE
     *     comparison-digest]
     *
     * - `integer`: 1 if the key was deleted, 0 if the condition does not hold or there is no such
     *   key
     */
    delex(
        key: Key,
        options?: { ifeq?: Argument; ifne?: Argument; ifdeq?: Argument; ifdne?: Argument },
    ): Promise<number>;
    /**
     * Deletes a key if its string value is equal to the given one.
     *
     *     DELIFEQ key value
     *
     * - `integer`: 1 if the key was deleted, 0 if it has another value or does not exist
     */
    delifeq(key: Key, value: Argument): Promise<number>;
    /**
     * Returns the digest (XXH3, 64 bits) of a string value.
     *
     *     DIGEST key
     *
     * - `bulk`: the digest, 16 hexadecimal digits
     * - `null`: there is no such key
     */
    digest(key: Key): Promise<T | null>;
    /**
     * Sets the time to live of a member of a set, hash or sorted set, in seconds (unit s) or
     * milliseconds (ms).
     *
     *     EXPIREMEMBER key member delay [unit]
     *
     * - `integer`: 1 if the deadline was set, 0 if there is no such key or member
     */
    expiremember(
        key: Key,
        member: Argument,
        delay: number,
        options?: { unit?: Argument },
    ): Promise<number>;
    /**
     * Sets the deadline of a member of a set, hash or sorted set to a Unix time in seconds.
     *
     *     EXPIREMEMBERAT key member unix-time-seconds
     *
     * - `integer`: 1 if the deadline was set, 0 if there is no such key or member
     */
    expirememberat(key: Key, member: Argument, unixTimeSeconds: number): Promise<number>;
    /**
     * Counts the keys, members and elements of the selected database by the time left to their
     * deadlines.
     *
     *     EXPIRY FORECAST
     *
     * - `[[bulk integer integer integer] ...]`: for each span (1s, 10s, 1m, 10m, 1h, 1d, later,
     *   never) its name, and how many keys, members and elements of dehydrators are due in it and
     *   in no shorter one
     */
    expiryForecast(): Promise<Array<readonly [T, number, number, number]>>;
    /**
     * Returns how late expired data was removed: percentiles in milliseconds.
     *
     *     EXPIRY LAG
     *
     * - `map['p50' integer 'p90' integer 'p99' integer 'p99.9' integer 'max' integer 'count'
     *   integer]`: percentiles of the time between deadline and removal, the maximum, and the
     *   number of removals
     */
    expiryLag(
    ): Promise<{ 'p50': number; 'p90': number; 'p99': number; 'p99.9': number; 'max': number; 'count': number }>;
    /**
     * Returns the next deadlines of the selected database, one for each key.
     *
     *     EXPIRY NEXT [count]
     *
     * - `[[bulk integer 'key'|'member'|'field'|'element'|'entry'|'holder'] ...]`: key, deadline as
     *   Unix time in milliseconds, and what is due
     */
    expiryNext(
        options?: { count?: number },
    ): Promise<Array<readonly [T, number, 'key' | 'member' | 'field' | 'element' | 'entry' | 'holder']>>;
    /**
     * Tells who set the deadline of a key or member, or what ended it.
     *
     *     EXPIRY WHY key [MEMBER member]
     *
     * - `map['state' 'live'|'overdue'|'missing' 'deadline' integer|null 'db' integer 'hash' bulk
     *   'since' integer 'shared' integer 'records' [map['what' bulk 'at' integer 'deadline'
     *   integer|null 'before' integer|null 'late-ms' integer|null 'by' bulk 'policy' bulk|null
     *   'option' bulk|null 'command' bulk|null 'script' integer 'client-id' integer|null
     *   'client-name' bulk|null 'user' bulk|null 'memory' integer|null 'to-db' integer|null
     *   'to-hash' bulk|null] ...]]`: the state and the deadline of the key or member ('overdue':
     *   expired and still kept), and what is recorded of it, newest first; 'before' is null if
     *   there was none or it is not known
     */
    expiryWhy(
        key: Key,
        options?: { member?: Argument },
    ): Promise<{ 'state': 'live' | 'overdue' | 'missing'; 'deadline': number | null; 'db': number; 'hash': T; 'since': number; 'shared': number; 'records': Array<{ 'what': T; 'at': number; 'deadline': number | null; 'before': number | null; 'late-ms': number | null; 'by': T; 'policy': T | null; 'option': T | null; 'command': T | null; 'script': number; 'client-id': number | null; 'client-name': T | null; 'user': T | null; 'memory': number | null; 'to-db': number | null; 'to-hash': T | null }> }>;
    /**
     * Sets the time to live of fields of a hash or members of a set in seconds.
     *
     *     FIELDEXPIRE key seconds field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if the deadline was set, -2 if there is no such key or
     *   field
     */
    fieldexpire(
        key: Key,
        seconds: number,
        fields: Argument | readonly Argument[],
    ): Promise<Array<number>>;
    /**
     * Returns the remaining time to live of a field of a hash or a member of a set in seconds.
     *
     *     FIELDTTL key field
     *
     * - `integer`: the seconds left; -1 without a deadline, -2 if there is no such key, -3 if there
     *   is no such field
     */
    fieldttl(key: Key, field: Argument): Promise<number>;
    /**
     * Returns a string and whether it is stale, and chooses one client to load a new value.
     *
     *     GETFRESH key [EARLY milliseconds] [LEASE milliseconds] [WAIT milliseconds]
     *
     * - `[bulk|null bulk]`: the string, null if there is none, and its state: 'fresh', 'stale',
     *   'refresh' (the caller should load a new one), 'fill' (there is none, and the caller should
     *   load it) or 'missing' (there is none, and another client is loading it)
     */
    getfresh(
        key: Key,
        options?: { early?: number; lease?: number; wait?: number },
    ): Promise<readonly [T | null, T]>;
    /**
     * Sets the time to live of fields of a hash in seconds.
     *
     *     HEXPIRE key seconds [NX|XX|GT|LT] FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if the deadline was set, 2 if it is past and the field
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or field
     */
    hexpire(
        key: Key,
        seconds: number,
        fields: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of fields of a hash to a Unix time in seconds.
     *
     *     HEXPIREAT key unix-time-seconds [NX|XX|GT|LT] FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if the deadline was set, 2 if it is past and the field
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or field
     */
    hexpireat(
        key: Key,
        unixTimeSeconds: number,
        fields: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of fields of a hash as Unix times in seconds.
     *
     *     HEXPIRETIME key FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, its deadline as a Unix time in seconds, rounded up; -1
     *   without a deadline, -2 if there is no such key or field
     */
    hexpiretime(key: Key, fields: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Removes one or more fields from a hash and returns their values.
     *
     *     HGETDEL key FIELDS numfields field [field ...]
     *
     * - `[bulk|null ...]`: the values that were removed; null where there is no such field
     */
    hgetdel(key: Key, fields: Argument | readonly Argument[]): Promise<Array<T | null>>;
    /**
     * Returns the values of one or more fields of a hash and sets or removes their deadlines.
     *
     *     HGETEX key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT
     *     unix-time-milliseconds|PERSIST] FIELDS numfields field [field ...]
     *
     * - `[bulk|null ...]`: the values; null where there is no such field
     */
    hgetex(
        key: Key,
        fields: Argument | readonly Argument[],
        options?: { ex?: number; px?: number; exat?: number; pxat?: number; persist?: boolean },
    ): Promise<Array<T | null>>;
    /**
     * Removes the deadlines of fields of a hash.
     *
     *     HPERSIST key FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if a deadline was removed, -1 if there was none, -2 if
     *   there is no such key or field
     */
    hpersist(key: Key, fields: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Sets the time to live of fields of a hash in milliseconds.
     *
     *     HPEXPIRE key milliseconds [NX|XX|GT|LT] FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if the deadline was set, 2 if it is past and the field
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or field
     */
    hpexpire(
        key: Key,
        milliseconds: number,
        fields: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of fields of a hash to a Unix time in milliseconds.
     *
     *     HPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, 1 if the deadline was set, 2 if it is past and the field
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or field
     */
    hpexpireat(
        key: Key,
        unixTimeMilliseconds: number,
        fields: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of fields of a hash as Unix times in milliseconds.
     *
     *     HPEXPIRETIME key FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, its deadline as a Unix time in milliseconds; -1 without a
     *   deadline, -2 if there is no such key or field
     */
    hpexpiretime(key: Key, fields: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the remaining time to live of fields of a hash in milliseconds.
     *
     *     HPTTL key FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, the milliseconds left; -1 without a deadline, -2 if there
     *   is no such key or field
     */
    hpttl(key: Key, fields: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Sets the values and the deadlines of one or more fields of a hash.
     *
     *     HSETEX key [FNX|FXX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT
     *     unix-time-milliseconds|KEEPTTL] <seconds field value [field value ...]|FIELDS numfields
     *     field value [field value ...]>
     *
     * - `integer`: 1 if the fields were set, 0 if FNX or FXX did not hold; with seconds instead of
     *   FIELDS the number of fields added
     */
    hsetex(
        key: Key,
        items: readonly (readonly [field: Argument, value: Argument])[],
        options?: {
            fnx?: boolean;
            fxx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
        },
    ): Promise<number>;
    /**
     * Returns the remaining time to live of fields of a hash in seconds.
     *
     *     HTTL key FIELDS numfields field [field ...]
     *
     * - `[integer ...]`: for each field, the seconds left, rounded up; -1 without a deadline, -2 if
     *   there is no such key or field
     */
    httl(key: Key, fields: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Increments the number in a key by one or the given number, if the result stays within the
     * bounds, and optionally sets or removes the key's expiration.
     *
     *     INCREX key [BYINT increment|BYFLOAT float-increment] [LBOUND lowerbound] [UBOUND
     *     upperbound] [SATURATE] [NX|XX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT
     *     unix-time-milliseconds|PERSIST] [ENX]
     *
     * - `[integer integer]`: the value afterwards and the increment that was applied, 0 if the sum
     *   is out of bounds or NX or XX does not hold
     * - `[double double]`: the same with BYFLOAT
     */
    increx(
        key: Key,
        options?: {
            byint?: number;
            byfloat?: undefined;
            lbound?: Argument;
            ubound?: Argument;
            saturate?: boolean;
            nx?: boolean;
            xx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            persist?: boolean;
            enx?: boolean;
        },
    ): Promise<readonly [number, number]>;
    increx(
        key: Key,
        options: {
            byint?: number;
            byfloat: number;
            lbound?: Argument;
            ubound?: Argument;
            saturate?: boolean;
            nx?: boolean;
            xx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            persist?: boolean;
            enx?: boolean;
        },
    ): Promise<readonly [number, number]>;
    increx(
        key: Key,
        options?: {
            byint?: number;
            byfloat?: number;
            lbound?: Argument;
            ubound?: Argument;
            saturate?: boolean;
            nx?: boolean;
            xx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            persist?: boolean;
            enx?: boolean;
        },
    ): Promise<readonly [number, number]>;
    /**
     * Returns how much longer a lease will be held.
     *
     *     LEASE.CHECK key token
     *
     * - `integer`: the milliseconds left of the lease
     * - `null`: the token no longer holds a lease
     */
    leaseCheck(key: Key, token: Argument): Promise<number | null>;
    /**
     * Ends a lease before its time.
     *
     *     LEASE.DROP key token
     *
     * - `integer`: 1 if the lease was ended, 0 if the token no longer holds one
     */
    leaseDrop(key: Key, token: Argument): Promise<number>;
    /**
     * Makes a lease end ttl milliseconds from now.
     *
     *     LEASE.EXTEND key token ttl
     *
     * - `integer`: the new end of the lease as a Unix time in milliseconds
     * - `null`: the token no longer holds a lease
     */
    leaseExtend(key: Key, token: Argument, ttl: number): Promise<number | null>;
    /**
     * Returns who holds a lock or permits, and how many clients wait.
     *
     *     LEASE.INFO key
     *
     * - `map['permits' integer 'held' integer 'waiting' integer 'grants-in-ms' integer 'holders'
     *   [[bulk integer integer] ...]]`: the numbers of permits, of holders and of waiting clients;
     *   milliseconds until leases are granted again after a promotion or crash (0: they are granted
     *   now); owner, token and milliseconds left of each holder
     */
    leaseInfo(
        key: Key,
    ): Promise<{ 'permits': number; 'held': number; 'waiting': number; 'grants-in-ms': number; 'holders': Array<readonly [T, number, number]> }>;
    /**
     * Takes a lock, or one of several permits, for ttl milliseconds. With WAIT, waits until it can
     * be granted.
     *
     *     LEASE.TAKE key owner ttl [PERMITS count] [WAIT timeout]
     *
     * - `[integer integer]`: the fencing token, and the end of the lease as a Unix time in
     *   milliseconds
     * - `null-array`: no permit is free or other clients are waiting; with WAIT, the timeout was
     *   reached
     */
    leaseTake(
        key: Key,
        owner: Argument,
        ttl: number,
        options?: { permits?: number; wait?: number },
    ): Promise<readonly [number, number] | null>;
    /**
     * Moves elements from an end of a list to an end of another one and returns them: one, at most
     * COUNT, or EXACTLY that many. OBO moves them one by one, BULK keeps their order.
     *
     *     LMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count|EXACTLY count> <OBO
     *     | BULK>]
     *
     * - `[bulk ...]`: the elements, in the order that they have at the destination; empty if there
     *   is no such source
     * - `null-array`: the source has fewer elements than EXACTLY asks for
     */
    lmovem(
        source: Key,
        destination: Key,
        mode: 'LEFT' | 'RIGHT',
        mode2: 'LEFT' | 'RIGHT',
        options?: { count?: number; exactly?: number; obo?: boolean; bulk?: boolean },
    ): Promise<Array<T> | null>;
    /**
     * Sets the string values of one or more keys and optionally their expiration, with NX only if
     * none of them exists, with XX only if all do.
     *
     *     MSETEX numkeys key value [key value ...] [NX|XX] [EX seconds|PX milliseconds|EXAT
     *     unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]
     *
     * - `integer`: 1 if all keys were set, 0 if none was, because NX or XX did not hold for one of
     *   them
     */
    msetex(
        items: readonly (readonly [key: Key, value: Argument])[],
        options?: {
            nx?: boolean;
            xx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
        },
    ): Promise<number>;
    /**
     * Sets the deadline of a member of a set, hash or sorted set to a Unix time in milliseconds.
     *
     *     PEXPIREMEMBERAT key member unix-time-milliseconds
     *
     * - `integer`: 1 if the deadline was set, 0 if there is no such key or member
     */
    pexpirememberat(key: Key, member: Argument, unixTimeMilliseconds: number): Promise<number>;
    /**
     * Deletes a policy. Deadlines that it set do not change.
     *
     *     POLICY DEL name
     *
     * - `integer`: 1 if the policy was removed, 0 if there is none of this name
     */
    policyDel(name: Argument): Promise<number>;
    /**
     * Returns the options of a policy.
     *
     *     POLICY GET name
     *
     * - `map[bulk integer|bulk ...]`: the options that do not have their default, and their values
     * - `null`: there is no policy of this name
     */
    policyGet(name: Argument): Promise<{ [name: string]: number | T } | null>;
    /**
     * Returns all policies, sorted by name.
     *
     *     POLICY LIST
     *
     * - `map[bulk map[bulk integer|bulk ...] ...]`: each policy's name and options
     */
    policyList(): Promise<{ [name: string]: { [name: string]: number | T } }>;
    /**
     * Returns the name of the policy that applies to a key, whether the key exists or not.
     *
     *     POLICY OF key
     *
     * - `bulk`: the name of the policy that applies to the key
     * - `null`: no policy applies to it
     */
    policyOf(key: Key): Promise<T | null>;
    /**
     * Sets options of a policy: rules of expiration and length for the keys with a prefix, or for
     * one key. Options that are not named stay; option NONE removes one. Durations: 5000, 5000ms,
     * 5s, 5m, 5h, 5d.
     *
     *     POLICY SET name [TTL duration] [MAXTTL duration] [JITTER percent] [REFRESH <NEVER | WRITE
     *     | ACCESS>] [MEMBERTTL duration] [MAXLEN count] [KEEP <HIGH | LOW>] [RETAIN duration]
     *     [MAXDELIVERIES count TO dead-key] [BACKOFF first-delay max-delay [JITTER percent]] [RATE
     *     count PER duration] [CLAIMED count] [FAIR] [EXPIRED TO log-key [VALUE [MAX bytes]]]
     *     [option NONE]
     *
     * - `OK`: the policy was set
     */
    policySet(
        name: Argument,
        options?: {
            ttl?: Argument;
            maxttl?: Argument;
            jitter?: number;
            refresh?: 'NEVER' | 'WRITE' | 'ACCESS';
            memberttl?: Argument;
            maxlen?: number;
            keep?: 'HIGH' | 'LOW';
            retain?: Argument;
            maxdeliveries?: number;
            maxdeliveriesTo?: Argument;
            backoff?: Argument;
            backoffMaxDelay?: Argument;
            backoffJitter?: number;
            rate?: number;
            ratePer?: Argument;
            claimed?: number;
            fair?: boolean;
            expiredTo?: Argument;
            expiredValue?: boolean;
            expiredValueMax?: Argument;
            option?: Argument;
        },
    ): Promise<'OK'>;
    /**
     * Returns how many keys of a policy were set, and how many expired unread or after reads.
     *
     *     POLICY STATS name
     *
     * - `map['set' integer 'expired-unread' integer 'expired-read' integer 'expired-misses'
     *   integer]`: keys set under the policy; keys that expired without a read since they were set;
     *   keys that expired after one; reads of keys that were known to have expired
     * - `null`: there is no policy of this name
     */
    policyStats(
        name: Argument,
    ): Promise<{ 'set': number; 'expired-unread': number; 'expired-read': number; 'expired-misses': number } | null>;
    /**
     * Removes the elements whose claims still have the given tokens.
     *
     *     REDE.ACK key id token [id token ...]
     *
     * - `integer`: the number of claims that still had their token; their elements are removed, or
     *   due again if they have EVERY or CRON
     */
    redeAck(
        key: Key,
        items: readonly (readonly [id: Argument, token: Argument])[],
    ): Promise<number>;
    /**
     * Removes and returns the elements that are due, earliest first, or blocks until one is due.
     *
     *     REDE.BPOLL key timeout [COUNT count] [WITHIDS]
     *
     * - `[bulk ...]`: the payloads that were due, in order
     * - `[[bulk bulk] ...]`: with WITHIDS: ids and payloads
     * - `null-array`: the timeout was reached
     */
    redeBpoll(
        key: Key,
        timeout: number,
        options?: { count?: number; withids?: false },
    ): Promise<Array<T> | null>;
    redeBpoll(
        key: Key,
        timeout: number,
        options: { count?: number; withids: true },
    ): Promise<Array<readonly [T, T]> | null>;
    redeBpoll(
        key: Key,
        timeout: number,
        options?: { count?: number; withids?: boolean },
    ): Promise<Array<T> | Array<readonly [T, T]> | null>;
    /**
     * Returns the elements that are due and hides them for lease milliseconds.
     *
     *     REDE.CLAIM key lease [COUNT count] [BLOCK timeout] [TOKENS]
     *
     * - `[[bulk bulk integer] ...]`: id, payload and number of deliveries of each claimed element;
     *   empty if none is due, even after the timeout of BLOCK
     * - `[[bulk bulk integer integer] ...]`: with TOKENS: the same, and the token of each claim
     */
    redeClaim(
        key: Key,
        lease: number,
        options?: { count?: number; block?: number; tokens?: false },
    ): Promise<Array<readonly [T, T, number]>>;
    redeClaim(
        key: Key,
        lease: number,
        options: { count?: number; block?: number; tokens: true },
    ): Promise<Array<readonly [T, T, number, number]>>;
    redeClaim(
        key: Key,
        lease: number,
        options?: { count?: number; block?: number; tokens?: boolean },
    ): Promise<Array<readonly [T, T, number]> | Array<readonly [T, T, number, number]>>;
    /**
     * Returns the number of elements that are due between two Unix times in milliseconds.
     *
     *     REDE.COUNT key min max
     *
     * - `integer`: the number of elements that are due between the two instants
     */
    redeCount(key: Key, min: Argument, max: Argument): Promise<number>;
    /**
     * Extends the leases of the claims that still have the given tokens, even leases that have
     * ended.
     *
     *     REDE.EXTEND key lease id token [id token ...]
     *
     * - `integer`: the number of claims that still had their token; their leases end lease
     *   milliseconds from now
     */
    redeExtend(
        key: Key,
        lease: number,
        items: readonly (readonly [id: Argument, token: Argument])[],
    ): Promise<number>;
    /**
     * Claims due elements of the dehydrators with a prefix, one of each in turn.
     *
     *     REDE.FAIRCLAIM prefix lease [COUNT count] [BLOCK timeout] [TOKENS]
     *
     * - `[[bulk bulk bulk integer] ...]`: key, id, payload and number of deliveries of each claimed
     *   element; empty if none is due, even after the timeout of BLOCK
     * - `[[bulk bulk bulk integer integer] ...]`: with TOKENS: the same, and the token of each
     *   claim
     */
    redeFairclaim(
        prefix: Argument,
        lease: number,
        options?: { count?: number; block?: number; tokens?: false },
    ): Promise<Array<readonly [T, T, T, number]>>;
    redeFairclaim(
        prefix: Argument,
        lease: number,
        options: { count?: number; block?: number; tokens: true },
    ): Promise<Array<readonly [T, T, T, number, number]>>;
    redeFairclaim(
        prefix: Argument,
        lease: number,
        options?: { count?: number; block?: number; tokens?: boolean },
    ): Promise<Array<readonly [T, T, T, number]> | Array<readonly [T, T, T, number, number]>>;
    /**
     * Returns figures of all dehydrators with a prefix.
     *
     *     REDE.FAIRINFO prefix
     *
     * - `map['keys' integer 'due-keys' integer 'due' integer 'claimed' integer 'other-types'
     *   integer 'oldest-due-ms' integer|null]`: figures of the dehydrators with the prefix
     * - `null-array`: CLIENT UNBLOCK ended the wait
     */
    redeFairinfo(
        prefix: Argument,
    ): Promise<{ 'keys': number; 'due-keys': number; 'due': number; 'claimed': number; 'other-types': number; 'oldest-due-ms': number | null } | null>;
    /**
     * Adds an element to a dehydrator under a generated id and returns the id.
     *
     *     REDE.GIDPUSH key ttl element [KEEP | REPLACE | POSTPONE [ATMOST milliseconds]] [REMEMBER
     *     milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]
     *
     * - `bulk`: the new id: 31 characters of 0-9 and A-Z
     */
    redeGidpush(
        key: Key,
        ttl: number,
        element: Argument,
        options?: {
            keep?: boolean;
            replace?: boolean;
            postpone?: boolean;
            postponeAtmost?: number;
            remember?: number;
            every?: number;
            cron?: Argument;
            cronZone?: Argument;
        },
    ): Promise<T>;
    /**
     * Returns the numbers of all, due and claimed elements, the next deadline, the memory used, the
     * end of the pause, how many elements were delivered, and how late.
     *
     *     REDE.INFO key
     *
     * - `map['length' integer 'due' integer 'claimed' integer 'redelivered' integer 'next-deadline'
     *   integer|null 'distinct-ttls' integer 'bytes' integer 'paused-until' integer|null
     *   'oldest-due-ms' integer|null 'pushed' integer 'delivered' integer 'acked' integer 'retried'
     *   integer 'dead' integer 'lateness-p50' integer|null 'lateness-p99' integer|null]`: figures;
     *   all 0 or null if there is no such key. A pause without end is -1; times are in milliseconds
     */
    redeInfo(
        key: Key,
    ): Promise<{ 'length': number; 'due': number; 'claimed': number; 'redelivered': number; 'next-deadline': number | null; 'distinct-ttls': number; 'bytes': number; 'paused-until': number | null; 'oldest-due-ms': number | null; 'pushed': number; 'delivered': number; 'acked': number; 'retried': number; 'dead': number; 'lateness-p50': number | null; 'lateness-p99': number | null }>;
    /**
     * Returns the number of elements, or of those that are due or claimed.
     *
     *     REDE.LEN key [DUE | CLAIMED]
     *
     * - `integer`: the number of elements, or of those that are due or claimed
     */
    redeLen(key: Key, options?: { due?: boolean; claimed?: boolean }): Promise<number>;
    /**
     * Returns an element by its id without removing it.
     *
     *     REDE.LOOK key id
     *
     * - `bulk`: the payload
     * - `null`: there is no such key or id
     */
    redeLook(key: Key, id: Argument): Promise<T | null>;
    /**
     * Adds several elements to a dehydrator. Without KEEP, REPLACE or POSTPONE it adds none if an
     * id exists or is given twice.
     *
     *     REDE.MPUSH key ttl element id [ttl element id ...] [KEEP | REPLACE | POSTPONE [ATMOST
     *     milliseconds]] [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]
     *
     * - `integer`: the number of elements added or replaced
     */
    redeMpush(
        key: Key,
        items: readonly (readonly [ttl: number, element: Argument, id: Argument])[],
        options?: {
            keep?: boolean;
            replace?: boolean;
            postpone?: boolean;
            postponeAtmost?: number;
            remember?: number;
            every?: number;
            cron?: Argument;
            cronZone?: Argument;
        },
    ): Promise<number>;
    /**
     * Ends the claims of the given elements, which are due again in delay milliseconds.
     *
     *     REDE.NACK key delay id [id ...]
     *
     * - `integer`: the number of claims given back
     */
    redeNack(key: Key, delay: number, ids: Argument | readonly Argument[]): Promise<number>;
    /**
     * Stops the deliveries of a dehydrator, until a Unix time in milliseconds or until REDE.RESUME.
     * Pushes and acknowledgements continue.
     *
     *     REDE.PAUSE key [UNTIL unix-time-milliseconds]
     *
     * - `OK`: it delivers nothing from now on
     */
    redePause(key: Key, options?: { until?: number }): Promise<'OK'>;
    /**
     * Removes and returns the elements that are due, earliest first.
     *
     *     REDE.POLL key [COUNT count] [WITHIDS]
     *
     * - `[bulk ...]`: the payloads that were due, in order
     * - `[[bulk bulk] ...]`: with WITHIDS: ids and payloads
     */
    redePoll(key: Key, options?: { count?: number; withids?: false }): Promise<Array<T>>;
    redePoll(key: Key, options: { count?: number; withids: true }): Promise<Array<readonly [T, T]>>;
    redePoll(
        key: Key,
        options?: { count?: number; withids?: boolean },
    ): Promise<Array<T> | Array<readonly [T, T]>>;
    /**
     * Removes and returns an element by its id, whether it is due or not. With FORGET the id is not
     * remembered, so that it can be pushed again at once.
     *
     *     REDE.PULL key id [FORGET]
     *
     * - `bulk`: the payload
     * - `null`: there is no such key or id
     */
    redePull(key: Key, id: Argument, options?: { forget?: boolean }): Promise<T | null>;
    /**
     * Adds an element to a dehydrator, due in ttl milliseconds.
     *
     *     REDE.PUSH key ttl element id [KEEP | REPLACE | POSTPONE [ATMOST milliseconds]] [REMEMBER
     *     milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]
     *
     * - `OK`: the element was added, or replaces one of the same id
     * - `null`: the id exists and KEEP was given, or it is remembered and KEEP, REPLACE or POSTPONE
     *   was given
     */
    redePush(
        key: Key,
        ttl: number,
        element: Argument,
        id: Argument,
        options?: {
            keep?: boolean;
            replace?: boolean;
            postpone?: boolean;
            postponeAtmost?: number;
            remember?: number;
            every?: number;
            cron?: Argument;
            cronZone?: Argument;
        },
    ): Promise<'OK' | null>;
    /**
     * Adds an element to a dehydrator, due at a Unix time in milliseconds.
     *
     *     REDE.PUSHAT key unix-time-milliseconds element id [KEEP | REPLACE | POSTPONE [ATMOST
     *     milliseconds]] [REMEMBER milliseconds] [EVERY milliseconds | CRON spec [ZONE zone]]
     *
     * - `OK`: the element was added, or replaces one of the same id
     * - `null`: the id exists and KEEP was given, or it is remembered and KEEP, REPLACE or POSTPONE
     *   was given
     */
    redePushat(
        key: Key,
        unixTimeMilliseconds: number,
        element: Argument,
        id: Argument,
        options?: {
            keep?: boolean;
            replace?: boolean;
            postpone?: boolean;
            postponeAtmost?: number;
            remember?: number;
            every?: number;
            cron?: Argument;
            cronZone?: Argument;
        },
    ): Promise<'OK' | null>;
    /**
     * Returns the ids and deadlines of the elements that are due between two Unix times in
     * milliseconds.
     *
     *     REDE.RANGE key min max [COUNT count]
     *
     * - `[[bulk integer] ...]`: ids and deadlines as Unix times in milliseconds, in order
     */
    redeRange(
        key: Key,
        min: Argument,
        max: Argument,
        options?: { count?: number },
    ): Promise<Array<readonly [T, number]>>;
    /**
     * Sets the deadlines of the given elements to ttl milliseconds from now.
     *
     *     REDE.RESCHEDULE key ttl id [id ...]
     *
     * - `integer`: the number of elements whose deadline was moved
     */
    redeReschedule(key: Key, ttl: number, ids: Argument | readonly Argument[]): Promise<number>;
    /**
     * Ends the pause of a dehydrator and serves clients that wait for its elements.
     *
     *     REDE.RESUME key
     *
     * - `OK`: it is not paused
     */
    redeResume(key: Key): Promise<'OK'>;
    /**
     * Ends the claims that still have the given tokens. The elements are due again in delay
     * milliseconds, after the BACKOFF of the key's policy, or now, before all that are due; with
     * NOCOUNT the delivery does not count.
     *
     *     REDE.RETRY key <delay | AUTO | FIRST> [NOCOUNT] id token [id token ...]
     *
     * - `integer`: the number of claims that still had their token, now given back
     */
    redeRetry(
        key: Key,
        delay: Argument,
        items: readonly (readonly [id: Argument, token: Argument])[],
        options?: { nocount?: boolean },
    ): Promise<number>;
    /**
     * Returns some elements with their ids and the cursor for the next call. Begin with cursor 0.
     *
     *     REDE.SCAN key cursor [MATCH pattern] [COUNT count]
     *
     * - `[bulk [bulk bulk ...]]`: the next cursor, 0 at the end; ids, each with its payload
     */
    redeScan(
        key: Key,
        cursor: number,
        options?: { match?: Argument; count?: number },
    ): Promise<readonly [T, Array<readonly [T, T]>]>;
    /**
     * Returns the milliseconds until the next element is due.
     *
     *     REDE.TTN key
     *
     * - `integer`: the milliseconds until the next element is due; 0 if one is due
     * - `null`: there are no elements
     */
    redeTtn(key: Key): Promise<number | null>;
    /**
     * Replaces the payload of an element and returns the old one. The deadline does not change.
     *
     *     REDE.UPDATE key id element
     *
     * - `bulk`: the old payload
     */
    redeUpdate(key: Key, id: Argument, element: Argument): Promise<T>;
    /**
     * Removes and returns those of the given elements that are due or claimed.
     *
     *     REDE.XACK key id [id ...]
     *
     * - `[bulk|null ...]`: the payloads of the elements removed; null for an id that is absent or
     *   not yet due
     */
    redeXack(key: Key, ids: Argument | readonly Argument[]): Promise<Array<T | null>>;
    /**
     * Returns the ids of the elements that are due, earliest first.
     *
     *     REDE.XPOLL key [COUNT count]
     *
     * - `[bulk ...]`: the ids of the elements that are due, in order
     */
    redeXpoll(key: Key, options?: { count?: number }): Promise<Array<T>>;
    /**
     * Adds members to a set, with a deadline. MNX adds them only if all are new, MXX only if all
     * exist. Existing members receive the deadline too. Without a deadline they lose theirs, unless
     * KEEPTTL is given.
     *
     *     SADDEX key [MNX|MXX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT
     *     unix-time-milliseconds] [KEEPTTL] <seconds member [member ...]|MEMBERS nummembers member
     *     [member ...]>
     *
     * - `integer`: the number of members added
     * - `integer`: with MNX or MXX, or without a deadline: 1 if the members were set, 0 if the
     *   condition does not hold
     */
    saddex(
        key: Key,
        members: Argument | readonly Argument[],
        options?: {
            mnx?: false;
            mxx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
        },
    ): Promise<number>;
    saddex(
        key: Key,
        members: Argument | readonly Argument[],
        options: {
            mnx: true;
            mxx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
        },
    ): Promise<number>;
    saddex(
        key: Key,
        members: Argument | readonly Argument[],
        options?: {
            mnx?: boolean;
            mxx?: boolean;
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
        },
    ): Promise<number>;
    /**
     * Returns the number of members of the first set that are in none of the others, up to a limit.
     *
     *     SDIFFCARD numkeys key [key ...] [LIMIT limit]
     *
     * - `integer`: the number of members of the first set that are in none of the others, at most
     *   LIMIT
     */
    sdiffcard(keys: Key | readonly Key[], options?: { limit?: number }): Promise<number>;
    /**
     * Sets the time to live of members of a set in seconds.
     *
     *     SEXPIRE key seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    sexpire(
        key: Key,
        seconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of members of a set to a Unix time in seconds.
     *
     *     SEXPIREAT key unix-time-seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    sexpireat(
        key: Key,
        unixTimeSeconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of members of a set as Unix times in seconds.
     *
     *     SEXPIRETIME key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, its deadline as a Unix time in seconds, rounded up; -1
     *   without a deadline, -2 if there is no such key or member
     */
    sexpiretime(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the time left until a string becomes stale, in milliseconds.
     *
     *     SOFTTTL key
     *
     * - `integer`: milliseconds to the soft deadline, 0 after it; -1 if the key has none, -2 if
     *   there is no such key
     */
    softttl(key: Key): Promise<number>;
    /**
     * Removes the deadlines of members of a set.
     *
     *     SPERSIST key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if a deadline was removed, -1 if there was none, -2 if
     *   there is no such key or member
     */
    spersist(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Sets the time to live of members of a set in milliseconds.
     *
     *     SPEXPIRE key milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    spexpire(
        key: Key,
        milliseconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of members of a set to a Unix time in milliseconds.
     *
     *     SPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member
     *     ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    spexpireat(
        key: Key,
        unixTimeMilliseconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of members of a set as Unix times in milliseconds.
     *
     *     SPEXPIRETIME key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, its deadline as a Unix time in milliseconds; -1 without a
     *   deadline, -2 if there is no such key or member
     */
    spexpiretime(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the remaining time to live of members of a set in milliseconds.
     *
     *     SPTTL key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, the milliseconds left; -1 without a deadline, -2 if there
     *   is no such key or member
     */
    spttl(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Makes strings stale now, if they are not yet.
     *
     *     STALE key [key ...]
     *
     * - `integer`: the number of keys that exist; all are stale now
     */
    stale(keys: Key | readonly Key[]): Promise<number>;
    /**
     * Returns the remaining time to live of members of a set in seconds.
     *
     *     STTL key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, the seconds left, rounded up; -1 without a deadline, -2
     *   if there is no such key or member
     */
    sttl(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the number of members in the union of sets, up to a limit. It is exact even with
     * APPROX.
     *
     *     SUNIONCARD numkeys key [key ...] [APPROX] [LIMIT limit]
     *
     * - `integer`: the number of members in any of the sets, at most LIMIT
     */
    sunioncard(
        keys: Key | readonly Key[],
        options?: { approx?: boolean; limit?: number },
    ): Promise<number>;
    /**
     * Waits until the journals of this server, if numlocal is 1, and of numreplicas replicas have
     * synced this client's writes, or until the timeout.
     *
     *     WAITAOF numlocal numreplicas timeout
     *
     * - `[integer integer]`: 1 if the journal of this server has synced the client's writes, else
     *   0; and the number of replicas whose journals have synced them
     */
    waitaof(
        numlocal: number,
        numreplicas: number,
        timeout: number,
    ): Promise<readonly [number, number]>;
    /**
     * Acknowledges entries for a group, and removes them from the stream.
     *
     *     XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]
     *
     * - `[integer ...]`: for each ID 1 if it was acknowledged and the entry removed, -1 if it was
     *   not pending, 2 if another group still needs the entry (ACKED)
     */
    xackdel(
        key: Key,
        group: Argument,
        ids: Argument | readonly Argument[],
        options?: { keepref?: boolean; delref?: boolean; acked?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets how long a stream remembers entries that XADD with IDMP or IDMPAUTO has added (default:
     * 100 seconds), and how many for each producer (100). A change forgets all of them.
     *
     *     XCFGSET key [IDMP-DURATION seconds] [IDMP-MAXSIZE count]
     *
     * - `OK`: it was set
     */
    xcfgset(key: Key, options?: { idmpDuration?: number; idmpMaxsize?: number }): Promise<'OK'>;
    /**
     * Removes entries from a stream, and on request from the pending lists of all groups, or only
     * entries that no group needs any more.
     *
     *     XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]
     *
     * - `[integer ...]`: for each ID 1 if the entry was removed, -1 if there is none, 2 if a group
     *   still needs it (ACKED)
     */
    xdelex(
        key: Key,
        ids: Argument | readonly Argument[],
        options?: { keepref?: boolean; delref?: boolean; acked?: boolean },
    ): Promise<Array<number>>;
    /**
     * Records that XADD with IDMP has added an entry. Used by replication and journals.
     *
     *     XIDMPRECORD key producer-id idempotent-id id
     *
     * - `OK`: it is remembered
     */
    xidmprecord(
        key: Key,
        producerId: Argument,
        idempotentId: Argument,
        id: Argument,
    ): Promise<'OK'>;
    /**
     * Releases pending entries, so that any consumer can claim them, at once or after a delay. With
     * SILENT the delivery does not count; FATAL sets the number of deliveries to its maximum.
     *
     *     XNACK key group <SILENT | FAIL | FATAL> [DELAY milliseconds] [RETRYCOUNT count] [FORCE]
     *     IDS numids id [id ...]
     *
     * - `integer`: the number of entries released
     */
    xnack(
        key: Key,
        group: Argument,
        mode: 'SILENT' | 'FAIL' | 'FATAL',
        ids: Argument | readonly Argument[],
        options?: { delay?: number; retrycount?: number; force?: boolean },
    ): Promise<number>;
    /**
     * Adds members with a deadline to a sorted set, or updates their scores. Existing members
     * receive the deadline too, unless KEEPTTL is given.
     *
     *     ZADDEX key <EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT
     *     unix-time-milliseconds> [KEEPTTL] [NX|XX] [GT|LT] [CH] score member [score member ...]
     *
     * - `integer`: the number of members added; with CH, of members added, with a changed score, or
     *   removed because the deadline has passed
     */
    zaddex(
        key: Key,
        items: readonly (readonly [score: number, member: Argument])[],
        options?: {
            ex?: number;
            px?: number;
            exat?: number;
            pxat?: number;
            keepttl?: boolean;
            nx?: boolean;
            xx?: boolean;
            gt?: boolean;
            lt?: boolean;
            ch?: boolean;
        },
    ): Promise<number>;
    /**
     * Sets the time to live of members of a sorted set in seconds.
     *
     *     ZEXPIRE key seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    zexpire(
        key: Key,
        seconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of members of a sorted set to a Unix time in seconds.
     *
     *     ZEXPIREAT key unix-time-seconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    zexpireat(
        key: Key,
        unixTimeSeconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of members of a sorted set as Unix times in seconds.
     *
     *     ZEXPIRETIME key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, its deadline as a Unix time in seconds, rounded up; -1
     *   without a deadline, -2 if there is no such key or member
     */
    zexpiretime(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Removes the deadlines of members of a sorted set.
     *
     *     ZPERSIST key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if a deadline was removed, -1 if there was none, -2 if
     *   there is no such key or member
     */
    zpersist(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Sets the time to live of members of a sorted set in milliseconds.
     *
     *     ZPEXPIRE key milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    zpexpire(
        key: Key,
        milliseconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Sets the deadline of members of a sorted set to a Unix time in milliseconds.
     *
     *     ZPEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT] MEMBERS nummembers member [member
     *     ...]
     *
     * - `[integer ...]`: for each member, 1 if the deadline was set, 2 if it is past and the member
     *   was removed, 0 if the condition did not hold, -2 if there is no such key or member
     */
    zpexpireat(
        key: Key,
        unixTimeMilliseconds: number,
        members: Argument | readonly Argument[],
        options?: { nx?: boolean; xx?: boolean; gt?: boolean; lt?: boolean },
    ): Promise<Array<number>>;
    /**
     * Returns the deadlines of members of a sorted set as Unix times in milliseconds.
     *
     *     ZPEXPIRETIME key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, its deadline as a Unix time in milliseconds; -1 without a
     *   deadline, -2 if there is no such key or member
     */
    zpexpiretime(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the remaining time to live of members of a sorted set in milliseconds.
     *
     *     ZPTTL key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, the milliseconds left; -1 without a deadline, -2 if there
     *   is no such key or member
     */
    zpttl(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
    /**
     * Returns the remaining time to live of members of a sorted set in seconds.
     *
     *     ZTTL key MEMBERS nummembers member [member ...]
     *
     * - `[integer ...]`: for each member, the seconds left, rounded up; -1 without a deadline, -2
     *   if there is no such key or member
     */
    zttl(key: Key, members: Argument | readonly Argument[]): Promise<Array<number>>;
}
