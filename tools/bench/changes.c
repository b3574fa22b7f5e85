/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/changes.h"

#include "base/alloc.h"
#include "loop/clock.h"

#define TURN_MS 100
#define LATE_MS 3000 /* without anything that comes: what was overtaken comes no more */
#define NS_PER_MS UINT64_C(1000000)

struct udpai_load_change {
    uint64_t sent_ns, last_ns, receipt_ns; /* the latter two: 0 until then */
    size_t n_left;                         /* streams that have not had it, of each resource */
};

/* ---- what comes ---- */

/* Nobody knows which of them comes first. */
static void
note_after_receipt(udpai_load_figures *figures, const struct udpai_load_change *change)
{
    if (change->receipt_ns && change->last_ns)
        udpai_samples_add(&figures->after_receipt, change->last_ns > change->receipt_ns
                                                       ? change->last_ns - change->receipt_ns
                                                       : 0);
}

static uint64_t
since(uint64_t now, uint64_t sent_ns)
{
    return now > sent_ns ? now - sent_ns : 0;
}

static void
note_delivery(udpai_load_figures *figures, uint64_t late_ns, bool is_last)
{
    figures->n_deliveries++;
    udpai_samples_add(&figures->deliveries, late_ns);
    if (is_last)
        udpai_samples_add(&figures->last, late_ns);
}

static void
on_mark(void *userdata, uint64_t serial)
{
    udpai_changes *changes = userdata;
    uint64_t now = changes->clients->loop->now_ns;
    if (serial == 0 || serial > changes->n_sent)
        return;
    struct udpai_load_change *change = &changes->all[serial];
    if (change->n_left == 0)
        return;
    bool is_last = --change->n_left == 0;
    changes->last_ns = now;
    changes->n_over += is_last;
    if (is_last)
        change->last_ns = now;
    if (changes->is_measured)
        note_delivery(changes->figures, since(now, change->sent_ns), is_last);
    if (changes->is_measured && is_last)
        note_after_receipt(changes->figures, change);
}

static void
on_receipt(void *userdata, uint64_t serial)
{
    udpai_changes *changes = userdata;
    uint64_t now = changes->clients->loop->now_ns;
    if (serial == 0 || serial > changes->n_sent || changes->all[serial].receipt_ns)
        return;
    struct udpai_load_change *change = &changes->all[serial];
    change->receipt_ns = changes->last_ns = now;
    changes->n_received++;
    if (!changes->is_measured)
        return;
    udpai_samples_add(&changes->figures->receipts, since(now, change->sent_ns));
    note_after_receipt(changes->figures, change);
}

/* ---- what goes ---- */

static size_t
n_readers(const udpai_changes *changes, size_t first, size_t n)
{
    size_t n_all = 0;
    for (size_t i = 0; i < n; i++)
        n_all += udpai_load_clients_n_readers(changes->clients, first + i);
    return n_all;
}

static udpa_err
send_change(udpai_changes *changes, udpa_error **ret_error)
{
    const udpai_load_options *options = changes->options;
    uint64_t serial = changes->n_sent + 1;
    size_t n = options->n_together ? options->n_together : 1;
    size_t resource = serial * n % options->n_resources;
    struct udpai_load_change *change = &changes->all[serial];
    n = udpai_min_size(n, options->n_resources - resource);
    change->n_left = changes->n_awaited = n_readers(changes, resource, n);
    change->sent_ns = udpai_monotonic_ns();
    changes->n_sent++;
    if (change->n_left == 0)
        changes->n_over++;
    return udpai_changer_change(changes->changer, resource, n, serial, ret_error);
}

static bool
may_send(const udpai_changes *changes, uint64_t begin_ns)
{
    const udpai_load_options *options = changes->options;
    uint64_t past_ns = udpai_monotonic_ns() - begin_ns;
    if (changes->n_sent >= options->n_changes || past_ns > options->changes_ms * NS_PER_MS)
        return false;
    if (options->per_second > 0)
        return changes->n_sent < (double)past_ns / 1e9 * options->per_second;
    return changes->n_sent - changes->n_over < options->depth;
}

static bool
is_over(const udpai_changes *changes, uint64_t begin_ns)
{
    const udpai_load_options *options = changes->options;
    uint64_t now = udpai_monotonic_ns();
    bool all_sent =
        changes->n_sent >= options->n_changes || now - begin_ns > options->changes_ms * NS_PER_MS;
    bool is_late = now > changes->last_ns + LATE_MS * NS_PER_MS;
    bool has_all = changes->n_over == changes->n_sent &&
                   (!options->has_receipts || changes->n_received == changes->n_sent);
    return all_sent && (has_all || is_late);
}

static udpa_err
check(const udpai_changes *changes, uint64_t begin_ns, udpa_error **ret_error)
{
    uint64_t patience_ns = changes->options->patience_ms * NS_PER_MS, now = udpai_monotonic_ns();
    udpa_err err = udpai_load_clients_check(changes->clients, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_load_figures *figures = changes->figures;
    if (figures->deliveries.has_failed || figures->last.has_failed ||
        figures->receipts.has_failed || figures->after_receipt.has_failed)
        return udpai_fail(ret_error, UDPA_ERR_NOMEM,
                          "without memory for the times of deliveries: give fewer --changes");
    if (now - begin_ns > patience_ns && now - changes->last_ns > patience_ns)
        return udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                          "of %zu changes %zu have come to all streams, and nothing more comes",
                          changes->n_sent, changes->n_over);
    return UDPA_OK;
}

static void
take_turn(udpai_changes *changes, int turn_ms)
{
    udpai_load_loop *loop = changes->clients->loop;
    udpai_load_loop_run(loop, turn_ms);
    udpai_slow_read(&changes->slow, loop->now_ns);
    udpai_load_loop_report(loop, "changes", changes->n_over, changes->options->n_changes);
}

udpa_err
udpai_changes_run(udpai_changes *changes, udpa_error **ret_error)
{
    uint64_t begin_ns = changes->last_ns = udpai_monotonic_ns();
    int turn_ms = changes->options->per_second > 0 ? 1 : TURN_MS;
    udpa_err err = UDPA_OK;
    changes->is_measured = true;
    udpai_slow_begin(&changes->slow, changes->clients, begin_ns);
    while (err == UDPA_OK && !is_over(changes, begin_ns)) {
        while (err == UDPA_OK && may_send(changes, begin_ns))
            err = send_change(changes, ret_error);
        if (err == UDPA_OK)
            take_turn(changes, turn_ms);
        if (err == UDPA_OK)
            err = check(changes, begin_ns, ret_error);
    }
    changes->is_measured = false;
    return err;
}

udpa_err
udpai_changes_run_one(udpai_changes *changes, udpa_error **ret_error)
{
    uint64_t begin_ns = changes->last_ns = udpai_monotonic_ns();
    udpa_err err = send_change(changes, ret_error);
    while (err == UDPA_OK && changes->all[changes->n_sent].n_left > 0) {
        udpai_load_loop_run(changes->clients->loop, TURN_MS);
        udpai_load_loop_report(changes->clients->loop, "streams that are back",
                               changes->n_awaited - changes->all[changes->n_sent].n_left,
                               changes->n_awaited);
        err = check(changes, begin_ns, ret_error);
    }
    return err;
}

/* ---- its life ---- */

udpa_err
udpai_changes_begin(udpai_changes *changes,
                    udpai_load_clients *clients,
                    udpai_changer *changer,
                    udpai_load_figures *figures,
                    udpa_error **ret_error)
{
    const udpai_load_options *options = clients->options;
    *changes = (udpai_changes){
        .options = options, .clients = clients, .changer = changer, .figures = figures};
    changes->all = udpai_alloc_array(options->n_changes + 2, sizeof(*changes->all));
    if (!changes->all)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    clients->found = on_mark;
    clients->userdata = changes;
    changer->received = on_receipt;
    changer->userdata = changes;
    return UDPA_OK;
}

void
udpai_changes_end(udpai_changes *changes)
{
    changes->clients->found = NULL;
    if (changes->changer)
        changes->changer->received = NULL;
    udpai_free(changes->all);
}
