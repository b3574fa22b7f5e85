/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/rebalance.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "session/spread.h"

#define KEY "rebalance"

enum {
    FIELD_ID = 1,
    FIELD_OVER_MS,
};

typedef struct request {
    uint64_t id; /* of each request another one; 0: none */
    uint64_t over_ms;
} request;

struct udpai_rebalance {
    udpai_rebalance_env env;
    udpa_bytes *key;
    uint64_t last; /* that was reported, or there before */
    request asked; /* to be written */
    uint64_t since_ms;
    bool is_writing;
    udpai_etcd_call call;
    udpai_timer again;
};

/* ---- what was written ---- */

bool
udpai_rebalance_is_key(udpai_str key)
{
    return udpai_str_eq(key, UDPAI_STR(KEY));
}

static bool
read_request(udpai_str value, request *ret_request)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    request found = {0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_VARINT)
            continue;
        if (field.number == FIELD_ID)
            found.id = field.value;
        else if (field.number == FIELD_OVER_MS)
            found.over_ms = field.value;
    }
    *ret_request = found;
    return !reader.failed && found.id;
}

static uint64_t
within_bounds(uint64_t over_ms)
{
    if (over_ms == 0)
        return 1;
    return over_ms < UDPAI_SPREAD_OVER_MAX_MS ? over_ms : UDPAI_SPREAD_OVER_MAX_MS;
}

/* Without memory this replica does not take part. */
void
udpai_rebalance_take(udpai_rebalance *rebalance, udpai_str value, bool is_old)
{
    request taken;
    if (!read_request(value, &taken) || taken.id == rebalance->last)
        return;
    rebalance->last = taken.id;
    udpai_replicated *event = is_old ? NULL : udpai_replicated_new(UDPAI_REPLICATED_REBALANCE);
    if (!event)
        return;
    event->over_ms = within_bounds(taken.over_ms);
    rebalance->env.report(rebalance->env.userdata, event);
}

/* ---- writing ---- */

static void write_asked(udpai_rebalance *rebalance);

static void
give_up(udpai_rebalance *rebalance, const char *why)
{
    rebalance->asked = (request){0};
    udpai_log(UDPA_LOG_ERROR, "replicas",
              "streams are not rebalanced, for etcd does not take that: %s: try again", why);
}

static void
on_done(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_rebalance *rebalance = UDPAI_CONTAINER_OF(call, udpai_rebalance, call);
    const udpai_wheel *wheel = rebalance->env.wheel;
    rebalance->is_writing = false;
    if (result->outcome == UDPAI_ETCD_DONE)
        rebalance->asked = (request){0};
    else if (result->outcome == UDPAI_ETCD_REJECTED ||
             wheel->now_ms - rebalance->since_ms >= UDPAI_REBALANCE_PATIENCE_MS)
        give_up(rebalance, result->error ? udpa_error_message(result->error) : "no reason");
    else
        udpai_timer_set(rebalance->env.wheel, &rebalance->again,
                        wheel->now_ms + UDPAI_REBALANCE_RETRY_MS);
}

static void
on_again(udpai_timer *timer)
{
    write_asked(UDPAI_CONTAINER_OF(timer, udpai_rebalance, again));
}

/* The same id each time: done twice it is as good as once. */
static void
write_asked(udpai_rebalance *rebalance)
{
    udpai_etcd *etcd = rebalance->env.etcd;
    uint8_t room[2 * 11];
    udpai_proto_writer writer = {.at = room};
    udpai_proto_put_varint(&writer, FIELD_ID, rebalance->asked.id);
    udpai_proto_put_varint(&writer, FIELD_OVER_MS, rebalance->asked.over_ms);
    const udpai_etcd_op put = {
        .kind = UDPAI_ETCD_OP_PUT,
        .key = udpai_bytes_view(rebalance->key),
        .value = {(const char *)room, writer.size},
    };
    const udpai_etcd_txn txn = {.ops = &put, .n_ops = 1};
    rebalance->call.is_repeatable = true;
    udpa_err err = etcd->ops->txn(etcd, &rebalance->call, &txn);
    rebalance->is_writing = err == UDPA_OK;
    if (err != UDPA_OK)
        give_up(rebalance, udpa_err_text(err));
}

void
udpai_rebalance_ask(udpai_rebalance *rebalance, uint64_t over_ms)
{
    if (rebalance->is_writing || rebalance->asked.id) /* one is on its way: that will do */
        return;
    rebalance->asked.id = rebalance->env.random(rebalance->env.userdata) | 1;
    rebalance->asked.over_ms = over_ms;
    rebalance->since_ms = rebalance->env.wheel->now_ms;
    write_asked(rebalance);
}

void
udpai_rebalance_stop(udpai_rebalance *rebalance)
{
    udpai_timer_cancel(&rebalance->again);
    if (rebalance->is_writing)
        rebalance->env.etcd->ops->cancel(rebalance->env.etcd, &rebalance->call);
    rebalance->is_writing = false;
    rebalance->asked = (request){0};
}

/* ---- its life ---- */

udpa_err
udpai_rebalance_new(udpai_rebalance **ret_rebalance,
                    const udpai_rebalance_env *env,
                    udpai_str prefix)
{
    udpai_rebalance *rebalance = udpai_alloc(sizeof(*rebalance));
    udpai_strbuf key = {0};
    if (!rebalance)
        return UDPA_ERR_NOMEM;
    udpai_strbuf_str(&key, prefix);
    udpai_strbuf_puts(&key, KEY);
    rebalance->env = *env;
    rebalance->call.done = on_done;
    udpai_timer_init(&rebalance->again, on_again);
    rebalance->key = udpai_bytes_of(&key);
    if (!rebalance->key) {
        udpai_free(rebalance);
        return UDPA_ERR_NOMEM;
    }
    *ret_rebalance = rebalance;
    return UDPA_OK;
}

udpai_rebalance *
udpai_rebalance_free(udpai_rebalance *rebalance)
{
    if (!rebalance)
        return NULL;
    udpai_rebalance_stop(rebalance);
    udpa_bytes_unref(rebalance->key);
    udpai_free(rebalance);
    return NULL;
}
