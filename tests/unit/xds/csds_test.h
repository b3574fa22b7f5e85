/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who asks by CSDS, and what he is answered, in one line: each client in the order of the
 * alphabet, as "ID{TYPE NAME CONFIG/CLIENT VERSION; …}", its resources in the same order; "+BODY"
 * for a body, behind "!" what was refused: "!VERSION'DETAILS'"; "ID@SCOPE{…}": its client_scope.
 * Versions are those of resources that were named to csds_know(): the content. */
#ifndef UDPAI_TESTS_CSDS_TEST_H
#define UDPAI_TESTS_CSDS_TEST_H

#include "envoy/service/status/v3/csds.pb-c.h"
#include "xds/csds.h"
#include "xds_test.h"

typedef Envoy__Service__Status__V3__ClientStatusRequest csds_request;
typedef Envoy__Service__Status__V3__ClientStatusResponse csds_response;
typedef Envoy__Service__Status__V3__ClientConfig csds_config;

#define CSDS_REQUEST_INIT ENVOY__SERVICE__STATUS__V3__CLIENT_STATUS_REQUEST__INIT

typedef struct csds_asker {
    xds_world *world;
    udpai_csds csds;
    udpai_csds_method method;
    fake_stream stream;
    /* Of the last answer: */
    size_t n_responses, n_configs, n_entries, n_bytes, largest;
} csds_asker;

/* As udpad opens them. */
void csds_open(csds_asker *asker, xds_world *world, bool is_fetch);
void csds_close(csds_asker *asker);
void csds_send(csds_asker *asker, const csds_request *request);
/* Lets everything be written; the answer, valid until the next call. */
const char *csds_take(csds_asker *asker);
/* Sends a request without matchers, with or without bodies. */
const char *csds_ask(csds_asker *asker, bool with_bodies);
/* A Fetch about the clients whose ids begin so, in a way that needs no memory of ours; how it ends.
 */
udpa_err csds_fetch_sinking(csds_asker *asker, char first);
/* A resource as in xds_change(), such as "CDS/a=1#", whose version is known by its content. */
void csds_know(const char *resource);

#endif
