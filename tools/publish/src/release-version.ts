import { readFileSync } from 'node:fs';

const manifest = new URL('../../../package.json', import.meta.url);

/** The version of all packages. It stands only in the manifest of the repository. */
export function releaseVersion(): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}
