/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/stream_sides.h"

#include "base/alloc.h"
#include "session/worker_pool.h"

struct udpai_stream_sides {
    udpai_stream_sides_env env;
    udpai_stream_thread *own;
    udpai_worker_pool *pool; /* NULL: there are no workers */
    void (*order_worker)(void *userdata, size_t worker, const udpai_order *order);
    void (*serve_workers)(void *userdata, bool is_serving);
    void *workers_userdata;
    udpai_stream_counts *counts; /* of each worker, as it has sent them last */
    size_t n_workers;
};

static void
order_own(void *userdata, udpai_order *order)
{
    udpai_stream_thread_order(((udpai_stream_sides *)userdata)->own, order);
}

static void
order_member(void *userdata, size_t member, const udpai_order *order)
{
    const udpai_stream_sides *sides = userdata;
    sides->order_worker(sides->workers_userdata, member, order);
}

static void
take(void *userdata, udpai_report *report)
{
    const udpai_stream_sides *sides = userdata;
    sides->env.take(sides->env.userdata, report);
}

static udpa_err
make_pool(udpai_stream_sides *sides, const udpai_endpoint_settings *settings)
{
    const udpai_worker_pool_env pool = {
        .order = order_member,
        .order_own = order_own,
        .report = take,
        .userdata = sides,
    };
    sides->order_worker = settings->order_worker;
    sides->serve_workers = settings->serve_workers;
    sides->workers_userdata = settings->workers_userdata;
    sides->counts = udpai_alloc_array(settings->n_workers, sizeof(*sides->counts));
    sides->n_workers = sides->counts ? settings->n_workers : 0;
    sides->pool = udpai_worker_pool_new(1 + settings->n_workers, &pool);
    return sides->counts && sides->pool ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_stream_sides_new(udpai_stream_sides **ret_sides,
                       const udpai_endpoint_settings *settings,
                       const udpai_stream_sides_env *env,
                       udpa_error **ret_error)
{
    udpai_stream_sides *sides = udpai_alloc(sizeof(*sides));
    if (!sides)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_streams_env streams = {
        .report = env->report,
        .stopped = env->stopped,
        .userdata = env->userdata,
        .session_step = settings->n_workers ? UDPAI_WORKER_POOL_STEP : 1,
    };
    sides->env = *env;
    udpa_err err = settings->n_workers ? make_pool(sides, settings) : UDPA_OK;
    if (err == UDPA_OK)
        err = udpai_endpoint_make_streams(&sides->own, settings, &streams, ret_error);
    if (err == UDPA_OK)
        *ret_sides = sides;
    else
        udpai_stream_sides_free(sides);
    return udpai_fail_code(ret_error, err);
}

void
udpai_stream_sides_join(udpai_stream_sides *sides)
{
    if (sides)
        sides->own = udpai_stream_thread_free(sides->own);
}

udpai_stream_sides *
udpai_stream_sides_free(udpai_stream_sides *sides)
{
    if (!sides)
        return NULL;
    udpai_stream_sides_join(sides);
    udpai_worker_pool_free(sides->pool);
    udpai_free(sides->counts);
    udpai_free(sides);
    return NULL;
}

udpai_stream_thread *
udpai_stream_sides_own(const udpai_stream_sides *sides)
{
    return sides->own;
}

void
udpai_stream_sides_order(udpai_stream_sides *sides, udpai_order *order)
{
    if (sides->pool)
        udpai_worker_pool_order(sides->pool, order);
    else
        udpai_stream_thread_order(sides->own, order);
}

bool
udpai_stream_sides_set_serving(udpai_stream_sides *sides, bool is_serving)
{
    if (!sides->own || udpai_stream_thread_set_serving(sides->own, is_serving) != UDPA_OK)
        return false;
    if (sides->serve_workers)
        sides->serve_workers(sides->workers_userdata, is_serving);
    return true;
}

void
udpai_stream_sides_report(udpai_stream_sides *sides, size_t side, udpai_report *report)
{
    if (sides->pool)
        udpai_worker_pool_report(sides->pool, side, report);
    else
        take(sides, report);
}

void
udpai_stream_sides_set_counts(udpai_stream_sides *sides,
                              size_t worker,
                              const udpai_stream_counts *counts)
{
    if (worker >= 1 && worker <= sides->n_workers)
        sides->counts[worker - 1] = *counts;
}

udpai_stream_counts
udpai_stream_sides_counts(const udpai_stream_sides *sides)
{
    udpai_stream_counts all = udpai_stream_counts_of(sides->own);
    for (size_t i = 0; i < sides->n_workers; i++)
        udpai_stream_counts_add(&all, &sides->counts[i]);
    return all;
}
