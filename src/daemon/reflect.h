/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the fields of any message by the descriptors that protobuf-c writes. */
#ifndef UDPAI_DAEMON_REFLECT_H
#define UDPAI_DAEMON_REFLECT_H

#include "base/util.h"

#include <protobuf-c/protobuf-c.h>

/* What takes so many bytes where it lies: a pointer, of messages and texts. */
size_t udpai_reflect_width(const ProtobufCFieldDescriptor *field);
const void *udpai_reflect_place(const ProtobufCMessage *message, unsigned offset);
/* Of a list, its items; else whether it is there: a message, a text that is not empty, a number
 * that is not 0, and of several that exclude each other the one that is chosen. */
size_t udpai_reflect_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
/* Where an item of a list is, or the value of another field. */
const void *udpai_reflect_value(const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field,
                                size_t index);
/* Is another one of its oneof chosen, with its value in the same place? */
bool udpai_reflect_is_of_another(const ProtobufCMessage *message,
                                 const ProtobufCFieldDescriptor *field);

#endif
