/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of sources: what is known of each, and the table of all. For the files of this part,
 * from connection.c to sources.c (tests/lint/calls.py). */
#ifndef UDPAI_SOURCE_INTERNAL_H
#define UDPAI_SOURCE_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "federation/demand.h"
#include "federation/directories.h"
#include "federation/fault.h"
#include "federation/mark.h"
#include "federation/named_table.h"
#include "federation/peers.h"
#include "federation/scope.h"
#include "federation/servers.h"
#include "federation/source_dynamic.h"
#include "federation/sync.h"

/* What the keys of their origins begin with, before the name. */
#define UDPAI_SOURCE_KEY "source:"

typedef struct udpai_recovery udpai_recovery;

struct udpai_sources {
    udpai_context *context;
    udpai_peers *peers;
    const udpai_demand *demand;
    const udpai_sync *sync;
    struct udpai_shares *shares; /* NULL: there are no replicas */
    udpai_roots *directories;
    udpai_named_table *named_table;
    udpai_map by_name;        /* without those of client groups */
    udpai_map by_link;        /* all */
    udpai_map by_origin;      /* those that serve us */
    udpai_list own;           /* those that are of no client group */
    udpai_source_finder find; /* NULL: there are those in the tables alone */
    void *find_userdata;
    uint64_t last_link;
    udpai_log_limit adopted_log;
    uint64_t lost_ms; /* when an active source was last lost; UINT64_MAX: never */
};

typedef enum udpai_source_state {
    UDPAI_SOURCE_IDLE, /* no provider reaches it, or it is to dial us */
    UDPAI_SOURCE_WAITING,
    UDPAI_SOURCE_CONNECTING,
    UDPAI_SOURCE_CONNECTED,
    UDPAI_SOURCE_ACTIVE,
} udpai_source_state;

typedef struct udpai_source_counters {
    uint64_t n_resources, n_refreshes, n_removals, n_refused, n_connects;
} udpai_source_counters;

struct udpai_source {
    udpai_sources *owner;
    udpai_log_limit connected_log, lost_log; /* one that dials us may come and go all the time */
    udpai_list in_own;                       /* of the owner; of none of clients */
    udpa_bytes *name;
    udpa_bytes *peer_name;        /* UDPA_LISTEN */
    udpa_bytes *address, *unread; /* PATH: a file of it that could not be read; NULL: none */
    udpai_servers servers;        /* that the address names */
    udpai_source_kind kind;
    const char *kind_name; /* as in the configuration */
    void *target;
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    void *(*target_for)(void *target, udpai_str name_space, const udpai_node_info *client);
    udpai_mark *clients;          /* of the group that it is asked for; NULL: for all */
    const udpai_source *template; /* that it was made after; NULL: it is configured itself */
    udpai_dynamic_source
        *dynamic;   /* it comes by a resource (dynamic_sources.h); NULL: it does not … */
    udpa_bytes *by; /* … the name of that; NULL: there is none */
    bool is_absent; /* … and now there is no such resource … */
    bool is_void;   /* … what came by it was removed, and nothing is waited for */
    bool serves_us; /* a ConfigSource; false: an endpoint that we serve by dialling it */
    uint64_t link;
    uint64_t session; /* 0: none */
    udpai_source_state state;
    int64_t since_us;
    int64_t contact_us; /* when its last stream has ended; 0: it has had none */
    uint64_t active_since_ms;
    bool stays_connected;
    bool is_reached;    /* some provider asks it for something, or it stays connected */
    bool is_decided;    /* its first connection has come, or was not to be waited for any longer */
    bool may_ask;       /* the stream is ready for our Subscribes */
    bool asked_blindly; /* without knowing what the peer understands */
    bool is_plain;      /* its peer was no node with our extensions, when it was there last */
    bool is_sent_away;  /* it is this node itself, or one that reports so, or is here already */
    bool has_lost_update; /* there was no memory for something that it sent on this stream … */
    bool must_hang_up;    /* … nor yet for ending it */
    bool has_refused;     /* something of this stream was, that other keys or rules might let in */
    bool is_renewed;      /* it has another target, and its stream to the old one ends for that */
    unsigned n_failures, max_withdrawal; /* in a row; percent */
    bool passes_doubts;
    const char *doubt; /* of what it has answered, and was not asked for; NULL: none */
    uint64_t commit;   /* how far its store has come, as it has reported on this stream; 0: not */
    udpai_timer retry, grace, hello, fail_back, anew;
    udpai_origin *origin;
    unsigned order; /* among the sources of the first provider that names it; from 1 */
    udpai_list scopes;
    udpai_list questions; /* that wait for their answer, in the order in which they were asked */
    size_t n_waiting;     /* of them, of which the source has reported what it waits for */
    size_t n_again, n_reasked; /* requests for what it has refreshed; that wait for that */
    udpa_error *last_error;    /* whether it holds or not */
    udpai_faults faults;
    udpai_source_counters counters;
    udpai_recovery *recovery;           /* NULL: neither is standby for the other */
    udpai_map differences;              /* names (difference.h), on the present stream */
    UDPAI_VECTOR(udpa_bytes *) standby; /* type URLs */
};

/* Do we dial it? */
static inline bool
udpai_source_is_dialled(const udpai_source *source)
{
    return !source->is_absent && (source->kind == UDPAI_SOURCE_UDPA || udpai_source_is_xds(source));
}

/* Is a stream there, or an attempt at one? */
static inline bool
udpai_source_has_connection(const udpai_source *source)
{
    return source->state != UDPAI_SOURCE_IDLE && source->state != UDPAI_SOURCE_WAITING;
}

/* ---- source_table.c ---- */

void udpai_sources_init_table(udpai_sources *sources);
/* Puts it into the table of all, and with `by_name` of those that are configured or come by a
 * resource. False: without memory. */
bool udpai_sources_put(udpai_sources *sources, udpai_source *source, bool by_name);
void udpai_sources_remove(udpai_sources *sources, udpai_source *source);
/* Gives it another link, so that later reports of the former one are ignored. */
void udpai_sources_relink(udpai_sources *sources, udpai_source *source);

/* ---- source.c ---- */

/* What its configuration states of it, without a link, an origin or anything to recover. */
udpa_err udpai_source_make(udpai_sources *sources,
                           const udpai_source_config *config,
                           udpai_source **ret_source);
/* What it sends is kept, but for a directory's contents, which last as long as they are read. */
void udpai_source_set_keeping(const udpai_source *source);
udpa_err udpai_source_new(udpai_sources *sources,
                          const udpai_source_config *config,
                          bool serves_us,
                          udpai_source **ret_source,
                          udpa_error **ret_error);
void udpai_source_free(udpai_source *source);
void udpai_source_reach(udpai_source *source, bool asked);

#endif
