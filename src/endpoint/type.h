/* SPDX-License-Identifier: Apache-2.0 */
/* Type URLs as people write them. */
#ifndef UDPAI_TYPE_H
#define UDPAI_TYPE_H

/* A type URL, completed with "type.googleapis.com/" if it has no slash; to be freed with
 * udpai_free(); NULL without memory. */
char *udpai_type_url_complete(const char *type);

#endif
