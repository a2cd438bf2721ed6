// What the workers of all queues share: which job is delayed, which fails once, and the counts. Each program of this
// folder is read after it, in the same module, from the folder that has the packages.
const [port, jobs, pace] = process.argv.slice(2).map(Number); // pace: jobs a second; 0: as fast as possible
const BATCH = pace > 0 ? 50 : 500;
const DELAY_MS = 2000; // at most
const MOST = 0.85; // of the jobs are neither delayed nor retried: their rate counts

const delayOf = (n) => (n % 10 === 0 ? 1 + (n * 7919) % DELAY_MS : 0);
const fails = (n) => n % 50 === 7;
const lateness = ({ n, due }) => (delayOf(n) > 0 ? Date.now() - due : null);

async function* batches() {
    const began = Date.now();
    for (let first = 0; first < jobs; first += BATCH) {
        const early = pace > 0 ? began + 1000 * first / pace - Date.now() : 0;
        if (early > 0) await new Promise((resolve) => { setTimeout(resolve, early); });
        yield Array.from({ length: Math.min(BATCH, jobs - first) }, (_, i) => first + i);
    }
}

class Tally {
    late = [];
    seen = new Set();
    again = 0;

    constructor() {
        this.ended = new Promise((resolve) => { this.end = resolve; });
    }

    begin() {
        this.began = process.hrtime.bigint();
    }

    done(n, late) {
        if (this.seen.has(n)) this.again++;
        this.seen.add(n);
        if (late !== null) this.late.push(late);
        if (this.seen.size === Math.floor(MOST * jobs))
            this.rate = this.seen.size * 1e9 / Number(process.hrtime.bigint() - this.began);
        if (this.seen.size === jobs) this.end();
    }

    all() {
        return this.ended;
    }
}

function finish({ rate, late, again }) {
    late.sort((a, b) => a - b);
    const share = (part) => late[Math.floor(part * (late.length - 1))];
    console.log(JSON.stringify({ rate, late_p50_ms: share(0.5), late_p99_ms: share(0.99), again }));
    process.exit(0);
}
