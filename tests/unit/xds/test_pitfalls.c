/* SPDX-License-Identifier: Apache-2.0 */
/* Where servers of xDS have gone wrong before, and the other tests do not look: docs/pitfalls.md
 * has all such cases, and which test holds each. */
#include <stdio.h>

#include "base/alloc.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds_test.h"

/* How often the client has acknowledged and refused the type that it asked for first. */
static void
expect_answers(xds_client *client, unsigned n_acknowledged, unsigned n_refused)
{
    udpa_bytes *bytes = client->stream.session->ops->describe(client->stream.session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    udpa_bytes_unref(bytes);
    assert_non_null(status);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, n_acknowledged);
    assert_int_equal(status->subscriptions[0]->n_refused, n_refused);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

/* ---- new streams ---- */

static void
an_old_nonce_begins_a_delta_stream_anew(void **state)
{
    xds_pair *self = *state;
    char nonce[32];
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1");
    xds_subscribe(&self->delta, "CDS", "");
    xds_subscribe(&self->delta, "EDS", "a");
    xds_expect(&self->delta, "CDS[a b] EDS[a]");
    snprintf(nonce, sizeof(nonce), "%s", xds_nonce(&self->delta, "CDS"));
    xds_client_reopen(&self->delta);
    XDS_SEND(&self->delta, "CDS", .nonce = nonce);
    XDS_SEND(&self->delta, "EDS", .names = "a", .nonce = nonce);
    xds_expect(&self->delta, "CDS[a b] EDS[a]");
}

/* What it refuses it had from another stream. Who took that for an answer to this one would leave
 * the client without anything. */
static void
a_refusal_on_a_new_stream_is_a_first_request(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    xds_change(&self->world, "+CDS/a=1#");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "CDS[a]", "CDS[a]");
    xds_ack(&self->delta, "CDS");
    xds_ack(&self->sotw, "CDS");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++) {
        char nonce[32], version[64];
        snprintf(nonce, sizeof(nonce), "%s", xds_nonce(clients[i], "CDS"));
        snprintf(version, sizeof(version), "%s", xds_version(clients[i], "CDS"));
        xds_client_reopen(clients[i]);
        XDS_SEND(clients[i], "CDS", .nonce = nonce, .version = version, .error = "of before");
        expect_answers(clients[i], 0, 0);
        xds_expect(clients[i], "CDS[a]");
        xds_ack(clients[i], "CDS");
        expect_answers(clients[i], 1, 0);
    }
}

/* As old clients do, who have lost their wildcard with the stream. By the protocol that is no
 * wildcard any more. */
static void
who_lists_what_it_holds_gets_the_differences(void **state)
{
    xds_pair *self = *state;
    char hash[UDPAI_CONTENT_HASH_HEX + 1], held[128];
    snprintf(held, sizeof(held), "a=%s b=old gone=old", xds_hash("CDS/a=1#", hash));
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1# +CDS/c=1#");
    XDS_SEND(&self->delta, "CDS", .names = "a b gone", .held = held);
    xds_expect(&self->delta, "CDS[b] CDS[-gone]");
    xds_change(&self->world, "+CDS/a=2# +CDS/c=2#");
    xds_expect(&self->delta, "CDS[a]");
}

/* A client that keeps its record of versions up to date is sent nothing twice. */
static void
who_resumes_with_what_it_was_sent_is_up_to_date(void **state)
{
    xds_pair *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], c[UDPAI_CONTENT_HASH_HEX + 1], held[128], version[64];
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    xds_subscribe(&self->delta, "CDS", "");
    xds_expect(&self->delta, "CDS[a b]");
    xds_change(&self->world, "+CDS/a=2# -CDS/b +CDS/c=1#");
    xds_expect(&self->delta, "CDS[a c] CDS[-b]");
    snprintf(held, sizeof(held), "a=%s c=%s", xds_hash("CDS/a=2#", a), xds_hash("CDS/c=1#", c));
    snprintf(version, sizeof(version), "%s", xds_version(&self->delta, "CDS"));
    xds_client_reopen(&self->delta);
    XDS_SEND(&self->delta, "CDS", .held = held);
    xds_expect(&self->delta, "CDS[]");
    assert_string_equal(xds_version(&self->delta, "CDS"), version);
    xds_change(&self->world, "+CDS/c=2#");
    xds_expect(&self->delta, "CDS[c]");
}

/* ---- refusals ---- */

static void
what_delta_refused_is_not_sent_again_until_it_changes(void **state)
{
    xds_pair *self = *state;
    xds_client *client = &self->delta;
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1");
    xds_subscribe(client, "CDS", "");
    xds_subscribe(client, "EDS", "a");
    xds_expect(client, "CDS[a] EDS[a]");
    xds_ack(client, "CDS");
    xds_ack(client, "EDS");
    xds_change(&self->world, "+CDS/a=bad# +EDS/a=bad");
    xds_expect(client, "CDS[a] EDS[a]");
    for (int i = 0; i < 100; i++) {
        xds_nack(client, "CDS", "no");
        xds_nack(client, "EDS", "no");
        xds_expect(client, "");
    }
    expect_answers(client, 1, 1); /* however often it is said */
    xds_change(&self->world, "+CDS/a=good# +EDS/a=good");
    xds_expect(client, "CDS[a] EDS[a]"); /* at once */
    xds_nack(client, "CDS", "no");
    xds_change(&self->world, "+CDS/a=1#"); /* which it had accepted */
    xds_expect(client, "CDS[a]");
}

static void
a_refused_resource_is_there_all_the_same(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1# +EDS/x=bad +EDS/y=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "x y");
    xds_pair_expect(self, "CDS[a b] EDS[x y]", "CDS[a b] EDS[x y]");
    xds_change(&self->world, "+CDS/a=bad#");
    xds_pair_expect(self, "CDS[a]", "CDS[a b]");
    xds_nack(&self->delta, "CDS", "no");
    xds_nack(&self->sotw, "CDS", "no");
    xds_nack(&self->delta, "EDS", "no");
    xds_nack(&self->sotw, "EDS", "no");
    xds_pair_expect(self, "", "");
    xds_change(&self->world, "+CDS/b=2# +EDS/y=2"); /* others follow their changes */
    xds_pair_expect(self, "CDS[b] EDS[y]", "CDS[a b] EDS[y]");
    xds_subscribe(&self->delta, "EDS", "x"); /* it is not taken for missing */
    xds_expect(&self->delta, "EDS[x]");
    xds_client another; /* nor kept from anybody else */
    xds_client_open(&another, &self->world, true);
    xds_subscribe(&another, "CDS", "");
    xds_expect(&another, "CDS[a b]");
    xds_client_close(&another);
}

/* ---- names ---- */

static void
on_demand_beside_a_wildcard(void **state)
{
    xds_pair *self = *state;
    xds_client *client = &self->delta;
    xds_change(&self->world, "+CDS/a=1# +CDS/lazy=1#$");
    xds_subscribe(client, "CDS", "");
    xds_expect(client, "CDS[a]");
    xds_subscribe(client, "CDS", "lazy");
    xds_expect(client, "CDS[lazy]");
    xds_subscribe(client, "CDS", "later");
    xds_expect(client, "CDS[-later]");
    xds_subscribe(client, "CDS", "later"); /* it tries again */
    xds_expect(client, "CDS[-later]");
    xds_change(&self->world, "+CDS/later=1#$ +CDS/lazier=1#$");
    xds_expect(client, "CDS[later]");
    xds_change(&self->world, "+CDS/b=1#"); /* the wildcard is there still */
    xds_expect(client, "CDS[b]");
    xds_unsubscribe(client, "CDS", "lazy");
    xds_expect(client, "CDS[-lazy]");
    xds_change(&self->world, "+CDS/lazy=2#$ -CDS/later");
    xds_expect(client, "CDS[-later]");
}

/* Clients go on asking for endpoints of a cluster that is gone, even of a node that has just begun.
 */
static void
a_child_without_its_parent_holds_nothing_up(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_pair_ask(self, "CDS", "");
    xds_pair_ask(self, "EDS", "a");
    xds_pair_expect(self, "CDS[a] EDS[a]", "CDS[a] EDS[a]");
    xds_change(&self->world, "-CDS/a");
    xds_pair_expect(self, "CDS[-a]", "CDS[]");
    xds_change(&self->world, "+EDS/a=2");
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
    xds_change(&self->world, "-EDS/a");
    xds_pair_expect(self, "EDS[-a]", "");
    xds_client_reopen(&self->delta);
    xds_client_reopen(&self->sotw);
    xds_pair_ask(self, "EDS", "a");
    xds_pair_ask(self, "CDS", "");
    xds_pair_expect(self, "EDS[-a] CDS[]", "CDS[]");
    xds_change(&self->world, "+CDS/b=1#");
    xds_pair_expect(self, "CDS[b]", "CDS[b]");
    xds_change(&self->world, "+EDS/a=3");
    xds_pair_expect(self, "EDS[a]", "EDS[a]");
}

/* ---- much at once ---- */

enum {
    N_TYPES = 60
};

/* Two changes of every type, such as "+a=1" and "-b". */
static void
change_all_types(xds_world *world, const char *one, const char *two)
{
    for (int i = 0; i < N_TYPES; i++) {
        char change[64];
        snprintf(change, sizeof(change), "%cacme.T%d/%s %cacme.T%d/%s", *one, i, one + 1, *two, i,
                 two + 1);
        xds_change(world, change);
    }
}

static void
ask_for_all_types(xds_client *client, const char *names)
{
    for (int i = 0; i < N_TYPES; i++) {
        char type[16];
        snprintf(type, sizeof(type), "acme.T%d", i);
        (client->is_delta ? xds_subscribe : xds_ask_for)(client, type, names);
    }
}

/* Servers have hung that waited for room in a queue of answers while the client waited for them. */
static void
dozens_of_types_change_while_all_of_them_are_asked_for(void **state)
{
    xds_pair *self = *state;
    xds_client *const clients[] = {&self->delta, &self->sotw};
    for (size_t c = 0; c < UDPAI_ARRAY_LEN(clients); c++) {
        xds_client *client = clients[c];
        change_all_types(&self->world, "+a=1", "-b");
        ask_for_all_types(client, "a x y");
        xds_write_one(client); /* the first is on its way, and takes long */
        change_all_types(&self->world, "+a=2", "-a");
        ask_for_all_types(client, "b x y z");
        change_all_types(&self->world, "+a=3", "+b=1");
        xds_ack_all(client);
        client->trace[0] = '\0';
        for (int i = 0; i < N_TYPES; i++) { /* each is served on, alone */
            char change[32], response[32];
            snprintf(change, sizeof(change), "+acme.T%d/b=2%zu", i, c);
            snprintf(response, sizeof(response), "acme.T%d[%s]", i, c ? "?" : "b");
            xds_change(&self->world, change);
            xds_expect(client, response);
        }
    }
}

/* A client that comes, asks, and goes in each of the ways in which streams end. */
static void
come_and_go(xds_world *world, bool is_delta)
{
    xds_client client = {0};
    xds_client_open(&client, world, is_delta);
    XDS_SEND(&client, "CDS", .names = "");
    XDS_SEND(&client, "EDS", .names = "a missing missing-too");
    XDS_SEND(&client, "acme.Thing", .names = "x");
    xds_ack_all(&client);
    client.trace[0] = '\0';
    xds_client_reopen(&client); /* with everything answered */
    XDS_SEND(&client, "CDS", .names = "* a");
    xds_write_one(&client);
    client.trace[0] = '\0';
    xds_client_reopen(&client); /* with a write under way */
    XDS_SEND(&client, "EDS", .names = "a");
    xds_client_reopen(&client); /* with an answer owed */
    XDS_SEND(&client, "", .names = "a", .nonce = "");
    assert_true(client.stream.is_finished); /* refused with its first request */
    xds_client_close(&client);
    fake_hub_advance(&world->hub, 60000); /* views that nobody has any more go */
    fake_hub_drop_reports(&world->hub);
}

static void
streams_leave_nothing_behind(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +acme.Thing/x=1");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        come_and_go(&self->world, is_delta); /* tables grow once */
        unsigned long before = udpai_alloc_live();
        for (int i = 0; i < 20; i++)
            come_and_go(&self->world, is_delta);
        assert_int_equal(udpai_alloc_live(), before);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_pair_setup, xds_pair_teardown)
        TEST(an_old_nonce_begins_a_delta_stream_anew),
        TEST(a_refusal_on_a_new_stream_is_a_first_request),
        TEST(who_lists_what_it_holds_gets_the_differences),
        TEST(who_resumes_with_what_it_was_sent_is_up_to_date),
        TEST(what_delta_refused_is_not_sent_again_until_it_changes),
        TEST(a_refused_resource_is_there_all_the_same),
        TEST(on_demand_beside_a_wildcard),
        TEST(a_child_without_its_parent_holds_nothing_up),
        TEST(dozens_of_types_change_while_all_of_them_are_asked_for),
        TEST(streams_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
