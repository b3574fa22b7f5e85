/* SPDX-License-Identifier: Apache-2.0 */
/* In which fields two bootstrap files differ, in their own names. */
#ifndef UDPAI_CONFIG_DIFFERENCE_H
#define UDPAI_CONFIG_DIFFERENCE_H

#include <stdbool.h>

#include "udpa/config/v1/bootstrap.pb-c.h"

/* Either may be NULL. */
bool udpai_config_is_same(const ProtobufCMessage *a, const ProtobufCMessage *b);

/* "node.id", "sockets[1]", "store" for a section that only one has. */
typedef void (*udpai_config_difference_fn)(void *userdata, const char *path);
void udpai_config_visit_differences(const Udpa__Config__V1__Bootstrap *a,
                                    const Udpa__Config__V1__Bootstrap *b,
                                    udpai_config_difference_fn found,
                                    void *userdata);

/* The first eight, and how many more there are: "node.id, sockets[1], store". To be freed with
 * udpai_free(); NULL: there are none, or there is no memory. */
char *udpai_config_name_differences(const Udpa__Config__V1__Bootstrap *a,
                                    const Udpa__Config__V1__Bootstrap *b);

#endif
