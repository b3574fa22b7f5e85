/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/source_change.h"

#include "base/alloc.h"
#include "federation/connection.h"
#include "federation/recovery.h"

/* The other configuration is read into a source of its own, of which the one that there is takes
 * what differs. */
struct udpai_source_change {
    udpai_source *source, *made;
    udpai_order *hang_up;
    bool has_other_recovery;
};

void
udpai_source_change_free(udpai_source_change *change)
{
    if (!change)
        return;
    if (change->made)
        udpai_source_free(change->made);
    udpai_order_free(change->hang_up);
    udpai_free(change);
}

bool
udpai_source_change_moves(const udpai_source_change *change)
{
    return change->source->target != change->made->target;
}

static udpa_err
prepare(udpai_source_change *change, const udpai_source_config *config, udpa_error **ret_error)
{
    udpa_err err = udpai_source_make(change->source->owner, config, &change->made);
    change->hang_up = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (err == UDPA_OK && !change->hang_up)
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    change->has_other_recovery = !udpai_recovery_is(change->source, config);
    return change->has_other_recovery ? udpai_recovery_new(change->made, config, ret_error)
                                      : UDPA_OK;
}

udpa_err
udpai_source_change_new(udpai_source_change **ret_change,
                        udpai_source *source,
                        const udpai_source_config *config,
                        udpa_error **ret_error)
{
    udpai_source_change *change = udpai_alloc(sizeof(*change));
    if (!change)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    change->source = source;
    udpa_err err = prepare(change, config, ret_error);
    if (err == UDPA_OK)
        *ret_change = change;
    else
        udpai_source_change_free(change);
    return err;
}

static void
swap(void *a, void *b, size_t size)
{
    unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++) {
        unsigned char kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

#define SWAP(field) swap(&source->field, &made->field, sizeof(source->field))

/* How it is reached. */
static void
swap_reach(udpai_source *source, udpai_source *made)
{
    SWAP(target);
    SWAP(ref_target);
    SWAP(release_target);
    SWAP(servers);
    SWAP(address);
    SWAP(peer_name);
}

static void
take_facts(udpai_source *source, udpai_source *made)
{
    SWAP(standby);
    source->kind = made->kind;
    source->kind_name = made->kind_name;
    source->target_for = made->target_for;
    source->stays_connected = made->stays_connected;
    source->max_withdrawal = made->max_withdrawal;
    source->passes_doubts = made->passes_doubts;
    udpai_source_set_keeping(source);
}

static void
begin_elsewhere(udpai_source *source)
{
    udpai_source_begin_anew(source, 0);
    udpai_source_dial_now(source);
}

/* Another kind of peer, or another one that dials us: what the former one still sends is none of
 * it, and nothing takes over from the source meanwhile. */
static void
begin_with_another(udpai_source *source, udpai_order *hang_up)
{
    if (udpai_source_is_active(source))
        udpai_source_keep_place(source);
    udpai_source_disconnect_by(source, hang_up);
    udpai_source_disown_stream(source);
    udpai_sources_relink(source->owner, source);
    udpai_timer_cancel(&source->retry);
    source->is_renewed = true;
    udpai_source_closed(source, NULL);
}

static bool
is_another(const udpai_source *source, const udpai_source *made)
{
    return source->kind != made->kind ||
           !udpai_str_eq(udpai_bytes_view(source->peer_name), udpai_bytes_view(made->peer_name));
}

static bool
is_at_another(const udpai_source *source, const udpai_source *made)
{
    return source->target != made->target ||
           !udpai_str_eq(udpai_bytes_view(source->address), udpai_bytes_view(made->address));
}

void
udpai_source_change_apply(udpai_source_change *change)
{
    udpai_source *source = change->source, *made = change->made;
    bool is_of_another = is_another(source, made), is_elsewhere = is_at_another(source, made);
    if (is_of_another || is_elsewhere || source->is_absent)
        swap_reach(source, made);
    take_facts(source, made);
    if (change->has_other_recovery)
        udpai_recovery_replace(source, made);
    if (source->is_absent)
        udpai_source_appear(source, UDPAI_TAKE(source->target));
    else if (is_of_another)
        begin_with_another(source, UDPAI_TAKE(change->hang_up));
    else if (is_elsewhere && udpai_source_is_dialled(source))
        begin_elsewhere(source);
    udpai_source_touch(source);
    udpai_source_change_free(change);
}
