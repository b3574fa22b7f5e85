/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures from any bytes. The first byte says what the rest is:
 *   'r' a Resource, as a peer sends it, judged by a keyring that requires signatures
 *   'v' what stands where a signature should
 *   's' a resource in parts: it is signed, is good, and is not any more when one part is another
 * The keys are made here, so none has to be kept. */
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/utf8.h"
#include "certs/keyring.h"
#include "tests/fuzz/fuzz.h"
#include "wire/message.h"

#define NOW_S 1700000000

static udpai_key *private_keys[2], *public_keys[2];
static udpai_keyring *keyring;

/* ---- keys ---- */

static udpai_key *
read_key(BIO *bio, bool is_private)
{
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    const udpai_pem pem = {"fuzz.pem", {data, (size_t)size}};
    udpai_key *key = NULL;
    FUZZ_CHECK((is_private ? udpai_key_new_private(&key, pem, NULL)
                           : udpai_key_new_public(&key, pem, NULL)) == UDPA_OK);
    BIO_free(bio);
    return key;
}

static void
make_pair(int index, EVP_PKEY *pkey)
{
    BIO *private_bio = BIO_new(BIO_s_mem()), *public_bio = BIO_new(BIO_s_mem());
    FUZZ_CHECK(pkey && PEM_write_bio_PrivateKey(private_bio, pkey, NULL, NULL, 0, NULL, NULL));
    FUZZ_CHECK(PEM_write_bio_PUBKEY(public_bio, pkey));
    private_keys[index] = read_key(private_bio, true);
    public_keys[index] = read_key(public_bio, false);
    EVP_PKEY_free(pkey);
}

static void
make_keyring(void)
{
    const unsigned char bytes[32] = {1};
    static const udpai_signature_requirement everything = {0};
    if (keyring)
        return;
    make_pair(0, EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, sizeof(bytes)));
    make_pair(1, EVP_EC_gen("P-256"));
    const udpai_named_key keys[] = {
        {.authority = UDPAI_STR("acme"), .key_id = UDPAI_STR("k1"), .key = public_keys[0]},
        {.authority = UDPAI_STR("acme"), .key_id = UDPAI_STR("k2"), .key = public_keys[1]},
    };
    const udpai_keyring_options options = {
        .trusted = keys, .n_trusted = 2, .required = &everything, .n_required = 1, .skew_s = 60};
    FUZZ_CHECK(udpai_keyring_new(&keyring, &options) == UDPA_OK);
}

/* ---- what holds of whatever comes ---- */

static udpa_err
judge(const udpa_resource *resource)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_keyring_verify(keyring, resource, NOW_S, false, &error);
    FUZZ_CHECK((err != UDPA_OK) == (error != NULL) && udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    FUZZ_CHECK(err == UDPA_OK || err == UDPA_ERR_DENIED);
    FUZZ_CHECK(err != UDPA_OK || udpai_keyring_end_s(keyring, resource) > NOW_S);
    return err;
}

/* Nobody who does not have the keys comes through. */
static void
try_resource(udpai_str input)
{
    udpai_decoder decoder;
    udpa_resource *resource = NULL;
    udpai_decoder_init(&decoder);
    if (udpai_resource_decode(&decoder, input, &resource, NULL) == UDPA_OK && resource)
        FUZZ_CHECK(judge(resource) == UDPA_ERR_DENIED);
    udpa_resource_unref(resource);
    udpai_decoder_done(&decoder);
}

static void
try_value(udpai_str input)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR("x/a.B"), UDPAI_STR("v"));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/x"),
        .authority = UDPAI_STR("acme"),
        .generation = 1,
        .any = any,
        .signature = {.algorithm = fuzz_take_byte(&input) & 3,
                      .not_before_us = (int64_t)NOW_S * 1000000,
                      .not_after_us = (int64_t)NOW_S * 1000000},
    };
    parts.signature.key_id = parts.signature.algorithm == 2 ? UDPAI_STR("k2") : UDPAI_STR("k1");
    parts.signature.value = input;
    FUZZ_CHECK(any && udpai_resource_make(&resource, &parts) == UDPA_OK);
    FUZZ_CHECK(judge(resource) == UDPA_ERR_DENIED);
}

/* ---- signing ---- */

static udpa_resource *
make(const udpai_resource_parts *parts)
{
    udpa_resource *resource = NULL;
    FUZZ_CHECK(udpai_resource_make(&resource, parts) == UDPA_OK);
    return resource;
}

static udpa_resource *
sign(const udpai_resource_parts *parts, int index)
{
    udpa_resource *bare = make(parts), *made = NULL;
    const udpai_signing signing = {private_keys[index], index ? UDPAI_STR("k2") : UDPAI_STR("k1"),
                                   NOW_S - 1, NOW_S + 1};
    FUZZ_CHECK(udpai_resource_sign(&made, bare, &signing) == UDPA_OK);
    udpa_resource_unref(bare);
    return made;
}

static bool
differs(udpai_str *part, udpai_str other)
{
    bool is_other = !udpai_str_eq(*part, other);
    *part = other;
    return is_other;
}

/* One part becomes another, if the input has another. */
static bool
change(udpai_resource_parts *parts, udpai_str *alias, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input);
    udpai_str other = fuzz_take_text(input);
    if (!udpai_utf8_valid(other))
        return false;
    switch (which % 6) {
    case 0:
        return other.len && differs(&parts->name, other);
    case 1:
        return other.len && differs(&parts->version, other);
    case 2:
        return differs(alias, other);
    case 3:
        parts->lazy = !parts->lazy;
        return true;
    case 4:
        parts->do_not_cache = !parts->do_not_cache;
        return true;
    default:
        parts->generation++;
        return true;
    }
}

static void
try_signing(udpai_str input)
{
    uint8_t flags = fuzz_take_byte(&input);
    udpai_str alias, type = UDPAI_STR("x/a.B");
    udpai_resource_parts parts = {.authority = UDPAI_STR("acme"), .generation = 7};
    parts.lazy = flags & 1;
    parts.do_not_cache = flags & 2;
    parts.name = fuzz_take_text(&input);
    parts.version = fuzz_take_text(&input);
    alias = fuzz_take_text(&input);
    parts.aliases = &alias;
    parts.n_aliases = 1;
    if (flags & 8)
        parts.redirected_type = UDPAI_STR("x/c.D");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(type, fuzz_take_text(&input));
    FUZZ_CHECK(any);
    parts.any = any;
    if (!udpai_utf8_valid(parts.name) || !udpai_utf8_valid(parts.version))
        return; /* which nobody gets past the decoder */
    if (parts.version.len == 0)
        parts.version = UDPAI_STR("v");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *good = sign(&parts, flags >> 2 & 1);
    FUZZ_CHECK(judge(good) == UDPA_OK);
    parts.signature = *udpai_resource_signature(good);
    if (!change(&parts, &alias, &input))
        return;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bad = make(&parts);
    FUZZ_CHECK(!udpai_resource_signs_same(good, bad));
    FUZZ_CHECK(judge(bad) == UDPA_ERR_DENIED);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    make_keyring();
    switch (fuzz_take_byte(&input)) {
    case 'r':
        try_resource(input);
        break;
    case 'v':
        try_value(input);
        break;
    case 's':
        try_signing(input);
        break;
    default:
        break;
    }
    return 0;
}
