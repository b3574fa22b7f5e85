/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict applied to a ClusterLoadAssignment: a byte, the policy; an EndpointHealth, its length
 * in two bytes before it; the rest is the assignment. Whatever they are: what comes out is
 * well-formed, has no more than a small field for each endpoint besides, and applied again does not
 * change. */
#include "base/proto.h"
#include "reports/health.h"
#include "tests/fuzz/fuzz.h"

static bool
is_well_formed(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        ;
    return !reader.failed;
}

static void
check(udpai_str assignment, const udpai_health_verdict *verdict)
{
    udpa_bytes *once = NULL, *twice = NULL;
    udpa_err err = udpai_health_apply(assignment, verdict, &once, NULL);
    FUZZ_CHECK(err == UDPA_OK || (err == UDPA_ERR_MALFORMED && !once));
    if (!once)
        return;
    FUZZ_CHECK(verdict->endpoints.n > 0);
    udpai_str result = udpai_bytes_view(once);
    FUZZ_CHECK(is_well_formed(assignment) && is_well_formed(result));
    FUZZ_CHECK(result.len <= assignment.len * 2);
    FUZZ_CHECK(udpai_health_apply(result, verdict, &twice, NULL) == UDPA_OK);
    FUZZ_CHECK(!twice);
    udpa_bytes_unref(once);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_health_policy policy = (udpai_health_policy)(fuzz_take_byte(&input) % 3);
    size_t high = fuzz_take_byte(&input), low = fuzz_take_byte(&input);
    const udpai_health_opinion opinion = {fuzz_take(&input, high << 8 | low), 0};
    udpai_health_verdict verdict;
    size_t n_malformed;
    FUZZ_CHECK(udpai_health_merge(&opinion, 1, 0, policy, &verdict, &n_malformed) == UDPA_OK);
    FUZZ_CHECK(n_malformed == 0 || verdict.endpoints.n == 0);
    for (size_t i = 1; i < verdict.endpoints.n; i++)
        FUZZ_CHECK(udpai_health_address_cmp(&verdict.endpoints.items[i - 1].address,
                                            &verdict.endpoints.items[i].address) < 0);
    check(input, &verdict);
    udpai_health_verdict_done(&verdict);
    return 0;
}
