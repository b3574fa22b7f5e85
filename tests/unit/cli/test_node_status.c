/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a node: the types to subscribe to next, and the sources that it waits for. */
#include "cli/node_status.h"

#include "cli/names.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS "type.googleapis.com/udpa.status.v1."

struct type {
    const char *url;
    unsigned n_resources;
    const char *unsettled[2];
};

/* A NodeStatus with these types. */
static udpa_resource *
node_with(const struct type *types, size_t n)
{
    uint8_t room[1024];
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    Udpa__Status__V1__TypeStatus all[4], *pointers[4];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    for (size_t i = 0; i < n; i++) {
        all[i] = (Udpa__Status__V1__TypeStatus)UDPA__STATUS__V1__TYPE_STATUS__INIT;
        all[i].type_url = (char *)(uintptr_t)types[i].url;
        all[i].n_resources = types[i].n_resources;
        all[i].unsettled = (char **)(uintptr_t)types[i].unsettled;
        all[i].n_unsettled = (types[i].unsettled[0] != NULL) + (types[i].unsettled[1] != NULL);
        pointers[i] = &all[i];
    }
    node.types = pointers;
    node.n_types = n;
    spec.name = "udpa.node/n/node";
    spec.type_url = STATUS "NodeStatus";
    spec.payload = room;
    spec.payload_size = udpa__status__v1__node_status__pack(&node, room);
    assert_true(spec.payload_size <= sizeof(room));
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static const struct type edge[] = {
    {TEST_CDS, 7, {NULL}},
    {TEST_LDS, 0, {"core", "cloud"}},
    {TEST_RDS, 0, {NULL}},
    {"", 0, {"./files\n", "core"}},
};

static void
test_types_that_there_are_or_may_be(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *node = node_with(edge, UDPAI_ARRAY_LEN(edge));
    udpai_cli_requests requests = {0};
    for (int i = 0; i < 2; i++) { /* the second time, all are wished for */
        assert_ok(udpai_cli_request_types_of(node, "com.acme", &requests));
        assert_int_equal(requests.n, 2);
        assert_string_equal(requests.items[0].type_url, TEST_CDS);
        assert_string_equal(requests.items[1].type_url, TEST_LDS);
        assert_string_equal(requests.items[1].name_space, "com.acme");
    }
    udpai_cli_requests_done(&requests);
}

static void
expect_waits(const udpa_resource *node, const char *type_url, const char *wanted)
{
    udpai_cli_requests requests = {0};
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    assert_non_null(udpai_cli_requests_add(&requests, udpai_strdup(type_url)));
    udpai_cli_put_waits_for(&out, node, &requests);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_cli_requests_done(&requests);
}

static void
test_whom_it_waits_for(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *node = node_with(edge, UDPAI_ARRAY_LEN(edge));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *calm = node_with(edge, 1);
    expect_waits(node, TEST_LDS, "core, cloud, ./files?"); /* each once */
    expect_waits(node, TEST_CDS, "./files?, core");        /* what is of any type */
    expect_waits(calm, TEST_CDS, "");
}

static void
test_what_cannot_be_read(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *odd = RESOURCE("udpa.node/n/x", .type = STATUS "NodeStatus", .value = "\x0a");
    udpai_cli_requests requests = {0};
    assert_int_equal(udpai_cli_request_types_of(odd, NULL, &requests), UDPA_ERR_MALFORMED);
    assert_int_equal(requests.n, 0);
    expect_waits(odd, TEST_CDS, "");
}

static void
test_common_types(void **state)
{
    (void)state;
    udpai_cli_requests requests = {0};
    assert_ok(udpai_cli_request_common_types("com.acme", &requests));
    assert_true(udpai_cli_is_requested(&requests, TEST_CDS));
    assert_false(udpai_cli_is_requested(&requests, STATUS "NodeStatus"));
    size_t n = requests.n;
    for (size_t i = 0; i < n; i++) {
        assert_false(udpai_cli_is_status(requests.items[i].type_url));
        assert_string_equal(requests.items[i].name_space, "com.acme");
    }
    assert_ok(udpai_cli_request_common_types("com.acme", &requests));
    assert_int_equal(requests.n, n);
    udpai_cli_requests_done(&requests);
}

/* What clients report is not said by the node of itself, whatever the package of its type. */
static void
test_what_is_a_status(void **state)
{
    (void)state;
    assert_true(udpai_cli_is_status(STATUS "NodeStatus"));
    assert_true(udpai_cli_is_status(STATUS "SessionStatus"));
    assert_false(udpai_cli_is_status(STATUS "ResourceState"));
    assert_false(udpai_cli_is_status(TEST_CDS));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_a_status),
        cmocka_unit_test(test_types_that_there_are_or_may_be),
        cmocka_unit_test(test_whom_it_waits_for),
        cmocka_unit_test(test_what_cannot_be_read),
        cmocka_unit_test(test_common_types),
    };
    return cmocka_run_group_tests_name("cli node_status", tests, NULL, NULL);
}
