/* SPDX-License-Identifier: Apache-2.0 */
/* The Node that begins a stream: composed and decoded, metadata as bytes. */
#include "wire/compose.h"
#include "wire/node_decode.h"
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

static udpai_node_info *
decode_node(udpai_str bytes)
{
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_decode(&decoder, bytes, &info, NULL));
    return info;
}

static void
fields_are_read(void **state)
{
    (void)state;
    udpai_str metadata = W_MESSAGE(1, W_TEXT(1, "key"), W_MESSAGE(2, W_TEXT(3, "value")));
    UDPA_AUTO(udpai_node_info_unref)
    udpai_node_info *info = decode_node(W_JOIN(
        W_TEXT(1, "id"), W_TEXT(2, "cluster"), wire_bytes(3, metadata),
        W_MESSAGE(4, W_TEXT(1, "region"), W_TEXT(2, "zone"), W_TEXT(3, "sub")), W_TEXT(6, "agent"),
        W_TEXT(7, "1.2"), W_TEXT(10, "udpa.ext.v1"), W_TEXT(10, "x"), W_TEXT(99, "unknown")));
    const udpai_node_parts *node = udpai_node_info_parts(info);
    assert_str(node->id, "id");
    assert_str(node->cluster, "cluster");
    assert_str(node->region, "region");
    assert_str(node->zone, "zone");
    assert_str(node->sub_zone, "sub");
    assert_str(node->user_agent_name, "agent");
    assert_str(node->user_agent_version, "1.2");
    assert_true(udpai_str_eq(node->metadata, metadata));
    assert_int_equal(node->n_features, 2);
    assert_true(udpai_node_info_has_feature(info, UDPAI_FEATURE_EXTENSIONS));
    assert_false(udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE));
}

static void
empty_node_is_one(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = decode_node(W_NOTHING);
    assert_int_equal(udpai_node_info_parts(info)->id.len, 0);
    assert_int_equal(udpai_node_info_parts(info)->metadata.len, 0);
    assert_int_equal(udpai_node_info_parts(info)->n_features, 0);
}

/* Metadata may nest as deep as it likes, or be no Struct at all: nobody unpacks it here. */
static void
metadata_is_opaque(void **state)
{
    (void)state;
    const udpai_str metadata[] = {
        wire_nested(2, 20000),
        UDPAI_STR("\x0b\xff\0"),
        UDPAI_STR(""),
        /* more than 127 bytes: a length of two bytes */
        wire_nested(1, 70),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(metadata); i++) {
        UDPA_AUTO(udpai_node_info_unref)
        udpai_node_info *info = decode_node(W_JOIN(W_TEXT(1, "id"), wire_bytes(3, metadata[i])));
        assert_true(udpai_str_eq(udpai_node_info_parts(info)->metadata, metadata[i]));
    }
    /* Of another wire type it is none. */
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = decode_node(W_VARINT(3, 7));
    assert_int_equal(udpai_node_info_parts(info)->metadata.len, 0);
}

/* Each an entry of a map, whatever it holds; all are kept, and told further. */
static void
parameters_are_kept_as_they_are(void **state)
{
    (void)state;
    udpai_str one = W_MESSAGE(12, W_TEXT(1, "x/T"), W_MESSAGE(2, W_TEXT(1, "?"))),
              two = wire_bytes(12, wire_nested(2, 20000)), all = W_JOIN(one, two);
    UDPA_AUTO(udpai_node_info_unref)
    udpai_node_info *info = decode_node(W_JOIN(W_TEXT(1, "id"), one, W_VARINT(12, 7), two));
    assert_true(udpai_str_eq(udpai_node_info_parts(info)->parameters, all));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_node_compose(info);
    udpai_message message;
    assert_int_equal(decode(&decoder, udpai_bytes_view(bytes), false, &message), UDPA_OK);
    UDPA_AUTO(udpai_node_info_unref)
    udpai_node_info *back =
        decode_node(udpai_resource_value(message.publication->entries.items[0].resource));
    assert_true(udpai_str_eq(udpai_node_info_parts(back)->parameters, all));
    udpai_message_done(&message);
}

static void
features_are_bounded(void **state)
{
    (void)state;
    udpai_str feature = W_TEXT(10, "some.feature");

    enum {
        N = 1000
    };

    char *room = wire_room(feature.len * N);
    for (size_t i = 0; i < N; i++)
        memcpy(room + i * feature.len, feature.data, feature.len);
    UDPA_AUTO(udpai_node_info_unref)
    udpai_node_info *info = decode_node((udpai_str){room, feature.len * N});
    assert_int_equal(udpai_node_info_parts(info)->n_features, 256);
}

static void
malformed_nodes_are_refused(void **state)
{
    (void)state;
    const udpai_str bad[] = {
        UDPAI_STR("\xff"),
        W_BYTES(1, "a\0b"),
        W_VARINT(1, 1),
        W_JOIN(W_EMPTY(4), W_EMPTY(4)),
        W_MESSAGE(4, W_BYTES(1, "\xff")),
        UDPAI_STR("\x8a\x80\x80\x80\x80\x80\x00\x00"), /* what protobuf-c does not unpack */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_node_info *info = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_node_info_decode(&decoder, bad[i], &info, &error),
                         UDPA_ERR_MALFORMED);
        assert_int_equal(udpa_error_code(error), UDPA_ERR_MALFORMED);
        assert_null(info);
    }
}

/* ---- composed ---- */

static udpai_node_info *
make_info(void)
{
    static const udpai_str features[] = {{UDPAI_FEATURE_EXTENSIONS, 11}, {UDPAI_FEATURE_NODE, 12}};
    const udpai_node_parts parts = {
        .id = UDPAI_STR("node-1"),
        .cluster = UDPAI_STR("c"),
        .zone = UDPAI_STR("z"),
        .user_agent_name = UDPAI_STR("udpa"),
        .user_agent_version = UDPAI_STR("0.1"),
        .features = features,
        .n_features = 2,
        .metadata = UDPAI_STR("\x0a\x00"),
        .parameters = UDPAI_STR("\x62\x02\x0a\x00"),
    };
    udpai_node_info *info = NULL;
    return udpai_node_info_new(&info, &parts) == UDPA_OK ? info : NULL;
}

/* The publish that begins a stream: one resource, named by the node's id, no receipt, nothing that
 * the public protocol does not have. */
static void
node_begins_a_stream(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = make_info();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_node_compose(info);
    udpai_message message;
    assert_int_equal(decode(&decoder, udpai_bytes_view(bytes), false, &message), UDPA_OK);
    const udpai_publication *publication = message.publication;
    assert_int_equal(message.kind, UDPAI_MESSAGE_PUBLISH);
    assert_false(publication->receipt_required || publication->state_of_the_world);
    assert_int_equal(publication->type_url.len, 0);
    assert_int_equal(publication->removals.n, 0);
    assert_int_equal(publication->entries.n, 1);
    udpa_resource *resource = publication->entries.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), "node-1");
    assert_string_equal(udpa_resource_type_url(resource), UDPAI_TYPE_NODE);
    UDPA_AUTO(udpai_node_info_unref)
    udpai_node_info *back = decode_node(udpai_resource_value(resource));
    const udpai_node_parts *node = udpai_node_info_parts(back);
    assert_str(node->id, "node-1");
    assert_str(node->cluster, "c");
    assert_str(node->region, "");
    assert_str(node->zone, "z");
    assert_str(node->user_agent_name, "udpa");
    assert_str(node->user_agent_version, "0.1");
    assert_true(udpai_str_eq(node->metadata, UDPAI_STR("\x0a\x00")));
    assert_true(udpai_node_info_has_feature(back, UDPAI_FEATURE_NODE));
    udpai_message_done(&message);
}

static udpa_err
compose_and_decode(void *context)
{
    udpa_bytes *bytes = udpai_node_compose(context);
    udpai_decoder fresh;
    udpai_decoder_init(&fresh);
    udpai_message message = {0};
    udpai_node_info *info = NULL;
    udpa_err err = bytes
                       ? udpai_message_decode(&fresh, udpai_bytes_view(bytes), true, &message, NULL)
                       : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_node_info_decode(
            &fresh, udpai_resource_value(message.publication->entries.items[0].resource), &info,
            NULL);
    udpai_node_info_unref(info);
    udpai_message_done(&message);
    udpai_decoder_done(&fresh);
    udpa_bytes_unref(bytes);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = make_info();
    oom_torture(compose_and_decode, info);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_are_read),      TEST(parameters_are_kept_as_they_are),
        TEST(empty_node_is_one),    TEST(metadata_is_opaque),
        TEST(features_are_bounded), TEST(malformed_nodes_are_refused),
        TEST(node_begins_a_stream), TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
