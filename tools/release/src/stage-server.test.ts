import { productFolder } from '@millrace/platform/release';
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverPrograms } from './bundle-server.ts';
import { stageServer, type StagedServer } from './stage-server.ts';

const MIB = 1_048_576;
const MAX_BYTES = 80 * MIB;
const SMALL_FILE_BYTES = 2_000;
/** Exit code for wrong settings. */
const EXIT_CONFIG = 78;

let scratch: string;
let folder: string;
let staged: StagedServer;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'millrace-server-'));
  folder = path.join(scratch, 'server');
  staged = await stageServer(folder);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Runs a program of the staged folder outside the repository, with an empty environment. */
async function start(program: string, args: readonly string[] = []) {
  const file = path.join(folder, 'lib', `${program}.js`);
  const outcome = promisify(execFile)(process.execPath, [file, ...args], { cwd: '/', env: {} });
  return outcome.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

function filesOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(path.join(root, file)).isFile())
    .toSorted();
}

function digestsOf(root: string): readonly string[] {
  return filesOf(root).map((file) => {
    const digest = createHash('sha256')
      .update(readFileSync(path.join(root, file)))
      .digest('hex');
    return `${digest} ${file}`;
  });
}

test('stageServer: each program starts without the repository and names its missing settings', async () => {
  for (const program of ['api', 'worker', 'gateway', 'storage']) {
    const { code, stderr } = await start(program);
    expect(stderr, program).toContain('Millrace cannot start');
    expect(code, program).toBe(EXIT_CONFIG);
  }
  const help = await start('admin', ['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('bootstrap');
  const usage = await start('trial', ['other']);
  expect(usage.stderr).toContain('trial.js [api|worker|gateway]');
});

test('stageServer: the release has its version and commit', () => {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as object;
  const { version } = JSON.parse(readFileSync(path.join(productFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(staged.version).toBe(version);
  expect(manifest).toMatchObject({ version, ...(staged.commit === null ? {} : { commit: staged.commit }) });
});

test('stageServer: contains JavaScript with source maps, no TypeScript, and no path of the machine', () => {
  const files = filesOf(folder);
  expect(files.filter((file) => /\.[cm]?tsx?$/.test(file))).toEqual([]);
  const programs = files.filter((file) => /^lib\/.*\.js$/.test(file));
  expect(programs.length).toBeGreaterThan(Object.keys(serverPrograms).length);
  for (const file of programs) {
    // Smaller files only export again what another file has.
    const hasMap = statSync(path.join(folder, file)).size > SMALL_FILE_BYTES;
    if (hasMap) expect(files).toContain(`${file}.map`);
    for (const each of hasMap ? [file, `${file}.map`] : [file]) {
      expect(readFileSync(path.join(folder, each), 'utf8').includes(productFolder), each).toBe(false);
    }
  }
});

test('stageServer: bundles only packages that the programs depend on', () => {
  const apps = [...Object.values(serverPrograms), 'apps/console/src/main.tsx'];
  const workspaces = apps.map((file) => `--workspace=${path.dirname(path.dirname(file))}`);
  const command = ['ls', '--all', '--omit=dev', '--parseable', '--long', ...workspaces];
  const listed = execFileSync('npm', command, { cwd: productFolder, encoding: 'utf8', maxBuffer: 16 * MIB });
  // A line is FOLDER:NAME@VERSION.
  const allowed = new Set(listed.split('\n').map((line) => line.split(':')[1]));
  expect(staged.packages.length).toBeGreaterThan(50);
  const others = staged.packages
    .map(({ name, version }) => `${name}@${version}`)
    .filter((each) => !allowed.has(each));
  expect(others).toEqual([]);
});

test('stageServer: two builds in different folders are equal, byte by byte', async () => {
  const second = path.join(scratch, 'elsewhere', 'second');
  mkdirSync(path.dirname(second));
  await stageServer(second);
  expect(digestsOf(second)).toEqual(digestsOf(folder));
});

test('stageServer: is at most 80 MiB large', () => {
  const bytes = filesOf(folder).reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  // A limit far above the real size would not detect growth.
  expect(bytes).toBeGreaterThan(MAX_BYTES / 2);
});

test('stageServer: replaces an earlier build, but no other folder', async () => {
  const other = path.join(scratch, 'unrelated');
  mkdirSync(other);
  writeFileSync(path.join(other, 'other.txt'), 'other content');
  await expect(stageServer(other)).rejects.toThrow('not of an earlier build');
  await stageServer(folder);
  expect(readdirSync(scratch).filter((name) => name.includes('partial'))).toEqual([]);
  expect(readFileSync(path.join(other, 'other.txt'), 'utf8')).toBe('other content');
});
