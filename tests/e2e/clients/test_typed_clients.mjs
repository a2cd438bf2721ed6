#!/usr/bin/env node
// tools/clients/node: the functions that are made from the command table, as a module of node-redis and
// through ioredis' call, each in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expired as callBy, expiredBuffers as callBuffersBy } from 'expired-clients/ioredis';
import { expired } from 'expired-clients/node-redis';
import { Redis } from 'ioredis';
import { RESP_TYPES, createClient } from 'redis';

import { Daemon, NOON, main, stepped, test } from './daemon.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BINARY = Buffer.from([0, 13, 10, 255, 254]);

// `db` has the functions, `buffers` those whose replies have Buffers; `send` sends any words.
async function nodeRedis(daemon, RESP) {
    const client = createClient({ socket: { path: daemon.path }, RESP, modules: { expired } });
    await client.on('error', () => {}).connect();
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    return {
        db: client.expired, buffers: bytes.expired, client,
        send: (...words) => client.sendCommand(words.map(String)), close: () => client.close(),
    };
}

async function ioRedis(daemon, protocol) {
    const client = new Redis({ path: daemon.path, protocol, lazyConnect: true, retryStrategy: null });
    await client.connect();
    return {
        db: callBy(client), buffers: callBuffersBy(client), client,
        send: (...words) => client.call(...words), close: () => client.quit(),
    };
}

const CLIENTS = [
    ['node-redis RESP2', nodeRedis, 2], ['node-redis RESP3', nodeRedis, 3],
    ['ioredis RESP2', ioRedis, 2], ['ioredis RESP3', ioRedis, 3],
];

function each(name, run, kind = undefined) {
    for (const [label, connect, version] of CLIENTS.filter(([, connect]) => !kind || connect === kind)) {
        stepped(`${name} (${label})`, async () => {
            const daemon = await Daemon.start();
            await daemon.hold();
            const client = await connect(daemon, version);
            await run(client, daemon);
            await client.close();
            await daemon.stop();
        });
    }
}

each('dehydrators have functions and typed replies', async ({ db }, daemon) => {
    assert.equal(await db.redePush('d', 50, 'pa', 'a'), 'OK');
    assert.equal(await db.redeMpush('d', [[10, 'pb', 'b'], [20, 'pc', 'c']]), 2);
    assert.equal(await db.redeTtn('d'), 10);
    assert.deepEqual(await db.redePoll('d'), []);
    await daemon.step(20);
    assert.deepEqual(await db.redePoll('d', { count: 1 }), ['pb']);
    assert.deepEqual(await db.redePoll('d', { withids: true }), [['c', 'pc']]);
    assert.deepEqual(await db.redeRange('d', 0, 2 * NOON), [['a', NOON + 50]]);
    assert.deepEqual(await db.redeScan('d', 0), ['0', [['a', 'pa']]]);
    const info = await db.redeInfo('d');
    assert.deepEqual([info.length, info.due, info['next-deadline']], [1, 0, NOON + 50]);
    assert.equal((await db.redeInfo('none'))['next-deadline'], null);
    await daemon.step(30);
    assert.deepEqual(await db.redeClaim('d', 1000, { count: 5, block: 1 }), [['a', 'pa', 1]]);
    assert.equal(await db.redeLen('d', { claimed: true }), 1);
    assert.deepEqual(await db.redeXack('d', ['a', 'x']), ['pa', null]);
    assert.deepEqual([await db.redeLook('d', 'a'), await db.redeTtn('d')], [null, null]);
});

each('deadlines of members have functions', async ({ db, send }) => {
    await send('SADD', 's', 'a', 'b');
    await send('HSET', 'h', 'a', 1, 'b', 2);
    assert.deepEqual(await db.sexpire('s', 10, ['a', 'x']), [1, -2]);
    assert.deepEqual(await db.sexpire('s', 20, 'a', { nx: true }), [0]);
    assert.deepEqual(await db.sttl('s', ['a', 'b']), [10, -1]);
    assert.equal(await db.saddex('s', ['c', 'd'], { ex: 5 }), 2);
    assert.equal(await db.zaddex('z', [[1.5, 'm'], [2, 'n']], { px: 7000, nx: true }), 2);
    assert.deepEqual(await db.zpttl('z', 'm'), [7000]);
    assert.deepEqual(await db.hgetex('h', ['a', 'x'], { ex: 9 }), ['1', null]);
    assert.equal(await db.hsetex('h', [['c', 3], ['d', 4]], { ex: 4 }), 1);
    assert.deepEqual(await db.httl('h', ['a', 'c']), [9, 4]);
});

each('strings, streams and scores have functions', async ({ db, send }) => {
    assert.equal(await db.msetex([['a', 1], ['b', 2]], { ex: 5, nx: true }), 1);
    assert.equal(await db.delifeq('a', 1), 1);
    await send('ZADD', 'z', NOON / 1000, 'm');
    assert.deepEqual(await db.bztspop('z', 5, 1), [['m', NOON / 1000]]);
    const id = String(await send('XADD', 'x', '*', 'f', 1));
    await send('XGROUP', 'CREATE', 'x', 'g', 0);
    await send('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 'x', '>');
    assert.equal(await db.xnack('x', 'g', 'FAIL', id, { delay: 10 }), 1);
    assert.deepEqual(await db.xdelex('x', [id, '1-1'], { delref: true }), [1, -1]);
});

each('policies and forecasts have functions', async ({ db, send }) => {
    assert.equal(await db.policySet('s:*', { ttl: '5m', refresh: 'WRITE' }), 'OK');
    await db.policySet('q', { maxdeliveries: 3, maxdeliveriesTo: 'failed' });
    await db.policySet('e:*', { expiredTo: 'log', expiredValue: true, expiredValueMax: '1kb' });
    assert.deepEqual({ ...await db.policyGet('s:*') }, { TTL: 300000, REFRESH: 'WRITE' });
    assert.equal(await db.policyGet('none'), null);
    assert.deepEqual(Object.keys(await db.policyList()).sort(), ['e:*', 'q', 's:*']);
    assert.equal(await db.policyOf('s:1'), 's:*');
    await send('SET', 's:1', 'v');
    assert.deepEqual(await db.expiryNext({ count: 5 }), [['s:1', NOON + 300000, 'key']]);
    assert.equal((await db.expiryLag()).count, 0);
    assert.deepEqual((await db.expiryForecast())[0], ['1s', 0, 0, 0]);
});

each('ids and payloads are bytes', async ({ db, buffers }) => {
    await buffers.redePush(BINARY, 0, BINARY, BINARY);
    assert.deepEqual(await buffers.redeLook(BINARY, BINARY), BINARY);
    assert.deepEqual(await buffers.redePoll(BINARY, { withids: true }), [[BINARY, BINARY]]);
    assert.equal((await buffers.redeInfo('d')).length, 0);
    await db.policySet('s:*', { ttl: 5 });
    assert.deepEqual({ ...await buffers.policyGet('s:*') }, { TTL: 5 });
});

each('errors are those of the client, and wrong arguments are not sent', async ({ db, send }) => {
    await db.redePush('d', 0, 'p', 'i');
    await assert.rejects(async () => db.redePush('d', 0, 'p', 'i'), /already dehydrating/);
    await assert.rejects(async () => db.redePush('d', 0, undefined, 'i'), TypeError);
    await assert.rejects(async () => db.redeMpush('d', [[0, 'p']]), TypeError);
    assert.equal(Number(await send('EXISTS', 'q', 'd')), 1);
});

each('an incomplete or unknown option is named', async ({ db, send }) => {
    const wrong = [
        [() => db.policySet('q', { maxdeliveries: 3 }), 'maxdeliveries needs maxdeliveriesTo'],
        [() => db.policySet('q', { backoffJitter: 5 }), 'backoffJitter needs backoff and backoffMaxDelay'],
        [() => db.policySet('q', { expiredValue: true }), 'expiredValue needs expiredTo'],
        [() => db.redeClaim('d', 50, { blok: 1 }), "redeClaim has no option 'blok'. Its options: count, block, tokens"],
        [() => db.redeClaim('d', 50, 'TOKENS'), 'redeClaim: options must be an object'],
        [() => db.redeXack('d', 'a', 'b'), 'redeXack takes at most 2 arguments, not 3'],
        [() => db.expiryLag({ count: 1 }), 'expiryLag takes at most 0 arguments, not 1'],
    ];
    for (const [call, message] of wrong) await assert.rejects(async () => call(), { name: 'TypeError', message });
    assert.equal(await db.redeLen('d', undefined), 0);
    assert.equal(Number(await send('EXISTS', 'q', 'd')), 0);
});

each('a transaction of node-redis reads replies', async ({ client }) => {
    const replies = await client.multi().expired.redePush('d', 0, 'p', 'i').expired.redeClaim('d', 5)
        .expired.redeInfo('d').exec();
    assert.deepEqual(replies.slice(0, 2), ['OK', [['i', 'p', 1]]]);
    assert.equal(replies[2].claimed, 1);
}, nodeRedis);

each('keyPrefix of node-redis applies to keys', async ({ client, send }) => {
    const prefixed = createClient({ ...client.options, keyPrefix: 'app:', modules: { expired } });
    await prefixed.connect();
    await prefixed.expired.redePush('d', 0, 'p', 'i');
    await prefixed.expired.msetex([['a', 'v'], ['b', 'v']]);
    await prefixed.close();
    assert.deepEqual((await send('KEYS', '*')).sort(), ['app:a', 'app:b', 'app:d']);
}, nodeRedis);

each('a pipeline of ioredis is returned', async ({ client }) => {
    const pipeline = client.pipeline();
    assert.equal(callBy(pipeline).redePush('d', 0, 'p', 'i'), pipeline);
    callBy(pipeline).redeXack('d', 'i').get('k');
    assert.deepEqual(await pipeline.exec(), [[null, 'OK'], [null, ['p']], [null, null]]);
    const multi = client.multi();
    callBy(multi).policySet('s:*', { ttl: 5 });
    assert.deepEqual(await multi.exec(), [[null, 'OK']]);
}, ioRedis);

test('the types fit those of node-redis and ioredis', () => {
    const tsc = path.join(HERE, 'node_modules/typescript/bin/tsc');
    try {
        execFileSync(process.execPath, [tsc, '--noEmit', '--strict', '--module', 'nodenext', '--target',
            'es2022', '--skipLibCheck', 'typed_clients.ts'], { cwd: HERE, encoding: 'utf8' });
    } catch (error) {
        assert.fail(error.stdout);
    }
    assert.ok(fs.existsSync(tsc));
});

await main();
