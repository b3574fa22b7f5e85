/* SPDX-License-Identifier: Apache-2.0 */
/* A hub that is fed change sets by hand, and UDPA peers whose messages are read and written as
 * text. */

/* Types: C (Cluster), E (ClusterLoadAssignment), L (Listener), R (RouteConfiguration), T (of the
 * tests, unknown to everybody), V (Event); what is longer is a type URL.
 *
 * Changes: "+C:com.acme/a=1 ~C:com.acme/b=1%500 -E:com.acme/c": sets, refreshes, removes; behind
 * '=' the version, which is the payload too; behind '%' the ttl in ms.
 *
 * What a peer is sent, message by message:
 *   node{ID}
 *   publish{C@com.acme C:com.acme/a=1 ~C:com.acme/b=1%500 -com.acme/c ? !}
 *       scope; with and without payload; removed; #7: so far has the store come; ^00-01: a trace,
 *       of which that is the beginning; ?: a receipt is
 *       required, !: complete
 *   receipt{NONCE 0 7'words'}      the statuses' codes and texts
 *   subscribe{C@com.acme NAME HELD=VERSION}, unsubscribe{C@com.acme NAME}
 *   error{C@com.acme NAME 3'words'}
 * An event is V:NAME=VERSION'NODE MESSAGE', with +N if so many were lost before it.
 * The wildcard shows as ''. */
#ifndef UDPAI_TESTS_SESSION_TEST_H
#define UDPAI_TESTS_SESSION_TEST_H

#include "session/udpa.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/resources.h"
#include "tests/harness/wire.h"

typedef enum peer_kind {
    PEER_ENDPOINT, /* knows our extensions */
    PEER_NODE,     /* a management node with them */
    PEER_PAPER,    /* knows the public protocol alone: no field of ours may reach it */
    PEER_READER,   /* an endpoint that shows to people what it is sent */
    PEER_COPIER,   /* one that keeps a copy, secrets included */
} peer_kind;

typedef struct test_peer {
    fake_hub *hub;
    fake_stream stream;
    peer_kind kind;
    char trace[65536]; /* what was sent and not looked at yet */
    char nonce[32];    /* of the last publish */
} test_peer;

/* ---- the hub ---- */

/* Called "node", with our extensions; everything is settled. */
void session_hub_init(fake_hub *hub);
void session_hub_init_with(fake_hub *hub, udpai_hub_options *options);
const char *session_type_url(const char *word);
void session_settle(fake_hub *hub);
/* This is not known yet, because of a source that may (or may not) itself wait for us. */
void session_settle_except(fake_hub *hub, const char *prefix, bool may_wait_for_us);
/* Applies one change set. */
void session_change(fake_hub *hub, const char *changes);
/* "C:com.acme/a" goes, as its authority has said with this generation; with "=1" the same comes
 * from another one now. */
void session_end(fake_hub *hub, const char *name, uint64_t generation, const char *node);
/* The same of one resource, which is consumed. */
void session_set(fake_hub *hub, udpai_change_kind kind, udpa_resource *resource, const char *node);

/* ---- peers ---- */

/* A stream that was accepted; the Nodes have been exchanged, and the reports dropped. */
void peer_open(test_peer *peer, fake_hub *hub, peer_kind kind);
/* The same of a stream that we dialled for a link, to a source if `is_source`. */
void peer_open_dialled(test_peer *peer, fake_hub *hub, peer_kind kind, bool is_source);
/* Nothing has been said yet. */
void
peer_open_silent(test_peer *peer, fake_hub *hub, peer_kind kind, const udpai_stream_info *info);
/* What was not looked at was not tested: asserts that there is nothing. */
void peer_close(test_peer *peer);
uint64_t peer_session(const test_peer *peer);

/* Hands the session a message, in memory of exactly its size. */
void peer_send(test_peer *peer, udpai_str message);
void peer_send_node(test_peer *peer, const char *id);
/* `names`: divided by spaces; '' is the wildcard. */
void peer_subscribe(test_peer *peer, const char *type, const char *name_space, const char *names);
void peer_unsubscribe(test_peer *peer, const char *type, const char *name_space, const char *names);
/* Of the last publish; `codes`: of the statuses, as "0 3 0". */
void peer_receipt(test_peer *peer, const char *codes);
/* Resources as in changes, such as "C:com.acme/a=1 -com.acme/b"; "?" asks for a receipt, "!" says
 * complete. With the scope, unless the peer knows just the public protocol. */
void peer_publish(test_peer *peer, const char *type, const char *nonce, const char *what);

/* Lets everything be written, and compares what was written since the last call. */
void peer_expect(test_peer *peer, const char *messages);
/* Has at most one message written, which stays under way; then compares. */
void peer_expect_one(test_peer *peer, const char *message);
/* Was the stream ended with this code, and a text that holds these words? */
void peer_expect_end(test_peer *peer, udpa_err code, const char *words);
/* Lets everything be written; the oldest message not looked at yet as bytes, to be unreferenced. */
udpa_bytes *peer_take_raw(test_peer *peer);

/* ---- orders and reports ---- */

/* An order for the peer's session; `names` as above. */
void session_ask(
    test_peer *peer, udpai_order_kind kind, const char *type, const char *ns, const char *names);
/* Hands the oldest publication back, judged; `codes`: of its entries, in order, the last one counts
 * for the rest. Asserts that there is one. */
void session_judge(test_peer *peer, const char *codes);
/* The oldest report of this kind; asserts that there is one. To be freed. */
udpai_report *session_take(fake_hub *hub, udpai_report_kind kind);
void session_drop(fake_hub *hub, udpai_report_kind kind);
/* There is none of this kind. */
void session_expect_no(fake_hub *hub, udpai_report_kind kind);

#endif
