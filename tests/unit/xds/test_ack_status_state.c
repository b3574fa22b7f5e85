/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged a resource, of xDS clients that are sent states of the world. */
#include "ack_status_test.h"

static void
a_state_speaks_of_all_it_holds(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    xds_ask_for(&self->client, "CDS", "");
    expect(world, "CDS", "local/a", "0 of 1; xds-sotw#1 behind");
    xds_expect(&self->client, "CDS[a b]");
    expect(world, "CDS", "local/a", "0 of 1; xds-sotw#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
    xds_change(world, "+CDS/a=2#");
    xds_expect(&self->client, "CDS[a b]");
    xds_nack(&self->client, "CDS", "a: bad");
    expect(world, "CDS", "local/a", "0 of 1; xds-sotw#1 refused 'a: bad'");
    expect(world, "CDS", "local/b", "1 of 1"); /* as it was accepted before */
    xds_change(world, "+CDS/b=2#");
    xds_expect(&self->client, "CDS[a b]");
    xds_nack(&self->client, "CDS", "a: bad");
    expect(world, "CDS", "local/a", "0 of 1; xds-sotw#1 refused 'a: bad'");
    expect(world, "CDS", "local/b", "0 of 1; xds-sotw#1 in doubt 'a: bad'");
    xds_change(world, "+CDS/a=3#");
    xds_expect(&self->client, "CDS[a b]");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
    expect(world, "CDS", "local/b", "1 of 1");
}

static void
a_state_without_it_removes(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    xds_ask_for(&self->client, "CDS", "");
    catch_up(&self->client);
    xds_change(world, "-CDS/a");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-sotw#1 behind");
    xds_expect(&self->client, "CDS[b]");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-sotw#1 unanswered");
    xds_nack(&self->client, "CDS", "I need it");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-sotw#1 in doubt 'I need it'");
    xds_change(world, "+CDS/b=2#");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "gone: 1 of 1");
}

static void
of_other_types_it_cannot_say_that_they_are_gone(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+EDS/a=1 +EDS/b=1");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_expect(&self->client, "EDS[a b]");
    expect(world, "EDS", "local/a", "0 of 1; xds-sotw#1 unanswered");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/a", "1 of 1");
    xds_change(world, "-EDS/a");
    expect(world, "EDS", "local/a", "gone: 0 of 1; xds-sotw#1 untold");
}

/* Whose payload does not say its full name. */
static void
what_cannot_be_shown_does_not_concern_it(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    static const udpai_str namespaces[] = {UDPAI_STR("com.acme")};
    world->audience.namespaces = namespaces;
    world->audience.n_namespaces = 1;
    xds_change(world, "+CDS/com.acme/a=1!a# +CDS/b=1#");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[b]");
    expect(world, "CDS", "com.acme/a", "0 of 0");
    expect(world, "CDS", "local/b", "0 of 1; xds-sotw#1 unanswered");
}

#define sotw_test(test) cmocka_unit_test_setup_teardown(test, xds_one_setup_sotw, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        sotw_test(a_state_speaks_of_all_it_holds),
        sotw_test(a_state_without_it_removes),
        sotw_test(of_other_types_it_cannot_say_that_they_are_gone),
        sotw_test(what_cannot_be_shown_does_not_concern_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
