/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that no listener names, but a scope: in the listener itself, or by SRDS. */
#include "tests/unit/xds/upstream_test.h"

#include "tests/harness/test.h"
#include "tests/harness/wire.h"

static udpai_str
listener_by_srds(const char *name)
{
    return upstream_scoped_listener(name, W_MESSAGE(5, W_EMPTY(1)));
}

static udpai_str
plain_listener(const char *name)
{
    return upstream_any(LISTENER, W_TEXT(1, name));
}

static udpai_str
routes(const char *name)
{
    return upstream_any(ROUTES, W_TEXT(1, name));
}

/* Of this type, with these names; other types' answers before it do not matter. */
static void
expect_request_of(upstream_bed *bed, const char *type_url, const char *name)
{
    do
        assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, udpai_str_from(type_url)) ||
           bed->request.n_names != (name ? 1 : 0));
    if (name)
        assert_str(bed->request.names[0], name);
}

static void
expect_no_request_of(upstream_bed *bed, const char *type_url)
{
    while (upstream_next_request(bed))
        assert_false(udpai_str_eq(bed->request.type_url, udpai_str_from(type_url)));
}

static void
respond_listener(upstream_bed *bed, const char *nonce, udpai_str listener)
{
    upstream_respond(bed, W_JOIN(upstream_of_type(LISTENER, nonce), wire_bytes(2, listener)));
    upstream_expect(bed, "nothing");
}

/* With routes mirrored, a listener that has its scopes by SRDS, and one scope. */
static void
begin_with_a_scope(upstream_bed *bed)
{
    upstream_ask_all(bed, ROUTES);
    upstream_expect_request(bed, LISTENER, "");
    respond_listener(bed, "n1", listener_by_srds("l"));
    expect_request_of(bed, SCOPES, NULL);
    upstream_expect(bed, ""); /* not complete: the scopes have not said which routes there are */
    upstream_respond(
        bed, W_JOIN(upstream_of_type(SCOPES, "n1"), wire_bytes(2, upstream_scope("s", "r1"))));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "");
    expect_request_of(bed, ROUTES, "r1");
    upstream_respond(bed, W_JOIN(upstream_of_type(ROUTES, "n1"), wire_bytes(2, routes("r1"))));
    upstream_expect(bed, "+com.acme/r1 ");
    upstream_expect(bed, "complete");
}

static void
routes_are_asked_for_as_scopes_name_them(void **state)
{
    upstream_bed *bed = *state;
    begin_with_a_scope(bed);
    upstream_respond(
        bed, W_JOIN(upstream_of_type(SCOPES, "n2"), wire_bytes(2, upstream_scope("s", "r2"))));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "-com.acme/r1 ");
    expect_request_of(bed, ROUTES, "r2");
    upstream_respond(bed, W_JOIN(upstream_of_type(ROUTES, "n2"), wire_bytes(2, routes("r2"))));
    upstream_expect(bed, "+com.acme/r2 ");
}

static void
routes_of_a_scope_list_in_a_listener_are_asked_for(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ROUTES);
    upstream_expect_request(bed, LISTENER, "");
    udpai_str list = W_MESSAGE(4, wire_bytes(1, W_JOIN(W_TEXT(1, "s"), W_TEXT(2, "r1"))));
    respond_listener(bed, "n1", upstream_scoped_listener("l", list));
    expect_request_of(bed, ROUTES, "r1");
    upstream_respond(bed, W_JOIN(upstream_of_type(ROUTES, "n1"), wire_bytes(2, routes("r1"))));
    upstream_expect(bed, "+com.acme/r1 ");
    upstream_expect(bed, "complete");
    expect_no_request_of(bed, SCOPES);
}

/* Servers without SRDS may never answer for it. */
static void
scopes_that_no_listener_wants_are_not_asked_for(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ROUTES);
    upstream_expect_request(bed, LISTENER, "");
    respond_listener(bed, "n1", plain_listener("l"));
    upstream_expect(bed, "complete");
    expect_no_request_of(bed, SCOPES);
}

static void
scopes_that_no_listener_wants_any_more_name_nothing(void **state)
{
    upstream_bed *bed = *state;
    begin_with_a_scope(bed);
    respond_listener(bed, "n2", plain_listener("l"));
    upstream_expect(bed, "-com.acme/r1 ");
}

/* The listeners may come from somewhere else. */
static void
scopes_that_are_mirrored_name_routes_without_a_listener(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ROUTES);
    upstream_expect_request(bed, LISTENER, "");
    upstream_respond(bed, upstream_of_type(LISTENER, "n1"));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "complete");
    upstream_ask_all(bed, SCOPES);
    expect_request_of(bed, SCOPES, NULL);
    upstream_respond(
        bed, W_JOIN(upstream_of_type(SCOPES, "n1"), wire_bytes(2, upstream_scope("s", "r1"))));
    upstream_expect(bed, "+com.acme/s ");
    upstream_expect(bed, "complete");
    expect_request_of(bed, ROUTES, "r1");
    upstream_respond(bed, W_JOIN(upstream_of_type(ROUTES, "n1"), wire_bytes(2, routes("r1"))));
    upstream_expect(bed, "+com.acme/r1 ");
    upstream_ask_no_more(bed, SCOPES, "*");
    upstream_expect(bed, "-com.acme/r1 ");
}

static void
a_scope_and_a_listener_may_name_the_same_routes(void **state)
{
    upstream_bed *bed = *state;
    begin_with_a_scope(bed);
    udpai_str list = W_MESSAGE(4, wire_bytes(1, W_JOIN(W_TEXT(1, "s"), W_TEXT(2, "r1"))));
    respond_listener(bed, "n2", upstream_scoped_listener("l", list));
    upstream_expect(bed, "");
}

static void
routes_that_are_wanted_no_more_want_no_scopes(void **state)
{
    upstream_bed *bed = *state;
    begin_with_a_scope(bed);
    upstream_ask_no_more(bed, ROUTES, "*");
    upstream_expect(bed, "-com.acme/r1 ");
    upstream_ask_all(bed, ROUTES);
    upstream_expect(bed, "+com.acme/r1 ");
    upstream_expect(bed, "+com.acme/r1 "); /* what is asked for again is handed up again */
    upstream_expect(bed, "complete");
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, upstream_setup_sotw, upstream_teardown)
    const struct CMUnitTest tests[] = {
        TEST(routes_are_asked_for_as_scopes_name_them),
        TEST(routes_of_a_scope_list_in_a_listener_are_asked_for),
        TEST(scopes_that_no_listener_wants_are_not_asked_for),
        TEST(scopes_that_no_listener_wants_any_more_name_nothing),
        TEST(scopes_that_are_mirrored_name_routes_without_a_listener),
        TEST(a_scope_and_a_listener_may_name_the_same_routes),
        TEST(routes_that_are_wanted_no_more_want_no_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
