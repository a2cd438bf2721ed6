#!/usr/bin/env node
// tools/clients/node/once.js: functions of ioredis and iovalkey that wait are not cut by the client's limits, and none
// that takes something is sent twice. What node-redis, ioredis and iovalkey do by themselves is in doc/waiting.md.
import assert from 'node:assert/strict';
import { expired as callBy } from 'expired-clients/ioredis';
import { expired, waiting } from 'expired-clients/node-redis';
import { Redis as IoRedis } from 'ioredis';
import { Redis as IoValkey } from 'iovalkey';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';

import { Daemon, STRETCH, main, stepped, until } from './daemon.mjs';

const SHORT = 200 * STRETCH; // milliseconds, in which other commands are answered
const LONG = 30; // seconds

const CLIENTS = [['ioredis', IoRedis], ['iovalkey', IoValkey]];

function each(name, run) {
    for (const [label, Client] of CLIENTS) {
        stepped(`${name} (${label})`, async () => {
            const daemon = await Daemon.start();
            const made = [];
            const connect = (options = {}) => {
                made.push(new Client({ path: daemon.path, retryStrategy: () => 20, ...options }));
                return made.at(-1).on('error', () => {});
            };
            const by = connect();
            try {
                await run({ daemon, by, db: callBy(by), connect });
            } finally {
                made.forEach((client) => client.disconnect());
                await daemon.stop();
            }
        });
    }
}

const blocked = async (by, count) => assert.ok(
    await until(async () => (await by.info('clients')).includes(`blocked_clients:${count}\r\n`)));

const calls = async (by, command) => Number(
    (await by.info('commandstats')).match(new RegExp(`cmdstat_${command}:calls=(\\d+)`))?.[1] ?? 0);

const connected = async (by) => (await by.sendCommand(['CLIENT', 'LIST'])).trim().split('\n').length;

const WAITING = [
    [(db) => db.redeBpoll('q', LONG), (db) => db.redePush('q', 0, 'p', 'i'), ['p']],
    [(db) => db.redeClaim('q', 5000, { block: LONG }), (db) => db.redePush('q', 0, 'p', 'i'), [['i', 'p', 1]]],
    [(db) => db.bztspop('z', 1, LONG), (db, by) => by.zadd('z', 1, 'm'), [['m', 1]]],
    [(db) => db.bztsmove('z', 'l', 1, LONG), (db, by) => by.zadd('z', 1, 'm'), ['m']],
    [(db) => db.blmovem('a', 'b', 'LEFT', 'RIGHT', LONG), (db, by) => by.rpush('a', 'm'), ['m']],
    [(db) => db.getfresh('s', { wait: LONG * 1000 }), (db, by) => by.set('s', 'v'), ['v', 'fresh']],
];

for (const limit of ['commandTimeout', 'socketTimeout']) {
    each(`no function that waits is cut by ${limit}`, async ({ by, db, connect }) => {
        for (const [wait, give, wanted] of WAITING) {
            await by.flushall();
            await db.getfresh('s'); // another client is loading it
            const client = connect({ [limit]: SHORT });
            const typed = wait(callBy(client));
            await blocked(by, 1);
            // This one waits later, so when it is cut the other one's time is over too.
            const plain = connect({ [limit]: SHORT, maxRetriesPerRequest: 0 });
            await assert.rejects(plain.blpop('never', LONG), /timed out|max retries/);
            plain.disconnect();
            await blocked(by, 1);
            await give(db, by);
            assert.deepEqual(await typed, wanted);
            client.disconnect();
        }
    });
}

each('a lease is awaited beyond commandTimeout', async ({ by, db, connect }) => {
    const [token] = await db.leaseTake('l', 'ann', 30_000);
    const other = callBy(connect({ commandTimeout: SHORT })).leaseTake('l', 'bob', 30_000, { wait: LONG });
    await blocked(by, 1);
    await assert.rejects(connect({ commandTimeout: SHORT }).blpop('never', 1), /timed out/);
    await db.leaseDrop('l', token);
    assert.ok((await other)[0] > token);
});

each('a wait without end is not cut', async ({ by, db, connect }) => {
    const client = connect({ commandTimeout: SHORT, socketTimeout: SHORT });
    const typed = callBy(client).redeBpoll('q', 0);
    await blocked(by, 1);
    await assert.rejects(connect({ commandTimeout: SHORT }).blpop('never', 1), /timed out/);
    await db.redePush('q', 0, 'p', 'i');
    assert.deepEqual(await typed, ['p']);
});

each('the connection keeps its own limit afterwards', async ({ db, connect }) => {
    const client = connect({ socketTimeout: SHORT, maxRetriesPerRequest: 0 });
    await db.redePush('q', 0, 'p', 'i');
    assert.deepEqual(await callBy(client).redeBpoll('q', LONG), ['p']);
    assert.equal(client.options.socketTimeout, SHORT);
    await assert.rejects(client.blpop('never', LONG), /max retries/);
});

each('two that wait at once have the longer limit', async ({ daemon, connect }) => {
    const client = connect({ socketTimeout: SHORT });
    const first = callBy(client).redeBpoll('q', 0.01);
    const second = callBy(client).redeBpoll('q', LONG);
    assert.equal(client.options.socketTimeout, LONG * 1000 + 1000);
    assert.equal(await first, null);
    assert.equal(client.options.socketTimeout, LONG * 1000 + 1000);
    await daemon.command('REDE.PUSH q 0 p i');
    assert.deepEqual(await second, ['p']);
    assert.equal(client.options.socketTimeout, SHORT);
});

each('a command that takes is not sent again', async ({ daemon, by, db, connect }) => {
    const client = connect();
    const lost = assert.rejects(callBy(client).redeBpoll('q', LONG), /aborted due to connection close/);
    const plain = client.blpop('l', LONG);
    await blocked(by, 1);
    await by.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await lost;
    await blocked(by, 1); // ioredis sends the plain one again
    assert.equal(await calls(by, 'rede.bpoll'), 1);
    await daemon.command('RPUSH l a');
    assert.deepEqual(await plain, ['l', 'a']);
    await db.redePush('q', 0, 'p', 'i');
    assert.deepEqual(await callBy(client).redePoll('q'), ['p']);
});

each('the client itself sends a command again', async ({ by, connect }) => {
    const client = connect();
    const plain = client.call('REDE.BPOLL', 'q', LONG);
    plain.catch(() => {});
    await blocked(by, 1);
    await by.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    assert.ok(await until(async () => await calls(by, 'rede.bpoll') === 2));
});

each('a command that is given up is not sent later', async ({ db, connect }) => {
    const client = connect({ commandTimeout: SHORT, lazyConnect: true, maxRetriesPerRequest: null });
    await db.redePush('q', 0, 'p', 'i');
    const { path } = client.options;
    client.options.path = `${path}.missing`;
    await assert.rejects(callBy(client).redeBpoll('q', 0.01), /timed out/);
    client.options.path = path;
    assert.equal(await client.ping(), 'PONG');
    assert.deepEqual(await db.redePoll('q'), ['p']);
    assert.equal(client.offlineQueue.length, 0);
});

each('a dead server is noticed a second after the wait', async ({ daemon, by, connect }) => {
    const client = connect({ commandTimeout: SHORT });
    await client.ping();
    daemon.process.kill('SIGSTOP');
    try {
        await assert.rejects(callBy(client).redeBpoll('q', 0.1), /timed out/);
    } finally {
        daemon.process.kill('SIGCONT');
    }
    assert.equal(await by.ping(), 'PONG');
});

each('autopipelining does not hold a command that waits', async ({ by, db, connect }) => {
    const client = connect({ enableAutoPipelining: true });
    const typed = callBy(client).redeBpoll('q', LONG);
    await blocked(by, 1);
    await db.redePush('q', 0, 'p', 'i');
    assert.deepEqual(await typed, ['p']);
});

// A module of node-redis has no way to its socket. First what its users have to set, then `waiting`.
function ofNodeRedis(name, run) {
    stepped(name, async () => {
        const daemon = await Daemon.start();
        const by = await createClient({ socket: { path: daemon.path } }).connect();
        const made = [];
        const connect = (socket = {}) => {
            const client = createClient({ socket: { path: daemon.path, ...socket }, modules: { expired } });
            made.push(client.on('error', () => {}));
            return client.connect();
        };
        try {
            await run({ daemon, by, connect });
        } finally {
            [by, ...made].filter((client) => client.isOpen).forEach((client) => client.destroy());
            await daemon.stop();
        }
    });
}

ofNodeRedis('node-redis waits by default, and socketTimeout closes the client', async ({ by, connect }) => {
    const client = await connect();
    const typed = client.expired.redeBpoll('q', LONG);
    await blocked(by, 1);
    const cut = await connect({ socketTimeout: SHORT });
    await assert.rejects(cut.expired.redeBpoll('q', LONG), /[Ss]ocket ?[Tt]imeout/);
    await blocked(by, 1);
    await assert.rejects(cut.ping(), /The client is closed/); // it does not connect again
    await by.sendCommand(['REDE.PUSH', 'q', '0', 'p', 'i']);
    assert.deepEqual(await typed, ['p']);
    assert.equal(await calls(by, 'rede.bpoll'), 2);
});

ofNodeRedis('node-redis sends nothing again when a connection is lost', async ({ by, connect }) => {
    const client = await connect();
    const lost = assert.rejects(client.expired.redeBpoll('q', LONG), /Socket closed unexpectedly/);
    await blocked(by, 1);
    await by.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    await lost;
    assert.equal(await client.ping(), 'PONG');
    await blocked(by, 0);
});

ofNodeRedis('an abort of node-redis that comes after the command was sent does nothing', async ({ by, connect }) => {
    const client = await connect();
    const abort = new AbortController();
    const typed = client.withAbortSignal(abort.signal).blPop('l', LONG);
    await blocked(by, 1);
    abort.abort();
    await by.sendCommand(['RPUSH', 'l', 'a']);
    assert.deepEqual({ ...await typed }, { key: 'l', element: 'a' });
});

for (const [wait, give, wanted] of WAITING) {
    ofNodeRedis(`waiting is not cut by socketTimeout: ${wait}`, async ({ daemon, by, connect }) => {
        const io = new IoRedis({ path: daemon.path });
        const db = callBy(io);
        await db.getfresh('s'); // another client is loading it
        const client = await connect({ socketTimeout: SHORT, reconnectStrategy: 20 });
        const typed = wait(waiting(client));
        await blocked(by, 1);
        // This one waits later, so when it is cut the other one's time is over too.
        await assert.rejects((await connect({ socketTimeout: SHORT })).blPop('never', LONG), /[Ss]ocket ?[Tt]imeout/);
        await blocked(by, 1);
        await give(db, io);
        assert.deepEqual(await typed, wanted);
        io.disconnect();
    });
}

ofNodeRedis('a wait without end of waiting is not cut', async ({ by, connect }) => {
    const typed = waiting(await connect({ socketTimeout: SHORT, reconnectStrategy: 20 })).redeBpoll('q', 0);
    await blocked(by, 1);
    await assert.rejects((await connect({ socketTimeout: SHORT })).blPop('never', LONG), /[Ss]ocket ?[Tt]imeout/);
    await by.sendCommand(['REDE.PUSH', 'q', '0', 'p', 'i']);
    assert.deepEqual(await typed, ['p']);
});

ofNodeRedis('waiting notices a dead server soon after the wait', async ({ daemon, by, connect }) => {
    const db = waiting(await connect({ socketTimeout: SHORT, reconnectStrategy: 20 }));
    assert.equal(await db.redeBpoll('q', 0.01), null); // its connection is kept
    daemon.process.kill('SIGSTOP');
    try {
        await assert.rejects(db.redeBpoll('q', 0.01), /[Ss]ocket ?[Tt]imeout/);
    } finally {
        daemon.process.kill('SIGCONT');
    }
    assert.equal(await by.ping(), 'PONG');
    await by.sendCommand(['REDE.PUSH', 'q', '0', 'p', 'i']);
    assert.deepEqual(await db.redeBpoll('q', LONG), ['p']);
});

ofNodeRedis('waiting sends nothing again when a connection is lost', async ({ by, connect }) => {
    const client = await connect();
    const db = waiting(client);
    const lost = assert.rejects(db.redeBpoll('q', LONG), /Socket closed unexpectedly/);
    await blocked(by, 1);
    await by.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    await lost;
    await blocked(by, 0);
    await by.sendCommand(['REDE.PUSH', 'q', '0', 'p', 'i']);
    assert.equal(await calls(by, 'rede.bpoll'), 1);
    assert.deepEqual(await db.redePoll('q'), ['p']);
});

ofNodeRedis('waits of waiting do not delay each other, and share connections in turn', async ({ by, connect }) => {
    const client = await connect();
    const db = waiting(client);
    const both = [db.redeBpoll('a', LONG), db.redeBpoll('b', LONG)];
    await blocked(by, 2);
    assert.equal(await db.redePush('b', 0, 'p', 'i'), 'OK');
    assert.deepEqual(await both[1], ['p']);
    for (let i = 0; i < 10; i++) assert.equal(await db.redeBpoll('b', 0.001), null);
    await db.redePush('a', 0, 'p', 'i');
    assert.deepEqual(await both[0], ['p']);
    assert.ok(await connected(by) <= 5); // by, client, two that waited, and one more for another limit
});

ofNodeRedis('connections of waiting end with their client', async ({ by, connect }) => {
    const client = await connect();
    const cut = assert.rejects(waiting(client).redeBpoll('q', LONG), /Disconnects client/);
    await blocked(by, 1);
    client.destroy();
    await cut;
    await blocked(by, 0);
    await assert.rejects(waiting(client).redeBpoll('q', LONG), /The client is closed/);
});

ofNodeRedis('a client that is destroyed while a wait connects leaves no connection', async ({ by, connect }) => {
    const client = await connect();
    const cut = assert.rejects(waiting(client).redeBpoll('q', LONG), /The client is closed|Disconnects client/);
    client.destroy();
    await cut;
    assert.ok(await until(async () => await connected(by) === 1), await by.sendCommand(['CLIENT', 'LIST']));
});

ofNodeRedis('waits do not delay a client that is still connecting', async ({ by, connect }) => {
    const client = await connect();
    client.destroy();
    const open = client.connect();
    const typed = waiting(client).redeBpoll('q', LONG);
    await open;
    await blocked(by, 1);
    assert.equal(await waiting(client).redePush('q', 0, 'p', 'i'), 'OK');
    assert.deepEqual(await typed, ['p']);
});

ofNodeRedis('connections of waiting end when their client gives up', async ({ by, connect }) => {
    const client = await connect({ reconnectStrategy: false });
    const db = waiting(client);
    const cut = assert.rejects(db.redeBpoll('q', 0), /Disconnects client/);
    await blocked(by, 1);
    await by.sendCommand(['CLIENT', 'KILL', 'ID', String(await client.sendCommand(['CLIENT', 'ID']))]);
    await cut;
    await blocked(by, 0);
    await assert.rejects(db.redeBpoll('q', LONG), /The client is closed/);
});

ofNodeRedis('waits of similar lengths share a connection', async ({ by, connect }) => {
    const db = waiting(await connect({ socketTimeout: 60_000 }));
    for (let i = 0; i < 20; i++) {
        await db.redePush('q', 0, 'p', `${i}`);
        assert.deepEqual(await db.redeBpoll('q', 10 - i / 100), ['p']);
    }
    assert.ok(await connected(by) <= 3, await by.sendCommand(['CLIENT', 'LIST']));
});

ofNodeRedis('functions of waiting may be asked for again', async ({ connect }) => {
    const client = await connect();
    const before = client.listenerCount('end');
    for (let i = 0; i < 5; i++) waiting(client);
    assert.equal(client.listenerCount('end'), before + 1);
});

ofNodeRedis('waiting refuses what has no connection of its own', async ({ by }) => {
    const others = [by, {}, createClientPool({ modules: { expired } }),
        createCluster({ rootNodes: [], modules: { expired } }),
        createSentinel({ name: 'm', sentinelRootNodes: [], modules: { expired } })];
    for (const other of others) assert.throws(() => waiting(other), /the module expired/);
});

await main();
