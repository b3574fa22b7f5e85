#compdef udpactl
# SPDX-License-Identifier: Apache-2.0
# Completes the command line of udpactl in zsh: put this file as _udpactl into a directory of
# $fpath, or source it behind compinit.

_udpactl() {
    local line
    local -a lines candidates
    lines=("${(@f)$(command ${(Q)words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)lines[1,-2]}"; do
        candidates+=("${${line%%$'\t'*}//:/\\:}${${(M)line%%$'\t'*}:+:${line#*$'\t'}}")
    done
    (( $#candidates )) && _describe -V udpactl candidates
    [[ $lines[-1] != :files ]] || _files
}

if [[ $funcstack[1] == _udpactl ]]; then
    _udpactl "$@"
else
    compdef _udpactl udpactl
fi
