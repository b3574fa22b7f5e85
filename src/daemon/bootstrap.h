/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap file, as it is read. What is wrong beyond its types: bootstrap_check.h. */
#ifndef UDPAI_BOOTSTRAP_H
#define UDPAI_BOOTSTRAP_H

#include "daemon/diagnostics.h"
#include "storage/audit_line.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

typedef struct udpai_bootstrap {
    Udpa__Config__V1__Bootstrap *message;
    int64_t read_us;         /* when the file was read, by the wall clock; 0: there is none */
    udpai_audit_hash sha256; /* of its bytes; empty: it could not be read */
} udpai_bootstrap;

/* An empty one: every default. */
udpa_err udpai_bootstrap_empty(udpai_bootstrap *ret_bootstrap, udpa_error **ret_error);

/* Finds what is wrong with the text; the rest is what there is without it, for further checks.
 * Without a document, such as in a file of comments alone, every default. If it fails there is
 * nothing to check; what is wrong with a document is a finding, anything else an error. */
udpa_err udpai_bootstrap_read(udpai_bootstrap *ret_bootstrap,
                              const udpai_schema *schema,
                              const char *path,
                              udpai_diagnostics *diagnostics,
                              udpa_error **ret_error);
void udpai_bootstrap_done(udpai_bootstrap *bootstrap);

/* As bytes, for another process of the node, or for a copy. NULL without memory. */
udpa_bytes *udpai_bootstrap_pack(const Udpa__Config__V1__Bootstrap *message);
/* The message of these bytes, which were checked before they were packed. UDPA_ERR_MALFORMED: they
 * are none, or there is no memory. */
udpa_err udpai_bootstrap_unpack(udpai_bootstrap *ret_bootstrap, udpai_str bytes);

#endif
