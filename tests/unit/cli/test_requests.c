/* SPDX-License-Identifier: Apache-2.0 */
/* Names that udpactl subscribes to, where an argument may be a name or an id. */
#include "cli/requests.h"

#include "base/strbuf.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

static void
put(udpai_cli_found *found, const char *name, const char *alias)
{
    bool replaced;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = alias ? RESOURCE(name, .aliases = {alias}) : RESOURCE(name);
    assert_ok(udpai_cli_found_put(found, resource, &replaced));
}

/* What is left of two arguments after it was looked what is there: the names, and how many were
 * found. */
static void
expect(const char *first, const char *second, udpai_cli_found *found, const char *wanted)
{
    udpai_cli_requests requests = {0};
    udpai_strbuf out = {0};
    udpai_cli_request *request = udpai_cli_requests_add(&requests, udpai_strdup(TEST_TYPE));
    assert_ok(udpai_cli_request_name(request, first, "local"));
    assert_ok(udpai_cli_request_name(request, second, "local"));
    udpai_cli_requests_decide(&requests, found);
    for (size_t i = 0; i < request->names.n; i++)
        udpai_strbuf_printf(&out, "%s ", request->names.items[i]);
    udpai_strbuf_printf(&out, "%zu", udpai_cli_found_size(found));
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_cli_requests_done(&requests);
    udpai_cli_found_done(found);
    udpai_cli_found_begin(found);
}

static void
test_the_full_name_goes_before_the_id(void **state)
{
    (void)state;
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    expect("prod/a", "b", &found, "prod/a local/b 0");
    put(&found, "local/prod/a", NULL);
    expect("prod/a", "b", &found, "local/prod/a local/b 1");
    put(&found, "prod/a", NULL);
    expect("prod/a", "b", &found, "prod/a local/b 1");
    put(&found, "local/prod/a", NULL);
    put(&found, "prod/a", NULL);
    expect("prod/a", "b", &found, "prod/a local/b 1");
    put(&found, "local/prod/a", NULL);
    put(&found, "test/b", NULL);
    expect("prod/a", "test/b", &found, "local/prod/a test/b 2");
    udpai_cli_found_done(&found);
}

/* What is asked for by another name too is shown. */
static void
test_both_are_meant(void **state)
{
    (void)state;
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    put(&found, "local/prod/a", NULL);
    put(&found, "prod/a", NULL);
    expect("prod/a", "local/prod/a", &found, "prod/a local/prod/a 2");
    put(&found, "local/b", "local/prod/a");
    put(&found, "prod/a", NULL);
    expect("prod/a", "b", &found, "prod/a local/b 2");
    udpai_cli_found_done(&found);
}

static udpa_err
request(void *context)
{
    udpai_cli_requests requests = {0};
    (void)context;
    udpai_cli_request *made = udpai_cli_requests_add(&requests, udpai_strdup(TEST_TYPE));
    udpa_err err = made ? udpai_cli_request_name(made, "prod/a", "local") : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_cli_request_full_name(made, "com.acme/a");
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_requests_decide(&requests, &found); /* commands do it in any case */
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(request, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_full_name_goes_before_the_id),
        cmocka_unit_test(test_both_are_meant),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("cli requests", tests, NULL, NULL);
}
