/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what sinks hand over into files, as lines of JSON: one thread for all of them, so that a
 * disk that is slow holds up only its own topics. What cannot be written is counted, and logged;
 * nothing waits for it.
 *
 * Belongs to its maker, but for udpai_event_writer_take(). */
#ifndef UDPAI_EVENT_WRITER_H
#define UDPAI_EVENT_WRITER_H

#include "codec/schema.h"
#include "events/topic.h"

#define UDPAI_EVENT_FILE_BYTES_DEFAULT ((uint64_t)100 << 20)
#define UDPAI_EVENT_FILES_DEFAULT 5

typedef struct udpai_event_writer udpai_event_writer;

typedef struct udpai_event_file {
    const char *path;   /* NULL: there is none */
    uint64_t max_bytes; /* of each; 0: the default */
    unsigned max_files; /* 0: the default */
} udpai_event_file;

/* A file for each kind. Copies the paths; the schema outlives the writer. */
udpa_err udpai_event_writer_new(udpai_event_writer **ret_writer,
                                const udpai_schema *schema,
                                const udpai_event_file files[UDPAI_EVENT_KINDS],
                                udpa_error **ret_error);
/* When nothing is handed over any more; waits until all that was is written, or cannot be. */
udpai_event_writer *udpai_event_writer_free(udpai_event_writer *writer);
UDPA_DEFINE_CLEANUP(udpai_event_writer, udpai_event_writer_free)

/* Any thread. A writer of topics: see udpai_topic_set_writer(). */
void udpai_event_writer_take(void *writer, udpai_event_batch *batch);

#endif
