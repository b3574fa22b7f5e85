/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tally_sum.h"

#include <stdlib.h>

#include "reports/tally_sum_internal.h"

static udpai_str
reporter_key(const void *item)
{
    return ((const udpai_tally_reporter *)item)->name;
}

udpa_err
udpai_tally_sum_new(udpai_tally_sum **ret_sum, const udpai_tally_sum_options *options)
{
    UDPA_AUTO(udpai_tally_sum_free) udpai_tally_sum *sum = udpai_alloc(sizeof(*sum));
    if (!sum)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&sum->reporters, reporter_key);
    sum->counts_from = options->counts_from;
    sum->max_reporters =
        options->max_reporters ? options->max_reporters : UDPAI_TALLY_REPORTERS_MAX;
    sum->max_gone = options->max_gone ? options->max_gone : UDPAI_TALLY_GONE_MAX;
    sum->total = udpai_tally_new(&udpai_tally_sum_limits);
    udpa_err err =
        sum->total ? udpai_tally_set_text(&sum->node_id, options->node_id) : UDPA_ERR_NOMEM;
    udpai_tally_nodes_init(&sum->nodes, sum->node_id);
    if (err == UDPA_OK)
        err = udpai_tally_set_text(&sum->total->cluster, options->cluster);
    if (err != UDPA_OK)
        return err;
    if (options->counted)
        udpai_tally_nodes_go_on(&sum->nodes, options->counted);
    sum->total->epoch = options->epoch;
    sum->total->lasts_ns = options->lasts_ns;
    *ret_sum = UDPAI_TAKE(sum);
    return UDPA_OK;
}

static void
free_reporter(udpai_tally_reporter *reporter)
{
    for (size_t i = 0; i < reporter->n_epochs; i++)
        udpai_tally_free(reporter->epochs[i]);
    udpai_free((void *)(uintptr_t)reporter->name.data);
    udpai_free(reporter);
}

udpai_tally_sum *
udpai_tally_sum_free(udpai_tally_sum *sum)
{
    if (!sum)
        return NULL;
    size_t at = 0;
    udpai_tally_reporter *reporter;
    while ((reporter = udpai_map_next(&sum->reporters, &at)))
        free_reporter(reporter);
    udpai_map_done(&sum->reporters);
    udpai_tally_nodes_done(&sum->nodes);
    udpai_free((void *)(uintptr_t)sum->node_id.data);
    udpai_tally_free(sum->total);
    udpai_free(sum);
    return NULL;
}

void
udpai_tally_sum_end(udpai_tally_sum *sum, udpai_tally_nodes *ret_counted)
{
    udpai_tally_nodes_init(ret_counted, (udpai_str){0});
    udpai_tally_nodes_go_on(ret_counted, &sum->nodes);
    udpai_tally_sum_free(sum);
}

size_t
udpai_tally_sum_n_reporters(const udpai_tally_sum *sum)
{
    return sum->reporters.n - sum->n_gone;
}

/* ---- what is refused ---- */

static udpa_err
check_overlap(const udpai_tally *tally, const udpai_tally *other, udpa_error **ret_error)
{
    size_t i = 0, k = 0;
    while (i < tally->nodes.n && k < other->nodes.n) {
        const udpai_tally_node *one = &tally->nodes.items[i], *another = &other->nodes.items[k];
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
check_nodes(const udpai_tally_sum *sum,
            const udpai_tally_reporter *reporter,
            const udpai_tally *tally,
            udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < tally->nodes.n; i++)
        if (!tally->nodes.items[i].is_gone && udpai_str_eq(tally->nodes.items[i].id, sum->node_id))
            return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                              "it counts the clients of this node, '%.*s'",
                              UDPAI_SHOWN(sum->node_id));
    size_t at = 0;
    const udpai_tally_reporter *other;
    while (tally->nodes.n && err == UDPA_OK &&
           (other = (const udpai_tally_reporter *)udpai_map_next(&sum->reporters, &at)))
        if (other != reporter && other->current)
            err = check_overlap(tally, other->current, ret_error);
    return err;
}

/* Where the epoch is, or belongs. */
static size_t
find_epoch(const udpai_tally_reporter *reporter, uint64_t epoch)
{
    size_t i = 0;
    while (i < reporter->n_epochs && reporter->epochs[i]->epoch < epoch)
        i++;
    return i;
}

static const udpai_tally *
epoch_at(const udpai_tally_reporter *reporter, size_t at, uint64_t epoch)
{
    bool known = at < reporter->n_epochs && reporter->epochs[at]->epoch == epoch;
    return known ? reporter->epochs[at] : NULL;
}

static udpa_err
check(const udpai_tally_sum *sum,
      const udpai_tally_reporter *reporter,
      const udpai_tally *tally,
      udpa_error **ret_error)
{
    if (!udpai_str_eq(tally->cluster, sum->total->cluster))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it is of cluster '%.*s', not of '%.*s'",
                          UDPAI_SHOWN(tally->cluster), UDPAI_SHOWN(sum->total->cluster));
    size_t at = find_epoch(reporter, tally->epoch);
    const udpai_tally *known = epoch_at(reporter, at, tally->epoch);
    if (known) {
        udpa_err err = udpai_tally_check_growth(known, tally, ret_error);
        if (err != UDPA_OK)
            return err;
    } else if (at == 0 && reporter->n_epochs == UDPAI_TALLY_EPOCHS_MAX) {
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "its epoch %llu is below the last %d that are known",
                          (unsigned long long)tally->epoch, UDPAI_TALLY_EPOCHS_MAX);
    }
    return check_nodes(sum, reporter, tally, ret_error);
}

/* ---- reporters ---- */

static udpa_err
get_reporter(udpai_tally_sum *sum,
             udpai_str name,
             udpai_tally_reporter **ret_reporter,
             udpa_error **ret_error)
{
    udpai_tally_reporter *known = udpai_map_get(&sum->reporters, name);
    if (!known) {
        if (udpai_tally_sum_n_reporters(sum) >= sum->max_reporters)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "more than %zu report of one cluster",
                              sum->max_reporters);
        known = udpai_alloc(sizeof(*known));
        if (!known)
            return UDPA_ERR_NOMEM;
        if (udpai_tally_set_text(&known->name, name) != UDPA_OK ||
            !udpai_map_add(&sum->reporters, known)) {
            free_reporter(known);
            return UDPA_ERR_NOMEM;
        }
        sum->n_gone++;
    }
    *ret_reporter = known;
    return UDPA_OK;
}

static void
set_resting(udpai_tally_sum *sum, udpai_tally_reporter *reporter, bool is_resting)
{
    sum->n_resting += (size_t)is_resting - (size_t)reporter->is_resting;
    reporter->is_resting = is_resting;
}

static void
forget(udpai_tally_sum *sum, udpai_tally_reporter *reporter)
{
    set_resting(sum, reporter, false);
    udpai_map_remove(&sum->reporters, reporter->name);
    free_reporter(reporter);
    sum->n_gone--;
}

static uint64_t
last_epoch(const udpai_tally_reporter *reporter)
{
    return reporter->n_epochs ? reporter->epochs[reporter->n_epochs - 1]->epoch : 0;
}

typedef UDPAI_VECTOR(udpai_tally_reporter *) reporter_vector;

/* Those that are not there, and not waited for; a few of the first without memory. */
static void
collect_gone(const udpai_tally_sum *sum, reporter_vector *to)
{
    size_t at = 0;
    udpai_tally_reporter *reporter;
    while ((reporter = udpai_map_next(&sum->reporters, &at)))
        if (!reporter->current && !reporter->is_resting)
            (void)udpai_vector_push(to, reporter);
}

static int
compare_last_epochs(const void *a, const void *b)
{
    uint64_t one = last_epoch(*(udpai_tally_reporter *const *)a);
    uint64_t other = last_epoch(*(udpai_tally_reporter *const *)b);
    return (one > other) - (one < other);
}

/* Those whose return is least likely. If one does return, what it says at first cannot be known to
 * be new, nor can what anybody says of an epoch that is as old. All reporters are looked at for
 * that; so it is some at once, because thousands may go at once. */
static void
forget_oldest(udpai_tally_sum *sum)
{
    reporter_vector gone = {0};
    size_t n_gone = sum->n_gone - sum->n_resting;
    if (n_gone <= sum->max_gone)
        return;
    size_t n = n_gone - sum->max_gone + sum->max_gone / 8;
    collect_gone(sum, &gone);
    if (gone.n)
        qsort(gone.items, gone.n, sizeof(gone.items[0]), compare_last_epochs);
    for (size_t i = 0; i < gone.n && i < n; i++) {
        udpai_tally_reporter *oldest = gone.items[i];
        if (oldest->n_epochs && last_epoch(oldest) >= sum->counts_from)
            sum->counts_from = last_epoch(oldest) + 1;
        forget(sum, oldest);
    }
    udpai_vector_done(&gone);
}

/* Takes its gauges out; what it said counts as gone. */
static void
take_out(udpai_tally_sum *sum, udpai_tally_reporter *reporter)
{
    if (!reporter->current)
        return;
    udpai_tally_subtract_gauges(sum->total, reporter->current);
    sum->total->n_clients -= reporter->current->nodes.n ? reporter->current->n_clients : 1;
    reporter->current = NULL;
    reporter->span.is_there = false;
    sum->n_gone++;
}

/* Puts a tally at its place among those of the reporter. */
static void
keep(udpai_tally_reporter *reporter, size_t at, udpai_tally *tally)
{
    reporter->is_lasting = tally->is_lasting;
    reporter->has_changed = true;
    if (epoch_at(reporter, at, tally->epoch)) {
        udpai_tally_free(reporter->epochs[at]);
        reporter->epochs[at] = tally;
        return;
    }
    if (reporter->n_epochs == UDPAI_TALLY_EPOCHS_MAX) {
        udpai_tally_free(reporter->epochs[0]);
        memmove(&reporter->epochs[0], &reporter->epochs[1],
                --reporter->n_epochs * sizeof(reporter->epochs[0]));
        at--;
    }
    memmove(&reporter->epochs[at + 1], &reporter->epochs[at],
            (reporter->n_epochs - at) * sizeof(reporter->epochs[0]));
    reporter->epochs[at] = tally;
    reporter->n_epochs++;
}

/* What has grown since the tally that is known, or ever: is it known to have been counted by no
 * other way? If not, this one is where it begins. */
static bool
is_new(const udpai_tally_sum *sum, const udpai_tally *tally, const udpai_tally *known)
{
    bool is_told = known ? known->is_old : tally->was_told || tally->epoch < sum->counts_from;
    return !is_told && udpai_tally_nodes_are_new(&sum->nodes, tally, known);
}

/* It is counted by another way: when it is not any more, it goes on from here. */
static void
put_aside(udpai_tally_sum *sum, udpai_tally_reporter *reporter, udpai_tally *tally)
{
    take_out(sum, reporter);
    keep(reporter, find_epoch(reporter, tally->epoch), tally);
}

udpa_err
udpai_tally_sum_restore(udpai_tally_sum *sum,
                        udpai_str name,
                        udpai_tally *tally,
                        udpa_error **ret_error)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *owned = tally;
    udpai_tally_reporter *reporter = NULL;
    udpa_err err = get_reporter(sum, name, &reporter, ret_error);
    if (err != UDPA_OK)
        return err;
    tally->is_lasting = true;
    set_resting(sum, reporter, true);
    keep(reporter, find_epoch(reporter, tally->epoch), UDPAI_TAKE(owned));
    return UDPA_OK;
}

/* Checked, and there is room. */
static void
put_in(udpai_tally_sum *sum, udpai_tally_reporter *reporter, udpai_tally *tally)
{
    size_t at = find_epoch(reporter, tally->epoch);
    const udpai_tally *known = epoch_at(reporter, at, tally->epoch);
    bool is_added = is_new(sum, tally, known);
    tally->is_old = tally->is_old && !is_added;
    if (is_added)
        udpai_tally_add_growth(sum->total, tally, known);
    udpai_tally_nodes_take(&sum->nodes, tally, is_added);
    take_out(sum, reporter);
    udpai_tally_span_take(&reporter->span, tally, known, is_added);
    udpai_tally_add_gauges(sum->total, tally);
    sum->total->n_clients += tally->nodes.n ? tally->n_clients : 1;
    keep(reporter, at, tally);
    set_resting(sum, reporter, false);
    reporter->current = tally;
    sum->n_gone--;
}

udpa_err
udpai_tally_sum_take(udpai_tally_sum *sum,
                     udpai_str name,
                     udpai_tally *tally,
                     udpa_error **ret_error)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *owned = tally;
    udpai_tally_reporter *reporter = NULL;
    udpa_err err = get_reporter(sum, name, &reporter, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    err = check(sum, reporter, tally, ret_error);
    if (err == UDPA_OK)
        err = udpai_tally_make_room(sum->total, tally, ret_error);
    if (err == UDPA_OK)
        err = udpai_tally_nodes_make_room(&sum->nodes, tally);
    if (err == UDPA_OK && tally->service.len)
        err = udpai_tally_set_text(&sum->total->service, tally->service);
    if (err == UDPA_OK)
        put_in(sum, reporter, UDPAI_TAKE(owned));
    else if (err == UDPA_ERR_PRECONDITION)
        put_aside(sum, reporter, UDPAI_TAKE(owned));
    else if (reporter->n_epochs == 0)
        forget(sum, reporter);
    forget_oldest(sum);
    return udpai_fail_code(ret_error, err);
}

bool
udpai_tally_sum_knows(const udpai_tally_sum *sum, udpai_str name, uint64_t epoch)
{
    return udpai_tally_sum_known(sum, name, epoch) != NULL;
}

const udpai_tally *
udpai_tally_sum_known(const udpai_tally_sum *sum, udpai_str name, uint64_t epoch)
{
    const udpai_tally_reporter *reporter = udpai_map_get(&sum->reporters, name);
    return reporter ? epoch_at(reporter, find_epoch(reporter, epoch), epoch) : NULL;
}

void
udpai_tally_sum_leave(udpai_tally_sum *sum, udpai_str name)
{
    udpai_tally_reporter *reporter = udpai_map_get(&sum->reporters, name);
    if (!reporter)
        return;
    take_out(sum, reporter);
    forget_oldest(sum);
}

void
udpai_tally_sum_rest(udpai_tally_sum *sum)
{
    size_t at = 0;
    udpai_tally_reporter *reporter;
    while ((reporter = udpai_map_next(&sum->reporters, &at))) {
        set_resting(sum, reporter, reporter->current != NULL);
        take_out(sum, reporter);
    }
    forget_oldest(sum);
}

/* ---- the sum ---- */

void
udpai_tally_sum_spans(const udpai_tally_sum *sum, udpai_tally_spans *to)
{
    size_t at = 0;
    const udpai_tally_reporter *reporter;
    while ((reporter = (const udpai_tally_reporter *)udpai_map_next(&sum->reporters, &at)))
        udpai_tally_spans_add(to, &reporter->span);
}

static udpa_err
collect_nodes(udpai_tally_sum *sum)
{
    udpa_err err = udpai_tally_nodes_list_own(&sum->nodes, sum->total);
    size_t at = 0;
    const udpai_tally_reporter *reporter;
    while (err == UDPA_OK && (reporter = udpai_map_next(&sum->reporters, &at)))
        if (reporter->current)
            err = udpai_tally_nodes_list(&sum->nodes, reporter->current, sum->total);
    return err == UDPA_OK ? udpai_tally_nodes_list_gone(&sum->nodes, sum->total) : err;
}

const udpai_tally *
udpai_tally_sum_total(udpai_tally_sum *sum, uint64_t elapsed_ns)
{
    sum->total->elapsed_ns = elapsed_ns;
    return collect_nodes(sum) == UDPA_OK ? sum->total : NULL;
}
