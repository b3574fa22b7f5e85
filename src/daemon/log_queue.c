/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_queue.h"

#include <pthread.h>

#include "base/alloc.h"
#include "daemon/log_format.h"

/* A packed line: this, the component and the message, each with its NUL, then the values. */
typedef struct packed {
    size_t size; /* of all of it */
    struct timespec when;
    udpa_log_level level;
    size_t component_size, message_size; /* with their NULs */
    size_t n_fields;

    struct {
        udpai_log_key key;
        size_t len;
    } fields[UDPAI_LOG_KEYS];
} packed;

typedef struct batch {
    char *data;
    size_t len;
} batch;

struct udpai_log_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned woken;  /* why, besides lines */
    uint64_t n_lost; /* that the taker was not notified of */
    batch filling;
    /* The taker's alone. */
    batch taken;
    size_t at;
};

/* ---- life ---- */

udpa_err
udpai_log_queue_new(udpai_log_queue **ret_queue)
{
    udpai_log_queue *queue = udpai_alloc(sizeof(*queue));
    if (!queue)
        return UDPA_ERR_NOMEM;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->filling.data = udpai_alloc(UDPAI_LOG_QUEUE_BYTES);
    queue->taken.data = udpai_alloc(UDPAI_LOG_QUEUE_BYTES);
    if (!queue->filling.data || !queue->taken.data) {
        udpai_log_queue_free(queue);
        return UDPA_ERR_NOMEM;
    }
    *ret_queue = queue;
    return UDPA_OK;
}

udpai_log_queue *
udpai_log_queue_free(udpai_log_queue *queue)
{
    if (!queue)
        return NULL;
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    udpai_free(queue->filling.data);
    udpai_free(queue->taken.data);
    udpai_free(queue);
    return NULL;
}

/* ---- adding ---- */

/* One byte more than what is written in the end, so that it is cut there. */
static size_t
len_of(udpai_str value)
{
    return udpai_min_size(value.len, UDPAI_LOG_VALUE_MAX + 1);
}

static void
measure(packed *head, const udpai_log_line *line)
{
    head->component_size = strlen(line->component) + 1;
    head->message_size = strlen(line->message) + 1;
    head->size = sizeof(*head) + head->component_size + head->message_size;
    head->level = line->level;
    for (size_t i = 0; i < line->n_fields && head->n_fields < UDPAI_LOG_KEYS; i++) {
        if (line->fields[i].value.len == 0)
            continue;
        head->fields[head->n_fields].key = line->fields[i].key;
        head->fields[head->n_fields++].len = len_of(line->fields[i].value);
        head->size += len_of(line->fields[i].value);
    }
}

static void
pack(char *at, const packed *head, const udpai_log_line *line)
{
    size_t n = 0;
    memcpy(at, head, sizeof(*head));
    at += sizeof(*head);
    memcpy(at, line->component, head->component_size);
    at += head->component_size;
    memcpy(at, line->message, head->message_size);
    at += head->message_size;
    for (size_t i = 0; i < line->n_fields && n < head->n_fields; i++) {
        if (line->fields[i].value.len == 0)
            continue;
        memcpy(at, line->fields[i].value.data, head->fields[n].len);
        at += head->fields[n++].len;
    }
}

void
udpai_log_queue_add(udpai_log_queue *queue, const udpai_log_line *line, const struct timespec *when)
{
    packed head = {.when = *when};
    measure(&head, line);
    pthread_mutex_lock(&queue->mutex);
    if (UDPAI_LOG_QUEUE_BYTES - queue->filling.len < head.size) {
        queue->n_lost++;
    } else {
        pack(queue->filling.data + queue->filling.len, &head, line);
        queue->filling.len += head.size;
    }
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static void
wake(udpai_log_queue *queue, unsigned why)
{
    pthread_mutex_lock(&queue->mutex);
    queue->woken |= why;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

void
udpai_log_queue_ask_reopen(udpai_log_queue *queue)
{
    wake(queue, UDPAI_LOG_WOKEN_REOPEN);
}

void
udpai_log_queue_end(udpai_log_queue *queue)
{
    wake(queue, UDPAI_LOG_WOKEN_END);
}

/* ---- taking ---- */

unsigned
udpai_log_queue_wait(udpai_log_queue *queue, uint64_t *ret_n_lost)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->filling.len == 0 && queue->woken == 0)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    unsigned woken = queue->woken | (queue->filling.len ? UDPAI_LOG_WOKEN_LINES : 0);
    const batch filled = queue->filling;
    queue->filling = (batch){queue->taken.data, 0};
    queue->taken = filled;
    queue->at = 0;
    queue->woken = 0;
    *ret_n_lost = queue->n_lost;
    queue->n_lost = 0;
    pthread_mutex_unlock(&queue->mutex);
    return woken;
}

bool
udpai_log_queue_next(udpai_log_queue *queue, udpai_queued_line *ret_line)
{
    packed head;
    const char *at = queue->taken.data + queue->at;
    if (queue->at >= queue->taken.len)
        return false;
    memcpy(&head, at, sizeof(head)); /* it may lie anywhere */
    queue->at += head.size;
    at += sizeof(head);
    ret_line->when = head.when;
    ret_line->line = (udpai_log_line){
        .level = head.level,
        .component = at,
        .message = at + head.component_size,
        .fields = ret_line->fields,
        .n_fields = head.n_fields,
    };
    at += head.component_size + head.message_size;
    for (size_t i = 0; i < head.n_fields; i++) {
        ret_line->fields[i] = (udpai_log_field){head.fields[i].key, {at, head.fields[i].len}};
        at += head.fields[i].len;
    }
    return true;
}
