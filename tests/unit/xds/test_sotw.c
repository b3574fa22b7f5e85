/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the state of the world protocol, one by one. */
#include <stdio.h>

#include "xds_test.h"

/* ---- wildcards ---- */

static void
a_first_request_that_names_nothing_asks_for_all(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +LDS/l=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    xds_ack(&self->client, "CDS");
    xds_ask_for(&self->client, "LDS", "");
    xds_expect(&self->client, "LDS[l]");
    xds_ack(&self->client, "LDS");
    xds_expect(&self->client, "");
}

static void
clusters_and_listeners_go_out_whole(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +LDS/l=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "LDS", "");
    xds_expect(&self->client, "CDS[a b] LDS[l]");
    xds_change(&self->world, "+CDS/b=2");
    xds_expect(&self->client, "CDS[a b]");
    xds_change(&self->world, "+LDS/m=1");
    xds_expect(&self->client, "LDS[l m]");
    xds_change(&self->world, "-CDS/a");
    xds_expect(&self->client, "CDS[b]");
    xds_change(&self->world, "-CDS/b");
    xds_expect(&self->client, "CDS[]"); /* which is how the last one goes */
}

static void
other_types_go_out_as_they_change(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +EDS/c=1 +RDS/r=1");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "RDS", "r");
    xds_expect(&self->client, "EDS[a b] RDS[r]");
    xds_change(&self->world, "+EDS/b=2 +EDS/c=2");
    xds_expect(&self->client, "EDS[b]");
    xds_change(&self->world, "-EDS/a -RDS/r"); /* there is no way to say that */
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/a=3");
    xds_expect(&self->client, "EDS[a]");
}

static void
an_explicit_wildcard_asks_for_all(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a b]");
    xds_ack(&self->client, "CDS");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/c=1");
    xds_expect(&self->client, "CDS[a b c]");
}

static void
an_explicit_wildcard_beside_a_name_asks_for_all(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +CDS/lazy=1$");
    xds_ask_for(&self->client, "CDS", "a * lazy");
    xds_expect(&self->client, "CDS[a b lazy]");
    xds_change(&self->world, "+CDS/b=2");
    xds_expect(&self->client, "CDS[a b lazy]");
}

/* Who repeats himself asks for nothing; who goes back to what he said before does. */
static void
names_that_are_said_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_ask_for(&self->client, "EDS", "a b");
    assert_false(self->client.stream.session->is_calm);
    xds_expect(&self->client, "EDS[a b]");
    xds_ack(&self->client, "EDS");
    assert_true(self->client.stream.session->is_calm);
    xds_change(&self->world, "+EDS/b=2");
    xds_expect(&self->client, "EDS[b]");
    assert_true(self->client.stream.session->is_calm);
    xds_ask_for(&self->client, "EDS", "a");
    assert_false(self->client.stream.session->is_calm);
    xds_change(&self->world, "+EDS/b=3");
    xds_expect(&self->client, "");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_expect(&self->client, "EDS[b]");
    xds_ask_for(&self->client, "EDS", "b a");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/a=2 +EDS/b=4");
    xds_expect(&self->client, "EDS[a b]");
}

/* Clusters name endpoints, which will be asked for. */
static void
what_leads_to_others_is_not_calm(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a]");
    xds_ack(&self->client, "CDS");
    assert_true(self->client.stream.session->is_calm);
    xds_change(&self->world, "+CDS/b=1");
    xds_expect(&self->client, "CDS[a b]");
    assert_false(self->client.stream.session->is_calm);
}

/* The example in the protocol's text, step by step. */
static void
from_the_wildcard_to_names_and_to_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    xds_ask_for(&self->client, "CDS", "* a");
    xds_expect(&self->client, "CDS[a b]"); /* a is new as a name */
    xds_ask_for(&self->client, "CDS", "a");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/b=2");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a]");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/a=3 +CDS/b=3 -CDS/b");
    xds_expect(&self->client, ""); /* a list that is empty now is no wildcard */
    xds_ask_for(&self->client, "CDS", "b a");
    xds_expect(&self->client, "CDS[a]");
}

static void
no_names_after_names_is_the_end_for_other_types_too(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    xds_ask_for(&self->client, "EDS", "");
    xds_change(&self->world, "+EDS/a=2 +EDS/b=2");
    xds_expect(&self->client, "");
    xds_ask_for(&self->client, "EDS", "a"); /* the same bytes would do: it is asked for anew */
    xds_expect(&self->client, "EDS[a]");
}

static void
every_type_has_the_wildcard_of_old(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+RTDS/x=1 +acme.Thing/y=1");
    xds_ask_for(&self->client, "RTDS", "");
    xds_ask_for(&self->client, "acme.Thing", "");
    xds_expect(&self->client, "RTDS[x] acme.Thing[?]");
}

static void
a_wildcard_that_holds_nothing_is_answered_for_whole_types(void **state)
{
    xds_one *self = *state;
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "LDS", "*");
    xds_expect(&self->client, "CDS[] LDS[]");
    xds_ack_all(&self->client);
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/a=1");
    xds_expect(&self->client, "CDS[a]");
}

/* ---- names ---- */

static void
a_name_that_is_new_is_sent_though_it_has_not_changed(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "EDS", "a");
    xds_ask_for(&self->client, "CDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "CDS", "a b");
    xds_expect(&self->client, "CDS[a b] EDS[b]");
}

static void
taking_names_away_sends_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "CDS", "a b");
    xds_expect(&self->client, "CDS[a b] EDS[a b]");
    xds_ask_for(&self->client, "EDS", "b");
    xds_ask_for(&self->client, "CDS", "b");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/a=2 +CDS/a=2");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/b=2 +CDS/b=2");
    xds_expect(&self->client, "CDS[b] EDS[b]");
}

static void
taken_away_and_asked_for_again_it_is_sent_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "CDS", "a b");
    xds_expect(&self->client, "CDS[a b] EDS[a b]");
    xds_ask_for(&self->client, "EDS", "b");
    xds_ask_for(&self->client, "CDS", "b");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "CDS", "a b");
    xds_expect(&self->client, "CDS[a b] EDS[a]");
}

static void
a_name_taken_away_before_its_turn_is_not_sent(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_ask_for(&self->client, "EDS", "b");
    xds_expect(&self->client, "EDS[b]");
}

static void
a_missing_name_holds_nothing_up_and_is_sent_when_it_appears(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +LDS/l=1");
    xds_ask_for(&self->client, "EDS", "gone a");
    xds_ask_for(&self->client, "LDS", "l gone");
    xds_expect(&self->client, "EDS[a] LDS[l]");
    xds_ack_all(&self->client);
    xds_expect(&self->client, "");
    xds_change(&self->world, "+EDS/gone=1 +LDS/gone=1");
    xds_expect(&self->client, "EDS[gone] LDS[gone l]");
}

static void
a_missing_listener_is_an_empty_state(void **state)
{
    xds_one *self = *state;
    xds_ask_for(&self->client, "LDS", "gone");
    xds_expect(&self->client, "LDS[]");
    xds_ask_for(&self->client, "EDS", "gone"); /* for this type it would say nothing */
    xds_expect(&self->client, "");
}

static void
a_name_that_is_listed_twice_is_one(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +CDS/a=1");
    xds_ask_for(&self->client, "EDS", "a a a");
    xds_ask_for(&self->client, "CDS", "a * a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_ask_for(&self->client, "EDS", "a a");
    xds_expect(&self->client, "");
}

static void
names_that_cannot_be_are_ignored(void **state)
{
    xds_one *self = *state;
    char names[1300];
    memset(names, 'n', 1200);
    snprintf(names + 1200, sizeof(names) - 1200, " '' a");
    xds_change(&self->world, "+EDS/a=1");
    xds_ask_for(&self->client, "EDS", names);
    xds_expect(&self->client, "EDS[a]");
    xds_ask_for(&self->client, "EDS", names);
    xds_expect(&self->client, "");
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
    at[-1] = '\0';
    xds_change(&self->world, "+EDS/c-00007=1 +EDS/c-09999=1");
    XDS_SEND(&self->client, "EDS", .names = names);
    xds_expect(&self->client, "EDS[c-00007 c-09999]");
    names[strlen(names) - strlen(" c-09999")] = '\0';
    XDS_SEND(&self->client, "EDS", .names = names);
    xds_change(&self->world, "+EDS/c-09999=2 +EDS/c-05000=1");
    xds_expect(&self->client, "EDS[c-05000]");
    free(names);
}

/* ---- nonces and versions ---- */

static void
a_request_that_differs_in_nothing_is_answered_by_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    for (int i = 0; i < 100; i++) {
        xds_ask_for(&self->client, "CDS", "");
        xds_ask_for(&self->client, "EDS", "a");
        xds_ack(&self->client, "CDS");
        xds_ack(&self->client, "EDS");
    }
    xds_expect(&self->client, "");
}

static void
a_stale_nonce_is_answered_by_nothing(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a]");
    char stale[32];
    snprintf(stale, sizeof(stale), "%s", xds_nonce(&self->client, "CDS"));
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a]");
    XDS_SEND(&self->client, "CDS", .nonce = stale);
    XDS_SEND(&self->client, "CDS", .nonce = "of another stream");
    XDS_SEND(&self->client, "CDS", .nonce = "");
    xds_expect(&self->client, "");
}

static void
names_that_come_with_a_stale_nonce_are_not_lost(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1 +EDS/c=1");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    char stale[32];
    snprintf(stale, sizeof(stale), "%s", xds_nonce(&self->client, "EDS"));
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->client, "EDS[a]");
    XDS_SEND(&self->client, "EDS", .names = "a b", .nonce = stale);
    xds_expect(&self->client, "EDS[b]");
    XDS_SEND(&self->client, "EDS", .names = "b c", .nonce = stale);
    xds_expect(&self->client, "EDS[c]");
    xds_change(&self->world, "+EDS/a=3");
    xds_expect(&self->client, "");
}

static void
the_nonce_of_an_earlier_stream_begins_a_new_one(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    char version[64], nonce[32];
    snprintf(version, sizeof(version), "%s", xds_version(&self->client, "CDS"));
    snprintf(nonce, sizeof(nonce), "%s", xds_nonce(&self->client, "CDS"));
    xds_client_reopen(&self->client);
    XDS_SEND(&self->client, "CDS", .nonce = nonce, .version = version);
    XDS_SEND(&self->client, "EDS", .names = "a", .nonce = nonce, .version = version);
    xds_expect(&self->client, "CDS[a] EDS[a]");
}

static void
who_comes_back_with_the_present_version_is_answered(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +EDS/b=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    char clusters[64], endpoints[64];
    snprintf(clusters, sizeof(clusters), "%s", xds_version(&self->client, "CDS"));
    snprintf(endpoints, sizeof(endpoints), "%s", xds_version(&self->client, "EDS"));
    xds_client_reopen(&self->client);
    XDS_SEND(&self->client, "CDS", .version = clusters);
    XDS_SEND(&self->client, "EDS", .names = "a b", .version = endpoints);
    xds_expect(&self->client, "CDS[a] EDS[a b]");
    assert_string_equal(xds_version(&self->client, "CDS"), clusters);
}

static void
a_version_says_what_there_is_and_not_when(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    char first[64];
    snprintf(first, sizeof(first), "%s", xds_version(&self->client, "CDS"));
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->client, "CDS[a b]");
    assert_string_not_equal(xds_version(&self->client, "CDS"), first);
    xds_world replica; /* another node, or this one after a restart; in another order */
    xds_world_init(&replica);
    xds_settle(&replica);
    xds_change(&replica, "+CDS/c=9 +CDS/b=1 -CDS/c");
    xds_change(&replica, "+CDS/a=1");
    xds_client other;
    xds_client_open(&other, &replica, false);
    xds_ask_for(&other, "CDS", "");
    xds_expect(&other, "CDS[a b]");
    assert_string_equal(xds_version(&other, "CDS"), first);
    xds_client_close(&other);
    fake_hub_done(&replica.hub);
}

static void
each_type_has_its_own_nonces_and_versions(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    assert_string_not_equal(xds_nonce(&self->client, "CDS"), xds_nonce(&self->client, "EDS"));
    assert_string_not_equal(xds_version(&self->client, "CDS"), xds_version(&self->client, "EDS"));
    char clusters[64];
    snprintf(clusters, sizeof(clusters), "%s", xds_version(&self->client, "CDS"));
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->client, "EDS[a]");
    xds_ack(&self->client, "CDS"); /* the older of the two nonces is not stale for its type */
    xds_ack(&self->client, "EDS");
    xds_expect(&self->client, "");
    xds_change(&self->world, "+CDS/b=1 -CDS/b");
    xds_expect(&self->client, "");
    assert_string_equal(xds_version(&self->client, "CDS"), clusters);
}

/* ---- what was refused ---- */

static void
what_was_refused_is_not_sent_again_until_it_changes(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_ack_all(&self->client);
    xds_change(&self->world, "+CDS/a=bad +EDS/a=bad");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    for (int i = 0; i < 100; i++) { /* a client repeats itself with each answer */
        xds_nack(&self->client, "CDS", "no");
        xds_nack(&self->client, "EDS", "no");
        xds_expect(&self->client, "");
    }
    xds_change(&self->world, "+CDS/a=good +EDS/a=good");
    xds_expect(&self->client, "CDS[a] EDS[a]"); /* at once */
}

static void
a_refused_first_response_is_not_sent_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=bad");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "no"); /* its version is empty */
    xds_expect(&self->client, "");
}

static void
back_to_what_was_accepted_is_a_change_after_a_refusal(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_ack_all(&self->client);
    xds_change(&self->world, "+CDS/a=bad +EDS/a=bad");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_nack(&self->client, "CDS", "no");
    xds_nack(&self->client, "EDS", "no");
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_expect(&self->client, "CDS[a] EDS[a]");
}

static void
a_refusal_may_change_names(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=bad +EDS/b=1");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    XDS_SEND(&self->client, "EDS", .names = "a b", .error = "no");
    xds_expect(&self->client, "EDS[b]");
}

/* ---- what a payload says of itself ---- */

static void
of_two_namesakes_one_is_sent(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/z=1!a +CDS/b=1!c +CDS/d=1!c");
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a c]"); /* the harness refuses a name that is there twice */
    xds_change(&self->world, "-CDS/b");
    xds_expect(&self->client, "CDS[a c]");
    xds_change(&self->world, "-CDS/d");
    xds_expect(&self->client, "CDS[a]");
}

static void
other_namespaces_are_sent_if_their_payloads_say_so(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/x=1 +CDS/com.acme/y=1!y +CDS/org.other/z=1 "
                             "+EDS/com.acme/x=1 +EDS/com.acme/y=1!y");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "com.acme/x com.acme/y y");
    xds_expect(&self->client, "CDS[a com.acme/x] EDS[com.acme/x]");
    xds_change(&self->world, "+EDS/com.acme/y=2");
    xds_expect(&self->client, "EDS[com.acme/y]");
}

static void
what_makes_no_difference_to_clients_is_not_sent(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1&one +EDS/a=1&one +LDS/l=1&one");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_ask_for(&self->client, "LDS", "l");
    xds_expect(&self->client, "CDS[a] EDS[a] LDS[l]");
    xds_change(&self->world, "+CDS/a=1&two +EDS/a=1&two +LDS/l=1&two");
    xds_change(&self->world, "~CDS/a=1&two ~EDS/a=1&two ~LDS/l=1&two");
    xds_expect(&self->client, "");
}

static void
count_warning(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    if (level == UDPA_LOG_WARNING && strcmp(component, "xds") == 0 &&
        strstr(message, "state of the world"))
        ++*(unsigned *)userdata;
}

/* A state that is sent whole with each change can grow too large for that. */
static void
a_large_state_is_warned_of(void **state)
{
    enum {
        SIZE = 5 * 1024 * 1024
    };

    xds_one *self = *state;
    unsigned n_warnings = 0;
    char *change = malloc(SIZE + 32);
    assert_non_null(change);
    int len = snprintf(change, 32, "+CDS/a=");
    memset(change + len, 'x', SIZE);
    change[len + SIZE] = '\0';
    udpa_log_set_sink(UDPA_LOG_WARNING, count_warning, &n_warnings);
    xds_ask_for(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    assert_int_equal(n_warnings, 0);
    xds_change(&self->world, change);
    xds_expect(&self->client, "CDS[a]");
    udpa_log_set_sink(UDPA_LOG_WARNING, NULL, NULL);
    assert_int_equal(n_warnings, 1);
    free(change);
}

/* ---- streams ---- */

static void
one_node_may_have_many_streams(void **state)
{
    xds_one *self = *state;
    xds_client others[8];
    xds_change(&self->world, "+EDS/a=1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        xds_client_open(&others[i], &self->world, false);
        xds_ask_for(&others[i], "EDS", "a");
        xds_expect(&others[i], "EDS[a]");
    }
    xds_change(&self->world, "+EDS/a=2");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        xds_expect(&others[i], "EDS[a]");
        xds_client_close(&others[i]);
    }
}

static void
names_of_streams_that_have_ended_leave_nothing_behind(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1");
    for (int i = 0; i < 3; i++) {
        xds_ask_for(&self->client, "EDS", "a b c");
        xds_expect(&self->client, "EDS[a]");
        xds_client_reopen(&self->client);
    }
    xds_change(&self->world, "-EDS/a");
    assert_int_equal(udpai_fanout_n_resources(udpai_hub_fanout(self->world.hub.hub)), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_one_setup_sotw, xds_one_teardown)
        TEST(a_first_request_that_names_nothing_asks_for_all),
        TEST(clusters_and_listeners_go_out_whole),
        TEST(other_types_go_out_as_they_change),
        TEST(an_explicit_wildcard_asks_for_all),
        TEST(an_explicit_wildcard_beside_a_name_asks_for_all),
        TEST(from_the_wildcard_to_names_and_to_nothing),
        TEST(names_that_are_said_again),
        TEST(what_leads_to_others_is_not_calm),
        TEST(no_names_after_names_is_the_end_for_other_types_too),
        TEST(every_type_has_the_wildcard_of_old),
        TEST(a_wildcard_that_holds_nothing_is_answered_for_whole_types),
        TEST(a_name_that_is_new_is_sent_though_it_has_not_changed),
        TEST(taking_names_away_sends_nothing),
        TEST(taken_away_and_asked_for_again_it_is_sent_again),
        TEST(a_name_taken_away_before_its_turn_is_not_sent),
        TEST(a_missing_name_holds_nothing_up_and_is_sent_when_it_appears),
        TEST(a_missing_listener_is_an_empty_state),
        TEST(a_name_that_is_listed_twice_is_one),
        TEST(names_that_cannot_be_are_ignored),
        TEST(ten_thousand_names_in_one_request),
        TEST(a_request_that_differs_in_nothing_is_answered_by_nothing),
        TEST(a_stale_nonce_is_answered_by_nothing),
        TEST(names_that_come_with_a_stale_nonce_are_not_lost),
        TEST(the_nonce_of_an_earlier_stream_begins_a_new_one),
        TEST(who_comes_back_with_the_present_version_is_answered),
        TEST(a_version_says_what_there_is_and_not_when),
        TEST(each_type_has_its_own_nonces_and_versions),
        TEST(what_was_refused_is_not_sent_again_until_it_changes),
        TEST(a_refused_first_response_is_not_sent_again),
        TEST(back_to_what_was_accepted_is_a_change_after_a_refusal),
        TEST(a_refusal_may_change_names),
        TEST(of_two_namesakes_one_is_sent),
        TEST(other_namespaces_are_sent_if_their_payloads_say_so),
        TEST(what_makes_no_difference_to_clients_is_not_sent),
        TEST(a_large_state_is_warned_of),
        TEST(one_node_may_have_many_streams),
        TEST(names_of_streams_that_have_ended_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
