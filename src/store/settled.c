/* SPDX-License-Identifier: Apache-2.0 */
#include "store/settled_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/name.h"

/* Copies into room, or only counts it while there is none. */
struct copier {
    char *at;
    size_t size;
};

static udpai_str
copy_text(struct copier *copier, udpai_str text)
{
    udpai_str copy = {copier->at, text.len};
    if (copier->at && text.len) {
        memcpy(copier->at, text.data, text.len);
        copier->at += text.len;
    }
    copier->size += text.len;
    return copy;
}

static void *
take_table(struct copier *copier, size_t size)
{
    void *table = copier->at;
    if (copier->at)
        copier->at += size;
    copier->size += size;
    return table;
}

static int
compare_texts(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

/* Sorted, so that one is found fast, and so that equal facts are equal in whatever order they came.
 */
static const udpai_str *
copy_texts(struct copier *text, udpai_str *table, const udpai_str *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_str copy = copy_text(text, from[i]);
        if (table)
            table[i] = copy;
    }
    if (table && n > 1)
        qsort(table, n, sizeof(*table), compare_texts);
    return table;
}

static const udpai_waiting_question *
copy_waiting(struct copier *tables, struct copier *text, const udpai_unsettled *from)
{
    udpai_waiting_question *waiting = take_table(tables, from->n_waiting * sizeof(*waiting));
    for (size_t i = 0; i < from->n_waiting; i++) {
        const udpai_waiting_question *question = &from->waiting[i];
        udpai_str *asked = take_table(tables, question->n_asked * sizeof(*asked));
        const udpai_waiting_question copy = {
            .waits = copy_text(text, question->waits),
            .asked = copy_texts(text, asked, question->asked, question->n_asked),
            .n_asked = question->n_asked,
        };
        if (waiting)
            waiting[i] = copy;
    }
    return waiting;
}

/* Tables first, so that they are aligned: they have a copier of their own. */
static udpai_settled_facts
copy_facts(struct copier *tables, struct copier *text, const udpai_settled_facts *facts)
{
    udpai_settled_facts copy = *facts;
    udpai_unsettled *missing = take_table(tables, facts->n_missing * sizeof(*missing));
    for (size_t i = 0; i < facts->n_missing; i++) {
        const udpai_unsettled *from = &facts->missing[i];
        udpai_str *answered = take_table(tables, from->n_answered * sizeof(*answered));
        udpai_str *asked = take_table(tables, from->n_asked * sizeof(*asked));
        const udpai_unsettled entry = {
            .type_url = copy_text(text, from->type_url),
            .prefix = copy_text(text, from->prefix),
            .source = copy_text(text, from->source),
            .peer_node = copy_text(text, from->peer_node),
            .may_wait_for_us = from->may_wait_for_us,
            .since_ms = from->since_ms,
            .missing_ms = from->missing_ms,
            .why = copy_text(text, from->why),
            .answered = copy_texts(text, answered, from->answered, from->n_answered),
            .n_answered = from->n_answered,
            .of_groups = from->of_groups,
            .on_demand = from->on_demand,
            .by_name = from->by_name,
            .only_absence = from->only_absence,
            .asked = copy_texts(text, asked, from->asked, from->n_asked),
            .n_asked = from->n_asked,
            .waits = copy_text(text, from->waits),
            .waiting = copy_waiting(tables, text, from),
            .n_waiting = from->n_waiting,
        };
        if (missing)
            missing[i] = entry;
    }
    udpai_str *types = take_table(tables, facts->n_known_types * sizeof(*types));
    copy.missing = missing;
    copy.groups = tables->at ? udpai_settled_groups_ref(facts->groups) : NULL;
    copy.names = tables->at ? udpai_settled_names_ref(facts->names) : NULL;
    copy.self = copy_text(text, facts->self);
    copy.known_types = copy_texts(text, types, facts->known_types, facts->n_known_types);
    return copy;
}

udpai_settled *
udpai_settled_new(const udpai_settled_facts *facts)
{
    struct copier tables = {0}, text = {0};
    copy_facts(&tables, &text, facts);
    udpai_settled *settled = udpai_alloc(sizeof(*settled) + tables.size + text.size);
    if (!settled)
        return NULL;
    atomic_init(&settled->refs, 1);
    text = (struct copier){settled->room + tables.size, 0};
    tables = (struct copier){settled->room, 0};
    settled->facts = copy_facts(&tables, &text, facts);
    return settled;
}

udpai_settled *
udpai_settled_ref(udpai_settled *settled)
{
    if (settled)
        atomic_fetch_add_explicit(&settled->refs, 1, memory_order_relaxed);
    return settled;
}

udpai_settled *
udpai_settled_unref(udpai_settled *settled)
{
    if (settled && atomic_fetch_sub_explicit(&settled->refs, 1, memory_order_acq_rel) == 1) {
        udpai_settled_groups_unref(settled->facts.groups);
        udpai_settled_names_unref(settled->facts.names);
        udpai_free(settled);
    }
    return NULL;
}

bool
udpai_settled_is_in(const udpai_str *sorted, size_t n, udpai_str text)
{
    return n && bsearch(&text, sorted, n, sizeof(*sorted), compare_texts);
}

bool
udpai_settled_is_covered(const udpai_str *sorted, size_t n, udpai_str name)
{
    size_t at = 0;
    udpai_str prefix;
    while (udpai_name_next_prefix(name, &at, &prefix))
        if (udpai_settled_is_in(sorted, n, prefix))
            return true;
    return false;
}

/* ---- groups of clients ---- */

static bool
is_answered_by(const udpai_settled_part *part, udpai_str scope, bool as_name)
{
    return part->is_whole ||
           (as_name ? udpai_settled_is_in(part->answered, part->n_answered, scope)
                    : udpai_settled_is_covered(part->answered, part->n_answered, scope));
}

/* The part of the next group whose name space covers the name. */
static const udpai_settled_part *
next_part(const udpai_settled_facts *facts,
          const udpai_unsettled *missing,
          udpai_str name,
          size_t *at)
{
    udpai_str prefix;
    while (udpai_name_next_prefix(name, at, &prefix)) {
        const udpai_settled_group *group = udpai_settled_groups_find(facts->groups, prefix);
        const udpai_settled_part *part =
            group ? udpai_settled_group_part(group, missing->of_groups) : NULL;
        if (part)
            return part;
    }
    return NULL;
}

struct below {
    unsigned number;
    bool any;
};

/* False: it has been asked for something that it has not answered. */
static bool
note_below(void *userdata, const udpai_settled_group *group)
{
    struct below *below = userdata;
    const udpai_settled_part *part = udpai_settled_group_part(group, below->number);
    below->any |= part != NULL;
    return !part || part->n_asked == 0;
}

static bool
is_answered_to_groups(const udpai_settled_facts *facts,
                      const udpai_unsettled *missing,
                      udpai_str scope,
                      bool as_name)
{
    size_t at = 0;
    bool any = false;
    const udpai_settled_part *part;
    while ((part = next_part(facts, missing, scope, &at))) {
        any = true;
        if (!is_answered_by(part, scope, as_name))
            return false;
    }
    if (any || as_name)
        return any;
    struct below below = {missing->of_groups, udpai_prefix_covers(scope, missing->prefix)};
    return udpai_settled_groups_visit(facts->groups, scope, note_below, &below) && below.any;
}

bool
udpai_settled_is_waited_for(const udpai_settled_facts *facts, const udpai_unsettled *missing)
{
    struct below below = {missing->of_groups, false};
    return !missing->on_demand || missing->n_asked ||
           (missing->of_groups &&
            !udpai_settled_groups_visit(facts->groups, (udpai_str){"", 0}, note_below, &below));
}

/* ---- what is missed ---- */

static bool
is_answered(const udpai_settled_facts *facts,
            const udpai_unsettled *missing,
            udpai_str scope,
            bool as_name)
{
    if (missing->of_groups)
        return is_answered_to_groups(facts, missing, scope, as_name);
    if (!as_name && udpai_prefix_covers(scope, missing->prefix))
        scope = missing->prefix; /* it was asked for no more than it may have */
    return as_name ? udpai_settled_is_in(missing->answered, missing->n_answered, scope)
                   : udpai_settled_is_covered(missing->answered, missing->n_answered, scope);
}

/* Names and prefixes that were asked for and not answered. */
struct asked {
    const udpai_str *texts;
    size_t n;
};

static bool
is_alias_asked(const struct asked *asked, udpai_str alias)
{
    if (!udpai_alias_is_pattern(alias))
        return udpai_settled_is_in(asked->texts, asked->n, alias);
    for (size_t i = 0; i < asked->n; i++)
        if (udpai_alias_matches(alias, asked->texts[i]))
            return true;
    return false;
}

static bool
is_asked(const struct asked *asked, const udpa_resource *resource)
{
    if (udpai_settled_is_covered(asked->texts, asked->n, udpai_resource_name(resource)))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        if (is_alias_asked(asked, udpai_resource_alias(resource, i)))
            return true;
    return false;
}

static bool
is_asked_in_groups_of(const udpai_settled_facts *facts,
                      const udpai_unsettled *missing,
                      udpai_str name,
                      const udpa_resource *resource)
{
    size_t at = 0;
    const udpai_settled_part *part;
    while ((part = next_part(facts, missing, name, &at)))
        if (is_asked(&(struct asked){part->asked, part->n_asked}, resource))
            return true;
    return false;
}

static bool
is_asked_anywhere(const udpai_settled_facts *facts,
                  const udpai_unsettled *missing,
                  const udpa_resource *resource)
{
    if (!missing->of_groups)
        return is_asked(&(struct asked){missing->asked, missing->n_asked}, resource);
    if (is_asked_in_groups_of(facts, missing, udpai_resource_name(resource), resource))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        if (is_asked_in_groups_of(facts, missing, udpai_resource_alias(resource, i), resource))
            return true;
    return false;
}

static bool
is_of_node(udpai_str scope)
{
    return udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), scope);
}

/* Is it where only the node itself speaks? */
static bool
is_own(const udpai_settled_facts *facts, udpai_str scope)
{
    return !facts->asks_for_status && is_of_node(scope);
}

/* Could it own something there? */
static bool
may_own(const udpai_settled_facts *facts,
        const udpai_unsettled *missing,
        udpai_str type_url,
        udpai_str scope)
{
    if (is_own(facts, scope) && !is_of_node(missing->prefix))
        return false;
    return (missing->type_url.len == 0 || udpai_str_eq(missing->type_url, type_url)) &&
           (udpai_prefix_covers(missing->prefix, scope) ||
            udpai_prefix_covers(scope, missing->prefix));
}

bool
udpai_settled_is_missed(const udpai_settled_facts *facts,
                        const udpai_unsettled *missing,
                        const udpai_settled_question *question)
{
    if (question->except_node.len && udpai_str_eq(missing->peer_node, question->except_node))
        return false;
    bool is_looked_up = question->as_name && !question->is_there;
    if (missing->only_absence &&
        (!question->of_absence || udpai_type_is_client(question->type_url)))
        return false;
    return (is_looked_up || !missing->by_name) &&
           may_own(facts, missing, question->type_url, question->scope) &&
           !is_answered(facts, missing, question->scope, question->as_name);
}

bool
udpai_settled_knows_type(const udpai_settled_facts *facts, udpai_str type_url)
{
    for (size_t i = 0; i < facts->n_known_types; i++)
        if (udpai_str_eq(facts->known_types[i], type_url))
            return true;
    return !facts->only_known_types || (!facts->asks_for_status && udpai_type_is_client(type_url));
}

/* ---- names with sources of their own ---- */

static udpai_settled_state
worse(udpai_settled_state state,
      const udpai_settled_name *name,
      const udpai_settled_question *question)
{
    bool counts = name->is_missing && !(question->except_node.len &&
                                        udpai_str_eq(name->peer_node, question->except_node));
    if (!counts || state == UDPAI_UNSETTLED)
        return state;
    return name->may_wait_for_us ? UDPAI_SETTLED_AFTER_WAIT : UDPAI_UNSETTLED;
}

/* Of those that lie in what is asked about. */
static udpai_settled_state
answer_below(const udpai_settled_facts *facts, const udpai_settled_question *question)
{
    const udpai_settled_name *all;
    udpai_settled_state state = UDPAI_SETTLED;
    size_t n =
        udpai_settled_names_miss(facts->names) ? udpai_settled_names_all(facts->names, &all) : 0;
    for (size_t i = 0; i < n && state != UDPAI_UNSETTLED; i++)
        if (udpai_str_eq(all[i].type_url, question->type_url) &&
            udpai_prefix_covers(question->scope, all[i].name))
            state = worse(state, &all[i], question);
    return state;
}

size_t
udpai_settled_find_named(const udpai_settled *settled,
                         const udpai_settled_question *question,
                         const udpai_settled_name **ret_first)
{
    return settled && question->as_name
               ? udpai_settled_names_find(settled->facts.names, question->type_url, question->scope,
                                          ret_first)
               : 0;
}

/* ---- answers ---- */

static udpai_settled_state
find_answer(const udpai_settled *settled, const udpai_settled_question *question)
{
    const udpai_settled_name *named;
    size_t n = udpai_settled_find_named(settled, question, &named);
    udpai_settled_state state = UDPAI_SETTLED;
    for (size_t i = 0; i < n; i++)
        state = worse(state, &named[i], question);
    if (n)
        return state;
    /* What an endpoint does not report now, it does not report. */
    if (!settled && udpai_type_is_client(question->type_url))
        return UDPAI_SETTLED;
    if (!settled || !(udpai_settled_knows_type(&settled->facts, question->type_url) ||
                      is_own(&settled->facts, question->scope)))
        return UDPAI_UNSETTLED;
    state = question->as_name ? UDPAI_SETTLED : answer_below(&settled->facts, question);
    for (size_t i = 0; i < settled->facts.n_missing && state != UDPAI_UNSETTLED; i++) {
        const udpai_unsettled *missing = &settled->facts.missing[i];
        if (!udpai_settled_is_missed(&settled->facts, missing, question))
            continue;
        if (!missing->may_wait_for_us)
            return UDPAI_UNSETTLED;
        state = UDPAI_SETTLED_AFTER_WAIT;
    }
    return state;
}

static udpai_settled_state
answer(const udpai_settled *settled, const udpai_settled_question *question)
{
    udpai_settled_state state = find_answer(settled, question);
    return state == UDPAI_SETTLED_AFTER_WAIT && udpai_settled_is_closed(settled, question)
               ? UDPAI_SETTLED
               : state;
}

udpai_settled_state
udpai_settled_query(const udpai_settled *settled,
                    udpai_str type_url,
                    udpai_str name_or_prefix,
                    udpai_str except_node)
{
    const udpai_settled_question question = {
        .type_url = type_url, .scope = name_or_prefix, .except_node = except_node};
    return answer(settled, &question);
}

udpai_settled_state
udpai_settled_query_name(const udpai_settled *settled,
                         udpai_str type_url,
                         udpai_str name,
                         udpai_str except_node)
{
    const udpai_settled_question question = {
        .type_url = type_url, .scope = name, .except_node = except_node, .as_name = true};
    return answer(settled, &question);
}

udpai_settled_state
udpai_settled_query_held(const udpai_settled *settled,
                         udpai_str type_url,
                         udpai_str name,
                         udpai_str except_node)
{
    const udpai_settled_question question = {.type_url = type_url,
                                             .scope = name,
                                             .except_node = except_node,
                                             .as_name = true,
                                             .is_there = true};
    return answer(settled, &question);
}

bool
udpai_settled_knows_absence(const udpai_settled *settled, udpai_str type_url, udpai_str name)
{
    const udpai_settled_question question = {
        .type_url = type_url, .scope = name, .as_name = true, .of_absence = true};
    for (size_t i = 0; settled && i < settled->facts.n_missing; i++)
        if (settled->facts.missing[i].only_absence &&
            udpai_settled_is_missed(&settled->facts, &settled->facts.missing[i], &question))
            return false;
    return settled != NULL;
}

bool
udpai_settled_is_awaited(const udpai_settled *settled, const udpa_resource *resource)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    const udpai_settled_name *named;
    size_t n = settled ? udpai_settled_names_find(settled->facts.names, type_url, name, &named) : 0;
    if (n)
        return named->is_missing;
    if (!settled ||
        !(udpai_settled_knows_type(&settled->facts, type_url) || is_own(&settled->facts, name)))
        return true;
    const udpai_settled_question question = {.type_url = type_url, .scope = name};
    for (size_t i = 0; i < settled->facts.n_missing; i++) {
        const udpai_unsettled *missing = &settled->facts.missing[i];
        if (missing->on_demand ? may_own(&settled->facts, missing, type_url, name) &&
                                     is_asked_anywhere(&settled->facts, missing, resource)
                               : udpai_settled_is_missed(&settled->facts, missing, &question))
            return true;
    }
    return false;
}

/* Of those that lie there, or are it. */
static uint64_t
since_of_named(const udpai_settled_facts *facts, const udpai_settled_question *question)
{
    const udpai_settled_name *all;
    uint64_t since_ms = 0;
    size_t n =
        udpai_settled_names_miss(facts->names) ? udpai_settled_names_all(facts->names, &all) : 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].is_missing && udpai_str_eq(all[i].type_url, question->type_url) &&
            udpai_prefix_covers(question->scope, all[i].name) && all[i].since_ms > since_ms)
            since_ms = all[i].since_ms;
    return since_ms;
}

uint64_t
udpai_settled_since(const udpai_settled *settled,
                    udpai_str type_url,
                    udpai_str name_or_prefix,
                    udpai_str except_node)
{
    const udpai_settled_question question = {
        .type_url = type_url, .scope = name_or_prefix, .except_node = except_node, .as_name = true};
    const udpai_settled_name *named;
    size_t n = udpai_settled_find_named(settled, &question, &named);
    uint64_t since_ms = settled ? since_of_named(&settled->facts, &question) : 0;
    for (size_t i = 0; n == 0 && settled && i < settled->facts.n_missing; i++) {
        const udpai_unsettled *missing = &settled->facts.missing[i];
        if (udpai_settled_is_missed(&settled->facts, missing, &question) &&
            missing->since_ms > since_ms)
            since_ms = missing->since_ms;
    }
    return since_ms;
}

const udpai_unsettled *
udpai_settled_missing(const udpai_settled *settled,
                      udpai_str type_url,
                      udpai_str prefix,
                      udpai_str except_node)
{
    const udpai_settled_question question = {
        .type_url = type_url, .scope = prefix, .except_node = except_node};
    const udpai_unsettled *longest = NULL;
    for (size_t i = 0; settled && i < settled->facts.n_missing; i++) {
        const udpai_unsettled *missing = &settled->facts.missing[i];
        if (udpai_settled_is_missed(&settled->facts, missing, &question) &&
            (!longest || missing->missing_ms < longest->missing_ms))
            longest = missing;
    }
    return longest;
}

const udpai_unsettled *
udpai_settled_first_missing(const udpai_settled *settled)
{
    for (size_t i = 0; i < settled->facts.n_missing; i++) {
        const udpai_unsettled *missing = &settled->facts.missing[i];
        bool is_whole = !missing->on_demand && !missing->by_name && !missing->only_absence &&
                        !missing->of_groups;
        if (is_whole && !udpai_str_eq(missing->prefix, UDPAI_STR(UDPAI_NODE_NAMESPACE)))
            return missing;
    }
    return NULL;
}

static bool
is_same_gap(const udpai_unsettled *a, const udpai_unsettled *b)
{
    return udpai_str_eq(a->source, b->source) && udpai_str_eq(a->type_url, b->type_url) &&
           udpai_str_eq(a->prefix, b->prefix);
}

/* Both lists come in nearly the same order: each is looked for from where the last one was. */
void
udpai_settled_facts_date(udpai_unsettled *missing,
                         size_t n,
                         const udpai_settled *before,
                         uint64_t now_ms)
{
    size_t n_before = before ? before->facts.n_missing : 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        missing[i].missing_ms = now_ms;
        for (size_t k = 0; k < n_before; k++) {
            const udpai_unsettled *earlier = &before->facts.missing[(at + k) % n_before];
            if (!is_same_gap(&missing[i], earlier))
                continue;
            missing[i].missing_ms = earlier->missing_ms;
            at += k + 1;
            break;
        }
    }
}

const udpai_settled_facts *
udpai_settled_facts_of(const udpai_settled *settled)
{
    return &settled->facts;
}

static bool
same_texts(const udpai_str *a, size_t n_a, const udpai_str *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!udpai_str_eq(a[i], b[i]))
            return false;
    return true;
}

static bool
same_waiting(const udpai_unsettled *a, const udpai_unsettled *b)
{
    if (a->n_waiting != b->n_waiting)
        return false;
    for (size_t i = 0; i < a->n_waiting; i++)
        if (!udpai_str_eq(a->waiting[i].waits, b->waiting[i].waits) ||
            !same_texts(a->waiting[i].asked, a->waiting[i].n_asked, b->waiting[i].asked,
                        b->waiting[i].n_asked))
            return false;
    return true;
}

static bool
same_missing(const udpai_unsettled *a, const udpai_unsettled *b)
{
    return udpai_str_eq(a->type_url, b->type_url) && udpai_str_eq(a->prefix, b->prefix) &&
           udpai_str_eq(a->source, b->source) && udpai_str_eq(a->peer_node, b->peer_node) &&
           a->may_wait_for_us == b->may_wait_for_us && a->since_ms == b->since_ms &&
           udpai_str_eq(a->why, b->why) && udpai_str_eq(a->waits, b->waits) &&
           a->on_demand == b->on_demand && a->by_name == b->by_name &&
           a->only_absence == b->only_absence && a->of_groups == b->of_groups &&
           same_texts(a->answered, a->n_answered, b->answered, b->n_answered) &&
           same_texts(a->asked, a->n_asked, b->asked, b->n_asked) && same_waiting(a, b);
}

bool
udpai_settled_equal(const udpai_settled *one, const udpai_settled *other)
{
    if (!one || !other)
        return one == other;
    const udpai_settled_facts *a = &one->facts, *b = &other->facts;
    if (a->n_missing != b->n_missing || a->only_known_types != b->only_known_types ||
        a->groups != b->groups || a->names != b->names || !udpai_str_eq(a->self, b->self))
        return false;
    for (size_t i = 0; i < a->n_missing; i++)
        if (!same_missing(&a->missing[i], &b->missing[i]))
            return false;
    return same_texts(a->known_types, a->n_known_types, b->known_types, b->n_known_types);
}
