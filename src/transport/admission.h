/* SPDX-License-Identifier: Apache-2.0 */
/* How many streams, or connections, others open, and how much they may be sending at a time: in
 * all, and of each client, so that one that takes all it can get takes nothing from the others.
 * Pure; no transport in it. Belongs to the thread that uses it. */
#ifndef UDPAI_ADMISSION_H
#define UDPAI_ADMISSION_H

#include "base/error.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "model/identity.h"

/* What is known of the peer. */
typedef struct udpai_client {
    const udpai_identity *identity; /* NULL: it has presented no certificate */
    udpai_str address;              /* "ADDRESS:PORT", as udpai_stream_info has it; or empty */
    bool is_local;                  /* by a socket of this machine that has its user: */
    uint32_t uid;
} udpai_client;

/* What it is counted as: by its certificate's name, else by its user, else by its address; all of
 * an IPv6 network of 64 bits is one. The three never meet: a name like an address is none.
 * Readable; see udpai_strbuf_failed(). */
void udpai_client_put_name(udpai_strbuf *name, const udpai_client *client);

/* What is counted, as errors call it, and the settings of the two limits. Static. */
typedef struct udpai_admission_words {
    const char *things; /* "streams" */
    const char *setting, *setting_per_name;
} udpai_admission_words;

/* How many others have opened, and what is set aside for messages that they may be sending; in all
 * and of each name. */
typedef struct udpai_admission {
    udpai_map by_name; /* of udpai_admitted */
    const udpai_admission_words *words;
    size_t n, max, max_per_name;
    size_t reserved, max_reserved; /* bytes; a quarter of that of each name */
} udpai_admission;

typedef enum udpai_reservation {
    UDPAI_RESERVED,
    UDPAI_NAME_HAS_NO_ROOM,
    UDPAI_NO_ROOM,
} udpai_reservation;

typedef struct udpai_admitted udpai_admitted;

void udpai_admission_init(udpai_admission *admission,
                          const udpai_admission_words *words,
                          size_t max,
                          size_t max_per_name);
void udpai_admission_done(udpai_admission *admission);
/* UDPA_ERR_LIMIT has the limit. */
udpa_err udpai_admission_enter(udpai_admission *admission,
                               const udpai_client *client,
                               udpai_admitted **ret_admitted,
                               udpa_error **ret_error);
/* More has become known of the peer: it counts as this client from now on. In an error it stays
 * what it was. */
udpa_err udpai_admission_rename(udpai_admission *admission,
                                const udpai_client *client,
                                udpai_admitted **admitted,
                                udpa_error **ret_error);
void udpai_admission_leave(udpai_admission *admission, udpai_admitted *admitted);
/* One reservation there always is, of each name if nothing of others is in the way, however large.
 */
udpai_reservation
udpai_admission_reserve(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);
/* Whether there is room or not. */
void
udpai_admission_reserve_anyway(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);
void udpai_admission_release(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);

#endif
