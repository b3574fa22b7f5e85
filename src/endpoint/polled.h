/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of the library that are polled by REST. */
#ifndef UDPAI_ENDPOINT_POLLED_H
#define UDPAI_ENDPOINT_POLLED_H

#include <udpa/endpoint.h>

#include "transport/grpc/stream_thread.h"

/* Checks all but the texts. */
udpa_err udpai_rest_server_check(const udpa_source *source, udpa_error **ret_error);
/* Fills in the server and its client; @p node is the serialised Node. On failure nothing is left.
 */
udpa_err udpai_rest_server_make(const udpa_source *source,
                                const udpai_tls_files *files,
                                udpai_str node,
                                udpai_grpc_target_options *options,
                                udpa_error **ret_error);

#endif
