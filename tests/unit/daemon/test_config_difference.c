/* SPDX-License-Identifier: Apache-2.0 */
/* In which fields two bootstrap files differ, in their own names. */
#include "daemon/config_difference.h"

#include "base/alloc.h"
#include "tests/harness/test.h"

typedef Udpa__Config__V1__Bootstrap bootstrap;
typedef Udpa__Config__V1__Node node_section;
typedef Udpa__Config__V1__Socket socket_section;
typedef Udpa__Config__V1__Acl acl_section;
typedef Udpa__Config__V1__Store store_section;

static void
expect(const bootstrap *a, const bootstrap *b, const char *names)
{
    for (int turn = 0; turn < 2; turn++) { /* in both directions */
        char *found =
            turn ? udpai_config_name_differences(b, a) : udpai_config_name_differences(a, b);
        if (names)
            assert_string_equal(found ? found : "nothing", names);
        else
            assert_null(found);
        udpai_free(found);
    }
}

static void
what_is_alike_is_not_named(void **state)
{
    (void)state;
    node_section node = UDPA__CONFIG__V1__NODE__INIT, same = node;
    char id[] = "edge", again[] = "edge";
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    expect(&a, &b, NULL);
    node.id = id;
    same.id = again;
    a.node = &node;
    b.node = &same;
    expect(&a, &b, NULL);
}

static void
a_section_that_only_one_has_is_named(void **state)
{
    (void)state;
    acl_section acl = UDPA__CONFIG__V1__ACL__INIT;
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    a.acl = &acl;
    expect(&a, &b, "acl");
}

static void
sections_and_their_fields_are_named(void **state)
{
    (void)state;
    char one[] = "one", two[] = "two";
    node_section node = UDPA__CONFIG__V1__NODE__INIT, other = node;
    store_section store = UDPA__CONFIG__V1__STORE__INIT;
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    node.id = one;
    other.id = two;
    other.cluster = two;
    a.node = &node;
    b.node = &other;
    a.store = &store;
    b.workers = 2;
    expect(&a, &b, "node.id, node.cluster, store, workers");
}

static void
all_fields_of_a_section_are_named(void **state)
{
    (void)state;
    char text[] = "x", *list[1] = {text};
    Udpa__Config__V1__ClientTls tls = UDPA__CONFIG__V1__CLIENT_TLS__INIT;
    store_section store = UDPA__CONFIG__V1__STORE__INIT, other = store;
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    other.engine = UDPA__CONFIG__V1__STORE__ENGINE__ETCD;
    other.endpoints = list;
    other.n_endpoints = 1;
    other.tls = &tls;
    other.user = other.password_file = other.prefix = text;
    a.store = &store;
    b.store = &other;
    expect(&a, &b,
           "store.engine, store.endpoints, store.tls, store.user, store.password_file, "
           "store.prefix");
}

static void
of_a_list_the_places_are_named(void **state)
{
    (void)state;
    char one[] = "127.0.0.1:1", two[] = "127.0.0.1:2", three[] = "127.0.0.1:3",
         text[] = "descriptors";
    socket_section sockets[3] = {UDPA__CONFIG__V1__SOCKET__INIT, UDPA__CONFIG__V1__SOCKET__INIT,
                                 UDPA__CONFIG__V1__SOCKET__INIT};
    socket_section *first[2] = {&sockets[0], &sockets[1]}, *second[2] = {&sockets[0], &sockets[2]};
    char *sets[1] = {text};
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    sockets[0].address = one;
    sockets[1].address = two;
    sockets[2].address = three;
    a.sockets = first;
    b.sockets = second;
    a.n_sockets = b.n_sockets = 2;
    b.descriptor_sets = sets;
    b.n_descriptor_sets = 1;
    expect(&a, &b, "sockets[1], descriptor_sets");
    b.n_sockets = 1;
    expect(&a, &b, "sockets, descriptor_sets");
}

static void
one_of_several_kinds_is_compared(void **state)
{
    (void)state;
    char one[] = "one";
    Udpa__Config__V1__RuntimeLayer layers[2] = {UDPA__CONFIG__V1__RUNTIME_LAYER__INIT,
                                                UDPA__CONFIG__V1__RUNTIME_LAYER__INIT};
    Udpa__Config__V1__RuntimeLayer *first[1] = {&layers[0]}, *second[1] = {&layers[1]};
    Udpa__Config__V1__Runtime runtime = UDPA__CONFIG__V1__RUNTIME__INIT, other = runtime;
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    layers[0].name = layers[1].name = one;
    runtime.layers = first;
    other.layers = second;
    runtime.n_layers = other.n_layers = 1;
    a.runtime = &runtime;
    b.runtime = &other;
    expect(&a, &b, NULL);
    layers[1].layer_case = UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_ADMIN_LAYER;
    expect(&a, &b, "runtime.layers");
}

static void
many_are_counted(void **state)
{
    (void)state;
    char text[] = "x", *list[1] = {text};
    node_section node = UDPA__CONFIG__V1__NODE__INIT, other = node;
    Udpa__Config__V1__Log log = UDPA__CONFIG__V1__LOG__INIT;
    Udpa__Config__V1__Limits limits = UDPA__CONFIG__V1__LIMITS__INIT;
    Udpa__Config__V1__Timing timing = UDPA__CONFIG__V1__TIMING__INIT;
    Udpa__Config__V1__Http http = UDPA__CONFIG__V1__HTTP__INIT;
    Udpa__Config__V1__Shim shim = UDPA__CONFIG__V1__SHIM__INIT;
    store_section store = UDPA__CONFIG__V1__STORE__INIT;
    bootstrap a = UDPA__CONFIG__V1__BOOTSTRAP__INIT, b = a;
    node.id = node.cluster = text;
    a.node = &node;
    b.node = &other;
    a.log = &log;
    a.limits = &limits;
    a.timing = &timing;
    a.http = &http;
    a.shim = &shim;
    a.store = &store;
    a.workers = 1;
    a.client_types = list;
    a.n_client_types = 1;
    char *found = udpai_config_name_differences(&a, &b);
    assert_non_null(found);
    assert_non_null(strstr(found, " and 2 more"));
    udpai_free(found);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_alike_is_not_named),
        cmocka_unit_test(a_section_that_only_one_has_is_named),
        cmocka_unit_test(sections_and_their_fields_are_named),
        cmocka_unit_test(all_fields_of_a_section_are_named),
        cmocka_unit_test(of_a_list_the_places_are_named),
        cmocka_unit_test(one_of_several_kinds_is_compared),
        cmocka_unit_test(many_are_counted),
    };
    return cmocka_run_group_tests_name("daemon config_difference", tests, NULL, NULL);
}
