/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing negative is said before it is certain, in either protocol. */
#include <stdio.h>

#include "xds_test.h"

/* A node that has just begun: it knows nothing, and not even whether there is anything. */
static int
setup(void **state)
{
    xds_pair *self = calloc(1, sizeof(*self));
    xds_world_init(&self->world);
    xds_settle_except(&self->world, "");
    xds_client_open(&self->delta, &self->world, true);
    xds_client_open(&self->sotw, &self->world, false);
    *state = self;
    return 0;
}

static void
a_cold_node_says_nothing(void **state)
{
    xds_pair *self = *state;
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "", "");
    fake_hub_advance(&self->world.hub, 3600 * 1000); /* however long it takes, but … */
    xds_pair_expect(self, "", "CDS[]"); /* … to who holds nothing, and can lose nothing */
}

/* ---- who holds nothing, in the state of the world ---- */

#define FIRST_ANSWER_MS 10000

static void
who_holds_nothing_is_sent_what_there_is_after_a_while(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1# +LDS/l=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "LDS", "l m");
    xds_pair_expect(self, "CDS[a b] LDS[l]", "");
    fake_hub_advance(&self->world.hub, FIRST_ANSWER_MS - 1);
    xds_expect(&self->sotw, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(&self->sotw, "CDS[a b]"); /* by name it waits */
    xds_change(&self->world, "+CDS/c=1# -CDS/b");
    xds_expect(&self->sotw, "CDS[a b c]"); /* nothing is taken away */
    xds_change(&self->world, "+CDS/a=2#");
    xds_expect(&self->sotw, "CDS[a b c]");
    xds_settle(&self->world);
    xds_expect(&self->sotw, "LDS[l] CDS[a c]");
}

static void
who_comes_later_is_answered_at_once(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    fake_hub_advance(&self->world.hub, FIRST_ANSWER_MS);
    xds_ask_for(&self->sotw, "CDS", "");
    xds_expect(&self->sotw, "CDS[a]");
}

static void
who_holds_something_waits(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    XDS_SEND(&self->sotw, "CDS", .version = "1");
    fake_hub_advance(&self->world.hub, 10 * FIRST_ANSWER_MS);
    xds_expect(&self->sotw, "");
    xds_settle(&self->world);
    xds_expect(&self->sotw, "CDS[a]");
}

/* It takes a state for all that there is, and would pass on what it lacks as removed. */
static void
a_node_waits(void **state)
{
    xds_pair *self = *state;
    self->sotw.features[0] = "udpa.node.v1";
    xds_change(&self->world, "+CDS/a=1#");
    xds_ask_for(&self->sotw, "CDS", "");
    fake_hub_advance(&self->world.hub, 10 * FIRST_ANSWER_MS);
    xds_expect(&self->sotw, "");
    xds_settle(&self->world);
    xds_expect(&self->sotw, "CDS[a]");
}

static void
then_it_answers_everybody(void **state)
{
    xds_pair *self = *state;
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "", "");
    xds_settle(&self->world);
    xds_expect(&self->sotw, "CDS[] LDS[]");
    xds_expect(&self->delta, "LDS[-l] EDS[-a] CDS[]");
    xds_pair_expect(self, "", "");
}

static void
what_is_there_is_sent_at_once(void **state)
{
    xds_pair *self = *state;
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_ask(self, "EDS", "a b");
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1 +LDS/l=1");
    /* A state of the world says what is not there, too, so it waits; one of names that are all
     * there does not. */
    xds_pair_expect(self, "CDS[a] EDS[a] LDS[l]", "EDS[a] LDS[l]");
    xds_change(&self->world, "+CDS/b=1# +EDS/a=2");
    xds_pair_expect(self, "CDS[b] EDS[a]", "EDS[a]");
    xds_settle(&self->world);
    xds_pair_expect(self, "EDS[-b]", "CDS[a b]");
}

static void
only_what_is_not_known_waits(void **state)
{
    xds_pair *self = *state;
    xds_settle_except(&self->world, "com.acme");
    xds_pair_ask(self, "EDS", "gone com.acme/gone");
    xds_pair_ask(self, "LDS", "gone");
    xds_pair_expect(self, "LDS[-gone] EDS[-gone]", "LDS[]");
    xds_settle(&self->world);
    xds_pair_expect(self, "EDS[-com.acme/gone]", "");
}

static void
a_wildcard_waits_for_all_namespaces_that_are_shown(void **state)
{
    xds_pair *self = *state;
    xds_settle_except(&self->world, "com.acme");
    xds_change(&self->world, "+CDS/a=1#");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a]", "");
    xds_settle_except(&self->world, "org.other"); /* which nobody here is shown */
    xds_pair_expect(self, "", "CDS[a]");
}

static void
what_a_client_held_vanishes_only_when_that_is_certain(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], held[256];
    snprintf(held, sizeof(held), "a=%s gone=%s", xds_hash("CDS/a=1", a), a);
    XDS_SEND(&self->delta, "CDS", .names = "*", .held = held);
    xds_expect(&self->delta, "");
    xds_change(&self->world, "+CDS/a=1");
    xds_expect(&self->delta, ""); /* it holds that */
    xds_settle(&self->world);
    xds_expect(&self->delta, "CDS[-gone]");
}

static void
what_a_client_held_and_has_changed_is_sent_at_once(void **state)
{
    xds_pair *self = *state;
    XDS_SEND(&self->delta, "CDS", .names = "*", .held = "a=old b=old");
    xds_change(&self->world, "+CDS/a=1");
    xds_expect(&self->delta, "CDS[a]");
    xds_change(&self->world, "+CDS/b=1");
    xds_expect(&self->delta, "CDS[b]");
    xds_settle(&self->world);
    xds_expect(&self->delta, "");
}

static void
what_a_client_held_by_name_is_answered_by_name(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], held[256];
    snprintf(held, sizeof(held), "a=%s b=old gone=old other=old", xds_hash("EDS/a=1", a));
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +EDS/other=1");
    XDS_SEND(&self->delta, "EDS", .names = "a b gone", .held = held);
    xds_expect(&self->delta, "EDS[b]");
    xds_settle(&self->world);
    xds_expect(&self->delta, "EDS[-gone]");
}

static void
a_delta_wildcard_that_holds_all_it_had_is_answered(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], held[128];
    snprintf(held, sizeof(held), "a=%s", xds_hash("CDS/a=1", a));
    xds_change(&self->world, "+CDS/a=1");
    xds_settle(&self->world);
    XDS_SEND(&self->delta, "CDS", .held = held);
    xds_expect(&self->delta, "CDS[]"); /* who waits for the first answer need not wait on */
}

/* A second wait: a source is lost, and with it the certainty. */
static void
what_goes_while_it_is_uncertain_is_kept_by_name(void **state)
{
    xds_pair *self = *state;
    xds_settle(&self->world);
    xds_change(&self->world, "+LDS/l=1");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_expect(self, "LDS[l]", "LDS[l]");
    xds_settle_except(&self->world, "local");
    xds_change(&self->world, "-LDS/l");
    xds_pair_expect(self, "", "");
    xds_settle(&self->world);
    xds_pair_expect(self, "LDS[-l]", "LDS[]");
}

static void
what_goes_and_comes_back_was_never_gone(void **state)
{
    xds_pair *self = *state;
    xds_settle(&self->world);
    xds_change(&self->world, "+LDS/l=1 +EDS/a=1");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "EDS[a] LDS[l]", "EDS[a] LDS[l]");
    xds_settle_except(&self->world, "local");
    xds_change(&self->world, "-LDS/l -EDS/a");
    xds_change(&self->world, "+LDS/l=2 +EDS/a=2");
    xds_pair_expect(self, "EDS[a] LDS[l]", "EDS[a] LDS[l]");
    xds_settle(&self->world);
    xds_pair_expect(self, "", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, xds_pair_teardown)
        TEST(a_cold_node_says_nothing),
        TEST(who_holds_nothing_is_sent_what_there_is_after_a_while),
        TEST(who_comes_later_is_answered_at_once),
        TEST(who_holds_something_waits),
        TEST(a_node_waits),
        TEST(then_it_answers_everybody),
        TEST(what_is_there_is_sent_at_once),
        TEST(only_what_is_not_known_waits),
        TEST(a_wildcard_waits_for_all_namespaces_that_are_shown),
        TEST(what_a_client_held_vanishes_only_when_that_is_certain),
        TEST(what_a_client_held_and_has_changed_is_sent_at_once),
        TEST(what_a_client_held_by_name_is_answered_by_name),
        TEST(a_delta_wildcard_that_holds_all_it_had_is_answered),
        TEST(what_goes_while_it_is_uncertain_is_kept_by_name),
        TEST(what_goes_and_comes_back_was_never_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
