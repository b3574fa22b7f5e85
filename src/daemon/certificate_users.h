/* SPDX-License-Identifier: Apache-2.0 */
/* All of a node that uses certificates: its sockets, and what it dials. */
#ifndef UDPAI_CERTIFICATE_USERS_H
#define UDPAI_CERTIFICATE_USERS_H

#include "daemon/certificates.h"
#include "daemon/effective.h"
#include "daemon/replicas.h"
#include "daemon/sockets.h"

/* Borrowed for good. */
typedef struct udpai_certificate_users {
    const udpai_plan *plan;           /* of the start */
    const udpai_effective *effective; /* the present one has sockets, and what is dialled */
    const udpai_sockets *sockets;
    udpai_rest *rest, *admin;      /* NULL: none */
    udpai_replicas *replicas;      /* NULL: none */
    udpai_otlp_exporter *exporter; /* NULL: nothing is traced */
} udpai_certificate_users;

/* Adds each of them, which refers to `users`. UDPA_ERR_NOMEM. */
udpa_err udpai_certificate_users_add(const udpai_certificate_users *users,
                                     udpai_certificates *certificates);

/* The present plan is another one since: what is dialled is what that has. To be watched again;
 * those that are new, read. UDPA_ERR_NOMEM: some are followed no more. */
udpa_err udpai_certificate_users_take_plan(const udpai_certificate_users *users,
                                           udpai_certificates *certificates);

#endif
