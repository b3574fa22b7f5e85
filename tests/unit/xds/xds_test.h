/* SPDX-License-Identifier: Apache-2.0 */
/* A world for tests of xDS sessions: a hub that is fed change sets by hand, and clients whose
 * requests and responses are written in one line. */

/* Types are called CDS EDS LDS SRDS RDS SDS RTDS LEDS VHDS LISTS; any other word is a type URL.
 *
 * Changes: "+CDS/a=1 -EDS/b ~LDS/c" sets, removes, refreshes. A name without a slash lies in the
 * namespace "local". Behind it, in any order: =CONTENT (the rest of the payload), !NAME (the
 * payload says another name), @SERVICE (a cluster's EDS service name; a listener's route
 * configuration; the collection of an assignment's locality), # (a cluster without EDS), %TTL (ms),
 * ^ALIAS (a full name), &AUTHORITY, $ (lazy), <TESTS (the constraints of a variant:
 * "<env~prod,-zone" wants env to be prod, and no zone), >ID (a redirect to this). In names "{"
 * stands for "=" and ";" for
 * "&".
 *
 * Responses: "CDS[a b] EDS[a -c]": type, names in order of the alphabet, removed ones behind. "~a":
 * a heartbeat; "?a": there is none, told by a Resource; "a%": with a ttl; "a=": wrapped in a
 * Resource, without one; "a>": a redirect; "a<env~prod": known by its constraints. Whoever asks for
 * "a<env~prod,zone~1" uses a locator with these parameters. */
#ifndef UDPAI_TESTS_XDS_TEST_H
#define UDPAI_TESTS_XDS_TEST_H

#include "tests/harness/fake_stream.h"
#include "tests/harness/test.h"
#include "xds/xds_internal.h"

#define XDS_TEST_TYPES_MAX 64
#define XDS_TEST_PATIENCE_MS 30000 /* of who polls */

typedef struct xds_world {
    fake_hub hub;
    udpai_xds_server xds_server;
    udpai_xds_audience audience; /* the server's only one, until a test has others */
    udpa_bytes *address;         /* of who calls from now on; NULL: not known; the test's */
} xds_world;

void xds_world_init(xds_world *world);
/* With limits of the test's own. */
void xds_world_init_with(xds_world *world, const udpai_hub_options *options);
void xds_world_done(xds_world *world);
/* Everything is known from now on. */
void xds_settle(xds_world *world);
/* All but this is known. */
void xds_settle_except(xds_world *world, const char *prefix);
/* Applies one change set. */
void xds_change(xds_world *world, const char *changes);
/* CDS … or a type URL; the result of a call with the latter is the argument. */
const char *xds_type_url(const char *type);

/* What a client remembers of a type. */
typedef struct xds_client_type {
    char url[128];
    char nonce[32], version[64]; /* of the last response */
    char accepted[64];           /* the version of the last one that was acknowledged */
    char names[4096];            /* of its last request, SotW */
} xds_client_type;

typedef struct xds_client {
    xds_world *world;
    fake_stream stream;
    bool is_delta, sent_first;
    const char *features[4]; /* of its Node */
    const char *user_agent;  /* NULL: it does not say */
    xds_client_type types[XDS_TEST_TYPES_MAX];
    size_t n_types;
    char trace[16384]; /* responses that were not looked at yet */
} xds_client;

/* What cannot be written in one line. */
typedef struct xds_ask {
    const char *type;
    const char *names;        /* SotW: all; delta: subscribed; divided by spaces */
    const char *unsubscribed; /* delta */
    const char *held;         /* delta: "a=VERSION b=VERSION", initial_resource_versions */
    const char *nonce;        /* NULL: of the last response of the type */
    const char *version;
    const char *error; /* not NULL: a refusal */
    const char *node_id;
    size_t node_padding;   /* bytes of further fields in the Node */
    bool says_node;        /* again, though it is not the first request */
    const char *parameter; /* of its Node, "key=value" */
} xds_ask;

/* Of the service for this type. */
void
xds_client_call(xds_client *client, xds_world *world, const char *type, udpai_xds_variant variant);
/* Of the aggregated service. */
void xds_client_open(xds_client *client, xds_world *world, bool is_delta);
/* Ends the stream and begins another one, from nothing. */
void xds_client_reopen(xds_client *client);
void xds_client_close(xds_client *client);

void xds_send(xds_client *client, const xds_ask *ask);
#define XDS_SEND(client, ...) xds_send((client), &(xds_ask){__VA_ARGS__})

/* SotW: a request with these names and the type's last nonce. */
void xds_ask_for(xds_client *client, const char *type, const char *names);
/* Delta: a request of the client's own, without a nonce. */
void xds_subscribe(xds_client *client, const char *type, const char *names);
void xds_unsubscribe(xds_client *client, const char *type, const char *names);
/* Answers the last response of the type. */
void xds_ack(xds_client *client, const char *type);
void xds_nack(xds_client *client, const char *type, const char *error);
/* Acknowledges whatever comes, until nothing does. */
void xds_ack_all(xds_client *client);

/* Lets everything be written, and compares what was written since the last call. */
void xds_expect(xds_client *client, const char *responses);
/* Has at most one message written, and leaves it under way. */
void xds_write_one(xds_client *client);
/* The version that the type's last response had. */
const char *xds_version(const xds_client *client, const char *type);
const char *xds_nonce(const xds_client *client, const char *type);
/* The content hash of a resource that is there, as clients see it. */
const char *xds_hash(const char *resource, char room[UDPAI_CONTENT_HASH_HEX + 1]);
/* Was the stream ended with this code, and a text that holds these words? */
void xds_expect_end(xds_client *client, udpa_err code, const char *words);

/* Makes the resource that a change says, such as "CDS/a=1". */
udpa_resource *xds_resource(const char *change);

/* ---- fixtures: everything is known; closing a client that a test has not opened is harmless ----
 */

typedef struct xds_one {
    xds_world world;
    xds_client client;
} xds_one;

int xds_one_setup(void **state); /* the test opens the client */
int xds_one_setup_delta(void **state);
int xds_one_setup_sotw(void **state);
int xds_one_teardown(void **state);

/* Both protocols side by side. */
typedef struct xds_pair {
    xds_world world;
    xds_client delta, sotw;
} xds_pair;

int xds_pair_setup(void **state);
int xds_pair_teardown(void **state);
void xds_pair_ask(xds_pair *pair, const char *type, const char *names);
void xds_pair_expect(xds_pair *pair, const char *delta, const char *sotw);

#endif
