/* SPDX-License-Identifier: Apache-2.0 */
/* Type URLs as people write them, completed or left alone. */
#include "endpoint/type.h"

#include "tests/harness/oom.h"

static void
expect(const char *type, const char *wanted)
{
    UDPAI_AUTO_FREE char *url = udpai_type_url_complete(type);
    assert_string_equal(url, wanted);
}

static void
test_completed(void **state)
{
    (void)state;
    expect("envoy.config.cluster.v3.Cluster",
           "type.googleapis.com/envoy.config.cluster.v3.Cluster");
    expect("", "type.googleapis.com/");
}

static void
test_left_alone(void **state)
{
    (void)state;
    expect("type.googleapis.com/a.B", "type.googleapis.com/a.B");
    expect("example.org/types/a.B", "example.org/types/a.B");
    expect("/a.B", "/a.B");
}

static udpa_err
complete(void *context)
{
    UDPAI_AUTO_FREE char *url = udpai_type_url_complete(context);
    return url ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(complete, (char[]){"a.B"});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completed),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("endpoint type", tests, NULL, NULL);
}
