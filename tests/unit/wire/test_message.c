/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of message, from bytes to values. Resources are in test_resource_decode.c. */
#include "wire/message.h"

#include "base/proto.h"

#include "wire_test.h"

static udpai_decoder decoder;

static int
begin(void **state)
{
    (void)state;
    udpai_decoder_init(&decoder);
    return 0;
}

static int
end(void **state)
{
    udpai_decoder_done(&decoder);
    return free_wire(state);
}

static udpai_message
decode_good(udpai_str bytes)
{
    udpai_message message;
    assert_int_equal(decode(&decoder, bytes, true, &message), UDPA_OK);
    return message;
}

/* ---- kinds ---- */

static void
subscribe_has_all_its_fields(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_SUBSCRIBE, W_TEXT(1, "t/T"), W_TEXT(2, "com.acme/a"), W_TEXT(2, ""),
                  W_TEXT(4, "com.acme"), W_MESSAGE(3, W_TEXT(1, "n"), W_TEXT(2, "v")),
                  W_MESSAGE(5, W_TEXT(1, "d"), W_FIXED64(2, 0x1122334455667788)),
                  W_MESSAGE(6, W_TEXT(1, "w"), W_FIXED64(2, 7)), W_MESSAGE(3, W_TEXT(1, "only"))));
    assert_int_equal(message.kind, UDPAI_MESSAGE_SUBSCRIBE);
    const udpai_subscription_message *subscription = &message.subscription;
    assert_str(subscription->type_url, "t/T");
    assert_str(subscription->name_space, "com.acme");
    assert_int_equal(subscription->n_names, 2);
    assert_str(subscription->names[0], "com.acme/a");
    assert_str(subscription->names[1], "");
    assert_int_equal(subscription->n_versions, 2);
    assert_str(subscription->versions[0].name, "n");
    assert_str(subscription->versions[0].version, "v");
    assert_str(subscription->versions[1].version, "");
    assert_int_equal(subscription->n_digests, 1);
    assert_str(subscription->digests[0].name, "d");
    assert_int_equal(subscription->digests[0].digest, 0x1122334455667788);
    assert_int_equal(subscription->n_paths, 1);
    assert_str(subscription->paths[0].name, "w");
    assert_int_equal(subscription->paths[0].digest, 7);
    udpai_message_done(&message);
}

static void
empty_subscribe_is_one(void **state)
{
    (void)state;
    udpai_message message = decode_good(W_EMPTY(M_SUBSCRIBE));
    assert_int_equal(message.kind, UDPAI_MESSAGE_SUBSCRIBE);
    assert_int_equal(message.subscription.n_names, 0);
    assert_int_equal(message.subscription.type_url.len, 0);
    udpai_message_done(&message);
}

static void
unsubscribe_has_all_its_fields(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_UNSUBSCRIBE, W_TEXT(1, "t/T"), W_TEXT(2, "a/b"), W_TEXT(3, "com.acme")));
    assert_int_equal(message.kind, UDPAI_MESSAGE_UNSUBSCRIBE);
    assert_str(message.subscription.type_url, "t/T");
    assert_str(message.subscription.name_space, "com.acme");
    assert_int_equal(message.subscription.n_names, 1);
    assert_str(message.subscription.names[0], "a/b");
    udpai_message_done(&message);
}

static void
receipt_has_all_its_fields(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_RECEIPT, W_TEXT(1, "000000000001"), W_EMPTY(2),
                  W_MESSAGE(2, W_VARINT(1, 7), W_TEXT(2, "no"), W_MESSAGE(3, W_TEXT(1, "t/D")))));
    assert_int_equal(message.kind, UDPAI_MESSAGE_RECEIPT);
    assert_str(message.receipt.nonce, "000000000001");
    assert_int_equal(message.receipt.n_statuses, 2);
    assert_int_equal(message.receipt.statuses[0].code, 0);
    assert_int_equal(message.receipt.statuses[1].code, 7);
    assert_str(message.receipt.statuses[1].text, "no");
    assert_int_equal(message.receipt.n_effects, 0);
    udpai_message_done(&message);
}

/* What a newer peer would do is at least a change. */
static void
receipt_of_a_trial_has_effects(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_RECEIPT, W_EMPTY(3), W_MESSAGE(3, W_VARINT(1, 3), W_TEXT(2, "bank")),
                  W_MESSAGE(3, W_VARINT(1, 99)), W_MESSAGE(3, W_VARINT(1, 0xffffffff))));
    assert_int_equal(message.receipt.n_effects, 4);
    assert_int_equal(message.receipt.effects[0].kind, UDPAI_EFFECT_NOTHING);
    assert_int_equal(message.receipt.effects[1].kind, UDPAI_EFFECT_REMOVES);
    assert_str(message.receipt.effects[1].effective, "bank");
    assert_int_equal(message.receipt.effects[2].kind, UDPAI_EFFECT_CHANGES);
    assert_int_equal(message.receipt.effects[3].kind, UDPAI_EFFECT_CHANGES);
    udpai_message_done(&message);
}

static void
subscription_error_has_all_its_fields(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_SUBSCRIPTION_ERROR, W_TEXT(1, "t/T"), W_TEXT(2, "com.acme"), W_TEXT(3, "a/b"),
                  W_TEXT(3, "a/c"), W_MESSAGE(4, W_VARINT(1, 3), W_TEXT(2, "why"))));
    assert_int_equal(message.kind, UDPAI_MESSAGE_SUBSCRIPTION_ERROR);
    assert_str(message.subscription.type_url, "t/T");
    assert_str(message.subscription.name_space, "com.acme");
    assert_int_equal(message.subscription.n_names, 2);
    assert_str(message.subscription.names[1], "a/c");
    assert_int_equal(message.subscription.status_code, 3);
    assert_str(message.subscription.status_text, "why");
    udpai_message_done(&message);
    message = decode_good(W_EMPTY(M_SUBSCRIPTION_ERROR));
    assert_int_equal(message.subscription.status_code, 0);
    udpai_message_done(&message);
}

static void
delta_has_all_its_fields(void **state)
{
    (void)state;
    udpai_str bytes = W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v")),
                              W_TEXT(2, "a/gone"), W_TEXT(2, "a/too"), W_TEXT(3, "nonce"),
                              W_VARINT(4, 1), W_TEXT(5, "t/T"), W_VARINT(6, 1), W_TEXT(7, "a"));
    udpai_message message = decode_good(bytes);
    assert_int_equal(message.kind, UDPAI_MESSAGE_PUBLISH);
    const udpai_publication *publication = message.publication;
    assert_false(publication->state_of_the_world);
    assert_true(publication->complete);
    assert_true(publication->receipt_required);
    assert_str(publication->type_url, "t/T");
    assert_str(publication->name_space, "a");
    assert_str(publication->nonce, "nonce");
    assert_int_equal(publication->entries.n, 1);
    assert_string_equal(udpa_resource_name(publication->entries.items[0].resource), "a/b");
    assert_int_equal(publication->removals.n, 2);
    assert_str(publication->removals.items[0].name, "a/gone");
    assert_str(publication->removals.items[1].name, "a/too");
    assert_int_equal(publication->size_bytes, bytes.len);
    udpai_message_done(&message);
}

static void
a_trial_is_a_delta_that_is_not_done(void **state)
{
    (void)state;
    udpai_message message = decode_good(W_MESSAGE(
        M_PUBLISH, W_MESSAGE(P_TRIAL, W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v")),
                             W_TEXT(2, "a/gone"), W_TEXT(3, "nonce"), W_TEXT(5, "t/T"))));
    const udpai_publication *publication = message.publication;
    assert_int_equal(message.kind, UDPAI_MESSAGE_PUBLISH);
    assert_true(publication->is_trial);
    assert_str(publication->nonce, "nonce");
    assert_str(publication->type_url, "t/T");
    assert_int_equal(publication->entries.n, 1);
    assert_int_equal(publication->removals.n, 1);
    udpai_message_done(&message);
    message = decode_good(W_DELTA(W_TEXT(3, "nonce")));
    assert_false(message.publication->is_trial);
    udpai_message_done(&message);
}

static void
state_of_the_world_has_all_its_fields(void **state)
{
    (void)state;
    udpai_message message = decode_good(
        W_MESSAGE(M_PUBLISH,
                  W_MESSAGE(P_STATE, W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v")),
                            W_TEXT(2, "nonce"), W_VARINT(3, 1), W_TEXT(4, "t/T"), W_TEXT(5, "a"))));
    const udpai_publication *publication = message.publication;
    assert_true(publication->state_of_the_world);
    assert_false(publication->complete);
    assert_true(publication->receipt_required);
    assert_str(publication->type_url, "t/T");
    assert_str(publication->name_space, "a");
    assert_str(publication->nonce, "nonce");
    assert_int_equal(publication->entries.n, 1);
    assert_int_equal(publication->removals.n, 0);
    udpai_message_done(&message);
}

static void
empty_publish_is_a_publication(void **state)
{
    (void)state;
    udpai_message message = decode_good(W_DELTA());
    assert_int_equal(message.kind, UDPAI_MESSAGE_PUBLISH);
    assert_int_equal(message.publication->entries.n, 0);
    assert_false(message.publication->receipt_required);
    udpai_message_done(&message);
}

static void
unknown_kinds_are_ignored(void **state)
{
    (void)state;
    const udpai_str unknown[] = {
        W_NOTHING,          W_MESSAGE(77, W_TEXT(1, "t")),    W_TEXT(M_ON_BEHALF_OF, "somebody"),
        W_EMPTY(M_PUBLISH), W_MESSAGE(M_PUBLISH, W_EMPTY(9)),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(unknown); i++) {
        udpai_message message = decode_good(unknown[i]);
        assert_int_equal(message.kind, UDPAI_MESSAGE_NONE);
        assert_null(message.publication);
        udpai_message_done(&message);
    }
}

static void
unknown_fields_are_skipped(void **state)
{
    (void)state;
    udpai_message message =
        decode_good(W_JOIN(W_VARINT(90, 1),
                           W_MESSAGE(M_SUBSCRIBE, W_TEXT(1, "t/T"), W_FIXED32(91, 1),
                                     W_TEXT(92, "x"), W_TEXT(2, "a/b")),
                           W_TEXT(M_ON_BEHALF_OF, "x")));
    assert_int_equal(message.kind, UDPAI_MESSAGE_SUBSCRIBE);
    assert_int_equal(message.subscription.n_names, 1);
    udpai_message_done(&message);
}

/* ---- what fails a message ---- */

static void
malformed_messages_fail(void **state)
{
    (void)state;
    const udpai_str bad[] = {
        UDPAI_STR("\xff"),
        UDPAI_STR("\x0a\x05t"),
        W_VARINT(M_SUBSCRIBE, 1),
        W_MESSAGE(M_SUBSCRIBE, W_BYTES(1, "\xff")),
        W_MESSAGE(M_SUBSCRIBE, W_BYTES(2, "a\0b")),
        W_JOIN(W_EMPTY(M_SUBSCRIBE), W_EMPTY(M_SUBSCRIBE)),
        W_DELTA(W_BYTES(2, "\xff")),
        W_DELTA(W_JOIN(UDPAI_STR("\x0a\x03"), W_TEXT(R_NAME, "a/b"))), /* not framed */
        W_DELTA(W_BYTES(1, "\x0a")), /* too small to be told from what is behind it */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_message message;
        if (decode(&decoder, bad[i], true, &message) != UDPA_ERR_MALFORMED)
            fail_msg("case %zu", i);
    }
}

/* What is wrong in one resource is refused in its place; what is before and behind it applies. */
static void
a_malformed_resource_is_refused_alone(void **state)
{
    (void)state;

    const struct {
        udpai_str resource;
        const char *name, *why;
    } bad[] = {
        {W_RESOURCE(W_BYTES(R_NAME, "a/\xff")), "", "name is not UTF-8"},
        {W_RESOURCE(W_BYTES(R_NAME, "a/\0b")), "", "name is not UTF-8"},
        {W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_BYTES(R_VERSION, "\xff"), W_ANY("t/T", "1")), "a/b",
         "version is not UTF-8"},
        {W_RESOURCE(W_ANY("t/T", "1"), W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "2")), "a/b",
         "resource is given twice"},
        {W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_VARINT(R_ANY, 3)), "a/b", "has wire type"},
        {W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_BYTES(R_ANY, "\x0a\x05t")), "a/b", "malformed"},
        {W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_MESSAGE(R_HOPS, W_BYTES(1, "\xff"))), "a/b",
         "node_id is not UTF-8"},
        /* An Any with a field twice means what nobody could hash in one way. */
        {W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_MESSAGE(R_ANY, W_TEXT(1, "t/T"), W_TEXT(1, "t/U"))),
         "a/b", "malformed"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_str good = W_RESOURCE(W_TEXT(R_NAME, "a/good"), W_ANY("t/T", "g"));
        udpai_str last = W_RESOURCE(W_TEXT(R_NAME, "a/last"), W_ANY("t/U", "l"));
        udpai_message message =
            decode_good(W_DELTA(good, bad[i].resource, last, bad[i].resource, W_TEXT(2, "a/gone"),
                                W_TEXT(3, "nonce"), W_VARINT(4, 1)));
        const udpai_publication *publication = message.publication;
        assert_true(publication->receipt_required);
        assert_str(publication->nonce, "nonce");
        assert_int_equal(publication->removals.n, 1);
        assert_int_equal(publication->entries.n, 4);
        for (size_t at = 1; at < 4; at += 2) {
            const udpai_publication_entry *entry = &publication->entries.items[at];
            assert_string_equal(udpa_resource_name(entry->resource), bad[i].name);
            assert_int_equal(udpa_error_code(entry->error), UDPA_ERR_INVAL);
            if (!strstr(udpa_error_message(entry->error), bad[i].why))
                fail_msg("case %zu: %s", i, udpa_error_message(entry->error));
        }
        assert_null(publication->entries.items[0].error);
        assert_str(udpai_resource_value(publication->entries.items[0].resource), "g");
        assert_null(publication->entries.items[2].error);
        assert_str(udpai_resource_value(publication->entries.items[2].resource), "l");
        assert_string_equal(udpa_resource_type_url(publication->entries.items[2].resource), "t/U");
        udpai_message_done(&message);
    }
}

/* In the state of the world, too; and there is an end to it. */
static void
many_malformed_resources_fail_the_message(void **state)
{
    (void)state;

    enum {
        N = UDPAI_SCAN_FAULTS_MAX,
        SIZE = 5
    };

    char *room = wire_room(SIZE * (N + 1));
    for (size_t i = 0; i <= N; i++)
        memcpy(room + SIZE * i, "\x0a\x03\x0a\x01\xff", SIZE);
    udpai_message message = decode_good(
        wire_bytes(M_PUBLISH, wire_bytes(P_STATE, (udpai_str){room, (size_t)SIZE * N})));
    assert_int_equal(message.publication->entries.n, N);
    for (size_t i = 0; i < N; i++)
        assert_non_null(message.publication->entries.items[i].error);
    udpai_message_done(&message);
    assert_int_equal(
        decode(
            &decoder,
            wire_bytes(M_PUBLISH, wire_bytes(P_STATE, (udpai_str){room, (size_t)SIZE * (N + 1)})),
            true, &message),
        UDPA_ERR_MALFORMED);
}

/* What stands in the place of such a resource has its size, whatever that is. */
static void
a_blank_has_every_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {2,   3,     128,   129,   130,   131,
                                   132, 16384, 16386, 16387, 16388, 70000};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sizes); i++) {
        char *part = malloc(sizes[i]);
        udpai_scan_blank(part, sizes[i]);
        udpai_proto_reader reader = udpai_proto_read((udpai_str){part, sizes[i]});
        udpai_proto_field field;
        assert_true(udpai_proto_next(&reader, &field));
        assert_int_equal(field.number, 15);
        assert_true(field.bytes.data + field.bytes.len == part + sizes[i]);
        assert_false(udpai_proto_next(&reader, &field));
        assert_false(reader.failed);
        free(part);
    }
}

/* protobuf-c reads at most five bytes of a tag or a length. What the scan lets through all the same
 * is the peer's fault, and no lack of memory. */
static void
what_does_not_unpack_is_malformed(void **state)
{
    (void)state;
    static const udpai_str overlong[] = {
        {"\x8a\x80\x80\x80\x80\x80\x00\x00", 8},         /* the tag of a Subscribe */
        {"\x0a\x80\x80\x80\x80\x80\x00", 7},             /* its length */
        {"\x0a\x07\x0a\x83\x80\x80\x80\x80\x00t/T", 12}, /* of its type URL */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(overlong); i++) {
        udpai_message message;
        udpa_err err = decode(&decoder, overlong[i], true, &message);
        if (err != UDPA_ERR_MALFORMED)
            fail_msg("case %zu: %s", i, udpa_err_name(err));
    }
}

static void
too_many_fields_fail(void **state)
{
    (void)state;

    enum {
        N = 400000
    };

    char *room = wire_room((size_t)2 * N);
    for (size_t i = 0; i < N; i++)
        memcpy(room + 2 * i, "\x12\x00", 2); /* empty names */
    udpai_message message;
    assert_int_equal(
        decode(&decoder, wire_bytes(M_SUBSCRIBE, (udpai_str){room, 2 * N}), true, &message),
        UDPA_ERR_LIMIT);
}

static void
every_truncation_is_safe(void **state)
{
    (void)state;
    udpai_str whole =
        W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "com.acme/a"), W_TEXT(R_VERSION, "1"), W_ANY("t/T", "v"),
                           W_MESSAGE(R_TTL, W_VARINT(1, 5)),
                           W_MESSAGE(R_ORIGIN, W_TEXT(1, "acme"), W_VARINT(3, 9)),
                           W_MESSAGE(R_HOPS, W_TEXT(1, "n"), W_MESSAGE(3, W_VARINT(1, 7)))),
                W_TEXT(2, "com.acme/b"), W_TEXT(3, "nonce"));
    for (size_t len = 0; len < whole.len; len++) {
        char *exact = malloc(len ? len : 1);
        memcpy(exact, whole.data, len);
        udpai_message message;
        udpa_err err = decode(&decoder, (udpai_str){exact, len}, true, &message);
        assert_true(err == UDPA_ERR_MALFORMED || len == 0);
        if (err == UDPA_OK)
            udpai_message_done(&message);
        free(exact);
    }
}

/* ---- the decoder ---- */

/* A publication outlives the bytes it came in and the decoder. */
static void
publication_is_a_value(void **state)
{
    (void)state;
    udpai_str bytes = W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v")),
                              W_TEXT(2, "a/gone"), W_TEXT(3, "nonce"), W_TEXT(5, "t/T"));
    char *copy = malloc(bytes.len);
    memcpy(copy, bytes.data, bytes.len);
    udpai_message message = decode_good((udpai_str){copy, bytes.len});
    UDPA_AUTO(udpai_publication_free)
    udpai_publication *publication = UDPAI_TAKE(message.publication);
    udpai_message_done(&message);
    memset(copy, 0xff, bytes.len);
    free(copy);
    udpai_decoder_done(&decoder);
    udpai_decoder_init(&decoder);
    assert_str(publication->nonce, "nonce");
    assert_str(publication->removals.items[0].name, "a/gone");
    assert_string_equal(udpa_resource_type_url(publication->entries.items[0].resource), "t/T");
    assert_str(udpai_resource_value(publication->entries.items[0].resource), "v");
}

static void
decoder_serves_many_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        udpai_message message = decode_good(W_MESSAGE(M_SUBSCRIBE, W_TEXT(1, "t/T")));
        udpai_message_done(&message);
        assert_int_equal(decode(&decoder, UDPAI_STR("\xff"), true, &message), UDPA_ERR_MALFORMED);
        message = decode_good(W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v"))));
        udpai_message_done(&message);
    }
}

/* ---- without memory ---- */

static udpa_err
decode_once(void *context)
{
    udpai_decoder fresh;
    udpai_decoder_init(&fresh);
    udpai_message message = {0};
    udpa_err err = udpai_message_decode(&fresh, *(const udpai_str *)context, true, &message, NULL);
    if (err == UDPA_OK)
        udpai_message_done(&message);
    udpai_decoder_done(&fresh);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    const udpai_str messages[] = {
        W_MESSAGE(M_SUBSCRIBE, W_TEXT(1, "t/T"), W_TEXT(2, "a/b"), W_MESSAGE(3, W_TEXT(1, "n")),
                  W_MESSAGE(5, W_TEXT(1, "n")), W_MESSAGE(6, W_TEXT(1, "n"))),
        W_MESSAGE(M_UNSUBSCRIBE, W_TEXT(1, "t/T"), W_TEXT(2, "a/b")),
        W_MESSAGE(M_RECEIPT, W_TEXT(1, "n"), W_MESSAGE(2, W_VARINT(1, 5))),
        W_MESSAGE(M_SUBSCRIPTION_ERROR, W_TEXT(3, "a/b"), W_MESSAGE(4, W_VARINT(1, 5))),
        W_DELTA(
            W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_BYTES(R_VERSION, "\xff")),
            W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_MESSAGE(R_ANY, W_TEXT(1, "t"), W_TEXT(1, "u")))),
        W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "a/b"), W_ANY("t/T", "v"), W_TEXT(R_ALIASES, "a/c")),
                W_RESOURCE(W_TEXT(R_NAME, "a/d"), W_ANY("t/U", "v")), W_TEXT(2, "a/e"),
                W_TEXT(3, "nonce"), W_TEXT(5, "t/T"), W_TEXT(7, "a")),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(messages); i++)
        oom_torture(decode_once, (void *)(uintptr_t)&messages[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(subscribe_has_all_its_fields),
        TEST(empty_subscribe_is_one),
        TEST(unsubscribe_has_all_its_fields),
        TEST(receipt_has_all_its_fields),
        TEST(receipt_of_a_trial_has_effects),
        TEST(subscription_error_has_all_its_fields),
        TEST(delta_has_all_its_fields),
        TEST(a_trial_is_a_delta_that_is_not_done),
        TEST(state_of_the_world_has_all_its_fields),
        TEST(empty_publish_is_a_publication),
        TEST(unknown_kinds_are_ignored),
        TEST(unknown_fields_are_skipped),
        TEST(malformed_messages_fail),
        TEST(a_malformed_resource_is_refused_alone),
        TEST(many_malformed_resources_fail_the_message),
        TEST(a_blank_has_every_size),
        TEST(what_does_not_unpack_is_malformed),
        TEST(too_many_fields_fail),
        TEST(every_truncation_is_safe),
        TEST(publication_is_a_value),
        TEST(decoder_serves_many_messages),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
