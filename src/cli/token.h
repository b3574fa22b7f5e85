/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in the names of questions to a node, so that an answer is not from before. */
#ifndef UDPAI_CLI_TOKEN_H
#define UDPAI_CLI_TOKEN_H

#define UDPAI_CLI_TOKEN_SIZE 17

/* A part of the names of questions to a node by which nobody has asked before, with its NUL. */
void udpai_cli_choose_token(char token[UDPAI_CLI_TOKEN_SIZE]);

#endif
