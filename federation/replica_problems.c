/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_problems.h"

#include "base/log.h"
#include "model/digest.h"

/* Of a digest, so much tells them apart. */
#define SHORT(text) (int)((text).len < 8 ? (text).len : 8), (text).data

/* Of a member; an older version has none of the later ones. */
static udpai_str
text_or(const udpa_bytes *text, udpai_str otherwise)
{
    return text && udpa_bytes_size(text) ? udpai_bytes_view(text) : otherwise;
}

static void
visit_keys(const udpai_replica_member *own,
           const udpai_replica_member *other,
           udpai_problem_fn visit,
           void *userdata)
{
    udpai_str keys = text_or(other->keys, UDPAI_STR("none"));
    udpai_str own_keys = text_or(own->keys, UDPAI_STR("none"));
    udpai_str missing = text_or(other->missing, UDPAI_STR(""));
    UDPA_AUTO(udpa_error_unref) udpa_error *lacks = NULL, *differs = NULL;
    if (missing.len && !other->is_own)
        lacks = udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                               "replica %.*s, %.*s, is not ready: it cannot decrypt secrets that "
                               "are encrypted with %.*s: add this to its store.keys",
                               UDPAI_SHOWN(udpai_bytes_view(other->id)),
                               UDPAI_SHOWN(udpai_bytes_view(other->address)), UDPAI_SHOWN(missing));
    if (!udpai_str_eq(own_keys, keys))
        differs = udpa_error_new(
            UDPA_ERR_PRECONDITION, NULL,
            "replica %.*s, %.*s, has other store.keys than this one (%.*s, not %.*s): all replicas "
            "must have the same keys, in the same order",
            UDPAI_SHOWN(udpai_bytes_view(other->id)), UDPAI_SHOWN(udpai_bytes_view(other->address)),
            UDPAI_SHOWN(keys), UDPAI_SHOWN(own_keys));
    if (lacks)
        visit(userdata, udpa_error_message(lacks));
    if (differs)
        visit(userdata, udpa_error_message(differs));
}

static void
visit_member(const udpai_replica_member *own,
             const udpai_replica_member *other,
             udpai_problem_fn visit,
             void *userdata)
{
    udpai_str config = udpai_bytes_view(other->config), own_config = udpai_bytes_view(own->config);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    visit_keys(own, other, visit, userdata);
    if (udpai_str_eq(own_config, config))
        return;
    error = udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                           "replica %.*s, %.*s, has another configuration than this one (%.*s, not "
                           "%.*s): rules and limits must be the same on all replicas",
                           UDPAI_SHOWN(udpai_bytes_view(other->id)),
                           UDPAI_SHOWN(udpai_bytes_view(other->address)), SHORT(config),
                           SHORT(own_config));
    if (error)
        visit(userdata, udpa_error_message(error));
}

void
udpai_replica_visit_members(const udpai_replica_status *status,
                            udpai_problem_fn visit,
                            void *userdata)
{
    const udpai_replica_member *own = udpai_replica_status_own(status);
    for (size_t i = 0; own && i < status->n_members; i++)
        visit_member(own, &status->members[i], visit, userdata);
}

uint64_t
udpai_replica_members_digest(const udpai_replica_status *status)
{
    uint64_t digest = status->membership;
    for (size_t i = 0; i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        digest = udpai_digest_behind(digest, udpai_bytes_view(member->config));
        digest = udpai_digest_behind(digest, text_or(member->keys, UDPAI_STR("")));
        digest = udpai_digest_behind(digest, text_or(member->missing, UDPAI_STR("")));
    }
    return digest;
}

void
udpai_replica_visit_own(const udpai_replica_status *status, udpai_problem_fn visit, void *userdata)
{
    if (status->locked)
        visit(userdata, udpa_error_message(status->locked));
    if (status->alarm)
        visit(userdata, udpa_error_message(status->alarm));
    if (status->membership == UDPAI_MEMBERSHIP_FULL)
        visit(userdata, "this replica has no place in its set, which has as many as it may have: "
                        "stop it, or another one");
    if (status->state == UDPAI_REPLICATION_HELD && status->why)
        visit(userdata, udpa_error_message(status->why));
}

void
udpai_replica_log_problem(void *userdata, const char *text)
{
    (void)userdata;
    udpai_log(UDPA_LOG_WARNING, "replicas", "%s", text);
}
