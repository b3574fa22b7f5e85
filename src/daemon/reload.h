/* SPDX-License-Identifier: Apache-2.0 */
/* What udpad takes over while it runs: the bootstrap file, certificates, keys, authorities,
 * revocation lists. By itself when the files change, and at once on request. */
#ifndef UDPAI_RELOAD_H
#define UDPAI_RELOAD_H

#include "daemon/certificate_users.h"
#include "daemon/configuration.h"

typedef struct udpai_reload udpai_reload;

/* Borrowed for good. */
typedef struct udpai_reload_env {
    uv_loop_t *loop;
    udpai_configuration_env configuration; /* its options may be without a file */
    udpai_certificate_users users;
} udpai_reload_env;

/* When everything is open. */
udpa_err
udpai_reload_open(udpai_reload **ret_reload, const udpai_reload_env *env, udpa_error **ret_error);
/* Reads everything again, at once, and logs what came of it. */
void udpai_reload_all(udpai_reload *reload);
/* The bootstrap file alone. UDPA_ERR_PRECONDITION: there is none, or too much would go. */
udpa_err udpai_reload_configuration(udpai_reload *reload,
                                    const udpai_configuration_request *request,
                                    udpa_error **ret_error);
/* The node begins to end: no bootstrap file is taken over any more. NULL does nothing. */
void udpai_reload_end(udpai_reload *reload);
/* Another process is about to take the place of this one: the bootstrap file is its concern, until
 * it has failed; what has changed by then is taken over. NULL does nothing. */
void udpai_reload_hold(udpai_reload *reload, bool is_held);
/* Those in use, as long as this is open. */
const udpai_certificates *udpai_reload_certificates(const udpai_reload *reload);
/* The loop frees it as it runs on. NULL does nothing. */
void udpai_reload_close(udpai_reload *reload);

#endif
