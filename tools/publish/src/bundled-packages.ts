import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; null if the package states none. */
  readonly license: string | null;
}

const FOLDER = `${path.sep}node_modules${path.sep}`;

/** The packages that modules of a bundle come from, by name and version. Our own modules belong to none. */
export function bundledPackages(moduleIds: readonly string[]): readonly BundledPackage[] {
  const folders = new Set(moduleIds.flatMap((id) => packageFolder(id) ?? []));
  const byId = new Map([...folders].map(readManifest).map((each) => [`${each.name}@${each.version}`, each]));
  return [...byId].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each);
}

/** `/repository/node_modules/@scope/name/lib/a.js` becomes `/repository/node_modules/@scope/name`. */
function packageFolder(moduleId: string): string | null {
  // The bundler's own modules begin with a zero byte or `rolldown:`.
  const start = moduleId.lastIndexOf(FOLDER);
  if (start < 0) return null;
  const [scopeOrName = '', name = ''] = moduleId.slice(start + FOLDER.length).split(path.sep);
  return moduleId.slice(0, start) + FOLDER + path.join(scopeOrName, scopeOrName.startsWith('@') ? name : '');
}

function readManifest(folder: string): BundledPackage {
  const text = readFileSync(path.join(folder, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(text) as Record<string, unknown>;
  return {
    name: String(name),
    version: String(version),
    license: typeof license === 'string' ? license : null,
  };
}
