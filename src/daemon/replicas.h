/* SPDX-License-Identifier: Apache-2.0 */
/* This udpad as one of the replicas that share an etcd. */
#ifndef UDPAI_DAEMON_REPLICAS_H
#define UDPAI_DAEMON_REPLICAS_H

#include "daemon/plan.h"
#include "replica/replicator.h"
#include "storage/seal.h"

typedef struct udpai_replicas udpai_replicas;

/* Which set this is, of the state directory; the first time it is asked of etcd, which is waited
 * for. Without `engine: ETCD` nothing is opened. */
udpa_err
udpai_replicas_open(udpai_replicas **ret_replicas, udpai_plan *plan, udpa_error **ret_error);
/* After what has its replication. NULL does nothing. */
void udpai_replicas_close(udpai_replicas *replicas);
/* The endpoint's, which closes it; before that the next two may still be called. */
udpai_replication *udpai_replicas_take(udpai_replicas *replicas);
/* Other certificates, for what is dialled from now on. */
udpa_err udpai_replicas_replace_tls(udpai_replicas *replicas,
                                    const udpai_tls_files *files,
                                    udpa_error **ret_error);
/* The rules are those of the bootstrap that was read now, and the keys of signatures are these:
 * their digest goes to the other replicas. NULL does nothing. */
void udpai_replicas_note_rules(udpai_replicas *replicas,
                               const udpai_plan *plan,
                               const Udpa__Config__V1__Bootstrap *read,
                               const udpai_keyring *keyring);
/* Reads the password again, and logs why it cannot. NULL does nothing. */
void udpai_replicas_reload_password(udpai_replicas *replicas);
/* Other keys for secrets, copied. NULL does nothing. */
udpa_err udpai_replicas_set_keys(udpai_replicas *replicas, const udpai_sealer *keys);
/* Seals secrets of the set with the first key; how far that is. NULL: UDPA_ERR_PRECONDITION. */
udpa_err udpai_replicas_reseal(udpai_replicas *replicas, udpa_error **ret_error);
udpai_reseal_progress udpai_replicas_resealing(udpai_replicas *replicas);

#endif
