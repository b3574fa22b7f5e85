/* SPDX-License-Identifier: Apache-2.0 */
/* AES-256-GCM by OpenSSL; a fresh random nonce for each value. Nothing here logs, and no text or
 * key gets into a message. */
#include "storage/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/strbuf.h"

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

udpa_err
udpai_sealer_init(udpai_sealer *sealer, const uint8_t *key, udpa_error **ret_error)
{
    memset(sealer, 0, sizeof(*sealer));
    if (!key)
        return UDPA_OK;
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(key, UDPAI_SECRET_KEY_SIZE, hash, &len, EVP_sha256(), NULL) != 1 ||
        len < UDPAI_SEAL_KEY_ID_SIZE)
        return udpai_fail(ret_error, UDPA_ERR_INTERNAL,
                          "OpenSSL has no SHA-256, so secrets cannot be encrypted: check its "
                          "configuration and providers");
    memcpy(sealer->key, key, sizeof(sealer->key));
    memcpy(sealer->key_id, hash, sizeof(sealer->key_id));
    sealer->has_key = true;
    return UDPA_OK;
}

void
udpai_sealer_done(udpai_sealer *sealer)
{
    OPENSSL_cleanse(sealer, sizeof(*sealer));
}

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
encrypt(const udpai_sealer *sealer, udpai_str covered, udpai_str plain, uint8_t *sealed)
{
    UDPA_AUTO(cipher_free) cipher *context = EVP_CIPHER_CTX_new();
    int len, tail;
    return context &&
           EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), sealer->key, sealed + NONCE_AT, NULL) ==
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
    if (plain.len > PLAIN_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a secret of %zu bytes is too large to keep",
                          plain.len);
    uint8_t *room;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = udpai_bytes_make(TEXT_AT + plain.len, &room);
    if (!sealed)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    room[0] = VERSION;
    memcpy(room + KEY_ID_AT, sealer->key_id, sizeof(sealer->key_id));
    udpai_strbuf covered = {0};
    udpa_err err = UDPA_OK;
    if (!place_bytes(room, place, &covered))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    else if (RAND_bytes(room + NONCE_AT, NONCE_SIZE) != 1 ||
             !encrypt(sealer, udpai_strbuf_view(&covered), plain, room))
        err = udpai_fail(ret_error, UDPA_ERR_INTERNAL,
                         "OpenSSL cannot encrypt secret '%.*s' (AES-256-GCM)", (int)place->name.len,
                         place->name.data);
    else
        *ret_sealed = UDPAI_TAKE(sealed);
    udpai_strbuf_done(&covered);
    return err;
}

static bool
decrypt(const udpai_sealer *sealer, udpai_str covered, udpai_str sealed, uint8_t *plain)
{
    const uint8_t *bytes = (const uint8_t *)sealed.data;
    uint8_t tag[TAG_SIZE];
    memcpy(tag, bytes + TAG_AT, TAG_SIZE); /* the setter below needs it writable */
    UDPA_AUTO(cipher_free) cipher *context = EVP_CIPHER_CTX_new();
    int len, tail;
    return context &&
           EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), sealer->key, bytes + NONCE_AT, NULL) ==
               1 &&
           EVP_DecryptUpdate(context, NULL, &len, (const uint8_t *)covered.data,
                             (int)covered.len) == 1 &&
           EVP_DecryptUpdate(context, plain, &len, bytes + TEXT_AT, (int)(sealed.len - TEXT_AT)) ==
               1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_SIZE, tag) == 1 &&
           EVP_DecryptFinal_ex(context, plain + len, &tail) == 1;
}

static udpa_err
check_key(const udpai_sealer *sealer, const uint8_t *sealed, udpa_error **ret_error)
{
    if (!sealer->has_key)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "there is no key to decrypt it");
    if (memcmp(sealed + KEY_ID_AT, sealer->key_id, sizeof(sealer->key_id)) != 0)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "another key encrypted it");
    return UDPA_OK;
}

udpa_err
udpai_unseal(const udpai_sealer *sealer,
             const udpai_seal_place *place,
             udpai_str sealed,
             udpa_bytes **ret_plain,
             udpa_error **ret_error)
{
    const uint8_t *bytes = (const uint8_t *)sealed.data;
    if (sealed.len < TEXT_AT || sealed.len - TEXT_AT > PLAIN_MAX || bytes[0] != VERSION)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is no encrypted value");
    udpa_err err = check_key(sealer, bytes, ret_error);
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
    } else if (!decrypt(sealer, udpai_strbuf_view(&covered), sealed, room)) {
        OPENSSL_cleanse(room, size);
        err = udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                         "the encrypted value is damaged, or belongs to another resource");
    } else {
        *ret_plain = UDPAI_TAKE(plain);
    }
    udpai_strbuf_done(&covered);
    return err;
}
