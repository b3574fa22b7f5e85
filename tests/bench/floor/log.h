/* SPDX-License-Identifier: Apache-2.0 */
/* What streams are sent: a chain of messages, each written once. A stream holds its place in it, so
 * what it has not taken yet costs nothing of its own; messages that everybody is past are freed.
 * Whoever is new begins with the image, a chain of its own of all resources, which leads into the
 * log. */
#ifndef FLOOR_LOG_H
#define FLOOR_LOG_H

#include "peers/fleet.h"

typedef struct floor_message {
    unsigned refs;
    struct floor_message *next; /* NULL: it is the last so far; counts as a reference */
    uint64_t end;               /* bytes of the log, up to its end */
    size_t size;
    uint8_t bytes[]; /* of gRPC, with the prefix of five */
} floor_message;

typedef struct floor_log {
    peer_fleet fleet;
    floor_message *last;
    floor_message *image; /* NULL: to be made when it is wanted */
    uint64_t nonce;
} floor_log;

void floor_log_init(floor_log *log, size_t n_resources, size_t size_bytes);
void floor_log_done(floor_log *log);
/* A floor_log *, and what has changed in it. */
void floor_log_change(void *log, size_t index, uint64_t serial);
/* The first message of the image; borrowed. */
floor_message *floor_log_image(floor_log *log);

floor_message *floor_message_ref(floor_message *message);
void floor_message_unref(floor_message *message);

#endif
