/* SPDX-License-Identifier: Apache-2.0 */
/* Sources with 'replicas: SHARED': the elected replica is connected to each of them, by an endpoint
 * beside its node that holds what the source sends. The node is given that as it is given the files
 * of a directory, and writes it for all (federation/shares.h).
 *
 * Source: docs/design/replicas.md, "What one replica reads for all" */
#ifndef UDPAI_DAEMON_READERS_H
#define UDPAI_DAEMON_READERS_H

#include "daemon/plan.h"

typedef struct udpai_readers udpai_readers;

/* Reports to the node which sources one replica reads for all; before it is given what was kept. */
udpa_err
udpai_readers_expect(udpa_endpoint *endpoint, const udpai_plan *plan, udpa_error **ret_error);

/* Borrowed for good. */
typedef struct udpai_readers_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    const udpai_plan *plan;
    udpai_inspector inspector; /* as the endpoint's */
} udpai_readers_env;

/* NULL: there is no such source. */
udpa_err udpai_readers_open(udpai_readers **ret_readers,
                            const udpai_readers_env *env,
                            udpa_error **ret_error);
/* Other rules, or other keys, hold from now on; a reference is taken. NULL is fine, here and below.
 * UDPA_ERR_NOMEM: those before still hold for some. */
udpa_err udpai_readers_set_acl(udpai_readers *readers, udpai_acl *acl);
void udpai_readers_set_keyring(udpai_readers *readers, udpai_keyring *keyring);
/* The loop frees it as it runs on; the node is given nothing more. */
void udpai_readers_close(udpai_readers *readers);

#endif
