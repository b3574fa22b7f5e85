/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /store, /store_accept, /store_push, /store_reseal and /store_migrate: the state of a
 * replica, what an operator decides of an etcd that has another state than before, secrets with
 * another key, and another engine. */
#ifndef UDPAI_DAEMON_STORE_PAGE_H
#define UDPAI_DAEMON_STORE_PAGE_H

#include "daemon/plan.h"
#include "daemon/replicas.h"
#include "endpoint/endpoint.h"

/* A line for each fact. UDPA_ERR_PRECONDITION: the node has no replicas. */
udpa_err
udpai_store_page(const udpa_endpoint *endpoint, udpai_strbuf *text, udpa_error **ret_error);
/* The same; then it is decided, unless the form is "dry_run". UDPA_ERR_INVAL: it is another one.
 * UDPA_ERR_PRECONDITION: the replica does not hold. */
udpa_err udpai_store_answer_page(udpa_endpoint *endpoint,
                                 udpai_hold_answer answer,
                                 udpai_str form,
                                 udpai_strbuf *text,
                                 udpa_error **ret_error);
/* Notes that the next start with another engine takes over what the state directory has; what to do
 * then, for people. UDPA_ERR_PRECONDITION: nothing is stored. */
udpa_err
udpai_store_migrate_page(const udpai_plan *plan, udpai_strbuf *text, udpa_error **ret_error);
/* Begins to encrypt secrets with the first key, unless the form is "look=true"; how far it is, in
 * words and numbers on one line. UDPA_ERR_PRECONDITION: @p replicas is NULL, or has no key. */
udpa_err udpai_store_reseal_page(udpai_replicas *replicas,
                                 udpai_str form,
                                 udpai_strbuf *text,
                                 udpa_error **ret_error);
/* In the forms of /stats and /stats/prometheus; of a node without replicas nothing. */
void udpai_store_stats(const udpa_endpoint *endpoint, udpai_strbuf *text);
void udpai_store_metrics(const udpa_endpoint *endpoint, udpai_strbuf *text);

#endif
