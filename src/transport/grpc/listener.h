/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stream thread listens for streams that others open. All of it belongs to the thread that
 * has made it, but for what any may call. */
#ifndef UDPAI_LISTENER_H
#define UDPAI_LISTENER_H

#include "transport/grpc/stream_thread.h"

/* Is it an address to listen on? Reports how to write one. Any thread. */
udpa_err udpai_listen_address_check(const char *address, udpa_error **ret_error);
/* A socket that is bound to it, without waiting and not inherited; reports why there is none. Any
 * thread. */
udpa_err udpai_address_bind(const char *address, int *ret_fd, udpa_error **ret_error);
/* The same, and others that are bound so may listen there as well. */
udpa_err udpai_address_bind_shared(const char *address, int *ret_fd, udpa_error **ret_error);

typedef struct udpai_listen_options {
    /* ADDRESS:PORT, an IPv6 address in brackets; port 0: any. Of the own listener also those of
     * transport/front/listen_place.h. */
    const char *address;
    /* The own listener's: one that listens already, of which it keeps a copy. NULL: it opens one.
     */
    const int *socket;
    udpai_server_tls *tls; /* NULL: plaintext; else a reference is taken */
    /* From each peer. 0: that of the thread's limits; and if there is none, as many as peers may
     * send that must present a certificate, or others. */
    size_t max_message_bytes;
    udpai_keepalive keepalive; /* 0: that of the thread's timing */
    /* The own listener's: connections of these begin with a head of the PROXY protocol, and are of
     * the client that it names. They outlive the listener. */
    const udpai_network *proxies;
    size_t n_proxies;
    /* The own listener's: who serves what comes there and is no gRPC (transport/visit.h); NULL:
     * nobody. It outlives the thread. */
    const struct udpai_visits *visits;
} udpai_listen_options;

/* The listener is the thread's. */
udpa_err udpai_stream_thread_listen(udpai_stream_thread *thread,
                                    const udpai_listen_options *options,
                                    udpai_listener **ret_listener,
                                    udpa_error **ret_error);
/* The same in two steps: in between what connects waits in the kernel. To be followed by one of the
 * next two. */
udpa_err udpai_stream_thread_bind(udpai_stream_thread *thread,
                                  const udpai_listen_options *options,
                                  udpai_listener **ret_listener,
                                  udpa_error **ret_error);
void udpai_listener_start(udpai_listener *listener);
void udpai_listener_discard(udpai_listener *listener);
int udpai_listener_port(const udpai_listener *listener);
/* Of one that was not closed: what it listens on, for options of another one in its place; -1:
 * gRPC's library does. */
int udpai_listener_socket(const udpai_listener *listener);
/* Streams that others have by it; any thread. */
size_t udpai_listener_n_served(const udpai_listener *listener);
/* Ends its streams, then @p closed (may be NULL) is called on the stream thread: the port is free.
 * After udpai_stream_thread_stop(), which closes all, it does nothing. */
void udpai_stream_thread_close_listener(udpai_stream_thread *thread,
                                        udpai_listener *listener,
                                        void (*closed)(void *userdata),
                                        void *userdata);

typedef struct udpai_listener_drain {
    uint64_t over_ms; /* its streams end evenly within so long */
    /* One with a copy of its socket, which has its place, and was started; NULL: none. */
    udpai_listener *successor;
    void (*closed)(void *userdata); /* as above */
    void *userdata;
} udpai_listener_drain;

/* The same, one stream after the other: it accepts no more, and its connections take no new
 * streams. */
void udpai_stream_thread_drain_listener(udpai_stream_thread *thread,
                                        udpai_listener *listener,
                                        const udpai_listener_drain *how);

#endif
