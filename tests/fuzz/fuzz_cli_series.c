/* SPDX-License-Identifier: Apache-2.0 */
/* A page of metrics. What is read lies within the page and the bounds, no value is infinite, a
 * quantile lies among the bounds, and a label is printed without control characters. */
#include <math.h>

#include "base/alloc.h"
#include "cli/series.h"
#include "tests/fuzz/fuzz.h"

static bool
lies_in(udpai_str piece, udpai_str whole)
{
    return piece.len == 0 ||
           (piece.data >= whole.data && piece.data + piece.len <= whole.data + whole.len);
}

static void
check_series(const udpai_cli_series *series, udpai_str whole)
{
    udpai_strbuf out = {0};
    FUZZ_CHECK(series->name.len && lies_in(series->name, whole) && lies_in(series->label, whole));
    FUZZ_CHECK(isfinite(series->value) && !(series->has_le && isnan(series->le)));
    udpai_cli_series_put_label(&out, series);
    for (size_t i = 0; i < out.len; i++)
        FUZZ_CHECK((unsigned char)out.data[i] >= ' ' && out.data[i] != 127);
    udpai_strbuf_done(&out);
}

static void
check_quantiles(const udpai_cli_page *page, const char *name)
{
    double low, high;
    const udpai_cli_histogram all = udpai_cli_page_histogram(page, name);
    bool is_known = udpai_cli_quantile(&all, NULL, 0.5, &low);
    FUZZ_CHECK(is_known == udpai_cli_quantile(&all, NULL, 0.99, &high));
    FUZZ_CHECK(!udpai_cli_quantile(&all, &all, 0.5, &high));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    const udpai_str input = {(const char *)data, size};
    udpai_cli_page page;
    udpa_error *error = NULL;
    double value;
    udpa_err err = udpai_cli_page_read(&page, input, &error);
    FUZZ_CHECK((err == UDPA_OK) == (error == NULL) && (err == UDPA_OK || page.series.n == 0));
    FUZZ_CHECK(page.series.n <= UDPAI_CLI_SERIES_MAX);
    for (size_t i = 0; i < page.series.n; i++)
        check_series(&page.series.items[i], input);
    check_quantiles(&page, "h_bucket");
    check_quantiles(&page, "udpa_propagation_seconds_bucket");
    FUZZ_CHECK(!udpai_cli_page_value(&page, "", NULL, &value));
    udpai_cli_page_done(&page);
    udpa_error_unref(error);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
