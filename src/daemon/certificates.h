/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates of sockets, and those that the node dials with: read from their files at start,
 * when they change, and on SIGHUP. */
#ifndef UDPAI_DAEMON_CERTIFICATES_H
#define UDPAI_DAEMON_CERTIFICATES_H

#include "daemon/plan.h"
#include "daemon/problems.h"
#include "transport/file/file_set.h"
#include "transport/tls_files.h"

/* Both: the caller ends @p ret_files with udpai_tls_files_done, also after an error. */
udpa_err udpai_certificates_read(const Udpa__Config__V1__ServerTls *from,
                                 udpai_tls_files *ret_files,
                                 udpa_error **ret_error);
udpa_err udpai_certificates_read_client(const Udpa__Config__V1__ClientTls *from,
                                        udpai_tls_files *ret_files,
                                        udpa_error **ret_error);

/* Those of a socket, to be served with; NULL: it has none. */
udpa_err udpai_certificates_server(const Udpa__Config__V1__ServerTls *from,
                                   udpai_server_tls **ret_tls,
                                   udpa_error **ret_error);
/* Reads them again, and has them served with. */
udpa_err udpai_certificates_server_again(const Udpa__Config__V1__ServerTls *from,
                                         udpai_server_tls *tls,
                                         udpa_error **ret_error);

/* ---- those in use ---- */

typedef udpa_err (*udpai_certificates_replace)(void *userdata,
                                               size_t index,
                                               const udpai_tls_files *files,
                                               udpa_error **ret_error);

/* The user of some of them. */
typedef struct udpai_certificate_user {
    const char *kind; /* for people: "socket" */
    const char *name; /* the same: "127.0.0.1:1"; those in use own it … */
    char *files;      /* … and the names of its files, one a line; set here */
    const Udpa__Config__V1__ServerTls *server; /* one of these two */
    const Udpa__Config__V1__ClientTls *client;
    udpai_certificates_replace replace; /* puts others into use */
    void *userdata;
    size_t index;
    /* Of those in use; set here. */
    size_t group; /* of a set of files; 0: it is not watched */
    bool is_read;
    int64_t not_after_s;
    udpai_trust_store *trust; /* NULL: none */
    udpa_error *refused;      /* why what lies in the files is not in use; NULL: it is */
} udpai_certificate_user;

typedef struct udpai_certificates {
    udpai_problems *problems;
    UDPAI_VECTOR(udpai_certificate_user) users;
    size_t last_group;
    int64_t warned_s; /* when it was last reported that some end soon */
} udpai_certificates;

/* Copies it and its name; whatever else it refers to must last. */
udpa_err udpai_certificates_add(udpai_certificates *certificates,
                                const udpai_certificate_user *user);
void udpai_certificates_done(udpai_certificates *certificates);
/* One that is in use no more. */
void udpai_certificate_user_done(udpai_certificate_user *user);

/* Has the files watched, those of a user as one group, from @p first_group on. */
udpa_err
udpai_certificates_watch(udpai_certificates *certificates, udpai_file_set *set, size_t first_group);
/* The user with this group; false: there is none any more. */
bool
udpai_certificates_find(const udpai_certificates *certificates, size_t group, size_t *ret_index);
/* Reads those of a user again, puts them into use, and logs what came of it: no success of the
 * first time, and no error that was logged before and still holds. False: those in use stay. Else
 * all connected peers are to be verified again. */
bool udpai_certificates_reload(udpai_certificates *certificates, size_t index);
/* Errors that still hold are logged once more when they are met again: somebody asks. */
void udpai_certificates_report_again(udpai_certificates *certificates);
/* Reports in the log, once a day, and in the status, which end soon; and in the status what cannot
 * be read. To be called every hour or so, and after reloads. */
void udpai_certificates_look(udpai_certificates *certificates, int64_t now_s);

#endif
