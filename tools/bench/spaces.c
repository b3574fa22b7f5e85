/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/spaces.h"

#include <stdio.h>

size_t
udpai_load_n_in_space(const udpai_load_options *options, size_t first)
{
    size_t n = udpai_load_n_spaces(options);
    return first < options->n_resources ? (options->n_resources - first + n - 1) / n : 0;
}

bool
udpai_load_subscribes_to_space(const udpai_load_options *options, size_t first, size_t space)
{
    size_t n = udpai_load_n_spaces(options);
    return (space + n - first) % n < udpai_load_n_of_a_stream(options);
}

size_t
udpai_load_n_in_spaces(const udpai_load_options *options, size_t first)
{
    size_t n = 0;
    for (size_t i = 0; i < udpai_load_n_of_a_stream(options); i++)
        n += udpai_load_n_in_space(options, udpai_load_space_of(options, first + i));
    return n;
}

void
udpai_load_space_name(udpai_load_space room, const udpai_load_options *options, size_t space)
{
    if (options->n_namespaces)
        snprintf(room, sizeof(udpai_load_space), "%s.t%zu", options->name_space, space);
    else
        snprintf(room, sizeof(udpai_load_space), "%s", options->name_space);
}
