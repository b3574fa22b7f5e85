/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the resources of one type that configure the node: they are subscribed to like anything
 * else in the process, so that what cannot be followed is rejected in the receipt. */
#ifndef UDPAI_FEDERATION_FOLLOWER_H
#define UDPAI_FEDERATION_FOLLOWER_H

#include "federation/allowlist.h"
#include "federation/local.h"

typedef struct udpai_follower udpai_follower;

typedef struct udpai_follower_ops {
    const char *not_done; /* for the log: "not followed" */
    /* The resource is there, in this version; on failure nothing has changed. With UDPA_ERR_DENIED
     * it may not be followed: then what it did before ends. */
    udpa_err (*set)(void *userdata, const udpa_resource *resource, udpa_error **ret_error);
    /* It was removed. False: without memory, and the call comes again. */
    bool (*end)(void *userdata, const udpa_resource *resource);
    /* Before all are set again, since there was no memory for some; NULL: nothing is to be done. */
    void (*catch_up)(void *userdata);
    void *userdata;
} udpai_follower_ops;

/* Which ones are followed: of these authorities, with names below these prefixes (none: all). */
typedef struct udpai_follower_scope {
    udpai_str type_url;
    const udpai_str *authorities;
    size_t n_authorities;
    const udpai_str *prefixes;
    size_t n_prefixes;
} udpai_follower_scope;

udpa_err udpai_follower_new(udpai_follower **ret_follower,
                            udpai_context *context,
                            const udpai_follower_scope *scope,
                            const udpai_follower_ops *ops);
/* NULL does nothing; before the subscribers in the process. */
void udpai_follower_free(udpai_follower *follower);
/* Begins. */
udpa_err udpai_follower_start(udpai_follower *follower, udpai_local *local);

bool udpai_follower_has(const udpai_follower *follower, udpai_str authority);
bool udpai_follower_covers(const udpai_follower *follower, udpai_str name);
/* Has it seen what is there in the beginning? */
bool udpai_follower_has_looked(const udpai_follower *follower);
/* There is room, or something has come, for one that was rejected. NULL does nothing. */
void udpai_follower_look_again(udpai_follower *follower);
/* Makes up for those that there was no memory for. True: there is more to evaluate. NULL: false. */
bool udpai_follower_catch_up(udpai_follower *follower);
/* Calls back for each resource of the type that was reported to subscribers, until it returns
 * false. */
void udpai_follower_visit(const udpai_follower *follower,
                          bool (*visit)(void *userdata, udpa_resource *resource),
                          void *userdata);

#endif
