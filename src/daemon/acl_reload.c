/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/acl_reload.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "daemon/plan_internal.h"

static udpa_err
put_into_use(const udpai_reload_target *target,
             const Udpa__Config__V1__Acl *from,
             udpa_error **ret_error)
{
    UDPA_AUTO(udpai_acl_unref) udpai_acl *acl = NULL;
    if (!from)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s has no section 'acl' any more: to have no rules takes a restart",
                          target->config_file);
    udpa_err err = udpai_plan_acl_again(target->plan, from, &acl);
    if (err == UDPA_OK)
        err = udpai_tunables_follower_set_acl(target->follower, acl);
    return udpai_fail_code(ret_error, err);
}

/* NULL without memory, or without rules. */
static udpa_bytes *
encode(const Udpa__Config__V1__Acl *acl)
{
    udpa_bytes *bytes = NULL;
    size_t size = acl ? udpa__config__v1__acl__get_packed_size(acl) : 0;
    uint8_t *room = acl ? udpai_alloc(size + 1) : NULL;
    if (room && udpa_bytes_new(&bytes, room, udpa__config__v1__acl__pack(acl, room)) != UDPA_OK)
        bytes = NULL;
    udpai_free(room);
    return bytes;
}

static bool
is_same(const udpa_bytes *a, const udpa_bytes *b)
{
    return a && b && udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b));
}

udpa_err
udpai_acl_reload(const udpai_reload_target *target,
                 const Udpa__Config__V1__Acl *acl,
                 udpa_bytes **in_force,
                 udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = encode(acl);
    if (!acl && !target->plan->settings.node.acl && !*in_force)
        return UDPA_OK;
    if (!*in_force)
        *in_force = encode(target->plan->bootstrap.message->acl);
    if (is_same(bytes, *in_force)) {
        udpai_log_about(UDPA_LOG_INFO, "daemon",
                        UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(target->config_file)}),
                        "%s: reloaded, the rules are unchanged", target->config_file);
        return UDPA_OK;
    }
    udpa_err err = put_into_use(target, acl, ret_error);
    if (err != UDPA_OK)
        return err;
    udpa_bytes_unref(*in_force);
    *in_force = UDPAI_TAKE(bytes);
    udpai_log_about(
        UDPA_LOG_INFO, "daemon", UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(target->config_file)}),
        "%s: reloaded, %zu rules are effective now%s", target->config_file, acl->n_rules,
        udpai_tunables_follower_is_dry_run(target->follower) ? ", in a dry run" : "");
    return UDPA_OK;
}
