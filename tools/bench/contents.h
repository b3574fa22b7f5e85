/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that are made to be measured: endpoints of clusters, numbered, each with a mark of the
 * change that it has come by. Pure. */
#ifndef UDPAI_BENCH_CONTENTS_H
#define UDPAI_BENCH_CONTENTS_H

#include "base/proto.h"
#include "model/types.h"

#define UDPAI_CONTENTS_NAMES_MAX 1000000 /* so many can be distinguished */
#define UDPAI_CONTENTS_NAME_ROOM 280     /* a namespace, and digits */

#define UDPAI_MARK "udpa.bench:"
#define UDPAI_MARK_LEN (sizeof(UDPAI_MARK) - 1 + 16) /* with the serial in hexadecimal digits */

/* "com.acme/000042"; in no namespace "000042". */
udpai_str
udpai_contents_name(char room[UDPAI_CONTENTS_NAME_ROOM], const char *name_space, size_t index);
/* 42 of either; SIZE_MAX: it is no such name. */
size_t udpai_contents_index(udpai_str name);

/* A ClusterLoadAssignment, which one after the other is each of those that there are. */
typedef struct udpai_contents {
    udpai_str bytes, name; /* of the one that it is now; views */
    char *room;            /* owned */
    size_t name_at, serial_at;
    char name_room[UDPAI_CONTENTS_NAME_ROOM];
} udpai_contents;

/* Of @p size bytes at least. False: without memory. */
bool udpai_contents_make(udpai_contents *contents, const char *name_space, size_t size);
void udpai_contents_set(udpai_contents *contents, size_t index, uint64_t serial);
void udpai_contents_done(udpai_contents *contents);

/* ---- marks in a stream of bytes that comes in pieces ---- */

typedef struct udpai_mark_finder {
    uint8_t n;
    char tail[UDPAI_MARK_LEN - 1]; /* of what has come: it may be a part of one */
} udpai_mark_finder;

typedef void (*udpai_mark_fn)(void *userdata, uint64_t serial);

/* Calls for each mark that ends in this piece. */
void
udpai_mark_find(udpai_mark_finder *finder, udpai_str piece, udpai_mark_fn found, void *userdata);

#endif
