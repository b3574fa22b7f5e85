/* SPDX-License-Identifier: Apache-2.0 */
/* What the tested server is known to have: resources that the suite publishes itself, by a changer,
 * or, without one, names that were given or received. Cases use short names: "a", "b", "c"; for a
 * missing resource "nobody"; "*" is the wildcard. What begins with
 * "xdstp:" is by a URL, "xdstp:a?x=1" by xdstp://AUTHORITY/TYPE/PREFIX/a?x=1; behind
 * "xdstp-elsewhere:" the authority is another one, behind "xdstp-mistyped:" the type. */
#ifndef UDPAI_CONFORM_WORLD_H
#define UDPAI_CONFORM_WORLD_H

#include "base/vector.h"
#include "tools/conform/peer.h"

typedef struct udpai_world_entry {
    udpai_kind kind;
    char *alias;       /* as cases call it */
    char *name;        /* as the server does */
    unsigned variant;  /* the one that is there; 0: none, or it is not known which */
    bool is_changed;   /* a case has changed it: it is put back, or removed, behind it */
    bool is_permanent; /* there between cases */
    bool is_special;   /* with a ttl, an alias, or lazy: to be replaced by a plain one */
} udpai_world_entry;

typedef struct udpai_world {
    const char *prefix;    /* of names that the suite makes up */
    const char *authority; /* of those that are URLs */
    udpai_changer changer; /* apply is NULL: there is none */
    UDPAI_VECTOR(udpai_world_entry *) entries;
    UDPAI_VECTOR(udpai_edit) staged; /* their payloads are owned, by `payloads` */
    UDPAI_VECTOR(udpa_bytes *) payloads;
    UDPAI_VECTOR(udpai_world_entry *) staged_entries; /* of each change */
    unsigned last_variant;
    bool is_between;              /* what is staged is no change of a case */
    bool is_missing[UDPAI_KINDS]; /* the changer does not do these */
    bool failed;                  /* without memory */
} udpai_world;

/* @p prefix is borrowed. The authority is one that nobody has, until somebody else is named. */
void udpai_world_init(udpai_world *world, const char *prefix, const udpai_changer *changer);
void udpai_world_done(udpai_world *world);
bool udpai_world_can_change(const udpai_world *world);

/* Without a changer: the server has this, too. What comes first is "a". */
void udpai_world_learn(udpai_world *world, udpai_kind kind, udpai_str name);

/* The name that a short one means; NULL: there is none. */
const char *udpai_world_name(udpai_world *world, udpai_kind kind, const char *alias);
/* The variant of what has this name; 0: it is not known, or not there. */
unsigned udpai_world_variant(const udpai_world *world, udpai_kind kind, udpai_str name);
/* Are they one name? URLs have several spellings. */
bool udpai_world_same_name(const char *a, const char *b);
/* The entry of this name; NULL: none. */
udpai_world_entry *udpai_world_find(const udpai_world *world, udpai_kind kind, udpai_str name);

typedef struct udpai_world_extra {
    unsigned variant; /* 0: a new one */
    uint64_t ttl_ms;
    const char *other_name; /* an alias in the sense of the protocol; NULL: none */
    bool is_lazy;           /* not for wildcards */
} udpai_world_extra;

/* Has it there with the next commit; @p extra may be NULL. */
void udpai_world_set(udpai_world *world,
                     udpai_kind kind,
                     const char *alias,
                     const udpai_world_extra *extra);
void udpai_world_remove(udpai_world *world, udpai_kind kind, const char *alias);
/* Carries out what was staged. */
udpai_change_result udpai_world_commit(udpai_world *world, udpai_strbuf *why);

/* Forgets what was staged. */
void udpai_world_drop_staged(udpai_world *world);

/* Stages what all cases begin with, kind by kind; "s0" of a kind comes last in each commit that
 * restores, so a session that sees it sees the rest. */
void udpai_world_stage_begin(udpai_world *world, udpai_kind kind);
/* Stages what puts everything back as it was; a bit for each kind that is concerned. */
unsigned udpai_world_stage_restore(udpai_world *world);
/* Stages the removal of all that the suite has put there. */
void udpai_world_stage_end(udpai_world *world);

#endif
