/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that wait for each other: what this one waits for, and whether all of them wait for nothing
 * else; docs/design/federation.md, "Settled". */
#include "store/settled_internal.h"

#include "model/waits.h"

/* Most of what is asked about together is missing for one and the same reason. */
#define LAST_MAX 8

/* What is collected of one question, or several. */
struct collection {
    udpai_waits *waits;
    bool only_known; /* it ends at a source that has not stated its waits, or cannot */
    const char *last[LAST_MAX];
    unsigned n_last;
};

static bool
was_added(struct collection *collection, udpai_str waits)
{
    for (unsigned i = 0; i < LAST_MAX; i++)
        if (waits.len && collection->last[i] == waits.data)
            return true;
    collection->last[collection->n_last++ % LAST_MAX] = waits.data;
    return false;
}

/* False: it need not go on. */
static bool
add(struct collection *collection, bool may_wait_for_us, udpai_str peer, udpai_str waits)
{
    bool is_known = may_wait_for_us && peer.len;
    if (collection->only_known && (!is_known || waits.len == 0))
        return false;
    if (!is_known)
        udpai_waits_for_unknown(collection->waits);
    else if (!was_added(collection, waits))
        udpai_waits_for(collection->waits, peer, waits);
    return true;
}

static bool
add_named(struct collection *collection, const udpai_settled_name *name)
{
    return !name->is_missing ||
           add(collection, name->may_wait_for_us, name->peer_node, name->waits);
}

/* The waits of the question that asked for it. */
static udpai_str
find_waits(const udpai_unsettled *missing, const udpai_settled_question *question)
{
    udpai_str scope = question->scope;
    if (!missing->on_demand)
        return missing->waits;
    if (!question->as_name && udpai_prefix_covers(scope, missing->prefix))
        scope = missing->prefix;
    for (size_t i = 0; i < missing->n_waiting; i++) {
        const udpai_waiting_question *waiting = &missing->waiting[i];
        if (question->as_name ? udpai_settled_is_in(waiting->asked, waiting->n_asked, scope)
                              : udpai_settled_is_covered(waiting->asked, waiting->n_asked, scope))
            return waiting->waits;
    }
    return (udpai_str){0};
}

/* Names that have sources of their own, and lie in what is asked about. */
static bool
add_below(struct collection *collection,
          const udpai_settled_facts *facts,
          const udpai_settled_question *question)
{
    const udpai_settled_name *all;
    size_t n =
        udpai_settled_names_miss(facts->names) ? udpai_settled_names_all(facts->names, &all) : 0;
    for (size_t i = 0; i < n; i++)
        if (udpai_str_eq(all[i].type_url, question->type_url) &&
            udpai_prefix_covers(question->scope, all[i].name) && !add_named(collection, &all[i]))
            return false;
    return true;
}

static bool
add_missing(struct collection *collection,
            const udpai_settled_facts *facts,
            const udpai_settled_question *question)
{
    for (size_t i = 0; i < facts->n_missing; i++) {
        const udpai_unsettled *missing = &facts->missing[i];
        if (udpai_settled_is_missed(facts, missing, question) &&
            !add(collection, missing->may_wait_for_us, missing->peer_node,
                 find_waits(missing, question)))
            return false;
    }
    return true;
}

/* False: it has ended early, or of the type nothing is known. */
static bool
collect(struct collection *collection,
        const udpai_settled *settled,
        const udpai_settled_question *question)
{
    const udpai_settled_facts *facts = &settled->facts;
    const udpai_settled_name *named;
    size_t n = udpai_settled_find_named(settled, question, &named);
    for (size_t i = 0; i < n; i++)
        if (!add_named(collection, &named[i]))
            return false;
    return n || (udpai_settled_knows_type(facts, question->type_url) &&
                 (question->as_name || add_below(collection, facts, question)) &&
                 add_missing(collection, facts, question));
}

/* Whatever those nodes have that this node and they themselves wait for has come here before what
 * they sent of it. */
bool
udpai_settled_is_closed(const udpai_settled *settled, const udpai_settled_question *question)
{
    udpai_waits waits;
    struct collection collection = {.waits = &waits, .only_known = true};
    const udpai_settled_question anybody = {.type_url = question->type_url,
                                            .scope = question->scope,
                                            .as_name = question->as_name,
                                            .is_there = question->is_there};
    if (settled->facts.self.len == 0)
        return false;
    udpai_waits_begin(&waits, settled->facts.self);
    return collect(&collection, settled, &anybody) && udpai_waits_are_closed(&waits);
}

bool
udpai_settled_waits(const udpai_settled *settled,
                    udpai_str type_url,
                    udpai_str prefix,
                    udpai_waits *ret_waits)
{
    struct collection collection = {.waits = ret_waits};
    const udpai_settled_question question = {.type_url = type_url, .scope = prefix};
    if (!settled || settled->facts.self.len == 0)
        return false;
    udpai_waits_begin(ret_waits, settled->facts.self);
    return collect(&collection, settled, &question);
}

bool
udpai_settled_waits_names(const udpai_settled *settled,
                          udpai_str type_url,
                          const udpai_settled_asked *asked,
                          udpai_waits *ret_waits)
{
    struct collection collection = {.waits = ret_waits};
    if (!settled || settled->facts.self.len == 0)
        return false;
    udpai_waits_begin(ret_waits, settled->facts.self);
    for (size_t i = 0; i < asked->n_names; i++) {
        udpai_str name = udpai_bytes_view(asked->names[i]);
        bool is_there = asked->is_there && asked->is_there(asked->userdata, name);
        const udpai_settled_question question = {.type_url = type_url,
                                                 .scope = name,
                                                 .as_name = true,
                                                 .is_there = is_there,
                                                 .of_absence = !is_there};
        if (!collect(&collection, settled, &question))
            return false;
    }
    return true;
}
