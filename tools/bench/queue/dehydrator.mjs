// Plain workers on a dehydrator: one process that pushes the jobs and has 50 connections that claim. jobs.mjs goes
// before it.
import { Redis } from 'ioredis';
import { expired } from 'expired-clients/ioredis';

const tally = new Tally();
let left = true;

async function work() {
    const client = new Redis(port);
    const db = expired(client);
    while (left) {
        for (const [id, payload, deliveries, token] of await db.redeClaim('jobs', 30_000, {
            count: 1, block: 0.2, tokens: true,
        })) {
            const job = JSON.parse(payload);
            if (fails(job.n) && deliveries === 1) {
                await db.redeRetry('jobs', 100, [[id, token]]);
                continue;
            }
            tally.done(job.n, lateness(job));
            await db.redeAck('jobs', [[id, token]]);
        }
    }
    await client.quit();
}

const producer = new Redis(port);
const workers = Array.from({ length: 50 }, work);
tally.begin();
for await (const batch of batches()) {
    const now = Date.now();
    await expired(producer).redeMpush('jobs', batch.map((n) =>
        [delayOf(n), JSON.stringify({ n, due: now + delayOf(n) }), `job-${n}`]));
}
await tally.all();
left = false;
await Promise.all(workers);
await producer.quit();
finish(tally);
