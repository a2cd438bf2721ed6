// Writes the words of a call one after the other. `push` takes a word, `pushKey` one that is a key.

function word(value) {
    if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    throw new TypeError(`an argument must be a string, a number or a Buffer, not ${value}`);
}

const asList = (items) => (Array.isArray(items) ? items : [items]);

export class Words {
    constructor(push, pushKey) {
        this.push = push;
        this.pushKey = pushKey;
    }

    token(text) { this.push(text); }

    value(value) { this.push(word(value)); }

    key(value) { this.pushKey(word(value)); }

    length(items) { this.push(String(asList(items ?? []).length)); }

    values(items) { asList(items).forEach((item) => this.value(item)); }

    keys(items) { asList(items).forEach((item) => this.key(item)); }

    // Tuples; those parts are keys whose kind is 'key'.
    tuples(items, ...kinds) {
        for (const item of items) {
            if (item.length !== kinds.length) throw new TypeError(`an item must have ${kinds.length} parts`);
            kinds.forEach((kind, i) => (kind === 'key' ? this.key(item[i]) : this.value(item[i])));
        }
    }

    flag(token, given) { if (given) this.token(token); }

    option(token, value) {
        if (value === undefined || value === null) return;
        if (token !== '') this.token(token);
        this.values(value);
    }

    each(token, items) {
        for (const item of asList(items ?? [])) {
            this.token(token);
            asList(item).forEach((part) => this.value(part));
        }
    }

    // Options that belong together: if one of them is given, all that are needed must be.
    block(options, needed, others, write) {
        const isGiven = (name) => ![undefined, null, false].includes(options[name]);
        const given = [...needed, ...others].find(isGiven);
        if (given === undefined) return;
        const missing = needed.filter((name) => !isGiven(name));
        if (missing.length > 0) throw new TypeError(`${given} needs ${missing.join(' and ')}`);
        write();
    }
}

// Writes a call of a method. What the method does not know is an error, and not ignored.
export function writeCall(method, { values, options, write }, words, args) {
    const most = values + (options ? 1 : 0);
    if (args.length > most) throw new TypeError(`${method} takes at most ${most} arguments, not ${args.length}`);
    const given = args[values] ?? {};
    if (typeof given !== 'object' || Array.isArray(given)) throw new TypeError(`${method}: options must be an object`);
    for (const name of Object.keys(given)) {
        if (!options.includes(name)) throw new TypeError(`${method} has no option '${name}'. Its options: ${options.join(', ')}`);
    }
    write(words, ...args);
}
