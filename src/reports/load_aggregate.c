/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_aggregate.h"

#include <stdlib.h>

#include "reports/load_aggregate_internal.h"

static udpai_str
reporter_key(const void *item)
{
    return ((const udpai_load_stats_reporter *)item)->name;
}

udpa_err
udpai_load_aggregate_new(udpai_load_aggregate **ret_aggregate,
                         const udpai_load_aggregate_options *options)
{
    UDPA_AUTO(udpai_load_aggregate_free)
    udpai_load_aggregate *aggregate = udpai_alloc(sizeof(*aggregate));
    if (!aggregate)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&aggregate->reporters, reporter_key);
    aggregate->counts_from = options->counts_from;
    aggregate->max_reporters =
        options->max_reporters ? options->max_reporters : UDPAI_LOAD_STATS_REPORTERS_MAX;
    aggregate->max_left = options->max_left ? options->max_left : UDPAI_LOAD_STATS_LEFT_MAX;
    aggregate->total = udpai_load_stats_new(&udpai_load_aggregate_limits);
    udpa_err err = aggregate->total
                       ? udpai_load_stats_set_text(&aggregate->node_id, options->node_id)
                       : UDPA_ERR_NOMEM;
    udpai_load_stats_nodes_init(&aggregate->nodes, aggregate->node_id);
    if (err == UDPA_OK)
        err = udpai_load_stats_set_text(&aggregate->total->cluster, options->cluster);
    if (err != UDPA_OK)
        return err;
    if (options->counted)
        udpai_load_stats_nodes_go_on(&aggregate->nodes, options->counted);
    aggregate->total->epoch = options->epoch;
    aggregate->total->lasts_ns = options->lasts_ns;
    *ret_aggregate = UDPAI_TAKE(aggregate);
    return UDPA_OK;
}

static void
free_reporter(udpai_load_stats_reporter *reporter)
{
    for (size_t i = 0; i < reporter->n_epochs; i++)
        udpai_load_stats_free(reporter->epochs[i]);
    udpai_free((void *)(uintptr_t)reporter->name.data);
    udpai_free(reporter);
}

udpai_load_aggregate *
udpai_load_aggregate_free(udpai_load_aggregate *aggregate)
{
    if (!aggregate)
        return NULL;
    size_t at = 0;
    udpai_load_stats_reporter *reporter;
    while ((reporter = udpai_map_next(&aggregate->reporters, &at)))
        free_reporter(reporter);
    udpai_map_done(&aggregate->reporters);
    udpai_load_stats_nodes_done(&aggregate->nodes);
    udpai_free((void *)(uintptr_t)aggregate->node_id.data);
    udpai_load_stats_free(aggregate->total);
    udpai_free(aggregate);
    return NULL;
}

void
udpai_load_aggregate_end(udpai_load_aggregate *aggregate, udpai_load_stats_nodes *ret_counted)
{
    udpai_load_stats_nodes_init(ret_counted, (udpai_str){0});
    udpai_load_stats_nodes_go_on(ret_counted, &aggregate->nodes);
    udpai_load_aggregate_free(aggregate);
}

size_t
udpai_load_aggregate_n_reporters(const udpai_load_aggregate *aggregate)
{
    return aggregate->reporters.n - aggregate->n_left;
}

/* ---- what is refused ---- */

static udpa_err
check_overlap(const udpai_load_stats *stats, const udpai_load_stats *other, udpa_error **ret_error)
{
    size_t i = 0, k = 0;
    while (i < stats->nodes.n && k < other->nodes.n) {
        const udpai_load_stats_node *one = &stats->nodes.items[i],
                                    *another = &other->nodes.items[k];
        int order = udpai_str_cmp(one->id, another->id);
        if (order == 0 && !one->is_gone && !another->is_gone)
            return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                              "the clients of node '%.*s' are counted already, by another way",
                              UDPAI_SHOWN(one->id));
        i += order <= 0;
        k += order >= 0;
    }
    return UDPA_OK;
}

static udpa_err
check_nodes(const udpai_load_aggregate *aggregate,
            const udpai_load_stats_reporter *reporter,
            const udpai_load_stats *stats,
            udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < stats->nodes.n; i++)
        if (!stats->nodes.items[i].is_gone &&
            udpai_str_eq(stats->nodes.items[i].id, aggregate->node_id))
            return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                              "it counts the clients of this node, '%.*s'",
                              UDPAI_SHOWN(aggregate->node_id));
    size_t at = 0;
    const udpai_load_stats_reporter *other;
    while (stats->nodes.n && err == UDPA_OK &&
           (other = (const udpai_load_stats_reporter *)udpai_map_next(&aggregate->reporters, &at)))
        if (other != reporter && other->current)
            err = check_overlap(stats, other->current, ret_error);
    return err;
}

/* Where the epoch is, or belongs. */
static size_t
find_epoch(const udpai_load_stats_reporter *reporter, uint64_t epoch)
{
    size_t i = 0;
    while (i < reporter->n_epochs && reporter->epochs[i]->epoch < epoch)
        i++;
    return i;
}

static const udpai_load_stats *
epoch_at(const udpai_load_stats_reporter *reporter, size_t at, uint64_t epoch)
{
    bool known = at < reporter->n_epochs && reporter->epochs[at]->epoch == epoch;
    return known ? reporter->epochs[at] : NULL;
}

static udpa_err
check(const udpai_load_aggregate *aggregate,
      const udpai_load_stats_reporter *reporter,
      const udpai_load_stats *stats,
      udpa_error **ret_error)
{
    if (!udpai_str_eq(stats->cluster, aggregate->total->cluster))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it is of cluster '%.*s', not of '%.*s'",
                          UDPAI_SHOWN(stats->cluster), UDPAI_SHOWN(aggregate->total->cluster));
    size_t at = find_epoch(reporter, stats->epoch);
    const udpai_load_stats *known = epoch_at(reporter, at, stats->epoch);
    if (known) {
        udpa_err err = udpai_load_stats_check_growth(known, stats, ret_error);
        if (err != UDPA_OK)
            return err;
    } else if (at == 0 && reporter->n_epochs == UDPAI_LOAD_STATS_EPOCHS_MAX) {
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "its epoch %llu is below the last %d that are known",
                          (unsigned long long)stats->epoch, UDPAI_LOAD_STATS_EPOCHS_MAX);
    }
    return check_nodes(aggregate, reporter, stats, ret_error);
}

/* ---- reporters ---- */

static udpa_err
get_reporter(udpai_load_aggregate *aggregate,
             udpai_str name,
             udpai_load_stats_reporter **ret_reporter,
             udpa_error **ret_error)
{
    udpai_load_stats_reporter *known = udpai_map_get(&aggregate->reporters, name);
    if (!known) {
        if (udpai_load_aggregate_n_reporters(aggregate) >= aggregate->max_reporters)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "more than %zu report of one cluster",
                              aggregate->max_reporters);
        known = udpai_alloc(sizeof(*known));
        if (!known)
            return UDPA_ERR_NOMEM;
        if (udpai_load_stats_set_text(&known->name, name) != UDPA_OK ||
            !udpai_map_add(&aggregate->reporters, known)) {
            free_reporter(known);
            return UDPA_ERR_NOMEM;
        }
        aggregate->n_left++;
    }
    *ret_reporter = known;
    return UDPA_OK;
}

static void
set_resting(udpai_load_aggregate *aggregate, udpai_load_stats_reporter *reporter, bool is_resting)
{
    aggregate->n_resting += (size_t)is_resting - (size_t)reporter->is_resting;
    reporter->is_resting = is_resting;
}

static void
forget(udpai_load_aggregate *aggregate, udpai_load_stats_reporter *reporter)
{
    set_resting(aggregate, reporter, false);
    udpai_map_remove(&aggregate->reporters, reporter->name);
    free_reporter(reporter);
    aggregate->n_left--;
}

static uint64_t
last_epoch(const udpai_load_stats_reporter *reporter)
{
    return reporter->n_epochs ? reporter->epochs[reporter->n_epochs - 1]->epoch : 0;
}

typedef UDPAI_VECTOR(udpai_load_stats_reporter *) reporter_vector;

/* Those that are not there, and not waited for; a few of the first without memory. */
static void
collect_left(const udpai_load_aggregate *aggregate, reporter_vector *to)
{
    size_t at = 0;
    udpai_load_stats_reporter *reporter;
    while ((reporter = udpai_map_next(&aggregate->reporters, &at)))
        if (!reporter->current && !reporter->is_resting)
            (void)udpai_vector_push(to, reporter);
}

static int
compare_last_epochs(const void *a, const void *b)
{
    uint64_t one = last_epoch(*(udpai_load_stats_reporter *const *)a);
    uint64_t other = last_epoch(*(udpai_load_stats_reporter *const *)b);
    return (one > other) - (one < other);
}

/* Those whose return is least likely. If one does return, its first report cannot be known to be
 * new, nor can any report of an epoch that is as old. All reporters are looked at for that; so it
 * is some at once, because thousands may leave at once. */
static void
forget_oldest(udpai_load_aggregate *aggregate)
{
    reporter_vector left = {0};
    size_t n_left = aggregate->n_left - aggregate->n_resting;
    if (n_left <= aggregate->max_left)
        return;
    size_t n = n_left - aggregate->max_left + aggregate->max_left / 8;
    collect_left(aggregate, &left);
    if (left.n)
        qsort(left.items, left.n, sizeof(left.items[0]), compare_last_epochs);
    for (size_t i = 0; i < left.n && i < n; i++) {
        udpai_load_stats_reporter *oldest = left.items[i];
        if (oldest->n_epochs && last_epoch(oldest) >= aggregate->counts_from)
            aggregate->counts_from = last_epoch(oldest) + 1;
        forget(aggregate, oldest);
    }
    udpai_vector_done(&left);
}

/* Takes its gauges out; the reporter counts as having left. */
static void
take_out(udpai_load_aggregate *aggregate, udpai_load_stats_reporter *reporter)
{
    if (!reporter->current)
        return;
    udpai_load_stats_subtract_gauges(aggregate->total, reporter->current);
    aggregate->total->n_clients -= reporter->current->nodes.n ? reporter->current->n_clients : 1;
    reporter->current = NULL;
    reporter->span.is_there = false;
    aggregate->n_left++;
}

/* Puts a value at its place among those of the reporter. */
static void
keep(udpai_load_stats_reporter *reporter, size_t at, udpai_load_stats *stats)
{
    reporter->is_lasting = stats->is_lasting;
    reporter->has_changed = true;
    if (epoch_at(reporter, at, stats->epoch)) {
        udpai_load_stats_free(reporter->epochs[at]);
        reporter->epochs[at] = stats;
        return;
    }
    if (reporter->n_epochs == UDPAI_LOAD_STATS_EPOCHS_MAX) {
        udpai_load_stats_free(reporter->epochs[0]);
        memmove(&reporter->epochs[0], &reporter->epochs[1],
                --reporter->n_epochs * sizeof(reporter->epochs[0]));
        at--;
    }
    memmove(&reporter->epochs[at + 1], &reporter->epochs[at],
            (reporter->n_epochs - at) * sizeof(reporter->epochs[0]));
    reporter->epochs[at] = stats;
    reporter->n_epochs++;
}

/* What has grown since the value that is known, or ever: is it known to have been counted by no
 * other way? If not, this one is where it begins. */
static bool
is_new(const udpai_load_aggregate *aggregate,
       const udpai_load_stats *stats,
       const udpai_load_stats *known)
{
    bool was_counted =
        known ? known->is_old : stats->was_counted || stats->epoch < aggregate->counts_from;
    return !was_counted && udpai_load_stats_nodes_are_new(&aggregate->nodes, stats, known);
}

/* It is counted by another way: when it is not any more, it goes on from here. */
static void
put_aside(udpai_load_aggregate *aggregate,
          udpai_load_stats_reporter *reporter,
          udpai_load_stats *stats)
{
    take_out(aggregate, reporter);
    keep(reporter, find_epoch(reporter, stats->epoch), stats);
}

udpa_err
udpai_load_aggregate_restore(udpai_load_aggregate *aggregate,
                             udpai_str name,
                             udpai_load_stats *stats,
                             udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *owned = stats;
    udpai_load_stats_reporter *reporter = NULL;
    udpa_err err = get_reporter(aggregate, name, &reporter, ret_error);
    if (err != UDPA_OK)
        return err;
    stats->is_lasting = true;
    set_resting(aggregate, reporter, true);
    keep(reporter, find_epoch(reporter, stats->epoch), UDPAI_TAKE(owned));
    return UDPA_OK;
}

/* Checked, and there is room. */
static void
put_in(udpai_load_aggregate *aggregate,
       udpai_load_stats_reporter *reporter,
       udpai_load_stats *stats)
{
    size_t at = find_epoch(reporter, stats->epoch);
    const udpai_load_stats *known = epoch_at(reporter, at, stats->epoch);
    bool is_added = is_new(aggregate, stats, known);
    stats->is_old = stats->is_old && !is_added;
    if (is_added)
        udpai_load_stats_add_growth(aggregate->total, stats, known);
    udpai_load_stats_nodes_take(&aggregate->nodes, stats, is_added);
    take_out(aggregate, reporter);
    udpai_load_stats_span_take(&reporter->span, stats, known, is_added);
    udpai_load_stats_add_gauges(aggregate->total, stats);
    aggregate->total->n_clients += stats->nodes.n ? stats->n_clients : 1;
    keep(reporter, at, stats);
    set_resting(aggregate, reporter, false);
    reporter->current = stats;
    aggregate->n_left--;
}

udpa_err
udpai_load_aggregate_take(udpai_load_aggregate *aggregate,
                          udpai_str name,
                          udpai_load_stats *stats,
                          udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *owned = stats;
    udpai_load_stats_reporter *reporter = NULL;
    udpa_err err = get_reporter(aggregate, name, &reporter, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    err = check(aggregate, reporter, stats, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_make_room(aggregate->total, stats, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_nodes_make_room(&aggregate->nodes, stats);
    if (err == UDPA_OK && stats->service.len)
        err = udpai_load_stats_set_text(&aggregate->total->service, stats->service);
    if (err == UDPA_OK)
        put_in(aggregate, reporter, UDPAI_TAKE(owned));
    else if (err == UDPA_ERR_PRECONDITION)
        put_aside(aggregate, reporter, UDPAI_TAKE(owned));
    else if (reporter->n_epochs == 0)
        forget(aggregate, reporter);
    forget_oldest(aggregate);
    return udpai_fail_code(ret_error, err);
}

bool
udpai_load_aggregate_knows(const udpai_load_aggregate *aggregate, udpai_str name, uint64_t epoch)
{
    return udpai_load_aggregate_known(aggregate, name, epoch) != NULL;
}

const udpai_load_stats *
udpai_load_aggregate_known(const udpai_load_aggregate *aggregate, udpai_str name, uint64_t epoch)
{
    const udpai_load_stats_reporter *reporter = udpai_map_get(&aggregate->reporters, name);
    return reporter ? epoch_at(reporter, find_epoch(reporter, epoch), epoch) : NULL;
}

void
udpai_load_aggregate_leave(udpai_load_aggregate *aggregate, udpai_str name)
{
    udpai_load_stats_reporter *reporter = udpai_map_get(&aggregate->reporters, name);
    if (!reporter)
        return;
    take_out(aggregate, reporter);
    forget_oldest(aggregate);
}

void
udpai_load_aggregate_rest(udpai_load_aggregate *aggregate)
{
    size_t at = 0;
    udpai_load_stats_reporter *reporter;
    while ((reporter = udpai_map_next(&aggregate->reporters, &at))) {
        set_resting(aggregate, reporter, reporter->current != NULL);
        take_out(aggregate, reporter);
    }
    forget_oldest(aggregate);
}

/* ---- the aggregate ---- */

void
udpai_load_aggregate_spans(const udpai_load_aggregate *aggregate, udpai_load_stats_spans *to)
{
    size_t at = 0;
    const udpai_load_stats_reporter *reporter;
    while (
        (reporter = (const udpai_load_stats_reporter *)udpai_map_next(&aggregate->reporters, &at)))
        udpai_load_stats_spans_add(to, &reporter->span);
}

static udpa_err
collect_nodes(udpai_load_aggregate *aggregate)
{
    udpa_err err = udpai_load_stats_nodes_list_own(&aggregate->nodes, aggregate->total);
    size_t at = 0;
    const udpai_load_stats_reporter *reporter;
    while (err == UDPA_OK && (reporter = udpai_map_next(&aggregate->reporters, &at)))
        if (reporter->current)
            err =
                udpai_load_stats_nodes_list(&aggregate->nodes, reporter->current, aggregate->total);
    return err == UDPA_OK ? udpai_load_stats_nodes_list_left(&aggregate->nodes, aggregate->total)
                          : err;
}

const udpai_load_stats *
udpai_load_aggregate_total(udpai_load_aggregate *aggregate, uint64_t elapsed_ns)
{
    aggregate->total->elapsed_ns = elapsed_ns;
    return collect_nodes(aggregate) == UDPA_OK ? aggregate->total : NULL;
}
