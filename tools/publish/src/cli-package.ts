import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BundledPackage } from './bundled-packages.ts';
import { stagePackage, type StagedPackage } from './stage.ts';

const cliPackage: StagedPackage = {
  source: 'apps/cli',
  entries: {},
  bin: { millrace: 'src/main.ts' },
  form: 'bundle',
  platform: 'node',
  description: 'The command line of a Millrace GPU cloud: rent GPUs, run models, and see what they cost.',
  keywords: ['millrace', 'gpu', 'cloud', 'inference', 'cli'],
};

/** Stages the CLI. In the repository its name has our scope; users install it as `millrace`. Returns the packages that it bundles. */
export async function stageCli(into: string): Promise<readonly BundledPackage[]> {
  const packages = await stagePackage(cliPackage, into);
  const file = path.join(into, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
  writeFileSync(file, `${JSON.stringify({ ...manifest, name: 'millrace' }, null, 2)}\n`);
  return packages;
}
