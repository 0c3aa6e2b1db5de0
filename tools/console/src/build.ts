import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = path.join(import.meta.dirname, '..', '..', '..');
const app = path.join(root, 'apps', 'console');
export const builtFolder = path.join(app, 'dist');

/** Files of the console and of the packages that it bundles. */
const inputs = [
  'apps/console/src',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'packages/contract/src',
  'packages/sdk/src',
  'package-lock.json',
  'tools/console/src/build.ts',
];
/** File in the build with the digest of its inputs. */
const STAMP = '.built.json';
/** Compressing smaller files saves less than the headers cost. */
const MIN_COMPRESSED_BYTES = 1_024;
const packable = /\.(css|html|js|json|svg|txt|webmanifest)$/;

export type BuildOutcome = 'built' | 'current';

/** Builds the console unless a build of the same files exists. Concurrent callers wait; readers never see a partial build. */
export function buildConsole(options: { readonly always?: boolean } = {}): BuildOutcome {
  const wanted = digestOfInputs();
  if (options.always !== true && builtFrom(builtFolder) === wanted) return 'current';
  const lock = path.join(root, '.millrace', 'console-build.lock');
  fs.mkdirSync(path.dirname(lock), { recursive: true });
  // flock runs this file again in a process that holds the lock.
  const args = [lock, process.execPath, import.meta.filename, wanted, ...(options.always ? ['always'] : [])];
  const { status, stdout, stderr, error } = spawnSync('flock', args, { encoding: 'utf8', env: process.env });
  if (status === 0) return 'built';
  throw new Error(`The console was not built.\n${stdout}${stderr}${error?.message ?? ''}`.trimEnd());
}

function buildAlone(wanted: string, always: boolean): void {
  if (!always && builtFrom(builtFolder) === wanted) return;
  const fresh = path.join(app, 'dist.new');
  const old = path.join(app, 'dist.old');
  for (const folder of [fresh, old]) fs.rmSync(folder, { recursive: true, force: true });
  const vite = createRequire(path.join(app, 'package.json')).resolve('vite/package.json');
  const program = path.join(path.dirname(vite), 'bin', 'vite.js');
  const flags = [program, 'build', '--outDir', fresh, '--emptyOutDir', '--manifest', '--logLevel', 'warn'];
  const { status, error } = spawnSync(process.execPath, flags, {
    cwd: app,
    // Tests set NODE_ENV to test, with which the build would contain the development version of React.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`vite build failed. ${error?.message ?? ''}`);
  packFiles(fresh);
  fs.writeFileSync(path.join(fresh, STAMP), JSON.stringify({ digest: wanted }));
  if (fs.existsSync(builtFolder)) fs.renameSync(builtFolder, old);
  fs.renameSync(fresh, builtFolder);
  fs.rmSync(old, { recursive: true, force: true });
}

function packFiles(folder: string): void {
  for (const file of filesBelow(folder).filter((each) => packable.test(each))) {
    if (path.relative(folder, file).startsWith('.')) continue;
    const plain = fs.readFileSync(file);
    if (plain.length < MIN_COMPRESSED_BYTES) continue;
    fs.writeFileSync(`${file}.gz`, gzipSync(plain, { level: 9 }));
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    };
    fs.writeFileSync(`${file}.br`, brotliCompressSync(plain, { params }));
  }
}

function builtFrom(folder: string): string | null {
  const stamp = path.join(folder, STAMP);
  if (!fs.existsSync(stamp)) return null;
  const { digest } = JSON.parse(fs.readFileSync(stamp, 'utf8')) as { readonly digest: string };
  return digest;
}

function digestOfInputs(): string {
  const hash = createHash('sha256');
  for (const input of inputs) {
    const place = path.join(root, input);
    if (!fs.existsSync(place)) continue;
    const files = fs.statSync(place).isDirectory() ? filesBelow(place) : [place];
    for (const file of files.filter((each) => !/\.test\.tsx?$/.test(each))) {
      hash
        .update(`${path.relative(root, file)}\0`)
        .update(fs.readFileSync(file))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

function filesBelow(folder: string): readonly string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();
}

if (process.argv[1] === import.meta.filename) {
  const [, , wanted = '', always] = process.argv;
  buildAlone(wanted, always === 'always');
}
