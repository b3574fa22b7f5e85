/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/follower.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/name.h"

struct udpai_follower {
    udpai_context *context;
    udpai_local_subscription *subscription;
    udpai_follower_ops ops;
    udpai_allowlist allowlist;
    bool is_late;     /* there was no memory for one */
    bool has_changed; /* something has changed since the providers were looked at */
    bool has_looked;  /* what is there in the beginning was received */
    udpai_log_limit log;
    size_t type_len;
    char type[UDPAI_TYPE_URL_MAX];
};

bool
udpai_follower_has(const udpai_follower *follower, udpai_str authority)
{
    return udpai_allowlist_has(&follower->allowlist, authority);
}

bool
udpai_follower_covers(const udpai_follower *follower, udpai_str name)
{
    return udpai_allowlist_covers(&follower->allowlist, name);
}

bool
udpai_follower_has_looked(const udpai_follower *follower)
{
    return follower->has_looked;
}

/* ---- following ---- */

static void
end(udpai_follower *follower, const udpa_resource *resource)
{
    follower->is_late |= !follower->ops.end(follower->ops.userdata, resource);
}

static void
log_not_done(udpai_follower *follower, const udpa_resource *resource, const udpa_error *error)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (udpai_log_allow(&follower->log, udpai_context_now(follower->context), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "federation",
                        UDPAI_ABOUT({UDPAI_LOG_TYPE, udpai_resource_type_url(resource)},
                                    {UDPAI_LOG_NAME, udpai_resource_name(resource)},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "%s: %s%s", follower->ops.not_done,
                        error ? udpa_error_message(error) : "out of memory",
                        udpai_log_more(more, n_suppressed));
}

/* What is not to be followed ends what was followed before in its place; what is merely wrong does
 * not. */
static void
take(udpai_follower *follower, udpai_local_update *update, size_t index)
{
    const udpai_local_change *change = udpai_local_update_at(update, index);
    udpa_error *error = NULL;
    udpa_err err = UDPA_OK;
    if (change->is_removed)
        end(follower, change->resource);
    else
        err = follower->ops.set(follower->ops.userdata, change->resource, &error);
    if (err == UDPA_ERR_DENIED)
        end(follower, change->resource);
    follower->is_late |= err == UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        return;
    log_not_done(follower, change->resource, error);
    udpai_local_update_refuse(update, index, error);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    udpai_follower *follower = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        take(follower, update, i);
    follower->has_looked = follower->has_changed = true;
}

/* ---- again ---- */

void
udpai_follower_look_again(udpai_follower *follower)
{
    if (follower)
        follower->is_late = true;
}

void
udpai_follower_visit(const udpai_follower *follower,
                     bool (*visit)(void *userdata, udpa_resource *resource),
                     void *userdata)
{
    udpai_store_visit_reported(follower->context->store,
                               (udpai_str){follower->type, follower->type_len}, visit, userdata);
}

static bool
set_again(void *userdata, udpa_resource *resource)
{
    udpai_follower *follower = userdata;
    follower->is_late |=
        follower->ops.set(follower->ops.userdata, resource, NULL) == UDPA_ERR_NOMEM;
    return true;
}

bool
udpai_follower_catch_up(udpai_follower *follower)
{
    if (!follower)
        return false;
    bool has_changed = follower->has_changed || follower->is_late;
    if (follower->is_late) {
        follower->is_late = false;
        if (follower->ops.catch_up)
            follower->ops.catch_up(follower->ops.userdata);
        udpai_follower_visit(follower, set_again, follower);
    }
    follower->has_looked = true; /* if there was nothing */
    follower->has_changed = false;
    return has_changed;
}

/* ---- the whole ---- */

udpa_err
udpai_follower_new(udpai_follower **ret_follower,
                   udpai_context *context,
                   const udpai_follower_scope *scope,
                   const udpai_follower_ops *ops)
{
    assert(scope->type_url.len <= UDPAI_TYPE_URL_MAX);
    udpai_follower *follower = udpai_alloc(sizeof(*follower));
    if (!follower)
        return UDPA_ERR_NOMEM;
    follower->context = context;
    follower->ops = *ops;
    follower->type_len = scope->type_url.len;
    memcpy(follower->type, scope->type_url.data, scope->type_url.len);
    udpa_err err = udpai_allowlist_init(&follower->allowlist, scope->authorities,
                                        scope->n_authorities, scope->prefixes, scope->n_prefixes);
    if (err != UDPA_OK)
        udpai_follower_free(follower);
    else
        *ret_follower = follower;
    return err;
}

void
udpai_follower_free(udpai_follower *follower)
{
    if (follower)
        udpai_allowlist_done(&follower->allowlist);
    udpai_free(follower);
}

udpa_err
udpai_follower_start(udpai_follower *follower, udpai_local *local)
{
    const udpai_local_ops ops = {.update = on_update, .userdata = follower};
    const udpai_selection all = {.type_url = {follower->type, follower->type_len}};
    return udpai_local_subscribe(local, &all, &ops, &follower->subscription);
}
