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

    // Several options that belong together: all are written if one of them is given.
    block(options, write) {
        if (options.some((option) => option !== undefined && option !== null && option !== false)) write();
    }
}
