import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readBuildInfo } from './build-info.ts';
import { findProductFolder } from './product-folder.ts';

const commit = 'b1946ac92492d2347c6235b4d2611184b1946ac9';
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'build-info-'));
  await mkdir(join(root, '.git/refs/heads'), { recursive: true });
});
beforeEach(() => writeManifest({}));
afterAll(() => rm(root, { recursive: true }));

const write = (path: string, text: string): Promise<void> => writeFile(join(root, '.git', path), text);

const writeManifest = (more: object): Promise<void> =>
  writeFile(join(root, 'package.json'), JSON.stringify({ version: '1.2.3', ...more }));

test('readBuildInfo prefers the configured commit to that of the package', async () => {
  expect(readBuildInfo('abc1234', root)).toEqual({ version: '1.2.3', commit: 'abc1234' });
  await writeManifest({ commit });
  expect(readBuildInfo(null, root)).toEqual({ version: '1.2.3', commit });
  expect(readBuildInfo('abc1234', root).commit).toBe('abc1234');
});

test('readBuildInfo reads the manifest of the repository by default', () => {
  expect(readBuildInfo(null).version).toMatch(/^\d+\.\d+\.\d+$/);
});

test('findProductFolder finds the closest folder with migrations, or says that the installation is incomplete', async () => {
  await mkdir(join(root, 'db/migrations'), { recursive: true });
  await mkdir(join(root, 'lib/chunks'), { recursive: true });
  expect(findProductFolder(join(root, 'lib/chunks'))).toBe(root);
  expect(() => findProductFolder(tmpdir())).toThrow('the installation is incomplete');
});

test('readBuildInfo finds the commit of a clone on a branch, in packed refs and detached', async () => {
  expect(readBuildInfo(null, root).commit).toBeNull();
  await write('HEAD', 'ref: refs/heads/main\n');
  expect(readBuildInfo(null, root).commit).toBeNull();
  await write('packed-refs', `# pack-refs with: peeled\n${commit} refs/heads/main\n`);
  expect(readBuildInfo(null, root).commit).toBe(commit);
  const newer = commit.replaceAll('b', 'c');
  await write('refs/heads/main', `${newer}\n`);
  expect(readBuildInfo(null, root).commit).toBe(newer);
  await write('HEAD', `${commit}\n`);
  expect(readBuildInfo(null, root).commit).toBe(commit);
});
