/* siphash: SipHash-1-3 (Aumasson & Bernstein 2012), the keyed hash of all tables.
 * The key is process-wide and set once, before the first table exists. */
#ifndef STORE_BASE_SIPHASH_H
#define STORE_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

void siphash_seed(const uint8_t key[16]);
uint64_t siphash(const void *data, size_t len);

/* With a key of its own, for digests and tests (1-3 rounds; the reference vectors of 2-4 do not
 * apply). */
uint64_t siphash_keyed(const uint8_t key[16], const void *data, size_t len);

/* A memo for who has hashed some bytes and is about to have others hash the same ones: until
 * siphash_forget(), siphash() of this address and length answers the hash given here and looks at
 * no byte. Meanwhile the bytes must stay as they are, and the hash be theirs. The last two are
 * remembered: a key and a member. */
void siphash_remember(const void *data, size_t len, uint64_t hash);
void siphash_forget(void);

#endif
