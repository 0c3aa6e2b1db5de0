import { parseArgs } from 'node:util';

export type Mode = 'write' | 'check' | 'lint' | 'bounds' | 'diff' | 'release' | 'help';

export const help = `npm run openapi [-- MODE]

  (none)     write openapi/{v1,v2,admin,supplier}.json from the contract
  --check    fail if the committed documents differ from the contract
  --lint     lint the committed documents with the rules of redocly.yaml
  --bounds   fail if a string, list or map of a request has no size limit
  --diff     fail if the contract breaks clients of the last release
  release    save the current documents as the release that --diff compares with`;

const flags = {
  check: { type: 'boolean' },
  lint: { type: 'boolean' },
  bounds: { type: 'boolean' },
  diff: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Several modes run one after the other. */
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
