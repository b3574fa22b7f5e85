/* SPDX-License-Identifier: Apache-2.0 */
/* What the bootstrap file and the command line both set: is it allowed? */
#ifndef UDPAI_OPTION_RULES_H
#define UDPAI_OPTION_RULES_H

#include "base/error.h"
#include "base/util.h"

/* Of resources of our own or of a source: a prefix that is not reserved. Empty is one. */
udpa_err udpai_namespace_check(const char *name_space, udpa_error **ret_error);
/* A prefix of names. Empty is one. */
udpa_err udpai_prefix_check_word(const char *prefix, udpa_error **ret_error);
/* The id of a node is part of the names of its status. */
udpa_err udpai_node_id_check(const char *id, udpa_error **ret_error);
/* The full name of a message type, or a type URL. */
udpa_err udpai_type_check(const char *type, udpa_error **ret_error);
/* The usual prefix of type URLs may be left out. */
const char *udpai_type_without_prefix(const char *type);

/* "1%" to "100%"; empty: not set. */
udpa_err udpai_percentage_check(const char *word, udpa_error **ret_error);
/* Of one that is checked; 0: not set. */
unsigned udpai_percentage(const char *word);

#endif
