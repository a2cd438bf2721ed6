// BullMQ: one process that adds the jobs and has a worker for 50 at a time. jobs.mjs goes before it.
import { Queue, Worker } from 'bullmq';

const connection = { port, maxRetriesPerRequest: null };
const queue = new Queue('jobs', { connection });
const tally = new Tally();

const worker = new Worker('jobs', async (job) => {
    if (fails(job.data.n) && job.attemptsMade === 0) throw new Error('again');
    tally.done(job.data.n, lateness(job.data));
}, { connection, concurrency: 50 });
await worker.waitUntilReady();

tally.begin();
for await (const batch of batches()) {
    const now = Date.now();
    await queue.addBulk(batch.map((n) => ({
        name: 'job',
        data: { n, due: now + delayOf(n) },
        opts: { delay: delayOf(n), attempts: 3, backoff: { type: 'fixed', delay: 100 }, removeOnComplete: true },
    })));
}
await tally.all();
await worker.close();
await queue.close();
finish(tally);
