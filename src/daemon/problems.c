/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/problems.h"

#include <string.h>

#include "base/alloc.h"

static void
clear(udpai_problems *problems, udpai_problem_finder finder)
{
    for (size_t i = 0; i < problems->texts[finder].n; i++)
        udpai_free(problems->texts[finder].items[i]);
    problems->texts[finder].n = 0;
}

void
udpai_problems_set(udpai_problems *problems,
                   udpai_problem_finder finder,
                   const char *const *texts,
                   size_t n)
{
    UDPAI_VECTOR(const char *) all = {0};
    clear(problems, finder);
    for (size_t i = 0; i < n; i++) {
        char *copy = udpai_strdup(texts[i]);
        if (!copy || !udpai_vector_push(&problems->texts[finder], copy))
            udpai_free(copy);
    }
    for (size_t f = 0; f < UDPAI_PROBLEM_FINDERS; f++)
        for (size_t i = 0; i < problems->texts[f].n; i++)
            (void)udpai_vector_push(&all, problems->texts[f].items[i]);
    udpai_endpoint_set_problems(problems->endpoint, all.items, all.n);
    udpai_vector_done(&all);
}

bool
udpai_problems_has(const udpai_problems *problems, udpai_problem_finder finder, const char *text)
{
    for (size_t i = 0; i < problems->texts[finder].n; i++)
        if (strcmp(problems->texts[finder].items[i], text) == 0)
            return true;
    return false;
}

void
udpai_problems_done(udpai_problems *problems)
{
    for (size_t f = 0; f < UDPAI_PROBLEM_FINDERS; f++) {
        clear(problems, (udpai_problem_finder)f);
        udpai_vector_done(&problems->texts[f]);
    }
}
