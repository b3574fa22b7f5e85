/* SPDX-License-Identifier: Apache-2.0 */
/* The names of static_resources.config_sources, which other sections refer to. Pure. */
#ifndef UDPAI_DAEMON_SOURCE_NAMES_H
#define UDPAI_DAEMON_SOURCE_NAMES_H

#include "codec/suggest.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* NULL: there are none. */
bool udpai_static_source_is_there(const Udpa__Config__V1__StaticResources *all, const char *name);
/* "; did you mean 'core'?", or which there are, or "". Returns @p hint. */
const char *udpai_static_source_suggest(const Udpa__Config__V1__StaticResources *all,
                                        const char *name,
                                        char hint[UDPAI_CHOICE_TEXT]);

#endif
