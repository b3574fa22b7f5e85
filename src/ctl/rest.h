/* SPDX-License-Identifier: Apache-2.0 */
/* A server that is asked by REST and JSON. */
#ifndef UDPAI_CTL_REST_H
#define UDPAI_CTL_REST_H

#include <udpa/endpoint.h>

#include "codec/schema.h"
#include "ctl/options.h"

typedef struct udpai_ctl_rest {
    udpa_rest_server server; /* valid as long as this is */
    udpai_schema *schema;    /* owned */
} udpai_ctl_rest;

/* Of the server, and of the types that the arguments name; prints what is wrong. */
udpai_cli_exit udpai_ctl_rest_begin(udpai_ctl_rest *rest, const udpai_ctl_options *options);
/* After udpai_cli_end(); also of one that is all zero. */
void udpai_ctl_rest_end(udpai_ctl_rest *rest);

#endif
