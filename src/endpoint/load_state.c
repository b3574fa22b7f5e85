/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/load_state.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "loop/journal.h"
#include "model/name.h"

/* An aggregate of the life before. */
typedef struct earlier_aggregate {
    udpa_bytes *cluster;
    udpai_load_stats_split *split;
    uint64_t epoch, elapsed_ns;
} earlier_aggregate;

struct udpai_load_state {
    udpai_load_state_options options;
    udpai_journal *journal;
    udpai_map earlier; /* by cluster */
    udpai_arena arena;
    bool is_behind; /* something could not be written: all is written anew */
};

static udpai_str
earlier_key(const void *item)
{
    return udpai_bytes_view(((const earlier_aggregate *)item)->cluster);
}

static void
drop(udpai_load_state *self, earlier_aggregate *one)
{
    udpai_map_remove(&self->earlier, earlier_key(one));
    udpai_load_stats_split_free(one->split);
    udpa_bytes_unref(one->cluster);
    udpai_free(one);
}

/* ---- reading ---- */

static udpa_err
make_earlier(udpai_load_state *self,
             const udpai_load_stats_state *of,
             earlier_aggregate **ret_aggregate)
{
    const udpai_load_aggregate_options options = {
        .cluster = of->cluster,
        .node_id = self->options.node_id,
        .epoch = of->epoch,
        .lasts_ns = self->options.lasts_ns,
    };
    earlier_aggregate *made = udpai_alloc(sizeof(*made));
    if (!made)
        return UDPA_ERR_NOMEM;
    made->epoch = of->epoch;
    udpa_err err = udpa_bytes_new(&made->cluster, of->cluster.data, of->cluster.len);
    if (err == UDPA_OK)
        err = udpai_load_stats_split_new(&made->split, &options);
    if (err == UDPA_OK && udpai_map_add(&self->earlier, made)) {
        *ret_aggregate = made;
        return UDPA_OK;
    }
    udpai_load_stats_split_free(made->split);
    udpa_bytes_unref(made->cluster);
    udpai_free(made);
    return UDPA_ERR_NOMEM;
}

static void
log_damaged(udpai_str cluster, const udpa_error *error)
{
    udpai_log(UDPA_LOG_WARNING, "load",
              "the aggregate of cluster '%.*s' begins anew: what was kept of it cannot be read: %s",
              UDPAI_SHOWN(cluster), error ? udpa_error_message(error) : "it is damaged");
}

/* An aggregate that cannot be read begins anew, which counts less. */
static udpa_err
read_record(void *userdata, udpai_str record)
{
    udpai_load_state *self = userdata;
    udpai_load_stats_state of = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_load_stats_state_read(record, &of);
    if (err != UDPA_OK)
        return UDPA_OK;
    earlier_aggregate *one = udpai_map_get(&self->earlier, of.cluster);
    if (one && (of.has_ended || one->epoch != of.epoch)) {
        drop(self, one);
        one = NULL;
    }
    if (of.has_ended)
        return UDPA_OK;
    if (!one)
        err = make_earlier(self, &of, &one);
    if (err == UDPA_OK) {
        one->elapsed_ns = of.elapsed_ns;
        err = udpai_load_stats_state_take(one->split, &self->arena, record, &error);
    }
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
        return err;
    log_damaged(of.cluster, error);
    drop(self, one);
    return UDPA_OK;
}

udpa_err
udpai_load_state_open(udpai_load_state **ret_state, const udpai_load_state_options *options)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_load_state *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->options = *options;
    udpai_map_init(&self->earlier, earlier_key);
    udpai_arena_init(&self->arena);
    udpa_err err = udpai_journal_open(&self->journal, options->path, options->owner, read_record,
                                      self, &error);
    if (err == UDPA_OK) {
        *ret_state = self;
        return UDPA_OK;
    }
    udpai_load_state_close(self);
    if (err == UDPA_ERR_NOMEM)
        return err;
    udpai_log(UDPA_LOG_WARNING, "load", "aggregates of load begin anew with this node: %s",
              error ? udpa_error_message(error) : udpa_err_text(err));
    return UDPA_OK;
}

udpai_load_state *
udpai_load_state_close(udpai_load_state *self)
{
    if (!self)
        return NULL;
    size_t at = 0;
    earlier_aggregate *one;
    while ((one = udpai_map_next(&self->earlier, &at))) {
        udpai_load_stats_split_free(one->split);
        udpa_bytes_unref(one->cluster);
        udpai_free(one);
    }
    udpai_map_done(&self->earlier);
    udpai_arena_done(&self->arena);
    udpai_journal_close(self->journal);
    udpai_free(self);
    return NULL;
}

/* ---- what there was ---- */

udpai_load_stats_split *
udpai_load_state_take(udpai_load_state *self, udpai_str cluster, udpai_load_stats_state *ret_of)
{
    earlier_aggregate *one = self ? udpai_map_get(&self->earlier, cluster) : NULL;
    if (!one)
        return NULL;
    *ret_of = (udpai_load_stats_state){.epoch = one->epoch, .elapsed_ns = one->elapsed_ns};
    udpai_load_stats_split *split = UDPAI_TAKE(one->split);
    drop(self, one);
    return split;
}

udpa_bytes *
udpai_load_state_find(udpai_load_state *self, udpai_str prefix)
{
    size_t at = 0;
    earlier_aggregate *one;
    while (self && (one = udpai_map_next(&self->earlier, &at)))
        if (udpai_prefix_covers(prefix, earlier_key(one)))
            return udpa_bytes_ref(one->cluster);
    return NULL;
}

bool
udpai_load_state_forget(udpai_load_state *self)
{
    bool any = false;
    earlier_aggregate *one;
    for (size_t at = 0; self && (one = udpai_map_next(&self->earlier, &at)); at = 0) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *cluster = udpa_bytes_ref(one->cluster);
        const udpai_load_stats_state of = {.cluster = udpai_bytes_view(cluster),
                                           .epoch = one->epoch};
        drop(self, one);
        udpai_load_state_end(self, &of);
        any = true;
    }
    return any;
}

/* ---- writing ---- */

static udpa_err
append(udpai_load_state *self,
       const udpai_load_stats_state *of,
       const udpai_load_stats_split *split,
       bool all,
       udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *record = udpai_load_stats_state_make(of, split, all);
    return record ? udpai_journal_append(self->journal, udpai_bytes_view(record), ret_error)
                  : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_load_state_save_all(udpai_load_state *self,
                          const udpai_load_stats_state *of,
                          udpai_load_stats_split *split)
{
    udpa_err err = append(self, of, split, true, NULL);
    if (err == UDPA_OK)
        udpai_load_stats_state_made(split);
    return err;
}

static udpa_err
write_all(void *userdata, udpai_journal *journal)
{
    udpai_load_state *self = userdata;
    (void)journal;
    size_t at = 0;
    udpa_err err = UDPA_OK;
    earlier_aggregate *one;
    while (err == UDPA_OK && (one = udpai_map_next(&self->earlier, &at))) {
        const udpai_load_stats_state of = {
            .cluster = earlier_key(one), .epoch = one->epoch, .elapsed_ns = one->elapsed_ns};
        err = udpai_load_state_save_all(self, &of, one->split);
    }
    return err == UDPA_OK ? self->options.visit(self->options.userdata, self) : err;
}

/* What could not be written is with the next turn. */
static void
note_written(udpai_load_state *self, udpa_err err, udpa_error *error)
{
    if (err != UDPA_OK && !self->is_behind)
        udpai_log(UDPA_LOG_WARNING, "load", "aggregates of load are not kept over a restart: %s",
                  error ? udpa_error_message(error) : udpa_err_text(err));
    self->is_behind = err != UDPA_OK;
}

static void
save(udpai_load_state *self, const udpai_load_stats_state *of, udpai_load_stats_split *split)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err;
    if (self->is_behind || udpai_journal_is_long(self->journal)) {
        err = udpai_journal_rewrite(self->journal, write_all, self, &error);
    } else {
        err = append(self, of, split, false, &error);
        if (err == UDPA_OK && split)
            udpai_load_stats_state_made(split);
    }
    note_written(self, err, error);
}

void
udpai_load_state_save(udpai_load_state *self,
                      const udpai_load_stats_state *of,
                      udpai_load_stats_split *split)
{
    if (self)
        save(self, of, split);
}

void
udpai_load_state_end(udpai_load_state *self, const udpai_load_stats_state *of)
{
    if (self)
        save(self, of, NULL);
}
