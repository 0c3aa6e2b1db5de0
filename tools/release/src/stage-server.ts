import { buildConsole, builtFolder } from '@millrace/console-tools';
import { productFolder, readBuildInfo } from '@millrace/platform/release';
import { bundledPackages, type BundledPackage } from '@millrace/publish';
import fs from 'node:fs';
import path from 'node:path';
import { bundleServer } from './bundle-server.ts';

/** Files that programs read at run time. Their place is the same as in the repository. */
const fonts: readonly string[] = [
  ...packageFiles('dejavu-fonts-ttf', ['LICENSE', 'ttf/DejaVuSans.ttf', 'ttf/DejaVuSans-Bold.ttf']),
  ...packageFiles('@fontsource/unifont', ['LICENSE', 'files/unifont-latin-400-normal.woff']),
];
const fontPackages = bundledPackages(fonts.map((file) => path.join(productFolder, file)));
/** The history and the model of the trial. */
const trialFiles: readonly string[] = [
  'db/demo/history.jsonl.gz',
  'fixtures/models/chat/millrace-tiny.gguf',
  'fixtures/models/chat/MODEL_CARD.md',
];
const files: readonly string[] = [
  'LICENSE',
  'db/migrations',
  'docs/errors.md',
  'docs/runbooks',
  ...fonts,
  ...trialFiles,
];

/** Files of packages, and the manifest without which they are not found. */
function packageFiles(name: string, names: readonly string[]): readonly string[] {
  return ['package.json', ...names].map((file) => `node_modules/${name}/${file}`);
}

/** Versions of Node that run the programs. */
const NODE_VERSIONS = '>=24.0.0';

export interface StagedServer {
  readonly version: string;
  /** Null outside a clone. */
  readonly commit: string | null;
  readonly packages: readonly BundledPackage[];
}

/** Writes everything that a server needs besides Node and its engines to `folder`, which is created or replaced. */
export async function stageServer(folder: string): Promise<StagedServer> {
  refuseOtherFolder(folder);
  buildConsole();
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  // Renamed when it is complete, so that `folder` never holds part of a build.
  const partial = fs.mkdtempSync(`${folder}.partial-`);
  try {
    const staged = await writeServer(partial);
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(partial, folder);
    return staged;
  } finally {
    fs.rmSync(partial, { recursive: true, force: true });
  }
}

async function writeServer(folder: string): Promise<StagedServer> {
  // A temporary folder is readable by its owner only.
  fs.chmodSync(folder, 0o755);
  const { version, commit } = readBuildInfo(null);
  const packages = [...(await bundleServer(path.join(folder, 'lib'))), ...consolePackages(), ...fontPackages];
  for (const file of files)
    fs.cpSync(path.join(productFolder, file), path.join(folder, file), { recursive: true });
  fs.cpSync(builtFolder, path.join(folder, 'apps', 'console', 'dist'), {
    recursive: true,
    filter: (file) => !buildRecords.has(path.basename(file)),
  });
  const manifest = {
    name: MANIFEST_NAME,
    version,
    ...(commit === null ? {} : { commit }),
    private: true,
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: NODE_VERSIONS },
  };
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return { version, commit, packages };
}

const MANIFEST_NAME = 'millrace-server';
/** The console's build has them for later builds. */
const buildRecords: ReadonlySet<string> = new Set(['.built.json', '.modules.json', '.vite']);

/** The packages whose modules are in the console. */
function consolePackages(): readonly BundledPackage[] {
  const modules = JSON.parse(fs.readFileSync(path.join(builtFolder, '.modules.json'), 'utf8')) as string[];
  return bundledPackages(modules.map((file) => path.join(productFolder, file)));
}

function refuseOtherFolder(folder: string): void {
  if (!fs.existsSync(folder) || fs.readdirSync(folder).length === 0) return;
  const manifest = path.join(folder, 'package.json');
  const name =
    fs.existsSync(manifest) && (JSON.parse(fs.readFileSync(manifest, 'utf8')) as { name?: string }).name;
  if (name !== MANIFEST_NAME) {
    throw new Error(`${folder} contains files that are not of an earlier build. Use an empty folder.`);
  }
}
