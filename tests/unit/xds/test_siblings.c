/* SPDX-License-Identifier: Apache-2.0 */
/* Make before break as the client sees it: what may refer to a cluster waits until the client has
 * it warm, on one stream or on several; and what is gone waits for what has waited. */
#include <stdio.h>

#include "csds_test.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds_test.h"

#define TIMEOUT_MS 5000

typedef struct bed {
    xds_world world;
    xds_client ads; /* closed, until a test opens it */
} bed;

static int
setup(void **state)
{
    bed *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    xds_world_init(&self->world);
    xds_settle(&self->world);
    self->world.xds_server.warm_timeout_ms = TIMEOUT_MS;
    self->world.xds_server.removal_patience_ms = 5000;
    self->world.address = udpai_bytes_cstring(UDPAI_STR("192.0.2.1:4242"));
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    bed *self = *state;
    xds_client_close(&self->ads);
    xds_world_done(&self->world);
    udpa_bytes_unref(self->world.address);
    free(self);
    return 0;
}

static void
ask(xds_client *client, const char *type, const char *names)
{
    if (client->is_delta)
        xds_subscribe(client, type, names);
    else
        xds_ask_for(client, type, names);
}

static void
expect(xds_client *client, const char *delta, const char *sotw)
{
    xds_expect(client, client->is_delta ? delta : sotw);
}

/* A client that has cluster a, its endpoints, and a listener with a route to it. */
static void
begin(bed *self, bool is_delta)
{
    xds_client *client = &self->ads;
    xds_client_open(client, &self->world, is_delta);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1 +RDS/r=to-a +RDS/q=1");
    ask(client, "CDS", "");
    xds_expect(client, "CDS[a]");
    ask(client, "EDS", "a");
    xds_expect(client, "EDS[a]");
    xds_ack(client, "EDS");
    xds_ack(client, "CDS");
    ask(client, "LDS", "");
    xds_expect(client, "LDS[l]");
    ask(client, "RDS", "r");
    xds_expect(client, "RDS[r]");
    xds_ack(client, "LDS");
    xds_ack(client, "RDS");
    xds_expect(client, "");
}

/* As Envoy does. */
static void
ask_for_endpoints(xds_client *client, const char *more)
{
    if (client->is_delta) {
        xds_subscribe(client, "EDS", more);
    } else {
        char names[64];
        snprintf(names, sizeof(names), "a %s", more);
        xds_ask_for(client, "EDS", names);
    }
}

/* What a cluster needs goes before it, each when the last was answered. */
static void
expect_end_of_a(xds_client *client, const char *sotw)
{
    if (!client->is_delta) {
        xds_expect(client, sotw);
        return;
    }
    xds_expect(client, "EDS[-a]");
    xds_ack(client, "EDS");
    xds_expect(client, "CDS[-a]");
}

static void
end(bed *self)
{
    xds_client_close(&self->ads);
    xds_change(&self->world, "-CDS/a -CDS/b -CDS/c -EDS/a -EDS/b -EDS/c -LDS/l -RDS/r -RDS/q");
}

typedef void (*play_fn)(bed *self, xds_client *client);

static void
play_both(void **state, play_fn play)
{
    bed *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        begin(self, is_delta);
        play(self, &self->ads);
        end(self);
    }
}

#define BOTH(name)                                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        play_both(state, play_##name);                                                             \
    }

/* ---- what is waited for ---- */

static void
play_a_route_comes_when_its_cluster_is_warm(bed *self, xds_client *client)
{
    xds_change(&self->world, "+RDS/r=to-b +CDS/b=1 +EDS/b=1 -CDS/a -EDS/a");
    expect(client, "CDS[b]", "CDS[a b]");
    ask_for_endpoints(client, "b");
    xds_expect(client, "EDS[b]");
    xds_ack(client, "EDS");
    xds_expect(client, "");
    xds_ack(client, "CDS");
    xds_expect(client, "RDS[r]");
    fake_hub_advance(&self->world.hub, 4999);
    xds_expect(client, ""); /* it is in use until the route was taken */
    xds_ack(client, "RDS");
    expect_end_of_a(client, "CDS[b]");
}
BOTH(a_route_comes_when_its_cluster_is_warm)

static void
play_answers_count_in_any_order(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    xds_ack(client, "CDS");
    xds_expect(client, "");
    ask_for_endpoints(client, "b");
    xds_expect(client, "EDS[b]");
    xds_nack(client, "EDS", "a refusal is an answer");
    xds_expect(client, "RDS[r]");
}
BOTH(answers_count_in_any_order)

static void
play_refused_clusters_are_answered(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    xds_nack(client, "CDS", "no");
    xds_expect(client, "RDS[r]");
}
BOTH(refused_clusters_are_answered)

static void
play_all_that_leads_to_clusters_waits(bed *self, xds_client *client)
{
    xds_change(&self->world, "+SRDS/s=1 +SDS/s=1");
    ask(client, "SRDS", "");
    ask(client, "SDS", "s");
    ask(client, "VHDS", "v");
    xds_ack_all(client);
    client->trace[0] = '\0';
    xds_change(&self->world, "+CDS/b=1# +SDS/s=2 +LDS/l=2 +SRDS/s=2 +RDS/r=2 +VHDS/v=2");
    expect(client, "CDS[b] SDS[s]", "CDS[a b] SDS[s]");
    xds_ack(client, "CDS");
    expect(client, "LDS[l] SRDS[s] RDS[r] VHDS[v]", "LDS[l] SRDS[s] RDS[r] VHDS[?]");
    xds_change(&self->world, "-SRDS/s -SDS/s -VHDS/v");
}
BOTH(all_that_leads_to_clusters_waits)

/* Envoy keeps what it has until what takes its place is warm. */
static void
play_nothing_waits_for_a_changed_cluster(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/a=2 +RDS/r=again");
    xds_expect(client, "CDS[a] EDS[a] RDS[r]");
    xds_change(&self->world, "+CDS/a=3");
    xds_change(&self->world, "+CDS/a=4 +RDS/r=3");
    xds_expect(client, "CDS[a] EDS[a] RDS[r]");
}
BOTH(nothing_waits_for_a_changed_cluster)

static void
play_nothing_waits_for_a_later_cluster(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    xds_change(&self->world, "+CDS/c=1"); /* whose endpoints are to come */
    xds_change(&self->world, "+EDS/c=1");
    expect(client, "CDS[c]", "CDS[a b c]");
    ask_for_endpoints(client, "c");
    xds_expect(client, "EDS[c]");
    fake_hub_advance(&self->world.hub, 4000);
    xds_change(&self->world, "+LDS/l=2"); /* which waits for both */
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1000);
    xds_expect(client, "RDS[r]");
    fake_hub_advance(&self->world.hub, 3999);
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(client, "LDS[l]");
}
BOTH(nothing_waits_for_a_later_cluster)

/* A name is asked for now; what it stands for is older than the cluster. */
static void
play_what_is_older_goes_though_it_is_asked_for_later(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    ask(client, "RDS", "r q");
    expect(client, "RDS[q]", "RDS[q]");
    ask_for_endpoints(client, "b");
    xds_ack_all(client);
    client->trace[0] = '\0';
    xds_expect(client, "");
}
BOTH(what_is_older_goes_though_it_is_asked_for_later)

static void
play_types_behind_what_waits_are_not_stopped(bed *self, xds_client *client)
{
    xds_change(&self->world, "+RTDS/t=1");
    ask(client, "RTDS", "t");
    ask(client, "udpa.test/Other", "x");
    xds_ack_all(client);
    client->trace[0] = '\0';
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b +RTDS/t=2");
    expect(client, "CDS[b] RTDS[t]", "CDS[a b] RTDS[t]");
    xds_ack(client, "CDS");
    xds_expect(client, "RDS[r]");
    xds_change(&self->world, "-RTDS/t");
}
BOTH(types_behind_what_waits_are_not_stopped)

/* A state has all that there is: also for a removal it does not go out before its time. */
static void
play_a_removal_does_not_bring_what_waits(bed *self, xds_client *client)
{
    xds_change(&self->world, "+LDS/k=1");
    expect(client, "LDS[k]", "LDS[k l]");
    xds_change(&self->world, "-LDS/k +CDS/b=1# +LDS/m=1");
    expect(client, "CDS[b]", "CDS[a b]");
    fake_hub_advance(&self->world.hub, 1000);
    xds_expect(client, "");
    xds_ack(client, "LDS");
    xds_ack(client, "CDS");
    expect(client, "LDS[m] LDS[-k]", "LDS[k l m] LDS[l m]");
    xds_change(&self->world, "-LDS/m");
}
BOTH(a_removal_does_not_bring_what_waits)

/* What was to be told before waits for an answer still when the next is replaced. */
static void
play_a_removal_takes_nothing_with_it_that_must_wait(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b -CDS/a -EDS/a");
    expect(client, "CDS[b]", "CDS[a b]");
    xds_ack(client, "CDS");
    xds_expect(client, "RDS[r]");
    xds_change(&self->world, "+CDS/c=1# +RDS/r=to-c -CDS/b");
    expect(client, "CDS[c]", "CDS[a b c]");
    xds_ack(client, "RDS"); /* to b, which is used now, and gone here */
    expect_end_of_a(client, "CDS[b c]");
    xds_ack(client, "CDS");
    expect(client, "RDS[r]", "RDS[r]");
    xds_ack(client, "RDS");
    expect(client, "CDS[-b]", "CDS[c]");
}
BOTH(a_removal_takes_nothing_with_it_that_must_wait)

/* ---- for how long ---- */

static void
play_nobody_waits_for_ever(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b -CDS/a -EDS/a");
    expect(client, "CDS[b]", "CDS[a b]");
    ask_for_endpoints(client, "b");
    xds_expect(client, "EDS[b]");
    fake_hub_advance(&self->world.hub, TIMEOUT_MS - 1);
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(client, "RDS[r]");
    fake_hub_advance(&self->world.hub, 4999); /* patience of removals begins there */
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1);
    expect(client, "EDS[-a] CDS[-a]", "CDS[b]");
    xds_change(&self->world, "+RDS/r=2"); /* nor is b waited for again … */
    xds_expect(client, "RDS[r]");
    xds_change(&self->world, "+CDS/b=2 +RDS/r=3"); /* … before it changes */
    expect(client, "CDS[b] EDS[b]", "CDS[b] EDS[b]");
    xds_ack(client, "EDS");
    xds_ack(client, "CDS");
    xds_expect(client, "RDS[r]");
}
BOTH(nobody_waits_for_ever)

static void
play_the_answer_to_clusters_alone_is_waited_for_a_second(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    ask_for_endpoints(client, "b");
    xds_expect(client, "EDS[b]");
    fake_hub_advance(&self->world.hub, 2000);
    xds_ack(client, "EDS");
    fake_hub_advance(&self->world.hub, 999);
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(client, "RDS[r]");
}
BOTH(the_answer_to_clusters_alone_is_waited_for_a_second)

static void
play_endpoints_that_are_not_there_are_not_waited_for(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b] RDS[r]", "CDS[a b] RDS[r]");
}
BOTH(endpoints_that_are_not_there_are_not_waited_for)

/* In the state of the world clusters are not sent either before all of them are known. */
static void
endpoints_that_may_yet_come_are(void **state)
{
    bed *self = *state;
    xds_client *client = &self->ads;
    begin(self, true);
    xds_settle_except(&self->world, "local");
    xds_change(&self->world, "+CDS/b=1 +RDS/r=to-b");
    xds_expect(client, "CDS[b]");
    xds_subscribe(client, "EDS", "b");
    xds_ack(client, "CDS");
    fake_hub_advance(&self->world.hub, 1500);
    xds_expect(client, "");
    xds_settle(&self->world);
    xds_expect(client, "RDS[r]");
    xds_ack(client, "RDS");
    xds_expect(client, "EDS[-b]");
    end(self);
}

static void
play_endpoints_that_nobody_asks_for_are_waited_for_a_second(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    fake_hub_advance(&self->world.hub, 500);
    xds_ack(client, "CDS");
    fake_hub_advance(&self->world.hub, 999);
    xds_expect(client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(client, "RDS[r]");
}
BOTH(endpoints_that_nobody_asks_for_are_waited_for_a_second)

static void
play_a_cluster_that_has_gone_is_not_waited_for(bed *self, xds_client *client)
{
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    xds_change(&self->world, "-CDS/b");
    fake_hub_advance(&self->world.hub, 250);
    xds_expect(client, "RDS[r]");
}
BOTH(a_cluster_that_has_gone_is_not_waited_for)

static void
play_without_a_time_nothing_waits(bed *self, xds_client *client)
{
    self->world.xds_server.warm_timeout_ms = 0;
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    expect(client, "CDS[b] RDS[r]", "CDS[a b] RDS[r]");
    self->world.xds_server.warm_timeout_ms = TIMEOUT_MS;
}
BOTH(without_a_time_nothing_waits)

/* ---- who waits ---- */

static void
who_asks_for_listeners_first_waits_for_nothing(void **state)
{
    bed *self = *state;
    xds_client *client = &self->ads;
    xds_client_open(client, &self->world, false);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1 +RDS/r=1");
    xds_ask_for(client, "LDS", "l");
    xds_ask_for(client, "RDS", "r");
    xds_ask_for(client, "CDS", "a");
    xds_ask_for(client, "EDS", "a");
    xds_ack_all(client);
    client->trace[0] = '\0';
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    xds_ask_for(client, "CDS", "a b");
    xds_change(&self->world, "+RDS/r=again");
    xds_expect(client, "CDS[a b] RDS[r]");
}

static void
who_asks_once_waits_for_nothing(void **state)
{
    bed *self = *state;
    xds_client fetch;
    begin(self, false);
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +RDS/r=to-b");
    xds_expect(&self->ads, "CDS[a b]");
    xds_client_call(&fetch, &self->world, "RDS", UDPAI_XDS_FETCH);
    xds_ask_for(&fetch, "RDS", "r");
    xds_expect(&fetch, "RDS[r]");
    xds_client_close(&fetch);
    end(self);
}

/* ---- one stream for each type ---- */

enum {
    CDS,
    EDS,
    LDS,
    RDS,
    N_STREAMS
};

static const char *const types[] = {"CDS", "EDS", "LDS", "RDS"};

typedef struct several {
    xds_client of[N_STREAMS], more; /* Envoy has one for each cluster's endpoints */
} several;

static void
open_several(bed *self, several *streams, bool is_delta)
{
    static const char *const names[] = {"", "a", "", "r"};
    udpai_xds_variant variant = is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1 +RDS/r=to-a");
    for (size_t i = 0; i < N_STREAMS; i++) {
        xds_client_call(&streams->of[i], &self->world, types[i], variant);
        ask(&streams->of[i], types[i], names[i]);
        xds_ack_all(&streams->of[i]);
    }
    for (size_t i = 0; i < N_STREAMS; i++)
        streams->of[i].trace[0] = '\0';
    xds_client_call(&streams->more, &self->world, "EDS", variant);
}

static void
close_several(several *streams)
{
    for (size_t i = 0; i < N_STREAMS; i++)
        xds_client_close(&streams->of[i]);
    xds_client_close(&streams->more);
}

static void
streams_of_one_client_wait_for_each_other(void **state)
{
    bed *self = *state;
    several streams;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        open_several(self, &streams, is_delta);
        xds_client *rds = &streams.of[RDS], *cds = &streams.of[CDS];
        xds_change(&self->world, "+RDS/r=to-b +CDS/b=1 +EDS/b=1 -CDS/a -EDS/a");
        xds_expect(rds, ""); /* the clusters have not even been written */
        expect(cds, "CDS[b]", "CDS[a b]");
        xds_expect(rds, "");
        ask(&streams.more, "EDS", "b");
        xds_ack(cds, "CDS");
        xds_expect(&streams.more, "EDS[b]");
        xds_expect(rds, "");
        xds_ack(&streams.more, "EDS");
        xds_expect(rds, "RDS[r]");
        fake_hub_advance(&self->world.hub, 4999);
        xds_expect(cds, "");
        xds_expect(&streams.of[EDS], "");
        xds_ack(rds, "RDS");
        expect(&streams.of[EDS], "EDS[-a]", "");
        xds_ack(&streams.of[EDS], "EDS");
        expect(cds, "CDS[-a]", "CDS[b]");
        close_several(&streams);
        xds_change(&self->world, "-CDS/b -EDS/b -LDS/l -RDS/r");
    }
}

static void
patience_begins_when_the_route_was_sent_elsewhere(void **state)
{
    bed *self = *state;
    several streams;
    open_several(self, &streams, true);
    xds_client *rds = &streams.of[RDS], *cds = &streams.of[CDS];
    xds_change(&self->world, "+RDS/r=to-b +CDS/b=1# -CDS/a");
    xds_expect(cds, "CDS[b]");
    xds_expect(rds, "");
    fake_hub_advance(&self->world.hub, TIMEOUT_MS);
    xds_expect(cds, "");
    xds_expect(rds, "RDS[r]");
    fake_hub_advance(&self->world.hub, 4999);
    xds_expect(cds, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(cds, "CDS[-a]");
    close_several(&streams);
}

/* The second is replaced while the first still waits to be told. */
static void
a_removal_takes_nothing_with_it_on_other_streams(void **state)
{
    bed *self = *state;
    several streams;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        open_several(self, &streams, is_delta);
        xds_client *rds = &streams.of[RDS], *cds = &streams.of[CDS];
        xds_change(&self->world, "+RDS/r=to-b +CDS/b=1# -CDS/a");
        expect(cds, "CDS[b]", "CDS[a b]");
        xds_ack(cds, "CDS");
        xds_expect(rds, "RDS[r]");
        xds_change(&self->world, "+RDS/r=to-c +CDS/c=1# -CDS/b");
        expect(cds, "CDS[c]", "CDS[a b c]");
        xds_ack(rds, "RDS");
        expect(cds, "CDS[-a]", "CDS[b c]");
        xds_expect(rds, "");
        xds_ack(cds, "CDS");
        xds_expect(rds, "RDS[r]");
        xds_ack(rds, "RDS");
        expect(cds, "CDS[-b]", "CDS[c]");
        close_several(&streams);
        xds_change(&self->world, "-CDS/c -EDS/a -LDS/l -RDS/r");
    }
}

/* On the same stream thread; by another connection, or of another node on the same one. */
static void
streams_of_others_do_not_matter(void **state)
{
    bed *self = *state;
    several streams;
    xds_client other, same_connection;
    udpa_bytes *address = self->world.address;
    open_several(self, &streams, true);
    self->world.address = udpai_bytes_cstring(UDPAI_STR("192.0.2.1:4243"));
    xds_client_call(&other, &self->world, "RDS", UDPAI_XDS_STREAM_DELTA);
    udpa_bytes_unref(self->world.address);
    self->world.address = address;
    xds_client_call(&same_connection, &self->world, "RDS", UDPAI_XDS_STREAM_DELTA);
    xds_subscribe(&other, "RDS", "r");
    XDS_SEND(&same_connection, "RDS", .names = "r", .node_id = "another");
    xds_expect(&other, "RDS[r]");
    xds_expect(&same_connection, "RDS[r]");
    xds_change(&self->world, "+RDS/r=to-b +CDS/b=1 +EDS/b=1");
    xds_expect(&other, "RDS[r]");
    xds_expect(&same_connection, "RDS[r]");
    xds_expect(&streams.of[RDS], "");
    xds_client_close(&other);
    xds_client_close(&same_connection);
    close_several(&streams);
}

static void
nobody_waits_for_a_stream_that_has_ended(void **state)
{
    bed *self = *state;
    several streams;
    open_several(self, &streams, true);
    xds_change(&self->world, "+RDS/r=to-b +CDS/b=1 +EDS/b=1");
    xds_expect(&streams.of[CDS], "CDS[b]");
    xds_expect(&streams.of[RDS], "");
    xds_client_close(&streams.of[CDS]);
    xds_expect(&streams.of[RDS], "RDS[r]");
    close_several(&streams);
}

/* It does not read; the others are not stopped for long. */
static void
a_stream_that_is_not_read_stops_nobody_for_long(void **state)
{
    bed *self = *state;
    several streams;
    open_several(self, &streams, true);
    xds_change(&self->world, "+CDS/a=2#");
    xds_write_one(&streams.of[CDS]);
    streams.of[CDS].trace[0] = '\0';
    xds_change(&self->world, "+RDS/r=to-b +CDS/b=1#");
    xds_expect(&streams.of[RDS], "");
    fake_hub_advance(&self->world.hub, TIMEOUT_MS - 1);
    xds_expect(&streams.of[RDS], "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(&streams.of[RDS], "RDS[r]");
    close_several(&streams);
}

/* ---- it is told ---- */

/* Of all its subscriptions, in words; good until the next call. */
static const char *
held_in_status(udpai_session *session)
{
    static char text[200];
    udpa_bytes *bytes = session->ops->describe(session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    udpa_bytes_unref(bytes);
    assert_non_null(status);
    text[0] = '\0';
    for (size_t i = 0; i < status->n_subscriptions; i++)
        strncat(text, status->subscriptions[i]->held, sizeof(text) - strlen(text) - 1);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    return text;
}

static void
what_is_held_is_said_to_be(void **state)
{
    bed *self = *state;
    csds_asker asker = {0};
    begin(self, true);
    csds_open(&asker, &self->world, false);
    xds_change(&self->world, "+CDS/b=1# +RDS/r=to-b");
    xds_expect(&self->ads, "CDS[b]");
    const char *said = csds_ask(&asker, false);
    assert_non_null(strstr(said, "RouteConfiguration r NOT_SENT/REQUESTED"));
    assert_non_null(strstr(said, "held: waits for cluster b"));
    udpai_session *session = self->ads.stream.session;
    assert_string_equal(held_in_status(session), "held: waits for cluster b");
    xds_ack(&self->ads, "CDS");
    xds_expect(&self->ads, "RDS[r]");
    assert_null(strstr(csds_ask(&asker, false), "held"));
    assert_string_equal(held_in_status(session), ""); /* and nothing is said of what is well */
    csds_close(&asker);
    end(self);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_route_comes_when_its_cluster_is_warm),
        TEST(answers_count_in_any_order),
        TEST(refused_clusters_are_answered),
        TEST(all_that_leads_to_clusters_waits),
        TEST(nothing_waits_for_a_changed_cluster),
        TEST(nothing_waits_for_a_later_cluster),
        TEST(what_is_older_goes_though_it_is_asked_for_later),
        TEST(types_behind_what_waits_are_not_stopped),
        TEST(a_removal_does_not_bring_what_waits),
        TEST(a_removal_takes_nothing_with_it_that_must_wait),
        TEST(nobody_waits_for_ever),
        TEST(the_answer_to_clusters_alone_is_waited_for_a_second),
        TEST(endpoints_that_are_not_there_are_not_waited_for),
        TEST(endpoints_that_may_yet_come_are),
        TEST(endpoints_that_nobody_asks_for_are_waited_for_a_second),
        TEST(a_cluster_that_has_gone_is_not_waited_for),
        TEST(without_a_time_nothing_waits),
        TEST(who_asks_for_listeners_first_waits_for_nothing),
        TEST(who_asks_once_waits_for_nothing),
        TEST(streams_of_one_client_wait_for_each_other),
        TEST(patience_begins_when_the_route_was_sent_elsewhere),
        TEST(a_removal_takes_nothing_with_it_on_other_streams),
        TEST(streams_of_others_do_not_matter),
        TEST(nobody_waits_for_a_stream_that_has_ended),
        TEST(a_stream_that_is_not_read_stops_nobody_for_long),
        TEST(what_is_held_is_said_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
