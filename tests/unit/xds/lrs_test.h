/* SPDX-License-Identifier: Apache-2.0 */
/* A client of LRS, and the loop side that wants something of it. */
#ifndef UDPAI_TESTS_LRS_TEST_H
#define UDPAI_TESTS_LRS_TEST_H

#include "reports/load_stats.h"
#include "tests/harness/wire.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds/lrs_internal.h"
#include "xds_test.h"

#define SECOND_MS 1000
#define ID "client/1"
#define SEGMENT "client%2F1" /* the same as a segment */

typedef struct lrs_test {
    xds_world world;
    udpai_lrs_service service;
    fake_stream stream;
    const char *user_agent;
} lrs_test;

int lrs_setup(void **state);
int lrs_teardown(void **state);

/* ---- a client ---- */

void lrs_open_stream(lrs_test *test);
void lrs_send(lrs_test *test, udpai_str message);
/* A Node as a field of a request. */
udpai_str lrs_node(const lrs_test *test, const char *id, const char *feature);
void lrs_begin_as(lrs_test *test, const char *id, const char *feature);
/* As ID, which can send all clusters; that it has come was reported. */
void lrs_begin(lrs_test *test);
/* So many requests of a cluster, and so many in progress now. */
udpai_str lrs_stats(const char *cluster, uint64_t n_issued, uint64_t n_in_progress);

/* ---- the loop side ---- */

/* @p wish: a name; or, behind a '*', a prefix. */
void lrs_order(lrs_test *test, udpai_order_kind kind, const char *type_url, const char *wish);
void lrs_want(lrs_test *test, const char *wish);
void lrs_unwant(lrs_test *test, const char *wish);
/* What it was asked since the last call: clusters with blanks between, or "(all)"; NULL: nothing.
 */
const char *lrs_asked(lrs_test *test);
void lrs_expect_asked(lrs_test *test, const char *expected);
/* The next publication, to be given back by lrs_judge(); NULL: there is none. */
udpai_publication *lrs_published(lrs_test *test);
void lrs_judge(lrs_test *test, udpai_publication *publication);
udpai_load_stats *lrs_stats_of(const udpa_resource *resource);
/* "NAME=ISSUED/IN_PROGRESS …" of one publication, which is judged; "": there is none. The last
 * epoch seen is left in *ret_epoch, if that is not NULL. */
const char *lrs_said(lrs_test *test, uint64_t *ret_epoch);
void lrs_expect_said(lrs_test *test, const char *expected);
Udpa__Status__V1__SessionStatus *lrs_status(const lrs_test *test);
Udpa__Status__V1__SessionStatus *lrs_status_of(const udpai_session *session);
void lrs_expect_refused_by(const udpai_session *session, uint64_t n, const char *words);
void lrs_expect_refused(const lrs_test *test, uint64_t n, const char *words);
void lrs_expect_end(lrs_test *test, udpa_err code, const char *words);

#endif
