/* SPDX-License-Identifier: Apache-2.0 */
/* Why a stream of gRPC has ended, in words. Pure. */
#ifndef UDPAI_BENCH_REASON_H
#define UDPAI_BENCH_REASON_H

#include "base/strbuf.h"

#define UDPAI_LOAD_NO_STATUS (-1)

typedef struct udpai_load_end {
    int http_status, grpc_status; /* UDPAI_LOAD_NO_STATUS: there was none */
    udpai_str message;            /* grpc-message: with percent signs */
    const char *reset;            /* the name of the code of RST_STREAM; NULL: there was none */
} udpai_load_end;

/* The server's text; else what it has done. */
void udpai_load_put_reason(udpai_strbuf *out, const udpai_load_end *end);

#endif
