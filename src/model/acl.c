/* SPDX-License-Identifier: Apache-2.0 */
#include "model/acl.h"

#include "base/log.h"
#include "base/pattern.h"
#include "base/strbuf.h"
#include "model/acl_internal.h"
#include "model/name.h"
#include "model/type_url.h"

/* Where nodes speak of themselves. */
#define OF_NODES UDPAI_STR("udpa.node")

udpai_acl_action
udpai_acl_action_for(udpai_str name)
{
    return udpai_prefix_covers(OF_NODES, name) ? UDPAI_ACL_ADMIN : UDPAI_ACL_SUBSCRIBE;
}

/* ---- subjects ---- */

/* The name in its Node counts where no identity can be proved. */
static udpai_str
claimed_name(const udpai_acl *acl, const udpai_acl_subject *subject)
{
    bool counts = acl->options.trusts_node_ids && !udpai_identity_is_proven(subject->identity);
    return counts ? subject->node_id : (udpai_str){0};
}

udpai_str
udpai_acl_subject_name(const udpai_acl *acl, const udpai_acl_subject *subject)
{
    udpai_str name = udpai_identity_is_proven(subject->identity)
                         ? udpai_identity_name(subject->identity)
                         : claimed_name(acl, subject);
    return name.len ? name : subject->known_as;
}

static bool
is_for(const udpai_acl *acl, const udpai_acl_rule *rule, const udpai_acl_subject *subject)
{
    udpai_str claimed = claimed_name(acl, subject), known = subject->known_as;
    if (udpai_acl_rule_is_for_all(rule))
        return true;
    if ((claimed.len && udpai_patterns_fit(rule->identities, rule->n_identities, claimed)) ||
        (known.len && udpai_patterns_fit(rule->identities, rule->n_identities, known)))
        return true;
    return udpai_identity_fits(subject->identity, rule->identities, rule->n_identities);
}

bool
udpai_acl_knows(const udpai_acl *acl, const udpai_acl_subject *subject)
{
    for (size_t i = 0; i < acl->options.n_rules; i++)
        if (is_for(acl, &acl->options.rules[i], subject))
            return true;
    return false;
}

bool
udpai_acl_knows_all(const udpai_acl *acl)
{
    return acl->knows_all;
}

/* ---- what ---- */

static bool
has_type(const udpai_acl_rule *rule, udpai_str type_url)
{
    return rule->n_types == 0 || udpai_patterns_fit(rule->types, rule->n_types, type_url);
}

static bool
has_name(const udpai_acl_rule *rule, udpai_str name, bool is_wildcard)
{
    if (rule->n_prefixes == 0)
        return true;
    for (size_t i = 0; i < rule->n_prefixes; i++)
        if (udpai_prefix_covers(rule->prefixes[i], name) ||
            (is_wildcard && udpai_prefix_covers(name, rule->prefixes[i])))
            return true;
    return false;
}

static bool
is_own_name(const udpai_acl *acl, const udpai_acl_subject *subject, udpai_str authority)
{
    udpai_str claimed = claimed_name(acl, subject), known = subject->known_as;
    return authority.len == 0 || (claimed.len && udpai_str_eq(authority, claimed)) ||
           (known.len && udpai_str_eq(authority, known)) ||
           (udpai_identity_is_proven(subject->identity) &&
            udpai_identity_matches(subject->identity, authority));
}

static bool
may_speak_for(const udpai_acl *acl,
              const udpai_acl_rule *rule,
              const udpai_acl_subject *subject,
              const udpai_acl_question *question)
{
    return question->action != UDPAI_ACL_PUBLISH ||
           is_own_name(acl, subject, question->authority) ||
           udpai_patterns_fit(rule->on_behalf_of, rule->n_on_behalf_of, question->authority);
}

/* ---- deciding ---- */

/* How far a rule goes along; the further, the nearer it is to allowing it. */
typedef enum acl_reach {
    FOR_OTHERS,
    FOR_OTHER_ACTIONS,
    FOR_OTHER_TYPES,
    FOR_OTHER_NAMES,
    FOR_OTHER_AUTHORITIES,
    ALLOWS,
} acl_reach;

static acl_reach
reach_of(const udpai_acl *acl,
         const udpai_acl_rule *rule,
         const udpai_acl_subject *subject,
         const udpai_acl_question *question)
{
    if (!is_for(acl, rule, subject))
        return FOR_OTHERS;
    if (!(rule->actions & question->action))
        return FOR_OTHER_ACTIONS;
    if (!has_type(rule, question->type_url))
        return FOR_OTHER_TYPES;
    if (!has_name(rule, question->name, question->is_wildcard))
        return FOR_OTHER_NAMES;
    return may_speak_for(acl, rule, subject, question) ? ALLOWS : FOR_OTHER_AUTHORITIES;
}

static const char *
verb_of(udpai_acl_action action)
{
    return action == UDPAI_ACL_PUBLISH ? "publish" : "subscribe to";
}

static void
put_why(udpai_strbuf *out,
        const udpai_acl_rule *nearest,
        acl_reach reach,
        const udpai_acl_question *question)
{
    static const char *const words[] = {
        [FOR_OTHER_ACTIONS] = "is for other actions",
        [FOR_OTHER_TYPES] = "is for other types",
        [FOR_OTHER_NAMES] = "is for other namespaces",
    };
    if (!nearest || reach == FOR_OTHERS)
        udpai_strbuf_puts(out, "no rule of the section 'acl' is for this peer");
    else if (reach == FOR_OTHER_AUTHORITIES)
        udpai_strbuf_printf(out,
                            "rule '%.*s' does not let it publish on behalf of authority '%.*s'",
                            UDPAI_SHOWN(nearest->name), UDPAI_SHOWN(question->authority));
    else
        udpai_strbuf_printf(out, "rule '%.*s', the nearest, %s", UDPAI_SHOWN(nearest->name),
                            words[reach]);
}

static void
explain(const udpai_acl *acl,
        const udpai_acl_subject *subject,
        const udpai_acl_question *question,
        const udpai_strbuf *why,
        udpa_error **ret_error)
{
    udpai_str name = udpai_acl_subject_name(acl, subject), reason = udpai_strbuf_view(why);
    udpai_str type = udpai_type_url_name(question->type_url);
    if (name.len == 0)
        name = UDPAI_STR("a peer without a name");
    (void)udpai_fail(ret_error, UDPA_ERR_DENIED, "%.*s may not %s %s'%.*s' of type %.*s: %.*s",
                     UDPAI_SHOWN(name), verb_of(question->action),
                     question->is_wildcard ? "what is below " : "", UDPAI_SHOWN(question->name),
                     UDPAI_SHOWN(type), UDPAI_SHOWN(reason));
}

const udpai_acl_rule *
udpai_acl_decide(const udpai_acl *acl,
                 const udpai_acl_subject *subject,
                 const udpai_acl_question *question,
                 udpa_error **ret_error)
{
    const udpai_acl_rule *nearest = NULL;
    acl_reach furthest = FOR_OTHERS;
    for (size_t i = 0; i < acl->options.n_rules; i++) {
        const udpai_acl_rule *rule = &acl->options.rules[i];
        acl_reach reach = reach_of(acl, rule, subject, question);
        if (reach == ALLOWS)
            return rule;
        if (reach > furthest) {
            furthest = reach;
            nearest = rule;
        }
    }
    if (ret_error) {
        udpai_strbuf why = {0};
        put_why(&why, nearest, furthest, question);
        explain(acl, subject, question, &why, ret_error);
        udpai_strbuf_done(&why);
    }
    return NULL;
}

udpa_err
udpai_acl_check_node_id(const udpai_acl *acl,
                        const udpai_acl_subject *subject,
                        udpa_error **ret_error)
{
    if (!acl->options.binds_node_id || !udpai_identity_is_proven(subject->identity) ||
        udpai_identity_matches(subject->identity, subject->node_id))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "the id of your Node, '%.*s', is none of the names in your certificate, as "
                      "acl.bind_node_id of this node wants; the first of them is '%.*s'",
                      UDPAI_SHOWN(subject->node_id),
                      UDPAI_SHOWN(udpai_identity_name(subject->identity)));
}

void
udpai_acl_log_denial(const udpai_acl *acl,
                     const udpai_acl_subject *subject,
                     const udpai_acl_question *question,
                     const udpa_error *why,
                     unsigned n_suppressed)
{
    udpai_log_about(UDPA_LOG_WARNING, "acl",
                    UDPAI_ABOUT({UDPAI_LOG_PEER, subject->node_id},
                                {UDPAI_LOG_IDENTITY, udpai_identity_name(subject->identity)},
                                {UDPAI_LOG_TYPE, question->type_url},
                                {UDPAI_LOG_NAME, question->name},
                                {UDPAI_LOG_CODE, udpai_log_code(why)}),
                    "%s%s (%u more not shown)",
                    udpai_acl_settings(acl)->is_dry_run ? "dry run, so it may: " : "",
                    udpa_error_message(why), n_suppressed);
}

/* ---- what a subscriber sees ---- */

udpa_err
udpai_acl_view_of(const udpai_acl *acl, const udpai_acl_subject *subject, udpai_acl_view *ret_view)
{
    *ret_view = (udpai_acl_view){0};
    for (size_t i = 0; i < acl->options.n_rules; i++) {
        const udpai_acl_rule *rule = &acl->options.rules[i];
        if (!(rule->actions & (UDPAI_ACL_SUBSCRIBE | UDPAI_ACL_ADMIN)) ||
            !is_for(acl, rule, subject))
            continue;
        if (udpai_vector_push(&ret_view->rules, (uint16_t)i))
            continue;
        udpai_vector_done(&ret_view->rules);
        return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

bool
udpai_acl_view_shows(
    const udpai_acl *acl, const uint16_t *rules, size_t n_rules, udpai_str type_url, udpai_str name)
{
    udpai_acl_action action = udpai_acl_action_for(name);
    for (size_t i = 0; i < n_rules; i++) {
        const udpai_acl_rule *rule = &acl->options.rules[rules[i]];
        if ((rule->actions & action) && has_type(rule, type_url) && has_name(rule, name, false))
            return true;
    }
    return false;
}
