/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/log.h"
#include "replica/held_internal.h"

void
udpai_held_look_in(udpai_held *held, uint64_t ms)
{
    udpai_timer_set(held->env.wheel, &held->again, held->env.wheel->now_ms + ms);
}

/* ---- what is reported ---- */

static void
report(udpai_held *held, udpai_hold *hold)
{
    udpai_replicated *event = hold ? udpai_replicated_new(UDPAI_REPLICATED_HOLD) : NULL;
    if (!event) {
        udpai_hold_free(hold);
        return;
    }
    event->hold = hold;
    held->env.report(held->env.userdata, event);
}

static void
ask_for_holdings(udpai_held *held)
{
    udpai_hold *hold = udpai_hold_new();
    if (hold)
        hold->needs_holdings = true;
    report(held, hold);
}

/* Takes what will happen next. */
static void
report_next(udpai_held *held, udpai_strbuf *next)
{
    udpa_bytes *said = udpai_bytes_of(next);
    udpai_hold *hold = said ? udpai_hold_new() : NULL;
    if (!hold) {
        udpa_bytes_unref(said);
        return;
    }
    udpa_bytes_unref(held->said);
    held->said = said;
    hold->is_listed = held->is_listed;
    hold->revision = held->view.revision;
    hold->next = udpa_bytes_ref(said);
    if (held->is_listed)
        udpai_comparison_describe(held->compared, hold);
    report(held, hold);
}

/* ---- listing ---- */

static udpa_err
on_page(void *userdata, const udpai_etcd_kv *kvs, size_t n)
{
    udpai_held *held = userdata;
    size_t before = udpa_bytes_size(held->prefix);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        udpai_str key = kvs[i].key;
        if (udpai_str_starts(key, udpai_bytes_view(held->prefix)))
            err = udpai_comparison_take(held->compared,
                                        (udpai_str){key.data + before, key.len - before},
                                        kvs[i].value, kvs[i].mod_revision);
    }
    return err;
}

/* What it cannot read it cannot compare, so it does not write by itself. */
static void
note_partial(udpai_held *held)
{
    const udpai_comparison *compared = held->compared;
    bool is_partial =
        compared->holdings->is_partial || compared->cannot_seal || compared->n_locked > 0;
    if (held->state.is_partial == is_partial)
        return;
    held->state.is_partial = is_partial;
    udpai_held_presence_renew(held);
}

static void
on_listed(void *userdata, int64_t revision, const udpa_error *why)
{
    udpai_held *held = userdata;
    held->is_listing = false;
    held->is_listed = !why;
    held->listed_revision = revision;
    held->listed_ms = held->env.wheel->now_ms;
    held->next = 0;
    if (!why)
        note_partial(held);
    if (!why && held->is_writing) {
        udpai_held_write_on(held);
        return;
    }
    held->is_writing = false;
    udpai_held_look_in(held, UDPAI_HELD_RETRY_MS);
}

bool
udpai_held_list(udpai_held *held)
{
    udpai_comparison_begin(held->compared);
    held->is_listed = false;
    held->is_listing = udpai_listing_begin(held->listing) == UDPA_OK;
    if (!held->is_listing) {
        held->is_writing = false;
        udpai_held_look_in(held, UDPAI_HELD_RETRY_MS);
    }
    return held->is_listing;
}

/* Those that hold write little; who else writes is seen by the revision. */
static bool
must_list(const udpai_held *held)
{
    uint64_t age_ms = held->env.wheel->now_ms - held->listed_ms;
    return !held->is_listed ||
           (held->listed_revision != held->view.revision && age_ms >= UDPAI_HELD_GRACE_MS);
}

/* ---- deciding ---- */

static void
put_failure(const udpai_held *held, udpai_strbuf *text)
{
    if (held->why)
        udpai_strbuf_printf(text, "; the last attempt has failed: %s",
                            udpa_error_message(held->why));
}

/* True: the hold ends, or something is under way that goes on by itself. */
static bool
act(udpai_held *held, udpai_strbuf *next)
{
    bool is_pushed = held->has_answer && held->answer == UDPAI_HOLD_PUSH;
    if (udpai_held_is_covered(held)) {
        udpai_log(UDPA_LOG_INFO, "replicas",
                  "all that this replica has was written back to etcd by the replicas");
        udpai_held_leave(held);
        return true;
    }
    udpai_held_presence_begin(held);
    if (must_list(held))
        return udpai_held_list(held);
    if (is_pushed || udpai_held_may_write(held, next)) {
        udpai_strbuf_puts(next, "this replica writes back what is missing");
        put_failure(held, next);
        udpai_held_write(held);
    }
    return false;
}

static void
decide(udpai_held *held)
{
    udpai_strbuf next = {0};
    bool is_accepted = held->has_answer && held->answer == UDPAI_HOLD_ACCEPT;
    bool is_of_other = held->view.set == UDPAI_HELD_SET_OTHER;
    bool goes_on = false;
    if (is_of_other) {
        held->has_answer = false;
        udpai_held_presence_end(held);
        udpai_strbuf_puts(&next, "what is below store.prefix in etcd is of another replica set, so "
                                 "nothing is written there: stop what else uses it and delete it, "
                                 "or give this replica another prefix and an empty directory");
    } else if (is_accepted) {
        udpai_held_leave(held);
        return;
    } else {
        goes_on = act(held, &next);
    }
    if (!held->is_on || held->is_leaving || goes_on) {
        udpai_strbuf_done(&next);
        return;
    }
    report_next(held, &next);
    if (!held->is_asking && !held->is_listing && !udpai_timer_is_set(&held->again))
        udpai_held_look_in(held, UDPAI_HELD_LOOK_MS);
}

/* ---- looking ---- */

static void
report_failure(udpai_held *held, const udpa_error *why)
{
    udpai_strbuf next = {0};
    udpai_strbuf_printf(&next, "etcd cannot be read: %s", udpa_error_message(why));
    report_next(held, &next);
}

static void
on_looked(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, call);
    held->is_asking = false;
    bool is_done = result->outcome == UDPAI_ETCD_DONE;
    if (!is_done)
        report_failure(held, result->error);
    if (is_done && udpai_held_view_take(held, result))
        decide(held);
    else
        udpai_held_look_in(held, UDPAI_HELD_RETRY_MS);
}

static void
on_again(udpai_timer *timer)
{
    udpai_held *held = UDPAI_CONTAINER_OF(timer, udpai_held, again);
    if (!held->is_on || held->is_leaving || held->is_asking || held->is_listing)
        return;
    if (!held->compared) {
        ask_for_holdings(held);
        udpai_held_look_in(held, UDPAI_HELD_LOOK_MS);
        return;
    }
    held->call.done = on_looked;
    held->is_asking = udpai_held_view_ask(held) == UDPA_OK;
    if (!held->is_asking)
        udpai_held_look_in(held, UDPAI_HELD_RETRY_MS);
}

/* ---- from outside ---- */

void
udpai_held_begin(udpai_held *held)
{
    if (held->is_on)
        return;
    held->is_on = true;
    held->since_ms = held->env.wheel->now_ms;
    udpai_held_look_in(held, 0);
}

void
udpai_held_end(udpai_held *held)
{
    if (!held->is_on)
        return;
    udpai_timer_cancel(&held->again);
    if (held->is_asking)
        held->env.etcd->ops->cancel(held->env.etcd, &held->call);
    udpai_listing_stop(held->listing);
    held->is_on = held->is_leaving = held->is_asking = held->is_listing = false;
    held->is_listed = held->is_writing = held->has_answer = false;
    held->n_written = held->n_all = 0;
    held->peers_digest = 0;
    held->compared = udpai_comparison_free(held->compared);
    held->why = udpa_error_unref(held->why);
    held->said = udpa_bytes_unref(held->said);
    udpai_held_view_clear(&held->view);
    udpai_held_presence_end(held);
}

void
udpai_held_begin_again(udpai_held *held)
{
    bool has_answer = held->has_answer;
    if (!held->is_on || held->is_leaving)
        return;
    udpai_held_end(held);
    held->has_answer = has_answer;
    udpai_held_begin(held);
}

void
udpai_held_take(udpai_held *held, udpai_holdings *holdings)
{
    UDPA_AUTO(udpai_holdings_free) udpai_holdings *taken = holdings;
    if (!held->is_on || held->compared)
        return;
    const udpai_durable_position position = taken->batch->position;
    uint64_t number = taken->number;
    if (udpai_comparison_new(&held->compared, UDPAI_TAKE(taken), &held->seals, held->env.unread) !=
        UDPA_OK)
        return; /* it is asked for again */
    held->state = (udpai_hold_state){position.cluster_id, number, held->compared->digest, false};
    note_partial(held);
    udpai_held_look_in(held, 0);
}

void
udpai_held_answer(udpai_held *held, udpai_hold_answer answer)
{
    if (!held->is_on)
        return;
    held->has_answer = true;
    held->answer = answer;
    if (!held->is_asking && !held->is_listing && !held->is_leaving)
        udpai_held_look_in(held, 0);
}

/* ---- its life ---- */

udpa_err
udpai_held_new(udpai_held **ret_held,
               const udpai_held_env *env,
               udpai_str prefix,
               udpai_str replica,
               const udpai_record_seals *seals)
{
    udpai_held *held = udpai_alloc(sizeof(*held));
    if (!held)
        return UDPA_ERR_NOMEM;
    const udpai_listing_env listing = {env->etcd, on_page, on_listed, held};
    held->env = *env;
    held->seals = *seals;
    udpai_timer_init(&held->again, on_again);
    udpai_held_presence_init(held);
    udpa_err err = udpa_bytes_new(&held->prefix, prefix.data, prefix.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&held->own, replica.data, replica.len);
    if (err == UDPA_OK)
        err = udpai_listing_new(&held->listing, &listing, prefix);
    if (err == UDPA_OK)
        *ret_held = held;
    else
        udpai_held_free(held);
    return err;
}

udpai_held *
udpai_held_free(udpai_held *held)
{
    if (!held)
        return NULL;
    udpai_held_end(held);
    udpai_listing_free(held->listing);
    udpa_bytes_unref(held->prefix);
    udpa_bytes_unref(held->own);
    udpai_free(held);
    return NULL;
}
