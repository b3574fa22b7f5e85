/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on what is held: for the files of this folder. */
#ifndef UDPAI_FEDERATION_HELD_H
#define UDPAI_FEDERATION_HELD_H

#include "federation/accept.h"
#include "federation/problems.h"
#include "federation/sources.h"

#define UDPAI_HELD_OTHER_STORE "its store is not the one that it had before"
#define UDPAI_HELD_OLDER_STORE "its store is an older copy of the one that it had before"
#define UDPAI_HELD_TOO_MANY "more is missing at once than max_withdrawal allows"
#define UDPAI_HELD_NAMES 10 /* that are listed, of each type */

/* Why more of the type may be held from now on. */
void udpai_held_because(udpai_source *source, udpai_str type_url, const char *why);
/* Why some of the type are held of this origin; static. NULL: it is not known any more. */
const char *
udpai_held_why(const udpai_sources *sources, const udpai_origin *origin, udpai_str type_url);
/* How many are held of the type is logged once, and again when there are more, for this reason if
 * it is not NULL. True: it was. */
bool udpai_held_log(udpai_source *source, udpai_str type_url, const char *more_because);
/* The same of all types of what was read of a source. */
void udpai_held_log_read(udpai_source *source, const char *why);
/* The same of a directory of the node's own. */
void udpai_held_log_directory(udpai_sources *sources, udpai_str root, const udpai_origin *origin);
/* The first names that are held of the type. */
size_t udpai_held_names(const udpai_context *context,
                        const udpai_origin *origin,
                        udpai_str type_url,
                        udpai_str names[UDPAI_HELD_NAMES]);
/* What is held of the node's own directories, in words. */
void
udpai_held_visit_problems(const udpai_sources *sources, udpai_problem_fn visit, void *userdata);

/* As udpai_node_visit_held() and udpai_node_accept_absences(). */
void udpai_held_visit(const udpai_sources *sources, udpai_held_count_fn visit, void *userdata);
bool udpai_held_accept(udpai_sources *sources, udpai_str name, size_t *ret_n);

#endif
