/* SPDX-License-Identifier: Apache-2.0 */
/* What people call types and resources, and what they are called in full. Pure. */
#ifndef UDPAI_CLI_NAMES_H
#define UDPAI_CLI_NAMES_H

#include "base/error.h"
#include "model/types.h"

/* The type URL that is meant: by a short name ("cluster", "clusters", "cds"), a full name, or a
 * type URL. To be freed with udpai_free(). */
udpa_err udpai_cli_type_url(const char *given, char **ret_type_url, udpa_error **ret_error);
/* The short name of a type; its full name if it has none. A view of @p type_url or static. */
udpai_str udpai_cli_type_short(udpai_str type_url);
/* A name on the command line is a full one, as it is printed everywhere, if what is before its
 * first '/' can be a namespace; else an id in the namespace. To be freed with udpai_free(); NULL
 * without memory. */
char *udpai_cli_full_name(const char *name, const char *name_space);
/* May it be an id all the same, as resource files have it (codec/resource_file.h)? "route/host" is
 * that of local/route/host, unless there is a route/host. */
bool udpai_cli_may_be_id(const char *name, const char *name_space);
/* Is it a type with a payload that must never be printed? */
bool udpai_cli_is_secret(udpai_str type_url);
/* All short names with what they mean, a line each: visit(userdata, short, also, full). */
void udpai_cli_visit_types(
    void (*visit)(void *userdata, const char *name, const char *also, const char *full),
    void *userdata);

#endif
