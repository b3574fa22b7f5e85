/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pattern.h"

/* Behind a mismatch the last * takes one byte more. */
bool
udpai_pattern_fits(udpai_str pattern, udpai_str text)
{
    size_t at = 0, in_text = 0, star = SIZE_MAX, from = 0;
    while (in_text < text.len) {
        if (at < pattern.len && pattern.data[at] == '*') {
            star = at++;
            from = in_text;
        } else if (at < pattern.len && pattern.data[at] == text.data[in_text]) {
            at++;
            in_text++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            in_text = ++from;
        } else {
            return false;
        }
    }
    while (at < pattern.len && pattern.data[at] == '*')
        at++;
    return at == pattern.len;
}

bool
udpai_patterns_fit(const udpai_str *patterns, size_t n, udpai_str text)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_pattern_fits(patterns[i], text))
            return true;
    return false;
}
