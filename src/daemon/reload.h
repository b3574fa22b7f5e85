/* SPDX-License-Identifier: Apache-2.0 */
/* What udpad takes over while it runs: certificates, keys, authorities, revocation lists, and of
 * the bootstrap file the rules and the keys, of signatures and of the store. By itself when the
 * files change, and at once on request. */
#ifndef UDPAI_RELOAD_H
#define UDPAI_RELOAD_H

#include "daemon/certificates.h"
#include "daemon/directories.h"
#include "daemon/effective.h"
#include "daemon/problems.h"
#include "daemon/replicas.h"
#include "daemon/rest.h"
#include "daemon/tunables_follow.h"

typedef struct udpai_reload udpai_reload;

/* Borrowed for good; `tls` has one for each socket of the plan, NULL for plaintext. */
typedef struct udpai_reload_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    const udpai_plan *plan;
    udpai_schema *schema;
    const char *config_file; /* NULL: none */
    udpai_problems *problems;
    udpai_server_tls *const *tls;
    udpai_rest *rest, *admin;      /* NULL: none */
    udpai_replicas *replicas;      /* NULL: none */
    udpai_otlp_exporter *exporter; /* NULL: nothing is traced */
    udpai_durable_engine *engine;  /* SQLite; NULL: nothing is kept */
    udpai_directories *directories;
    udpai_readers *readers; /* NULL: none */
    udpai_workers *workers; /* NULL: none */
    udpai_tunables_follower *follower;
    udpai_effective *effective; /* is kept up to date */
} udpai_reload_env;

/* When everything is open. */
udpa_err
udpai_reload_open(udpai_reload **ret_reload, const udpai_reload_env *env, udpa_error **ret_error);
/* Reads everything again, at once, and logs what came of it. */
void udpai_reload_all(udpai_reload *reload);
/* Those in use, as long as this is open. */
const udpai_certificates *udpai_reload_certificates(const udpai_reload *reload);
/* The loop frees it as it runs on. NULL does nothing. */
void udpai_reload_close(udpai_reload *reload);

#endif
