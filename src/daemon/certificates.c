/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/certificates.h"

#include "base/log.h"
#include "loop/clock.h"

udpa_err
udpai_certificates_read(const Udpa__Config__V1__ServerTls *from,
                        udpai_tls_files *ret_files,
                        udpa_error **ret_error)
{
    const udpai_tls_paths paths = {from->certificate_file, from->private_key_file,
                                   from->client_ca_file};
    return udpai_tls_files_read(ret_files, &paths, udpai_wall_us() / 1000000, ret_error);
}

bool
udpai_certificates_read_again(const udpai_plan_socket *socket,
                              udpai_certificates_replace replace,
                              void *userdata)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_tls_files files = {0};
    udpa_err err = udpai_certificates_read(socket->tls, &files, &error);
    if (err == UDPA_OK)
        err = replace(userdata, &files, &error);
    udpai_tls_files_done(&files);
    if (err == UDPA_OK)
        udpai_log(UDPA_LOG_INFO, "daemon", "%s: certificates were read again", socket->address);
    else
        udpai_log(UDPA_LOG_ERROR, "daemon", "%s: the certificates stay as they were: %s",
                  socket->address, udpa_error_message(error));
    return err == UDPA_OK;
}
