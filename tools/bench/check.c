/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked for together. */
#include "tools/bench/load.h"

static const char *
wrong_with_streams(const udpai_load_options *options)
{
    bool has_own = options->n_connections == options->n_streams;
    if (options->n_connections == 0 || options->n_connections > options->n_streams)
        return "there are more connections than streams, or none of them";
    if (options->n_names > options->n_resources && options->n_resources)
        return "each stream asks for more names than there are resources";
    if (options->n_slow && (options->n_slow >= options->n_streams || !has_own))
        return "slow streams need connections of their own, and some beside them that read";
    if (options->n_of_envoys && options->protocol != UDPAI_LOAD_DELTA)
        return "only in delta streams subscribe as an Envoy does";
    if (options->n_of_envoys && (options->reconnects || !options->n_resources))
        return "streams that subscribe as an Envoy does hold nothing over a reconnect, and must "
               "know "
               "how many endpoints there are: --resources";
    if (options->slow_bytes_per_s && !options->n_slow)
        return "a rate of slow streams needs some: --slow";
    return NULL;
}

static const char *
wrong_with_changes(const udpai_load_options *options)
{
    bool can_change = options->publish_to || options->control;
    if (options->publish_to && options->control)
        return "changes are published, or sent as records: not both";
    if (options->n_resources == 0 && (can_change || options->n_names))
        return "how many resources there are must be known";
    if (!can_change && (options->n_changes || options->reconnects))
        return "nobody changes resources: give --publish, --publish-to, or --control";
    if (!options->publish_to && (options->n_together > 1 || options->has_receipts))
        return "only what is published has receipts, and several resources in a change: give "
               "--publish or --publish-to";
    if (options->n_together > options->n_resources)
        return "a change replaces more resources than there are";
    if (options->is_idle && (options->n_changes || options->reconnects || options->n_slow))
        return "idle connections have no streams that anything could come to";
    if (options->per_second > 0 && options->depth > 1)
        return "at a rate changes do not wait for others: give --rate or --depth";
    if (options->reconnects && options->protocol == UDPAI_LOAD_STATE_OF_THE_WORLD)
        return "in the state of the world protocol nothing is held over a reconnect";
    return NULL;
}

static const char *
wrong_with_namespaces(const udpai_load_options *options)
{
    if (options->n_namespaces == 0)
        return options->n_of_a_stream
                   ? "--namespaces-each is of --namespaces, of which a stream asks for some"
                   : NULL;
    if (options->protocol != UDPAI_LOAD_UDPA || options->control)
        return "only in UDPA a stream asks for a namespace of its own: give --protocol udpa";
    if (options->n_names || options->reconnects)
        return "in namespaces of their own streams ask for all, and once: without --names and "
               "--reconnect";
    if (options->n_together > 1)
        return "with --namespaces each change replaces one resource: without --together";
    if (options->n_namespaces > options->n_resources)
        return "there are more namespaces than resources";
    if (options->n_of_a_stream > options->n_namespaces)
        return "each stream asks for more namespaces than there are";
    return NULL;
}

udpa_err
udpai_load_check(const udpai_load_options *options, udpa_error **ret_error)
{
    const char *wrong = wrong_with_streams(options);
    if (!wrong)
        wrong = wrong_with_changes(options);
    if (!wrong)
        wrong = wrong_with_namespaces(options);
    return wrong ? udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", wrong) : UDPA_OK;
}
