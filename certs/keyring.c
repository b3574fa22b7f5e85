/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/keyring.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/pattern.h"
#include "base/vector.h"
#include "model/name.h"
#include "model/type_url.h"

#define TIME_SIZE 80
#define SHOWN_KEYS_MAX 5

struct udpai_keyring {
    atomic_uint refs;
    udpai_named_key *keys; /* all that are trusted, sorted by authority and id */
    size_t n_keys;
    udpai_named_key *signing; /* in the order given */
    size_t n_signing;
    udpai_signature_requirement *required;
    size_t n_required;
    int64_t validity_s, skew_s;
    const char *place;
    UDPAI_VECTOR(void *) owned; /* texts and lists */
};

/* ---- making ---- */

static void *
own(udpai_keyring *keyring, void *memory)
{
    if (memory && udpai_vector_push(&keyring->owned, memory))
        return memory;
    udpai_free(memory);
    return NULL;
}

static bool
copy_text(udpai_keyring *keyring, udpai_str *text)
{
    char *copy = own(keyring, udpai_alloc(text->len + 1));
    if (copy && text->len)
        memcpy(copy, text->data, text->len);
    text->data = copy;
    return copy != NULL;
}

static bool
copy_list(udpai_keyring *keyring, const udpai_str **list, size_t n)
{
    udpai_str *copy = own(keyring, udpai_alloc_array(n + 1, sizeof(*copy)));
    bool good = copy != NULL;
    for (size_t i = 0; good && i < n; i++) {
        copy[i] = (*list)[i];
        good = copy_text(keyring, &copy[i]);
    }
    *list = copy;
    return good;
}

static bool
copy_keys(udpai_keyring *keyring,
          const udpai_named_key *from,
          size_t n,
          udpai_named_key *to,
          size_t *n_to)
{
    for (size_t i = 0; i < n; i++) {
        udpai_named_key *key = &to[*n_to];
        *key = from[i];
        if (!copy_text(keyring, &key->authority) || !copy_text(keyring, &key->key_id))
            return false;
        udpai_key_ref(key->key);
        ++*n_to;
    }
    return true;
}

static bool
copy_requirements(udpai_keyring *keyring, const udpai_keyring_options *options)
{
    for (size_t i = 0; i < options->n_required; i++) {
        udpai_signature_requirement *to = &keyring->required[keyring->n_required++];
        *to = options->required[i];
        if (!copy_list(keyring, &to->prefixes, to->n_prefixes) ||
            !copy_list(keyring, &to->types, to->n_types) ||
            !copy_list(keyring, &to->authorities, to->n_authorities))
            return false;
    }
    return true;
}

static int
compare_keys(const void *a, const void *b)
{
    const udpai_named_key *x = a, *y = b;
    int order = udpai_str_cmp(x->authority, y->authority);
    return order ? order : udpai_str_cmp(x->key_id, y->key_id);
}

static bool
fill(udpai_keyring *keyring, const udpai_keyring_options *options)
{
    size_t n_keys = options->n_trusted + options->n_signing;
    keyring->keys = udpai_alloc_array(n_keys + 1, sizeof(*keyring->keys));
    keyring->signing = udpai_alloc_array(options->n_signing + 1, sizeof(*keyring->signing));
    keyring->required = udpai_alloc_array(options->n_required + 1, sizeof(*keyring->required));
    if (!keyring->keys || !keyring->signing || !keyring->required)
        return false;
    bool good =
        copy_keys(keyring, options->trusted, options->n_trusted, keyring->keys, &keyring->n_keys) &&
        copy_keys(keyring, options->signing, options->n_signing, keyring->keys, &keyring->n_keys) &&
        copy_keys(keyring, options->signing, options->n_signing, keyring->signing,
                  &keyring->n_signing) &&
        copy_requirements(keyring, options);
    if (good && keyring->n_keys > 1)
        qsort(keyring->keys, keyring->n_keys, sizeof(*keyring->keys), compare_keys);
    return good;
}

udpa_err
udpai_keyring_new(udpai_keyring **ret_keyring, const udpai_keyring_options *options)
{
    if (options->n_trusted > UDPAI_KEYRING_MAX || options->n_signing > UDPAI_KEYRING_MAX ||
        options->n_required > UDPAI_KEYRING_MAX)
        return UDPA_ERR_LIMIT;
    UDPA_AUTO(udpai_keyring_unref) udpai_keyring *keyring = udpai_alloc(sizeof(*keyring));
    if (!keyring)
        return UDPA_ERR_NOMEM;
    atomic_init(&keyring->refs, 1);
    keyring->validity_s = options->validity_s;
    keyring->skew_s = options->skew_s;
    keyring->place = options->place ? options->place : "signatures.trusted";
    if (!fill(keyring, options))
        return UDPA_ERR_NOMEM;
    *ret_keyring = UDPAI_TAKE(keyring);
    return UDPA_OK;
}

udpai_keyring *
udpai_keyring_ref(udpai_keyring *keyring)
{
    if (keyring)
        atomic_fetch_add_explicit(&keyring->refs, 1, memory_order_relaxed);
    return keyring;
}

udpai_keyring *
udpai_keyring_unref(udpai_keyring *keyring)
{
    if (!keyring || atomic_fetch_sub_explicit(&keyring->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < keyring->n_keys; i++)
        udpai_key_unref(keyring->keys[i].key);
    for (size_t i = 0; i < keyring->n_signing; i++)
        udpai_key_unref(keyring->signing[i].key);
    for (size_t i = 0; i < keyring->owned.n; i++)
        udpai_free(keyring->owned.items[i]);
    udpai_vector_done(&keyring->owned);
    udpai_free(keyring->keys);
    udpai_free(keyring->signing);
    udpai_free(keyring->required);
    udpai_free(keyring);
    return NULL;
}

/* ---- looking ---- */

size_t
udpai_keyring_n_trusted(const udpai_keyring *keyring)
{
    return keyring->n_keys;
}

size_t
udpai_keyring_n_signing(const udpai_keyring *keyring)
{
    return keyring->n_signing;
}

const udpai_named_key *
udpai_keyring_signer(const udpai_keyring *keyring, udpai_str authority)
{
    for (size_t i = 0; keyring && i < keyring->n_signing; i++)
        if (udpai_str_eq(keyring->signing[i].authority, authority))
            return &keyring->signing[i];
    return NULL;
}

int64_t
udpai_keyring_validity_s(const udpai_keyring *keyring)
{
    return keyring->validity_s;
}

/* The keys of an authority are adjacent: the first of them. */
static size_t
first_of(const udpai_keyring *keyring, udpai_str authority)
{
    size_t low = 0, high = keyring->n_keys;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (udpai_str_cmp(keyring->keys[middle].authority, authority) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_of(const udpai_keyring *keyring, size_t index, udpai_str authority)
{
    return index < keyring->n_keys && udpai_str_eq(keyring->keys[index].authority, authority);
}

static bool
knows(const udpai_keyring *keyring, udpai_str authority)
{
    return keyring && is_of(keyring, first_of(keyring, authority), authority);
}

static const udpai_named_key *
find_key(const udpai_keyring *keyring, udpai_str authority, udpai_str key_id)
{
    if (!keyring)
        return NULL;
    for (size_t i = first_of(keyring, authority); is_of(keyring, i, authority); i++)
        if (udpai_str_eq(keyring->keys[i].key_id, key_id))
            return &keyring->keys[i];
    return NULL;
}

static bool
covers(const udpai_signature_requirement *required, const udpa_resource *resource)
{
    bool has_prefix = required->n_prefixes == 0;
    for (size_t i = 0; i < required->n_prefixes && !has_prefix; i++)
        has_prefix = udpai_prefix_covers(required->prefixes[i], udpai_resource_name(resource));
    return has_prefix &&
           (required->n_types == 0 || udpai_patterns_fit(required->types, required->n_types,
                                                         udpai_resource_type_url(resource)));
}

/* ---- judging ---- */

/* A resource that is checked, and what messages contain of it. */
struct checked {
    const udpai_keyring *keyring;
    const udpa_resource *resource;
    const udpai_signature *signature; /* NULL: none */
    const udpai_named_key *key;
    int64_t now_s;
    udpa_error **ret_error;
    bool is_removal;
};

#define TYPE_OF(checked)                                                                           \
    UDPAI_SHOWN(udpai_type_url_name(udpai_resource_type_url((checked)->resource)))

static const char *
show_time(int64_t time_s, char room[TIME_SIZE])
{
    struct tm tm;
    time_t time = (time_t)time_s;
    if (OPENSSL_gmtime(&time, &tm))
        snprintf(room, TIME_SIZE, "%04d-%02d-%02d %02d:%02d:%02d UTC", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    else
        snprintf(room, TIME_SIZE, "second %lld of 1970", (long long)time_s);
    return room;
}

static udpa_err
fail_unsigned(const struct checked *checked)
{
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s is not signed, and this node takes it only with the "
                      "signature of its authority ('%.*s'): sign it ('udpactl sign'), or have its "
                      "node sign (signatures.keys); a node on the way may have stripped it",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                      UDPAI_SHOWN(udpai_resource_authority(checked->resource)));
}

static udpa_err
fail_authority(const struct checked *checked)
{
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s is signed by authority '%.*s', which is none of those "
                      "that signatures.required lets publish there",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                      UDPAI_SHOWN(udpai_resource_authority(checked->resource)));
}

static udpa_err
fail_unknown_authority(const struct checked *checked)
{
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s must be signed, and no key of its authority '%.*s' is "
                      "trusted here: add one to %s",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                      UDPAI_SHOWN(udpai_resource_authority(checked->resource)),
                      checked->keyring->place);
}

/* "'a', 'b'" */
static void
list_keys(const struct checked *checked, udpai_strbuf *out)
{
    const udpai_keyring *keyring = checked->keyring;
    udpai_str authority = udpai_resource_authority(checked->resource);
    size_t first = first_of(keyring, authority), i = first;
    for (; is_of(keyring, i, authority) && i < first + SHOWN_KEYS_MAX; i++)
        udpai_strbuf_printf(out, "%s'%.*s'", i > first ? ", " : "",
                            UDPAI_SHOWN(keyring->keys[i].key_id));
    if (is_of(keyring, i, authority))
        udpai_strbuf_puts(out, ", …");
}

static udpa_err
fail_unknown_key(const struct checked *checked)
{
    udpai_strbuf keys = {0};
    list_keys(checked, &keys);
    udpa_err err =
        udpai_strbuf_failed(&keys)
            ? udpai_fail_code(checked->ret_error, UDPA_ERR_NOMEM)
            : udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                         "'%.*s' of type %.*s is signed with key '%.*s' of authority '%.*s', of "
                         "which only %.*s may sign here: if it is a new key of theirs, add it to "
                         "%s",
                         UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                         UDPAI_SHOWN(checked->signature->key_id),
                         UDPAI_SHOWN(udpai_resource_authority(checked->resource)),
                         UDPAI_SHOWN(udpai_strbuf_view(&keys)), checked->keyring->place);
    udpai_strbuf_done(&keys);
    return err;
}

static udpa_err
fail_algorithm(const struct checked *checked)
{
    const char *name = udpai_key_algorithm_name(checked->signature->algorithm);
    const char *expected = udpai_key_algorithm_name(udpai_key_algorithm_of(checked->key->key));
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s is signed by %s (algorithm %u), and key '%.*s' of "
                      "authority '%.*s' is one for %s",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                      name ? name : "what is not known here", checked->signature->algorithm,
                      UDPAI_SHOWN(checked->key->key_id), UDPAI_SHOWN(checked->key->authority),
                      expected);
}

static udpa_err
fail_time(const struct checked *checked, const char *what, int64_t time_s)
{
    char time[TIME_SIZE], now[TIME_SIZE];
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s: %s %s, and it is %s here: compare the clocks, or have "
                      "authority '%.*s' sign it again",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked), what,
                      show_time(time_s, time), show_time(checked->now_s, now),
                      UDPAI_SHOWN(udpai_resource_authority(checked->resource)));
}

/* Times far from ours must not overflow. */
static int64_t
add(int64_t time_s, int64_t more_s)
{
    int64_t sum;
    if (__builtin_add_overflow(time_s, more_s, &sum))
        return more_s < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static int64_t
key_begin_s(const udpai_named_key *key)
{
    int64_t begin_s = udpai_key_not_before_s(key->key);
    return key->not_before_s && key->not_before_s > begin_s ? key->not_before_s : begin_s;
}

static int64_t
key_end_s(const udpai_named_key *key)
{
    int64_t end_s = udpai_key_not_after_s(key->key);
    return key->not_after_s && key->not_after_s < end_s ? key->not_after_s : end_s;
}

static udpa_err
check_key_times(const struct checked *checked)
{
    const udpai_named_key *key = checked->key;
    if (add(checked->now_s, checked->keyring->skew_s) < key_begin_s(key))
        return fail_time(checked, "the key that signed it is trusted only from", key_begin_s(key));
    if (add(checked->now_s, -checked->keyring->skew_s) > key_end_s(key))
        return fail_time(checked, "the key that signed it counted until", key_end_s(key));
    return UDPA_OK;
}

static udpa_err
check_times(const struct checked *checked)
{
    int64_t not_before_s = udpai_signature_not_before_s(checked->signature);
    int64_t not_after_s = udpai_signature_not_after_s(checked->signature);
    if (add(checked->now_s, checked->keyring->skew_s) < not_before_s)
        return fail_time(checked, "its signature is valid only from", not_before_s);
    if (add(checked->now_s, -checked->keyring->skew_s) > not_after_s)
        return fail_time(checked, "its signature was valid until", not_after_s);
    return check_key_times(checked);
}

static udpa_err
verify(const struct checked *checked)
{
    udpa_err err = checked->is_removal
                       ? udpai_removal_verify(checked->resource, checked->key->key)
                       : udpai_resource_verify(checked->resource, checked->key->key);
    if (err != UDPA_ERR_DENIED)
        return udpai_fail_code(checked->ret_error, err);
    return udpai_fail(checked->ret_error, UDPA_ERR_DENIED,
                      "'%.*s' of type %.*s does not bear the signature of authority '%.*s' (key "
                      "'%.*s'): it was altered on the way, or signed with another key, or for "
                      "another name or type",
                      UDPAI_SHOWN(udpai_resource_name(checked->resource)), TYPE_OF(checked),
                      UDPAI_SHOWN(checked->key->authority), UDPAI_SHOWN(checked->key->key_id));
}

static udpa_err
check_signature(struct checked *checked, bool is_verified)
{
    checked->key = find_key(checked->keyring, udpai_resource_authority(checked->resource),
                            checked->signature->key_id);
    if (!checked->key)
        return fail_unknown_key(checked);
    if (checked->signature->algorithm != (uint32_t)udpai_key_algorithm_of(checked->key->key))
        return fail_algorithm(checked);
    udpa_err err = check_times(checked);
    return err == UDPA_OK && !is_verified ? verify(checked) : err;
}

/* Each requirement that covers it must allow its authority. */
static udpa_err
check_requirements(const struct checked *checked, bool is_known)
{
    const udpai_keyring *keyring = checked->keyring;
    for (size_t i = 0; i < keyring->n_required; i++) {
        const udpai_signature_requirement *required = &keyring->required[i];
        if (!covers(required, checked->resource))
            continue;
        if (!checked->signature)
            return fail_unsigned(checked);
        if (required->n_authorities &&
            !udpai_patterns_fit(required->authorities, required->n_authorities,
                                udpai_resource_authority(checked->resource)))
            return fail_authority(checked);
        if (!is_known)
            return fail_unknown_authority(checked);
    }
    return UDPA_OK;
}

static udpa_err
check(struct checked *checked, bool is_verified)
{
    if (!checked->keyring)
        return UDPA_OK;
    checked->signature = udpai_resource_signature(checked->resource);
    bool is_known = knows(checked->keyring, udpai_resource_authority(checked->resource));
    udpa_err err = check_requirements(checked, is_known);
    if (err != UDPA_OK || !checked->signature || !is_known)
        return err;
    return check_signature(checked, is_verified);
}

udpa_err
udpai_keyring_verify(const udpai_keyring *keyring,
                     const udpa_resource *resource,
                     int64_t now_s,
                     bool is_verified,
                     udpa_error **ret_error)
{
    struct checked checked = {
        .keyring = keyring,
        .resource = resource,
        .now_s = now_s,
        .ret_error = ret_error,
    };
    return check(&checked, is_verified);
}

udpa_err
udpai_keyring_verify_removal(const udpai_keyring *keyring,
                             const udpa_resource *removal,
                             int64_t now_s,
                             udpa_error **ret_error)
{
    struct checked checked = {
        .keyring = keyring,
        .resource = removal,
        .now_s = now_s,
        .ret_error = ret_error,
        .is_removal = true,
    };
    return check(&checked, false);
}

int64_t
udpai_keyring_end_s(const udpai_keyring *keyring, const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    const udpai_named_key *key =
        signature ? find_key(keyring, udpai_resource_authority(resource), signature->key_id) : NULL;
    if (!key)
        return INT64_MAX;
    int64_t end_s = udpai_signature_not_after_s(signature);
    if (key_end_s(key) < end_s)
        end_s = key_end_s(key);
    return add(add(end_s, keyring->skew_s), 1);
}

bool
udpai_keyring_verified_alike(const udpai_keyring *before,
                             const udpai_keyring *now,
                             const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    udpai_str authority = udpai_resource_authority(resource);
    if (!signature)
        return true;
    const udpai_named_key *x = find_key(before, authority, signature->key_id);
    const udpai_named_key *y = find_key(now, authority, signature->key_id);
    return x && y && (x->key == y->key || udpai_key_equal(x->key, y->key));
}

/* ---- comparing ---- */

static bool
same_texts(const udpai_str *a, size_t n_a, const udpai_str *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!udpai_str_eq(a[i], b[i]))
            return false;
    return true;
}

static bool
same_requirement(const udpai_signature_requirement *a, const udpai_signature_requirement *b)
{
    return same_texts(a->prefixes, a->n_prefixes, b->prefixes, b->n_prefixes) &&
           same_texts(a->types, a->n_types, b->types, b->n_types) &&
           same_texts(a->authorities, a->n_authorities, b->authorities, b->n_authorities);
}

static bool
same_keys(const udpai_named_key *a, size_t n_a, const udpai_named_key *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (compare_keys(&a[i], &b[i]) != 0 || !udpai_key_equal(a[i].key, b[i].key) ||
            a[i].not_before_s != b[i].not_before_s || a[i].not_after_s != b[i].not_after_s ||
            udpai_key_not_before_s(a[i].key) != udpai_key_not_before_s(b[i].key) ||
            key_end_s(&a[i]) != key_end_s(&b[i]))
            return false;
    return true;
}

static udpa_err
put_keys(const udpai_named_key *keys, size_t n, udpai_strbuf *to)
{
    udpa_err err = UDPA_OK;
    udpai_strbuf_printf(to, "%zu", n);
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        udpai_strbuf_printf(to, " %.*s %.*s %" PRId64 " %" PRId64 " ",
                            UDPAI_SHOWN(keys[i].authority), UDPAI_SHOWN(keys[i].key_id),
                            key_begin_s(&keys[i]), key_end_s(&keys[i]));
        err = udpai_key_put_public(keys[i].key, to);
    }
    return err;
}

udpa_err
udpai_keyring_put_keys(const udpai_keyring *keyring, udpai_strbuf *to)
{
    if (!keyring)
        return UDPA_OK;
    udpa_err err = put_keys(keyring->keys, keyring->n_keys, to);
    return err == UDPA_OK ? put_keys(keyring->signing, keyring->n_signing, to) : err;
}

bool
udpai_keyring_equal(const udpai_keyring *a, const udpai_keyring *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->validity_s != b->validity_s || a->skew_s != b->skew_s || a->n_required != b->n_required)
        return false;
    for (size_t i = 0; i < a->n_required; i++)
        if (!same_requirement(&a->required[i], &b->required[i]))
            return false;
    return same_keys(a->keys, a->n_keys, b->keys, b->n_keys) &&
           same_keys(a->signing, a->n_signing, b->signing, b->n_signing);
}
