/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of bare for each other. One thread polls the completion queue and owns all that is
 * here; the only thing of the other, which reads the control connection, is the inbox. */
#ifndef BARE_BARE_H
#define BARE_BARE_H

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <pthread.h>

#include "base/list.h"
#include "base/vector.h"
#include "peers/fleet.h"
#include "peers/program.h"

#define BARE_CHANGES_KEPT 1024 /* whoever is further behind gets everything again */
#define BARE_ACCEPTS 32        /* calls that are asked for ahead */

/* ---- what there is ---- */

typedef struct bare_change {
    size_t index;
    grpc_slice entry;
} bare_change;

typedef struct bare_store {
    peer_fleet fleet;
    grpc_slice *pages; /* resources, joined; an empty one is to be made when it is wanted */
    size_t n_pages, entries_per_page, pages_per_message;
    size_t changes_per_message;
    uint64_t *latest;                       /* of each resource: the number of its latest change */
    uint64_t head;                          /* of the latest of all; 0: there was none */
    grpc_slice latest_message;              /* of the latest change alone */
    bare_change changes[BARE_CHANGES_KEPT]; /* by number, modulo */
} bare_store;

void bare_store_init(bare_store *store, size_t n_resources, size_t size_bytes);
void bare_store_done(bare_store *store);
void bare_store_change(bare_store *store, size_t index, uint64_t serial);

/* A stream's place: first it takes pages, then changes. */
typedef struct bare_place {
    size_t page;     /* the next; n_pages: it has all */
    uint64_t change; /* the latest that it has */
} bare_place;

/* The next message for a place, which moves on; NULL: it has all. */
grpc_byte_buffer *bare_store_next(bare_store *store, bare_place *place);

/* ---- the server ---- */

/* What a completion is told by. */
typedef struct bare_tag {
    void (*done)(struct bare_tag *tag, bool ok);
} bare_tag;

typedef struct bare_record {
    size_t index;
    uint64_t serial;
} bare_record;

/* Records that wait for the thread of the queue. */
typedef struct bare_inbox {
    pthread_mutex_t mutex;
    UDPAI_VECTOR(bare_record) records; /* under the mutex */
    grpc_call *wake;                   /* leads nowhere; an empty batch of it completes at once */
    bare_tag tag;
} bare_inbox;

typedef struct bare_server bare_server;

typedef struct bare_accept {
    bare_tag tag;
    bare_server *server;
    grpc_call *call;
    grpc_metadata_array metadata;
    gpr_timespec deadline;
} bare_accept;

struct bare_server {
    grpc_server *server;
    grpc_completion_queue *cq;
    void *method;
    bare_accept accepts[BARE_ACCEPTS];
    bare_inbox inbox;
    bare_store store;
    udpai_list streams;
    bare_tag shutdown;
    bool is_shut_down; /* no call will come any more */
};

void bare_server_init(bare_server *server, const peer_options *options, unsigned *ret_port);
/* The thread of the queue: until the server is shut down and the last stream has ended. */
void *bare_server_run(void *server);
/* From another thread. */
void bare_server_shut_down(bare_server *server);
/* After its thread has ended. */
void bare_server_done(bare_server *server);
/* Shuts the queue down, if that was the last stream of a server that is shut down. */
void bare_server_check_end(bare_server *server);

void bare_inbox_init(bare_server *server);
void bare_inbox_done(bare_inbox *inbox);
/* From another thread; userdata: the server. */
void bare_inbox_push(void *userdata, size_t index, uint64_t serial);

/* Takes the reference to the call. */
void bare_stream_begin(bare_server *server, grpc_call *call);
/* There may be something new. */
void bare_streams_send(bare_server *server);

#endif
