/* SPDX-License-Identifier: Apache-2.0 */
/* The usage lines of a verb (verbs.h), read for what may come next: "xds get|watch TYPE [NAME...]".
 * Pure. */
#ifndef UDPAI_CTL_USAGE_H
#define UDPAI_CTL_USAGE_H

#include "base/util.h"

/* A word that may come next: as it is written ("get"), or what it stands for ("TYPE"), which begins
 * with a capital letter. @p type: the word that stands where the line has TYPE; NULL: none does. */
typedef void (*udpai_ctl_usage_fn)(void *userdata, udpai_str next, const char *type);

/* Visits what may stand behind these words, which are without the verb and without options. */
void udpai_ctl_usage_visit(const char *usage,
                           const char *const *words,
                           size_t n_words,
                           udpai_ctl_usage_fn visit,
                           void *userdata);

#endif
