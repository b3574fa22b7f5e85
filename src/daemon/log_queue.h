/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log on their way to a thread that writes them, so that what they go to can be slow
 * and holds up nobody. It has a fixed size, and allocates nothing when a line is added: a line
 * beyond it is lost, and counted.
 *
 * Lines are added on any thread, and taken by one. */
#ifndef UDPAI_LOG_QUEUE_H
#define UDPAI_LOG_QUEUE_H

#include <time.h>

#include "base/error.h"
#include "base/log.h"

/* Of packed lines that wait; twice that is held. */
#define UDPAI_LOG_QUEUE_BYTES ((size_t)512 << 10)

typedef struct udpai_log_queue udpai_log_queue;

/* A line that was taken; views, until the next call. */
typedef struct udpai_queued_line {
    udpai_log_line line;
    struct timespec when;
    udpai_log_field fields[UDPAI_LOG_KEYS];
} udpai_queued_line;

typedef enum udpai_log_woken {
    UDPAI_LOG_WOKEN_LINES = 1,  /* there are some */
    UDPAI_LOG_WOKEN_REOPEN = 2, /* udpai_log_queue_ask_reopen() was called */
    UDPAI_LOG_WOKEN_END = 4,    /* udpai_log_queue_end() was, and these are the last lines */
} udpai_log_woken;

udpa_err udpai_log_queue_new(udpai_log_queue **ret_queue);
/* When the taker has ended. */
udpai_log_queue *udpai_log_queue_free(udpai_log_queue *queue);

/* Copies what it needs. */
void udpai_log_queue_add(udpai_log_queue *queue,
                         const udpai_log_line *line,
                         const struct timespec *when);
void udpai_log_queue_ask_reopen(udpai_log_queue *queue);
void udpai_log_queue_end(udpai_log_queue *queue);

/* The taker: waits until there is something to do; a combination of udpai_log_woken. What was added
 * until then is the batch that udpai_log_queue_next() goes through. *ret_n_lost: lines that were
 * lost since the last call. */
unsigned udpai_log_queue_wait(udpai_log_queue *queue, uint64_t *ret_n_lost);
bool udpai_log_queue_next(udpai_log_queue *queue, udpai_queued_line *ret_line);

#endif
