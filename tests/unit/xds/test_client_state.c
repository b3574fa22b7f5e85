/* SPDX-License-Identifier: Apache-2.0 */
/* What a client refuses now, as the status of its session has it: not what it refused once. */
#include "session/refused.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds_test.h"

static void
expect_refused(xds_client *client, size_t n, const char *name, bool in_doubt)
{
    udpa_bytes *bytes = client->stream.session->ops->describe(client->stream.session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    udpa_bytes_unref(bytes);
    const Udpa__Status__V1__SubscriptionStatus *first = status->subscriptions[0];
    assert_int_equal(first->n_refused_resources, n);
    if (n) {
        assert_string_equal(first->refused_resources[0]->name, name);
        assert_int_equal(first->refused_resources[0]->in_doubt, in_doubt);
    }
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
what_was_corrected_or_is_gone_is_refused_no_more(void **state)
{
    xds_pair *self = *state;
    xds_client *clients[] = {&self->delta, &self->sotw};
    xds_change(&self->world, "+CDS/a=bad#");
    for (int i = 0; i < 2; i++) {
        xds_send(clients[i], &(xds_ask){.type = "CDS"});
        xds_expect(clients[i], "CDS[a]");
        xds_nack(clients[i], "CDS", "a: no");
        expect_refused(clients[i], 1, "local/a", false);
    }
    xds_change(&self->world, "+CDS/a=2#");
    for (int i = 0; i < 2; i++) {
        expect_refused(clients[i], 0, NULL, false); /* it is to be sent another one */
        xds_expect(clients[i], "CDS[a]");
        xds_ack(clients[i], "CDS");
        expect_refused(clients[i], 0, NULL, false);
    }
    xds_change(&self->world, "+CDS/b=bad#");
    xds_expect(clients[0], "CDS[b]");
    xds_expect(clients[1], "CDS[a b]");
    for (int i = 0; i < 2; i++) {
        xds_nack(clients[i], "CDS", "b: no");
        expect_refused(clients[i], 1, "local/b", false);
    }
    xds_change(&self->world, "-CDS/b");
    xds_expect(clients[0], "CDS[-b]");
    xds_expect(clients[1], "CDS[a]");
    for (int i = 0; i < 2; i++) {
        xds_ack(clients[i], "CDS");
        expect_refused(clients[i], 0, NULL, false);
    }
}

static void
what_is_asked_for_no_more_is_refused_no_more(void **state)
{
    xds_pair *self = *state;
    xds_client *client = &self->delta;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_subscribe(client, "EDS", "a b");
    xds_expect(client, "EDS[a b]");
    xds_nack(client, "EDS", "a: no");
    expect_refused(client, 2, "local/a", false);
    xds_unsubscribe(client, "EDS", "a");
    expect_refused(client, 1, "local/b", true); /* what it said was about another one */
}

/* It is noted by its own name, and asked for by another one. */
static void
what_an_alias_leads_to_is_refused(void **state)
{
    xds_pair *self = *state;
    xds_client *client = &self->delta;
    xds_change(&self->world, "+EDS/a=1^local/other");
    xds_subscribe(client, "EDS", "other");
    xds_expect(client, "EDS[a]");
    xds_nack(client, "EDS", "no");
    expect_refused(client, 1, "local/a", false);
    xds_change(&self->world, "+EDS/a=2^local/other");
    xds_expect(client, "EDS[a]");
    xds_ack(client, "EDS");
    expect_refused(client, 0, NULL, false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_corrected_or_is_gone_is_refused_no_more,
                                        xds_pair_setup, xds_pair_teardown),
        cmocka_unit_test_setup_teardown(what_is_asked_for_no_more_is_refused_no_more,
                                        xds_pair_setup, xds_pair_teardown),
        cmocka_unit_test_setup_teardown(what_an_alias_leads_to_is_refused, xds_pair_setup,
                                        xds_pair_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
