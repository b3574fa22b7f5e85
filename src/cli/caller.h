/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to any gRPC server, one after the other and blocking, for what tests servers. */
#ifndef UDPAI_CLI_CALLER_H
#define UDPAI_CLI_CALLER_H

#include "base/error.h"
#include "cli/calls.h"
#include "cli/options.h"

typedef struct udpai_caller udpai_caller;

/* Reads the certificates that the options name; connects with the first call. */
udpa_err udpai_caller_new(udpai_caller **ret_caller,
                          const udpai_cli_options *options,
                          udpa_error **ret_error);
udpai_caller *udpai_caller_free(udpai_caller *caller);
/* Waits until a connection is established. */
udpa_err udpai_caller_connect(udpai_caller *caller, uint64_t timeout_ms, udpa_error **ret_error);
/* What the suite calls; valid as long as the caller. */
udpai_peer udpai_caller_peer(udpai_caller *caller);

#endif
