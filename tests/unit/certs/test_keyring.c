/* SPDX-License-Identifier: Apache-2.0 */
/* Whose signatures count, and where there must be one. */
#include "certs/keyring.h"

#include "tests/harness/oom.h"
#include "tests/harness/signing.h"

#define NOW_S 1700000000
#define HOUR_S 3600

static const udpai_str acme_space[] = {{"com.acme", 8}};
static const udpai_str clusters[] = {{"*.Cluster", 9}};
static const udpai_str only_acme[] = {{"acme*", 5}};

typedef struct ring_bed {
    test_key acme, other, next;
    udpai_keyring *keyring;
    udpai_signature_requirement required;
    udpai_named_key trusted[3];
    udpai_keyring_options options;
} ring_bed;

static int
setup(void **state)
{
    ring_bed *bed = calloc(1, sizeof(*bed));
    if (!bed)
        return -1;
    bed->acme = test_key_new(UDPAI_KEY_ED25519);
    bed->next = test_key_new(UDPAI_KEY_ECDSA_P256_SHA256);
    bed->other = test_key_new(UDPAI_KEY_ED25519);
    bed->trusted[0] = (udpai_named_key){
        .authority = UDPAI_STR("acme"), .key_id = UDPAI_STR("k1"), .key = bed->acme.public_key};
    bed->trusted[1] = (udpai_named_key){
        .authority = UDPAI_STR("acme"), .key_id = UDPAI_STR("k2"), .key = bed->next.public_key};
    bed->trusted[2] = (udpai_named_key){
        .authority = UDPAI_STR("bank"), .key_id = UDPAI_STR("k1"), .key = bed->other.public_key};
    bed->required = (udpai_signature_requirement){.prefixes = acme_space, .n_prefixes = 1};
    bed->options = (udpai_keyring_options){
        .trusted = bed->trusted,
        .n_trusted = 3,
        .required = &bed->required,
        .n_required = 1,
        .validity_s = 24 * HOUR_S,
        .skew_s = 60,
    };
    *state = bed;
    return 0;
}

static int
teardown(void **state)
{
    ring_bed *bed = *state;
    test_key_done(&bed->acme);
    test_key_done(&bed->next);
    test_key_done(&bed->other);
    udpai_keyring_unref(bed->keyring);
    free(bed);
    return 0;
}

static void
make(ring_bed *bed)
{
    udpai_keyring_unref(bed->keyring);
    assert_ok(udpai_keyring_new(&bed->keyring, &bed->options));
}

static udpa_resource *
named(const char *name, const char *authority)
{
    return RESOURCE(name, .type = TEST_CDS, .value = "v", .authority = authority, .generation = 5);
}

/* Consumes the resource. Returns why it is refused, or "". */
static const char *
judged_at(ring_bed *bed, udpa_resource *resource, int64_t now_s)
{
    static char text[1000];
    udpa_error *error = NULL;
    udpa_err err = udpai_keyring_verify(bed->keyring, resource, now_s, false, &error);
    assert_int_equal(err, error ? UDPA_ERR_DENIED : UDPA_OK);
    snprintf(text, sizeof(text), "%s", error ? udpa_error_message(error) : "");
    udpa_error_unref(error);
    udpa_resource_unref(resource);
    return text;
}

static const char *
judged(ring_bed *bed, udpa_resource *resource)
{
    return judged_at(bed, resource, NOW_S);
}

#define assert_good(text) assert_string_equal((text), "")
#define assert_bad(text, words)                                                                    \
    do {                                                                                           \
        const char *judged_text = (text);                                                          \
        if (!strstr(judged_text, (words)))                                                         \
            fail_msg("'%s' does not say '%s'", judged_text, (words));                              \
    } while (0)

static udpa_resource *
signed_by(const test_key *key, const char *key_id, const char *authority)
{
    return test_sign(named("com.acme/x", authority), key, key_id, NOW_S, NOW_S + HOUR_S);
}

static void
what_need_not_be_signed_may_be_without(void **state)
{
    ring_bed *bed = *state;
    assert_good(judged(bed, named("com.acme/x", "acme"))); /* there is no keyring at all */
    make(bed);
    assert_good(judged(bed, named("org.other/x", "acme")));
    assert_good(judged(bed, named("com.acmecorp/x", "acme")));
    assert_bad(judged(bed, named("com.acme/x", "acme")), "is not signed");
    assert_bad(judged(bed, named("com.acme.sub/x", "acme")), "of its authority ('acme')");
}

static void
each_key_of_an_authority_counts(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    assert_good(judged(bed, signed_by(&bed->acme, "k1", "acme")));
    assert_good(judged(bed, signed_by(&bed->next, "k2", "acme")));
    assert_bad(judged(bed, signed_by(&bed->acme, "k3", "acme")),
               "is signed with key 'k3' of authority 'acme', of which only 'k1', 'k2' may sign");
    assert_bad(judged(bed, signed_by(&bed->acme, "k2", "acme")),
               "is signed by Ed25519 (algorithm 1), and key 'k2' of authority 'acme' is one for "
               "ECDSA P-256");
    assert_bad(judged(bed, signed_by(&bed->other, "k1", "acme")),
               "does not bear the signature of authority 'acme' (key 'k1')");
}

static void
an_unknown_algorithm_is_refused(void **state)
{
    ring_bed *bed = *state;
    udpai_resource_room room;
    make(bed);
    udpa_resource *good = signed_by(&bed->acme, "k1", "acme"), *changed = NULL;
    udpai_resource_parts parts = udpai_resource_parts_of(good, &room);
    parts.signature.algorithm = 9;
    assert_ok(udpai_resource_make(&changed, &parts));
    assert_bad(judged(bed, changed), "is signed by what is not known here (algorithm 9)");
    udpa_resource_unref(good);
}

/* Where signatures are not asked for, one that is there is looked at if its authority has keys. */
static void
a_signature_nobody_asked_for(void **state)
{
    ring_bed *bed = *state;
    bed->options.n_required = 0;
    make(bed);
    assert_good(judged(bed, signed_by(&bed->acme, "k1", "acme")));
    assert_bad(judged(bed, signed_by(&bed->other, "k1", "acme")), "does not bear");
    assert_bad(judged(bed, signed_by(&bed->acme, "k7", "acme")), "with key 'k7'");
    assert_good(judged(bed, signed_by(&bed->other, "k7", "nobody knows")));
}

static void
an_unknown_authority_is_refused_where_it_counts(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    assert_bad(judged(bed, signed_by(&bed->acme, "k1", "stranger")),
               "no key of its authority 'stranger' is trusted here");
}

/* A trusted authority may still not speak where another one is at home. */
static void
a_requirement_may_name_its_authorities(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    assert_good(judged(bed, signed_by(&bed->other, "k1", "bank")));
    bed->required.authorities = only_acme;
    bed->required.n_authorities = 1;
    make(bed);
    assert_good(judged(bed, signed_by(&bed->acme, "k1", "acme")));
    assert_bad(judged(bed, signed_by(&bed->other, "k1", "bank")),
               "is signed by authority 'bank', which is none of those");
}

static void
a_requirement_may_be_for_some_types(void **state)
{
    ring_bed *bed = *state;
    bed->required.types = clusters;
    bed->required.n_types = 1;
    make(bed);
    assert_bad(judged(bed, named("com.acme/x", "acme")), "is not signed");
    assert_good(judged(bed, RESOURCE("com.acme/x", .type = TEST_EDS, .authority = "acme")));
    bed->required.n_prefixes = 0;
    make(bed);
    assert_bad(judged(bed, named("org.other/x", "acme")), "is not signed");
}

static void
times_count_to_the_second(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    udpa_resource *good = signed_by(&bed->acme, "k1", "acme");
    assert_bad(judged_at(bed, udpa_resource_ref(good), NOW_S - 61),
               "its signature is valid only from 2023-11-14 22:13:20 UTC, and it is 2023-11-14 "
               "22:12:19 UTC here");
    assert_good(judged_at(bed, udpa_resource_ref(good), NOW_S - 60));
    assert_good(judged_at(bed, udpa_resource_ref(good), NOW_S + HOUR_S + 60));
    assert_bad(judged_at(bed, udpa_resource_ref(good), NOW_S + HOUR_S + 61),
               "its signature was valid until 2023-11-14 23:13:20 UTC");
    assert_true(udpai_keyring_end_s(bed->keyring, good) == NOW_S + HOUR_S + 61);
    udpa_resource_unref(good);
    good = test_sign(named("com.acme/x", "acme"), &bed->acme, "k1", INT64_MIN / 1000000,
                     INT64_MAX / 1000000);
    assert_bad(judged_at(bed, udpa_resource_ref(good), INT64_MIN), "valid only from");
    assert_good(judged_at(bed, udpa_resource_ref(good), INT64_MIN / 1000000));
    assert_good(judged_at(bed, udpa_resource_ref(good), INT64_MAX / 1000000));
    assert_bad(judged_at(bed, udpa_resource_ref(good), INT64_MAX), "was valid until");
    udpa_resource_unref(good);
}

static void
a_key_has_its_times_too(void **state)
{
    ring_bed *bed = *state;
    bed->trusted[0].not_before_s = NOW_S;
    bed->trusted[0].not_after_s = NOW_S + 100;
    make(bed);
    udpa_resource *good =
        test_sign(named("com.acme/x", "acme"), &bed->acme, "k1", NOW_S - HOUR_S, NOW_S + HOUR_S);
    assert_bad(judged_at(bed, udpa_resource_ref(good), NOW_S - 61), "is trusted only from");
    assert_good(judged_at(bed, udpa_resource_ref(good), NOW_S + 160));
    assert_bad(judged_at(bed, udpa_resource_ref(good), NOW_S + 161), "counted until");
    assert_true(udpai_keyring_end_s(bed->keyring, good) == NOW_S + 161);
    udpa_resource_unref(good);
}

static void
a_key_that_signs_is_trusted(void **state)
{
    ring_bed *bed = *state;
    const udpai_named_key signing[] = {
        {.authority = UDPAI_STR("us"), .key_id = UDPAI_STR("a"), .key = bed->acme.private_key},
        {.authority = UDPAI_STR("us"), .key_id = UDPAI_STR("b"), .key = bed->next.private_key},
    };
    bed->options.n_trusted = 0;
    bed->options.signing = signing;
    bed->options.n_signing = 2;
    make(bed);
    assert_good(judged(bed, signed_by(&bed->acme, "a", "us")));
    assert_good(judged(bed, signed_by(&bed->next, "b", "us")));
    assert_bad(judged(bed, signed_by(&bed->other, "a", "us")), "does not bear");
    assert_true(
        udpai_str_eq(udpai_keyring_signer(bed->keyring, UDPAI_STR("us"))->key_id, UDPAI_STR("a")));
    assert_null(udpai_keyring_signer(bed->keyring, UDPAI_STR("acme")));
    assert_null(udpai_keyring_signer(NULL, UDPAI_STR("acme")));
    assert_int_equal(udpai_keyring_n_trusted(bed->keyring), 2);
    assert_int_equal(udpai_keyring_n_signing(bed->keyring), 2);
    assert_true(udpai_keyring_validity_s(bed->keyring) == 24 * HOUR_S);
}

/* What was verified by one keyring need not be again, if the other has the same key. */
static void
keyrings_are_compared_by_keys(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    udpai_keyring *before = udpai_keyring_ref(bed->keyring);
    udpa_resource *good = signed_by(&bed->acme, "k1", "acme");
    udpa_resource *bare = named("com.acme/x", "acme");
    assert_true(udpai_keyring_verified_alike(before, before, good));
    make(bed);
    assert_true(udpai_keyring_verified_alike(before, bed->keyring, good));
    bed->trusted[0].key = bed->other.public_key;
    make(bed);
    assert_false(udpai_keyring_verified_alike(before, bed->keyring, good));
    assert_true(udpai_keyring_verified_alike(before, bed->keyring, bare));
    bed->options.n_trusted = 0;
    make(bed);
    assert_false(udpai_keyring_verified_alike(before, bed->keyring, good));
    assert_false(udpai_keyring_verified_alike(NULL, before, good));
    assert_true(udpai_keyring_end_s(bed->keyring, good) == INT64_MAX);
    udpa_resource_unref(good);
    udpa_resource_unref(bare);
    udpai_keyring_unref(before);
}

static void
change_trust(ring_bed *bed, bool expected)
{
    udpai_keyring *before = udpai_keyring_ref(bed->keyring);
    make(bed);
    assert_int_equal(udpai_keyring_equal(before, bed->keyring), expected);
    udpai_keyring_unref(before);
}

/* The same, of keys alone. */
static void
change_keys(ring_bed *bed, bool expected)
{
    udpai_strbuf before = {0}, now = {0};
    assert_ok(udpai_keyring_put_keys(bed->keyring, &before));
    change_trust(bed, expected);
    assert_ok(udpai_keyring_put_keys(bed->keyring, &now));
    assert_int_equal(udpai_str_eq(udpai_strbuf_view(&before), udpai_strbuf_view(&now)), expected);
    udpai_strbuf_done(&before);
    udpai_strbuf_done(&now);
}

static void
equal_keyrings_are_known(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    assert_true(udpai_keyring_equal(NULL, NULL));
    assert_false(udpai_keyring_equal(NULL, bed->keyring));
    change_trust(bed, true);
    bed->options.skew_s++;
    change_trust(bed, false);
    bed->trusted[0].not_after_s = NOW_S;
    change_keys(bed, false);
    bed->trusted[0].not_before_s = NOW_S - 1;
    change_keys(bed, false);
    bed->trusted[0].key = bed->other.public_key;
    change_keys(bed, false);
    bed->trusted[0].key_id = UDPAI_STR("k0");
    change_keys(bed, false);
    bed->required.types = clusters;
    bed->required.n_types = 1;
    change_trust(bed, false);
    bed->options.n_required = 0;
    change_trust(bed, false);
    bed->options.n_trusted = 1;
    change_keys(bed, false);
    change_keys(bed, true);
}

static void
what_is_known_to_be_verified_is_not_again(void **state)
{
    ring_bed *bed = *state;
    make(bed);
    udpa_resource *wrong = signed_by(&bed->other, "k1", "acme");
    assert_ok(udpai_keyring_verify(bed->keyring, wrong, NOW_S, true, NULL));
    assert_int_equal(udpai_keyring_verify(bed->keyring, wrong, NOW_S + 2 * HOUR_S, true, NULL),
                     UDPA_ERR_DENIED);
    udpa_resource_unref(wrong);
}

static void
there_is_an_end_to_keys(void **state)
{
    ring_bed *bed = *state;
    bed->options.n_trusted = UDPAI_KEYRING_MAX + 1;
    assert_int_equal(udpai_keyring_new(&bed->keyring, &bed->options), UDPA_ERR_LIMIT);
}

static udpa_err
make_and_judge(void *context)
{
    ring_bed *bed = context;
    udpai_keyring *keyring = NULL;
    udpa_err err = udpai_keyring_new(&keyring, &bed->options);
    udpa_resource *bare = err == UDPA_OK ? named("com.acme/x", "acme") : NULL;
    udpa_error *error = NULL;
    if (bare) {
        err = udpai_keyring_verify(keyring, bare, NOW_S, false, &error);
        err = err == UDPA_ERR_DENIED && error ? UDPA_OK : UDPA_ERR_NOMEM;
    } else {
        err = UDPA_ERR_NOMEM;
    }
    udpa_error_unref(error);
    udpa_resource_unref(bare);
    udpai_keyring_unref(keyring);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    ring_bed *bed = *state;
    bed->required.types = clusters;
    bed->required.n_types = 1;
    oom_torture(make_and_judge, bed);
}

#define keyring_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        keyring_test(what_need_not_be_signed_may_be_without),
        keyring_test(each_key_of_an_authority_counts),
        keyring_test(an_unknown_algorithm_is_refused),
        keyring_test(a_signature_nobody_asked_for),
        keyring_test(an_unknown_authority_is_refused_where_it_counts),
        keyring_test(a_requirement_may_name_its_authorities),
        keyring_test(a_requirement_may_be_for_some_types),
        keyring_test(times_count_to_the_second),
        keyring_test(a_key_has_its_times_too),
        keyring_test(a_key_that_signs_is_trusted),
        keyring_test(keyrings_are_compared_by_keys),
        keyring_test(equal_keyrings_are_known),
        keyring_test(what_is_known_to_be_verified_is_not_again),
        keyring_test(there_is_an_end_to_keys),
        keyring_test(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
