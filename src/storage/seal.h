/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets at rest: bytes are sealed with AES-256-GCM before they are written.
 *
 * A sealed value is bound to the place it is kept at (origin, type, name), so that no writer of the
 * database can make one resource's secret another's. What it cannot detect is that a row was put
 * back to an older value. The layout is
 *
 *   1 byte version | 8 bytes key id | 12 bytes nonce | 16 bytes tag | ciphertext
 *
 * where the key id is the beginning of the HMAC-SHA256 of a fixed text by the key: it says which
 * key opens the value, and nothing else of the key. */
#ifndef UDPAI_SEAL_H
#define UDPAI_SEAL_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/strbuf.h"

#define UDPAI_SECRET_KEY_SIZE 32
#define UDPAI_SEAL_KEY_ID_SIZE 8
#define UDPAI_SEAL_KEY_ID_HEX (2 * UDPAI_SEAL_KEY_ID_SIZE + 1) /* with its NUL */
#define UDPAI_SEAL_KEYS_MAX 8

typedef struct udpai_seal_key {
    uint8_t bytes[UDPAI_SECRET_KEY_SIZE];
    uint8_t id[UDPAI_SEAL_KEY_ID_SIZE];
} udpai_seal_key;

/* Keys: the first one seals, each of them opens what it has sealed. Its user calls
 * udpai_sealer_done(), which wipes them. */
typedef struct udpai_sealer {
    size_t n_keys;
    udpai_seal_key keys[UDPAI_SEAL_KEYS_MAX];
} udpai_sealer;

/* Where a sealed value is kept. */
typedef struct udpai_seal_place {
    udpai_str origin, type_url, name;
} udpai_seal_place;

/* @p key: UDPAI_SECRET_KEY_SIZE bytes, copied; NULL: there is none. */
udpa_err udpai_sealer_init(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error);
/* One more, behind the others. UDPA_ERR_LIMIT: there are UDPAI_SEAL_KEYS_MAX. UDPA_ERR_INVAL: it is
 * one of them already. */
udpa_err udpai_sealer_add(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error);
void udpai_sealer_done(udpai_sealer *sealer);

/* The ids of the keys in their order, with a space between them. */
void udpai_sealer_put_ids(const udpai_sealer *sealer, udpai_strbuf *text);

/* Which key has sealed a value. */
typedef enum udpai_sealed_by {
    UDPAI_SEALED_BY_NONE,  /* it is no sealed value */
    UDPAI_SEALED_BY_FIRST, /* the key that seals now */
    UDPAI_SEALED_BY_OTHER, /* another one that the sealer has */
    UDPAI_SEALED_BY_MISSING,
} udpai_sealed_by;

/* @p ret_id: its id; untouched for UDPAI_SEALED_BY_NONE. */
udpai_sealed_by
udpai_sealer_find(const udpai_sealer *sealer, udpai_str sealed, char ret_id[UDPAI_SEAL_KEY_ID_HEX]);

/* UDPA_ERR_PRECONDITION: there is no key. */
udpa_err udpai_seal(const udpai_sealer *sealer,
                    const udpai_seal_place *place,
                    udpai_str plain,
                    udpa_bytes **ret_sealed,
                    udpa_error **ret_error);

/* UDPA_ERR_PRECONDITION: a key that is missing sealed it. UDPA_ERR_MALFORMED: damaged, or
 * moved from another place. */
udpa_err udpai_unseal(const udpai_sealer *sealer,
                      const udpai_seal_place *place,
                      udpai_str sealed,
                      udpa_bytes **ret_plain,
                      udpa_error **ret_error);

#endif
