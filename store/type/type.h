/* Folder store/type: values of keys: string, list, set, hash, sorted set, dehydrator, lease, and
 * HyperLogLog inside a string; streams are in store/type/stream. Small collections are packed
 * records, and large ones tables or trees; the types hide the form. A member without a deadline
 * uses no memory for one. No file here knows keys or transactions. Start with object.h: struct
 * object is the value of a key. Then read one type from its header, for example set.h.
 *
 * May use: store/base store/mem store/struct store/type/stream. */
