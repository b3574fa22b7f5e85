/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/traces.h"

#include "base/alloc.h"
#include "base/map.h"
#include "federation/type_key.h"
#include "model/client_type.h"
#include "model/name.h"

/* A resource whose change is waited for, and by which span. */
typedef struct awaited {
    udpai_span *span;
    size_t len;
    char key[]; /* of type and name */
} awaited;

#define KEY_MAX (UDPAI_TYPE_URL_MAX + 1 + UDPAI_NAME_MAX)

struct udpai_traces {
    udpai_context *context;
    udpai_traces_config config;
    udpai_map by_name;  /* of awaited: of each span the last resource */
    udpai_list waiting; /* spans, the oldest first */
    size_t n_waiting;
    udpai_timer late;
    uint64_t tokens_ms, tokens; /* thousandths of a trace that may begin, at that time */
    /* What comes in now. */
    udpai_trace parent;
    udpai_str from;
    bool is_begun, is_decided;
    udpai_span *span; /* NULL: it is not traced, or has changed nothing yet */
};

static udpai_str
key_of(const void *item)
{
    const awaited *one = item;
    return (udpai_str){one->key, one->len};
}

/* Empty: it is too long. */
static udpai_str
write_key(char room[KEY_MAX], udpai_str type_url, udpai_str name)
{
    bool fits = type_url.len <= UDPAI_TYPE_URL_MAX && name.len <= UDPAI_NAME_MAX;
    return fits ? udpai_type_key(room, type_url, name) : (udpai_str){0};
}

/* ---- which are traced ---- */

/* As many as may begin in a second, at once or by and by. */
static bool
take_token(udpai_traces *traces)
{
    uint64_t now_ms = udpai_context_now(traces->context),
             full = 1000ull * traces->config.per_second;
    traces->tokens += (now_ms - traces->tokens_ms) * traces->config.per_second;
    traces->tokens_ms = now_ms;
    if (traces->tokens > full)
        traces->tokens = full;
    if (traces->tokens < 1000)
        return false;
    traces->tokens -= 1000;
    return true;
}

static bool
is_chosen(udpai_traces *traces)
{
    double chance = (double)(udpai_context_random(traces->context) >> 11) / (double)(1ull << 53);
    bool is_wanted = udpai_trace_is_set(&traces->parent) ? traces->parent.is_sampled
                                                         : chance < traces->config.ratio;
    return is_wanted && traces->n_waiting < UDPAI_TRACES_WAITING_MAX && take_token(traces);
}

static void
put_random(const udpai_context *context, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t number = udpai_context_random(context) | 1; /* zeroes are none */
        memcpy(bytes + i, &number, sizeof(number));
    }
}

/* NULL without memory. */
static udpai_span *
begin_span(const udpai_traces *traces)
{
    udpai_span *span = udpai_span_new();
    if (!span)
        return NULL;
    span->begin_us = udpai_context_wall_us(traces->context);
    span->trace = traces->parent;
    memcpy(span->parent, traces->parent.span, UDPAI_SPAN_ID);
    if (!udpai_trace_is_set(&traces->parent))
        put_random(traces->context, span->trace.id, UDPAI_TRACE_ID);
    put_random(traces->context, span->trace.span, UDPAI_SPAN_ID);
    span->trace.is_sampled = true;
    if (udpa_bytes_new(&span->from, traces->from.data, traces->from.len) != UDPA_OK)
        return udpai_span_free(span);
    return span;
}

/* ---- what comes in ---- */

void
udpai_traces_begin(udpai_traces *traces, const udpai_trace *parent, udpai_str from)
{
    if (!traces)
        return;
    traces->parent = parent ? *parent : (udpai_trace){0};
    traces->from = from;
    traces->is_begun = true;
    traces->is_decided = false;
}

static bool
is_traced(udpai_traces *traces, udpai_str type_url, udpai_str name)
{
    if (!traces->is_begun || udpai_type_is_client(type_url) ||
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        return false;
    if (!traces->is_decided && is_chosen(traces))
        traces->span = begin_span(traces);
    traces->is_decided = true;
    return traces->span;
}

bool
udpai_traces_may_note(const udpai_traces *traces)
{
    return traces && traces->is_begun && (!traces->is_decided || traces->span);
}

void
udpai_traces_note(udpai_traces *traces, udpai_str type_url, udpai_str name)
{
    if (!traces || !is_traced(traces, type_url, name))
        return;
    udpai_span *span = traces->span;
    udpa_bytes *own = NULL;
    span->n_changed++;
    udpa_bytes_unref(span->type);
    udpa_bytes_unref(span->name);
    span->type = udpai_bytes_cstring(type_url);
    span->name = udpa_bytes_new(&own, name.data, name.len) == UDPA_OK ? own : NULL;
}

static void
forget(udpai_traces *traces, awaited *one)
{
    udpai_map_remove(&traces->by_name, key_of(one));
    udpai_free(one);
}

static void
finish(udpai_traces *traces, udpai_span *span, const char *outcome)
{
    traces->n_waiting--;
    udpai_list_remove(&span->node);
    span->outcome = outcome;
    span->end_us = udpai_context_wall_us(traces->context);
    traces->config.take(traces->config.userdata, span);
}

/* Clients are given both changes as one. */
static void
join(udpai_traces *traces, udpai_span *span, awaited *before)
{
    if (span->links.n < UDPAI_SPAN_LINKS_MAX)
        (void)udpai_vector_push(&span->links, before->span->trace);
    finish(traces, before->span, "replaced");
    forget(traces, before);
}

static void
set_late(udpai_traces *traces)
{
    if (traces->n_waiting && !udpai_timer_is_set(&traces->late))
        udpai_timer_set(traces->context->wheel, &traces->late,
                        udpai_context_now(traces->context) + UDPAI_TRACES_PATIENCE_MS);
}

static udpai_str
span_key(char room[KEY_MAX], const udpai_span *span)
{
    bool is_whole = span->type && span->name;
    return is_whole ? write_key(
                          room,
                          (udpai_str){udpa_bytes_data(span->type), udpa_bytes_size(span->type) - 1},
                          udpai_bytes_view(span->name))
                    : (udpai_str){0};
}

/* Without memory it is not traced. */
static void
await(udpai_traces *traces, udpai_span *span)
{
    char room[KEY_MAX];
    udpai_str key = span_key(room, span);
    awaited *before = key.len ? udpai_map_get(&traces->by_name, key) : NULL;
    if (before)
        join(traces, span, before);
    awaited *one = key.len ? udpai_alloc(sizeof(*one) + key.len) : NULL;
    if (one) {
        one->span = span;
        one->len = key.len;
        memcpy(one->key, key.data, key.len);
    }
    if (!one || !udpai_map_add(&traces->by_name, one)) {
        udpai_free(one);
        udpai_span_free(span);
        return;
    }
    udpai_list_append(&traces->waiting, &span->node);
    traces->n_waiting++;
    set_late(traces);
}

void
udpai_traces_end(udpai_traces *traces)
{
    if (!traces)
        return;
    udpai_span *span = UDPAI_TAKE(traces->span);
    traces->is_begun = false;
    if (span)
        await(traces, span);
}

/* ---- what is given out ---- */

static awaited *
find(const udpai_traces *traces, const udpai_change *change)
{
    char room[KEY_MAX];
    udpai_str key = write_key(room, udpai_resource_type_url(change->resource),
                              udpai_resource_name(change->resource));
    return change->kind == UDPAI_CHANGE_REFRESH || key.len == 0
               ? NULL
               : udpai_map_get(&traces->by_name, key);
}

void
udpai_traces_take(udpai_traces *traces, const udpai_change_set *changes, udpai_list *spans)
{
    size_t n = traces && traces->n_waiting ? udpai_change_set_size(changes) : 0;
    for (size_t i = 0; i < n && traces->n_waiting; i++) {
        awaited *one = find(traces, udpai_change_set_at(changes, i));
        if (!one)
            continue;
        udpai_span *span = one->span;
        forget(traces, one);
        traces->n_waiting--;
        udpai_list_remove(&span->node);
        span->change = i;
        span->effective_us = udpai_context_wall_us(traces->context);
        udpai_list_append(spans, &span->node);
    }
}

/* ---- what is not ---- */

static awaited *
awaited_of(const udpai_traces *traces, const udpai_span *span)
{
    char room[KEY_MAX];
    return udpai_map_get(&traces->by_name, span_key(room, span));
}

static void
on_late(udpai_timer *timer)
{
    udpai_traces *traces = UDPAI_CONTAINER_OF(timer, udpai_traces, late);
    int64_t until_us =
        udpai_context_wall_us(traces->context) - (int64_t)UDPAI_TRACES_PATIENCE_MS * 1000;
    UDPAI_LIST_FOREACH_SAFE (node, &traces->waiting) {
        udpai_span *span = UDPAI_LIST_ENTRY(node, udpai_span, node);
        if (span->begin_us > until_us)
            break;
        forget(traces, awaited_of(traces, span));
        finish(traces, span, "ineffective");
    }
    set_late(traces);
}

/* ---- the part ---- */

udpa_err
udpai_traces_new(udpai_traces **ret_traces,
                 udpai_context *context,
                 const udpai_traces_config *config)
{
    *ret_traces = NULL;
    if (!config->take)
        return UDPA_OK;
    udpai_traces *traces = udpai_alloc(sizeof(*traces));
    if (!traces)
        return UDPA_ERR_NOMEM;
    traces->context = context;
    traces->config = *config;
    traces->tokens_ms = udpai_context_now(context);
    traces->tokens = 1000ull * config->per_second;
    udpai_map_init(&traces->by_name, key_of);
    udpai_list_init(&traces->waiting);
    udpai_timer_init(&traces->late, on_late);
    *ret_traces = traces;
    return UDPA_OK;
}

void
udpai_traces_free(udpai_traces *traces)
{
    if (!traces)
        return;
    UDPAI_LIST_FOREACH (node, &traces->waiting)
        forget(traces, awaited_of(traces, UDPAI_LIST_ENTRY(node, udpai_span, node)));
    udpai_spans_free(&traces->waiting);
    udpai_map_done(&traces->by_name);
    udpai_timer_cancel(&traces->late);
    udpai_span_free(traces->span);
    udpai_free(traces);
}
