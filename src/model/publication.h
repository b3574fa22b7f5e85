/* SPDX-License-Identifier: Apache-2.0 */
/* What one endpoint publishes to another in one message, as a value that may cross threads.
 *
 * The errors of its entries are filled in by the session that received it, then by the node that
 * applies it. The holder of the only reference may change it. */
#ifndef UDPAI_PUBLICATION_H
#define UDPAI_PUBLICATION_H

#include "base/error.h"
#include "base/vector.h"
#include "model/resource.h"
#include "model/trace.h"

typedef struct udpai_publication_entry {
    /* In a refresh the Any is empty, or has a type URL only: the rest has what is refreshed. */
    udpa_resource *resource;
    bool is_refresh;
    bool is_ignored; /* not subscribed to any more, on its way then: not taken in, and no error */
    bool is_invalid; /* its error is the session's */
    /* NULL: applied, ignored, or still pending. */
    udpa_error *error;
} udpai_publication_entry;

typedef struct udpai_removal {
    udpai_str name; /* owned */
    /* With a generation: the authority removes what it had of this name (model/removal.h); a
     * reference. NULL: the name is removed at this hop, and that is all. */
    udpa_resource *statement;
    bool is_invalid; /* as of an entry */
    udpa_error *error;
} udpai_removal;

/* What an entry, or a removal, of a trial would do to what its publisher has. */
typedef enum udpai_effect_kind {
    UDPAI_EFFECT_NOTHING,
    UDPAI_EFFECT_ADDS,
    UDPAI_EFFECT_CHANGES,
    UDPAI_EFFECT_REMOVES,
    UDPAI_EFFECT_REMOVES_ON_BEHALF, /* what it has published on behalf of another authority */
    UDPAI_EFFECT_KINDS,
} udpai_effect_kind;

typedef struct udpai_effect {
    udpai_effect_kind kind;
    udpai_str effective; /* owned; whose contribution is effective then; empty: its own, or none */
} udpai_effect;

typedef struct udpai_publication {
    bool is_trial; /* nothing of it is done */
    bool state_of_the_world;
    bool complete;
    bool receipt_required;
    bool is_decided;      /* once, at least */
    udpai_str type_url;   /* scope; owned; empty: not given */
    udpai_str name_space; /* scope; owned */
    udpai_str nonce;      /* owned */
    /* What the sender waits for (model/waits.h) before it answers a Subscribe of this scope, and
     * how many of those that have no answer are older; owned. */
    udpai_str waits;
    uint32_t waits_behind;
    UDPAI_VECTOR(udpai_publication_entry) entries;
    UDPAI_VECTOR(udpai_removal) removals;
    UDPAI_VECTOR(udpai_effect) effects; /* of a trial that is decided: of entries, then removals */
    uint64_t commit;   /* the sender's store has come so far; 0: it has not sent it */
    size_t size_bytes; /* of the message it came in */
    udpai_trace trace; /* what it belongs to, as its peer states */
} udpai_publication;

udpai_publication *udpai_publication_new(void);
udpai_publication *udpai_publication_free(udpai_publication *publication);
UDPA_DEFINE_CLEANUP(udpai_publication, udpai_publication_free)

/* Copies the text to an owned field. */
udpa_err udpai_publication_set(udpai_str *field, udpai_str text);
/* Takes a reference to the resource. */
udpa_err
udpai_publication_add(udpai_publication *publication, udpa_resource *resource, bool is_refresh);
udpa_err udpai_publication_remove(udpai_publication *publication, udpai_str name);
/* The same; takes a reference to the statement; NULL: none. */
udpa_err udpai_publication_remove_stated(udpai_publication *publication,
                                         udpai_str name,
                                         udpa_resource *statement);

/* Of a trial; copies the text. */
udpa_err udpai_publication_add_effect(udpai_publication *publication,
                                      udpai_effect_kind kind,
                                      udpai_str effective);

/* Consumes @p error; an entry keeps its first one. */
void udpai_publication_refuse(udpa_error **entry_error, udpa_error *error);
/* Refuses what is not refused yet: entries and removals, each with its name before @p why. */
void udpai_publication_refuse_all(udpai_publication *publication, udpa_err code, const char *why);
/* A node decides, or decides once more: what it refused before is open again, what the session
 * refused is not. */
void udpai_publication_decide(udpai_publication *publication);
/* Is anything refused? */
bool udpai_publication_has_errors(const udpai_publication *publication);

#endif
