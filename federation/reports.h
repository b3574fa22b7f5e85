/* SPDX-License-Identifier: Apache-2.0 */
/* What clients report (model/client_type.h): which subscribers it has here, and which peers are
 * asked for it. It flows up: peers that have dialled this node, and may have some, are asked, no
 * ConfigSource is. */
#ifndef UDPAI_REPORTS_H
#define UDPAI_REPORTS_H

#include "federation/interest.h"
#include "federation/peers.h"

/* A subscription begins or ends here; it counts. @p text: a name, or '*' and a prefix. */
void udpai_reports_subscribe(udpai_interest *interest,
                             udpai_str type_url,
                             udpai_str text,
                             bool subscribed);

/* UDPAI_REPORT_PASSED_ON, with its subscription as a text: a node that this one has dialled
 * subscribes to it for another. */
void udpai_reports_passed_on(udpai_interest *interest, const udpai_report *report, udpai_str text);
/* A stream has ended, and with it what came on it. */
void udpai_reports_closed(udpai_interest *interest, uint64_t session);

/* The same as udpai_reports_subscribe(), from clients that have dialled this node; other nodes
 * below are not asked. */
void udpai_reports_subscribe_direct(udpai_interest *interest,
                                    udpai_str type_url,
                                    udpai_str text,
                                    bool subscribed);

/* The peer's Node was received: the peer is asked for all that is subscribed to, if it may have
 * some. */
void udpai_reports_introduce(udpai_interest *interest, udpai_peer *peer);

/* The peer refuses what it is asked for: it is asked again in a while, for its rules may be others
 * then. */
void udpai_reports_refused(udpai_interest *interest,
                           const udpai_peer *peer,
                           const udpai_subscription_message *error);

/* What clients are asked for. */
size_t udpai_reports_n_subscriptions(const udpai_interest *interest);
/* Is the peer asked for what has this name? */
bool udpai_reports_asks(udpai_interest *interest,
                        const udpai_peer *peer,
                        udpai_str type_url,
                        udpai_str name);
/* The peer refreshes what is not held here, though it is asked for it: it sends it again. */
void udpai_reports_ask_again(udpai_interest *interest,
                             const udpai_peer *peer,
                             udpai_str type_url,
                             const udpai_str *names,
                             size_t n_names);

/* ---- report_rules.c ---- */

/* What a client reports ends when the client has left. */
udpa_err udpai_report_check_ttl(const udpa_resource *resource, udpa_error **ret_error);
/* Has this node reported it itself? */
bool udpai_reports_is_own(const udpai_context *context, const udpa_resource *resource);
/* Has another replica of this node sent it? */
bool udpai_reports_is_of_set(const udpai_context *context, const udpa_resource *resource);

#endif
