/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <pthread.h>

#include "daemon/log_stderr.h"

/* Threads of libraries may log at any time, so the sink stays what it is. */
static struct {
    pthread_mutex_t mutex;
    udpai_log_writer *writer; /* NULL: standard error */
    udpai_log_format format;
    udpai_log_encoded encoded; /* of a line on standard error: no memory is needed for one */
} own = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
take_line(const udpai_log_line *line, void *userdata)
{
    struct timespec now;
    (void)userdata;
    pthread_mutex_lock(&own.mutex);
    clock_gettime(CLOCK_REALTIME, &now);
    if (own.writer) {
        udpai_log_writer_add(own.writer, line, &now);
    } else {
        udpai_log_encode(&own.encoded, own.format, line, &now);
        udpai_log_stderr_put(&own.encoded);
    }
    pthread_mutex_unlock(&own.mutex);
}

udpa_err
udpai_log_begin(udpa_log_level level, const udpai_log_target *target, udpa_error **ret_error)
{
    own.format = target->format;
    udpa_err err = target->file || target->journald
                       ? udpai_log_writer_new(&own.writer, target, ret_error)
                       : UDPA_OK;
    if (err == UDPA_OK)
        udpai_log_set_line_sink(level, take_line, NULL);
    return err;
}

void
udpai_log_reopen(void)
{
    pthread_mutex_lock(&own.mutex);
    if (own.writer)
        udpai_log_writer_reopen(own.writer);
    pthread_mutex_unlock(&own.mutex);
}

void
udpai_log_end(void)
{
    pthread_mutex_lock(&own.mutex);
    udpai_log_writer *writer = UDPAI_TAKE(own.writer);
    pthread_mutex_unlock(&own.mutex);
    udpai_log_writer_free(writer);
}
