/* SPDX-License-Identifier: Apache-2.0 */
/* One type of a writer: what is subscribed to, what is there, and which files that makes. Part of
 * the writer, for writer.c alone. */
#ifndef UDPAI_FILE_TOPIC_H
#define UDPAI_FILE_TOPIC_H

#include "base/map.h"
#include "transport/file/write_job.h"
#include "transport/file/writer.h"

typedef struct udpai_file_topic udpai_file_topic;

/* One subscription to the node. */
typedef struct udpai_topic_part {
    udpai_file_topic *topic;
    udpai_local_subscription *local;
    bool is_complete;
} udpai_topic_part;

struct udpai_file_topic {
    udpai_node *node;
    const udpai_xds_audience *audience;
    char *type_url;
    char *stem; /* "clusters": of the file, or the folder */
    bool is_whole;
    /* Not NULL: only what the resources of that topic refer to. */
    udpai_file_topic *parent;
    UDPAI_VECTOR(udpai_topic_part *) parts;
    udpai_map resources;        /* udpa_resource; references */
    UDPAI_VECTOR(char *) names; /* of a child: as clients spell them; sorted, owned */
    bool has_failed;            /* an update was lost for lack of memory: it must subscribe again */
    void (*changed)(void *userdata);
    void *userdata;
};

/* To be followed by udpai_file_topic_done() in any case. */
udpa_err udpai_file_topic_init(udpai_file_topic *topic, udpai_str type_url);
/* Nothing is sent any more. Not from a callback of the node. */
void udpai_file_topic_unsubscribe(udpai_file_topic *topic);
/* After that the node may be freed. */
void udpai_file_topic_done(udpai_file_topic *topic);

/* Subscribes to all that the audience sees, if it does not yet, or something of it was lost. Sets
 * *ret_changed if it did. */
udpa_err udpai_file_topic_subscribe(udpai_file_topic *topic, bool *ret_changed);
/* The same of a child, to what the parent refers to now. */
udpa_err udpai_file_topic_follow(udpai_file_topic *topic, bool *ret_changed);

/* Is all known that there is? Of a child: of every name whether it is there. */
bool udpai_file_topic_is_known(const udpai_file_topic *topic);

/* Adds its files. Without @p is_patient what is not known of a child becomes an empty file, unless
 * there is one. */
udpa_err
udpai_file_topic_write(const udpai_file_topic *topic, udpai_write_job *job, bool is_patient);

#endif
