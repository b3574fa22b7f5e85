/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures at a node: what it takes in, what it signs, and what becomes of both as time passes
 * and keys change. */
#include "model/removal.h"
#include "tests/unit/federation/signatures_bed.h"

#include <stdio.h>

/* ---- what is taken in ---- */

static void
what_must_be_signed_is_taken_from_nobody_without(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_says(put(bed, 'a', plain("1", 1)), "is not signed");
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    assert_value(bed->fed, "CDS", "x", "1");
    uint64_t session = fed_arrive(bed->fed, &relay);
    assert_says(fed_put(bed->fed, session, plain("2", 2), false), "is not signed");
    assert_string_equal(fed_put(bed->fed, session, good(bed, "2", 2), false), "");
    assert_value(bed->fed, "CDS", "x", "2");
    assert_string_equal(fed_publish(bed->fed, 'a', "CDS", "org.other/y=1"), "");
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 2);
}

/* What goes on from here is what the authority has signed. */
static void
it_is_forwarded_as_it_came(void **state)
{
    sig_bed *bed = *state;
    udpai_resource_room room;
    start(bed);
    udpa_resource *sent = good(bed, "1", 4711);
    assert_string_equal(put(bed, 'a', udpa_resource_ref(sent)), "");
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_true(udpai_resource_same_signed(sent, held));
    assert_int_equal(udpa_resource_generation(held), 4711);
    assert_ok(udpai_resource_verify(held, bed->acme.public_key));
    udpai_resource_parts parts = udpai_resource_parts_of(held, &room);
    assert_int_equal(parts.n_hops, 2); /* which is all that was added */
    udpa_resource_unref(sent);
}

static void
a_refusal_takes_away_what_was_before(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    assert_says(put(bed, 'a', plain("2", 2)), "is not signed");
    assert_value(bed->fed, "CDS", "x", "");
}

/* ---- removals ---- */

static const char *
remove_x(sig_bed *bed, char source, uint64_t generation, const test_key *key)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *was = plain("1", 1), *with_signature = NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = udpai_removal_of(was, generation);
    const udpai_signing signing = {
        .key = key ? key->private_key : NULL,
        .key_id = UDPAI_STR("k1"),
        .not_before_s = NOW_S,
        .not_after_s = NOW_S + HOUR_S,
    };
    if (key)
        assert_ok(udpai_removal_sign(&with_signature, bare, &signing));
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_CDS)));
    assert_ok(udpai_publication_remove_stated(publication, UDPAI_STR("com.acme/x"),
                                              key ? with_signature : bare));
    return fed_judge(bed->fed, SOURCE(bed, source), publication);
}

/* Without a good one it speaks for its hop alone, as whoever withholds something may. */
static void
a_removal_must_be_signed_as_what_it_ends(void **state)
{
    sig_bed *bed = *state;
    const test_key *wrong[] = {NULL, &bed->ours};
    start(bed);
    assert_string_equal(put(bed, 'b', good(bed, "1", 1)), "");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
        (void)remove_x(bed, 'a', 2, wrong[i]);
        assert_value(bed->fed, "CDS", "x", "1");
    }
    (void)remove_x(bed, 'a', 3, &bed->acme);
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'b', good(bed, "1", 1)), "");
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'b', good(bed, "4", 4)), "");
    assert_value(bed->fed, "CDS", "x", "4");
}

typedef void (*alter_fn)(udpai_resource_parts *parts);

static void
alter_name(udpai_resource_parts *parts)
{
    parts->name = UDPAI_STR("com.acme/y");
    parts->n_aliases = 0;
}

static void
alter_generation(udpai_resource_parts *parts)
{
    parts->generation++;
}

static void
alter_authority(udpai_resource_parts *parts)
{
    parts->authority = UDPAI_STR("relay");
}

static void
alter_key_id(udpai_resource_parts *parts)
{
    parts->signature.key_id = UDPAI_STR("k9");
}

static void
alter_end(udpai_resource_parts *parts)
{
    parts->signature.not_after_us += (int64_t)HOUR_S * 1000000;
}

static void
drop_aliases(udpai_resource_parts *parts)
{
    parts->n_aliases = 0;
}

static void
drop_generation(udpai_resource_parts *parts)
{
    parts->generation = 0;
}

static void
a_relay_alters_nothing(void **state)
{
    sig_bed *bed = *state;

    static const struct {
        alter_fn alter;
        const char *words;
    } all[] = {
        {alter_name, "'com.acme/y' of type envoy.config.cluster.v3.Cluster does not bear"},
        {alter_generation, "does not bear the signature of authority 'acme'"},
        {alter_authority, "no key of its authority 'relay' is trusted here"},
        {alter_key_id, "with key 'k9'"},
        {alter_end, "does not bear"},
        {drop_aliases, "does not bear"},
        {drop_generation, "is signed, and has no generation"},
    };

    start(bed);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        udpai_resource_room room;
        udpa_resource *sent = good(bed, "1", 5), *altered = NULL;
        udpai_resource_parts parts = udpai_resource_parts_of(sent, &room);
        parts.aliases = room.aliases;
        all[i].alter(&parts);
        assert_ok(udpai_resource_make(&altered, &parts));
        assert_says(put(bed, 'a', altered), all[i].words);
        assert_null(effective(bed, "com.acme/x"));
        assert_null(effective(bed, "com.acme/y"));
        udpa_resource_unref(sent);
    }
}

/* ---- replay ---- */

static void
an_older_one_is_ignored(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "new", 9)), "");
    assert_string_equal(put(bed, 'a', good(bed, "old", 8)), "");
    assert_value(bed->fed, "CDS", "x", "new");
    assert_string_equal(put(bed, 'b', good(bed, "old", 8)), ""); /* another way */
    assert_value(bed->fed, "CDS", "x", "new");
}

/* A publisher is told so, be it newer by itself, another's, or gone. */
static void
a_publisher_is_told_that_its_state_is_older(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    uint64_t one = fed_arrive(bed->fed, &relay), other = fed_arrive(bed->fed, &relay);
    assert_string_equal(fed_put(bed->fed, one, good(bed, "new", 9), false), "");
    assert_says(fed_put(bed->fed, one, good(bed, "old", 8), false),
                "generation 8 of authority 'acme' is older than what is known here");
    assert_string_equal(fed_put(bed->fed, one, good(bed, "new", 9), false), "");
    assert_value(bed->fed, "CDS", "x", "new");
    assert_string_equal(put(bed, 'a', good(bed, "newer", 10)), "");
    assert_says(fed_put(bed->fed, other, good(bed, "new", 9), false), "is older");
    assert_value(bed->fed, "CDS", "x", "newer");
    (void)fed_publish_at(bed->fed, other, "CDS", "-x");
    (void)fed_publish(bed->fed, 'a', "CDS", "-x");
    assert_says(fed_put(bed->fed, other, good(bed, "new", 9), false), "is older");
    assert_value(bed->fed, "CDS", "x", "");
}

/* As long as its signature lasts, though other memories last ten minutes. */
static void
an_older_one_is_ignored_after_a_removal_too(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "new", 9)), "");
    (void)fed_publish(bed->fed, 'a', "CDS", "-x");
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'a', good(bed, "old", 8)), "");
    assert_string_equal(put(bed, 'b', good(bed, "old", 8)), "");
    assert_value(bed->fed, "CDS", "x", "");
    fed_advance(bed->fed, HOUR_MS);
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'a', good(bed, "new", 9)), "");
    assert_value(bed->fed, "CDS", "x", "new");
    fed_advance(bed->fed, HOUR_MS);
    assert_value(bed->fed, "CDS", "x", "");
}

/* Whoever fills the memory with what needs no signature does not push it out. */
static void
others_do_not_push_the_memory_out(void **state)
{
    sig_bed *bed = *state;
    bed->fed->config.store.remember_max = 3;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "new", 9)), "");
    (void)fed_publish(bed->fed, 'a', "CDS", "-x");
    for (int i = 0; i < 10; i++) {
        char words[64];
        snprintf(words, sizeof(words), "org.other/n%d=1", i);
        (void)fed_publish(bed->fed, 'b', "CDS", words);
        snprintf(words, sizeof(words), "-org.other/n%d", i);
        (void)fed_publish(bed->fed, 'b', "CDS", words);
    }
    assert_string_equal(put(bed, 'a', good(bed, "old", 8)), "");
    assert_value(bed->fed, "CDS", "x", "");
}

/* ---- refreshes ---- */

static const char *
refresh(sig_bed *bed, char source, udpa_resource *news)
{
    udpai_resource_room room;
    udpa_resource *bare = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *nothing = NULL;
    assert_ok(udpa_bytes_new(&nothing, NULL, 0));
    udpai_resource_parts parts = udpai_resource_parts_of(news, &room);
    parts.any = nothing;
    parts.type = NULL;
    parts.n_aliases = 0;
    assert_ok(udpai_resource_make(&bare, &parts));
    udpa_resource_unref(news);
    return fed_put(bed->fed, SOURCE(bed, source), bare, true);
}

static void
a_refresh_brings_a_new_signature(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    fed_advance(bed->fed, HOUR_MS / 2);
    assert_string_equal(
        refresh(bed, 'a',
                test_sign(plain("1", 2), &bed->acme, "k1", NOW_S + HOUR_S / 2, NOW_S + 2 * HOUR_S)),
        "");
    fed_advance(bed->fed, HOUR_MS);
    assert_value(bed->fed, "CDS", "x", "1");
    assert_int_equal(udpa_resource_generation(effective(bed, "com.acme/x")), 2);
}

static void
a_refresh_is_judged_as_well(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    assert_says(refresh(bed, 'a', signed_with(&bed->next, "k1", "1", 2)), "ECDSA P-256");
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    assert_says(refresh(bed, 'a', plain("1", 2)), "is not signed"); /* stripped on the way */
    assert_value(bed->fed, "CDS", "x", "");
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    assert_string_equal(refresh(bed, 'a', good(bed, "1", 1)), ""); /* nothing new */
    assert_value(bed->fed, "CDS", "x", "1");
}

/* ---- time ---- */

static void
what_is_held_ends_with_its_signature(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    fed_advance(bed->fed, HOUR_MS + 60000);
    assert_value(bed->fed, "CDS", "x", "1"); /* clocks differ */
    fed_advance(bed->fed, 2000);
    assert_value(bed->fed, "CDS", "x", "");
    assert_says(put(bed, 'a', good(bed, "1", 1)), "its signature was valid until");
}

static void
a_signature_may_begin_later(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    udpa_resource *later = test_sign(plain("1", 1), &bed->acme, "k1", NOW_S + 300, NOW_S + HOUR_S);
    assert_says(put(bed, 'a', udpa_resource_ref(later)), "its signature is valid only from");
    fed_advance(bed->fed, 300000);
    assert_string_equal(put(bed, 'a', later), "");
}

/* The wall clock may be set while nobody looks. */
static void
a_clock_that_jumps_is_noticed(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    fed_advance(bed->fed, 1000);
    bed->fed->wall_us += (int64_t)2 * HOUR_S * 1000000;
    fed_advance(bed->fed, 61000);
    assert_value(bed->fed, "CDS", "x", "");
}

/* ---- keys come and go ---- */

static void
keys_overlap_without_a_gap(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    bed->trusted[1] = named_key("acme", "k2", bed->next.public_key);
    bed->keys.n_trusted = 2;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "1");
    assert_string_equal(refresh(bed, 'a', signed_with(&bed->next, "k2", "1", 2)), "");
    bed->trusted[0] = bed->trusted[1];
    bed->keys.n_trusted = 1;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "1");
    assert_says(put(bed, 'a', good(bed, "1", 3)), "with key 'k1'");
}

static void
what_a_removed_key_has_signed_goes(void **state)
{
    sig_bed *bed = *state;
    bed->trusted[1] = named_key("acme", "k2", bed->next.public_key);
    bed->keys.n_trusted = 2;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    udpa_resource *other =
        test_sign(RESOURCE("com.acme/y", .type = TEST_CDS, .value = "2", .authority = "acme",
                           .generation = 1, .hops = {{"signer", "acme"}}),
                  &bed->next, "k2", NOW_S, NOW_S + HOUR_S);
    assert_string_equal(put(bed, 'a', other), "");
    bed->trusted[0] = bed->trusted[1];
    bed->keys.n_trusted = 1;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "");
    assert_value(bed->fed, "CDS", "y", "2");
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 1);
}

/* The same name for another key is another key. */
static void
an_exchanged_key_is_noticed(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    bed->trusted[0].key = bed->ours.public_key;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "");
    assert_orders(bed->fed, "");
    bed->trusted[0].key = bed->acme.public_key;
    use_keys(bed); /* what went for the key may come back with it */
    assert_orders(bed->fed, "hangup a");
    use_keys(bed);
    assert_orders(bed->fed, "");
}

static void
a_requirement_that_is_added_takes_away(void **state)
{
    sig_bed *bed = *state;
    bed->keys.n_required = 0;
    start(bed);
    assert_string_equal(put(bed, 'a', plain("1", 1)), "");
    assert_value(bed->fed, "CDS", "x", "1");
    bed->keys.n_required = 1;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "");
}

/* Nothing would bring it on the same stream. */
static void
what_was_refused_is_asked_for_with_new_keys(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_says(put(bed, 'a', signed_with(&bed->next, "k2", "1", 1)), "with key 'k2'");
    assert_orders(bed->fed, "");
    bed->trusted[1] = named_key("acme", "k2", bed->next.public_key);
    bed->keys.n_trusted = 2;
    use_keys(bed);
    assert_orders(bed->fed, "hangup a");
    fed_close(bed->fed, 'a');
    assert_orders(bed->fed, "dial a"); /* at once: it has not failed */
}

/* Of what such a server has, rules reject nothing, and so let nothing in. */
static void
an_xds_server_is_asked_again_with_new_keys_only(void **state)
{
    sig_bed *bed = *state;
    bed->fed->sources[1].kind = UDPAI_SOURCE_XDS;
    start(bed);
    assert_says(put(bed, 'b', plain("1", 1)), "is not signed");
    fed_rule(bed->fed, NULL);
    assert_orders(bed->fed, "");
    bed->keys.n_required = 0;
    use_keys(bed);
    assert_orders(bed->fed, "hangup b");
}

/* ---- restarts ---- */

static void
what_was_kept_is_judged_at_the_start(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    assert_string_equal(put(bed, 'a', good(bed, "1", 1)), "");
    (void)fed_publish(bed->fed, 'a', "CDS", "!");
    fed_restart(bed->fed);
    assert_value(bed->fed, "CDS", "x", "1");
    bed->trusted[0].key = bed->ours.public_key;
    udpai_keyring_unref(bed->fed->config.keyring);
    assert_ok(udpai_keyring_new(&bed->fed->config.keyring, &bed->keys));
    fed_restart(bed->fed);
    assert_value(bed->fed, "CDS", "x", "");
}

/* A few at a time, so that a node with many is there soon. */
static void
many_are_judged_without_a_long_wait(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    for (int i = 0; i < 1200; i++) {
        char name[64];
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        udpa_resource *bare = RESOURCE(name, .type = TEST_CDS, .value = "1", .authority = "acme",
                                       .generation = 1, .hops = {{"signer", "acme"}});
        assert_string_equal(put(bed, 'a', test_sign(bare, &bed->acme, "k1", NOW_S, NOW_S + HOUR_S)),
                            "");
    }
    bed->trusted[0].key = bed->ours.public_key; /* under the same name */
    use_keys(bed);
    uint64_t n = udpai_node_n_bad_signatures(bed->fed->node);
    assert_true(n > 100 && n < 1200);
    bed->trusted[0].key = bed->acme.public_key; /* and back, in the midst of it */
    use_keys(bed);
    fed_advance(bed->fed, 1000);
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), n);
    bed->trusted[0].key = bed->ours.public_key;
    use_keys(bed);
    bed->keys.skew_s++; /* which changes nothing of that */
    use_keys(bed);
    fed_advance(bed->fed, 1000);
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 1200);
    for (int i = 0; i < 1200; i += 100) {
        char name[64];
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        assert_null(effective(bed, name));
    }
}

/* ---- the rest ---- */

static void
what_the_node_says_of_itself_needs_none(void **state)
{
    sig_bed *bed = *state;
    bed->required.n_prefixes = 0;
    sign_for(bed, "files");
    start(bed);
    udpa_resource *status = RESOURCE("udpa.node/node", .type = TEST_TYPE, .value = "1");
    assert_ok(udpai_node_set_own(bed->fed->node, UDPAI_STR(TEST_TYPE), &status, 1));
    use_keys(bed);
    assert_string_equal(fed_value(bed->fed, TEST_TYPE, "udpa.node/node"), "1");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 0);
    udpa_resource_unref(status);
}

/* Without memory something may be refused, but nothing bad gets in, and later all is well. */
static void
lack_of_memory_lets_nothing_in(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    for (long n = 0; n < 60; n++) {
        fed_short(bed->fed, n, false);
        (void)put(bed, 'a', plain("1", (uint64_t)n + 1));
        assert_null(effective(bed, "com.acme/x"));
        fed_close(bed->fed, 'a');
        fed_advance(bed->fed, 16000);
        fed_connect(bed->fed, 'a');
    }
    assert_string_equal(put(bed, 'a', good(bed, "1", FROM_US)), "");
    udpai_keyring *other = NULL;
    bed->keys.skew_s++;
    assert_ok(udpai_keyring_new(&other, &bed->keys));
    for (long n = 0; n < 30; n++) {
        udpai_alloc_fail_after(n);
        udpai_node_set_keyring(bed->fed->node, n % 2 ? bed->fed->config.keyring : other);
        udpai_alloc_fail_after(-1);
        fed_advance(bed->fed, 100);
        assert_value(bed->fed, "CDS", "x", "1");
    }
    udpai_keyring_unref(other);
    bed->trusted[0].key = bed->ours.public_key;
    assert_ok(udpai_keyring_new(&other, &bed->keys));
    udpai_alloc_fail_after(0);
    udpai_node_set_keyring(bed->fed->node, other);
    udpai_alloc_fail_after(-1);
    fed_advance(bed->fed, 100);
    assert_null(effective(bed, "com.acme/x"));
    udpai_keyring_unref(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        sig_test(what_must_be_signed_is_taken_from_nobody_without),
        sig_test(it_is_forwarded_as_it_came),
        sig_test(a_refusal_takes_away_what_was_before),
        sig_test(a_removal_must_be_signed_as_what_it_ends),
        sig_test(a_relay_alters_nothing),
        sig_test(an_older_one_is_ignored),
        sig_test(a_publisher_is_told_that_its_state_is_older),
        sig_test(an_older_one_is_ignored_after_a_removal_too),
        sig_test(others_do_not_push_the_memory_out),
        sig_test(a_refresh_brings_a_new_signature),
        sig_test(a_refresh_is_judged_as_well),
        sig_test(what_is_held_ends_with_its_signature),
        sig_test(a_signature_may_begin_later),
        sig_test(a_clock_that_jumps_is_noticed),
        sig_test(keys_overlap_without_a_gap),
        sig_test(what_a_removed_key_has_signed_goes),
        sig_test(an_exchanged_key_is_noticed),
        sig_test(a_requirement_that_is_added_takes_away),
        sig_test(what_was_refused_is_asked_for_with_new_keys),
        sig_test(an_xds_server_is_asked_again_with_new_keys_only),
        sig_test(what_was_kept_is_judged_at_the_start),
        sig_test(many_are_judged_without_a_long_wait),
        sig_test(what_the_node_says_of_itself_needs_none),
        sig_test(lack_of_memory_lets_nothing_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
