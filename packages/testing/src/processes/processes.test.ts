import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeFlags } from '@millrace/platform/lifecycle';
import { expect, test } from 'vitest';
import { eventually } from '../time/eventually.ts';
import { startProcess } from './processes.ts';

/** Whether the process has ended or is a zombie. */
async function isOver(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat === null || /\) [ZX] /.test(stat);
}

test('startProcess ends its process with the test run, however the run ends', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'processes-'));
  const sleeper = join(folder, 'sleeper.ts');
  const runner = join(folder, 'runner.ts');
  await writeFile(sleeper, `process.on('SIGTERM', () => undefined);\nsetInterval(() => undefined, 1_000);\n`);
  await writeFile(
    runner,
    `import { startProcess } from ${JSON.stringify(new URL('./processes.ts', import.meta.url).href)};
     const child = await startProcess({ name: 'sleeper', entry: ${JSON.stringify(sleeper)}, env: {} });
     process.stdout.write('started ' + child.pid + '\\n');\n`,
  );
  await using run = await startProcess({ name: 'runner', entry: runner, env: {} });
  const pid = await eventually({ what: 'the sleeper started' }, () => {
    const found = /started (\d+)/.exec(run.output())?.[1];
    return found === undefined ? undefined : Number(found);
  });
  expect(await isOver(pid)).toBe(false);
  await run.crash();
  await eventually({ what: 'the sleeper ended' }, () => isOver(pid));
  await rm(folder, { recursive: true });
});

test('tools/run uses the same Node flags as startProcess', async () => {
  const script = await readFile(new URL('../../../../tools/run', import.meta.url), 'utf8');
  expect(script).toContain(`apps/*.ts | */apps/*.ts) exec node ${nodeFlags.join(' ')} "$@"`);
});
