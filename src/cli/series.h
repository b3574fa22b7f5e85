/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a node's metrics, in Prometheus's text format 0.0.4, read. Pure. */
#ifndef UDPAI_CLI_SERIES_H
#define UDPAI_CLI_SERIES_H

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vector.h"

/* A node has a quarter of it (metrics/families.h). */
#define UDPAI_CLI_SERIES_MAX 20000
#define UDPAI_CLI_SERIES_LINE_MAX ((size_t)4096)

/* Views of the page. */
typedef struct udpai_cli_series {
    udpai_str name;
    udpai_str label; /* the value of its first label but le, escaped as in the page */
    bool has_le;
    double le; /* the upper bound of a bucket; may be infinite */
    double value;
} udpai_cli_series;

typedef struct udpai_cli_page {
    UDPAI_VECTOR(udpai_cli_series) series; /* in the order of the page */
} udpai_cli_page;

/* Reads a page, which must last as long as what was read. Values that are no finite numbers are
 * passed over. UDPA_ERR_MALFORMED: a line is none of this format, UDPA_ERR_LIMIT: there are too
 * many, or one is too long; then nothing is read. To be followed by udpai_cli_page_done() in any
 * case. */
udpa_err udpai_cli_page_read(udpai_cli_page *page, udpai_str text, udpa_error **ret_error);
void udpai_cli_page_done(udpai_cli_page *page);

/* The next one of this name, from place *at on, which is moved on behind it; NULL: there is none.
 */
const udpai_cli_series *
udpai_cli_page_next(const udpai_cli_page *page, const char *name, size_t *at);
/* Of the one of this name, with this label if that is not NULL. False: there is none. */
bool udpai_cli_page_value(const udpai_cli_page *page,
                          const char *name,
                          const char *label,
                          double *ret_value);
/* Added up over all labels; 0: there is none. */
double udpai_cli_page_sum(const udpai_cli_page *page, const char *name);

/* ---- times ---- */

#define UDPAI_CLI_BUCKETS_MAX 64 /* bounds of one histogram */

typedef struct udpai_cli_bucket {
    double le, count; /* of all that is not above the bound */
} udpai_cli_bucket;

typedef struct udpai_cli_histogram {
    udpai_cli_bucket buckets[UDPAI_CLI_BUCKETS_MAX];
    size_t n;
} udpai_cli_histogram;

/* All labels together. @p name: with _bucket. Without bounds if it is no histogram. */
udpai_cli_histogram udpai_cli_page_histogram(const udpai_cli_page *page, const char *name);
/* The quantile, from 0 to 1, of the times, as histogram_quantile() of Prometheus has it; of what
 * has come since @p before, unless that is NULL. False: nothing has come, or it is no histogram. */
bool udpai_cli_quantile(const udpai_cli_histogram *histogram,
                        const udpai_cli_histogram *before,
                        double quantile,
                        double *ret_value);

/* Appends the value of a label, without its escapes, as it may go to a terminal. */
void udpai_cli_series_put_label(udpai_strbuf *out, const udpai_cli_series *series);

#endif
