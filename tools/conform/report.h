/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a run, for people and for programs. Pure. */
#ifndef UDPAI_CONFORM_REPORT_H
#define UDPAI_CONFORM_REPORT_H

#include "tools/conform/suite.h"

typedef struct udpai_report_counts {
    size_t n_passed, n_failed, n_fell_short, n_skipped; /* fell short: of what it should do */
} udpai_report_counts;

udpai_report_counts udpai_report_count(const udpai_results *results, bool is_strict);

/* Text and TAP come piece by piece, while cases are run: a case as it ends … */
void udpai_report_text_one(udpai_strbuf *out, const udpai_result *result, bool is_strict);
/* @p number: from 1 */
void
udpai_report_tap_one(udpai_strbuf *out, const udpai_result *result, size_t number, bool is_strict);
/* … and what comes behind all, or before. */
void udpai_report_text_sum(udpai_strbuf *out, const udpai_results *results, bool is_strict);
void udpai_report_tap_plan(udpai_strbuf *out, size_t n_cases);
/* These are whole: each case, with the rule it rests on, and the reason if it did not pass. */
void udpai_report_junit(udpai_strbuf *out, const udpai_results *results, bool is_strict);
void udpai_report_json(udpai_strbuf *out, const udpai_results *results, bool is_strict);
/* A line for each case and way: level, name, section, rule. */
void
udpai_report_list(udpai_strbuf *out, bool (*is_selected)(void *, const char *), void *userdata);

#endif
