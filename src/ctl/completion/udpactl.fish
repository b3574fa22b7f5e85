# SPDX-License-Identifier: Apache-2.0
# Completes the command line of udpactl in fish: source this file, or put it into
# ~/.config/fish/completions.

function __udpactl_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (command $words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    or return
    if test (count $lines) -gt 1
        printf '%s\n' $lines[1..-2]
    end
    if test "$lines[-1]" = :files
        __fish_complete_path "$word"
    end
end

complete -c udpactl -f -a '(__udpactl_complete)'
