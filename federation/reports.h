/* SPDX-License-Identifier: Apache-2.0 */
/* What clients report (model/client_type.h): who wants it here, and whom it is asked from. It flows
 * up: those that have dialled this node, and may have some, are asked, no ConfigSource is. */
#ifndef UDPAI_REPORTS_H
#define UDPAI_REPORTS_H

#include "federation/intake.h"

void udpai_reports_init(udpai_node *node);
void udpai_reports_free(udpai_node *node);

/* Somebody here wants it, or does no more; it counts. @p text: a name, or '*' and a prefix. */
void udpai_reports_want(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);

/* UDPAI_REPORT_PASSED_ON, with what it wants as a text: a node that this one has dialled wants it
 * because somebody else does. */
void udpai_reports_passed_on(udpai_node *node, const udpai_report *report, udpai_str text);
/* A stream has ended, and with it what came on it. */
void udpai_reports_gone(udpai_node *node, uint64_t session);

/* The same as udpai_reports_want(), from clients that have dialled this node; other nodes below are
 * not asked. */
void udpai_reports_want_direct(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);

/* The peer has said who it is: it is asked for all that is wanted, if it may have some. */
void udpai_reports_introduce(udpai_node *node, udpai_peer *peer);

/* The peer refuses what it is asked for: it is asked again in a while, for its rules may be others
 * then. */
void udpai_reports_refused(udpai_node *node,
                           const udpai_peer *peer,
                           const udpai_subscription_message *error);

/* Is the peer asked for what has this name? */
bool
udpai_reports_asks(udpai_node *node, const udpai_peer *peer, udpai_str type_url, udpai_str name);
/* The peer refreshes what is not held here, though it is asked for it: it sends it again. */
void udpai_reports_ask_again(udpai_node *node,
                             const udpai_peer *peer,
                             udpai_str type_url,
                             const udpai_str *names,
                             size_t n_names);

/* ---- report_rules.c ---- */

/* What a client reports ends when the client is gone. */
udpa_err udpai_report_check_ttl(const udpa_resource *resource, udpa_error **ret_error);
/* Of a resource that a peer publishes: is it one of a client, and may the peer publish it? */
udpa_err udpai_reports_check(const udpai_intake *intake,
                             const udpa_resource *resource,
                             udpa_error **ret_error);

/* Has this node reported it itself? */
bool udpai_reports_is_own(const udpai_node *node, const udpa_resource *resource);

/* ---- reports.c ---- */

/* Of an endpoint, which offers to others what it says itself, and nothing else: those of the
 * changes that are. NULL: none. UDPA_ERR_NOMEM: they are lost. */
udpa_err udpai_reports_pick(const udpai_node *node,
                            const udpai_change_set *changes,
                            udpai_change_set **ret_picked);

#endif
