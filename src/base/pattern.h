/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with stars, each of which matches any bytes, also none. */
#ifndef UDPAI_PATTERN_H
#define UDPAI_PATTERN_H

#include "base/util.h"

bool udpai_pattern_fits(udpai_str pattern, udpai_str text);
/* One of them. */
bool udpai_patterns_fit(const udpai_str *patterns, size_t n, udpai_str text);

#endif
