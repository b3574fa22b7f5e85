/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is held, looked at again: when the node starts, when keys change, and when
 * something ends or is to be signed again. One timer serves for all of it, and a look at everything
 * is cheap: what was verified once is not verified again. */
#include "federation/intake.h"
#include "federation/publishers.h"
#include "federation/shares.h"
#include "federation/signatures_internal.h"
#include "federation/stamp.h"
#include "store/audit.h"

#include <stdlib.h>

#define MS_PER_S 1000
/* Nothing ends more than this too late; and the wall clock may be set, so it is asked that often.
 */
#define LOOK_MIN_MS 1000
#define LOOK_MAX_MS 60000
/* Of one look, so that others do not wait long for it; the next one comes soon. */
#define SIGNED_MAX 500
#define VERIFIED_MAX 500
#define SOON_MS 20
/* What the janitor is to sign is looked at again then. */
#define ANEW_AGAIN_S 60

/* ---- when ---- */

/* Is there something that need not wait? */
static bool
is_busy(const udpai_signatures *signatures)
{
    return signatures->must_look || signatures->unverified.n;
}

static void
arm(udpai_signatures *signatures, uint64_t least_ms)
{
    uint64_t wait_ms = LOOK_MAX_MS;
    int64_t left_s = signatures->due_s - udpai_signatures_now_s(signatures);
    if (signatures->due_s == INT64_MAX && !is_busy(signatures))
        return;
    if (is_busy(signatures) || left_s <= 0)
        wait_ms = least_ms;
    else if (left_s < LOOK_MAX_MS / MS_PER_S)
        wait_ms = (uint64_t)left_s * MS_PER_S;
    uint64_t due_ms = udpai_context_now(signatures->context) + wait_ms;
    if (!udpai_timer_is_set(&signatures->timer) || signatures->timer.due_ms > due_ms)
        udpai_timer_set(signatures->context->wheel, &signatures->timer, due_ms);
}

void
udpai_signatures_note(udpai_signatures *signatures, int64_t due_s)
{
    if (due_s >= signatures->due_s)
        return;
    signatures->due_s = due_s;
    arm(signatures, LOOK_MIN_MS);
}

/* ---- a look at everything ---- */

/* What must be done with a contribution: the store does not change while it is visited. */
struct task {
    udpai_origin *origin;
    udpa_resource *resource; /* a reference */
    uint64_t deadline_ms;
    bool is_withdrawal; /* else it is made anew: signed, or without the signature */
};

struct look {
    udpai_signatures *signatures;
    const udpai_keyring *verified_by; /* what is good by this one is right; NULL: nothing is */
    int64_t now_s, due_s;
    UDPAI_VECTOR(struct task) tasks;
    size_t n_withdrawals, n_verified;
    udpa_error *first; /* why */
    /* The last one asked about, and the answer. */
    const udpai_origin *origin;
    bool may_sign;
    bool is_short; /* of memory */
    bool has_more; /* to be signed */
};

static void
add_task(struct look *look, const udpai_contribution *contribution, bool is_withdrawal)
{
    const struct task task = {contribution->origin, contribution->resource,
                              contribution->deadline_ms, is_withdrawal};
    if (!is_withdrawal && look->tasks.n - look->n_withdrawals >= SIGNED_MAX) {
        look->has_more = true;
        return;
    }
    if (!udpai_vector_push(&look->tasks, task)) {
        look->is_short = true;
        return;
    }
    udpa_resource_ref(contribution->resource);
    look->n_withdrawals += is_withdrawal;
}

static void
note(struct look *look, int64_t due_s)
{
    if (due_s < look->due_s)
        look->due_s = due_s;
}

/* Need it not be verified in this look? */
static bool
is_verified(struct look *look, const udpai_contribution *contribution)
{
    udpai_signatures *signatures = look->signatures;
    udpa_resource *resource = contribution->resource;
    if (!udpai_resource_signature(resource) || look->verified_by == signatures->keyring ||
        (look->verified_by &&
         udpai_keyring_verified_alike(look->verified_by, signatures->keyring, resource)))
        return true;
    if (look->n_verified++ < VERIFIED_MAX)
        return false;
    const udpai_unverified later = {contribution->origin, resource};
    if (udpai_vector_push(&signatures->unverified, later)) {
        udpai_origin_ref(contribution->origin);
        udpa_resource_ref(resource);
    } else {
        look->is_short = true;
    }
    return true;
}

static void
look_at_foreign(struct look *look, const udpai_contribution *contribution)
{
    const udpai_keyring *keyring = look->signatures->keyring;
    const udpa_resource *resource = contribution->resource;
    udpa_error *error = NULL;
    udpa_err err = udpai_keyring_verify(keyring, resource, look->now_s,
                                        is_verified(look, contribution), &error);
    if (err == UDPA_OK && keyring)
        note(look, udpai_keyring_end_s(keyring, resource));
    else if (err == UDPA_ERR_DENIED)
        add_task(look, contribution, true);
    else if (err != UDPA_OK)
        look->is_short = true;
    if (!look->first && err == UDPA_ERR_DENIED)
        look->first = UDPAI_TAKE(error);
    udpa_error_unref(error);
}

static bool
may_sign(struct look *look, const udpai_origin *origin)
{
    if (look->origin != origin)
        look->may_sign = udpai_signatures_may_sign(look->signatures, origin);
    look->origin = origin;
    return look->may_sign;
}

/* Those that are due soon are not worth a look of their own. */
static int64_t
ahead_s(const udpai_signatures *signatures)
{
    return udpai_keyring_validity_s(signatures->keyring) / 64;
}

/* Each replica would sign it at another time. */
static bool
is_of_set(const udpai_signatures *signatures, const udpai_origin *origin)
{
    udpai_str key = udpai_origin_key(origin);
    return udpai_context_is_replicated(signatures->context) &&
           (udpai_publisher_is_key(key) || udpai_shares_find(signatures->shares, key));
}

/* What is lost, or another replica is to do, is looked at again. */
static void
sign_anew(struct look *look, const udpai_contribution *contribution)
{
    bool is_shared = is_of_set(look->signatures, contribution->origin);
    if (is_shared)
        note(look, look->now_s + ANEW_AGAIN_S);
    if (!is_shared || look->signatures->context->is_janitor)
        add_task(look, contribution, false);
}

/* Our own are as good as the key that we have now, and are signed again before they end. */
static bool
look_at(void *userdata, const udpai_contribution *contribution)
{
    struct look *look = userdata;
    const udpai_signatures *signatures = look->signatures;
    const udpa_resource *resource = contribution->resource;
    if (udpai_signatures_is_exempt(resource))
        return true;
    const udpai_named_key *key = udpai_signatures_signer(signatures, resource);
    if (key && may_sign(look, contribution->origin)) {
        if (udpai_signatures_is_due(signatures, key, resource, look->now_s + ahead_s(signatures)))
            sign_anew(look, contribution);
        else
            note(look, udpai_signatures_renewal_s(resource));
    } else if (udpai_signatures_is_own(signatures, resource)) {
        sign_anew(look, contribution); /* it would not be renewed any more */
    } else {
        look_at_foreign(look, contribution);
    }
    return true;
}

static udpa_err
put_anew(udpai_signatures *signatures,
         const struct task *task,
         udpa_resource *made,
         udpa_error **ret_error)
{
    if (!is_of_set(signatures, task->origin))
        return udpai_store_put(signatures->context->store, task->origin, made, task->deadline_ms,
                               ret_error);
    const udpai_signed_anew anew = {task->origin, made, task->deadline_ms};
    if (!udpai_vector_push(&signatures->anew, anew))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_origin_ref(task->origin);
    udpa_resource_ref(made);
    udpai_context_touch(signatures->context);
    return UDPA_OK;
}

bool
udpai_signatures_next_anew(udpai_signatures *signatures, udpai_signed_anew *ret_anew)
{
    if (signatures->anew.n == 0) {
        udpai_vector_done(&signatures->anew);
        return false;
    }
    *ret_anew = signatures->anew.items[--signatures->anew.n];
    return true;
}

/* As if it were taken in anew: by the same origin, at the same time. */
static udpa_err
make_anew(udpai_signatures *signatures, const struct task *task, udpa_error **ret_error)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(task->resource, &room);
    bool was_signed = parts.signature.algorithm != 0;
    parts.signature = (udpai_signature){0};
    if (was_signed)
        parts.generation = udpai_stamp_generation(signatures->context, task->resource);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *made = NULL;
    udpa_err err = udpai_resource_make(&made, &parts);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    err = udpai_signatures_pass(signatures, task->origin, &made, ret_error);
    return err == UDPA_OK ? put_anew(signatures, task, made, ret_error) : err;
}

/* Its source may be asked for it again. */
static void
withdraw(udpai_signatures *signatures, const struct task *task)
{
    udpai_source *source = udpai_sources_of_origin(signatures->sources, task->origin);
    if (source)
        udpai_source_note_refused(source);
    udpai_store *store = signatures->context->store;
    udpai_cause before = udpai_store_set_cause(store, UDPAI_CAUSE_SIGNATURE);
    udpai_store_withdraw(store, task->origin, udpai_resource_type_url(task->resource),
                         udpai_resource_name(task->resource));
    (void)udpai_store_set_cause(store, before);
}

static void
carry_out(struct look *look)
{
    for (size_t i = 0; i < look->tasks.n; i++) {
        const struct task *task = &look->tasks.items[i];
        udpa_error *error = NULL;
        udpa_err err = task->is_withdrawal ? UDPA_OK : make_anew(look->signatures, task, &error);
        if (task->is_withdrawal || err == UDPA_ERR_DENIED) {
            withdraw(look->signatures, task);
            look->signatures->n_refused += task->is_withdrawal;
            look->n_withdrawals += !task->is_withdrawal;
        } else if (err == UDPA_ERR_NOMEM) {
            look->is_short = true;
        }
        if (!look->first && err == UDPA_ERR_DENIED)
            look->first = UDPAI_TAKE(error);
        udpa_error_unref(error);
        udpa_resource_unref(task->resource);
    }
    udpai_vector_done(&look->tasks);
}

static void
forget_unverified(udpai_signatures *signatures)
{
    for (size_t i = 0; i < signatures->unverified.n; i++) {
        udpa_resource_unref(signatures->unverified.items[i].resource);
        udpai_origin_unref(signatures->context->store, signatures->unverified.items[i].origin);
    }
    udpai_vector_done(&signatures->unverified);
}

static void
log_withdrawn(const struct look *look)
{
    if (look->first)
        udpai_log(UDPA_LOG_WARNING, "signatures",
                  "withdrawn %zu resources for their signatures; the first: %s",
                  look->n_withdrawals, udpa_error_message(look->first));
    udpa_error_unref(look->first);
}

static void
look_again(udpai_signatures *signatures, const udpai_keyring *verified_by)
{
    if (verified_by != signatures->keyring)
        forget_unverified(signatures);
    struct look look = {
        .signatures = signatures,
        .verified_by = verified_by,
        .now_s = udpai_signatures_now_s(signatures),
        .due_s = INT64_MAX,
    };
    signatures->due_s = INT64_MAX;
    udpai_store_visit_all(signatures->context->store, look_at, &look);
    carry_out(&look);
    log_withdrawn(&look);
    signatures->must_look = look.has_more || look.is_short;
    signatures->must_verify = look.is_short && (!verified_by || signatures->must_verify ||
                                                verified_by != signatures->keyring);
    if (look.due_s < signatures->due_s)
        signatures->due_s = look.due_s;
    udpai_timer_cancel(&signatures->timer);
    arm(signatures, is_busy(signatures) ? SOON_MS : LOOK_MIN_MS);
}

/* ---- what was put off ---- */

static void
verify_one(struct look *look, const udpai_unverified *unverified)
{
    udpai_contribution held;
    udpai_str type_url = udpai_resource_type_url(unverified->resource);
    udpai_str name = udpai_resource_name(unverified->resource);
    if (!udpai_store_get(look->signatures->context->store, unverified->origin, type_url, name,
                         &held) ||
        held.resource != unverified->resource)
        return; /* what has come since was verified then */
    udpa_error *error = NULL;
    udpa_err err =
        udpai_keyring_verify(look->signatures->keyring, held.resource, look->now_s, false, &error);
    if (err == UDPA_ERR_DENIED) {
        withdraw(look->signatures,
                 &(struct task){.origin = held.origin, .resource = held.resource});
        look->signatures->n_refused++;
        look->n_withdrawals++;
    }
    look->is_short = look->is_short || err == UDPA_ERR_NOMEM;
    if (!look->first && err == UDPA_ERR_DENIED)
        look->first = UDPAI_TAKE(error);
    udpa_error_unref(error);
}

/* The last ones first. */
static void
verify_some(udpai_signatures *signatures)
{
    struct look look = {.signatures = signatures, .now_s = udpai_signatures_now_s(signatures)};
    for (int i = 0; i < VERIFIED_MAX && signatures->unverified.n && !look.is_short; i++) {
        const udpai_unverified one = signatures->unverified.items[signatures->unverified.n - 1];
        verify_one(&look, &one);
        if (look.is_short)
            continue; /* again, when there is memory */
        signatures->unverified.n--;
        udpa_resource_unref(one.resource);
        udpai_origin_unref(signatures->context->store, one.origin);
    }
    if (signatures->unverified.n == 0)
        udpai_vector_done(&signatures->unverified);
    log_withdrawn(&look);
    arm(signatures, is_busy(signatures) ? SOON_MS : LOOK_MIN_MS);
}

static void
on_due(udpai_timer *timer)
{
    udpai_signatures *signatures = UDPAI_CONTAINER_OF(timer, udpai_signatures, timer);
    if (signatures->unverified.n)
        verify_some(signatures);
    else if (signatures->must_look || udpai_signatures_now_s(signatures) >= signatures->due_s)
        look_again(signatures, signatures->must_verify ? NULL : signatures->keyring);
    else
        arm(signatures, LOOK_MIN_MS);
}

/* ---- keys come and go ---- */

bool
udpai_signatures_would_change(const udpai_signatures *signatures, const udpai_keyring *keyring)
{
    return signatures->must_verify || !udpai_keyring_equal(signatures->keyring, keyring);
}

void
udpai_signatures_change(udpai_signatures *signatures, udpai_keyring *keyring)
{
    UDPA_AUTO(udpai_keyring_unref) udpai_keyring *before = signatures->keyring;
    signatures->keyring = udpai_keyring_ref(keyring);
    look_again(signatures, signatures->must_verify || signatures->unverified.n ? NULL : before);
}

void
udpai_signatures_review(udpai_signatures *signatures)
{
    look_again(signatures, NULL);
}

/* Older states of a signed resource can be sent to us as long as signatures last: so long it is
 * known that there was a newer one. */
static uint64_t
remember_ms(void *userdata, const udpa_resource *removed)
{
    const udpai_signatures *signatures = userdata;
    if (!signatures->keyring)
        return 0;
    int64_t end_s = udpai_keyring_end_s(signatures->keyring, removed);
    int64_t left_s = end_s == INT64_MAX ? 0 : end_s - udpai_signatures_now_s(signatures);
    return left_s > 0 ? (uint64_t)left_s * MS_PER_S : 0;
}

udpa_err
udpai_signatures_new(udpai_signatures **ret_signatures,
                     const udpai_parts *parts,
                     udpai_keyring *keyring)
{
    udpai_signatures *signatures = udpai_alloc(sizeof(*signatures));
    if (!signatures)
        return UDPA_ERR_NOMEM;
    signatures->context = parts->context;
    signatures->sources = parts->sources;
    signatures->shares = parts->shares;
    signatures->keyring = udpai_keyring_ref(keyring);
    signatures->due_s = INT64_MAX;
    udpai_timer_init(&signatures->timer, on_due);
    udpai_store_set_remember(parts->context->store, remember_ms, signatures);
    *ret_signatures = signatures;
    return UDPA_OK;
}

void
udpai_signatures_free(udpai_signatures *signatures)
{
    if (!signatures)
        return;
    udpai_signed_anew anew;
    udpai_timer_cancel(&signatures->timer);
    forget_unverified(signatures);
    while (udpai_signatures_next_anew(signatures, &anew)) {
        udpa_resource_unref(anew.resource);
        udpai_origin_unref(signatures->context->store, anew.origin);
    }
    udpai_keyring_unref(signatures->keyring);
    udpai_free(signatures);
}

uint64_t
udpai_signatures_n_refused(const udpai_signatures *signatures)
{
    return signatures->n_refused;
}

uint64_t
udpai_signatures_n_signed(const udpai_signatures *signatures)
{
    return signatures->n_signed;
}

void
udpai_signatures_start(udpai_signatures *signatures)
{
    look_again(signatures, NULL);
}
