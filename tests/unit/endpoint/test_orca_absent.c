/* SPDX-License-Identifier: Apache-2.0 */
/* A library that was built without ORCA: who asks for it, on either side, is told so. */
#include <udpa/orca.h>

#include "pair.h"
#include "tests/unit/transport/raw.h"

#define WITHOUT "this program was built without ORCA (meson -Dorca=false)"

static void
no_values_are_taken(void **state)
{
    (void)state;
    test_pair pair;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpa_orca_metrics metrics = UDPA_ORCA_METRICS_INIT;
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    assert_int_equal(udpa_orca_set(pair.server, &metrics, &error), UDPA_ERR_UNIMPLEMENTED);
    assert_string_equal(udpa_error_message(error), WITHOUT);
    pair_end(&pair);
}

static void
callers_are_told_by_name(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics",
        "/udpa.service.orca.v1.OpenRcaService/StreamCoreMetrics",
    };
    test_pair pair;
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        raw_client client;
        raw_call call;
        raw_connect(&client, pair.port, NULL, NULL);
        raw_begin(&client, &call, paths[i]);
        raw_half_close(&call);
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        assert_string_equal(call.text, WITHOUT);
        raw_end(&call);
        raw_disconnect(&client);
    }
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_values_are_taken),
        cmocka_unit_test(callers_are_told_by_name),
    };
    return cmocka_run_group_tests_name("endpoint orca absent", tests, NULL, NULL);
}
