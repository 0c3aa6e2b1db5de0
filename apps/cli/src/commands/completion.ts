import { completionScripts } from '../completion/scripts.ts';
import { defineCommand } from '../framework/command.ts';

export const command = defineCommand({
  name: 'completion',
  summary: 'Print the completions for your shell',
  positionals: [{ name: 'shell', describe: 'the shell', choices: ['bash', 'zsh', 'fish'] }],
  examples: [
    { command: 'eval "$(millrace completion bash)"', about: 'In ~/.bashrc' },
    { command: 'millrace completion fish | source', about: 'In ~/.config/fish/config.fish' },
  ],
  operations: [],
  offline: true,
  json: { kind: 'none' },
  run(context, { args }) {
    context.io.out(completionScripts[args.shell]);
    return Promise.resolve();
  },
});
