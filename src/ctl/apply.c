/* SPDX-License-Identifier: Apache-2.0 */
/* apply: files are read whole before anything is published. */
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/publish.h"
#include "ctl/validate.h"
#include "ctl/wait.h"

udpai_ctl_exit
udpai_ctl_apply(udpai_ctl *ctl)
{
    const udpai_ctl_options *options = ctl->options;
    if (options->arguments.n || !options->files.n) {
        udpai_ctl_complain("apply takes files: udpactl apply -f FILE (- is standard input)");
        return UDPAI_CTL_MISTAKE;
    }
    udpai_ctl_input input;
    udpai_ctl_exit result = udpai_ctl_input_read(&input, options);
    if (result == UDPAI_CTL_GOOD && options->validates)
        result = udpai_ctl_validate_input(&input);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_publish(ctl, input.resources.items, input.resources.n);
    if (result == UDPAI_CTL_GOOD && options->is_waiting)
        result = udpai_ctl_wait_for_applied(ctl, input.resources.items, input.resources.n);
    udpai_ctl_input_done(&input);
    return result;
}
