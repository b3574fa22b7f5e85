/* SPDX-License-Identifier: Apache-2.0 */
/* When udpactl hints at clients whose load has no subscription. */
#include "ctl/load_hint.h"

#include "ctl/status_view.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

static udpa_resource *
session_of(const char *protocol, bool all, size_t n_clusters)
{
    uint8_t room[256];
    char *clusters[] = {(char *)(uintptr_t) "a"};
    Udpa__Status__V1__LoadReportingStatus load = UDPA__STATUS__V1__LOAD_REPORTING_STATUS__INIT;
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    Udpa__Status__V1__SubscriptionStatus subscription = UDPA__STATUS__V1__SUBSCRIPTION_STATUS__INIT,
                                         *subscriptions[] = {&subscription};
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    load.all_clusters = all;
    load.clusters = clusters;
    load.n_clusters = n_clusters;
    session.protocol = (char *)(uintptr_t)protocol;
    session.load_reporting = strncmp(protocol, "lrs", 3) == 0 ? &load : NULL;
    subscription.type_url = (char *)(uintptr_t) "type.googleapis.com/udpa.load.v1.ClusterLoad";
    session.subscriptions = subscriptions;
    session.n_subscriptions = strcmp(protocol, "udpa") == 0;
    spec.name = "udpa.node/n/x";
    spec.type_url = "type.googleapis.com/udpa.status.v1.SessionStatus";
    spec.payload = room;
    assert_true(protobuf_c_message_get_packed_size(&session.base) <= sizeof(room));
    spec.payload_size = protobuf_c_message_pack(&session.base, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

/* Gives the resources up. */
static void
expect(udpa_resource **resources, size_t n, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_ctl_put_load_hint(&out, resources, n);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

static void
test_load_that_nobody_takes(void **state)
{
    (void)state;
    udpa_resource *one[] = {session_of("lrs", false, 0), session_of("lrs", false, 1)};
    expect(
        one, 2,
        "\nHINT\n1 client (protocol lrs) offers load, and it has no subscribers here, so none is "
        "asked for: subscribe to udpa.load.v1.ClusterLoad, or remove load_stats_config from the "
        "client\n");
    udpa_resource *two[] = {session_of("lrs", false, 0), session_of("lrs", false, 0)};
    expect(
        two, 2,
        "\nHINT\n2 clients (protocol lrs) offer load, and it has no subscribers here, so none is "
        "asked for: subscribe to udpa.load.v1.ClusterLoad, or remove load_stats_config from the "
        "clients\n");
}

static void
test_load_that_somebody_takes(void **state)
{
    (void)state;
    udpa_resource *taken[] = {session_of("lrs", true, 0), session_of("lrs", false, 1),
                              session_of("xds-delta", false, 0), RESOURCE("com.acme/x", "1")};
    expect(taken, UDPAI_ARRAY_LEN(taken), "");
    udpa_resource *above[] = {session_of("lrs", false, 0), session_of("lrs-upstream", false, 0)};
    expect(above, 2, "");
    udpa_resource *below[] = {session_of("lrs", false, 0), session_of("udpa", false, 0)};
    expect(below, 2, "");
}

static void
test_it_is_part_of_the_status(void **state)
{
    (void)state;
    udpa_resource *resource = session_of("lrs", false, 0);
    udpai_strbuf out = {0};
    udpai_cli_layout layout = {0};
    udpai_ctl_put_sessions(&out, &layout, &resource, 1, 0);
    assert_non_null(strstr(out.data, "\nHINT\n1 client "));
    udpai_strbuf_done(&out);
    udpa_resource_unref(resource);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_that_nobody_takes),
        cmocka_unit_test(test_load_that_somebody_takes),
        cmocka_unit_test(test_it_is_part_of_the_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
