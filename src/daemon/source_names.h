/* SPDX-License-Identifier: Apache-2.0 */
/* The ConfigSources of a bootstrap file, which other sections refer to by their names. Pure. */
#ifndef UDPAI_DAEMON_SOURCE_NAMES_H
#define UDPAI_DAEMON_SOURCE_NAMES_H

#include "codec/suggest.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Of static_resources, which may be NULL; NULL: there is none of this name. */
const Udpa__Config__V1__ConfigSource *
udpai_source_find(const Udpa__Config__V1__StaticResources *all, const char *name);
/* "; did you mean 'core'?", or which there are, or "". Returns @p hint. */
const char *udpai_source_suggest(const Udpa__Config__V1__StaticResources *all,
                                 const char *name,
                                 char hint[UDPAI_CHOICE_TEXT]);

/* The one in the descriptor itself; NULL: it names one, or nothing. */
const Udpa__Config__V1__ConfigSource *
udpai_source_inline(const Udpa__Config__V1__ConfigDescriptor *descriptor);
/* That, or the one that it names; NULL: there is none. */
const Udpa__Config__V1__ConfigSource *
udpai_source_of_descriptor(const Udpa__Config__V1__Bootstrap *message,
                           const Udpa__Config__V1__ConfigDescriptor *descriptor);

/* Of kinds that are servers of xDS: which source is asked for what, and where all names are; else
 * SHARED and "". The source may be NULL. */
Udpa__Config__V1__XdsSource__Audience
udpai_source_audience(const Udpa__Config__V1__ConfigSource *source);
bool udpai_source_is_per_client(const Udpa__Config__V1__ConfigSource *source);
const char *udpai_source_namespace(const Udpa__Config__V1__ConfigSource *source);
const char *udpai_source_authority(const Udpa__Config__V1__ConfigSource *source);

#endif
