/* SPDX-License-Identifier: Apache-2.0 */
/* AES-256-GCM by OpenSSL; a fresh random nonce for each value. Nothing here logs, and no text or
 * key gets into a message. */
#include "storage/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>

enum {
    VERSION = 1,
    NONCE_SIZE = 12,
    TAG_SIZE = 16,
    KEY_ID_AT = 1,
    NONCE_AT = KEY_ID_AT + UDPAI_SEAL_KEY_ID_SIZE,
    TAG_AT = NONCE_AT + NONCE_SIZE,
    TEXT_AT = TAG_AT + TAG_SIZE,
    PLAIN_MAX = 1 << 30, /* OpenSSL counts in int */
};

typedef EVP_CIPHER_CTX cipher;

static cipher *
cipher_free(cipher *context)
{
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

UDPA_DEFINE_CLEANUP(cipher, cipher_free)

/* ---- keys ---- */

static bool
make_id(const uint8_t *key, uint8_t ret_id[UDPAI_SEAL_KEY_ID_SIZE])
{
    static const unsigned char label[] = "udpa: id of a key of the store";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!HMAC(EVP_sha256(), key, UDPAI_SECRET_KEY_SIZE, label, sizeof(label) - 1, hash, &len) ||
        len < UDPAI_SEAL_KEY_ID_SIZE)
        return false;
    memcpy(ret_id, hash, UDPAI_SEAL_KEY_ID_SIZE);
    return true;
}

static const udpai_seal_key *
find_key(const udpai_sealer *sealer, const uint8_t *id)
{
    for (size_t i = 0; i < sealer->n_keys; i++)
        if (memcmp(sealer->keys[i].id, id, UDPAI_SEAL_KEY_ID_SIZE) == 0)
            return &sealer->keys[i];
    return NULL;
}

udpa_err
udpai_sealer_add(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error)
{
    uint8_t id[UDPAI_SEAL_KEY_ID_SIZE];
    if (sealer->n_keys == UDPAI_SEAL_KEYS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are more than %d keys",
                          UDPAI_SEAL_KEYS_MAX);
    if (!make_id(key, id))
        return udpai_fail(ret_error, UDPA_ERR_INTERNAL,
                          "OpenSSL has no HMAC with SHA-256, so secrets cannot be encrypted: check "
                          "its configuration and providers");
    if (find_key(sealer, id))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "this key is there twice");
    udpai_seal_key *added = &sealer->keys[sealer->n_keys++];
    memcpy(added->bytes, key, sizeof(added->bytes));
    memcpy(added->id, id, sizeof(added->id));
    return UDPA_OK;
}

udpa_err
udpai_sealer_init(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error)
{
    memset(sealer, 0, sizeof(*sealer));
    return key ? udpai_sealer_add(sealer, key, ret_error) : UDPA_OK;
}

void
udpai_sealer_done(udpai_sealer *sealer)
{
    OPENSSL_cleanse(sealer, sizeof(*sealer));
}

static void
write_id(const uint8_t *id, char text[UDPAI_SEAL_KEY_ID_HEX])
{
    for (size_t i = 0; i < UDPAI_SEAL_KEY_ID_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void
udpai_sealer_put_ids(const udpai_sealer *sealer, udpai_strbuf *text)
{
    char id[UDPAI_SEAL_KEY_ID_HEX];
    for (size_t i = 0; i < sealer->n_keys; i++) {
        write_id(sealer->keys[i].id, id);
        udpai_strbuf_printf(text, "%s%s", i ? " " : "", id);
    }
}

static bool
is_sealed(udpai_str value)
{
    return value.len >= TEXT_AT && value.len - TEXT_AT <= PLAIN_MAX && value.data[0] == VERSION;
}

udpai_sealed_by
udpai_sealer_find(const udpai_sealer *sealer, udpai_str sealed, char ret_id[UDPAI_SEAL_KEY_ID_HEX])
{
    if (!is_sealed(sealed))
        return UDPAI_SEALED_BY_NONE;
    const uint8_t *id = (const uint8_t *)sealed.data + KEY_ID_AT;
    const udpai_seal_key *key = find_key(sealer, id);
    write_id(id, ret_id);
    return !key                  ? UDPAI_SEALED_BY_MISSING
           : key == sealer->keys ? UDPAI_SEALED_BY_FIRST
                                 : UDPAI_SEALED_BY_OTHER;
}

/* ---- sealing ---- */

static void
put_text(udpai_strbuf *buffer, udpai_str text)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        udpai_strbuf_putc(buffer, (char)(text.len >> shift));
    udpai_strbuf_str(buffer, text);
}

/* What the tag covers besides the text: header and place, each part with its length, so that no two
 * places give the same bytes. False without memory. */
static bool
place_bytes(const uint8_t *header, const udpai_seal_place *place, udpai_strbuf *ret_covered)
{
    udpai_strbuf_append(ret_covered, header, NONCE_AT);
    put_text(ret_covered, place->origin);
    put_text(ret_covered, place->type_url);
    put_text(ret_covered, place->name);
    return !udpai_strbuf_failed(ret_covered) && ret_covered->len <= PLAIN_MAX;
}

/* Header and nonce are in @p sealed already. */
static bool
encrypt(const udpai_seal_key *key, udpai_str covered, udpai_str plain, uint8_t *sealed)
{
    UDPA_AUTO(cipher_free) cipher *context = EVP_CIPHER_CTX_new();
    int len, tail;
    return context &&
           EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), key->bytes, sealed + NONCE_AT, NULL) ==
               1 &&
           EVP_EncryptUpdate(context, NULL, &len, (const uint8_t *)covered.data,
                             (int)covered.len) == 1 &&
           EVP_EncryptUpdate(context, sealed + TEXT_AT, &len, (const uint8_t *)plain.data,
                             (int)plain.len) == 1 &&
           EVP_EncryptFinal_ex(context, sealed + TEXT_AT + len, &tail) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_SIZE, sealed + TAG_AT) == 1;
}

udpa_err
udpai_seal(const udpai_sealer *sealer,
           const udpai_seal_place *place,
           udpai_str plain,
           udpa_bytes **ret_sealed,
           udpa_error **ret_error)
{
    if (sealer->n_keys == 0)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "there is no key to encrypt it with: set store.keys");
    if (plain.len > PLAIN_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a secret of %zu bytes is too large to keep",
                          plain.len);
    uint8_t *room;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = udpai_bytes_make(TEXT_AT + plain.len, &room);
    if (!sealed)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    room[0] = VERSION;
    memcpy(room + KEY_ID_AT, sealer->keys[0].id, sizeof(sealer->keys[0].id));
    udpai_strbuf covered = {0};
    udpa_err err = UDPA_OK;
    if (!place_bytes(room, place, &covered))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    else if (RAND_bytes(room + NONCE_AT, NONCE_SIZE) != 1 ||
             !encrypt(&sealer->keys[0], udpai_strbuf_view(&covered), plain, room))
        err = udpai_fail(ret_error, UDPA_ERR_INTERNAL,
                         "OpenSSL cannot encrypt secret '%.*s' (AES-256-GCM)", (int)place->name.len,
                         place->name.data);
    else
        *ret_sealed = UDPAI_TAKE(sealed);
    udpai_strbuf_done(&covered);
    return err;
}

static bool
decrypt(const udpai_seal_key *key, udpai_str covered, udpai_str sealed, uint8_t *plain)
{
    const uint8_t *bytes = (const uint8_t *)sealed.data;
    uint8_t tag[TAG_SIZE];
    memcpy(tag, bytes + TAG_AT, TAG_SIZE); /* the setter below needs it writable */
    UDPA_AUTO(cipher_free) cipher *context = EVP_CIPHER_CTX_new();
    int len, tail;
    return context &&
           EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), key->bytes, bytes + NONCE_AT, NULL) ==
               1 &&
           EVP_DecryptUpdate(context, NULL, &len, (const uint8_t *)covered.data,
                             (int)covered.len) == 1 &&
           EVP_DecryptUpdate(context, plain, &len, bytes + TEXT_AT, (int)(sealed.len - TEXT_AT)) ==
               1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_SIZE, tag) == 1 &&
           EVP_DecryptFinal_ex(context, plain + len, &tail) == 1;
}

static udpa_err
get_key(const udpai_sealer *sealer,
        const uint8_t *sealed,
        const udpai_seal_key **ret_key,
        udpa_error **ret_error)
{
    char id[UDPAI_SEAL_KEY_ID_HEX];
    if ((*ret_key = find_key(sealer, sealed + KEY_ID_AT)))
        return UDPA_OK;
    write_id(sealed + KEY_ID_AT, id);
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "it is encrypted with the key %s, which store.keys does not have", id);
}

udpa_err
udpai_unseal(const udpai_sealer *sealer,
             const udpai_seal_place *place,
             udpai_str sealed,
             udpa_bytes **ret_plain,
             udpa_error **ret_error)
{
    const uint8_t *bytes = (const uint8_t *)sealed.data;
    const udpai_seal_key *key;
    if (!is_sealed(sealed))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is no encrypted value");
    udpa_err err = get_key(sealer, bytes, &key, ret_error);
    if (err != UDPA_OK)
        return err;
    uint8_t *room;
    size_t size = sealed.len - TEXT_AT;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = udpai_bytes_make(size, &room);
    if (!plain)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_strbuf covered = {0};
    if (!place_bytes(bytes, place, &covered)) {
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    } else if (!decrypt(key, udpai_strbuf_view(&covered), sealed, room)) {
        OPENSSL_cleanse(room, size);
        err = udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                         "the encrypted value is damaged, or belongs to another resource");
    } else {
        *ret_plain = UDPAI_TAKE(plain);
    }
    udpai_strbuf_done(&covered);
    return err;
}
