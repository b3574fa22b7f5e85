/* SPDX-License-Identifier: Apache-2.0 */
/* Our own .proto files, looked up by file name or by what they define. */
#ifndef UDPAI_DESCRIPTORS_H
#define UDPAI_DESCRIPTORS_H

#include "base/util.h"

/* Serialised FileDescriptorProto, a view that lasts as long as the process; empty: there is none.
 */
udpai_str udpai_descriptors_file(udpai_str name);
/* The file that defines this service, method, message, enum, field or value: package.Outer.Inner.x
 */
udpai_str udpai_descriptors_file_of(udpai_str symbol);

#endif
