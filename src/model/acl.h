/* SPDX-License-Identifier: Apache-2.0 */
/* Who may publish what, in which name, and see what (docs/design/trust.md).
 *
 * Rules allow, and nothing else: what none of them allows is denied, and their order makes no
 * difference. A value: made whole, never changed, counted atomically. */
#ifndef UDPAI_ACL_H
#define UDPAI_ACL_H

#include "base/vector.h"
#include "model/identity.h"
#include "model/resource.h"

typedef enum udpai_acl_action {
    UDPAI_ACL_PUBLISH = 1,
    UDPAI_ACL_SUBSCRIBE = 2,
    UDPAI_ACL_ADMIN = 4, /* to see the status of nodes */
} udpai_acl_action;

/* Patterns have stars (base/pattern.h). */
typedef struct udpai_acl_rule {
    udpai_str name;              /* for people */
    const udpai_str *identities; /* patterns; one of a peer's names must fit one */
    size_t n_identities;
    unsigned actions;       /* of udpai_acl_action */
    const udpai_str *types; /* patterns for type URLs; none: all */
    size_t n_types;
    const udpai_str *prefixes; /* of names; none: all */
    size_t n_prefixes;
    const udpai_str *on_behalf_of; /* patterns for authorities besides the peer's own names */
    size_t n_on_behalf_of;
} udpai_acl_rule;

typedef struct udpai_acl_options {
    const udpai_acl_rule *rules;
    size_t n_rules;
    bool is_dry_run; /* nothing is denied; the caller counts and logs what would be */
    /* A peer with a certificate must have a Node with an id that is one of the names in it. */
    bool binds_node_id;
    /* No peer can present a certificate, or is a user of this machine: a peer has the name in its
     * Node. Else a peer that presents
     * none has no name, and only rules for all ("*") are for it. */
    bool trusts_node_ids;
} udpai_acl_options;

typedef struct udpai_acl udpai_acl;

#define UDPAI_ACL_RULES_MAX 4096

/* Copies everything. UDPA_ERR_LIMIT: too many rules. */
udpa_err udpai_acl_new(udpai_acl **ret_acl, const udpai_acl_options *options);
udpai_acl *udpai_acl_ref(udpai_acl *acl);
udpai_acl *udpai_acl_unref(udpai_acl *acl);
UDPA_DEFINE_CLEANUP(udpai_acl, udpai_acl_unref)
/* Owned by @p acl. */
const udpai_acl_options *udpai_acl_settings(const udpai_acl *acl);

/* ---- questions ---- */

typedef struct udpai_acl_subject {
    const udpai_identity *identity; /* NULL: none was presented */
    udpai_str node_id;              /* empty: it has sent none */
    udpai_str known_as;             /* the name that the configuration gives it; empty: none */
} udpai_acl_subject;

/* The name that a subject has in messages. */
udpai_str udpai_acl_subject_name(const udpai_acl *acl, const udpai_acl_subject *subject);

typedef struct udpai_acl_question {
    udpai_acl_action action;
    udpai_str type_url;
    udpai_str name;      /* or of a wildcard, its prefix */
    bool is_wildcard;    /* is anything below the prefix allowed? */
    udpai_str authority; /* PUBLISH: the name that it is in; empty: the subject's own */
} udpai_acl_question;

/* Which rule allows it; NULL: none, and `ret_error` has why not: what the rules are short of.
 * Whether the answer counts, or is_dry_run, is the caller's matter. */
const udpai_acl_rule *udpai_acl_decide(const udpai_acl *acl,
                                       const udpai_acl_subject *subject,
                                       const udpai_acl_question *question,
                                       udpa_error **ret_error);

/* Logs that it is denied; or would be, in a dry run. Callers limit how often. */
void udpai_acl_log_denial(const udpai_acl *acl,
                          const udpai_acl_subject *subject,
                          const udpai_acl_question *question,
                          const udpa_error *why,
                          unsigned n_suppressed);

/* Is there any rule for this subject at all? */
bool udpai_acl_knows(const udpai_acl *acl, const udpai_acl_subject *subject);
/* Is there a rule for all peers (*)? */
bool udpai_acl_knows_all(const udpai_acl *acl);

/* Is the Node the subject's own, where that is asked for? */
udpa_err udpai_acl_check_node_id(const udpai_acl *acl,
                                 const udpai_acl_subject *subject,
                                 udpa_error **ret_error);

/* ---- what a subscriber sees ---- */

/* The rules that let a subject see anything: subjects with the same rules see the same. */
typedef struct udpai_acl_view {
    UDPAI_VECTOR(uint16_t) rules; /* their indexes, rising */
} udpai_acl_view;

/* UDPA_ERR_NOMEM. Ended by udpai_vector_done(&view->rules). */
udpa_err
udpai_acl_view_of(const udpai_acl *acl, const udpai_acl_subject *subject, udpai_acl_view *ret_view);
/* Is it visible with this view? */
bool udpai_acl_view_shows(const udpai_acl *acl,
                          const uint16_t *rules,
                          size_t n_rules,
                          udpai_str type_url,
                          udpai_str name);

/* The action that seeing a name, or what lies below a prefix, takes. */
udpai_acl_action udpai_acl_action_for(udpai_str name);

#endif
