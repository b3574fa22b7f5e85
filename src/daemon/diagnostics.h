/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a bootstrap file or the command line: errors, with which nothing is started,
 * and warnings. Each has its place, as far as there is one, and they are reported in the order of
 * the file. */
#ifndef UDPAI_DIAGNOSTICS_H
#define UDPAI_DIAGNOSTICS_H

#include "base/vector.h"
#include "codec/convert.h"
#include "codec/reader.h"
#include "codec/text_errors.h"

typedef struct udpai_finding {
    uint32_t line, column; /* 0: not in the file */
    bool is_warning;
    size_t index; /* as it was found */
    udpa_error *error;
} udpai_finding;

typedef struct udpai_diagnostics {
    const char *source_name;    /* of the file; borrowed */
    udpai_documents *documents; /* what places are looked up in; NULL: there are none */
    udpai_text_errors text;     /* what is wrong with the text itself, so that it was not taken */
    UDPAI_VECTOR(udpai_finding) items; /* everything, once the text was taken */
    size_t n_errors;
    bool has_failed; /* no memory: not all are here */
} udpai_diagnostics;

typedef void (*udpai_finding_fn)(const udpa_error *error, bool is_warning, void *userdata);

void udpai_diagnostics_done(udpai_diagnostics *diagnostics);

/* Takes the error over, which has its place. */
void udpai_diagnostics_add(udpai_diagnostics *diagnostics, udpa_error *error);
/* What was found in the text is to be reported too. */
void udpai_diagnostics_take_text(udpai_diagnostics *diagnostics);

/* @p path: "providers[0].types", by the original names of the fields; reported with the place of
 * what the file has of it. Not reported if the text is wrong right there: that was reported. */
void
udpai_diagnostics_error(udpai_diagnostics *diagnostics, const char *path, const char *format, ...)
    UDPA_PRINTF(3, 4);
void
udpai_diagnostics_warn(udpai_diagnostics *diagnostics, const char *path, const char *format, ...)
    UDPA_PRINTF(3, 4);
/* Of the command line. */
void udpai_diagnostics_option(udpai_diagnostics *diagnostics, const char *format, ...)
    UDPA_PRINTF(2, 3);

/* Is some of this part of the file wrong, so that the message lacks it? */
bool udpai_diagnostics_is_unread(const udpai_diagnostics *diagnostics, const char *path);

void
udpai_diagnostics_report(udpai_diagnostics *diagnostics, udpai_finding_fn report, void *userdata);

/* ---- paths ---- */

#define UDPAI_FIELD_PATH_MAX 256

/* A path longer than the room, which no field has, is cut. @p room may be what it is added to. Both
 * return @p room. */
const char *udpai_path_field(char room[UDPAI_FIELD_PATH_MAX], const char *path, const char *field);
const char *udpai_path_item(char room[UDPAI_FIELD_PATH_MAX], const char *list, size_t index);

#endif
