/* SPDX-License-Identifier: Apache-2.0 */
/* What the suite needs from outside: bytes to and from the server's REST, and a changer of its
 * resources; calls to it are in cli/calls.h. Everything blocks, because a script does one thing
 * after the other; no function here is called from any thread but one. */
#ifndef UDPAI_CONFORM_PEER_H
#define UDPAI_CONFORM_PEER_H

#include "base/strbuf.h"
#include "cli/calls.h"
#include "tools/conform/kind.h"

/* ---- bytes, for REST ---- */

typedef struct udpai_byte_peer {
    /* A connection; NULL: there is none, and why. */
    void *(*open)(void *self, udpai_strbuf *why);
    /* False: it has ended. */
    bool (*send)(void *stream, udpai_str bytes);
    /* Appends what comes; a message is any piece. */
    udpai_received (*receive)(void *stream, uint64_t timeout_ms, udpai_strbuf *to);
    void (*close)(void *stream);
    uint64_t (*now_ms)(void *self);
    const char *address; /* HOST:PORT */
    void *self;
} udpai_byte_peer;

/* ---- changes ---- */

typedef struct udpai_edit {
    bool is_removal;
    udpai_kind kind;
    const char *name;
    unsigned variant;  /* the rest: not of removals */
    udpai_str payload; /* the serialised message */
    uint64_t ttl_ms;   /* 0: none */
    const char *alias; /* NULL: none */
    bool is_lazy;      /* not for wildcards: only for sessions that name it */
} udpai_edit;

typedef enum udpai_change_result {
    UDPAI_CHANGE_MADE,
    UDPAI_CHANGE_UNSUPPORTED,
    UDPAI_CHANGE_FAILED,
} udpai_change_result;

/* What a changer can do besides. */
enum {
    UDPAI_CAN_ATOMIC = 1, /* several changes become visible at once */
    UDPAI_CAN_TTL = 2,
    UDPAI_CAN_ALIAS = 4,
    UDPAI_CAN_XDSTP = 16, /* names of the form xdstp://AUTHORITY/TYPE/ID */
    UDPAI_CAN_LAZY = 32,
    UDPAI_CAN_GLOB = 64, /* collections of such names */
};

typedef struct udpai_changer {
    /* All of them; when it returns a new stream sees them, or will see them soon. */
    udpai_change_result (*apply)(void *self,
                                 const udpai_edit *changes,
                                 size_t n_changes,
                                 udpai_strbuf *why);
    unsigned abilities;
    void *self;
} udpai_changer;

#endif
