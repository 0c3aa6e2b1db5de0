import { readBuildInfo } from '@millrace/platform/release';
import { contract } from '@millrace/contract';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { isolatedDeclarationSync } from 'rolldown/experimental';
import { bundledPackages, type BundledPackage } from './bundled-packages.ts';
import { printOperationTypes } from './print-operation-types.ts';

/** Creates a folder for `npm pack` and `npm publish`: JavaScript with types and a manifest, while the repository runs sources. */

const root = fileURLToPath(new URL('../../../', import.meta.url));

export interface StagedPackage {
  readonly source: `packages/${string}` | `apps/${string}`;
  /** Exports of the package, and the file of each. */
  readonly entries: Readonly<Record<string, string>>;
  /** Commands of the package, and the file of each. */
  readonly bin?: Readonly<Record<string, string>>;
  /** `modules`: one file per source with types, for programs. `bundle`: few files, so that a command starts fast. */
  readonly form: 'modules' | 'bundle';
  readonly platform: 'neutral' | 'node';
  readonly description: string;
  readonly keywords: readonly string[];
}

export const sdkPackage: StagedPackage = {
  source: 'packages/sdk',
  entries: { '.': 'src/index.ts', './webhooks': 'src/webhooks.ts' },
  form: 'modules',
  platform: 'neutral',
  description: 'The client of a Millrace GPU cloud: typed, retrying, streaming, without dependencies.',
  keywords: ['millrace', 'gpu', 'cloud', 'inference', 'sdk'],
};

/** Oldest Node that published packages support. */
const oldestNode = '>=22';

/** Files that staging writes, and therefore may replace. */
const stagedFiles: ReadonlySet<string> = new Set(['dist', 'package.json', 'README.md', 'LICENSE']);

/** Stages a package into `into`, which is created or replaced. Returns the packages that it bundles. */
export async function stagePackage(what: StagedPackage, into: string): Promise<readonly BundledPackage[]> {
  const others = fs.existsSync(into) ? fs.readdirSync(into).filter((name) => !stagedFiles.has(name)) : [];
  if (others.length > 0) {
    throw new Error(`${into} contains ${others[0]}, which staging did not create. Use an empty folder.`);
  }
  fs.rmSync(into, { recursive: true, force: true });
  fs.mkdirSync(path.join(into, 'dist'), { recursive: true });
  const source = path.join(root, what.source);
  const packages = await writeScripts(what, source, path.join(into, 'dist'));
  if (what.form === 'modules') writeTypes(path.join(source, 'src'), path.join(into, 'dist'));
  fs.writeFileSync(path.join(into, 'package.json'), `${JSON.stringify(manifestOf(what, source), null, 2)}\n`);
  fs.copyFileSync(path.join(source, 'README.md'), path.join(into, 'README.md'));
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(into, 'LICENSE'));
  return packages;
}

async function writeScripts(
  what: StagedPackage,
  source: string,
  into: string,
): Promise<readonly BundledPackage[]> {
  const files = [...Object.values(what.entries), ...Object.values(what.bin ?? {})];
  const bundle = await rolldown({
    cwd: source,
    input: Object.fromEntries(files.map((file) => [distName(file), path.join(source, file)])),
    platform: what.platform,
    external: /^node:/,
    resolve: { conditionNames: ['import', 'default'] },
  });
  const { output } = await bundle.write({
    dir: into,
    format: 'esm',
    ...(what.form === 'modules'
      ? { preserveModules: true, preserveModulesRoot: path.join(source, 'src') }
      : { minify: true }),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  });
  await bundle.close();
  return bundledPackages(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])));
}

/** `src/index.ts` becomes `index`. */
function distName(file: string): string {
  return file.replace(/^src\//, '').replace(/\.ts$/, '');
}

/** The types of a file depend on that file only; the types of the contract are printed. */
function writeTypes(sources: string, into: string): void {
  for (const file of fs.readdirSync(sources)) {
    if (!file.endsWith('.ts') || /\.(?:test|fixture)\.ts$/.test(file)) continue;
    const text =
      file === 'operation-types.ts' ? printOperationTypes(contract) : declarationsOf(sources, file);
    fs.writeFileSync(path.join(into, file.replace(/\.ts$/, '.d.ts')), text);
  }
}

function declarationsOf(sources: string, file: string): string {
  const { code, errors } = isolatedDeclarationSync(file, fs.readFileSync(path.join(sources, file), 'utf8'));
  if (errors.length > 0) {
    throw new Error(
      `${file} needs explicit types on its exports: ${errors.map(({ message }) => message).join('; ')}`,
    );
  }
  return code.replaceAll(/(from\s+["']\.[^"']*)\.ts(["'])/g, '$1.js$2');
}

function manifestOf(what: StagedPackage, source: string): object {
  const own = JSON.parse(fs.readFileSync(path.join(source, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  const exported = Object.entries(what.entries).map(([name, file]) => {
    const built = `./dist/${distName(file)}`;
    const face = what.form === 'modules' ? { types: `${built}.d.ts`, default: `${built}.js` } : `${built}.js`;
    return [name, face] as const;
  });
  const bins = Object.entries(what.bin ?? {}).map(
    ([name, file]) => [name, `dist/${distName(file)}.js`] as const,
  );
  return {
    name: own['name'],
    version: readBuildInfo(null).version,
    description: what.description,
    keywords: what.keywords,
    license: own['license'],
    type: 'module',
    sideEffects: false,
    engines: { node: oldestNode },
    files: ['dist'],
    ...(exported.length === 0 ? {} : { exports: Object.fromEntries(exported) }),
    ...(bins.length === 0 ? {} : { bin: Object.fromEntries(bins) }),
  };
}
