import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBuildInfo } from './build-info.ts';

const commit = 'b1946ac92492d2347c6235b4d2611184b1946ac9';
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'build-info-'));
  await mkdir(join(root, '.git/refs/heads'), { recursive: true });
});
afterAll(() => rm(root, { recursive: true }));

const write = (path: string, text: string): Promise<void> => writeFile(join(root, '.git', path), text);

test('readBuildInfo prefers the configured commit and reads the version of the release', () => {
  expect(readBuildInfo('abc1234', root)).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    commit: 'abc1234',
  });
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
