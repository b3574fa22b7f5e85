/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/health_pages.h"

#include "base/bytes.h"
#include "loop/clock.h"

#define TEXT "text/plain; charset=utf-8"

/* Consumes the text. */
static void
answer(udpai_http_reading *reading, unsigned status, udpai_strbuf *text)
{
    udpa_bytes *bytes = udpai_bytes_of(text);
    udpai_http_page_answer(reading, bytes ? status : 503, TEXT, bytes);
    udpa_bytes_unref(bytes);
}

void
udpai_livez_page(const udpai_health_pages *pages, udpai_http_reading *reading)
{
    udpai_strbuf text = {0};
    bool is_alive = udpai_liveness_look(pages->liveness, udpai_monotonic_ms(), &text);
    answer(reading, is_alive ? 200 : 503, &text);
}

bool
udpai_readyz_is_verbose(const udpai_http_reading *reading)
{
    return udpai_str_eq(reading->query, UDPAI_STR("verbose")) ||
           udpai_str_eq(reading->query, UDPAI_STR("verbose=true"));
}

void
udpai_readyz_page(const udpai_health_pages *pages, udpai_http_reading *reading)
{
    udpai_ready_report report;
    udpai_strbuf text = {0};
    udpai_readiness_look(pages->readiness, &report);
    unsigned status = udpai_ready_report_put(&report, udpai_readyz_is_verbose(reading), &text);
    answer(reading, status, &text);
}
