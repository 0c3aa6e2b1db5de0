import { completionScripts } from '../completion/scripts.ts';
import { defineCommand } from '../framework/command.ts';

export const command = defineCommand({
  name: 'completion',
  summary: 'Print completions for your shell',
  positionals: [{ name: 'shell', describe: 'the shell', choices: ['bash', 'zsh', 'fish'] }],
  examples: {
    'eval "$(millrace completion bash)"': 'In ~/.bashrc',
    'millrace completion fish | source': 'In ~/.config/fish/config.fish',
  },
  operations: [],
  offline: true,
  json: { kind: 'none' },
  run(context, { args }) {
    context.io.out(completionScripts[args.shell]);
    return Promise.resolve();
  },
});
