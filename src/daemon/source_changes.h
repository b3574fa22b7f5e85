/* SPDX-License-Identifier: Apache-2.0 */
/* The ConfigSources of two bootstrap files compared, those in descriptors of providers among them
 * (docs/design/reload.md). */
#ifndef UDPAI_DAEMON_SOURCE_CHANGES_H
#define UDPAI_DAEMON_SOURCE_CHANGES_H

#include <stdbool.h>

#include "base/util.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* NULL: there is none of this name. */
const Udpa__Config__V1__ConfigSource *udpai_source_named(const Udpa__Config__V1__Bootstrap *message,
                                                         udpai_str name);

/* Is the peer of this name in both, and reached as before, so that its streams can go on? */
bool udpai_source_is_reached_alike(const Udpa__Config__V1__Bootstrap *before,
                                   const Udpa__Config__V1__Bootstrap *now,
                                   udpai_str name);

/* May the sources and providers of the one take the place of the other's while the node runs? Not
 * where those change that load is reported to; nor, in anything but how they are reached, those
 * that are asked for groups of clients. */
bool udpai_sources_may_change(const Udpa__Config__V1__Bootstrap *before,
                              const Udpa__Config__V1__Bootstrap *now);

/* "added", "removed", "edited". */
typedef void (*udpai_source_change_fn)(void *userdata, const char *name, const char *change);
void udpai_source_changes_visit(const Udpa__Config__V1__Bootstrap *before,
                                const Udpa__Config__V1__Bootstrap *now,
                                udpai_source_change_fn visit,
                                void *userdata);

#endif
