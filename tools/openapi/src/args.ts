import { parseArgs } from 'node:util';

export type Mode = 'write' | 'check' | 'lint' | 'bounds' | 'diff' | 'release' | 'help';

export const help = `npm run openapi [-- MODE]

  (none)     write openapi/{v1,v2,admin,supplier}.json from the contract
  --check    fail if the committed documents differ from the contract
  --lint     judge the committed documents by redocly.yaml
  --bounds   fail if a text, list or map of a request has no bound on its size
  --diff     fail if the contract breaks what was last released
  release    make the documents as they are now the promise that --diff keeps`;

const flags = {
  check: { type: 'boolean' },
  lint: { type: 'boolean' },
  bounds: { type: 'boolean' },
  diff: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** What was asked for; several modes run one after the other. */
export function parseModes(args: readonly string[]): readonly Mode[] {
  const { values, positionals } = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  if (values.help) return ['help'];
  const modes: Mode[] = (['check', 'lint', 'bounds', 'diff'] as const).filter((mode) => values[mode]);
  for (const word of positionals) {
    if (word !== 'release') throw new Error(`"${word}" is not something this command does.\n\n${help}`);
    modes.push('release');
  }
  return modes.length === 0 ? ['write'] : modes;
}
