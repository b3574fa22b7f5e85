/* SPDX-License-Identifier: Apache-2.0 */
/* What is signed: every part of a resource that nobody on its way may change. */
#include "certs/signature.h"

#include "model/removal.h"
#include "tests/harness/constraints.h"
#include "tests/harness/oom.h"
#include "tests/harness/signing.h"

#define FROM_S 1700000000
#define UNTIL_S 1700086400

static udpai_resource_parts
parts_of(const udpa_resource *resource, udpai_resource_room *room)
{
    return udpai_resource_parts_of(resource, room);
}

static udpa_resource *
whole(void)
{
    return RESOURCE("com.acme/x", .type = TEST_CDS, .value = "payload", .version = "v1",
                    .authority = "acme", .generation = 7, .aliases = {"com.acme/b", "com.acme/a"});
}

/* ---- the bytes ---- */

/* Written out by hand, from the words of docs/design/trust.md. */
static void
the_bytes_are_those_of_the_design(void **state)
{
    (void)state;
    static const char expected[] =
        "udpa-sig-v1"
        "\0\0\0\4"
        "acme"
        "\0\0\0\20"
        "example.com/a.B0"
        "\0\0\0\12"
        "com.acme/x"
        "\0\0\0\2"
        "v1"
        "\0\0\0\0\0\0\0\2"
        "\0\0\0\12"
        "com.acme/a"
        "\0\0\0\12"
        "com.acme/b"
        "\0\0\0\0\0\0\0\1"
        "\0\0\0\0\0\0\0\1"
        "\0\0\0\0\0\0\1\2"
        /* of "abc", as FIPS 180-2 has it */
        "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
        "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad"
        "\0\0\0\0\x65\x53\xf1\0"
        "\xff\xff\xff\xff\xff\xff\xff\xff";
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = "example.com/a.B0", .value = "abc", .version = "v1",
                 .authority = "acme", .generation = 258, .lazy = true, .do_not_cache = true,
                 .aliases = {"com.acme/b", "com.acme/a"});
    udpai_strbuf bytes = {0};
    udpai_signed_bytes(&bytes, resource, FROM_S, -1);
    assert_int_equal(bytes.len, sizeof(expected) - 1);
    assert_memory_equal(bytes.data, expected, sizeof(expected) - 1);
    udpai_strbuf_done(&bytes);
    udpa_resource_unref(resource);
}

/* By hand: "udpa-sig-v1-removed", authority, type URL, name, generation, both times. */
static void
a_removal_has_bytes_of_its_own(void **state)
{
    (void)state;
    static const char expected[] = "udpa-sig-v1-removed"
                                   "\0\0\0\4"
                                   "acme"
                                   "\0\0\0\20"
                                   "example.com/a.B0"
                                   "\0\0\0\12"
                                   "com.acme/x"
                                   "\0\0\0\0\0\0\1\2"
                                   "\0\0\0\0\x65\x53\xf1\0"
                                   "\0\0\0\0\x65\x53\xf1\1";
    test_key key = test_key_new(UDPAI_KEY_ED25519);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *was = RESOURCE("com.acme/x", .type = "example.com/a.B0", .authority = "acme");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = udpai_removal_of(was, 258), *said = NULL;
    const udpai_signing signing = {key.private_key, UDPAI_STR("k1"), FROM_S, FROM_S + 1};
    assert_ok(udpai_removal_sign(&said, bare, &signing));
    const udpai_str bytes = {expected, sizeof(expected) - 1};
    assert_ok(udpai_key_verify(key.public_key, bytes, udpai_resource_signature(said)->value));
    assert_ok(udpai_removal_verify(said, key.public_key));
    /* neither stands for the other */
    assert_int_equal(udpai_resource_verify(said, key.public_key), UDPA_ERR_DENIED);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *other = NULL;
    assert_ok(udpai_resource_sign(&other, bare, &signing));
    assert_int_equal(udpai_removal_verify(other, key.public_key), UDPA_ERR_DENIED);
    test_key_done(&key);
}

static bool
ends_alike(const udpa_resource *a, const udpa_resource *b, const char *between, size_t n)
{
    udpai_strbuf x = {0}, y = {0};
    size_t tail = 8 + 8 + 8 + 32 + 8 + 8;
    udpai_signed_bytes(&x, a, 1, 2);
    udpai_signed_bytes(&y, b, 1, 2);
    assert_true(x.len > tail);
    bool alike = y.len == x.len + n && memcmp(y.data, x.data, x.len - tail) == 0 &&
                 memcmp(y.data + x.len - tail, between, n) == 0 &&
                 memcmp(y.data + x.len - tail + n, x.data + x.len - tail, tail) == 0;
    udpai_strbuf_done(&x);
    udpai_strbuf_done(&y);
    return alike;
}

/* Constraints, and what a redirect really is, stand behind the aliases. */
static void
variants_and_redirects_sign_what_makes_them_so(void **state)
{
    (void)state;
    const udpai_str constraints = UDPAI_STR("\x0a\x03"
                                            "\x0a\x01"
                                            "k");
    udpa_resource *plain = RESOURCE("com.acme/x", .type = "example.com/a.B", .value = "abc",
                                    .version = "v1", .authority = "acme");
    udpa_resource *variant =
        RESOURCE("com.acme/x", .type = "example.com/a.B", .value = "abc", .version = "v1",
                 .authority = "acme", .constraints = constraints);
    udpa_resource *redirect =
        RESOURCE("com.acme/x", .type = "example.com/c.D", .value = "abc", .version = "v1",
                 .authority = "acme", .redirected_type = "example.com/a.B");
    assert_true(ends_alike(plain, variant, "\0\0\0\5\x0a\x03\x0a\x01k", 9));
    assert_true(ends_alike(plain, redirect, "\0\0\0\0\0\0\0\17example.com/c.D", 23));
    udpa_resource_unref(plain);
    udpa_resource_unref(variant);
    udpa_resource_unref(redirect);
}

/* ---- changes ---- */

typedef struct mutation {
    const char *what;
    void (*change)(udpai_resource_parts *parts, udpai_resource_room *room);
    bool is_harmless; /* not signed */
} mutation;

static udpa_bytes *other_any; /* of the mutation under way */

static void
change_authority(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->authority = UDPAI_STR("other");
}

static void
change_name(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->name = UDPAI_STR("com.acme/y");
}

static void
change_version(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->version = UDPAI_STR("v2");
}

static void
change_value(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->any = other_any = udpai_any_make(UDPAI_STR(TEST_CDS), UDPAI_STR("paYload"));
    parts->type = NULL;
}

static void
change_type(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->any = other_any = udpai_any_make(UDPAI_STR(TEST_EDS), UDPAI_STR("payload"));
    parts->type = NULL;
}

static void
change_alias(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)parts;
    room->aliases[1] = UDPAI_STR("com.acme/c");
}

static void
drop_alias(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->n_aliases = 1;
}

static void
add_alias(udpai_resource_parts *parts, udpai_resource_room *room)
{
    room->aliases[parts->n_aliases++] = UDPAI_STR("com.acme/c");
}

static void
change_delivery(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->lazy = true;
}

static void
change_caching(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->do_not_cache = true;
}

static void
change_generation(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->generation++;
}

static void
change_not_before(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.not_before_us -= 1000000;
}

static void
change_not_after(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.not_after_us += 1000000;
}

static void
change_algorithm(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.algorithm = 3 - parts->signature.algorithm;
}

static void
use_unknown_algorithm(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.algorithm = 3;
}

static void
cut_signature(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.value.len--;
}

static void
strip_signature(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature = (udpai_signature){0};
}

static void
make_variant(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->constraints = UDPAI_STR("\x0a\x03"
                                   "\x0a\x01"
                                   "k");
}

static void
make_redirect(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->redirected_type = UDPAI_STR(TEST_EDS);
    parts->type = NULL;
}

static void
swap_aliases(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)parts;
    udpai_str first = room->aliases[0];
    room->aliases[0] = room->aliases[1];
    room->aliases[1] = first;
}

static void
add_hop(udpai_resource_parts *parts, udpai_resource_room *room)
{
    room->hops[parts->n_hops++] =
        (udpai_hop){.node_id = UDPAI_STR("n"), .authority = UDPAI_STR("m"), .time_us = 1};
    parts->hops = room->hops;
}

static void
give_ttl(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->ttl_ms = 1000;
}

static void
add_microseconds(udpai_resource_parts *parts, udpai_resource_room *room)
{
    (void)room;
    parts->signature.not_before_us += 999999;
}

static const mutation mutations[] = {
    {"authority", change_authority, false},
    {"name", change_name, false},
    {"version", change_version, false},
    {"value", change_value, false},
    {"type", change_type, false},
    {"an alias", change_alias, false},
    {"an alias less", drop_alias, false},
    {"an alias more", add_alias, false},
    {"delivery", change_delivery, false},
    {"do_not_cache", change_caching, false},
    {"generation", change_generation, false},
    {"not_before", change_not_before, false},
    {"not_after", change_not_after, false},
    {"algorithm", change_algorithm, false},
    {"an unknown algorithm", use_unknown_algorithm, false},
    {"a byte less", cut_signature, false},
    {"no signature", strip_signature, false},
    {"constraints", make_variant, false},
    {"redirected_type", make_redirect, false},
    {"the order of aliases", swap_aliases, true},
    {"a hop", add_hop, true},
    {"a ttl", give_ttl, true},
    {"parts of a second", add_microseconds, true},
};

static void
try_mutation(const mutation *how, const udpa_resource *good, const udpai_key *key)
{
    udpai_resource_room room;
    udpai_resource_parts parts = parts_of(good, &room);
    udpa_resource *changed = NULL;
    parts.aliases = room.aliases;
    how->change(&parts, &room);
    assert_ok(udpai_resource_make(&changed, &parts));
    udpa_err expected = how->is_harmless ? UDPA_OK : UDPA_ERR_DENIED;
    if (udpai_resource_verify(changed, key) != expected)
        fail_msg("another %s is %s", how->what, how->is_harmless ? "refused" : "taken");
    udpa_resource_unref(changed);
    other_any = udpa_bytes_unref(other_any);
}

static void
whatever_is_signed_cannot_be_changed(void **state)
{
    (void)state;
    for (udpai_key_algorithm algorithm = 1; algorithm <= 2; algorithm++) {
        test_key key = test_key_new(algorithm);
        udpa_resource *good = test_sign(whole(), &key, "k", FROM_S, UNTIL_S);
        assert_ok(udpai_resource_verify(good, key.public_key));
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(mutations); i++)
            try_mutation(&mutations[i], good, key.public_key);
        udpa_resource_unref(good);
        test_key_done(&key);
    }
}

static void
another_key_is_another_signature(void **state)
{
    (void)state;
    test_key ours = test_key_new(UDPAI_KEY_ED25519), other = test_key_new(UDPAI_KEY_ED25519);
    test_key other_kind = test_key_new(UDPAI_KEY_ECDSA_P256_SHA256);
    udpa_resource *good = test_sign(whole(), &ours, "k", FROM_S, UNTIL_S);
    assert_int_equal(udpai_resource_verify(good, other.public_key), UDPA_ERR_DENIED);
    assert_int_equal(udpai_resource_verify(good, other_kind.public_key), UDPA_ERR_DENIED);
    udpa_resource *bare = whole();
    assert_int_equal(udpai_resource_verify(bare, ours.public_key), UDPA_ERR_DENIED);
    udpa_resource_unref(bare);
    udpa_resource_unref(good);
    test_key_done(&ours);
    test_key_done(&other);
    test_key_done(&other_kind);
}

/* ---- what a signed resource is ---- */

static void
signing_changes_nothing_else(void **state)
{
    (void)state;
    test_key key = test_key_new(UDPAI_KEY_ED25519);
    udpa_resource *before = whole();
    udpa_resource *after = test_sign(udpa_resource_ref(before), &key, "k", FROM_S, UNTIL_S);
    const udpai_signature *signature = udpai_resource_signature(after);
    assert_true(udpai_resource_signs_same(before, after));
    assert_false(udpai_resource_same_signed(before, after));
    assert_true(udpai_resource_same_signed(after, after));
    assert_int_equal(signature->algorithm, UDPAI_KEY_ED25519);
    assert_true(udpai_str_eq(signature->key_id, UDPAI_STR("k")));
    assert_int_equal(signature->value.len, 64);
    assert_true(udpai_signature_not_before_s(signature) == FROM_S);
    assert_true(udpai_signature_not_after_s(signature) == UNTIL_S);
    udpa_resource *again = test_sign(udpa_resource_ref(after), &key, "k", FROM_S, UNTIL_S + 1);
    assert_ok(udpai_resource_verify(again, key.public_key));
    assert_false(udpai_resource_same_signed(after, again));
    udpa_resource_unref(before);
    udpa_resource_unref(after);
    udpa_resource_unref(again);
    test_key_done(&key);
}

static void
times_before_1970_are_whole_seconds_too(void **state)
{
    (void)state;
    const udpai_signature signature = {.not_before_us = -1, .not_after_us = -1000000};
    assert_true(udpai_signature_not_before_s(&signature) == -1);
    assert_true(udpai_signature_not_after_s(&signature) == -1);
}

static udpa_err
sign_and_verify(void *context)
{
    const test_key *key = context;
    udpa_resource *resource = whole(), *made = NULL;
    const udpai_signing signing = {key->private_key, UDPAI_STR("k"), FROM_S, UNTIL_S};
    udpa_err err = resource ? udpai_resource_sign(&made, resource, &signing) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_resource_verify(made, key->public_key);
    udpa_resource_unref(resource);
    udpa_resource_unref(made);
    return err;
}

static void
lack_of_memory_is_no_bad_signature(void **state)
{
    (void)state;
    test_key key = test_key_new(UDPAI_KEY_ED25519);
    oom_torture(sign_and_verify, &key);
    test_key_done(&key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_design),
        cmocka_unit_test(a_removal_has_bytes_of_its_own),
        cmocka_unit_test(variants_and_redirects_sign_what_makes_them_so),
        cmocka_unit_test(whatever_is_signed_cannot_be_changed),
        cmocka_unit_test(another_key_is_another_signature),
        cmocka_unit_test(signing_changes_nothing_else),
        cmocka_unit_test(times_before_1970_are_whole_seconds_too),
        cmocka_unit_test(lack_of_memory_is_no_bad_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
