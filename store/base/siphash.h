/* siphash: SipHash-1-3 (Aumasson and Bernstein 2012), the keyed hash function of tables and
 * digests. The process has one key, which siphash_seed sets. Tables must be empty then, because
 * their elements would not be found afterwards. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void siphash_seed(const uint8_t key[16]);
uint64_t siphash(const void *data, size_t len);

/* As siphash, but without the memo below, so that any thread may call it. */
uint64_t siphash_anew(const void *data, size_t len);

/* As siphash_anew with an explicit key, for digests and tests. Like all functions here it uses 1-3
 * rounds, so the reference vectors of SipHash-2-4 do not apply. */
uint64_t siphash_keyed(const uint8_t key[16], const void *data, size_t len);

/* As siphash_keyed, with a result of 128 bits: even a billion different inputs then collide only
 * with negligible probability. */
void siphash_128(const uint8_t key[16], const void *data, size_t len, uint64_t *low,
                 uint64_t *high);

/* Remembers a hash, so that other code that is about to hash the same bytes need not compute it.
 * Until siphash_forget(), or two more calls, siphash() of the same address and length returns this
 * hash without reading the bytes, which must not change meanwhile. `hash` must be
 * siphash(data, len).
 *
 * The memo is global, although it belongs to a request: dict.c, which hashes keys and members,
 * knows neither the call nor the transaction. Passing hashes there would add a parameter to every
 * function that finds a key or a member by name, to save two comparisons for each hash. */
void siphash_remember(const void *data, size_t len, uint64_t hash);
void siphash_forget(void);
