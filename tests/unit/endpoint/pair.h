/* SPDX-License-Identifier: Apache-2.0 */
/* Two public endpoints on one loop: one listens for the other, which dials it. Each is the other's
 * source, and what either publishes the other must have subscribed to. */
#ifndef UDPAI_TESTS_PAIR_H
#define UDPAI_TESTS_PAIR_H

#include <uv.h>

#include <udpa/publish.h>
#include <udpa/subscribe.h>

#include "endpoint/endpoint.h"
#include "tests/harness/resources.h"

#define PAIR_PATIENCE_MS 25000 /* after so long something will not happen any more */

typedef struct test_pair {
    uv_loop_t loop;
    uv_timer_t patience;
    uv_prepare_t look;
    const unsigned *counter;        /* that is waited for, … */
    unsigned wanted;                /* … until it is so much */
    udpa_endpoint *server, *client; /* node ids "server" and "client" */
    int port;                       /* of the server */
    unsigned n_closed;
    /* Of pair_serve_node(): zeroes: none, and the default. */
    udpai_inspector inspector;
    uint64_t interest_linger_ms;
    uint64_t load_interval_ms;
    bool starts_later; /* by the test */
} test_pair;

/* What a subscription was told, and how it answers. */
typedef struct test_ear {
    test_pair *pair;
    udpa_subscription *subscription;
    unsigned n_updates, n_additions, n_removals, n_complete;
    char last_name[256], last_payload[256];
    const char *refusal;                /* NULL: takes everything */
    bool defers;                        /* answers when the test calls udpa_update_done() */
    udpa_update *deferred;              /* the last one */
    void (*also)(struct test_ear *ear); /* in the update's callback; NULL: nothing */
} test_ear;

/* What became of a publication. */
typedef struct test_receipt {
    unsigned n_receipts;
    size_t size;
    udpa_err code; /* of the receipt's error */
    char error[1024], refusal[1024], name[256];
    unsigned n_refused;
    char effects[16], effective[256]; /* of a trial: "+~-" and "." for nothing, of each entry */
    void (*also)(struct test_receipt *receipt); /* in its callback; NULL: nothing */
    test_pair *pair;
    udpa_endpoint *from;
    uint64_t timeout_ms; /* of the publication; 0: the default */
    bool tries;
} test_receipt;

void pair_begin(test_pair *pair);
/* Both endpoints; TLS: NULL for none. */
void pair_both(test_pair *pair, const udpa_tls *server_tls, const udpa_tls *client_tls);
/* The server alone, on the port that it had before, if it had one. */
void pair_serve(test_pair *pair, const udpa_tls *tls);
/* In its place a management node: as udpad, without its protocols and storage. */
void pair_serve_node(test_pair *pair);
/* It adds this to its status, as a problem. */
#define PAIR_PROBLEM "something else"
/* The client alone, to this port of loopback. */
void pair_dial(test_pair *pair, int port, const udpa_tls *tls);
void pair_close(test_pair *pair, udpa_endpoint **endpoint);
/* Runs the loop until the counter has reached n. */
void pair_run_until(test_pair *pair, const unsigned *counter, unsigned n);
void pair_end(test_pair *pair);
/* For udpa_endpoint_close(): counts in pair->n_closed. */
void pair_count_closed(void *pair);

/* The callback of updates; its userdata is a test_ear. */
void ear_fn(void *userdata, udpa_update *update);
/* Subscribes to the namespace "com.acme", or to one name. */
void ear_open(test_ear *ear, test_pair *pair, udpa_endpoint *endpoint, const char *name);
/* The callback of receipts; its userdata is a test_receipt. */
void receipt_fn(void *userdata, const udpa_receipt *receipt);
/* Publishes one resource, which is given up; or removes a name. */
void
publish_one(test_receipt *receipt, test_pair *pair, udpa_endpoint *from, udpa_resource *resource);
void publish_removal(test_receipt *receipt,
                     test_pair *pair,
                     udpa_endpoint *from,
                     const char *const *names,
                     size_t n);

#endif
