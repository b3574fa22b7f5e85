/* SPDX-License-Identifier: Apache-2.0 */
/* The FileDescriptorSet of all .proto files of ours, imports included. */
#ifndef UDPAI_OWN_DESCRIPTORS_H
#define UDPAI_OWN_DESCRIPTORS_H

#ifdef __cplusplus
extern "C" {
#endif

extern const unsigned char udpai_own_descriptors[];
extern const unsigned long udpai_own_descriptors_size;

#ifdef __cplusplus
}
#endif

#endif
