/** Shell scripts that call `millrace __complete`, which makes no network call. */
export const completionScripts = {
  bash: `# millrace completions for bash. In ~/.bashrc:  eval "$(millrace completion bash)"
_millrace() {
  local IFS=$'\\n'
  COMPREPLY=($(millrace __complete words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _millrace millrace
`,
  zsh: `#compdef millrace
# millrace completions for zsh. In ~/.zshrc, after compinit:  eval "$(millrace completion zsh)"
_millrace() {
  local -a candidates
  candidates=("\${(@f)$(millrace __complete colon -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then
    _describe 'millrace' candidates
  else
    _files
  fi
}
compdef _millrace millrace
`,
  fish: `# millrace completions for fish. In ~/.config/fish/config.fish:  millrace completion fish | source
function __millrace_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  millrace __complete tab -- $words[2..-1] "$current" 2>/dev/null
end
complete -c millrace -f -a '(__millrace_complete)'
`,
} as const;
