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

static bool
is_covered(const ref_model *model, const ref_source *source, int key)
{
    return source->key_namespace < 0 || source->key_namespace == model->key_namespace[key];
}

/* What a node asks its source for. */
static ref_wish
asks(const ref_model *model, const ref_node *node, const ref_source *source, int key)
{
    if (!is_covered(model, source, key))
        return REF_UNWANTED;
    return node->on_demand ? node->wishes[key] : REF_BY_WILDCARD;
}

/* What `to` would hold if it took this word from a source. */
static ref_word
carried(const ref_model *model, const ref_source *source, int to, int key)
{
    const ref_node *node = &model->nodes[to];
    ref_word word = model->nodes[source->node].result[key];
    ref_wish needed = model->is_lazy[key] ? REF_BY_NAME : REF_BY_WILDCARD;
    if (!word.exists || passes(&word, to) || asks(model, node, source, key) < needed ||
        (node->is_strict && model->is_refused[key]))
        return (ref_word){0};
    word.path[word.n_path++] = to;
    return word;
}

static ref_word
of_here(const ref_word *said, int node)
{
    ref_word word = *said;
    word.n_path = 1;
    word.path[0] = node;
    return word;
}

/* Between authorities: files, then publishers, then sources in order. Of one authority: whoever is
 * first, for in quiet all say the same of it. */
static ref_word
best_word(const ref_model *model, int to, int key)
{
    const ref_node *node = &model->nodes[to];
    if (node->files[key].exists)
        return of_here(&node->files[key], to);
    if (node->published[key].exists && !(node->is_strict && model->is_refused[key]))
        return of_here(&node->published[key], to);
    for (int i = 0; i < node->n_sources; i++) {
        if (node->only_source >= 0 && node->only_source != i)
            continue;
        ref_word word = carried(model, &node->sources[i], to, key);
        if (word.exists)
            return word;
    }
    return (ref_word){0};
}

static void
pass_wishes(ref_model *model, const ref_node *node)
{
    for (int i = 0; i < node->n_sources; i++)
        for (int key = 0; key < model->n_keys; key++) {
            ref_wish *wish = &model->nodes[node->sources[i].node].wishes[key];
            *wish = max_wish(*wish, asks(model, node, &node->sources[i], key));
        }
}

static void
pass_words(ref_model *model)
{
    for (int node = 0; node < model->n_nodes; node++)
        memset(model->nodes[node].result, 0, sizeof(model->nodes[node].result));
    for (int round = 0; round < 2 * model->n_nodes + 2; round++)
        for (int node = 0; node < model->n_nodes; node++)
            for (int key = 0; key < model->n_keys; key++)
                model->nodes[node].result[key] = best_word(model, node, key);
}

static void
choose_sources(ref_model *model, unsigned fallen)
{
    unsigned n = 0;
    for (int i = 0; i < model->n_nodes; i++)
        model->nodes[i].only_source = model->nodes[i].fails_over ? (int)(fallen >> n++ & 1) : -1;
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
    choose_sources(model, fallen);
    for (int round = 0; round <= model->n_nodes; round++)
        for (int node = 0; node < model->n_nodes; node++)
            pass_wishes(model, &model->nodes[node]);
    pass_words(model);
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
        if (!model->nodes[node].result[key].exists)
            return false;
    }
    return true;
}
