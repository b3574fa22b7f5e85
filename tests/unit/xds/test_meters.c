/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of responses and of what clients answer, in both protocols. */
#include "tests/harness/metered.h"
#include "xds_test.h"

static int64_t
counted(const xds_one *self, udpai_metric metric)
{
    return metered(udpai_hub_meters(self->world.hub.hub), metric, xds_type_url("CDS"));
}

static int64_t
n_unanswered(const xds_one *self)
{
    return metered(udpai_hub_meters(self->world.hub.hub), UDPAI_METRIC_UNANSWERED_STREAMS, "");
}

static void
each_response_is_acknowledged_or_rejected(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_subscribe(&self->client, "CDS", "");
    assert_int_equal(counted(self, UDPAI_METRIC_ACKS), 0);
    xds_expect(&self->client, "CDS[a]");
    assert_int_equal(counted(self, UDPAI_METRIC_DELIVERIES), 1);
    assert_true(counted(self, UDPAI_METRIC_DELIVERY_BYTES) > 20);
    assert_int_equal(n_unanswered(self), 1);
    xds_ack(&self->client, "CDS");
    assert_int_equal(n_unanswered(self), 0);
    assert_int_equal(counted(self, UDPAI_METRIC_ACKS), 1);
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a]");
    assert_int_equal(n_unanswered(self), 1);
    xds_nack(&self->client, "CDS", "no");
    assert_int_equal(n_unanswered(self), 0);
    assert_int_equal(counted(self, UDPAI_METRIC_DELIVERIES), 2);
    assert_int_equal(counted(self, UDPAI_METRIC_ACKS), 1);
    assert_int_equal(counted(self, UDPAI_METRIC_NACKS), 1);
}

static uint64_t
memory(const xds_one *self, const char *module)
{
    udpai_hub_show_memory(self->world.hub.hub);
    return (uint64_t)metered(udpai_hub_meters(self->world.hub.hub), UDPAI_METRIC_MEMORY, module);
}

static void
sessions_take_memory_and_give_it_back(void **state)
{
    xds_one *self = *state;
    xds_client other;
    uint64_t before = memory(self, "sessions");
    assert_true(before >= sizeof(udpai_xds));
    xds_change(&self->world, "+CDS/a=1");
    xds_client_open(&other, &self->world, self->client.is_delta);
    assert_true(memory(self, "sessions") - before >= sizeof(udpai_xds));
    XDS_SEND(&other, .type = "CDS", .names = "", .node_id = "somebody", .node_padding = 10000);
    uint64_t asked = memory(self, "sessions");
    assert_true(asked - before >= sizeof(udpai_xds) + sizeof(udpai_xds_type));
    xds_expect(&other, "CDS[a]");
    uint64_t unanswered = memory(self, "sessions");
    assert_true(unanswered - asked >= sizeof(udpai_xds_in_flight));
    assert_true(memory(self, "responses") > 0);
    assert_true(memory(self, "fanout") > 0);
    xds_ack(&other, "CDS");
    assert_true(unanswered - memory(self, "sessions") >= sizeof(udpai_xds_in_flight));
    xds_client_close(&other);
    assert_int_equal(memory(self, "sessions"), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_response_is_acknowledged_or_rejected,
                                        xds_one_setup_delta, xds_one_teardown),
        cmocka_unit_test_setup_teardown(each_response_is_acknowledged_or_rejected,
                                        xds_one_setup_sotw, xds_one_teardown),
        cmocka_unit_test_setup_teardown(sessions_take_memory_and_give_it_back, xds_one_setup_delta,
                                        xds_one_teardown),
        cmocka_unit_test_setup_teardown(sessions_take_memory_and_give_it_back, xds_one_setup_sotw,
                                        xds_one_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
