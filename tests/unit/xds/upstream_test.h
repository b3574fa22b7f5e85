/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the upstream session share: its server's end, and the loop side. */
#ifndef UDPAI_TESTS_UPSTREAM_TEST_H
#define UDPAI_TESTS_UPSTREAM_TEST_H

#include "model/types.h"
#include "tests/harness/fake_stream.h"
#include "xds/request.h"
#include "xds/upstream.h"

#define CLUSTER UDPAI_TYPE_CLUSTER
#define ENDPOINTS UDPAI_TYPE_ENDPOINTS
#define LISTENER UDPAI_TYPE_LISTENER
#define ROUTES UDPAI_TYPE_ROUTES
#define SCOPES UDPAI_TYPE_SCOPES
#define SECRET "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

typedef struct upstream_bed {
    fake_hub hub;
    fake_stream stream;
    udpai_upstream *upstream;
    udpai_decoder decoder;
    udpai_xds_request request; /* read last */
    udpa_bytes *bytes;         /* of it */
    bool is_delta;
    udpai_trace trace;        /* of the publication that was judged last */
    udpai_identity *identity; /* of the server, on the next stream; NULL: none */
} upstream_bed;

/* With a connected stream; the server's names are in com.acme. */
int upstream_setup_sotw(void **state);
int upstream_setup_rest(void **state);
int upstream_setup_delta(void **state);
int upstream_setup_in_a_path(void **state); /* in com.acme/clients/one */
int upstream_setup_clusters_only(void **state);
int upstream_teardown(void **state);
void upstream_connect(upstream_bed *bed);
void upstream_disconnect(upstream_bed *bed);

/* ---- the loop side ---- */

void upstream_ask_all(upstream_bed *bed, const char *type_url);
void upstream_ask_name(upstream_bed *bed, const char *type_url, const char *name);
/* The loop side holds this already. */
void upstream_ask_holding(upstream_bed *bed,
                          const char *type_url,
                          const char *asked,
                          udpai_held_version held);
void upstream_ask_no_more(upstream_bed *bed, const char *type_url, const char *name);
/* The next publication as text: "+name", "-name", "complete", "nothing"; judged, with this error of
 * its first entry (NULL: none). Empty: there is none. */
void upstream_judge(upstream_bed *bed, const char *expected, udpa_error *error);
void upstream_expect(upstream_bed *bed, const char *expected);

/* ---- the server ---- */

/* The next request; false: there is none. */
bool upstream_next_request(upstream_bed *bed);
void upstream_expect_request(upstream_bed *bed, const char *type_url, const char *names);
void upstream_expect_no_request(upstream_bed *bed);
udpai_str upstream_any(const char *type_url, udpai_str value);
/* A Cluster with endpoints by EDS, and a number that makes it another one. */
udpai_str upstream_cluster(const char *name, uint64_t number);
udpai_str upstream_endpoints(const char *name, uint64_t number);
/* A Listener with scoped routes: W_MESSAGE(4, …) has the scopes, W_MESSAGE(5, …) gets them by SRDS.
 */
udpai_str upstream_scoped_listener(const char *name, udpai_str scopes);
udpai_str upstream_scope(const char *name, const char *routes);
/* As the loop side knows its version; valid until the next call. */
const char *upstream_hash(udpai_str payload);
udpai_str upstream_resource(const char *name, const char *version, udpai_str payload);
udpai_str upstream_of_type(const char *type_url, const char *nonce);
void upstream_respond(upstream_bed *bed, udpai_str response);

#endif
