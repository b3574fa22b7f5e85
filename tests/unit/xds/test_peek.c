/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of payloads, found along fixed paths and in hostile ones. */
#include <stdio.h>

#include "model/types.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "xds/peek.h"

#define MANAGER                                                                                    \
    "type.googleapis.com/"                                                                         \
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

static int
teardown(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

static void
expect_name(const char *type, udpai_str payload, const char *expected)
{
    udpai_str name = {0};
    char url[128];
    snprintf(url, sizeof(url), "type.googleapis.com/%s", type);
    assert_int_equal(udpai_xds_peek_name(udpai_str_from(url), payload, &name), expected != NULL);
    if (expected)
        assert_str(name, expected);
}

static void
every_type_with_a_name_has_it(void **state)
{
    (void)state;
    static const char *const types[] = {
        "envoy.config.cluster.v3.Cluster",
        "envoy.config.endpoint.v3.ClusterLoadAssignment",
        "envoy.config.listener.v3.Listener",
        "envoy.config.route.v3.RouteConfiguration",
        "envoy.config.route.v3.ScopedRouteConfiguration",
        "envoy.extensions.transport_sockets.tls.v3.Secret",
        "envoy.config.core.v3.TypedExtensionConfig",
        "envoy.service.runtime.v3.Runtime",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        expect_name(types[i], W_JOIN(W_VARINT(7, 1), W_TEXT(1, "it"), W_TEXT(30, "x")), "it");
}

static void
other_types_have_none(void **state)
{
    (void)state;
    expect_name("envoy.config.endpoint.v3.LbEndpoint", W_TEXT(1, "it"), NULL);
    expect_name("envoy.config.route.v3.VirtualHost", W_TEXT(1, "it"), NULL);
    expect_name("envoy.config.cluster.v3.ClusterCollection", W_TEXT(1, "it"), NULL);
    expect_name("acme.Thing", W_TEXT(1, "it"), NULL);
    expect_name("", W_TEXT(1, "it"), NULL);
}

static void
what_is_malformed_has_no_name(void **state)
{
    (void)state;
    const char *type = "envoy.config.cluster.v3.Cluster";
    expect_name(type, W_NOTHING, NULL);
    expect_name(type, W_TEXT(1, ""), NULL);
    expect_name(type, W_VARINT(1, 5), NULL);
    expect_name(type, W_BYTES(1, "\xff\xfe"), NULL);
    expect_name(type, W_JOIN(W_TEXT(1, "it"), UDPAI_STR("\x0a\x7f")), NULL);
    expect_name(type, W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b")), "b"); /* the last one counts */
    udpai_str whole = W_JOIN(W_TEXT(1, "it"), W_TEXT(2, "x"));
    for (size_t cut = 1; cut < whole.len; cut++)
        expect_name(type, (udpai_str){whole.data, cut}, cut == 4 ? "it" : NULL);
}

static void
expect_endpoints(udpai_str cluster, const char *expected)
{
    udpai_str name = {0};
    assert_int_equal(udpai_xds_peek_endpoints_name(cluster, &name), expected != NULL);
    if (expected)
        assert_str(name, expected);
}

#define NAME(text) W_TEXT(1, text)
#define TYPE_EDS W_VARINT(2, 3)
#define SERVICE(text) W_MESSAGE(3, W_MESSAGE(1, W_EMPTY(3)), W_TEXT(2, text))

static void
clusters_with_eds_say_whose_endpoints_they_want(void **state)
{
    (void)state;
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, SERVICE("svc")), "svc");
    expect_endpoints(W_JOIN(SERVICE("svc"), TYPE_EDS, NAME("c")), "svc");
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, W_MESSAGE(3, W_MESSAGE(1, W_EMPTY(3)))), "c");
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS), "c");
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, SERVICE("a"), SERVICE("b")), "b"); /* they merge */
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, SERVICE("a"), W_EMPTY(3)), "a");
}

static void
other_clusters_want_none(void **state)
{
    (void)state;
    expect_endpoints(W_JOIN(NAME("c"), SERVICE("svc")), NULL); /* static */
    expect_endpoints(W_JOIN(NAME("c"), W_VARINT(2, 1), SERVICE("svc")), NULL);
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, W_VARINT(2, 0)), NULL);
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, W_EMPTY(38)), NULL); /* the oneof's last member */
    expect_endpoints(W_JOIN(NAME("c"), W_EMPTY(38), TYPE_EDS), "c");
    expect_endpoints(W_JOIN(TYPE_EDS), NULL);
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, W_MESSAGE(3, UDPAI_STR("\x12\x7f"))), NULL);
    expect_endpoints(W_JOIN(NAME("c"), TYPE_EDS, UDPAI_STR("\x0b")), NULL); /* a group */
    expect_endpoints(W_NOTHING, NULL);
}

static void
few_types_go_out_whole(void **state)
{
    (void)state;
    assert_true(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_CLUSTER)));
    assert_true(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_LISTENER)));
    assert_true(udpai_type_is_whole(
        UDPAI_STR("type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration")));
    assert_false(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_ENDPOINTS)));
    assert_false(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_ROUTES)));
    assert_false(udpai_type_is_whole(UDPAI_STR("")));
}

/* ---- routes, and collections ---- */

static void
add_route(void *userdata, udpai_str name)
{
    char *text = userdata;
    snprintf(text + strlen(text), 256 - strlen(text), "%.*s ", (int)name.len, name.data);
}

static void
expect_routes(udpai_str listener, const char *expected)
{
    char text[256] = "";
    udpai_xds_peek_routes(listener, add_route, text);
    assert_string_equal(text, expected);
}

static void
expect_collections(udpai_str assignment, const char *expected)
{
    char text[256] = "";
    udpai_xds_peek_collections(assignment, add_route, text);
    assert_string_equal(text, expected);
}

static void
localities_say_which_collections_they_want(void **state)
{
    (void)state;
    udpai_str one = W_MESSAGE(2, W_MESSAGE(8, W_EMPTY(1), W_TEXT(2, "a/*")), W_VARINT(5, 1)),
              other = W_MESSAGE(2, W_MESSAGE(8, W_TEXT(2, "b/*")));
    expect_collections(W_JOIN(NAME("c"), one, W_MESSAGE(2, W_VARINT(5, 1)), other), "a/* b/* ");
    expect_collections(NAME("c"), "");
    expect_collections(W_MESSAGE(2, W_MESSAGE(8, W_TEXT(2, ""))), "");
    expect_collections(W_JOIN(one, UDPAI_STR("\x12")), ""); /* cut off */
    wire_free_all();
}

static udpai_str
any_of(const char *url, udpai_str value)
{
    return W_JOIN(W_TEXT(1, url), wire_bytes(2, value));
}

static udpai_str
rds(const char *name)
{
    return W_MESSAGE(3, W_EMPTY(1), W_TEXT(2, name));
}

static udpai_str
chain(uint32_t number, udpai_str manager)
{
    return W_MESSAGE(number,
                     W_MESSAGE(3, W_TEXT(1, "http"), wire_bytes(4, any_of(MANAGER, manager))));
}

static void
listeners_say_which_routes_they_want(void **state)
{
    (void)state;
    expect_routes(W_JOIN(NAME("l"), chain(3, rds("r1")), chain(3, rds("r2")), chain(25, rds("r3"))),
                  "r1 r2 r3 ");
    expect_routes(W_JOIN(NAME("l"), W_MESSAGE(19, wire_bytes(1, any_of(MANAGER, rds("api"))))),
                  "api ");
    expect_routes(chain(3, W_JOIN(rds("r1"), W_EMPTY(4))), ""); /* the routes are in the listener */
    expect_routes(chain(3, W_JOIN(W_EMPTY(31), rds("r1"))), "r1 ");
    expect_routes(chain(3, rds("")), "");
    expect_routes(chain(3, W_JOIN(rds("r1"), UDPAI_STR("\x7f"))), "");
    expect_routes(W_MESSAGE(3, W_MESSAGE(3, wire_bytes(4, any_of("x/tcp", rds("r1"))))), "");
    expect_routes(W_JOIN(chain(3, rds("r1")), UDPAI_STR("\x7f")), ""); /* what comes before, too */
    expect_routes(W_NOTHING, "");
}

/* ScopedRoutes: a name, how the scope is found, and where the scopes are. */
static udpai_str
scoped(udpai_str scopes)
{
    return W_MESSAGE(31, W_TEXT(1, "n"), W_EMPTY(2), W_EMPTY(3), scopes);
}

static udpai_str
scope(const char *routes)
{
    return W_JOIN(W_TEXT(1, "s"), W_TEXT(2, routes), W_EMPTY(3), W_VARINT(4, 1));
}

#define SCOPE_LIST(...) W_MESSAGE(4, __VA_ARGS__)
#define SCOPES_BY_SRDS W_MESSAGE(5, W_EMPTY(1))

static void
scopes_in_a_listener_say_which_routes_they_want(void **state)
{
    (void)state;
    udpai_str list = SCOPE_LIST(wire_bytes(1, scope("r1")), wire_bytes(1, scope("r2")));
    expect_routes(chain(3, scoped(list)), "r1 r2 ");
    expect_routes(W_JOIN(chain(3, scoped(list)), chain(25, rds("r3"))), "r1 r2 r3 ");
    expect_routes(chain(3, W_JOIN(rds("r0"), scoped(list))), "r1 r2 "); /* the last one counts */
    expect_routes(chain(3, W_JOIN(scoped(list), rds("r0"))), "r0 ");
    expect_routes(chain(3, scoped(W_JOIN(list, SCOPES_BY_SRDS))), "");
    expect_routes(chain(3, scoped(SCOPE_LIST(wire_bytes(1, scope(""))))), "");
    expect_routes(chain(3, scoped(W_JOIN(list, UDPAI_STR("\x7f")))), "");
    expect_routes(chain(3, W_JOIN(scoped(list), W_EMPTY(4))), "");
    assert_false(udpai_xds_peek_is_scoped(chain(3, scoped(list))));
}

static void
listeners_say_whether_they_want_scopes(void **state)
{
    (void)state;
    udpai_str by_srds = scoped(SCOPES_BY_SRDS), list = SCOPE_LIST(wire_bytes(1, scope("r1")));
    assert_true(udpai_xds_peek_is_scoped(chain(3, by_srds)));
    assert_true(udpai_xds_peek_is_scoped(chain(25, by_srds)));
    assert_true(udpai_xds_peek_is_scoped(W_MESSAGE(19, wire_bytes(1, any_of(MANAGER, by_srds)))));
    assert_true(udpai_xds_peek_is_scoped(W_JOIN(chain(3, rds("r")), chain(3, by_srds))));
    assert_true(udpai_xds_peek_is_scoped(chain(3, scoped(W_JOIN(list, SCOPES_BY_SRDS)))));
    assert_false(udpai_xds_peek_is_scoped(chain(3, scoped(W_JOIN(SCOPES_BY_SRDS, list)))));
    assert_false(udpai_xds_peek_is_scoped(chain(3, W_JOIN(by_srds, rds("r")))));
    assert_false(udpai_xds_peek_is_scoped(chain(3, W_JOIN(by_srds, UDPAI_STR("\x7f")))));
    assert_false(udpai_xds_peek_is_scoped(W_NOTHING));
}

static void
scopes_say_which_routes_they_want(void **state)
{
    (void)state;
    char text[256] = "";
    udpai_xds_peek_scope(scope("r1"), add_route, text);
    assert_string_equal(text, "r1 ");
    udpai_xds_peek_scope(W_JOIN(scope("r2"), W_TEXT(2, "r3")), add_route, text);
    udpai_xds_peek_scope(W_JOIN(W_TEXT(1, "s"), W_EMPTY(5)), add_route, text); /* they are in it */
    udpai_xds_peek_scope(W_JOIN(scope("r4"), UDPAI_STR("\x7f")), add_route, text);
    assert_string_equal(text, "r1 r3 ");
}

/* ---- where it comes from ---- */

static void
expect_eds(udpai_str source, bool is_elsewhere)
{
    udpai_xds_eds eds;
    udpai_str cluster =
        W_JOIN(NAME("c"), W_VARINT(2, 3), W_MESSAGE(3, wire_bytes(1, source), W_TEXT(2, "svc")));
    assert_true(udpai_xds_peek_eds(cluster, &eds));
    assert_str(eds.name, "svc");
    assert_int_equal(eds.is_elsewhere, is_elsewhere);
}

static void
endpoints_come_from_here_or_by_a_file(void **state)
{
    (void)state;
    udpai_xds_eds eds;
    expect_eds(W_NOTHING, false);
    expect_eds(W_JOIN(W_EMPTY(3), W_VARINT(6, 2)), false); /* ADS */
    expect_eds(W_EMPTY(5), false);                         /* the source of the cluster itself */
    expect_eds(W_MESSAGE(2, W_VARINT(1, 2)), false);       /* a stream of its own */
    expect_eds(W_TEXT(1, "/etc/eds.yaml"), true);
    expect_eds(W_MESSAGE(8, W_TEXT(1, "/etc/eds.yaml")), true);
    expect_eds(W_JOIN(W_TEXT(1, "/etc/eds.yaml"), W_EMPTY(3)), false); /* the last one counts */
    assert_false(udpai_xds_peek_eds(
        W_JOIN(NAME("c"), W_VARINT(2, 3), W_MESSAGE(3, wire_bytes(1, UDPAI_STR("\x0a\x7f")))),
        &eds));
}

#define TLS "x/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"

static udpai_str
sds(uint32_t number, const char *name, udpai_str source)
{
    return W_MESSAGE(number, W_TEXT(1, name), wire_bytes(2, source));
}

static udpai_str
socket_of(uint32_t number, udpai_str common)
{
    return W_MESSAGE(number, W_TEXT(1, "tls"),
                     wire_bytes(3, any_of(TLS, W_MESSAGE(1, common, W_TEXT(4, "h2")))));
}

static void
expect_secrets(udpai_str cluster, const char *expected)
{
    char text[256] = "";
    udpai_xds_peek_secrets(cluster, add_route, text);
    assert_string_equal(text, expected);
}

static void
clusters_say_which_secrets_they_need(void **state)
{
    (void)state;
    udpai_str ads = W_EMPTY(3), file = W_MESSAGE(8, W_TEXT(1, "/etc/sds.yaml"));
    expect_secrets(W_JOIN(NAME("c"), socket_of(24, sds(6, "certificate", ads))), "certificate ");
    expect_secrets(socket_of(24, W_JOIN(sds(6, "a", ads), sds(6, "b", ads), sds(7, "ca", ads))),
                   "a b ca ");
    expect_secrets(socket_of(24, W_MESSAGE(8, W_EMPTY(1), sds(2, "ca", ads))), "ca ");
    expect_secrets(W_MESSAGE(43, W_TEXT(1, "m"), socket_of(3, sds(6, "matched", ads))), "matched ");
    expect_secrets(socket_of(24, sds(6, "by a file", file)), "");
    expect_secrets(socket_of(24, W_MESSAGE(6, W_TEXT(1, "the client's own"))), "");
    expect_secrets(socket_of(24, sds(6, "", ads)), "");
    expect_secrets(W_MESSAGE(24, wire_bytes(3, any_of("x/raw", W_MESSAGE(1, sds(6, "a", ads))))),
                   "");
    expect_secrets(W_JOIN(socket_of(24, sds(6, "a", ads)), UDPAI_STR("\x7f")), "");
    expect_secrets(W_NOTHING, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_type_with_a_name_has_it, teardown),
        cmocka_unit_test_teardown(other_types_have_none, teardown),
        cmocka_unit_test_teardown(what_is_malformed_has_no_name, teardown),
        cmocka_unit_test_teardown(clusters_with_eds_say_whose_endpoints_they_want, teardown),
        cmocka_unit_test_teardown(other_clusters_want_none, teardown),
        cmocka_unit_test_teardown(few_types_go_out_whole, teardown),
        cmocka_unit_test_teardown(localities_say_which_collections_they_want, teardown),
        cmocka_unit_test_teardown(listeners_say_which_routes_they_want, teardown),
        cmocka_unit_test_teardown(scopes_in_a_listener_say_which_routes_they_want, teardown),
        cmocka_unit_test_teardown(listeners_say_whether_they_want_scopes, teardown),
        cmocka_unit_test_teardown(scopes_say_which_routes_they_want, teardown),
        cmocka_unit_test_teardown(endpoints_come_from_here_or_by_a_file, teardown),
        cmocka_unit_test_teardown(clusters_say_which_secrets_they_need, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
