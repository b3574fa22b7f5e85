/* SPDX-License-Identifier: Apache-2.0 */
/* Who has made a transaction, for the audit. */
#include "federation/access.h"
#include "federation/audit.h"
#include "federation/commits_internal.h"
#include "federation/intake.h"
#include "federation/publishers.h"

struct asked {
    const udpai_access *access;
    const udpai_peer *peer;
};

static udpai_str
rule_of(void *userdata,
        udpai_acl_action action,
        const udpai_audit_record *record,
        udpai_str authority)
{
    const struct asked *asked = userdata;
    return udpai_access_rule_of(asked->access, asked->peer,
                                &(udpai_acl_question){
                                    .action = action,
                                    .type_url = record->type_url,
                                    .name = record->name,
                                    .authority = authority,
                                });
}

static udpa_err
note_publication(const udpai_commits *commits,
                 const udpai_transaction *one,
                 udpai_durable_batch *batch,
                 size_t from)
{
    const udpai_peer *peer = udpai_peers_find(commits->peers, one->pending->answer->session);
    const udpai_identity *identity =
        peer ? peer->identity : udpai_origin_identity(one->queue->origin);
    struct asked asked = {commits->receiver->access, peer};
    udpai_str name = {0}, id = {0};
    char *room = udpai_publisher_key_read(udpai_origin_key(one->queue->origin), &name, &id);
    const udpai_audit_record by = {
        .actor = name.len ? name : id, /* which nothing proves */
        .is_proven = udpai_identity_is_proven(identity),
        .peer = id,
        .address = peer ? udpai_peer_address(peer) : (udpai_str){0},
    };
    udpa_err err =
        udpai_audit_changes(commits->context, batch, from, &by, peer ? rule_of : NULL, &asked);
    udpai_free(room);
    return err;
}

/* As the one of its replicas that does it for all. What it only writes anew is no change. */
static udpa_err
note_end(const udpai_commits *commits, udpai_durable_batch *batch, size_t from)
{
    for (size_t i = from; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind == UDPAI_DURABLE_DELETE)
            batch->ops.items[i].cause = UDPAI_CAUSE_TTL;
    return udpai_audit_ended(commits->context, batch);
}

udpa_err
udpai_transaction_audit(const udpai_commits *commits,
                        const udpai_transaction *one,
                        udpai_durable_batch *batch,
                        size_t from)
{
    if (one->share)
        return UDPA_OK;
    return one->pending ? note_publication(commits, one, batch, from)
                        : note_end(commits, batch, from);
}
