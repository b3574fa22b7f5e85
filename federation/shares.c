/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/shares.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#define MARK "mark:"
#define MARK_TYPE "type.googleapis.com/udpa.config.v1.Directory"
#define MARK_NAME "udpa.node/read"
#define WHOLE "whole"
#define FAILING "failing"

struct udpai_shares {
    udpai_context *context;
    UDPAI_VECTOR(udpai_share *) all;
    udpai_timer timer;
};

/* ---- which there are ---- */

void
udpai_shares_end_rejections(udpai_share *share)
{
    while (share->rejections.n)
        udpa_resource_unref(share->rejections.items[--share->rejections.n]);
    share->n_proposed_rejections = 0;
}

static void
free_share(udpai_share *share)
{
    udpai_shares_end_rejections(share);
    udpai_vector_done(&share->rejections);
    udpa_bytes_unref(share->root);
    udpa_bytes_unref(share->source);
    udpa_bytes_unref(share->mark_key);
    udpai_reading_free(share->reading);
    udpa_error_unref(share->rejected);
    udpai_free(share);
}

static udpa_bytes *
mark_key_of(const udpai_origin *origin)
{
    udpai_strbuf key = {0};
    udpai_strbuf_puts(&key, MARK);
    udpai_strbuf_str(&key, udpai_origin_key(origin));
    return udpai_bytes_of(&key);
}

udpa_err
udpai_shares_add(udpai_shares *shares, udpai_origin *origin, udpai_str root, udpai_str source)
{
    udpai_share *share = udpai_alloc(sizeof(*share));
    if (!share)
        return UDPA_ERR_NOMEM;
    share->origin = origin;
    share->due_ms = UINT64_MAX;
    share->mark_key = mark_key_of(origin);
    if (share->mark_key && udpa_bytes_new(&share->root, root.data, root.len) == UDPA_OK &&
        udpa_bytes_new(&share->source, source.data, source.len) == UDPA_OK &&
        udpai_vector_push(&shares->all, share)) {
        udpai_origin_set_durable(origin, true);
        udpai_origin_set_keeps_alive(origin, true);
        return UDPA_OK;
    }
    free_share(share);
    return UDPA_ERR_NOMEM;
}

udpai_share *
udpai_shares_find(const udpai_shares *shares, udpai_str origin)
{
    for (size_t i = 0; shares && i < shares->all.n; i++)
        if (udpai_str_eq(udpai_origin_key(shares->all.items[i]->origin), origin))
            return shares->all.items[i];
    return NULL;
}

udpai_share *
udpai_shares_of(const udpai_shares *shares, const udpai_directory *directory)
{
    for (size_t i = 0; shares && i < shares->all.n; i++) {
        udpai_share *share = shares->all.items[i];
        bool is_source = udpai_str_eq(udpai_bytes_view(share->source), directory->source);
        if (is_source &&
            (directory->source.len || udpai_str_eq(udpai_bytes_view(share->root), directory->root)))
            return share;
    }
    return NULL;
}

udpai_share *
udpai_shares_next(const udpai_shares *shares, size_t *at)
{
    return shares && *at < shares->all.n ? shares->all.items[(*at)++] : NULL;
}

void
udpai_shares_restore_read(const udpai_shares *shares, udpai_str origin)
{
    udpai_share *share = udpai_shares_find(shares, origin);
    if (share)
        share->was_read = share->has_news = true;
}

/* ---- when ---- */

static void
arm(udpai_shares *shares)
{
    uint64_t due_ms = UINT64_MAX;
    for (size_t i = 0; i < shares->all.n; i++)
        if (shares->all.items[i]->due_ms < due_ms)
            due_ms = shares->all.items[i]->due_ms;
    if (due_ms == UINT64_MAX)
        udpai_timer_cancel(&shares->timer);
    else
        udpai_timer_set(shares->context->wheel, &shares->timer, due_ms);
}

/* The next flush compares. */
static void
on_timer(udpai_timer *timer)
{
    udpai_context_touch(UDPAI_CONTAINER_OF(timer, udpai_shares, timer)->context);
}

void
udpai_shares_compare_at(udpai_shares *shares, udpai_share *share, uint64_t time_ms)
{
    if (time_ms >= share->due_ms)
        return;
    share->due_ms = time_ms;
    if (time_ms > udpai_context_now(shares->context))
        arm(shares);
    else
        udpai_context_touch(shares->context);
}

udpa_err
udpai_shares_read(udpai_shares *shares, udpai_share *share, const udpai_directory *directory)
{
    udpai_reading *reading;
    udpai_directory read = *directory;
    if (share->is_new && share->reading && !read.doubt)
        read.doubt = udpai_reading_directory(share->reading)->doubt;
    udpa_err err = udpai_reading_new(&reading, &read);
    if (err != UDPA_OK)
        return err;
    udpai_reading_free(share->reading);
    share->reading = reading;
    share->is_new = true;
    udpai_shares_compare_at(shares, share, udpai_context_now(shares->context));
    return UDPA_OK;
}

static void
forget_held(const udpai_shares *shares, const udpai_share *share)
{
    udpai_store_end_absences(shares->context->store, share->origin, (udpai_str){0},
                             UDPAI_ABSENCE_HELD, UDPAI_ABSENCE_FORGET);
}

void
udpai_shares_accept(udpai_shares *shares, udpai_share *share)
{
    share->accepts = true;
    forget_held(shares, share);
    udpai_shares_compare_at(shares, share, udpai_context_now(shares->context));
}

void
udpai_shares_resign(udpai_shares *shares, udpai_share *share)
{
    share->accepts = share->was_accepted = false;
    udpai_shares_end_rejections(share);
    forget_held(shares, share);
}

void
udpai_shares_forget_reading(udpai_shares *shares, udpai_share *share)
{
    udpai_shares_resign(shares, share);
    share->reading = udpai_reading_free(share->reading);
    share->due_ms = UINT64_MAX;
    arm(shares);
}

/* ---- what is logged ---- */

static bool
is_directory(const udpai_share *share)
{
    return udpa_bytes_size(share->root) > 0;
}

const char *
udpai_share_kind(const udpai_share *share)
{
    return is_directory(share) ? "directory" : "source";
}

const char *
udpai_share_part(const udpai_share *share)
{
    return is_directory(share) ? "file" : "federation";
}

udpai_str
udpai_share_name(const udpai_share *share)
{
    return udpai_bytes_view(is_directory(share) ? share->root : share->source);
}

static udpa_error *
explain(const udpai_share *share, const udpai_replicated *event)
{
    return udpa_error_new(event->error ? udpa_error_code(event->error) : UDPA_ERR_LIMIT, NULL,
                          UDPAI_SHARE_TEXT ": what was read cannot be committed for all "
                                           "replicas, which keep what they have of it: %s",
                          UDPAI_SHARE_SHOWN(share),
                          event->error ? udpa_error_message(event->error) : "etcd rejects it");
}

void
udpai_shares_visit_problems(const udpai_shares *shares, udpai_problem_fn visit, void *userdata)
{
    for (size_t i = 0; i < shares->all.n; i++)
        if (shares->all.items[i]->rejected)
            visit(userdata, udpa_error_message(shares->all.items[i]->rejected));
}

void
udpai_shares_proposed(udpai_shares *shares, udpai_share *share, const udpai_replicated *event)
{
    uint64_t now = udpai_context_now(shares->context);
    share->is_proposed = false;
    udpa_error_unref(share->rejected);
    share->rejected = event->outcome == UDPAI_REPLICATED_REJECTED ? explain(share, event) : NULL;
    if (event->outcome == UDPAI_REPLICATED_COMMITTED) {
        if (share->n_proposed_rejections == share->rejections.n)
            udpai_shares_end_rejections(share);
        udpai_log(UDPA_LOG_DEBUG, udpai_share_part(share),
                  UDPAI_SHARE_TEXT ": committed for all replicas", UDPAI_SHARE_SHOWN(share));
        return;
    }
    share->accepts |= share->was_accepted;
    if (event->outcome != UDPAI_REPLICATED_REJECTED) {
        udpai_shares_compare_at(shares, share, now + UDPAI_SHARES_AGAIN_MS);
        return;
    }
    udpai_log(UDPA_LOG_ERROR, udpai_share_part(share), "%s",
              share->rejected ? udpa_error_message(share->rejected) : "out of memory");
    udpai_shares_compare_at(shares, share, now + UDPAI_SHARES_LATER_MS);
}

/* ---- marks ---- */

bool
udpai_shares_is_mark_key(udpai_str origin)
{
    return udpai_str_starts(origin, UDPAI_STR(MARK));
}

static udpai_share *
find_by_mark(const udpai_shares *shares, udpai_str mark_key)
{
    size_t skipped = strlen(MARK);
    return udpai_shares_find(shares, (udpai_str){mark_key.data + skipped, mark_key.len - skipped});
}

static void
set_mark(udpai_shares *shares, udpai_share *share, bool is_marked, bool is_failing)
{
    share->has_news |= share->is_marked != is_marked || share->is_failing != is_failing;
    share->is_marked = is_marked;
    share->is_failing = is_failing;
    udpai_context_touch(shares->context);
}

bool
udpai_shares_take_mark(udpai_shares *shares, const udpai_durable_op *op, bool *ret_is_first)
{
    udpai_share *share = find_by_mark(shares, udpai_bytes_view(op->origin));
    bool is_put = op->kind == UDPAI_DURABLE_PUT;
    if (!share)
        return false;
    *ret_is_first = is_put && !share->is_marked;
    set_mark(shares, share, is_put,
             is_put && udpai_str_eq(udpai_resource_version(op->resource), udpai_str_from(FAILING)));
    if (!is_put)
        udpai_shares_compare_at(shares, share, udpai_context_now(shares->context));
    return true;
}

void
udpai_shares_take_marks(udpai_shares *shares, const udpai_durable_batch *all)
{
    bool is_first;
    for (size_t i = 0; i < shares->all.n; i++)
        shares->all.items[i]->is_marked = false;
    for (size_t i = 0; i < all->ops.n; i++)
        if (udpai_shares_is_mark_key(udpai_bytes_view(all->ops.items[i].origin)))
            (void)udpai_shares_take_mark(shares, &all->ops.items[i], &is_first);
}

static udpa_err
make_mark(bool is_failing, udpa_resource **ret_mark)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(MARK_TYPE), (udpai_str){0});
    const udpai_resource_parts parts = {
        .name = UDPAI_STR(MARK_NAME),
        .version = udpai_str_from(is_failing ? FAILING : WHOLE),
        .any = any,
        .generation = 1,
    };
    return any ? udpai_resource_make(ret_mark, &parts) : UDPA_ERR_NOMEM;
}

static udpa_err
add_mark(const udpai_share *share, bool is_failing, udpai_durable_batch *batch)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *mark = NULL;
    udpa_err err = make_mark(is_failing, &mark);
    return err == UDPA_OK ? udpai_durable_batch_add(batch,
                                                    &(udpai_durable_op){
                                                        .kind = UDPAI_DURABLE_PUT,
                                                        .origin = share->mark_key,
                                                        .resource = mark,
                                                    })
                          : err;
}

udpa_err
udpai_shares_add_mark(const udpai_share *share, udpai_durable_batch *batch)
{
    return share->writes_mark ? add_mark(share, share->next_failing, batch) : UDPA_OK;
}

udpa_err
udpai_shares_copy_mark(const udpai_share *share, udpai_durable_batch *batch)
{
    return share->is_marked || share->was_read ? add_mark(share, share->is_failing, batch)
                                               : UDPA_OK;
}

/* ---- their life ---- */

udpa_err
udpai_shares_new(udpai_shares **ret_shares, udpai_context *context)
{
    udpai_shares *shares = udpai_alloc(sizeof(*shares));
    if (!shares)
        return UDPA_ERR_NOMEM;
    shares->context = context;
    udpai_timer_init(&shares->timer, on_timer);
    *ret_shares = shares;
    return UDPA_OK;
}

void
udpai_shares_free(udpai_shares *shares)
{
    if (!shares)
        return;
    udpai_timer_cancel(&shares->timer);
    for (size_t i = 0; i < shares->all.n; i++)
        free_share(shares->all.items[i]);
    udpai_vector_done(&shares->all);
    udpai_free(shares);
}
