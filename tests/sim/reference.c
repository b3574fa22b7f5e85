/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <string.h>

static bool
passes(const ref_word *word, int node)
{
    for (int i = 0; i < word->n_path; i++)
        if (word->path[i] == node)
            return true;
    return false;
}

static ref_wish
max_wish(ref_wish a, ref_wish b)
{
    return a > b ? a : b;
}

/* ---- rules ---- */

static bool
covers(const ref_model *model, ref_spaces spaces, int key)
{
    for (int outer = 0; outer < REF_NAMESPACES; outer++)
        if (spaces >> outer & 1 && model->lies_in[outer][model->key_namespace[key]])
            return true;
    return false;
}

/* May the node see it at its source? */
static bool
is_shown(const ref_model *model, const ref_node *node, const ref_source *source, int key)
{
    const ref_node *from = &model->nodes[source->node];
    return from->serves && covers(model, from->shows[node->colour], key);
}

static bool
is_taken(const ref_model *model, const ref_node *node, const ref_source *source, int key)
{
    return !node->is_strict || covers(model, source->taken, key);
}

static bool
may_publish(const ref_model *model, const ref_node *node, int publisher, int key)
{
    return covers(model, node->takes[model->nodes[publisher].colour], key);
}

/* ---- what is asked ---- */

/* What a node asks its source for: a mirror for names, too, that it is asked for. */
static ref_wish
asks(const ref_model *model, const ref_node *node, const ref_source *source, int key)
{
    if (!covers(model, source->asked, key))
        return REF_UNWANTED;
    return node->on_demand ? node->wishes[key] : max_wish(node->wishes[key], REF_BY_WILDCARD);
}

/* True: something is wanted that was not before. */
static bool
pass_wishes(ref_model *model, const ref_node *node)
{
    bool any = false;
    for (int i = 0; i < node->n_sources; i++)
        for (int key = 0; key < model->n_keys; key++) {
            ref_wish *wish = &model->nodes[node->sources[i].node].wishes[key];
            ref_wish wanted = max_wish(*wish, asks(model, node, &node->sources[i], key));
            any |= wanted != *wish;
            *wish = wanted;
        }
    return any;
}

/* ---- words ---- */

/* What `to` would hold if it took this word from a source. */
static ref_word
carried(const ref_model *model, const ref_source *source, int to, int key)
{
    const ref_node *node = &model->nodes[to];
    ref_word word = model->nodes[source->node].result[key];
    ref_wish needed = model->is_lazy[key] ? REF_BY_NAME : REF_BY_WILDCARD;
    if (!word.said.exists || passes(&word, to) || word.n_path == REF_HOPS ||
        asks(model, node, source, key) < needed || !is_shown(model, node, source, key) ||
        !is_taken(model, node, source, key))
        return (ref_word){0};
    word.path[word.n_path++] = to;
    return word;
}

static ref_word
of_here(const ref_said *said, int node)
{
    return (ref_word){.said = *said, .path = {node}, .n_path = 1};
}

static bool
is_taken_from(const ref_node *node, int i)
{
    return node->only_source < 0 || node->only_source == i;
}

static bool
has_several_authorities(const ref_word *words, int n)
{
    for (int i = 1; i < n; i++)
        if (words[i].said.authority != words[0].said.authority)
            return true;
    return false;
}

/* The first source that has a word decides. If all have it from one authority, the one with the
 * shortest way brings it. */
static ref_word
best_of_sources(const ref_model *model, int to, int key)
{
    const ref_node *node = &model->nodes[to];
    ref_word words[REF_SOURCES] = {0};
    int n = 0, best = 0;
    for (int i = 0; i < node->n_sources; i++) {
        if (is_taken_from(node, i))
            words[n] = carried(model, &node->sources[i], to, key);
        n += words[n].said.exists;
    }
    for (int i = 1; i < n && !has_several_authorities(words, n); i++)
        if (words[i].n_path < words[best].n_path)
            best = i;
    return words[best];
}

/* Between authorities: files, then publishers, then sources in order. */
static ref_word
best_word(const ref_model *model, int to, int key)
{
    const ref_node *node = &model->nodes[to];
    const ref_said *published = &node->published[key];
    if (node->files[key].exists)
        return of_here(&node->files[key], to);
    if (published->exists && may_publish(model, node, published->authority, key))
        return of_here(published, to);
    return best_of_sources(model, to, key);
}

static bool
same_word(const ref_word *a, const ref_word *b)
{
    return a->said.exists == b->said.exists && a->said.authority == b->said.authority &&
           a->said.version == b->said.version && a->n_path == b->n_path &&
           memcmp(a->path, b->path, sizeof(a->path)) == 0;
}

/* True: something has changed. */
static bool
pass_words(ref_model *model, int to)
{
    bool any = false;
    for (int key = 0; key < model->n_keys; key++) {
        ref_word *result = &model->nodes[to].result[key];
        ref_word word = best_word(model, to, key);
        any |= !same_word(&word, result);
        *result = word;
    }
    return any;
}

/* ---- solving ---- */

static void
choose_sources(ref_model *model, unsigned fallen)
{
    unsigned n = 0;
    for (int i = 0; i < model->n_nodes; i++) {
        ref_node *node = &model->nodes[i];
        node->only_source = node->fails_over ? (int)(fallen >> n++ & 1) : -1;
        if (node->fails_over && !model->nodes[node->sources[0].node].serves)
            node->only_source = 1;
    }
}

static unsigned
count_fail_overs(const ref_model *model)
{
    unsigned n = 0;
    for (int i = 0; i < model->n_nodes; i++)
        n += model->nodes[i].fails_over;
    return n;
}

static void
solve(ref_model *model, unsigned fallen)
{
    bool any = true;
    choose_sources(model, fallen);
    for (int round = 0; any && round <= model->n_nodes; round++) {
        any = false;
        for (int node = 0; node < model->n_nodes; node++)
            any |= pass_wishes(model, &model->nodes[node]);
    }
    for (int node = 0; node < model->n_nodes; node++)
        memset(model->nodes[node].result, 0, sizeof(model->nodes[node].result));
    any = true;
    for (int round = 0; any && round < 2 * model->n_nodes + 2; round++) {
        any = false;
        for (int node = 0; node < model->n_nodes; node++)
            any |= pass_words(model, node);
    }
}

void
ref_solve(ref_model *model)
{
    solve(model, 0);
}

bool
ref_is_certain(ref_model *model, int node, int key)
{
    unsigned n_cases = 1u << count_fail_overs(model);
    for (unsigned fallen = 0; fallen < n_cases; fallen++) {
        solve(model, fallen);
        if (!model->nodes[node].result[key].said.exists)
            return false;
    }
    return true;
}

/* ---- what may be there at all ---- */

/* Backwards from the node, each looked at once. */
static bool
has_path(ref_model *model, int to, int key, int where)
{
    ref_node *node = &model->nodes[to];
    if (node->looked_at == model->n_looks)
        return false;
    node->looked_at = model->n_looks;
    if (to == where)
        return true;
    for (int i = 0; i < node->n_sources; i++) {
        const ref_source *source = &node->sources[i];
        if (covers(model, source->asked, key) && is_shown(model, node, source, key) &&
            is_taken(model, node, source, key) && has_path(model, source->node, key, where))
            return true;
    }
    return false;
}

bool
ref_may_hold(ref_model *model, int node, int key, int authority, int where)
{
    model->n_looks++;
    return (authority == where || may_publish(model, &model->nodes[where], authority, key)) &&
           has_path(model, node, key, where);
}
