// Shapes of replies: `fits` tells whether a reply has a shape, `read` reads such a reply.
//
// RESP2 and RESP3 are read alike: in RESP2 maps and pairs arrive as flat lists, and doubles as text.

const isText = (reply) => typeof reply === 'string' || Buffer.isBuffer(reply);
const isNumber = (reply) => typeof reply === 'number' || typeof reply === 'bigint';
const same = (reply) => reply;

export const bulk = { fits: isText, read: same };
export const integer = { fits: isNumber, read: Number };
export const double = { fits: (reply) => isNumber(reply) || isText(reply), read: Number };
export const simple = { fits: isText, read: String };
export const nothing = { fits: (reply) => reply === null, read: same };
export const any = { fits: () => true, read: same };

export const text = (words) => ({ fits: (reply) => isText(reply) && String(reply) === words, read: String });

// The first of these that fits.
export function oneOf(...shapes) {
    const found = (reply) => shapes.find((shape) => shape.fits(reply));
    return { fits: (reply) => found(reply) !== undefined, read: (reply) => (found(reply) ?? any).read(reply) };
}

export function list(item) {
    return {
        fits: (reply) => (Array.isArray(reply) || reply instanceof Set) && [...reply].every(item.fits),
        read: (reply) => Array.from(reply, (part) => item.read(part)),
    };
}

export function tuple(...items) {
    return {
        fits: (reply) => Array.isArray(reply) && reply.length === items.length
            && items.every((item, i) => item.fits(reply[i])),
        read: (reply) => items.map((item, i) => item.read(reply[i])),
    };
}

// A list of tuples, which may arrive as a flat list.
export function rows(...items) {
    const row = tuple(...items);
    const nested = (reply) => {
        const width = items.length;
        if (reply.length === 0 || Array.isArray(reply[0]) || reply.length % width !== 0) return reply;
        return Array.from({ length: reply.length / width }, (_, i) => reply.slice(i * width, (i + 1) * width));
    };
    return {
        fits: (reply) => Array.isArray(reply) && nested(reply).every(row.fits),
        read: (reply) => nested(reply).map(row.read),
    };
}

// Of a map, which may arrive as a flat list.
function pairs(reply) {
    if (reply instanceof Map) return [...reply];
    if (!Array.isArray(reply)) return Object.entries(reply);
    return Array.from({ length: reply.length / 2 }, (_, i) => reply.slice(2 * i, 2 * i + 2));
}

const isMap = (reply) => (Array.isArray(reply) ? reply.length % 2 === 0
    : typeof reply === 'object' && reply !== null && !Buffer.isBuffer(reply));

// An object; its names are texts even where the client returns Buffers.
export function map(key, value) {
    return {
        fits: isMap,
        read: (reply) => Object.fromEntries(pairs(reply).map(([name, part]) => [String(name), value.read(part)])),
    };
}

// A map with known names, and perhaps others.
export function record(fields) {
    const read = (name, part) => (Object.hasOwn(fields, name) ? fields[name] : any).read(part);
    return {
        fits: isMap,
        read: (reply) => Object.fromEntries(
            pairs(reply).map(([name, part]) => [String(name), read(String(name), part)])),
    };
}
