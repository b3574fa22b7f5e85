/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the delta protocol, one by one. */
#include <stdio.h>

#include "xds_test.h"

/* ---- wildcards ---- */

static void
a_first_request_that_names_nothing_asks_for_all(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    xds_ack(&self->client, "CDS");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/b=2 +CDS/c=1");
    xds_expect(&self->client, "CDS[b c]");
    xds_change(&self->world, "-CDS/a");
    xds_expect(&self->client, "CDS[-a]");
}

static void
a_first_request_that_only_takes_away_asks_for_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_unsubscribe(&self->client, "CDS", "a *");
    xds_expect(&self->client, "");
    xds_subscribe(&self->client, "CDS", ""); /* not the first one any more */
    xds_expect(&self->client, "");
}

static void
an_explicit_wildcard_asks_for_all(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a b]");
    xds_unsubscribe(&self->client, "CDS", "*");
    xds_change(&self->world, "+CDS/b=2 -CDS/a");
    xds_expect(&self->client, "");
}

/* There is nothing to take away yet, and what it holds it holds. */
static void
a_first_request_that_takes_away_and_asks_asks(void **state)
{
    xds_one *self = *state;
    char hash[UDPAI_CONTENT_HASH_HEX + 1], held[128];
    snprintf(held, sizeof(held), "a=%s gone=old", xds_hash("CDS/a=1", hash));
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    XDS_SEND(&self->client, "CDS", .names = "*", .unsubscribed = "* a", .held = held);
    xds_expect(&self->client, "CDS[b] CDS[-gone]");
}

/* The example in the protocol's text, step by step. */
static void
from_the_wildcard_to_names_and_to_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    xds_subscribe(&self->client, "CDS", "a");
    xds_expect(&self->client, "CDS[a]");
    xds_change(&self->world, "+CDS/b=2");
    xds_expect(&self->client, "CDS[b]"); /* the wildcard is there still */
    xds_unsubscribe(&self->client, "CDS", "*");
    xds_change(&self->world, "+CDS/a=2 +CDS/b=3");
    xds_expect(&self->client, "CDS[a]");
    xds_unsubscribe(&self->client, "CDS", "a");
    xds_change(&self->world, "+CDS/a=3 +CDS/b=4");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, ""); /* a list that is empty now is no wildcard */
}

static void
a_wildcard_that_holds_nothing_is_answered(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    xds_ack(&self->client, "CDS");
    xds_expect(&self->client, "");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[]");
    xds_change(&self->world, "+CDS/a=1");
    xds_expect(&self->client, "CDS[a]");
}

static void
a_wildcard_asked_for_again_is_sent_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/x=1");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a com.acme/x]");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a com.acme/x]");
    for (int i = 0; i < 1000; i++) /* however often, before it was sent: once */
        xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a com.acme/x]");
}

static void
a_name_under_the_wildcard_is_sent_once_if_it_was_not_yet(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "a * b");
    xds_expect(&self->client, "CDS[a b]");
}

static void
a_lazy_resource_comes_by_name_only(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+VHDS/local/r/h1=1$ +VHDS/local/r/h2=1$");
    xds_subscribe(&self->client, "VHDS", "*");
    xds_expect(&self->client, "VHDS[]");
    xds_subscribe(&self->client, "VHDS", "r/h2");
    xds_expect(&self->client, "VHDS[r/h2]");
}

/* ---- names ---- */

static void
names_are_answered_with_what_there_is(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +EDS/c=1");
    xds_subscribe(&self->client, "EDS", "a b");
    xds_expect(&self->client, "EDS[a b]");
    xds_change(&self->world, "+EDS/b=2 +EDS/c=2");
    xds_expect(&self->client, "EDS[b]");
}

static void
a_missing_name_is_told_kept_and_sent_when_it_appears(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a gone");
    xds_expect(&self->client, "EDS[a] EDS[-gone]");
    xds_ack(&self->client, "EDS");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/gone=1");
    xds_expect(&self->client, "EDS[gone]");
    xds_change(&self->world, "-EDS/gone");
    xds_expect(&self->client, "EDS[-gone]");
    xds_change(&self->world, "+EDS/gone=2");
    xds_expect(&self->client, "EDS[gone]");
}

static void
a_name_asked_for_again_is_sent_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a gone");
    xds_expect(&self->client, "EDS[a] EDS[-gone]");
    xds_subscribe(&self->client, "EDS", "a gone");
    xds_expect(&self->client, "EDS[a] EDS[-gone]");
}

static void
unsubscribing_and_subscribing_again_sends_it_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    xds_unsubscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    XDS_SEND(&self->client, "EDS", .names = "a", .unsubscribed = "a");
    xds_expect(&self->client, "EDS[a]"); /* both in one request: it stays */
}

static void
a_name_given_back_before_its_turn_is_not_sent(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_subscribe(&self->client, "EDS", "a b gone");
    xds_unsubscribe(&self->client, "EDS", "a gone");
    xds_expect(&self->client, "EDS[b]");
}

static void
ten_thousand_names_in_one_request(void **state)
{
    enum {
        N = 10000
    };

    xds_one *self = *state;
    char *names = malloc((size_t)N * 10), *at = names;
    assert_non_null(names);
    for (size_t i = 0; i < N; i++)
        at += snprintf(at, 10, "c-%05zu ", i);
    xds_change(&self->world, "+EDS/c-00007=1");
    xds_settle_except(&self->world, ""); /* so that the others are not told to be missing */
    xds_subscribe(&self->client, "EDS", names);
    xds_expect(&self->client, "EDS[c-00007]");
    xds_change(&self->world, "+EDS/c-09999=1");
    xds_expect(&self->client, "EDS[c-09999]");
    xds_unsubscribe(&self->client, "EDS", names);
    xds_change(&self->world, "+EDS/c-09999=2 +EDS/c-05000=1");
    xds_expect(&self->client, "");
    free(names);
}

static void
unsubscribing_from_a_name_sends_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_subscribe(&self->client, "EDS", "a b");
    xds_expect(&self->client, "EDS[a b]");
    xds_unsubscribe(&self->client, "EDS", "a phantom");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/a=2 -EDS/b");
    xds_expect(&self->client, "EDS[-b]");
}

static void
unsubscribing_from_a_name_under_a_wildcard_tells_its_state(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +CDS/lazy=1$");
    xds_subscribe(&self->client, "CDS", "* a gone lazy");
    xds_expect(&self->client, "CDS[a b] CDS[lazy] CDS[-gone]");
    xds_unsubscribe(&self->client, "CDS", "a");
    xds_expect(&self->client, "CDS[a]"); /* the wildcard holds it */
    xds_unsubscribe(&self->client, "CDS", "gone lazy");
    xds_expect(&self->client, "CDS[-gone -lazy]"); /* it does not hold these */
    xds_unsubscribe(&self->client, "CDS", "a phantom");
    xds_expect(&self->client, ""); /* superfluous */
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a]");
}

static void
what_the_wildcard_had_not_brought_the_name_does(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "* a b");
    xds_expect(&self->client, "CDS[a b]");
    xds_change(&self->world, "+CDS/a=2 -CDS/b");
    xds_unsubscribe(&self->client, "CDS", "*"); /* before either was sent */
    xds_expect(&self->client, "CDS[a] CDS[-b]");
    xds_change(&self->world, "+CDS/c=1");
    xds_expect(&self->client, "");
}

static void
an_alias_is_a_name_too(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world,
               "+VHDS/local/r/v1=1^local/r/foo.com +VHDS/local/r/v2=1^local/r/*.bar.com");
    xds_subscribe(&self->client, "VHDS", "r/foo.com");
    xds_expect(&self->client, "VHDS[r/v1]");
    xds_subscribe(&self->client, "VHDS", "r/x.bar.com r/x.org");
    xds_expect(&self->client, "VHDS[r/v2] VHDS[?r/x.org]");
}

/* The client was never told what the alias is, but in what came. */
static void
what_an_alias_led_to_ends_by_its_name(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1^local/x +VHDS/local/r/v=1^local/r/foo.com");
    xds_subscribe(&self->client, "CDS", "x");
    xds_subscribe(&self->client, "VHDS", "r/foo.com");
    xds_expect(&self->client, "CDS[a] VHDS[r/v]");
    xds_change(&self->world, "-CDS/a -VHDS/local/r/v");
    xds_expect(&self->client, "VHDS[-r/foo.com -r/v] CDS[-a -x]");
    xds_change(&self->world, "+CDS/a=2^local/x");
    xds_expect(&self->client, "CDS[a]");
    xds_change(&self->world, "+CDS/a=2 +CDS/b=1^local/x"); /* it leads elsewhere */
    xds_expect(&self->client, "CDS[b] CDS[-a]");
    xds_change(&self->world, "+CDS/x=own");
    xds_expect(&self->client, "CDS[x] CDS[-b]");
}

static void
what_an_alias_led_to_stays_if_it_is_held_otherwise(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1^local/x +EDS/a=1^local/x");
    xds_subscribe(&self->client, "CDS", "x a");
    xds_subscribe(&self->client, "EDS", "*");
    xds_subscribe(&self->client, "EDS", "x");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_change(&self->world, "+CDS/a=2 +EDS/a=2");
    xds_expect(&self->client, "CDS[a] EDS[a] EDS[-x] CDS[-x]");
    xds_unsubscribe(&self->client, "CDS", "x");
    xds_expect(&self->client, "");
}

static void
names_have_any_characters(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/local/outbound|80||a.b.svc=1 +RDS/local/default/eg/http=1");
    xds_subscribe(&self->client, "CDS", "outbound|80||a.b.svc");
    xds_subscribe(&self->client, "RDS", "default/eg/http");
    xds_expect(&self->client, "CDS[outbound|80||a.b.svc] RDS[default/eg/http]");
}

static void
other_namespaces_are_shown_under_full_names(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/x=1 +CDS/com.acme.eu/y=1 +CDS/org.other/z=1 "
                             "+CDS/local.eu/n=1 +CDS/local/com.acme/x=1");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a com.acme.eu/y com.acme/x]");
    xds_subscribe(&self->client, "CDS", "com.acme/x org.other/z local.eu/n");
    xds_expect(&self->client, "CDS[com.acme/x] CDS[-local.eu/n -org.other/z]");
    xds_change(&self->world, "-CDS/com.acme/x -CDS/local/com.acme/x");
    xds_expect(&self->client, "CDS[-com.acme/x]");
}

/* Envoy adds a cluster by the name in its payload, and removes it by the one of the response. */
static void
other_namespaces_are_sent_if_their_payloads_say_so(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/x=1 +CDS/com.acme/y=1!y +EDS/com.acme/y=1!y");
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "EDS", "com.acme/y");
    xds_expect(&self->client, "CDS[com.acme/x -com.acme/y] EDS[-com.acme/y]");
    xds_change(&self->world, "+CDS/com.acme/y=2 +EDS/com.acme/y=2");
    xds_expect(&self->client, "CDS[com.acme/y] EDS[com.acme/y]");
    xds_change(&self->world, "+CDS/com.acme/y=3!y");
    xds_expect(&self->client, "CDS[-com.acme/y]");
}

static void
a_name_that_cannot_be_is_missing(void **state)
{
    xds_one *self = *state;
    char name[1200];
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    char expected[1300];
    snprintf(expected, sizeof(expected), "EDS[- -%s] EDS[a]", name);
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "''");
    xds_subscribe(&self->client, "EDS", name);
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, expected);
    xds_unsubscribe(&self->client, "EDS", name);
    xds_expect(&self->client, "");
}

/* ---- nonces and versions ---- */

static void
a_stale_nonce_carries_subscriptions_all_the_same(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    char stale[32];
    snprintf(stale, sizeof(stale), "%s", xds_nonce(&self->client, "EDS"));
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->client, "EDS[a]");
    XDS_SEND(&self->client, "EDS", .names = "b", .nonce = stale);
    xds_expect(&self->client, "EDS[b]");
    XDS_SEND(&self->client, "EDS", .unsubscribed = "a", .nonce = "of another stream");
    xds_change(&self->world, "+EDS/a=3 +EDS/b=2");
    xds_expect(&self->client, "EDS[b]");
}

static void
each_type_has_its_own_nonces(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    assert_string_not_equal(xds_nonce(&self->client, "CDS"), xds_nonce(&self->client, "EDS"));
    xds_ack(&self->client, "CDS");
    xds_ack(&self->client, "EDS");
    XDS_SEND(&self->client, "EDS", .nonce = xds_nonce(&self->client, "CDS"));
    xds_expect(&self->client, "");
}

static void
versions_are_content_hashes(void **state)
{
    xds_one *self = *state;
    char hash[UDPAI_CONTENT_HASH_HEX + 1];
    char held[128];
    snprintf(held, sizeof(held), "a=%s", xds_hash("EDS/a=1", hash));
    xds_change(&self->world, "+EDS/a=1");
    XDS_SEND(&self->client, "EDS", .names = "a", .held = held);
    xds_expect(&self->client, ""); /* that is what it holds */
    assert_string_equal(xds_version(&self->client, "EDS"), "");
}

static void
a_wildcard_has_a_version_that_is_the_same_for_the_same_content(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    char first[64];
    snprintf(first, sizeof(first), "%s", xds_version(&self->client, "CDS"));
    assert_int_equal(strlen(first), UDPAI_CONTENT_HASH_HEX);
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a]");
    assert_string_not_equal(xds_version(&self->client, "CDS"), first);
    xds_change(&self->world, "+CDS/a=1");
    xds_expect(&self->client, "CDS[a]");
    assert_string_equal(xds_version(&self->client, "CDS"), first);
    xds_client other;
    xds_client_open(&other, &self->world, true);
    xds_subscribe(&other, "CDS", "");
    xds_expect(&other, "CDS[a b]");
    assert_string_equal(xds_version(&other, "CDS"), first);
    xds_client_close(&other);
}

static void
what_makes_no_difference_to_clients_is_not_sent(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1&one +EDS/a=1&one");
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    /* Another authority says the same, as after a fail-over. */
    xds_change(&self->world, "+CDS/a=1&two +EDS/a=1&two");
    xds_expect(&self->client, "");
    xds_change(&self->world, "~CDS/a=1&two ~EDS/a=1&two");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/a=2&one");
    xds_expect(&self->client, "CDS[a] EDS[a]");
}

/* Envoy answers the request that waits for it only then. */
static void
a_virtual_host_that_is_missing_is_told_by_a_resource(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+VHDS/a=1");
    xds_subscribe(&self->client, "VHDS", "a b");
    xds_expect(&self->client, "VHDS[a] VHDS[?b]");
    xds_subscribe(&self->client, "VHDS", "b");
    xds_expect(&self->client, "VHDS[?b]");
    xds_change(&self->world, "+VHDS/b=1");
    xds_expect(&self->client, "VHDS[b]");
    xds_change(&self->world, "-VHDS/a -VHDS/b"); /* which it has */
    xds_expect(&self->client, "VHDS[-a -b]");
    xds_subscribe(&self->client, "VHDS", "a");
    xds_expect(&self->client, "VHDS[?a]");
    xds_change(&self->world, "+VHDS/a=2");
    xds_expect(&self->client, "VHDS[a]");
}

/* What came by the wildcard goes as it goes with others. */
static void
a_virtual_host_of_a_wildcard_is_removed(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+VHDS/a=1 +VHDS/b=1$");
    xds_subscribe(&self->client, "VHDS", "");
    xds_expect(&self->client, "VHDS[a]");
    xds_subscribe(&self->client, "VHDS", "b c");
    xds_expect(&self->client, "VHDS[b] VHDS[?c]");
    xds_change(&self->world, "-VHDS/a -VHDS/b");
    xds_expect(&self->client, "VHDS[-a -b]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_one_setup_delta, xds_one_teardown)
        TEST(a_first_request_that_names_nothing_asks_for_all),
        TEST(a_first_request_that_only_takes_away_asks_for_nothing),
        TEST(an_explicit_wildcard_asks_for_all),
        TEST(a_first_request_that_takes_away_and_asks_asks),
        TEST(from_the_wildcard_to_names_and_to_nothing),
        TEST(a_wildcard_that_holds_nothing_is_answered),
        TEST(a_wildcard_asked_for_again_is_sent_again),
        TEST(a_name_under_the_wildcard_is_sent_once_if_it_was_not_yet),
        TEST(a_lazy_resource_comes_by_name_only),
        TEST(names_are_answered_with_what_there_is),
        TEST(a_missing_name_is_told_kept_and_sent_when_it_appears),
        TEST(a_name_asked_for_again_is_sent_again),
        TEST(unsubscribing_and_subscribing_again_sends_it_again),
        TEST(a_name_given_back_before_its_turn_is_not_sent),
        TEST(ten_thousand_names_in_one_request),
        TEST(unsubscribing_from_a_name_sends_nothing),
        TEST(unsubscribing_from_a_name_under_a_wildcard_tells_its_state),
        TEST(what_the_wildcard_had_not_brought_the_name_does),
        TEST(an_alias_is_a_name_too),
        TEST(what_an_alias_led_to_ends_by_its_name),
        TEST(what_an_alias_led_to_stays_if_it_is_held_otherwise),
        TEST(names_have_any_characters),
        TEST(other_namespaces_are_shown_under_full_names),
        TEST(other_namespaces_are_sent_if_their_payloads_say_so),
        TEST(a_name_that_cannot_be_is_missing),
        TEST(a_stale_nonce_carries_subscriptions_all_the_same),
        TEST(each_type_has_its_own_nonces),
        TEST(versions_are_content_hashes),
        TEST(a_wildcard_has_a_version_that_is_the_same_for_the_same_content),
        TEST(what_makes_no_difference_to_clients_is_not_sent),
        TEST(a_virtual_host_that_is_missing_is_told_by_a_resource),
        TEST(a_virtual_host_of_a_wildcard_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
