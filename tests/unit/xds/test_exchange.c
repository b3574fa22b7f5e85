/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as this client sends them, read again as a server does; responses of any server. */
#include "xds/exchange.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "wire/compose.h"
#include "xds/request.h"

#define CLUSTER "type.googleapis.com/envoy.config.cluster.v3.Cluster"

typedef struct fixture {
    udpai_decoder decoder;
    udpai_xds_answer answer;
    udpa_error *error;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    udpai_decoder_init(&self->decoder);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    udpai_decoder_done(&self->decoder);
    udpa_error_unref(self->error);
    free(self);
    wire_free_all();
    return 0;
}

/* ---- requests ---- */

static udpai_xds_ask
full_ask(udpai_str node)
{
    static const udpai_str names[] = {{"a", 1}, {"b", 1}}, unsubscribed[] = {{"c", 1}};
    static const udpai_held_version versions[] = {{{"d", 1}, {"v1", 2}}};
    return (udpai_xds_ask){
        .node = node,
        .type_url = UDPAI_STR("x/T"),
        .nonce = UDPAI_STR("n7"),
        .version = UDPAI_STR("v7"),
        .names = names,
        .n_names = 2,
        .unsubscribed = unsubscribed,
        .n_unsubscribed = 1,
        .versions = versions,
        .n_versions = 1,
        .error_code = 3,
        .error_text = UDPAI_STR("no such route"),
    };
}

static udpa_bytes *
some_node(void)
{
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(
        &info, &(udpai_node_parts){.id = UDPAI_STR("id"), .cluster = UDPAI_STR("fleet")}));
    udpa_bytes *node = udpai_node_encode(info);
    udpai_node_info_unref(info);
    assert_non_null(node);
    return node;
}

static void
check_common(const udpai_xds_request *read)
{
    assert_str(udpai_node_info_parts(read->node)->id, "id");
    assert_str(udpai_node_info_parts(read->node)->cluster, "fleet");
    assert_str(read->type_url, "x/T");
    assert_str(read->nonce, "n7");
    assert_int_equal(read->n_names, 2);
    assert_str(read->names[1], "b");
    assert_true(read->is_refusal);
    assert_int_equal(read->error_code, 3);
    assert_str(read->error_text, "no such route");
}

static void
a_delta_request_says_all(void **state)
{
    fixture *self = *state;
    udpa_bytes *node = some_node();
    udpai_xds_ask ask = full_ask(udpai_bytes_view(node));
    udpa_bytes *message = udpai_xds_ask_compose(&ask, true);
    udpai_xds_request read = {0};
    assert_ok(udpai_xds_delta_request_decode(&self->decoder, udpai_bytes_view(message), true, &read,
                                             NULL));
    check_common(&read);
    assert_int_equal(read.n_unsubscribed, 1);
    assert_str(read.unsubscribed[0], "c");
    assert_int_equal(read.n_versions, 1);
    assert_str(read.versions[0].name, "d");
    assert_str(read.versions[0].version, "v1");
    udpai_xds_request_done(&read);
    udpa_bytes_unref(message);
    udpa_bytes_unref(node);
}

static void
a_sotw_request_says_all_that_it_can(void **state)
{
    fixture *self = *state;
    udpa_bytes *node = some_node();
    udpai_xds_ask ask = full_ask(udpai_bytes_view(node));
    udpa_bytes *message = udpai_xds_ask_compose(&ask, false);
    udpai_xds_request read = {0};
    assert_ok(
        udpai_xds_request_decode(&self->decoder, udpai_bytes_view(message), true, &read, NULL));
    check_common(&read);
    udpai_xds_request_done(&read);
    udpa_bytes_unref(message);
    udpa_bytes_unref(node);
}

static void
what_is_empty_is_left_out(void **state)
{
    (void)state;
    udpa_bytes *message =
        udpai_xds_ask_compose(&(udpai_xds_ask){.type_url = UDPAI_STR("x")}, false);
    assert_str(udpai_bytes_view(message), "\x22\x01x");
    udpa_bytes_unref(message);
    message = udpai_xds_ask_compose(&(udpai_xds_ask){0}, true);
    assert_int_equal(udpa_bytes_size(message), 0);
    udpa_bytes_unref(message);
}

/* ---- responses ---- */

static udpai_str
any(const char *type_url, udpai_str value)
{
    return W_JOIN(W_TEXT(1, type_url), wire_bytes(2, value));
}

static void
a_delta_response_is_read_whole(void **state)
{
    fixture *self = *state;
    udpai_str payload = any("x/T", W_TEXT(1, "p"));
    udpai_str resource = W_JOIN(
        W_TEXT(3, "a"), W_TEXT(1, "v1"), wire_bytes(2, payload), W_TEXT(4, "b/x"), W_TEXT(4, "b/y"),
        W_MESSAGE(6, W_VARINT(1, 2), W_VARINT(2, 1)), W_MESSAGE(7, W_VARINT(1, 1)));
    udpai_str bytes = W_JOIN(W_TEXT(1, "system"), wire_bytes(2, resource), W_TEXT(4, "x/T"),
                             W_TEXT(5, "n1"), W_TEXT(6, "gone"), W_MESSAGE(7, W_TEXT(1, "cp")));
    assert_ok(udpai_xds_answer_decode(&self->decoder, bytes, true, &self->answer, NULL));
    const udpai_xds_answer *answer = &self->answer;
    assert_str(answer->version, "system");
    assert_str(answer->type_url, "x/T");
    assert_str(answer->nonce, "n1");
    assert_str(answer->control_plane, "cp");
    assert_int_equal(answer->n_removed, 1);
    assert_str(answer->removed[0], "gone");
    assert_int_equal(answer->n_resources, 1);
    const udpai_xds_received *received = &answer->resources[0];
    assert_str(received->name, "a");
    assert_str(received->version, "v1");
    assert_true(received->has_any && udpai_str_eq(received->any, payload));
    assert_int_equal(received->n_aliases, 2);
    assert_str(received->aliases[1], "b/y");
    assert_true(received->has_ttl && received->do_not_cache);
    assert_int_equal(received->ttl_ms, 2001);
}

static void
a_sotw_response_is_named_by_its_payloads(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(W_TEXT(1, "v9"), wire_bytes(2, any(CLUSTER, W_TEXT(1, "backend"))),
                             wire_bytes(2, any("x/Unknown", W_TEXT(1, "backend"))), W_VARINT(3, 1),
                             W_TEXT(4, CLUSTER), W_TEXT(5, "n1"), W_MESSAGE(6, W_TEXT(1, "cp")));
    assert_ok(udpai_xds_answer_decode(&self->decoder, bytes, false, &self->answer, NULL));
    assert_str(self->answer.version, "v9");
    assert_true(self->answer.is_canary);
    assert_str(self->answer.control_plane, "cp");
    assert_int_equal(self->answer.n_resources, 2);
    assert_str(self->answer.resources[0].name, "backend");
    assert_false(self->answer.resources[0].is_wrapped);
    assert_str(self->answer.resources[1].name, "");
    assert_int_equal(self->answer.n_removed, 0);
}

static void
a_wrapped_resource_is_unwrapped(void **state)
{
    fixture *self = *state;
    udpai_str payload = any(CLUSTER, W_TEXT(1, "backend"));
    udpai_str resource = W_JOIN(W_TEXT(3, "other"), W_TEXT(1, "v1"), wire_bytes(2, payload));
    udpai_str heartbeat = W_JOIN(W_TEXT(3, "other"), W_MESSAGE(6, W_VARINT(1, 1)));
    udpai_str bytes = W_JOIN(wire_bytes(2, any(UDPAI_XDS_TYPE_RESOURCE, resource)),
                             wire_bytes(2, any(UDPAI_XDS_TYPE_RESOURCE, heartbeat)));
    assert_ok(udpai_xds_answer_decode(&self->decoder, bytes, false, &self->answer, NULL));
    assert_int_equal(self->answer.n_resources, 2);
    assert_true(self->answer.resources[0].is_wrapped);
    assert_str(self->answer.resources[0].name, "other");
    assert_true(udpai_str_eq(self->answer.resources[0].any, payload));
    assert_false(self->answer.resources[1].has_any);
    assert_int_equal(self->answer.resources[1].ttl_ms, 1000);
}

static void
a_ttl_that_cannot_be_is_told_from_none(void **state)
{
    fixture *self = *state;
    static const uint64_t seconds[] = {0, (uint64_t)-1, UINT64_C(1) << 40};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(seconds); i++) {
        udpai_str bytes =
            W_MESSAGE(2, W_TEXT(3, "a"), W_MESSAGE(6, W_VARINT(1, seconds[i])), W_TEXT(1, "v"));
        assert_ok(udpai_xds_answer_decode(&self->decoder, bytes, true, &self->answer, NULL));
        assert_true(self->answer.resources[0].has_ttl);
        assert_int_equal(self->answer.resources[0].ttl_ms, 0);
    }
}

static void
what_is_malformed_is_refused(void **state)
{
    fixture *self = *state;
    const udpai_str bad[] = {
        W_BYTES(5, "a\0b"),
        W_TEXT(5, "\xff"),
        W_VARINT(5, 1),
        W_MESSAGE(2, W_TEXT(1, "x/T"), W_BYTES(2, "a"), W_BYTES(2, "b")),
        W_MESSAGE(2, W_TEXT(1, UDPAI_XDS_TYPE_RESOURCE), W_MESSAGE(2, W_BYTES(3, "a\0b"))),
        W_MESSAGE(2, W_TEXT(1, UDPAI_XDS_TYPE_RESOURCE), W_BYTES(2, "\x1a\x7f")),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpa_error *error = NULL;
        assert_int_equal(
            udpai_xds_answer_decode(&self->decoder, bad[i], false, &self->answer, &error),
            UDPA_ERR_MALFORMED);
        assert_non_null(error);
        udpa_error_unref(error);
    }
}

/* ---- without memory ---- */

static udpa_err
compose_and_decode(void *context)
{
    (void)context;
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_xds_ask ask = full_ask(UDPAI_STR(""));
    udpa_bytes *message = udpai_xds_ask_compose(&ask, true);
    udpai_xds_answer answer;
    udpai_str bytes = W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(4, "alias"));
    udpa_err err =
        message ? udpai_xds_answer_decode(&decoder, bytes, true, &answer, NULL) : UDPA_ERR_NOMEM;
    udpa_bytes_unref(message);
    udpai_decoder_done(&decoder);
    return err;
}

static void
lack_of_memory_is_told(void **state)
{
    (void)state;
    oom_torture(compose_and_decode, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_delta_request_says_all, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sotw_request_says_all_that_it_can, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_empty_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_delta_response_is_read_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sotw_response_is_named_by_its_payloads, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrapped_resource_is_unwrapped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_ttl_that_cannot_be_is_told_from_none, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(lack_of_memory_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
