# SPDX-License-Identifier: Apache-2.0
# Completes the command line of udpactl in bash: source this file, or put it where bash-completion
# looks, /usr/share/bash-completion/completions/udpactl.

_udpactl() {
    local line=${COMP_LINE:0:COMP_POINT} word candidate before i
    local -a words=() candidates=()

    # Bash takes "--output=json" and "edge:18000" apart. What has no space between is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $line == [[:space:]]* || ${#words[@]} -eq 0 ]]; then
            words+=('')
            line=${line#"${line%%[![:space:]]*}"}
        fi
        [[ $line == "$word"* ]] || word=$line # the cursor is in it
        words[-1]+=$word
        line=${line#"$word"}
    done

    words[-1]=${words[-1]//\\/} # "\$" stands for "$"
    mapfile -t candidates < <(command "${1/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
    [[ ${#candidates[@]} -gt 0 ]] || candidates=(:none)
    [[ ${candidates[-1]} != :none ]] || compopt +o default 2>/dev/null
    unset 'candidates[-1]'

    # Bash replaces what is behind the last "=" or ":" alone.
    before=${words[-1]}
    before=${before%"${before##*[=:]}"}
    COMPREPLY=()
    for candidate in "${candidates[@]}"; do
        candidate=${candidate%%$'\t'*}
        printf -v candidate %q "${candidate#"$before"}"
        COMPREPLY+=("$candidate")
    done
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _udpactl udpactl
