/* SPDX-License-Identifier: Apache-2.0 */
/* How large the database of etcd is, and which alarms it has: asked of the member that is in use,
 * so that people are warned before etcd rejects writes, and read why it does. Nothing is done
 * about it. Owned by the thread of its replicator. */
#ifndef UDPAI_REPLICA_ALARMS_H
#define UDPAI_REPLICA_ALARMS_H

#include "base/wheel.h"
#include "etcd/etcd.h"
#include "store/replication.h"

#define UDPAI_ALARMS_ASK_MS 30000
#define UDPAI_ALARMS_ASK_SOON_MS 1000 /* when something was rejected */
#define UDPAI_ALARMS_FULL_PERCENT 80  /* of the quota; from there it is a problem */

typedef struct udpai_alarms_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    /* Takes an ETCD. */
    void (*report)(void *userdata, udpai_replicated *event);
    void *userdata;
} udpai_alarms_env;

typedef struct udpai_alarms {
    udpai_alarms_env env;
    udpai_etcd_call call;
    udpai_timer next;
    bool is_asking;
} udpai_alarms;

/* Asks soon, and then again and again. */
void udpai_alarms_begin(udpai_alarms *alarms, const udpai_alarms_env *env);
/* Something was rejected that etcd takes otherwise: perhaps for an alarm. */
void udpai_alarms_ask_soon(udpai_alarms *alarms);
/* Of one that has not begun: nothing. */
void udpai_alarms_end(udpai_alarms *alarms);

#endif
