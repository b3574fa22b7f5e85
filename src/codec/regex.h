/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions by RE2. */
#ifndef UDPAI_CODEC_REGEX_H
#define UDPAI_CODEC_REGEX_H

#include <udpa/bytes.h>

#include "base/regex.h"

UDPA_BEGIN_DECLS

/* Any thread; one expression may be matched by several at once. */
extern const udpai_regex_ops udpai_re2;

UDPA_END_DECLS

#endif
