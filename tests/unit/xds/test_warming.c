/* SPDX-License-Identifier: Apache-2.0 */
/* Behind clusters that have changed, their endpoints go out again, in both protocols; behind
 * listeners, their routes. */
#include <stdio.h>

#include "xds_test.h"

/* Clusters a and b, and the endpoints of both. */
static void
begin(xds_pair *self)
{
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a b]", "CDS[a b]");
    xds_pair_ask(self, "EDS", "a b");
    xds_pair_expect(self, "EDS[a b]", "EDS[a b]");
    xds_ack_all(&self->delta);
    xds_ack_all(&self->sotw);
    xds_pair_expect(self, "", "");
}

static void
a_changed_cluster_brings_its_endpoints_again(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+CDS/a=2");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a b] EDS[a]");
    xds_change(&self->world, "+CDS/a=3 +CDS/b=2");
    xds_pair_expect(self, "CDS[a b] EDS[a b]", "CDS[a b] EDS[a b]");
}

/* The client acknowledges clusters only once it has their endpoints. */
static void
nobody_waits_for_an_acknowledgement(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +RDS/r=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_ask(self, "RDS", "r");
    xds_pair_expect(self, "CDS[a] EDS[a] RDS[r]", "CDS[a] EDS[a] RDS[r]");
    for (char content = '2'; content < '9'; content++) {
        const char change[] = {'+', 'C', 'D', 'S', '/', 'a', '=', content, '\0'};
        xds_change(&self->world, change);
        xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a] EDS[a]");
    }
}

/* As Envoy does while it waits. */
static void
the_repeated_request_needs_no_second_answer(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+CDS/a=2");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a b] EDS[a]");
    xds_ask_for(&self->sotw, "EDS", "a b");
    xds_ask_for(&self->sotw, "EDS", "a b");
    xds_expect(&self->sotw, "");
}

static void
endpoints_alone_bring_no_cluster(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+EDS/a=2");
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
}

static void
endpoints_that_changed_too_come_once(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+EDS/a=2 +CDS/a=2");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a b] EDS[a]");
}

static void
an_added_cluster_brings_its_own_alone(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+EDS/c=1");
    xds_pair_expect(self, "", "");
    xds_change(&self->world, "+CDS/c=1");
    xds_pair_expect(self, "CDS[c]", "CDS[a b c]"); /* its endpoints have not been asked for */
    xds_subscribe(&self->delta, "EDS", "c");
    xds_ask_for(&self->sotw, "EDS", "a b c");
    xds_pair_expect(self, "EDS[c]", "EDS[c]");
}

static void
a_removed_cluster_brings_nothing(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "-CDS/a");
    xds_pair_expect(self, "CDS[-a]", "CDS[b]");
}

static void
the_service_name_says_whose_endpoints(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1@svc +EDS/a=1 +EDS/svc=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a svc");
    xds_pair_expect(self, "CDS[a] EDS[a svc]", "CDS[a] EDS[a svc]");
    xds_change(&self->world, "+CDS/a=2@svc");
    xds_pair_expect(self, "CDS[a] EDS[svc]", "CDS[a] EDS[svc]");
}

static void
a_cluster_in_a_shown_namespace_too(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/com.acme/x=1 +EDS/com.acme/x=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "com.acme/x");
    xds_pair_expect(self, "CDS[com.acme/x] EDS[com.acme/x]", "CDS[com.acme/x] EDS[com.acme/x]");
    xds_change(&self->world, "+CDS/com.acme/x=2");
    xds_pair_expect(self, "CDS[com.acme/x] EDS[com.acme/x]", "CDS[com.acme/x] EDS[com.acme/x]");
}

static void
clusters_without_eds_bring_nothing(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a] EDS[a]");
    xds_change(&self->world, "+CDS/a=2#");
    xds_pair_expect(self, "CDS[a]", "CDS[a]");
}

static void
endpoints_that_nobody_asked_for_are_not_sent(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a b]", "CDS[a b]");
    xds_change(&self->world, "+CDS/a=2");
    xds_pair_expect(self, "CDS[a]", "CDS[a b]"); /* no endpoints at all */
    xds_pair_ask(self, "EDS", "b");
    xds_pair_expect(self, "EDS[b]", "EDS[b]");
    xds_change(&self->world, "+CDS/a=3");
    xds_pair_expect(self, "CDS[a]", "CDS[a b]"); /* others */
}

static void
endpoints_that_are_missing_are_not_told_again(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "CDS[a] EDS[-a]", "CDS[a]");
    xds_change(&self->world, "+CDS/a=2");
    xds_pair_expect(self, "CDS[a]", "CDS[a]");
    xds_change(&self->world, "+EDS/a=1");
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
}

/* After a reconnection the names of endpoints are known, and may be asked for first. */
static void
endpoints_asked_for_before_clusters_come_behind_them_again(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a b] EDS[a]", "CDS[a b] EDS[a]");
}

static void
both_asked_for_at_once_come_once(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a] EDS[a]");
}

/* Delta: a cluster that it holds still does not warm. */
static void
a_cluster_that_is_held_brings_nothing(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], b[UDPAI_CONTENT_HASH_HEX + 1], held[256];
    snprintf(held, sizeof(held), "a=%s b=%s", xds_hash("CDS/a=1", a), xds_hash("CDS/b=1", b));
    xds_change(&self->world, "+CDS/a=1 +CDS/b=2 +EDS/a=1 +EDS/b=1");
    xds_subscribe(&self->delta, "EDS", "a b");
    xds_expect(&self->delta, "EDS[a b]");
    XDS_SEND(&self->delta, "CDS", .held = held);
    xds_expect(&self->delta, "CDS[b] EDS[b]");
}

/* Names that are held count as not held any more: their bytes must go out. */
static void
endpoints_that_are_held_come_with_their_clusters(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], held[128];
    snprintf(held, sizeof(held), "a=%s", xds_hash("EDS/a=1", a));
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_subscribe(&self->delta, "CDS", "");
    XDS_SEND(&self->delta, "EDS", .names = "a", .held = held, .nonce = "");
    xds_expect(&self->delta, "CDS[a] EDS[a]");
}

/* There is nothing to send again of these, but their end must be told all the same. */
static void
endpoints_that_are_held_and_gone_vanish(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_pair_ask(self, "EDS", "*"); /* somebody else keeps the name known */
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
    xds_change(&self->world, "-EDS/a");
    xds_pair_expect(self, "EDS[-a]", "");
    xds_client_reopen(&self->delta);
    xds_subscribe(&self->delta, "CDS", "");
    XDS_SEND(&self->delta, "EDS", .names = "*", .held = "a=old", .nonce = "");
    xds_expect(&self->delta, "CDS[a] EDS[-a]");
    xds_client_reopen(&self->delta);
    xds_change(&self->world, "+EDS/a=2$"); /* it is there, but comes by name alone */
    xds_subscribe(&self->delta, "CDS", "");
    XDS_SEND(&self->delta, "EDS", .names = "*", .held = "a=old", .nonce = "");
    xds_expect(&self->delta, "CDS[a] EDS[-a]");
}

/* As after a reconnection: clusters are answered before endpoints are asked for. */
static void
endpoints_that_are_held_come_behind_their_clusters(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], b[UDPAI_CONTENT_HASH_HEX + 1], clusters[256], held[256];
    snprintf(clusters, sizeof(clusters), "a=old b=%s", xds_hash("CDS/b=1", b));
    snprintf(held, sizeof(held), "a=%s b=%s", xds_hash("EDS/a=1", a), xds_hash("EDS/b=1", b));
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1");
    XDS_SEND(&self->delta, "CDS", .held = clusters);
    xds_expect(&self->delta, "CDS[a]");
    XDS_SEND(&self->delta, "EDS", .names = "a b", .held = held, .nonce = "");
    xds_expect(&self->delta, "EDS[a]");
}

static void
endpoints_that_are_held_and_have_changed_come_once(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=2");
    XDS_SEND(&self->delta, "CDS", .held = "a=old");
    xds_expect(&self->delta, "CDS[a]");
    XDS_SEND(&self->delta, "EDS", .names = "a", .held = "a=old", .nonce = "");
    xds_expect(&self->delta, "EDS[a]");
    XDS_SEND(&self->delta, "EDS", .names = "a", .nonce = ""); /* asked for again: sent again */
    xds_expect(&self->delta, "EDS[a]");
}

static void
endpoints_that_are_held_and_awaited_vanish(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_pair_ask(self, "EDS", "*"); /* somebody else keeps the name known */
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
    xds_change(&self->world, "-EDS/a");
    xds_pair_expect(self, "EDS[-a]", "");
    xds_client_reopen(&self->delta);
    XDS_SEND(&self->delta, "CDS", .held = "a=old");
    xds_expect(&self->delta, "CDS[a]");
    XDS_SEND(&self->delta, "EDS", .names = "*", .held = "a=old", .nonce = "");
    xds_expect(&self->delta, "EDS[-a]");
}

/* Once it has asked for endpoints, what it holds of other types is not sent for that. */
static void
what_is_held_of_other_clusters_stays(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], r[UDPAI_CONTENT_HASH_HEX + 1], held[128], route[128];
    snprintf(held, sizeof(held), "a=%s", xds_hash("EDS/a=1", a));
    snprintf(route, sizeof(route), "a=%s", xds_hash("RDS/a=1", r));
    xds_change(&self->world, "+CDS/a=1@svc +EDS/a=1 +EDS/svc=1 +RDS/a=1");
    XDS_SEND(&self->delta, "CDS", .held = "a=old");
    xds_expect(&self->delta, "CDS[a]");
    XDS_SEND(&self->delta, "EDS", .names = "a", .held = held, .nonce = "");
    XDS_SEND(&self->delta, "RDS", .names = "a", .held = route, .nonce = "");
    xds_expect(&self->delta, "");
}

static void
endpoints_of_a_wildcard_come_again_too(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "*");
    xds_pair_expect(self, "CDS[a b] EDS[a b]", "CDS[a b] EDS[a b]");
    xds_change(&self->world, "+CDS/b=2");
    xds_pair_expect(self, "CDS[b] EDS[b]", "CDS[a b] EDS[b]");
}

static void
what_changes_nothing_of_a_cluster_brings_nothing(void **state)
{
    xds_pair *self = *state;
    self->sotw.features[0] = "xds.config.resource-in-sotw";
    self->sotw.features[1] = "xds.config.supports-resource-ttl";
    xds_change(&self->world, "+CDS/a=1%60000&one +EDS/a=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "CDS[a%] EDS[a]", "CDS[a%] EDS[a]");
    xds_change(&self->world, "~CDS/a=1%60000&one"); /* its ttl is renewed */
    xds_pair_expect(self, "CDS[~a%]", "CDS[a%]");
}

static void
a_state_that_goes_out_for_a_removal_brings_nothing(void **state)
{
    xds_pair *self = *state;
    begin(self);
    xds_change(&self->world, "+CDS/c=1 -CDS/a");
    xds_pair_expect(self, "CDS[c] CDS[-a]", "CDS[a b c] CDS[b c]");
}

static void
a_change_during_the_write_is_followed_too(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    begin(self);
    xds_change(&self->world, "+CDS/a=2");
    for (size_t i = 0; i < 2; i++)
        xds_write_one(clients[i]); /* the clusters are on their way */
    xds_change(&self->world, "+CDS/a=3 +CDS/b=2");
    xds_pair_expect(self, "CDS[a] EDS[a] CDS[a b] EDS[a b]", "CDS[a b] EDS[a] CDS[a b] EDS[a b]");
}

static void
a_changed_listener_brings_its_routes_again(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+LDS/l=1@r +LDS/m=1@s +LDS/n=1 +RDS/r=1 +RDS/s=1 +RDS/t=1");
    xds_pair_ask(self, "LDS", "");
    xds_pair_ask(self, "RDS", "r t");
    xds_pair_expect(self, "LDS[l m n] RDS[r t]", "LDS[l m n] RDS[r t]");
    xds_change(&self->world, "+LDS/l=2@r");
    xds_pair_expect(self, "LDS[l] RDS[r]", "LDS[l m n] RDS[r]");
    xds_change(&self->world, "+LDS/l=2@t");
    xds_pair_expect(self, "LDS[l] RDS[t]", "LDS[l m n] RDS[t]");
    xds_change(&self->world, "+LDS/m=2@s +LDS/n=2"); /* not asked for; none */
    xds_pair_expect(self, "LDS[m n]", "LDS[l m n]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_pair_setup, xds_pair_teardown)
        TEST(a_changed_cluster_brings_its_endpoints_again),
        TEST(nobody_waits_for_an_acknowledgement),
        TEST(the_repeated_request_needs_no_second_answer),
        TEST(endpoints_alone_bring_no_cluster),
        TEST(endpoints_that_changed_too_come_once),
        TEST(an_added_cluster_brings_its_own_alone),
        TEST(a_removed_cluster_brings_nothing),
        TEST(the_service_name_says_whose_endpoints),
        TEST(a_cluster_in_a_shown_namespace_too),
        TEST(clusters_without_eds_bring_nothing),
        TEST(endpoints_that_nobody_asked_for_are_not_sent),
        TEST(endpoints_that_are_missing_are_not_told_again),
        TEST(endpoints_asked_for_before_clusters_come_behind_them_again),
        TEST(both_asked_for_at_once_come_once),
        TEST(a_cluster_that_is_held_brings_nothing),
        TEST(endpoints_that_are_held_come_with_their_clusters),
        TEST(endpoints_that_are_held_come_behind_their_clusters),
        TEST(endpoints_that_are_held_and_have_changed_come_once),
        TEST(endpoints_that_are_held_and_awaited_vanish),
        TEST(what_is_held_of_other_clusters_stays),
        TEST(endpoints_that_are_held_and_gone_vanish),
        TEST(endpoints_of_a_wildcard_come_again_too),
        TEST(what_changes_nothing_of_a_cluster_brings_nothing),
        TEST(a_state_that_goes_out_for_a_removal_brings_nothing),
        TEST(a_change_during_the_write_is_followed_too),
        TEST(a_changed_listener_brings_its_routes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
