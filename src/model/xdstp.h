/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the form xdstp://AUTHORITY/TYPE/ID?KEY=VALUE&…, and the names of UDPA that they map to.
 */

/* Two spellings are one name if their parts are equal once decoded, whatever the order of the
 * context parameters. The canonical text of ID and parameters, which goes behind a namespace, has
 * the parameters sorted by key, and percent signs only where the text would divide otherwise. So
 * the last '/' before the first '?' ends the path, and nothing behind it is one.
 *
 * A collection by glob is a name with '*' as its last path segment: it holds what has the same path
 * before that segment, any one segment there, and exactly the same parameters. */
#ifndef UDPAI_XDSTP_H
#define UDPAI_XDSTP_H

#include "model/name.h"

#define UDPAI_XDSTP_SCHEME "xdstp://"
#define UDPAI_XDSTP_TEXT_MAX 4096 /* bytes of a spelling, which may escape what it need not */
#define UDPAI_XDSTP_PARAMS_MAX 64

/* Taken apart. */
typedef struct udpai_xdstp {
    udpai_str authority; /* decoded; may be empty */
    udpai_str type;      /* the message type, a view of the text */
    udpai_str id;        /* canonical, with the parameters */
    bool is_glob;
    char room[UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX]; /* what authority and id are views of */
} udpai_xdstp;

/* Does the text claim to be one? What begins with the scheme is nothing else. */
bool udpai_xdstp_is(udpai_str text);
/* UDPA_ERR_INVAL: it is none that may be asked for, and why. */
udpa_err udpai_xdstp_parse(udpai_str text, udpai_xdstp *ret_xdstp, udpa_error **ret_error);

/* An authority, and below which prefix what it names lies. */
typedef struct udpai_xdstp_authority {
    udpai_str name, prefix;
} udpai_xdstp_authority;

typedef struct udpai_xdstp_authorities {
    const udpai_xdstp_authority *items;
    size_t n;
} udpai_xdstp_authorities;

/* What an authority maps to: what is listed; else the empty one to the default namespace, and what
 * looks like a namespace to itself. False: nothing. */
bool udpai_xdstp_namespace(const udpai_xdstp_authorities *listed,
                           udpai_str authority,
                           udpai_str default_namespace,
                           udpai_str *ret_namespace);
/* The full name of what was parsed, in a namespace (or below a prefix). UDPA_ERR_INVAL: too long,
 * or no name. */
udpa_err udpai_xdstp_full_name(const udpai_xdstp *xdstp,
                               udpai_str name_space,
                               char room[UDPAI_NAME_MAX],
                               udpai_str *ret_name,
                               udpa_error **ret_error);

/* ---- collections by glob ---- */

#define UDPAI_GLOB_MAX (UDPAI_NAME_MAX + 1)

/* The only collection that a full name is in, as a full name too; false: it is in none. */
bool udpai_glob_of_name(udpai_str name, char room[UDPAI_GLOB_MAX], udpai_str *ret_glob);
/* The prefix below which everything in a collection lies: a view of it. */
udpai_str udpai_glob_prefix(udpai_str glob);
/* A member's name as the client spells it that asked for the collection by `spelling`: false if
 * there is no room. */
bool udpai_glob_member(udpai_str spelling,
                       udpai_str full_name,
                       char room[UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX],
                       udpai_str *ret_name);

#endif
