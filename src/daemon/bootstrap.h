/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap file: read, and checked beyond what its types say. */
#ifndef UDPAI_BOOTSTRAP_H
#define UDPAI_BOOTSTRAP_H

#include "codec/convert.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

typedef struct udpai_bootstrap {
    Udpa__Config__V1__Bootstrap *message;
} udpai_bootstrap;

/* An empty one: every default. */
udpa_err udpai_bootstrap_empty(udpai_bootstrap *ret_bootstrap, udpa_error **ret_error);

/* Tells every mistake, each with file, line, column and path, in the order of the file. Returns
 * UDPA_OK if there is none; else ret_bootstrap is untouched. ret_error is set only if the file
 * could not be read at all. */
udpa_err udpai_bootstrap_read(udpai_bootstrap *ret_bootstrap,
                              const udpai_schema *schema,
                              const char *path,
                              udpai_mistake_fn mistake,
                              void *userdata,
                              udpa_error **ret_error);
void udpai_bootstrap_done(udpai_bootstrap *bootstrap);

#endif
