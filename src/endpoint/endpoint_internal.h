/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint's inside, for the files of this folder. */
#ifndef UDPAI_ENDPOINT_INTERNAL_H
#define UDPAI_ENDPOINT_INTERNAL_H

#include "endpoint/endpoint.h"
#include "endpoint/local_acks.h"
#include "endpoint/orca.h"
#include "endpoint/reporting.h"
#include "endpoint/stream_counts.h"
#include "endpoint/type.h"
#include "loop/loop_inbox.h"
#include "session/worker_pool.h"

typedef struct udpai_own_status udpai_own_status;
typedef struct udpai_inspection udpai_inspection;
typedef struct udpai_questions udpai_questions;
typedef struct udpai_access_answers udpai_access_answers;
typedef struct udpai_answers udpai_answers;
typedef struct udpai_check_planner udpai_check_planner;
typedef struct udpai_load_sums udpai_load_sums;
typedef struct udpai_client_registry udpai_client_registry;
typedef struct udpai_load_rules udpai_load_rules;

/* What the engine's thread and the stream thread say besides reports. */
typedef struct udpai_endpoint_event {
    udpai_list node;
    bool is_stop; /* the stream thread has ended; else a batch was committed */
    uint64_t ticket;
    udpa_err result;
} udpai_endpoint_event;

struct udpa_endpoint {
    uv_loop_t *loop;
    udpai_loop_wheel *wheel;
    udpai_loop_inbox *reports; /* of the stream thread */
    udpai_loop_inbox *events;
    udpai_endpoint_event stopped; /* sent once */
    uv_timer_t ending;            /* the last handle that is closed */
    udpai_timer soon;
    udpai_node *node;
    udpai_stream_thread *streams;
    udpai_worker_pool *pool; /* NULL: there are no workers */
    void (*order_worker)(void *userdata, size_t worker, const udpai_order *order);
    void *workers_userdata;
    udpai_stream_counts *worker_counts; /* of each, as it has sent them last */
    size_t n_workers;
    udpai_listener *listener;        /* of the library */
    udpai_orca_collector *collector; /* NULL: nobody's resources have backends asked */
    udpai_orca_board *orca;          /* of the library; NULL: it does not listen */
    udpai_local_acks *own_taken;     /* of the library; NULL: nobody is told what it has */
    udpai_durable_engine *engine;
    udpai_own_status *status;             /* NULL: not served */
    udpai_questions *questions;           /* beside it */
    udpai_access_answers *access;         /* beside it */
    udpai_answers *origins;               /* beside it */
    udpai_inspection *inspection;         /* NULL: nothing is inspected */
    udpai_check_planner *checks;          /* NULL: nothing is computed */
    udpai_load_rules *load_rules;         /* beside the sums */
    udpai_load_sums *load_sums;           /* NULL: nothing is added up */
    udpai_load_upstreams *load_upstreams; /* NULL: nobody is told of it */
    udpai_client_registry *census;        /* NULL: nobody is told of clients */
    udpai_list outlets;                   /* udpai_outlet: what is published, by source */
    udpai_list subscriptions;             /* udpa_subscription */
    udpai_local_demand *wishes;           /* for its reports */
    udpai_own_reports *own_reports;
    udpai_load_reporting *load; /* NULL: no recorder is reported */
    udpai_states *states;       /* NULL: no resource has one */
    uint64_t random;
    udpai_list early; /* reports that have come before the start, of workers' streams */
    bool is_started;
    bool is_closing, is_stopped; /* is_stopped: the stream thread has ended */
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* ---- turn.c ---- */

void udpai_endpoint_turn_init(udpa_endpoint *endpoint);
/* Takes an order for the stream side, or sides. */
void udpai_endpoint_order(udpa_endpoint *endpoint, udpai_order *order);

/* ---- endpoint.c ---- */

/* A report of the stream side, for whom it concerns; frees it. */
void udpai_endpoint_take_report(udpa_endpoint *endpoint, udpai_report *report);
/* An inspection has ended: do what there is to do then. May free the inspection. */
void udpai_endpoint_inspected(udpa_endpoint *endpoint);

/* ---- inspection.c ---- */

udpa_err udpai_inspection_new(udpai_inspection **ret_inspection,
                              udpa_endpoint *endpoint,
                              const udpai_inspector *inspector);
/* While it is not busy. */
void udpai_inspection_free(udpai_inspection *inspection);
/* Is something on the pool? */
bool udpai_inspection_is_busy(const udpai_inspection *inspection);
/* True: the report waits, and is taken later. NULL holds nothing. */
bool udpai_inspection_hold(udpai_inspection *inspection, udpai_report *report);
/* These are told to the stream side. NULL does nothing. */
void udpai_inspection_note_changes(const udpai_inspection *inspection,
                                   const udpai_change_set *changes);

/* ---- status.c ---- */

udpa_err udpai_own_status_new(udpai_own_status **ret_status,
                              udpa_endpoint *endpoint,
                              const udpai_endpoint_settings *settings);
void udpai_own_status_free(udpai_own_status *status);
/* Looks at a report before the node does: is somebody interested, has a description come? */
void udpai_own_status_report(udpai_own_status *status, const udpai_report *report);

/* What the node says under this name; NULL without memory, or if it cannot be a name. */
udpa_resource *udpai_own_resource(const char *type_url, udpai_str name, udpa_bytes *body);

/* ---- questions.c ---- */

udpa_err udpai_questions_new(udpai_questions **ret_questions, udpa_endpoint *endpoint);
void udpai_questions_free(udpai_questions *questions);
/* Looks at a report before the node does: does somebody ask, or not any more; are there answers? */
void udpai_questions_report(udpai_questions *questions, const udpai_report *report);

/* ---- access_answers.c ---- */

udpa_err udpai_access_answers_new(udpai_access_answers **ret_answers,
                                  udpa_endpoint *endpoint,
                                  udpai_acl *acl);
void udpai_access_answers_free(udpai_access_answers *answers);
/* What was answered is answered anew. */
void udpai_access_answers_set_acl(udpai_access_answers *answers, udpai_acl *acl);
/* Looks at a report before the node does: does somebody ask, or not any more? */
void udpai_access_answers_report(udpai_access_answers *answers, const udpai_report *report);

/* ---- origin_answers.c ---- */

udpa_err udpai_origin_answers_new(udpai_answers **ret_answers, udpa_endpoint *endpoint);

/* ---- publisher.c ---- */

/* Publishes what waited for a stream, or for others to be receipted. */
void udpai_publications_run(udpa_endpoint *endpoint);
void udpai_publications_receipt(udpa_endpoint *endpoint,
                                uint64_t ticket,
                                const udpai_publication *publication,
                                const udpa_error *error);
/* Tells that no receipt comes any more, and frees. */
void udpai_publications_end(udpa_endpoint *endpoint);

/* ---- subscriber.c ---- */

/* Those that were ended are taken away. */
void udpai_subscriptions_sweep(udpa_endpoint *endpoint);
void udpai_subscriptions_free(udpa_endpoint *endpoint);

#endif
