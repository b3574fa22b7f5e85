/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint's inside, for the files that make it and turn it; services know service.h alone. */
#ifndef UDPAI_ENDPOINT_INTERNAL_H
#define UDPAI_ENDPOINT_INTERNAL_H

#include "endpoint/endpoint.h"
#include "endpoint/services.h"
#include "endpoint/stream_sides.h"
#include "events/node_events.h"
#include "loop/loop_inbox.h"

/* A batch that was proposed to replicas. */
typedef struct udpai_proposed {
    uint64_t ticket, since_ns;
} udpai_proposed;

struct udpa_endpoint {
    uv_loop_t *loop;
    udpai_loop_wheel *wheel;
    udpai_loop_inbox *reports;    /* of the stream thread */
    udpai_loop_inbox *commits;    /* of the durable engine */
    udpai_loop_inbox *replicated; /* what replicas have committed */
    udpai_loop_inbox *stops;      /* of the stream thread, which sends one: */
    udpai_list stop;
    uv_timer_t ending; /* the last handle that is closed */
    udpai_timer soon;
    udpai_node *node;
    udpai_stream_sides *sides;
    udpai_node_events *notes; /* NULL: there are no topics */
    udpai_listener *listener; /* of the library */
    udpai_durable_engine *engine;
    udpai_commit_tap tap;                  /* without begun(): none */
    udpai_replication *replication;        /* NULL: it has no replicas */
    UDPAI_VECTOR(udpai_proposed) proposed; /* what has no outcome yet */
    udpai_services services;
    uint64_t random;
    /* Reports that were received before the start, of workers' streams, or while it was paused. */
    udpai_list early;
    bool is_started, is_paused;
    bool is_leaving;             /* what is published is another process's concern */
    bool is_held_back;           /* see udpai_endpoint_hold_back() */
    bool is_not_serving;         /* that is the answer to health checks */
    bool is_closing, is_stopped; /* is_stopped: the stream thread has ended */
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* ---- turn.c ---- */

/* What reports and ends come by. */
udpa_err udpai_endpoint_turn_init(udpa_endpoint *endpoint, udpa_error **ret_error);
/* Begins the stream thread. */
udpa_err udpai_endpoint_turn_streams(udpa_endpoint *endpoint,
                                     const udpai_endpoint_settings *settings,
                                     udpa_error **ret_error);
/* Takes what was received before the start. */
void udpai_endpoint_turn_start(udpa_endpoint *endpoint);
/* A batch was committed, and is consumed; of a udpai_durable_engine. */
void udpai_endpoint_committed(void *endpoint, udpai_durable_batch *batch);
/* Something is reported, and is taken; of a udpai_replication. */
void udpai_endpoint_replicated(void *endpoint, udpai_replicated *event);
/* The stream thread has ended, or was never there. What was begun to be committed is committed. */
void udpai_endpoint_tear_down(udpa_endpoint *endpoint);

/* ---- note.c ---- */

/* UDPA_ERR_NOMEM */
udpa_err udpai_endpoint_notes_init(udpa_endpoint *endpoint,
                                   const udpai_endpoint_settings *settings);

/* ---- services_make.c ---- */

/* Puts in those that these settings, or the public interface, call for. */
udpa_err udpai_endpoint_make_services(udpa_endpoint *endpoint,
                                      const udpai_endpoint_settings *settings);

#endif
