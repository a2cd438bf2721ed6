// Made from the command table by make reference.
import {
    bulk, double, integer, list, map, nothing, oneOf, record, rows, text, tuple,
} from './shapes.js';

export const commands = {
    blmovem: {
        name: 'BLMOVEM',
        readonly: false,
        values: 5,
        options: ['count', 'exactly', 'obo', 'bulk'],
        write(to, source, destination, mode, mode2, timeout, options = {}) {
            to.key(source);
            to.key(destination);
            to.value(mode);
            to.value(mode2);
            to.value(timeout);
            to.block(options, [], ['count', 'exactly', 'obo', 'bulk'], () => {
                to.option('COUNT', options.count);
                to.option('EXACTLY', options.exactly);
                to.flag('OBO', options.obo);
                to.flag('BULK', options.bulk);
            });
        },
        takes: true,
        wait: (source, destination, mode, mode2, timeout) => timeout * 1000,
        reply: oneOf(list(bulk), nothing),
    },
    bztsmove: {
        name: 'BZTSMOVE',
        readonly: false,
        values: 4,
        write(to, key, destination, count, timeout) {
            to.key(key);
            to.key(destination);
            to.value(count);
            to.value(timeout);
        },
        takes: true,
        wait: (key, destination, count, timeout) => timeout * 1000,
        reply: oneOf(list(bulk), nothing),
    },
    bztspop: {
        name: 'BZTSPOP',
        readonly: false,
        values: 3,
        write(to, key, count, timeout) {
            to.key(key);
            to.value(count);
            to.value(timeout);
        },
        takes: true,
        wait: (key, count, timeout) => timeout * 1000,
        reply: oneOf(rows(bulk, double), nothing),
    },
    clThrottle: {
        name: 'CL.THROTTLE',
        readonly: false,
        values: 4,
        options: ['quantity'],
        write(to, key, maxBurst, count, periodSeconds, options = {}) {
            to.key(key);
            to.value(maxBurst);
            to.value(count);
            to.value(periodSeconds);
            to.option('', options.quantity);
        },
        reply: tuple(integer, integer, integer, integer, integer),
    },
    clThrottlems: {
        name: 'CL.THROTTLEMS',
        readonly: false,
        values: 4,
        options: ['quantity'],
        write(to, key, maxBurst, count, periodMilliseconds, options = {}) {
            to.key(key);
            to.value(maxBurst);
            to.value(count);
            to.value(periodMilliseconds);
            to.option('', options.quantity);
        },
        reply: tuple(integer, integer, integer, integer, integer),
    },
    clWindow: {
        name: 'CL.WINDOW',
        readonly: false,
        values: 3,
        options: ['quantity'],
        write(to, key, limit, windowMilliseconds, options = {}) {
            to.key(key);
            to.value(limit);
            to.value(windowMilliseconds);
            to.option('', options.quantity);
        },
        reply: tuple(integer, integer, integer, integer, integer),
    },
    clockAdvance: {
        name: 'CLOCK ADVANCE',
        readonly: false,
        values: 1,
        write(to, milliseconds) {
            to.value(milliseconds);
        },
        reply: integer,
    },
    clockFreeze: {
        name: 'CLOCK FREEZE',
        readonly: false,
        values: 0,
        write() {},
        reply: integer,
    },
    clockGet: {
        name: 'CLOCK GET',
        readonly: false,
        values: 0,
        write() {},
        reply: integer,
    },
    clockRun: {
        name: 'CLOCK RUN',
        readonly: false,
        values: 0,
        write() {},
        reply: integer,
    },
    clockSet: {
        name: 'CLOCK SET',
        readonly: false,
        values: 1,
        write(to, unixTimeMilliseconds) {
            to.value(unixTimeMilliseconds);
        },
        reply: integer,
    },
    cronNext: {
        name: 'CRON.NEXT',
        readonly: true,
        values: 1,
        options: ['zone', 'from_', 'count'],
        write(to, spec, options = {}) {
            to.value(spec);
            to.option('ZONE', options.zone);
            to.option('FROM', options.from_);
            to.option('COUNT', options.count);
        },
        reply: list(integer),
    },
    delex: {
        name: 'DELEX',
        readonly: false,
        values: 1,
        options: ['ifeq', 'ifne', 'ifdeq', 'ifdne'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('IFEQ', options.ifeq);
            to.option('IFNE', options.ifne);
            to.option('IFDEQ', options.ifdeq);
            to.option('IFDNE', options.ifdne);
        },
        reply: integer,
    },
    delifeq: {
        name: 'DELIFEQ',
        readonly: false,
        values: 2,
        write(to, key, value) {
            to.key(key);
            to.value(value);
        },
        reply: integer,
    },
    digest: {
        name: 'DIGEST',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: oneOf(bulk, nothing),
    },
    expiremember: {
        name: 'EXPIREMEMBER',
        readonly: false,
        values: 3,
        options: ['unit'],
        write(to, key, member, delay, options = {}) {
            to.key(key);
            to.value(member);
            to.value(delay);
            to.option('', options.unit);
        },
        reply: integer,
    },
    expirememberat: {
        name: 'EXPIREMEMBERAT',
        readonly: false,
        values: 3,
        write(to, key, member, unixTimeSeconds) {
            to.key(key);
            to.value(member);
            to.value(unixTimeSeconds);
        },
        reply: integer,
    },
    expiryForecast: {
        name: 'EXPIRY FORECAST',
        readonly: true,
        values: 0,
        write() {},
        reply: list(tuple(bulk, integer, integer, integer)),
    },
    expiryLag: {
        name: 'EXPIRY LAG',
        readonly: false,
        values: 0,
        write() {},
        reply: record({ 'p50': integer, 'p90': integer, 'p99': integer, 'p99.9': integer, 'max': integer, 'count': integer }),
    },
    expiryNext: {
        name: 'EXPIRY NEXT',
        readonly: true,
        values: 0,
        options: ['count'],
        write(to, options = {}) {
            to.option('', options.count);
        },
        reply: list(tuple(bulk, integer, oneOf(text('key'), text('member'), text('field'), text('element'), text('entry'), text('holder')))),
    },
    expiryWhy: {
        name: 'EXPIRY WHY',
        readonly: true,
        values: 1,
        options: ['member'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('MEMBER', options.member);
        },
        reply: record({ 'state': oneOf(text('live'), text('overdue'), text('missing')), 'deadline': oneOf(integer, nothing), 'db': integer, 'hash': bulk, 'since': integer, 'shared': integer, 'records': list(record({ 'what': bulk, 'at': integer, 'deadline': oneOf(integer, nothing), 'before': oneOf(integer, nothing), 'late-ms': oneOf(integer, nothing), 'by': bulk, 'policy': oneOf(bulk, nothing), 'option': oneOf(bulk, nothing), 'command': oneOf(bulk, nothing), 'script': integer, 'client-id': oneOf(integer, nothing), 'client-name': oneOf(bulk, nothing), 'user': oneOf(bulk, nothing), 'memory': oneOf(integer, nothing), 'to-db': oneOf(integer, nothing), 'to-hash': oneOf(bulk, nothing) })) }),
    },
    fieldexpire: {
        name: 'FIELDEXPIRE',
        readonly: false,
        values: 3,
        write(to, key, seconds, fields) {
            to.key(key);
            to.value(seconds);
            to.values(fields);
        },
        reply: list(integer),
    },
    fieldttl: {
        name: 'FIELDTTL',
        readonly: true,
        values: 2,
        write(to, key, field) {
            to.key(key);
            to.value(field);
        },
        reply: integer,
    },
    getfresh: {
        name: 'GETFRESH',
        readonly: true,
        values: 1,
        options: ['early', 'lease', 'wait'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('EARLY', options.early);
            to.option('LEASE', options.lease);
            to.option('WAIT', options.wait);
        },
        takes: true,
        wait: (key, options = {}) => (options.wait ?? NaN),
        reply: tuple(oneOf(bulk, nothing), bulk),
    },
    hexpire: {
        name: 'HEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, seconds, fields, options = {}) {
            to.key(key);
            to.value(seconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hexpireat: {
        name: 'HEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeSeconds, fields, options = {}) {
            to.key(key);
            to.value(unixTimeSeconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hexpiretime: {
        name: 'HEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hgetdel: {
        name: 'HGETDEL',
        readonly: false,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        takes: true,
        reply: list(oneOf(bulk, nothing)),
    },
    hgetex: {
        name: 'HGETEX',
        readonly: false,
        values: 2,
        options: ['ex', 'px', 'exat', 'pxat', 'persist'],
        write(to, key, fields, options = {}) {
            to.key(key);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('PERSIST', options.persist);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(oneOf(bulk, nothing)),
    },
    hpersist: {
        name: 'HPERSIST',
        readonly: false,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hpexpire: {
        name: 'HPEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, milliseconds, fields, options = {}) {
            to.key(key);
            to.value(milliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hpexpireat: {
        name: 'HPEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeMilliseconds, fields, options = {}) {
            to.key(key);
            to.value(unixTimeMilliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hpexpiretime: {
        name: 'HPEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hpttl: {
        name: 'HPTTL',
        readonly: true,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    hsetex: {
        name: 'HSETEX',
        readonly: false,
        values: 2,
        options: ['fnx', 'fxx', 'ex', 'px', 'exat', 'pxat', 'keepttl'],
        write(to, key, items, options = {}) {
            to.key(key);
            to.flag('FNX', options.fnx);
            to.flag('FXX', options.fxx);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('KEEPTTL', options.keepttl);
            to.token('FIELDS');
            to.length(items);
            to.tuples(items, 'value', 'value');
        },
        reply: integer,
    },
    httl: {
        name: 'HTTL',
        readonly: true,
        values: 2,
        write(to, key, fields) {
            to.key(key);
            to.token('FIELDS');
            to.length(fields);
            to.values(fields);
        },
        reply: list(integer),
    },
    increx: {
        name: 'INCREX',
        readonly: false,
        values: 1,
        options: ['byint', 'byfloat', 'lbound', 'ubound', 'saturate', 'nx', 'xx', 'ex', 'px',
            'exat', 'pxat', 'persist', 'enx'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('BYINT', options.byint);
            to.option('BYFLOAT', options.byfloat);
            to.option('LBOUND', options.lbound);
            to.option('UBOUND', options.ubound);
            to.flag('SATURATE', options.saturate);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('PERSIST', options.persist);
            to.flag('ENX', options.enx);
        },
        reply: oneOf(tuple(integer, integer), tuple(double, double)),
    },
    leaseCheck: {
        name: 'LEASE.CHECK',
        readonly: true,
        values: 2,
        write(to, key, token) {
            to.key(key);
            to.value(token);
        },
        reply: oneOf(integer, nothing),
    },
    leaseDrop: {
        name: 'LEASE.DROP',
        readonly: false,
        values: 2,
        write(to, key, token) {
            to.key(key);
            to.value(token);
        },
        reply: integer,
    },
    leaseExtend: {
        name: 'LEASE.EXTEND',
        readonly: false,
        values: 3,
        write(to, key, token, ttl) {
            to.key(key);
            to.value(token);
            to.value(ttl);
        },
        reply: oneOf(integer, nothing),
    },
    leaseInfo: {
        name: 'LEASE.INFO',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: record({ 'permits': integer, 'held': integer, 'waiting': integer, 'grants-in-ms': integer, 'holders': list(tuple(bulk, integer, integer)) }),
    },
    leaseTake: {
        name: 'LEASE.TAKE',
        readonly: false,
        values: 3,
        options: ['permits', 'wait'],
        write(to, key, owner, ttl, options = {}) {
            to.key(key);
            to.value(owner);
            to.value(ttl);
            to.option('PERMITS', options.permits);
            to.option('WAIT', options.wait);
        },
        takes: true,
        wait: (key, owner, ttl, options = {}) => (options.wait ?? NaN) * 1000,
        reply: oneOf(tuple(integer, integer), nothing),
    },
    lmovem: {
        name: 'LMOVEM',
        readonly: false,
        values: 4,
        options: ['count', 'exactly', 'obo', 'bulk'],
        write(to, source, destination, mode, mode2, options = {}) {
            to.key(source);
            to.key(destination);
            to.value(mode);
            to.value(mode2);
            to.block(options, [], ['count', 'exactly', 'obo', 'bulk'], () => {
                to.option('COUNT', options.count);
                to.option('EXACTLY', options.exactly);
                to.flag('OBO', options.obo);
                to.flag('BULK', options.bulk);
            });
        },
        takes: true,
        reply: oneOf(list(bulk), nothing),
    },
    msetex: {
        name: 'MSETEX',
        readonly: false,
        values: 1,
        options: ['nx', 'xx', 'ex', 'px', 'exat', 'pxat', 'keepttl'],
        write(to, items, options = {}) {
            to.length(items);
            to.tuples(items, 'key', 'value');
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('KEEPTTL', options.keepttl);
        },
        reply: integer,
    },
    pexpirememberat: {
        name: 'PEXPIREMEMBERAT',
        readonly: false,
        values: 3,
        write(to, key, member, unixTimeMilliseconds) {
            to.key(key);
            to.value(member);
            to.value(unixTimeMilliseconds);
        },
        reply: integer,
    },
    policyDel: {
        name: 'POLICY DEL',
        readonly: false,
        values: 1,
        write(to, name) {
            to.value(name);
        },
        reply: integer,
    },
    policyGet: {
        name: 'POLICY GET',
        readonly: true,
        values: 1,
        write(to, name) {
            to.value(name);
        },
        reply: oneOf(map(bulk, oneOf(integer, bulk)), nothing),
    },
    policyList: {
        name: 'POLICY LIST',
        readonly: true,
        values: 0,
        write() {},
        reply: map(bulk, map(bulk, oneOf(integer, bulk))),
    },
    policyOf: {
        name: 'POLICY OF',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: oneOf(bulk, nothing),
    },
    policySet: {
        name: 'POLICY SET',
        readonly: false,
        values: 1,
        options: ['ttl', 'maxttl', 'jitter', 'refresh', 'memberttl', 'maxlen', 'keep', 'retain',
            'maxdeliveries', 'maxdeliveriesTo', 'backoff', 'backoffMaxDelay', 'backoffJitter',
            'rate', 'ratePer', 'claimed', 'fair', 'expiredTo', 'expiredValue', 'expiredValueMax',
            'option'],
        write(to, name, options = {}) {
            to.value(name);
            to.option('TTL', options.ttl);
            to.option('MAXTTL', options.maxttl);
            to.option('JITTER', options.jitter);
            to.option('REFRESH', options.refresh);
            to.option('MEMBERTTL', options.memberttl);
            to.option('MAXLEN', options.maxlen);
            to.option('KEEP', options.keep);
            to.option('RETAIN', options.retain);
            to.block(options, ['maxdeliveries', 'maxdeliveriesTo'], [], () => {
                to.token('MAXDELIVERIES');
                to.value(options.maxdeliveries);
                to.token('TO');
                to.value(options.maxdeliveriesTo);
            });
            to.block(options, ['backoff', 'backoffMaxDelay'], ['backoffJitter'], () => {
                to.token('BACKOFF');
                to.value(options.backoff);
                to.value(options.backoffMaxDelay);
                to.option('JITTER', options.backoffJitter);
            });
            to.block(options, ['rate', 'ratePer'], [], () => {
                to.token('RATE');
                to.value(options.rate);
                to.token('PER');
                to.value(options.ratePer);
            });
            to.option('CLAIMED', options.claimed);
            to.flag('FAIR', options.fair);
            to.block(options, ['expiredTo'], ['expiredValue', 'expiredValueMax'], () => {
                to.token('EXPIRED');
                to.token('TO');
                to.value(options.expiredTo);
                to.block(options, [], ['expiredValue', 'expiredValueMax'], () => {
                    to.token('VALUE');
                    to.option('MAX', options.expiredValueMax);
                });
            });
            to.block(options, ['option'], [], () => {
                to.value(options.option);
                to.token('NONE');
            });
        },
        reply: text('OK'),
    },
    policyStats: {
        name: 'POLICY STATS',
        readonly: true,
        values: 1,
        write(to, name) {
            to.value(name);
        },
        reply: oneOf(record({ 'set': integer, 'expired-unread': integer, 'expired-read': integer, 'expired-misses': integer }), nothing),
    },
    redeAck: {
        name: 'REDE.ACK',
        readonly: false,
        values: 2,
        write(to, key, items) {
            to.key(key);
            to.tuples(items, 'value', 'value');
        },
        reply: integer,
    },
    redeBpoll: {
        name: 'REDE.BPOLL',
        readonly: false,
        values: 2,
        options: ['count', 'withids'],
        write(to, key, timeout, options = {}) {
            to.key(key);
            to.value(timeout);
            to.option('COUNT', options.count);
            to.flag('WITHIDS', options.withids);
        },
        takes: true,
        wait: (key, timeout) => timeout * 1000,
        reply: oneOf(list(bulk), list(tuple(bulk, bulk)), nothing),
    },
    redeClaim: {
        name: 'REDE.CLAIM',
        readonly: false,
        values: 2,
        options: ['count', 'block', 'tokens'],
        write(to, key, lease, options = {}) {
            to.key(key);
            to.value(lease);
            to.option('COUNT', options.count);
            to.option('BLOCK', options.block);
            to.flag('TOKENS', options.tokens);
        },
        takes: true,
        wait: (key, lease, options = {}) => (options.block ?? NaN) * 1000,
        reply: oneOf(list(tuple(bulk, bulk, integer)), list(tuple(bulk, bulk, integer, integer))),
    },
    redeCount: {
        name: 'REDE.COUNT',
        readonly: true,
        values: 3,
        write(to, key, min, max) {
            to.key(key);
            to.value(min);
            to.value(max);
        },
        reply: integer,
    },
    redeExtend: {
        name: 'REDE.EXTEND',
        readonly: false,
        values: 3,
        write(to, key, lease, items) {
            to.key(key);
            to.value(lease);
            to.tuples(items, 'value', 'value');
        },
        reply: integer,
    },
    redeFairclaim: {
        name: 'REDE.FAIRCLAIM',
        readonly: false,
        values: 2,
        options: ['count', 'block', 'tokens'],
        write(to, prefix, lease, options = {}) {
            to.value(prefix);
            to.value(lease);
            to.option('COUNT', options.count);
            to.option('BLOCK', options.block);
            to.flag('TOKENS', options.tokens);
        },
        takes: true,
        wait: (prefix, lease, options = {}) => (options.block ?? NaN) * 1000,
        reply: oneOf(list(tuple(bulk, bulk, bulk, integer)), list(tuple(bulk, bulk, bulk, integer, integer))),
    },
    redeFairinfo: {
        name: 'REDE.FAIRINFO',
        readonly: true,
        values: 1,
        write(to, prefix) {
            to.value(prefix);
        },
        reply: oneOf(record({ 'keys': integer, 'due-keys': integer, 'due': integer, 'claimed': integer, 'other-types': integer, 'oldest-due-ms': oneOf(integer, nothing) }), nothing),
    },
    redeGidpush: {
        name: 'REDE.GIDPUSH',
        readonly: false,
        values: 3,
        options: ['keep', 'replace', 'postpone', 'postponeAtmost', 'remember', 'every', 'cron',
            'cronZone'],
        write(to, key, ttl, element, options = {}) {
            to.key(key);
            to.value(ttl);
            to.value(element);
            to.flag('KEEP', options.keep);
            to.flag('REPLACE', options.replace);
            to.block(options, [], ['postpone', 'postponeAtmost'], () => {
                to.token('POSTPONE');
                to.option('ATMOST', options.postponeAtmost);
            });
            to.option('REMEMBER', options.remember);
            to.option('EVERY', options.every);
            to.block(options, ['cron'], ['cronZone'], () => {
                to.token('CRON');
                to.value(options.cron);
                to.option('ZONE', options.cronZone);
            });
        },
        reply: bulk,
    },
    redeInfo: {
        name: 'REDE.INFO',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: record({ 'length': integer, 'due': integer, 'claimed': integer, 'redelivered': integer, 'next-deadline': oneOf(integer, nothing), 'distinct-ttls': integer, 'bytes': integer, 'paused-until': oneOf(integer, nothing), 'oldest-due-ms': oneOf(integer, nothing), 'pushed': integer, 'delivered': integer, 'acked': integer, 'retried': integer, 'dead': integer, 'lateness-p50': oneOf(integer, nothing), 'lateness-p99': oneOf(integer, nothing) }),
    },
    redeLen: {
        name: 'REDE.LEN',
        readonly: true,
        values: 1,
        options: ['due', 'claimed'],
        write(to, key, options = {}) {
            to.key(key);
            to.flag('DUE', options.due);
            to.flag('CLAIMED', options.claimed);
        },
        reply: integer,
    },
    redeLook: {
        name: 'REDE.LOOK',
        readonly: true,
        values: 2,
        write(to, key, id) {
            to.key(key);
            to.value(id);
        },
        reply: oneOf(bulk, nothing),
    },
    redeMpush: {
        name: 'REDE.MPUSH',
        readonly: false,
        values: 2,
        options: ['keep', 'replace', 'postpone', 'postponeAtmost', 'remember', 'every', 'cron',
            'cronZone'],
        write(to, key, items, options = {}) {
            to.key(key);
            to.tuples(items, 'value', 'value', 'value');
            to.flag('KEEP', options.keep);
            to.flag('REPLACE', options.replace);
            to.block(options, [], ['postpone', 'postponeAtmost'], () => {
                to.token('POSTPONE');
                to.option('ATMOST', options.postponeAtmost);
            });
            to.option('REMEMBER', options.remember);
            to.option('EVERY', options.every);
            to.block(options, ['cron'], ['cronZone'], () => {
                to.token('CRON');
                to.value(options.cron);
                to.option('ZONE', options.cronZone);
            });
        },
        reply: integer,
    },
    redeNack: {
        name: 'REDE.NACK',
        readonly: false,
        values: 3,
        write(to, key, delay, ids) {
            to.key(key);
            to.value(delay);
            to.values(ids);
        },
        reply: integer,
    },
    redePause: {
        name: 'REDE.PAUSE',
        readonly: false,
        values: 1,
        options: ['until'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('UNTIL', options.until);
        },
        reply: text('OK'),
    },
    redePoll: {
        name: 'REDE.POLL',
        readonly: false,
        values: 1,
        options: ['count', 'withids'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('COUNT', options.count);
            to.flag('WITHIDS', options.withids);
        },
        takes: true,
        reply: oneOf(list(bulk), list(tuple(bulk, bulk))),
    },
    redePull: {
        name: 'REDE.PULL',
        readonly: false,
        values: 2,
        options: ['forget'],
        write(to, key, id, options = {}) {
            to.key(key);
            to.value(id);
            to.flag('FORGET', options.forget);
        },
        takes: true,
        reply: oneOf(bulk, nothing),
    },
    redePush: {
        name: 'REDE.PUSH',
        readonly: false,
        values: 4,
        options: ['keep', 'replace', 'postpone', 'postponeAtmost', 'remember', 'every', 'cron',
            'cronZone'],
        write(to, key, ttl, element, id, options = {}) {
            to.key(key);
            to.value(ttl);
            to.value(element);
            to.value(id);
            to.flag('KEEP', options.keep);
            to.flag('REPLACE', options.replace);
            to.block(options, [], ['postpone', 'postponeAtmost'], () => {
                to.token('POSTPONE');
                to.option('ATMOST', options.postponeAtmost);
            });
            to.option('REMEMBER', options.remember);
            to.option('EVERY', options.every);
            to.block(options, ['cron'], ['cronZone'], () => {
                to.token('CRON');
                to.value(options.cron);
                to.option('ZONE', options.cronZone);
            });
        },
        reply: oneOf(text('OK'), nothing),
    },
    redePushat: {
        name: 'REDE.PUSHAT',
        readonly: false,
        values: 4,
        options: ['keep', 'replace', 'postpone', 'postponeAtmost', 'remember', 'every', 'cron',
            'cronZone'],
        write(to, key, unixTimeMilliseconds, element, id, options = {}) {
            to.key(key);
            to.value(unixTimeMilliseconds);
            to.value(element);
            to.value(id);
            to.flag('KEEP', options.keep);
            to.flag('REPLACE', options.replace);
            to.block(options, [], ['postpone', 'postponeAtmost'], () => {
                to.token('POSTPONE');
                to.option('ATMOST', options.postponeAtmost);
            });
            to.option('REMEMBER', options.remember);
            to.option('EVERY', options.every);
            to.block(options, ['cron'], ['cronZone'], () => {
                to.token('CRON');
                to.value(options.cron);
                to.option('ZONE', options.cronZone);
            });
        },
        reply: oneOf(text('OK'), nothing),
    },
    redeRange: {
        name: 'REDE.RANGE',
        readonly: true,
        values: 3,
        options: ['count'],
        write(to, key, min, max, options = {}) {
            to.key(key);
            to.value(min);
            to.value(max);
            to.option('COUNT', options.count);
        },
        reply: list(tuple(bulk, integer)),
    },
    redeReschedule: {
        name: 'REDE.RESCHEDULE',
        readonly: false,
        values: 3,
        write(to, key, ttl, ids) {
            to.key(key);
            to.value(ttl);
            to.values(ids);
        },
        reply: integer,
    },
    redeResume: {
        name: 'REDE.RESUME',
        readonly: false,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: text('OK'),
    },
    redeRetry: {
        name: 'REDE.RETRY',
        readonly: false,
        values: 3,
        options: ['nocount'],
        write(to, key, delay, items, options = {}) {
            to.key(key);
            to.value(delay);
            to.flag('NOCOUNT', options.nocount);
            to.tuples(items, 'value', 'value');
        },
        reply: integer,
    },
    redeScan: {
        name: 'REDE.SCAN',
        readonly: true,
        values: 2,
        options: ['match', 'count'],
        write(to, key, cursor, options = {}) {
            to.key(key);
            to.value(cursor);
            to.option('MATCH', options.match);
            to.option('COUNT', options.count);
        },
        reply: tuple(bulk, rows(bulk, bulk)),
    },
    redeTtn: {
        name: 'REDE.TTN',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: oneOf(integer, nothing),
    },
    redeUpdate: {
        name: 'REDE.UPDATE',
        readonly: false,
        values: 3,
        write(to, key, id, element) {
            to.key(key);
            to.value(id);
            to.value(element);
        },
        reply: bulk,
    },
    redeXack: {
        name: 'REDE.XACK',
        readonly: false,
        values: 2,
        write(to, key, ids) {
            to.key(key);
            to.values(ids);
        },
        takes: true,
        reply: list(oneOf(bulk, nothing)),
    },
    redeXpoll: {
        name: 'REDE.XPOLL',
        readonly: true,
        values: 1,
        options: ['count'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('COUNT', options.count);
        },
        reply: list(bulk),
    },
    saddex: {
        name: 'SADDEX',
        readonly: false,
        values: 2,
        options: ['mnx', 'mxx', 'ex', 'px', 'exat', 'pxat', 'keepttl'],
        write(to, key, members, options = {}) {
            to.key(key);
            to.flag('MNX', options.mnx);
            to.flag('MXX', options.mxx);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('KEEPTTL', options.keepttl);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: integer,
    },
    sdiffcard: {
        name: 'SDIFFCARD',
        readonly: true,
        values: 1,
        options: ['limit'],
        write(to, keys, options = {}) {
            to.length(keys);
            to.keys(keys);
            to.option('LIMIT', options.limit);
        },
        reply: integer,
    },
    sexpire: {
        name: 'SEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, seconds, members, options = {}) {
            to.key(key);
            to.value(seconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    sexpireat: {
        name: 'SEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeSeconds, members, options = {}) {
            to.key(key);
            to.value(unixTimeSeconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    sexpiretime: {
        name: 'SEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    softttl: {
        name: 'SOFTTTL',
        readonly: true,
        values: 1,
        write(to, key) {
            to.key(key);
        },
        reply: integer,
    },
    spersist: {
        name: 'SPERSIST',
        readonly: false,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    spexpire: {
        name: 'SPEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, milliseconds, members, options = {}) {
            to.key(key);
            to.value(milliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    spexpireat: {
        name: 'SPEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeMilliseconds, members, options = {}) {
            to.key(key);
            to.value(unixTimeMilliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    spexpiretime: {
        name: 'SPEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    spttl: {
        name: 'SPTTL',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    stale: {
        name: 'STALE',
        readonly: false,
        values: 1,
        write(to, keys) {
            to.keys(keys);
        },
        reply: integer,
    },
    sttl: {
        name: 'STTL',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    sunioncard: {
        name: 'SUNIONCARD',
        readonly: true,
        values: 1,
        options: ['approx', 'limit'],
        write(to, keys, options = {}) {
            to.length(keys);
            to.keys(keys);
            to.flag('APPROX', options.approx);
            to.option('LIMIT', options.limit);
        },
        reply: integer,
    },
    waitaof: {
        name: 'WAITAOF',
        readonly: false,
        values: 3,
        write(to, numlocal, numreplicas, timeout) {
            to.value(numlocal);
            to.value(numreplicas);
            to.value(timeout);
        },
        takes: true,
        wait: (numlocal, numreplicas, timeout) => timeout,
        reply: tuple(integer, integer),
    },
    xackdel: {
        name: 'XACKDEL',
        readonly: false,
        values: 3,
        options: ['keepref', 'delref', 'acked'],
        write(to, key, group, ids, options = {}) {
            to.key(key);
            to.value(group);
            to.flag('KEEPREF', options.keepref);
            to.flag('DELREF', options.delref);
            to.flag('ACKED', options.acked);
            to.token('IDS');
            to.length(ids);
            to.values(ids);
        },
        reply: list(integer),
    },
    xcfgset: {
        name: 'XCFGSET',
        readonly: false,
        values: 1,
        options: ['idmpDuration', 'idmpMaxsize'],
        write(to, key, options = {}) {
            to.key(key);
            to.option('IDMP-DURATION', options.idmpDuration);
            to.option('IDMP-MAXSIZE', options.idmpMaxsize);
        },
        reply: text('OK'),
    },
    xdelex: {
        name: 'XDELEX',
        readonly: false,
        values: 2,
        options: ['keepref', 'delref', 'acked'],
        write(to, key, ids, options = {}) {
            to.key(key);
            to.flag('KEEPREF', options.keepref);
            to.flag('DELREF', options.delref);
            to.flag('ACKED', options.acked);
            to.token('IDS');
            to.length(ids);
            to.values(ids);
        },
        reply: list(integer),
    },
    xidmprecord: {
        name: 'XIDMPRECORD',
        readonly: false,
        values: 4,
        write(to, key, producerId, idempotentId, id) {
            to.key(key);
            to.value(producerId);
            to.value(idempotentId);
            to.value(id);
        },
        reply: text('OK'),
    },
    xnack: {
        name: 'XNACK',
        readonly: false,
        values: 4,
        options: ['delay', 'retrycount', 'force'],
        write(to, key, group, mode, ids, options = {}) {
            to.key(key);
            to.value(group);
            to.value(mode);
            to.option('DELAY', options.delay);
            to.option('RETRYCOUNT', options.retrycount);
            to.flag('FORCE', options.force);
            to.token('IDS');
            to.length(ids);
            to.values(ids);
        },
        reply: integer,
    },
    zaddex: {
        name: 'ZADDEX',
        readonly: false,
        values: 2,
        options: ['ex', 'px', 'exat', 'pxat', 'keepttl', 'nx', 'xx', 'gt', 'lt', 'ch'],
        write(to, key, items, options = {}) {
            to.key(key);
            to.option('EX', options.ex);
            to.option('PX', options.px);
            to.option('EXAT', options.exat);
            to.option('PXAT', options.pxat);
            to.flag('KEEPTTL', options.keepttl);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.flag('CH', options.ch);
            to.tuples(items, 'value', 'value');
        },
        reply: integer,
    },
    zexpire: {
        name: 'ZEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, seconds, members, options = {}) {
            to.key(key);
            to.value(seconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zexpireat: {
        name: 'ZEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeSeconds, members, options = {}) {
            to.key(key);
            to.value(unixTimeSeconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zexpiretime: {
        name: 'ZEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zpersist: {
        name: 'ZPERSIST',
        readonly: false,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zpexpire: {
        name: 'ZPEXPIRE',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, milliseconds, members, options = {}) {
            to.key(key);
            to.value(milliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zpexpireat: {
        name: 'ZPEXPIREAT',
        readonly: false,
        values: 3,
        options: ['nx', 'xx', 'gt', 'lt'],
        write(to, key, unixTimeMilliseconds, members, options = {}) {
            to.key(key);
            to.value(unixTimeMilliseconds);
            to.flag('NX', options.nx);
            to.flag('XX', options.xx);
            to.flag('GT', options.gt);
            to.flag('LT', options.lt);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zpexpiretime: {
        name: 'ZPEXPIRETIME',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zpttl: {
        name: 'ZPTTL',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
    zttl: {
        name: 'ZTTL',
        readonly: true,
        values: 2,
        write(to, key, members) {
            to.key(key);
            to.token('MEMBERS');
            to.length(members);
            to.values(members);
        },
        reply: list(integer),
    },
};
