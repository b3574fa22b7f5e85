/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: resources lie in them by turns, so do streams, and each stream subscribes to its own.
 * Without --namespaces there is one. Pure. */
#ifndef UDPAI_BENCH_SPACES_H
#define UDPAI_BENCH_SPACES_H

#include "tools/bench/contents.h"
#include "tools/bench/load.h"

typedef char udpai_load_space[UDPAI_CONTENTS_NAME_ROOM];

static inline size_t
udpai_load_n_spaces(const udpai_load_options *options)
{
    return options->n_namespaces ? options->n_namespaces : 1;
}

/* Where a resource lies; the first that a stream subscribes to. */
static inline size_t
udpai_load_space_of(const udpai_load_options *options, size_t index)
{
    return index % udpai_load_n_spaces(options);
}

/* How many a stream subscribes to: from its first one on, around. */
static inline size_t
udpai_load_n_of_a_stream(const udpai_load_options *options)
{
    return options->n_of_a_stream ? options->n_of_a_stream : 1;
}

/* Does a stream whose first one is this subscribe to that one? */
bool udpai_load_subscribes_to_space(const udpai_load_options *options, size_t first, size_t space);

/* How many resources lie in it, from @p first on. */
size_t udpai_load_n_in_space(const udpai_load_options *options, size_t first);
/* The same in all that a stream subscribes to. */
size_t udpai_load_n_in_spaces(const udpai_load_options *options, size_t first);

/* "com.acme", or with several "com.acme.t7". */
void udpai_load_space_name(udpai_load_space room, const udpai_load_options *options, size_t space);

#endif
