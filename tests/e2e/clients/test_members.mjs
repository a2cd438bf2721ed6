#!/usr/bin/env node
// Fields with deadlines as node-redis spells them, in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { createClient } from 'redis';

import { Daemon, NOON, main, stepped } from './daemon.mjs';

async function withClient(RESP, run) {
    const daemon = await Daemon.start();
    await daemon.hold();
    const client = createClient({ socket: { path: daemon.path }, RESP });
    const errors = [];
    client.on('error', (error) => errors.push(error));
    await client.connect();
    await run(client, daemon);
    await client.close();
    await daemon.stop();
    assert.deepEqual(errors, []);
}

function each(name, run) {
    for (const RESP of [2, 3]) stepped(`${name}, RESP${RESP}`, () => withClient(RESP, run));
}

each('fields end one by one', async (client, daemon) => {
    await client.hSet('h', { a: '1', b: '2', c: '3' });
    assert.deepEqual(await client.hExpire('h', ['a', 'x'], 10), [1, -2]);
    assert.deepEqual(await client.hExpire('h', 'a', 20, 'NX'), [0]);
    assert.deepEqual(await client.hpExpire('h', ['b'], 500), [1]);
    assert.deepEqual(await client.hpExpireAt('h', 'c', NOON + 700), [1]);
    assert.deepEqual(await client.hTTL('h', ['a', 'b', 'x']), [10, 1, -2]);
    assert.deepEqual(await client.hpTTL('h', ['b', 'c']), [500, 700]);
    assert.deepEqual(await client.hExpireTime('h', 'a'), [NOON / 1000 + 10]);
    assert.deepEqual(await client.hpExpireTime('h', 'c'), [NOON + 700]);
    assert.deepEqual(await client.hPersist('h', ['c', 'c']), [1, -1]);
    await daemon.step(501);
    assert.deepEqual({ ...(await client.hGetAll('h')) }, { a: '1', c: '3' });
    await daemon.step(9500);
    assert.deepEqual(await client.hKeys('h'), ['c']);
});

each('values and deadlines go together', async (client) => {
    const expiration = { type: 'EX', value: 10 };
    assert.equal(await client.hSetEx('h', { a: '1', b: '2' }, { mode: 'FNX', expiration }), 1);
    assert.equal(await client.hSetEx('h', { a: '9' }, { mode: 'FNX' }), 0);
    assert.equal(await client.hSetEx('h', { a: '3' }, { expiration: 'KEEPTTL' }), 1);
    assert.deepEqual(await client.hTTL('h', ['a', 'b']), [10, 10]);
    assert.deepEqual(await client.hGetEx('h', ['a', 'x'], { expiration: 'PERSIST' }), ['3', null]);
    assert.deepEqual(await client.hGetEx('h', 'b', { expiration: { type: 'PX', value: 7 } }), ['2']);
    assert.deepEqual(await client.hpTTL('h', ['a', 'b']), [-1, 7]);
    assert.deepEqual(await client.hGetDel('h', ['a', 'x', 'b']), ['3', null, '2']);
    assert.equal(await client.exists('h'), 0);
});

await main();
