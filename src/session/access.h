/* SPDX-License-Identifier: Apache-2.0 */
/* What is visible to peers by the ACL, on the stream side. Each set of rules that lets a peer see
 * anything is a visibility, a number, shared by all to which the same rules apply. For the hub and
 * its sessions; in a hub without an ACL everything is visible to all. */
#ifndef UDPAI_SESSION_ACCESS_H
#define UDPAI_SESSION_ACCESS_H

#include "base/log.h"
#include "base/map.h"
#include "session/hub.h"

/* Different sets of rules; a peer that needs one more is denied. */
#define UDPAI_ACCESS_VIEWS_MAX 65536

typedef struct udpai_access {
    udpai_acl *acl;                    /* NULL: everything is visible to all */
    udpai_map by_rules, by_visibility; /* of the same */
    uint64_t last_visibility;          /* none is ever given twice: views remember them */
    /* What upstream peers do not see, whatever the rules are; see udpai_hub_options. */
    const udpai_str *withheld_types;
    size_t n_withheld_types;
    const udpai_str *withheld;
    size_t n_withheld;
    udpai_log_limit log;
} udpai_access;

/* Takes a reference to the ACL. */
void udpai_access_init(udpai_access *access, udpai_acl *acl);
void udpai_access_done(udpai_access *access);
/* To be called at first, if anything is. */
void udpai_access_withhold(udpai_access *access, const udpai_hub_options *options);
/* Other rules hold from now on; takes a reference. Each session must be admitted again: until then
 * nothing new is visible to it. */
void udpai_access_replace(udpai_access *access, udpai_acl *acl);
/* A udpai_may_see_fn. */
bool udpai_access_may_see(void *access, uint64_t visibility, const udpa_resource *resource);
/* The same of a resource of this type and name, whether it is there or not. */
bool udpai_access_may_see_name(const udpai_access *access,
                               uint64_t visibility,
                               udpai_str type_url,
                               udpai_str name);
/* Finds or makes the visibility of a peer; 0: it sees everything. */
udpa_err udpai_access_visibility(udpai_access *access,
                                 const udpai_acl_subject *subject,
                                 uint64_t *ret_visibility);

#endif
