/* SPDX-License-Identifier: Apache-2.0 */
/* A node that requires signatures in com.acme, trusts one key of the authority "acme", and may have
 * keys of its own. */
#ifndef UDPAI_SIGNATURES_BED_H
#define UDPAI_SIGNATURES_BED_H

#include "tests/harness/signing.h"
#include "tests/unit/federation/federation_test.h"

#define NOW_S 1700000000
#define HOUR_S 3600
#define HOUR_MS ((uint64_t)HOUR_S * 1000)
#define FROM_US ((uint64_t)NOW_S * 1000000)

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};
static const fed_peer relay = {.id = "relay", .name = "relay"};
static const udpai_str acme_space[] = {{"com.acme", 8}};

typedef struct sig_bed {
    fed_bed *fed;
    test_key acme, next, ours, ours_next;
    udpai_named_key trusted[3], signing[2];
    udpai_signature_requirement required;
    udpai_keyring_options keys;
} sig_bed;

static inline udpai_named_key
named_key(const char *authority, const char *key_id, udpai_key *key)
{
    return (udpai_named_key){
        .authority = udpai_str_from(authority), .key_id = udpai_str_from(key_id), .key = key};
}

static inline int
sig_setup(void **state)
{
    sig_bed *bed = calloc(1, sizeof(*bed));
    void *fed = NULL;
    if (!bed || fed_setup(&fed) != 0)
        return -1;
    bed->fed = fed;
    bed->acme = test_key_new(UDPAI_KEY_ED25519);
    bed->next = test_key_new(UDPAI_KEY_ECDSA_P256_SHA256);
    bed->ours = test_key_new(UDPAI_KEY_ED25519);
    bed->ours_next = test_key_new(UDPAI_KEY_ECDSA_P256_SHA256);
    bed->trusted[0] = named_key("acme", "k1", bed->acme.public_key);
    bed->required = (udpai_signature_requirement){.prefixes = acme_space, .n_prefixes = 1};
    bed->keys = (udpai_keyring_options){
        .trusted = bed->trusted,
        .n_trusted = 1,
        .signing = bed->signing,
        .required = &bed->required,
        .n_required = 1,
        .validity_s = 10 * HOUR_S,
        .skew_s = 60,
    };
    *state = bed;
    return 0;
}

static inline int
sig_teardown(void **state)
{
    sig_bed *bed = *state;
    void *fed = bed->fed;
    udpai_keyring_unref(bed->fed->config.keyring);
    fed_teardown(&fed);
    test_key_done(&bed->acme);
    test_key_done(&bed->next);
    test_key_done(&bed->ours);
    test_key_done(&bed->ours_next);
    free(bed);
    return 0;
}

static inline void
use_keys(sig_bed *bed)
{
    udpai_keyring_unref(bed->fed->config.keyring);
    assert_ok(udpai_keyring_new(&bed->fed->config.keyring, &bed->keys));
    if (bed->fed->node) {
        udpai_node_set_keyring(bed->fed->node, bed->fed->config.keyring);
        udpai_node_flush(bed->fed->node);
    }
}

static inline void
start(sig_bed *bed)
{
    use_keys(bed);
    fed_type(bed->fed, "CDS");
    FED_PROVIDER(bed->fed, {'a', "", UDPAI_CONTINUE, false}, {'b', "", UDPAI_CONTINUE, false});
    fed_start(bed->fed);
    fed_connect(bed->fed, 'a');
    fed_connect(bed->fed, 'b');
    (void)fed_orders(bed->fed);
}

/* The node signs what it takes in first of the authority "alice", or of "files". */
static inline void
sign_for(sig_bed *bed, const char *authority)
{
    bed->signing[0] = named_key(authority, "o1", bed->ours.private_key);
    bed->keys.n_signing = 1;
}

#define assert_says(text, part)                                                                    \
    do {                                                                                           \
        const char *said = (text);                                                                 \
        if (!strstr(said, (part)))                                                                 \
            fail_msg("'%s' does not say '%s'", said, (part));                                      \
    } while (0)

#define SOURCE(bed, letter) ((bed)->fed->sessions[(letter) - 'a'])

/* As another node has taken it from the authority and signed it. */
static inline udpa_resource *
plain(const char *value, uint64_t generation)
{
    return RESOURCE("com.acme/x", .type = TEST_CDS, .version = value, .value = value,
                    .authority = "acme", .generation = generation, .hops = {{"signer", "acme"}},
                    .aliases = {"com.acme/also-x"});
}

static inline udpa_resource *
signed_with(const test_key *key, const char *key_id, const char *value, uint64_t generation)
{
    return test_sign(plain(value, generation), key, key_id, NOW_S, NOW_S + HOUR_S);
}

static inline udpa_resource *
good(sig_bed *bed, const char *value, uint64_t generation)
{
    return signed_with(&bed->acme, "k1", value, generation);
}

static const char *
put(sig_bed *bed, char source, udpa_resource *resource)
{
    return fed_put(bed->fed, SOURCE(bed, source), resource, false);
}

static inline bool
take_effective(void *userdata, const udpai_contribution *contribution)
{
    if (contribution->effective)
        *(udpa_resource **)userdata = contribution->resource;
    return !contribution->effective;
}

/* Borrowed from the store; NULL: none counts. */
static inline udpa_resource *
effective(sig_bed *bed, const char *name)
{
    udpa_resource *found = NULL;
    udpai_store_visit_name(udpai_node_store(bed->fed->node), UDPAI_STR(TEST_CDS),
                           udpai_str_from(name), take_effective, &found);
    return found;
}

static inline bool
has_key(const udpa_resource *resource, const char *key_id)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    return signature && udpai_str_eq(signature->key_id, udpai_str_from(key_id));
}

#define sig_test(function) cmocka_unit_test_setup_teardown(function, sig_setup, sig_teardown)

#endif
