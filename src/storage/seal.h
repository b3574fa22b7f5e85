/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets at rest: bytes are sealed with AES-256-GCM before they are written.
 *
 * A sealed value is bound to the place it is kept at (origin, type, name), so that no writer of the
 * database can make one resource's secret another's. What it cannot detect is that a row was put
 * back to an older value. The layout is
 *
 *   1 byte version | 8 bytes key id | 12 bytes nonce | 16 bytes tag | ciphertext
 *
 * where the key id is the beginning of the key's SHA-256: it distinguishes another key from damage.
 */
#ifndef UDPAI_SEAL_H
#define UDPAI_SEAL_H

#include "base/bytes.h"
#include "base/error.h"

#define UDPAI_SECRET_KEY_SIZE 32
#define UDPAI_SEAL_KEY_ID_SIZE 8

/* Holds a key; its user calls udpai_sealer_done(), which wipes it. */
typedef struct udpai_sealer {
    bool has_key;
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    uint8_t key_id[UDPAI_SEAL_KEY_ID_SIZE];
} udpai_sealer;

/* Where a sealed value is kept. */
typedef struct udpai_seal_place {
    udpai_str origin, type_url, name;
} udpai_seal_place;

/* @p key: UDPAI_SECRET_KEY_SIZE bytes, copied; NULL: there is none. */
udpa_err udpai_sealer_init(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error);
void udpai_sealer_done(udpai_sealer *sealer);

/* The sealer must have a key. */
udpa_err udpai_seal(const udpai_sealer *sealer,
                    const udpai_seal_place *place,
                    udpai_str plain,
                    udpa_bytes **ret_sealed,
                    udpa_error **ret_error);

/* UDPA_ERR_PRECONDITION: there is no key, or another one sealed it. UDPA_ERR_MALFORMED: damaged, or
 * moved from another place. */
udpa_err udpai_unseal(const udpai_sealer *sealer,
                      const udpai_seal_place *place,
                      udpai_str sealed,
                      udpa_bytes **ret_plain,
                      udpa_error **ret_error);

#endif
