/* SPDX-License-Identifier: Apache-2.0 */
/* What a node signs: what it takes in first of an authority whose key it has, again before that
 * ends, and with another key when it has another one. */
#include "tests/unit/federation/signatures_bed.h"

#include <stdio.h>

static void
a_publisher_is_signed_for(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    assert_string_equal(fed_publish_at(bed->fed, session, "CDS", "x=1"), "");
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_ok(udpai_resource_verify(held, bed->ours.public_key));
    assert_true(has_key(held, "o1"));
    assert_true(udpai_signature_not_before_s(udpai_resource_signature(held)) == NOW_S - 300);
    assert_true(udpai_signature_not_after_s(udpai_resource_signature(held)) == NOW_S + 10 * HOUR_S);
    uint64_t other =
        fed_arrive(bed->fed, &(fed_peer){.id = "bob", .name = "bob", .is_plain = true});
    assert_says(fed_publish_at(bed->fed, other, "CDS", "y=1"), "is not signed");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 1);
}

/* Nothing is kept of the signature, and none is counted. */
static void
what_is_tried_is_not_counted(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    uint64_t other =
        fed_arrive(bed->fed, &(fed_peer){.id = "bob", .name = "bob", .is_plain = true});
    assert_string_equal(fed_publish_at(bed->fed, session, "CDS", "x=1"), "");
    assert_string_equal(fed_try_at(bed->fed, session, "CDS", "x=2 y=1 -x"),
                        "changes, adds, removes");
    assert_says(fed_try_at(bed->fed, other, "CDS", "y=1"), "is not signed");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 1);
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 0);
    assert_says(fed_publish_at(bed->fed, other, "CDS", "y=1"), "is not signed");
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 1);
}

/* So is its removal, which others take from nobody without. */
static void
a_removal_is_signed(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    assert_string_equal(fed_publish_at(bed->fed, session, "CDS", "x=1"), "");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *held = udpa_resource_ref(effective(bed, "com.acme/x"));
    assert_string_equal(fed_publish_at(bed->fed, session, "CDS", "-x"), "");
    assert_value(bed->fed, "CDS", "x", "");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 2);
    assert_true(udpai_store_removal_generation(udpai_node_store(bed->fed->node), held) >
                udpa_resource_generation(held));
}

static void
what_is_published_again_keeps_its_signature(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1");
    udpa_resource *first = udpa_resource_ref(effective(bed, "com.acme/x"));
    fed_advance(bed->fed, 1000);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1");
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_true(udpai_resource_same_signed(first, held));
    assert_true(udpai_resource_same_origin_info(first, held)); /* nobody is told anything */
    (void)fed_publish_at(bed->fed, session, "CDS", "~x=1");
    assert_true(udpai_resource_same_signed(first, effective(bed, "com.acme/x")));
    (void)fed_publish_at(bed->fed, session, "CDS", "x=2");
    held = effective(bed, "com.acme/x");
    assert_ok(udpai_resource_verify(held, bed->ours.public_key));
    assert_true(udpa_resource_generation(held) > udpa_resource_generation(first));
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 2);
    udpa_resource_unref(first);
}

/* Payload and version are the same, and yet it says something else. */
static void
other_aliases_are_signed_anew(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    for (int i = 0; i < 2; i++) {
        udpa_resource *resource =
            RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                     .aliases = {i ? "com.acme/b" : "com.acme/a"});
        assert_string_equal(fed_put(bed->fed, session, resource, false), "");
        assert_ok(udpai_resource_verify(effective(bed, "com.acme/x"), bed->ours.public_key));
    }
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 2);
}

/* Around half of its time, and never later than it ends. */
static void
it_is_signed_again_in_time(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1 y=1 z=1");
    uint64_t generation = udpa_resource_generation(effective(bed, "com.acme/x"));
    fed_advance(bed->fed, 3 * HOUR_MS);
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 3);
    fed_advance(bed->fed, 4 * HOUR_MS);
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 6);
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_true(udpa_resource_generation(held) > generation);
    assert_ok(udpai_resource_verify(held, bed->ours.public_key));
    for (int i = 0; i < 40; i++) { /* it never lapses */
        fed_advance(bed->fed, HOUR_MS);
        held = effective(bed, "com.acme/y");
        assert_non_null(held);
        assert_true(udpai_signature_not_after_s(udpai_resource_signature(held)) >
                    bed->fed->wall_us / 1000000 + (int64_t)bed->fed->wheel.now_ms / 1000);
    }
}

static void
set_files(sig_bed *bed, udpa_resource *resource, udpa_err expected, const char *words)
{
    udpa_error *error = NULL;
    const udpai_directory directory = {
        .root = UDPAI_STR("/etc/x"), .resources = &resource, .n_resources = resource != NULL};
    assert_int_equal(udpai_node_set_files(bed->fed->node, &directory, &error), expected);
    assert_says(error ? udpa_error_message(error) : "", words);
    udpa_error_unref(error);
    udpa_resource_unref(resource);
    udpai_node_flush(bed->fed->node);
}

static void
files_are_signed_for_too(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "files");
    start(bed);
    for (int i = 0; i < 2; i++) { /* read again, it has not changed */
        set_files(bed, RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1"), UDPA_OK, "");
        assert_ok(udpai_resource_verify(effective(bed, "com.acme/x"), bed->ours.public_key));
        assert_int_equal(udpai_node_n_signed(bed->fed->node), 1);
    }
    set_files(bed, RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .authority = "bank"),
              UDPA_ERR_DENIED, "is not signed");
    assert_value(bed->fed, "CDS", "x", "");
}

/* By somebody whose key is kept off the network. */
static void
files_may_bring_their_signature(void **state)
{
    sig_bed *bed = *state;
    start(bed);
    udpa_resource *bare = RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1",
                                   .authority = "acme", .generation = 77);
    udpa_resource *sent = test_sign(bare, &bed->acme, "k1", NOW_S, NOW_S + HOUR_S);
    set_files(bed, udpa_resource_ref(sent), UDPA_OK, "");
    assert_true(udpai_resource_same_signed(sent, effective(bed, "com.acme/x")));
    udpa_resource *again =
        test_sign(udpa_resource_ref(sent), &bed->acme, "k1", NOW_S + 1, NOW_S + HOUR_S);
    set_files(bed, udpa_resource_ref(again), UDPA_OK, "");
    assert_true(udpai_resource_same_signed(again, effective(bed, "com.acme/x")));
    udpa_resource_unref(sent);
    udpa_resource_unref(again);
}

/* What somebody else has signed is not ours to prolong. */
static void
others_signatures_are_left_alone(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "acme");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    udpa_resource *bare = RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1",
                                   .authority = "acme", .generation = 77);
    /* made in this very second, as ours would be */
    udpa_resource *sent = test_sign(bare, &bed->acme, "k1", NOW_S - 300, NOW_S + HOUR_S);
    assert_string_equal(fed_put(bed->fed, session, udpa_resource_ref(sent), false), "");
    assert_true(udpai_resource_same_signed(sent, effective(bed, "com.acme/x")));
    bed->keys.skew_s++;
    use_keys(bed);
    assert_true(udpai_resource_same_signed(sent, effective(bed, "com.acme/x")));
    fed_advance(bed->fed, 2 * HOUR_MS);
    assert_value(bed->fed, "CDS", "x", "");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 0);
    udpa_resource_unref(sent);
}

/* A source that has lost the signature on the way, or never had it, gets none from us. */
static void
nothing_is_signed_for_a_node(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "acme");
    bed->keys.n_required = 0;
    start(bed);
    udpa_resource *bare = RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1",
                                   .authority = "acme", .generation = 7);
    assert_string_equal(put(bed, 'a', bare), "");
    assert_null(udpai_resource_signature(effective(bed, "com.acme/x")));
    assert_string_equal(put(bed, 'b', plain("2", 9)), "");
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 0);
}

/* What the configuration gives a server of xDS to say is taken from nobody, like a file. */
static void
an_xds_server_is_signed_for(void **state)
{
    sig_bed *bed = *state;
    bed->fed->sources[1].kind = UDPAI_SOURCE_XDS;
    sign_for(bed, "acme");
    use_keys(bed);
    fed_type(bed->fed, "CDS");
    FED_PROVIDER(bed->fed, {'b', "", UDPAI_CONTINUE, false});
    fed_start(bed->fed);
    fed_connect_as(bed->fed, 'b', &(fed_peer){.is_xds = true});
    fed_speak(bed->fed, 'b');
    udpa_resource *bare =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .authority = "acme");
    assert_string_equal(put(bed, 'b', bare), "");
    assert_true(has_key(effective(bed, "com.acme/x"), "o1"));
    fed_advance(bed->fed, 7 * HOUR_MS);
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 2);
}

static void
a_new_key_signs_everything_at_once(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1 y=2");
    uint64_t generation = udpa_resource_generation(effective(bed, "com.acme/x"));
    bed->signing[0] = named_key("alice", "o2", bed->ours_next.private_key);
    use_keys(bed); /* which does not trust the old one any more */
    assert_value(bed->fed, "CDS", "x", "1");
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_true(has_key(held, "o2") && has_key(effective(bed, "com.acme/y"), "o2"));
    assert_ok(udpai_resource_verify(held, bed->ours_next.public_key));
    assert_true(udpa_resource_generation(held) > generation);
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 0);
}

/* In slices, but soon. */
static void
many_are_signed_without_a_long_wait(void **state)
{
    sig_bed *bed = *state;
    char words[64];
    bed->keys.n_required = 0;
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    for (int i = 0; i < 1200; i++) {
        snprintf(words, sizeof(words), "n%d=1", i);
        (void)fed_publish_at(bed->fed, session, "CDS", words);
    }
    sign_for(bed, "alice");
    use_keys(bed);
    uint64_t n = udpai_node_n_signed(bed->fed->node);
    assert_true(n > 100 && n < 1200);
    fed_advance(bed->fed, 1000);
    assert_int_equal(udpai_node_n_signed(bed->fed->node), 1200);
    assert_int_equal(udpai_node_n_bad_signatures(bed->fed->node), 0);
}

static void
without_a_key_what_was_signed_is_signed_no_more(void **state)
{
    sig_bed *bed = *state;
    bed->keys.n_required = 0;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1");
    bed->keys.n_signing = 0;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "1");
    assert_null(udpai_resource_signature(effective(bed, "com.acme/x")));
    bed->keys.n_required = 1;
    use_keys(bed);
    assert_value(bed->fed, "CDS", "x", "");
}

static void
our_own_are_known_after_a_restart(void **state)
{
    sig_bed *bed = *state;
    sign_for(bed, "alice");
    start(bed);
    uint64_t session = fed_arrive(bed->fed, &alice);
    (void)fed_publish_at(bed->fed, session, "CDS", "x=1");
    udpa_resource *before = udpa_resource_ref(effective(bed, "com.acme/x"));
    fed_restart(bed->fed);
    assert_true(udpai_resource_same_signed(before, effective(bed, "com.acme/x")));
    fed_advance(bed->fed, 7 * HOUR_MS);
    udpa_resource *held = effective(bed, "com.acme/x");
    assert_ok(udpai_resource_verify(held, bed->ours.public_key));
    assert_false(udpai_resource_same_signed(before, held));
    udpa_resource_unref(before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        sig_test(a_publisher_is_signed_for),
        sig_test(what_is_tried_is_not_counted),
        sig_test(a_removal_is_signed),
        sig_test(what_is_published_again_keeps_its_signature),
        sig_test(other_aliases_are_signed_anew),
        sig_test(it_is_signed_again_in_time),
        sig_test(files_are_signed_for_too),
        sig_test(files_may_bring_their_signature),
        sig_test(others_signatures_are_left_alone),
        sig_test(nothing_is_signed_for_a_node),
        sig_test(an_xds_server_is_signed_for),
        sig_test(a_new_key_signs_everything_at_once),
        sig_test(many_are_signed_without_a_long_wait),
        sig_test(without_a_key_what_was_signed_is_signed_no_more),
        sig_test(our_own_are_known_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
