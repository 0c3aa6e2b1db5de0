import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { withLock } from './lock.ts';
import { sleep } from './time.ts';

let file = '';

beforeEach(() => {
  file = path.join(mkdtempSync(path.join(tmpdir(), 'mr-lock-')), 'lock');
});

afterEach(() => rmSync(path.dirname(file), { recursive: true, force: true }));

const quiet = (): void => {};

test('withLock: two holders of one lock never overlap', async () => {
  let inside = 0;
  let most = 0;
  const hold = (): Promise<void> =>
    withLock(file, quiet, async () => {
      inside += 1;
      most = Math.max(most, inside);
      await sleep(20);
      inside -= 1;
    });
  await Promise.all(Array.from({ length: 5 }, hold));
  expect(most).toBe(1);
});

test('withLock: releases the lock if the work throws', async () => {
  await expect(withLock(file, quiet, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(withLock(file, quiet, () => Promise.resolve('yes'))).resolves.toBe('yes');
});

test('withLock: releases the lock of a killed process', async () => {
  const module = fileURLToPath(new URL('./lock.ts', import.meta.url));
  const program = `
    import { withLock } from ${JSON.stringify(module)};
    await withLock(${JSON.stringify(file)}, () => {}, async () => {
      process.stdout.write('held');
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const holder = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  holder.kill('SIGKILL');
  await expect(withLock(file, quiet, () => Promise.resolve('mine'))).resolves.toBe('mine');
});
