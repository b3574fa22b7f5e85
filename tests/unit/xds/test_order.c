/* SPDX-License-Identifier: Apache-2.0 */
/* Make before break, across types and in both protocols: what is referred to comes before what
 * refers to it, and goes after it. */
#include <stdio.h>

#include "xds_test.h"

static void
what_is_asked_for_in_any_order_comes_in_the_right_one(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+RTDS/t=1 +RDS/r=1 +LDS/l=1 +SDS/s=1 +EDS/a=1 +CDS/a=1");
    xds_pair_ask(self, "RTDS", "t");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_ask(self, "LDS", "");
    xds_pair_ask(self, "SDS", "s");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a] EDS[a] SDS[s] LDS[l] RDS[r] RTDS[t]",
                    "CDS[a] EDS[a] SDS[s] LDS[l] RDS[r] RTDS[t]");
}

/* Cluster a with its endpoints, a listener and a route to it; b is asked for, and missing. */
static void
begin(xds_pair *self)
{
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1 +LDS/l=1 +RDS/r=to-a");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a b");
    xds_pair_ask(self, "LDS", "");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_expect(self, "CDS[a] EDS[a] LDS[l] RDS[r] EDS[-b]", "CDS[a] EDS[a] LDS[l] RDS[r]");
}

static void
changes_of_all_types_come_in_the_right_order(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+RDS/r=2 +LDS/l=2 +EDS/a=2 +CDS/a=2#");
    xds_pair_expect(self, "CDS[a] EDS[a] LDS[l] RDS[r]", "CDS[a] EDS[a] LDS[l] RDS[r]");
}

static void
what_replaces_comes_before_what_is_replaced_goes(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "-CDS/a -EDS/a +RDS/r=to-b +EDS/b=1 +CDS/b=1#");
    xds_pair_expect(self, "CDS[b] EDS[b] RDS[r] EDS[-a] CDS[-a]", "CDS[a b] EDS[b] RDS[r] CDS[b]");
}

static void
by_name_too(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1# +RDS/r=to-a");
    xds_pair_ask(self, "CDS", "a b");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_expect(self, "CDS[a] RDS[r] CDS[-b]", "CDS[a] RDS[r]");
    xds_change(&self->world, "-CDS/a +RDS/r=to-b +CDS/b=1#");
    xds_pair_expect(self, "CDS[b] RDS[r] CDS[-a]", "CDS[a b] RDS[r] CDS[b]");
}

/* Each comes with its own change set, the removal last: nothing is held back, nothing overtakes. */
static void
one_after_the_other_while_a_write_is_under_way(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    begin(self);
    xds_change(&self->world, "+RDS/r=again");
    for (size_t i = 0; i < 2; i++)
        xds_write_one(clients[i]); /* the route is on its way */
    xds_change(&self->world, "+CDS/b=1#");
    xds_change(&self->world, "+EDS/b=1");
    xds_change(&self->world, "+RDS/r=to-b");
    xds_change(&self->world, "-CDS/a");
    xds_pair_expect(self, "RDS[r] CDS[b] EDS[b] RDS[r] CDS[-a]",
                    "RDS[r] CDS[a b] EDS[b] RDS[r] CDS[b]");
}

static void
changes_during_a_write_are_one(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    begin(self);
    xds_change(&self->world, "+CDS/a=2#");
    for (size_t i = 0; i < 2; i++)
        xds_write_one(clients[i]);
    for (char content = '3'; content <= '9'; content++) {
        const char change[] = {'+', 'C', 'D', 'S', '/', 'a', '=', content, '#', '\0'};
        xds_change(&self->world, change);
    }
    xds_pair_expect(self, "CDS[a] CDS[a]", "CDS[a] CDS[a]");
}

static void
what_came_and_went_during_a_write_is_not_seen(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    begin(self);
    xds_change(&self->world, "+LDS/l=2");
    for (size_t i = 0; i < 2; i++)
        xds_write_one(clients[i]);
    xds_change(&self->world, "+CDS/c=1#");
    xds_change(&self->world, "-CDS/c");
    xds_expect(&self->sotw, "LDS[l]");
    fake_stream_run(&self->delta.stream, &self->world.hub);
    /* Delta may tell of a removal of what it never told of; it does no harm, nor does silence. */
    udpa_bytes *message;
    while ((message = fake_stream_take(&self->delta.stream)))
        udpa_bytes_unref(message);
    self->delta.trace[0] = '\0';
}

static void
removed_and_set_again_it_never_goes(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "-CDS/a -EDS/a -RDS/r");
    xds_change(&self->world, "+RDS/r=2 +EDS/a=2 +CDS/a=2#");
    xds_pair_expect(self, "CDS[a] EDS[a] RDS[r]", "CDS[a] EDS[a] RDS[r]");
}

static void
a_removal_goes_out_though_nothing_else_happens(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "-LDS/l -CDS/a");
    xds_pair_expect(self, "LDS[-l] CDS[-a]", "LDS[] CDS[]");
}

static void
what_goes_by_name_goes_with_the_state_behind_it(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+LDS/l=1 +RDS/r=1");
    xds_pair_ask(self, "LDS", "l");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_expect(self, "LDS[l] RDS[r]", "LDS[l] RDS[r]");
    xds_change(&self->world, "-LDS/l");
    xds_pair_expect(self, "LDS[-l]", "LDS[]");
    xds_change(&self->world, "+LDS/l=2");
    xds_pair_expect(self, "LDS[l]", "LDS[l]");
}

/* A random walk: whatever changes in whatever order, a route is never sent before the cluster that
 * it leads to, and that is not taken away before the route has changed. */
static void
no_route_leads_nowhere(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    uint64_t random = 11;
    char now = 'a', change[128], has[128];
    xds_change(&self->world, "+CDS/a=1# +RDS/r=a");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_expect(self, "CDS[a] RDS[r]", "CDS[a] RDS[r]");
    for (int i = 0; i < 200; i++) {
        char next = (char)('a' + (now - 'a' + 1 + (int)test_random_below(&random, 24)) % 26);
        snprintf(change, sizeof(change),
                 test_random_below(&random, 2) ? "-CDS/%c +RDS/r=%c +CDS/%c=1#"
                                               : "+RDS/r=%2$c +CDS/%3$c=1# -CDS/%1$c",
                 now, next, next);
        xds_change(&self->world, change);
        snprintf(has, sizeof(has), "CDS[%c] RDS[r] CDS[-%c]", next, now);
        xds_expect(clients[0], has);
        snprintf(has, sizeof(has), "CDS[%c %c] RDS[r] CDS[%c]", now < next ? now : next,
                 now < next ? next : now, next);
        xds_expect(clients[1], has);
        now = next;
    }
}

/* ---- what is gone waits for acknowledgements ---- */

static void
begin_patiently(xds_pair *self)
{
    static const char *const asked[] = {"CDS", "EDS", "LDS", "RDS"};
    begin(self);
    self->world.xds_server.removal_patience_ms = 5000;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(asked); i++) {
        xds_ack(&self->delta, asked[i]);
        xds_ack(&self->sotw, asked[i]);
    }
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b -CDS/a");
    xds_pair_expect(self, "CDS[b] RDS[r]", "CDS[a b] RDS[r]");
}

static void
a_cluster_goes_when_the_routes_are_acknowledged(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    begin_patiently(self);
    for (size_t i = 0; i < 2; i++) {
        xds_ack(clients[i], "CDS");
        xds_expect(clients[i], "");
        xds_ack(clients[i], "RDS");
        xds_expect(clients[i], i ? "CDS[b]" : "CDS[-a]");
    }
}

static void
a_refusal_is_an_answer_too(void **state)
{
    xds_pair *self = *state;
    begin_patiently(self);
    xds_nack(&self->delta, "RDS", "no");
    xds_nack(&self->sotw, "RDS", "no");
    xds_pair_expect(self, "CDS[-a]", "CDS[b]");
}

static void
who_does_not_answer_is_not_waited_for_for_ever(void **state)
{
    xds_pair *self = *state;
    begin_patiently(self);
    fake_hub_advance(&self->world.hub, 4999);
    xds_pair_expect(self, "", "");
    fake_hub_advance(&self->world.hub, 1);
    xds_pair_expect(self, "CDS[-a]", "CDS[b]");
    xds_change(&self->world, "+CDS/c=1#"); /* and nothing else is held up meanwhile */
    xds_pair_expect(self, "CDS[c]", "CDS[b c]");
}

/* What waited and came back does not make the next one impatient. */
static void
each_removal_is_waited_for_anew(void **state)
{
    xds_pair *self = *state;
    begin_patiently(self);
    xds_change(&self->world, "+CDS/a=2#");
    xds_pair_expect(self, "CDS[a]", "CDS[a b]");
    fake_hub_advance(&self->world.hub, 10000);
    xds_ack_all(&self->delta);
    xds_ack_all(&self->sotw);
    xds_pair_expect(self, "", "");
    xds_change(&self->world, "+RDS/r=to-a -CDS/b");
    xds_pair_expect(self, "RDS[r]", "RDS[r]");
    xds_ack(&self->delta, "RDS");
    xds_ack(&self->sotw, "RDS");
    xds_pair_expect(self, "CDS[-b]", "CDS[a]");
}

/* Each part of a type waits as long, not one behind the other. */
static void
parts_are_held_back_side_by_side(void **state)
{
    static const char *const names = "xdstp://com.acme/envoy.config.cluster.v3.Cluster/a "
                                     "xdstp://com.acme/envoy.config.cluster.v3.Cluster/m/*";
    xds_pair *self = *state;
    self->world.xds_server.removal_patience_ms = 5000;
    xds_change(&self->world, "+CDS/com.acme/a=1# +CDS/com.acme/m/b=1# +RDS/r=1");
    xds_subscribe(&self->delta, "CDS", names);
    xds_subscribe(&self->delta, "RDS", "*");
    xds_ack_all(&self->delta);
    self->delta.trace[0] = '\0';
    xds_change(&self->world, "-CDS/com.acme/a -CDS/com.acme/m/b +RDS/r=2");
    xds_expect(&self->delta, "RDS[r]");
    fake_hub_advance(&self->world.hub, 5000);
    xds_expect(&self->delta, "CDS[-xdstp://com.acme/envoy.config.cluster.v3.Cluster/m/b] "
                             "CDS[-xdstp://com.acme/envoy.config.cluster.v3.Cluster/a]");
}

static void
additions_go_on_while_removals_wait(void **state)
{
    xds_pair *self = *state;
    begin_patiently(self);
    xds_change(&self->world, "+CDS/c=1# +RDS/r=to-c -CDS/b");
    xds_pair_expect(self, "CDS[c] RDS[r]", "CDS[a b c] RDS[r]");
    xds_ack(&self->delta, "RDS");
    xds_ack(&self->sotw, "RDS");
    xds_pair_expect(self, "CDS[-a -b]", "CDS[c]");
}

/* Envoy acknowledges clusters only when it has their endpoints, or knows that there are none. */
static void
what_is_missing_waits_for_no_cluster(void **state)
{
    xds_pair *self = *state;
    self->world.xds_server.removal_patience_ms = 5000;
    xds_change(&self->world, "+CDS/a=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a]", "CDS[a]");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "EDS[-a]", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_pair_setup, xds_pair_teardown)
        TEST(what_is_asked_for_in_any_order_comes_in_the_right_one),
        TEST(changes_of_all_types_come_in_the_right_order),
        TEST(what_replaces_comes_before_what_is_replaced_goes),
        TEST(by_name_too),
        TEST(one_after_the_other_while_a_write_is_under_way),
        TEST(changes_during_a_write_are_one),
        TEST(what_came_and_went_during_a_write_is_not_seen),
        TEST(removed_and_set_again_it_never_goes),
        TEST(a_removal_goes_out_though_nothing_else_happens),
        TEST(what_goes_by_name_goes_with_the_state_behind_it),
        TEST(no_route_leads_nowhere),
        TEST(a_cluster_goes_when_the_routes_are_acknowledged),
        TEST(a_refusal_is_an_answer_too),
        TEST(who_does_not_answer_is_not_waited_for_for_ever),
        TEST(each_removal_is_waited_for_anew),
        TEST(parts_are_held_back_side_by_side),
        TEST(additions_go_on_while_removals_wait),
        TEST(what_is_missing_waits_for_no_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
