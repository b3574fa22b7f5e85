/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of both protocols, as clients send them and as they should not. */
#include "xds/request.h"

#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"

typedef struct fixture {
    udpai_decoder decoder;
    udpai_xds_request request;
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
    udpai_xds_request_done(&self->request);
    udpai_decoder_done(&self->decoder);
    udpa_error_unref(self->error);
    free(self);
    wire_free_all();
    return 0;
}

static udpai_str
error_detail(void)
{
    return W_JOIN(W_VARINT(1, 13), W_TEXT(2, "no such route"),
                  W_MESSAGE(3, W_TEXT(1, "x/T"), W_TEXT(2, "detail")));
}

static udpai_str
node(void)
{
    return W_JOIN(W_TEXT(1, "id"), W_TEXT(10, "feature"),
                  W_MESSAGE(3, W_MESSAGE(1, W_TEXT(1, "k"))));
}

#define PARAMETER(key, value) W_MESSAGE(2, W_TEXT(1, key), W_TEXT(2, value))

/* The same parameters are the same text, in whatever order they came; of one key the last counts.
 */
static void
locators_have_sorted_parameters(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(
        W_MESSAGE(7, W_TEXT(1, "a"), PARAMETER("z", "1"), PARAMETER("b", "2")),
        W_MESSAGE(7, PARAMETER("b", "1"), PARAMETER("b", "2"), PARAMETER("z", "1"), W_TEXT(1, "a")),
        W_MESSAGE(7, W_TEXT(1, "c")), W_MESSAGE(7, W_TEXT(1, "d"), PARAMETER("", "1")));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    const udpai_xds_locator *locators = self->request.locators;
    assert_int_equal(self->request.n_locators, 4);
    assert_str(locators[0].name, "a");
    assert_true(udpai_str_eq(locators[0].parameters, UDPAI_STR("b\0"
                                                               "2\0z\0"
                                                               "1\0")));
    assert_true(udpai_str_eq(locators[0].parameters, locators[1].parameters));
    assert_int_equal(locators[2].parameters.len, 0);
    assert_true(locators[3].is_bad && !locators[2].is_bad && !locators[0].is_bad);
}

static void
locators_of_delta_come_and_go(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(W_MESSAGE(8, W_TEXT(1, "a"), PARAMETER("k", "1")),
                             W_MESSAGE(9, W_TEXT(1, "b")), W_MESSAGE(9, W_TEXT(1, "c")));
    assert_ok(udpai_xds_delta_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_int_equal(self->request.n_locators, 1);
    assert_str(self->request.locators[0].name, "a");
    assert_int_equal(self->request.n_unsubscribed_locators, 2);
    assert_str(self->request.unsubscribed_locators[1].name, "c");
}

static void
a_sotw_request_has_all_its_fields(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(W_TEXT(1, "v7"), wire_bytes(2, node()), W_TEXT(3, "a"), W_TEXT(3, "b"),
                             W_TEXT(4, "x/T"), W_TEXT(5, "0123"), wire_bytes(6, error_detail()));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    const udpai_xds_request *request = &self->request;
    assert_str(request->type_url, "x/T");
    assert_str(request->nonce, "0123");
    assert_int_equal(request->n_names, 2);
    assert_str(request->names[0], "a");
    assert_str(request->names[1], "b");
    assert_true(request->is_refusal);
    assert_int_equal(request->error_code, 13);
    assert_str(request->error_text, "no such route");
    assert_str(udpai_node_info_parts(request->node)->id, "id");
    assert_true(udpai_node_info_has_feature(request->node, "feature"));
    assert_int_equal(request->n_unsubscribed + request->n_versions, 0);
}

static void
a_delta_request_has_all_its_fields(void **state)
{
    fixture *self = *state;
    udpai_str bytes =
        W_JOIN(wire_bytes(1, node()), W_TEXT(2, "x/T"), W_TEXT(3, "a"), W_TEXT(4, "b"),
               W_TEXT(4, "c"), W_MESSAGE(5, W_TEXT(1, "d"), W_TEXT(2, "v1")), W_TEXT(6, "0123"),
               wire_bytes(7, error_detail()));
    assert_ok(udpai_xds_delta_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    const udpai_xds_request *request = &self->request;
    assert_str(request->type_url, "x/T");
    assert_str(request->nonce, "0123");
    assert_int_equal(request->n_names, 1);
    assert_str(request->names[0], "a");
    assert_int_equal(request->n_unsubscribed, 2);
    assert_str(request->unsubscribed[1], "c");
    assert_int_equal(request->n_versions, 1);
    assert_str(request->versions[0].name, "d");
    assert_str(request->versions[0].version, "v1");
    assert_true(request->is_refusal);
    assert_str(udpai_node_info_parts(request->node)->id, "id");
}

static void
an_empty_error_detail_is_a_refusal_all_the_same(void **state)
{
    fixture *self = *state;
    assert_ok(udpai_xds_request_decode(&self->decoder, W_JOIN(W_TEXT(4, "x/T"), W_EMPTY(6)), true,
                                       &self->request, NULL));
    assert_true(self->request.is_refusal);
    assert_null(self->request.node);
}

static void
a_node_that_is_not_wanted_is_not_made(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(wire_bytes(2, node()), W_TEXT(4, "x/T"));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, false, &self->request, NULL));
    assert_null(self->request.node);
}

/* As large as the first request of an Envoy, which lists every extension it has. */
static void
a_node_of_sixty_kilobytes_is_taken(void **state)
{
    fixture *self = *state;
    udpai_str extensions = W_NOTHING;
    while (extensions.len < 61000)
        extensions = W_JOIN(extensions, W_MESSAGE(9, W_TEXT(1, "envoy.filters.http.router"),
                                                  W_TEXT(2, "envoy.filters.http"),
                                                  W_MESSAGE(5, W_TEXT(1, "envoy.x.v3.Router"))));
    udpai_str bytes =
        W_JOIN(W_MESSAGE(2, W_TEXT(1, "envoy"), extensions), W_TEXT(4, "x/T"), W_TEXT(3, "a"));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_str(udpai_node_info_parts(self->request.node)->id, "envoy");
    assert_int_equal(self->request.n_names, 1);
}

static void
ten_thousand_names_are_taken(void **state)
{
    fixture *self = *state;
    static udpai_str fields[10001];
    for (size_t i = 0; i < 10000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "cluster-%zu", i);
        fields[i] = W_TEXT(3, name);
    }
    fields[10000] = W_TEXT(2, "x/T");
    udpai_str bytes = wire_join(fields, 10001);
    assert_ok(udpai_xds_delta_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_int_equal(self->request.n_names, 10000);
    assert_str(self->request.names[9999], "cluster-9999");
}

static void
fields_of_later_protocols_are_skipped(void **state)
{
    fixture *self = *state;
    udpai_str bytes = W_JOIN(W_TEXT(4, "x/T"), W_MESSAGE(7, W_TEXT(1, "locator")), W_TEXT(99, "?"));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_int_equal(self->request.n_names, 0);
}

static void
expect_malformed(fixture *self, udpai_str bytes)
{
    udpai_xds_request untouched = {.error_code = 42};
    self->error = udpa_error_unref(self->error);
    assert_int_equal(
        udpai_xds_request_decode(&self->decoder, bytes, true, &untouched, &self->error),
        UDPA_ERR_MALFORMED);
    assert_int_equal(untouched.error_code, 42);
    assert_int_equal(udpa_error_code(self->error), UDPA_ERR_MALFORMED);
    assert_true(strlen(udpa_error_message(self->error)) > 10);
}

static void
what_is_malformed_is_refused(void **state)
{
    fixture *self = *state;
    expect_malformed(self, UDPAI_STR("\x0a\x7f"));
    expect_malformed(self, W_VARINT(4, 1));
    expect_malformed(self, W_BYTES(3, "a\0b"));
    expect_malformed(self, W_BYTES(4, "\xff"));
    expect_malformed(self, W_JOIN(W_MESSAGE(2, W_TEXT(1, "a")), W_MESSAGE(2, W_TEXT(1, "b"))));
    expect_malformed(self, UDPAI_STR("\x0b\x0c"));
}

/* The words are those of the scan, which has seen the rest as well. */
static void
malformed_versions_are_refused(void **state)
{
    fixture *self = *state;
    udpai_str good = W_MESSAGE(5, W_TEXT(1, "a"), W_TEXT(2, "1"));
    udpai_str bad[] = {
        W_MESSAGE(5, W_BYTES(1, "a\0b")),
        W_MESSAGE(5, W_BYTES(2, "\xff")),
        W_MESSAGE(5, W_VARINT(1, 1)),
        W_BYTES(5, "\x0a\x02z"),
        W_VARINT(5, 1),
        UDPAI_STR("\x2a\x7f"),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_xds_request untouched = {.error_code = 42};
        self->error = udpa_error_unref(self->error);
        assert_int_equal(udpai_xds_delta_request_decode(&self->decoder,
                                                        W_JOIN(good, bad[i], W_TEXT(2, "x/T")),
                                                        true, &untouched, &self->error),
                         UDPA_ERR_MALFORMED);
        assert_int_equal(untouched.error_code, 42);
        assert_non_null(strstr(udpa_error_message(self->error), "DeltaDiscoveryRequest"));
    }
}

static void
many_versions_are_taken(void **state)
{
    fixture *self = *state;
    static udpai_str fields[20002];
    for (size_t i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "cluster-%zu", i / 2);
        fields[i] = W_MESSAGE(5, W_TEXT(1, name), W_TEXT(2, i % 2 ? "new" : "old"));
    }
    fields[20000] = W_TEXT(2, "x/T");
    fields[20001] = W_TEXT(3, "a");
    udpai_str bytes = wire_join(fields, 20002);
    assert_ok(udpai_xds_delta_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_int_equal(self->request.n_versions, 20000); /* the last one of a name counts */
    assert_str(self->request.versions[19999].name, "cluster-9999");
    assert_str(self->request.versions[19999].version, "new");
    assert_str(self->request.type_url, "x/T");
    assert_str(self->request.names[0], "a");
}

static void
deep_metadata_is_no_danger(void **state)
{
    fixture *self = *state;
    udpai_str bytes =
        W_JOIN(W_MESSAGE(2, W_TEXT(1, "id"), wire_nested(3, 50000)), W_TEXT(4, "x/T"));
    assert_ok(udpai_xds_request_decode(&self->decoder, bytes, true, &self->request, NULL));
    assert_non_null(self->request.node);
}

static udpa_err
decode_both(void *context)
{
    (void)context;
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_xds_request request = {0};
    udpa_err err = udpai_xds_request_decode(
        &decoder, W_JOIN(wire_bytes(2, node()), W_TEXT(3, "a"), W_TEXT(4, "x/T")), true, &request,
        NULL);
    udpai_xds_request_done(&request);
    if (err == UDPA_OK)
        err = udpai_xds_delta_request_decode(&decoder,
                                             W_JOIN(wire_bytes(1, node()), W_TEXT(3, "a"),
                                                    W_TEXT(2, "x/T"),
                                                    W_MESSAGE(5, W_TEXT(1, "d"), W_TEXT(2, "v1"))),
                                             true, &request, NULL);
    udpai_xds_request_done(&request);
    udpai_decoder_done(&decoder);
    wire_free_all();
    return err;
}

static void
want_of_memory_is_reported(void **state)
{
    (void)state;
    oom_torture(decode_both, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(locators_have_sorted_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(locators_of_delta_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sotw_request_has_all_its_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(a_delta_request_has_all_its_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_error_detail_is_a_refusal_all_the_same, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_not_wanted_is_not_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_of_sixty_kilobytes_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(ten_thousand_names_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(fields_of_later_protocols_are_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_versions_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(many_versions_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_metadata_is_no_danger, setup, teardown),
        cmocka_unit_test_setup_teardown(want_of_memory_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
