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

/* What `to` would hold if it took this word from `from`. */
static ref_word
carried(const ref_model *model, int from, int to, int key)
{
    ref_word word = model->result[from][key];
    if (!word.exists || passes(&word, to))
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
best_word(const ref_model *model, int node, int key)
{
    if (model->files[node][key].exists)
        return of_here(&model->files[node][key], node);
    if (model->published[node][key].exists)
        return of_here(&model->published[node][key], node);
    for (int i = 0; i < model->n_sources[node]; i++) {
        const ref_source *source = &model->sources[node][i];
        if (source->namespace_of_keys >= 0 &&
            source->namespace_of_keys != model->key_namespace[key])
            continue;
        ref_word word = carried(model, source->node, node, key);
        if (word.exists)
            return word;
    }
    return (ref_word){0};
}

void
ref_solve(ref_model *model)
{
    memset(model->result, 0, sizeof(model->result));
    for (int round = 0; round < 2 * model->n_nodes + 2; round++)
        for (int node = 0; node < model->n_nodes; node++)
            for (int key = 0; key < model->n_keys; key++)
                model->result[node][key] = best_word(model, node, key);
}
