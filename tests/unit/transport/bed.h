/* SPDX-License-Identifier: Apache-2.0 */
/* A stream thread to test, with a protocol that does what its messages say, and what it reports. */
#ifndef UDPAI_TESTS_BED_H
#define UDPAI_TESTS_BED_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/harness/test.h"
#include "transport/grpc/listener.h"

#define BED_PATH "/test.Obedient/Stream"
#define BED_PATIENCE_S 20 /* after so long something will not happen any more */
#define BED_BLOCK_S 5     /* so long it does nothing else */

/* What the protocol does with a message:
 *   echo…      sends it back
 *   parts      sends a message of many parts of all sizes, bed_parts_text()
 *   parts, then bye   the same, and ends in peace when it is written
 *   hold       does not mind that the peer will send no more
 *   finish     ends the stream with UDPA_ERR_DENIED "as you wish"
 *   bye        ends it in peace
 *   pause      reads no more, until a JUDGED order comes
 *   flood      sends messages of 64 KiB for ever
 *   calm…      takes it for an acknowledgement, that nothing but others will follow
 * A SUBSCRIBE order has it send "pushed"; a FORGET order blocks the thread for BED_BLOCK_S.
 * A session that was dialled sends "echo hello" at once, and keeps what it receives to itself. */

typedef struct test_bed {
    udpai_stream_thread *thread;
    udpai_listener *listener;
    udpai_node_info *info;
    int port;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    udpai_list reports;           /* under the mutex */
    unsigned n_stopped, n_closed; /* under the mutex */
} test_bed;

extern atomic_uint bed_n_received; /* messages, of all sessions of the process */
extern atomic_uint bed_n_written;

/* Fields that are zero in @p options are filled in; NULL: all. */
/* The listener is udpad's own, and not gRPC's: by UDPA_TEST_OWN_LISTENER in the environment. */
bool bed_is_own(void);
void bed_start(test_bed *self, const udpai_stream_thread_options *options);
void bed_listen(test_bed *self, udpai_server_tls *tls);
/* At an address of its own. */
void bed_listen_with(test_bed *self, const udpai_listen_options *options);
void bed_stop(test_bed *self);
/* Waits for a report of this kind; others before it are dropped. */
udpai_report *bed_report(test_bed *self, udpai_report_kind kind);
/* Waits until it counts so many; the counters grow while the mutex is held. */
void bed_wait_count(test_bed *self, const unsigned *counter, unsigned n);
void bed_count(void *counter_of_bed);
/* Waits until the thread has so many streams and at most so many tags. */
void bed_wait_streams(test_bed *self, size_t n_streams, size_t n_tags_most);
/* Dials, as federation does; the bed keeps no reference. */
void bed_dial(test_bed *self, uint64_t link, const udpai_grpc_target_options *options);
void bed_hang_up(test_bed *self, uint64_t session, uint64_t link);
const char *bed_address(const test_bed *self);
size_t bed_parts_text(char *room, size_t size);

extern const udpai_grpc_method bed_method;

#endif
