#!/usr/bin/env node
// node-redis' createCluster and ioredis' Cluster with a daemon that emulates a cluster.
import assert from 'node:assert/strict';

import Redis from 'ioredis';
import { createCluster } from 'redis';

import { Daemon, freePort, main, test } from './daemon.mjs';

async function emulated(...options) {
    const port = await freePort();
    const daemon = await Daemon.start('--port', String(port), '--cluster-enabled', 'emulated',
        ...options);
    return { daemon, port };
}

test('node-redis createCluster works unchanged', async () => {
    const { daemon, port } = await emulated();
    const cluster = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
    await cluster.connect();
    for (let number = 0; number < 100; number++) await cluster.set(`k${number}`, String(number));
    assert.equal(await cluster.get('k42'), '42');
    assert.deepEqual(await cluster.mGet(['{t}a', '{t}b']), [null, null]);
    assert.deepEqual(await cluster.multi().incr('{t}n').incr('{t}n').exec(), [1, 2]);
    const subscriber = cluster.duplicate();
    await subscriber.connect();
    const heard = new Promise((done) => { subscriber.subscribe('news', done).then(
        () => cluster.publish('news', 'hello')); });
    assert.equal(await heard, 'hello');
    assert.equal(cluster.masters.length, 1);
    await subscriber.unsubscribe('news');
    await subscriber.close();
    await cluster.close();
    await daemon.stop();
});

test('ioredis Cluster works unchanged', async () => {
    const { daemon, port } = await emulated();
    const cluster = new Redis.Cluster([{ host: '127.0.0.1', port }]);
    for (let number = 0; number < 100; number++) await cluster.set(`k${number}`, number);
    assert.equal(await cluster.get('k42'), '42');
    assert.deepEqual(await cluster.multi().incr('{t}n').incr('{t}n').exec(), [[null, 1], [null, 2]]);
    assert.deepEqual(await cluster.pipeline().get('k1').get('k2').exec(), [[null, '1'], [null, '2']]);
    assert.equal(cluster.nodes('master').length, 1);
    const subscriber = new Redis.Cluster([{ host: '127.0.0.1', port }]);
    await subscriber.subscribe('news');
    const heard = new Promise((done) => { subscriber.on('message', (_, text) => done(text)); });
    await cluster.publish('news', 'hello');
    assert.equal(await heard, 'hello');
    await subscriber.quit();
    await cluster.quit();
    await daemon.stop();
});

main();
