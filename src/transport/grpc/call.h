/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that gRPC's library carries. Everything here belongs to the stream thread. */
#ifndef UDPAI_GRPC_CALL_H
#define UDPAI_GRPC_CALL_H

#include <grpc/grpc.h>

#include "transport/grpc/channel.h"
#include "transport/grpc/connection.h"
#include "transport/grpc/stream.h"
#include "transport/grpc/turnstile.h"

typedef struct udpai_call udpai_call;

/* What only those have that we dialled. */
typedef struct udpai_dialled {
    bool is_source, is_hurried;
    udpai_grpc_target *target;
    unsigned server; /* of the target */
    grpc_channel *channel;
    bool is_connected, is_given_up, asked_for_headers;
    udpai_report *report; /* of a failure; made in time */
    grpc_metadata_array headers, trailers;
    grpc_status_code code;
    grpc_slice text;
} udpai_dialled;

/* When nothing but acknowledgements is expected, reading waits for the next message that is written
 * (delayed_read.c). */
typedef struct udpai_delayed_read {
    udpai_timer timer; /* set while it waits: so long at most */
    unsigned n_unread; /* messages that were written, and not acknowledged */
    bool is_idle;      /* nothing was written since it has waited for long */
    bool is_busy;      /* many messages were written in the last stretch of time */
    bool is_held;      /* the socket is held back, too */
    size_t n_bytes;    /* written since then */
    unsigned n_written;
    uint64_t since_ms; /* n_written counts */
} udpai_delayed_read;

struct udpai_call {
    udpai_stream stream; /* its deadline: of dialling, of finishing */
    grpc_call *grpc;
    udpai_tag read_tag, write_tag, end_tag;
    grpc_byte_buffer *received;
    size_t max_message_bytes; /* that it may receive at a time */
    udpai_delayed_read delayed;
    udpai_turn turn;
    udpai_connection *connection; /* that an accepted one has come by; NULL: not known */
    bool is_reading;
    bool peer_has_ended;   /* nothing can be read any more */
    bool is_finishing;     /* we have ended it */
    bool is_broken;        /* nothing can be written any more */
    bool has_sent_headers; /* of peers that dialled us */
    bool has_sent_status;  /* or the end of what we write, if we dialled */
    bool asked_for_end;
    udpa_error *status;     /* we have ended it with; NULL: OK */
    udpa_error *why;        /* it has ended */
    udpai_dialled *dialled; /* NULL: the peer dialled us */
    int is_cancelled;       /* for gRPC to write to */
};

static inline udpai_call *
udpai_call_of(udpai_stream *stream)
{
    return UDPAI_CONTAINER_OF(stream, udpai_call, stream);
}

static inline const udpai_call *
udpai_call_of_const(const udpai_stream *stream)
{
    return UDPAI_CONTAINER_OF(stream, const udpai_call, stream);
}

/* ---- call.c ---- */

/* Consumes @p grpc, unless it returns NULL for lack of memory. @p listener: NULL: we dial. */
udpai_call *udpai_call_new(udpai_stream_thread *thread, udpai_listener *listener, grpc_call *grpc);
bool udpai_call_start(udpai_call *call, const grpc_op *ops, size_t n_ops, udpai_tag *tag);
/* Ends it, and reports that: it has sent so much. */
void udpai_call_refuse_size(udpai_call *call, size_t size);
/* The same: so much of a message that is not complete, and all such are too many; */
void udpai_call_refuse_load(udpai_call *call, uint64_t size);
/* or others wait, and it does not go on. */
void udpai_call_refuse_stall(udpai_call *call, uint64_t size, unsigned seconds);
/* Asks for the end, reads if it may: after whatever changed the call. */
void udpai_call_arm(udpai_call *call);
/* Frees it if nothing is outstanding any more. */
void udpai_call_settle(udpai_call *call);

/* ---- delayed_read.c: delayed reading ---- */

void udpai_delayed_read_init(udpai_call *call);
/* Nothing waits any more; calls that are to be read may be. */
void udpai_delayed_read_end(udpai_call *call);
/* A message was read: may the next one wait? */
void udpai_delayed_read_consider(udpai_call *call);
/* A message was written, of so many bytes: what may have come is to be read. */
void udpai_delayed_read_written(udpai_call *call, size_t size, bool is_answered);
bool udpai_is_read_delayed(const udpai_call *call);

/* ---- client.c ---- */

/* The headers of the call were sent, or could not be. */
void udpai_client_connected(udpai_call *call, bool ok);
/* How long an attempt may take. */
uint64_t udpai_client_patience_ms(const udpai_call *call);
void udpai_client_give_up(udpai_call *call, grpc_status_code code, const char *why);
/* The end of a call that never had a session: reports it. */
void udpai_client_closed(udpai_call *call);
/* Its status, as an error; NULL: OK. */
udpa_error *udpai_client_why(const udpai_call *call);

/* ---- dial.c ---- */

/* Takes the order. */
void udpai_client_dial(udpai_stream_thread *thread, udpai_order *order);
void udpai_client_stop_dialling(udpai_stream_thread *thread, uint64_t link);

/* ---- peer.c ---- */

/* The identity of the peer of this call, by its certificate (NULL: it has none), and that it counts
 * as long as the call lasts. UDPA_ERR_UNAUTHENTICATED: it has none. */
udpa_err udpai_call_know_peer(udpai_call *call,
                              udpai_trust *trust,
                              udpai_identity **ret_identity,
                              udpa_error **ret_error);
/* Its address, for people: 192.0.2.1:4242, [2001:db8::1]:4242. NULL without memory. */
udpa_bytes *udpai_call_address(grpc_call *call);

#endif
