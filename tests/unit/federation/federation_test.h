/* SPDX-License-Identifier: Apache-2.0 */
/* A node on a virtual clock, with the stream side played by the test: sources are named a, b, c;
 * those that are made for groups of clients are called d, e, f … as they come. What the node orders
 * is one text, what it holds another. */
#ifndef UDPAI_FEDERATION_TEST_H
#define UDPAI_FEDERATION_TEST_H

#include "federation/node.h"
#include "tests/harness/resources.h"
#include "tests/unit/federation/disk.h"

#define FED_SOURCES 3
#define FED_LINKS 12
#define FED_TEXT 65536

/* A descriptor: source, prefix, continuation. */
typedef struct fed_descriptor {
    char source;
    const char *prefix;
    udpai_continuation continuation;
    bool on_demand;
} fed_descriptor;

typedef struct fed_bed {
    udpai_wheel wheel;
    udpai_node *node;
    udpai_node_config config;
    udpai_source_config sources[FED_SOURCES];
    udpai_str types[4];
    udpai_descriptor_config descriptors[4];
    udpai_provider_config provider;
    const char *root; /* of a directory that the node will be given; NULL: of none */
    int64_t wall_us;
    uint64_t chance; /* what every random number is */
    uint64_t links[FED_LINKS], sessions[FED_LINKS], last_session, committed;
    bool is_short;        /* of memory, for the next report: so many allocations succeed … */
    udpai_report *answer; /* of the stream side, which it gives next */
    bool is_short_longer; /* … and for what follows from it */
    long n_allocations;
    bool is_engine_slow; /* it is the test that says what the durable engine has kept */
    unsigned n_judged;   /* publications that were answered */
    char orders[FED_TEXT], judged[FED_TEXT], reports[FED_TEXT];
    /* Of the node's surroundings; NULL: nobody says. */
    bool (*subject_of)(void *bed,
                       const udpa_resource *report,
                       udpai_str *ret_type_url,
                       udpai_str *ret_name);
    unsigned n_moved; /* how often load was for others than before */
    fed_disk kept;
    char audit[FED_TEXT]; /* a line for each record, with a blank behind it */
} fed_bed;

static inline void
fed_audience_moved(void *bed)
{
    ((fed_bed *)bed)->n_moved++;
}

/* A bed with the sources a, b and c, of which providers use what they name. A type is CDS, EDS,
 * LDS, RDS, or a URL. */
int fed_setup(void **state);
int fed_teardown(void **state);
#define fed_test(function) cmocka_unit_test_setup_teardown(function, fed_setup, fed_teardown)

void fed_type(fed_bed *bed, const char *type);
void fed_descriptors(fed_bed *bed, const fed_descriptor *descriptors, size_t n);
#define FED_PROVIDER(bed, ...)                                                                     \
    fed_descriptors((bed), (const fed_descriptor[]){__VA_ARGS__},                                  \
                    sizeof((fed_descriptor[]){__VA_ARGS__}) / sizeof(fed_descriptor))
/* Makes the node alone, which may be refused. */
udpa_err fed_make(fed_bed *bed, udpa_error **ret_error);
void fed_start(fed_bed *bed);
/* Ends the process, and begins another with what was kept. */
void fed_restart(fed_bed *bed);
void fed_advance(fed_bed *bed, uint64_t ms);
/* The sources and providers of the bed's config are other ones now, which the node takes. */
udpa_err fed_reconfigure(fed_bed *bed);

/* ---- the stream side ---- */

typedef struct fed_peer {
    const char *id;             /* of its Node; NULL: after the source */
    const char *name;           /* of its certificate; NULL: none */
    const char *uri;            /* the same, beside the name */
    bool has_reports;           /* of its clients, for which it may be asked */
    bool is_plain;              /* knows no extensions */
    bool is_late;               /* its Node comes when it was asked without it */
    bool is_xds;                /* it has no Node, and has said nothing yet */
    const char *instance, *run; /* what it says of those; NULL: nothing */
    const char *epoch, *commit; /* of its store; NULL: it says none */
    bool is_whole;              /* and what that does not have has gone */
    const char *replica;        /* which of several that are this node; NULL: it is alone */
    const char *twins;          /* nodes with one id that it has heard of; NULL: none */
} fed_peer;

/* The stream that the node has dialled is open, and its peer has said who it is. */
void fed_connect(fed_bed *bed, char source);
void fed_connect_as(fed_bed *bed, char source, const fed_peer *peer);
/* Its stream ends, and is dialled and opened anew before the source counts as lost. */
void fed_come_back_as(fed_bed *bed, char source, const fed_peer *peer);
/* One that is_xds has said something. */
void fed_speak(fed_bed *bed, char source);
/* Somebody dials us; returns the session. */
uint64_t fed_arrive(fed_bed *bed, const fed_peer *peer);
void fed_close(fed_bed *bed, char source);
/* The same with an error. */
void fed_lose(fed_bed *bed, char source, const char *words);
/* A stream that somebody had opened ends; disowned: his certificate was revoked. */
void fed_leave(fed_bed *bed, uint64_t session, bool is_disowned);
/* Other rules hold; they are consumed. */
void fed_rule(fed_bed *bed, udpai_acl *acl);
/* What its peer publishes: words like x=1 (com.acme/x, value 1), ~x=1 (a refresh), ?x=1 (one that
 * the session ignores), -x (a removal), and !com.acme (complete), *com.acme (a state of the world
 * of this scope), ** (one without scope). The version is the value. Returns what is refused, as "x:
 * why". */
const char *fed_publish(fed_bed *bed, char source, const char *type, const char *words);
const char *fed_publish_at(fed_bed *bed, uint64_t session, const char *type, const char *words);
/* The same of a trial. Behind that is what each would do, as "adds", "nothing", "changes<files":
 * the authority is that of what is effective then. */
const char *fed_try_at(fed_bed *bed, uint64_t session, const char *type, const char *words);
/* Takes the publication. */
const char *fed_judge(fed_bed *bed, uint64_t session, udpai_publication *publication);
/* Publishes one resource with all its parts. */
const char *fed_put(fed_bed *bed, uint64_t session, udpa_resource *resource, bool is_refresh);
/* The peer refuses a Subscribe: names, or all of it. It has limits … */
void
fed_refuse(fed_bed *bed, char source, const char *type, const char *name_space, const char *name);
/* … or rules. */
void
fed_deny(fed_bed *bed, char source, const char *type, const char *name_space, const char *name);
/* Somebody here wants a name, or "*prefix". */
void fed_want(fed_bed *bed, const char *type, const char *text);
void fed_want_no_more(fed_bed *bed, const char *type, const char *text);

/* A source is asked for each group of clients by itself; its targets are noted as orders: "reach
 * com.acme/x as ID". */
void fed_ask_per_clients(fed_bed *bed, char source);
/* A group of clients is there, with this node id (NULL: none has said), or has gone. */
void fed_come(fed_bed *bed, const char *name_space, const char *node_id);
void fed_go(fed_bed *bed, const char *name_space);
/* The next report finds memory for so many allocations; so does, if longer, what follows from it.
 */
void fed_short(fed_bed *bed, long n_allocations, bool longer);
/* The engine has kept this batch and all before it, or has failed to: for one that is slow. After
 * fed_short() what follows at once finds memory for so many. */
void fed_committed(fed_bed *bed, uint64_t ticket, udpa_err result);

/* ---- looking ---- */

/* What was ordered since the last call: "dial a", "dial a1" (the second one of its servers; "long":
 * with all the time there is), "sub a CDS com.acme:*+2" (two are held already),
 * "unsub a CDS com.acme:x", "hangup a". */
const char *fed_orders(fed_bed *bed);
#define assert_orders(bed, expected) assert_string_equal(fed_orders(bed), (expected))
/* What of client types the stream side was told since the last call, and which sources are shown
 * it: "x/me>ab" is new, or another payload, "~x/me>b" the same for others, or once more, "x/me>*"
 * for all, "-x/me" gone. */
const char *fed_reports(fed_bed *bed);
#define assert_reports(bed, expected) assert_string_equal(fed_reports(bed), (expected))
/* The value that counts of com.acme/NAME (or a full name); "" for none. */
const char *fed_value(fed_bed *bed, const char *type, const char *name);
#define assert_value(bed, type, name, expected)                                                    \
    assert_string_equal(fed_value((bed), (type), (name)), (expected))
/* Is all known of the type and namespace? */
bool fed_settled(const fed_bed *bed, const char *type, const char *prefix);
bool fed_name_settled(const fed_bed *bed, const char *type, const char *name);

#endif
