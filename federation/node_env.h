/* SPDX-License-Identifier: Apache-2.0 */
/* What a node needs of its surroundings: they carry out what it orders, and give it the time. */
#ifndef UDPAI_NODE_ENV_H
#define UDPAI_NODE_ENV_H

#include "events/node_event.h"
#include "session/messages.h"
#include "store/replication.h"

typedef struct udpai_node_env {
    /* Takes the order. */
    void (*order)(void *userdata, udpai_order *order);
    /* Begins to commit; takes the batch; answered by udpai_node_committed(). NULL: nothing is kept.
     */
    void (*commit)(void *userdata, udpai_durable_batch *batch, uint64_t ticket);
    /* Proposes it to the replicas of this node, itself among them; takes the batch; answered by
     * udpai_node_replicated(). NULL: there are none. */
    void (*propose)(void *userdata, udpai_durable_batch *batch, uint64_t ticket);
    /* Beside propose: a BARRIER with this ticket is reported when all that is committed by now was.
     */
    void (*barrier)(void *userdata, uint64_t ticket);
    /* Beside propose: all is reported again, as one CHANGE. */
    void (*list_again)(void *userdata);
    /* Beside propose: takes what the node has, as it was asked for. */
    void (*hold)(void *userdata, udpai_holdings *holdings);
    /* Beside propose: what this node has read of its directories, for the others: lines of a digest
     * and a path (store/replication.h). NULL: nobody is interested. */
    void (*set_files)(void *userdata, udpai_str files);
    /* Microseconds since 1970. */
    int64_t (*wall_us)(void *userdata);
    uint64_t (*random)(void *userdata);
    /* A publication that was not requested was answered, by its receipt, or because the stream
     * ended (then `error`). Borrowed. NULL: nothing is published. */
    void (*published)(void *userdata,
                      uint64_t ticket,
                      const udpai_publication *publication,
                      const udpa_error *error);
    /* The first subscription to a name, or to '*' and a prefix; or the last one has ended. Of an
     * endpoint: a peer's, whatever the type; else those, also lately ended, of what clients report.
     * NULL: nothing is reported. */
    void (*demand_changed)(void *userdata, udpai_str type_url, udpai_str text, bool subscribed);
    /* What a report of this node's own is about, if the reporter has stated it: views, good until
     * the next call into the node. NULL: it is never stated. */
    bool (*subject_of)(void *userdata,
                       const udpa_resource *report,
                       udpai_str *ret_type_url,
                       udpai_str *ret_name);
    /* What was reported with udpai_node_report_load() is now for others, which do not get it: it is
     * to be reported again, after this. NULL: nothing is reported so. */
    void (*audience_moved)(void *userdata);
    /* An event of this node; NULL: nobody is interested. */
    void (*note)(void *userdata, const udpai_node_event *event);
    void *userdata;
} udpai_node_env;

#endif
