/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/signature.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

#define MARK "udpa-sig-v1"
#define MARK_REMOVED "udpa-sig-v1-removed"
#define SHA256_BYTES 32
#define US_PER_S 1000000

/* ---- the bytes ---- */

static void
put_number(udpai_strbuf *out, uint64_t number, unsigned n_bytes)
{
    while (n_bytes-- > 0)
        udpai_strbuf_putc(out, (char)(number >> 8 * n_bytes & 0xff));
}

static void
put_integer(udpai_strbuf *out, uint64_t number)
{
    put_number(out, number, 8);
}

static void
put_string(udpai_strbuf *out, udpai_str text)
{
    put_number(out, text.len, 4);
    udpai_strbuf_str(out, text);
}

static int
compare_texts(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

/* Sorted, because their order means nothing. */
static void
put_aliases(udpai_strbuf *out, const udpa_resource *resource)
{
    udpai_str aliases[UDPAI_ALIASES_MAX];
    size_t n = udpa_resource_n_aliases(resource);
    for (size_t i = 0; i < n; i++)
        aliases[i] = udpai_resource_alias(resource, i);
    if (n > 1)
        qsort(aliases, n, sizeof(*aliases), compare_texts);
    put_integer(out, n);
    for (size_t i = 0; i < n; i++)
        put_string(out, aliases[i]);
}

/* Of most resources nothing. What follows has a fixed length, so one, two or no strings can be
 * distinguished. */
static void
put_kind(udpai_strbuf *out, const udpa_resource *resource)
{
    udpai_str constraints = udpai_resource_constraints(resource);
    bool is_redirect = udpai_resource_is_redirect(resource);
    if (constraints.len || is_redirect)
        put_string(out, constraints);
    if (is_redirect)
        put_string(out, udpai_resource_value_type(resource));
}

static void
put_digest(udpai_strbuf *out, udpai_str value)
{
    unsigned char *room = udpai_strbuf_extend(out, SHA256_BYTES);
    if (room &&
        EVP_Digest(value.len ? value.data : "", value.len, room, NULL, EVP_sha256(), NULL) != 1)
        out->failed = true; /* it needs memory, and nothing else */
    ERR_clear_error();
}

void
udpai_signed_bytes(udpai_strbuf *out,
                   const udpa_resource *resource,
                   int64_t not_before_s,
                   int64_t not_after_s)
{
    udpai_strbuf_puts(out, MARK);
    put_string(out, udpai_resource_authority(resource));
    put_string(out, udpai_resource_type_url(resource));
    put_string(out, udpai_resource_name(resource));
    put_string(out, udpai_resource_version(resource));
    put_aliases(out, resource);
    put_kind(out, resource);
    put_integer(out, udpai_resource_is_lazy(resource));
    put_integer(out, udpai_resource_do_not_cache(resource));
    put_integer(out, udpa_resource_generation(resource));
    put_digest(out, udpai_resource_value(resource));
    put_integer(out, (uint64_t)not_before_s);
    put_integer(out, (uint64_t)not_after_s);
}

/* Of a removal; its mark is no beginning of the other with a text behind it, whose length begins
 * with a zero byte. */
static void
put_removal(udpai_strbuf *out,
            const udpa_resource *removal,
            int64_t not_before_s,
            int64_t not_after_s)
{
    udpai_strbuf_puts(out, MARK_REMOVED);
    put_string(out, udpai_resource_authority(removal));
    put_string(out, udpai_resource_type_url(removal));
    put_string(out, udpai_resource_name(removal));
    put_integer(out, udpa_resource_generation(removal));
    put_integer(out, (uint64_t)not_before_s);
    put_integer(out, (uint64_t)not_after_s);
}

/* ---- making and verifying ---- */

typedef void (*put_fn)(udpai_strbuf *out,
                       const udpa_resource *resource,
                       int64_t not_before_s,
                       int64_t not_after_s);

static udpa_err
sign(udpa_resource **ret_resource,
     const udpa_resource *resource,
     const udpai_signing *signing,
     put_fn put)
{
    char value[UDPAI_SIGNATURE_MAX];
    size_t len = 0;
    udpai_strbuf bytes = {0};
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    put(&bytes, resource, signing->not_before_s, signing->not_after_s);
    udpa_err err = udpai_strbuf_failed(&bytes)
                       ? UDPA_ERR_NOMEM
                       : udpai_key_sign(signing->key, udpai_strbuf_view(&bytes), value, &len);
    udpai_strbuf_done(&bytes);
    if (err != UDPA_OK)
        return err;
    parts.signature = (udpai_signature){
        .algorithm = udpai_key_algorithm_of(signing->key),
        .key_id = signing->key_id,
        .not_before_us = signing->not_before_s * US_PER_S,
        .not_after_us = signing->not_after_s * US_PER_S,
        .value = {value, len},
    };
    return udpai_resource_make(ret_resource, &parts);
}

udpa_err
udpai_resource_sign(udpa_resource **ret_resource,
                    const udpa_resource *resource,
                    const udpai_signing *signing)
{
    return sign(ret_resource, resource, signing, udpai_signed_bytes);
}

udpa_err
udpai_removal_sign(udpa_resource **ret_removal,
                   const udpa_resource *removal,
                   const udpai_signing *signing)
{
    return sign(ret_removal, removal, signing, put_removal);
}

static udpa_err
verify(const udpa_resource *resource, const udpai_key *key, put_fn put)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    udpai_strbuf bytes = {0};
    if (!signature || signature->algorithm != (uint32_t)udpai_key_algorithm_of(key))
        return UDPA_ERR_DENIED;
    put(&bytes, resource, udpai_signature_not_before_s(signature),
        udpai_signature_not_after_s(signature));
    udpa_err err = udpai_strbuf_failed(&bytes)
                       ? UDPA_ERR_NOMEM
                       : udpai_key_verify(key, udpai_strbuf_view(&bytes), signature->value);
    udpai_strbuf_done(&bytes);
    return err;
}

udpa_err
udpai_resource_verify(const udpa_resource *resource, const udpai_key *key)
{
    return verify(resource, key, udpai_signed_bytes);
}

udpa_err
udpai_removal_verify(const udpa_resource *removal, const udpai_key *key)
{
    return verify(removal, key, put_removal);
}

/* ---- comparing ---- */

static bool
same_aliases(const udpa_resource *a, const udpa_resource *b)
{
    size_t n = udpa_resource_n_aliases(a);
    if (n != udpa_resource_n_aliases(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!udpai_str_eq(udpai_resource_alias(a, i), udpai_resource_alias(b, i)))
            return false;
    return true;
}

bool
udpai_resource_signs_same(const udpa_resource *a, const udpa_resource *b)
{
    return udpai_resource_same_payload(a, b) &&
           udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b)) &&
           udpai_str_eq(udpai_resource_type_url(a), udpai_resource_type_url(b)) &&
           udpai_str_eq(udpai_resource_name(a), udpai_resource_name(b)) &&
           udpai_resource_is_redirect(a) == udpai_resource_is_redirect(b) &&
           udpai_resource_is_lazy(a) == udpai_resource_is_lazy(b) &&
           udpai_resource_do_not_cache(a) == udpai_resource_do_not_cache(b) &&
           udpa_resource_generation(a) == udpa_resource_generation(b) && same_aliases(a, b);
}

bool
udpai_resource_same_signed(const udpa_resource *a, const udpa_resource *b)
{
    const udpai_signature *x = udpai_resource_signature(a), *y = udpai_resource_signature(b);
    if (!x || !y)
        return false;
    return x->algorithm == y->algorithm && udpai_str_eq(x->key_id, y->key_id) &&
           x->not_before_us == y->not_before_us && x->not_after_us == y->not_after_us &&
           udpai_str_eq(x->value, y->value) && udpai_resource_signs_same(a, b);
}

/* ---- times ---- */

static int64_t
whole_seconds(int64_t time_us)
{
    return time_us / US_PER_S - (time_us % US_PER_S < 0);
}

int64_t
udpai_signature_not_before_s(const udpai_signature *signature)
{
    return whole_seconds(signature->not_before_us);
}

int64_t
udpai_signature_not_after_s(const udpai_signature *signature)
{
    return whole_seconds(signature->not_after_us);
}
