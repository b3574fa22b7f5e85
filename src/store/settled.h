/* SPDX-License-Identifier: Apache-2.0 */
/* What is not known yet. Before a (type, namespace) is settled nothing negative is sent about it:
 * no removal of a name that was asked for, no "complete", no state of the world. The rules are in
 * docs/design/federation.md. A value: made whole by the federation, never changed, counted
 * atomically. */
#ifndef UDPAI_SETTLED_H
#define UDPAI_SETTLED_H

#include "base/error.h"
#include "base/util.h"
#include "model/name.h"
#include "model/resource.h"
#include "model/waits.h"
#include "store/settled_group.h"
#include "store/settled_names.h"

/* A question and what the source waits for (model/waits.h) before it answers it: names and prefixes
 * that it was asked for together. */
typedef struct udpai_waiting_question {
    udpai_str waits;
    const udpai_str *asked;
    size_t n_asked;
} udpai_waiting_question;

/* A source that has not sent yet all it has. In the namespace of nodes, sources are waited for only
 * if they are of that very namespace. */
typedef struct udpai_unsettled {
    udpai_str type_url;  /* empty: any type */
    udpai_str prefix;    /* the namespace it may own */
    udpai_str source;    /* its name, for messages */
    udpai_str peer_node; /* the instance of the node behind it; empty: not known */
    /* It is active and knows our extensions: it may itself be waiting for us, and then a bounded
     * wait must do. */
    bool may_wait_for_us;
    uint64_t since_ms;   /* by the wheels of both sides: since when it may */
    uint64_t missing_ms; /* by the same: since when it is missing */
    udpai_str why;       /* in words, such as "not connected" */
    /* What it has answered all the same: names, or prefixes of which it has sent all. */
    const udpai_str *answered;
    size_t n_answered;
    /* Not 0: these are sources that are asked for groups of clients; what they have answered for
     * each is in the groups under this number. Of a name space that is no group's nothing is known;
     * a question for more than one group is answered if those that there are have their answers. */
    unsigned of_groups;
    /* It is asked for single names and prefixes only; of these it has not answered yet. */
    bool on_demand;
    const udpai_str *asked;
    size_t n_asked;
    /* Only names are missing that it was not asked for by themselves; on_demand, too. */
    bool by_name;
    /* What there is may be sent as all; only of a name that is not here nothing is known. Such a
     * source may be away for long, and clients are served all the same. */
    bool only_absence;
    /* What it waits for itself, as it has stated (model/waits.h); empty: nothing. Of what is asked
     * on demand, it has stated so of each question by itself. */
    udpai_str waits;
    const udpai_waiting_question *waiting;
    size_t n_waiting;
} udpai_unsettled;

typedef struct udpai_settled_facts {
    const udpai_unsettled *missing;
    size_t n_missing;
    udpai_settled_groups *groups;
    udpai_settled_names *names; /* that have sources of their own; NULL: none */
    /* Sources are asked for their own status: the node's namespace is like any other. */
    bool asks_for_status;
    /* Set if other types than these may have sources that nobody has thought of yet: then nothing
     * is settled of them. */
    bool only_known_types;
    const udpai_str *known_types;
    size_t n_known_types;
    udpai_str self; /* the node's instance; empty: others are not waited for together */
} udpai_settled_facts;

typedef struct udpai_settled udpai_settled;

typedef enum udpai_settled_state {
    UDPAI_SETTLED,
    UDPAI_SETTLED_AFTER_WAIT, /* only sources that may be waiting for us are missing */
    UDPAI_UNSETTLED,
} udpai_settled_state;

/* Copies everything; NULL without memory. */
udpai_settled *udpai_settled_new(const udpai_settled_facts *facts);
udpai_settled *udpai_settled_ref(udpai_settled *settled);
udpai_settled *udpai_settled_unref(udpai_settled *settled);
UDPA_DEFINE_CLEANUP(udpai_settled, udpai_settled_unref)

/* Is everything known of this name, or of all below this prefix, that does not come from the node
 * `except_node`? A NULL snapshot has everything unsettled. */
udpai_settled_state udpai_settled_query(const udpai_settled *settled,
                                        udpai_str type_url,
                                        udpai_str name_or_prefix,
                                        udpai_str except_node);

/* The same of a name that somebody asks for as such: a source on demand must have been asked for
 * just it, since what is lazy comes by no prefix. */
udpai_settled_state udpai_settled_query_name(const udpai_settled *settled,
                                             udpai_str type_url,
                                             udpai_str name,
                                             udpai_str except_node);
/* The same of a name of which there is something here: a mirror brings that without its name. */
udpai_settled_state udpai_settled_query_held(const udpai_settled *settled,
                                             udpai_str type_url,
                                             udpai_str name,
                                             udpai_str except_node);
/* All of these answer as if what is missing of absence alone were known. Here is the rest: may it
 * be sent of a name that is not here that it does not exist? A NULL snapshot knows nothing. */
bool udpai_settled_knows_absence(const udpai_settled *settled, udpai_str type_url, udpai_str name);
/* May somebody here still be waiting for an answer that concerns this resource, by whatever name?
 */
bool udpai_settled_is_awaited(const udpai_settled *settled, const udpa_resource *resource);
/* Where the answer is UDPAI_SETTLED_AFTER_WAIT: since when all that is missing may be waiting for
 * us. The wait does not begin before, for a source that is not there is never waited out. */
uint64_t udpai_settled_since(const udpai_settled *settled,
                             udpai_str type_url,
                             udpai_str name_or_prefix,
                             udpai_str except_node);

/* Of what keeps this prefix from being settled, what has been missing longest; NULL: nothing, or
 * nothing that there is a word for. Good as long as the snapshot. */
const udpai_unsettled *udpai_settled_missing(const udpai_settled *settled,
                                             udpai_str type_url,
                                             udpai_str prefix,
                                             udpai_str except_node);
/* A source that has not sent yet all that it is asked for as a whole; NULL: there is none. What is
 * asked for by single names, or for single clients, is never all known, and what nodes report about
 * themselves is for people. Good as long as the snapshot. */
const udpai_unsettled *udpai_settled_first_missing(const udpai_settled *settled);
/* What was missing in the snapshot before is missing since then; everything else since now. */
void udpai_settled_facts_date(udpai_unsettled *missing,
                              size_t n,
                              const udpai_settled *before,
                              uint64_t now_ms);

/* What the node waits for there, whichever client asks; false: that is not known. */
bool udpai_settled_waits(const udpai_settled *settled,
                         udpai_str type_url,
                         udpai_str prefix,
                         udpai_waits *ret_waits);

/* Names that are asked for together. */
typedef struct udpai_settled_asked {
    udpa_bytes *const *names;
    size_t n_names;
    bool (*is_there)(const void *userdata, udpai_str name); /* is there something here? NULL: no */
    const void *userdata;
} udpai_settled_asked;

/* The same of those. */
bool udpai_settled_waits_names(const udpai_settled *settled,
                               udpai_str type_url,
                               const udpai_settled_asked *asked,
                               udpai_waits *ret_waits);

/* Is it waited for by anybody? One on demand is always among the facts: it is with what it was
 * asked. */
bool udpai_settled_is_waited_for(const udpai_settled_facts *facts, const udpai_unsettled *missing);

const udpai_settled_facts *udpai_settled_facts_of(const udpai_settled *settled);
bool udpai_settled_equal(const udpai_settled *a, const udpai_settled *b);

#endif
