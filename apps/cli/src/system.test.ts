import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CliError } from './framework/errors.ts';
import { createInterrupts } from './interrupts.ts';
import { createSystem } from './system.ts';

const system = createSystem({}, createInterrupts());

const directory = await mkdtemp(join(tmpdir(), 'millrace-system-'));

afterAll(() => rm(directory, { recursive: true }));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('files', () => {
  it('with keys are readable only by their owner, and so is their folder', async () => {
    const path = join(directory, 'config/millrace/profiles.json');
    await system.files.write(path, '{}', { mode: 0o600 });
    expect([await modeOf(path), await modeOf(join(directory, 'config/millrace'))]).toEqual([0o600, 0o700]);
    // Also if it replaces a file that everyone can read.
    await writeFile(join(directory, 'open'), 'old', { mode: 0o644 });
    await system.files.write(join(directory, 'open'), 'new', { mode: 0o600 });
    expect(await modeOf(join(directory, 'open'))).toBe(0o600);
  });

  it('are replaced atomically and not through a link', async () => {
    const target = join(directory, 'target');
    const link = join(directory, 'link');
    await writeFile(target, 'untouched');
    await symlink(target, link);
    await system.files.write(link, 'secret', { mode: 0o600 });
    expect([await readFile(target, 'utf8'), await readFile(link, 'utf8')]).toEqual(['untouched', 'secret']);
    expect(await system.files.list(directory)).not.toContainEqual(expect.stringContaining('.tmp'));
  });

  it('that are pipes or devices are written to and not replaced', async () => {
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [read] = await Promise.all([readFile(pipe, 'utf8'), system.files.write(pipe, 'through it')]);
    expect([read, (await stat(pipe)).isFIFO()]).toEqual(['through it', true]);
  });

  it('that cannot be written are named, without leftovers', async () => {
    await mkdir(join(directory, 'taken'));
    await writeFile(join(directory, 'taken/inside'), '');
    const failed = await system.files.write(join(directory, 'taken'), 'x').catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CliError);
    expect(String(failed)).toContain(`${join(directory, 'taken')}.`);
    expect(await system.files.list(directory)).not.toContainEqual(expect.stringContaining('.tmp'));
  });

  it('that are missing are reported as missing', async () => {
    expect(await system.files.exists(join(directory, 'nothing'))).toBe(false);
    expect(await system.files.exists(join(directory, 'target'))).toBe(true);
    expect(await system.files.list(join(directory, 'nothing'))).toEqual([]);
    await expect(system.files.readText(join(directory, 'nothing'))).rejects.toThrow('ENOENT');
  });
});

it('spawn returns the exit code of the program', async () => {
  expect(await system.spawn('sh', ['-c', 'exit 7'])).toBe(7);
  expect(await system.spawn('sh', ['-c', 'kill -TERM $$'])).toBe(128 + 15);
  await expect(system.spawn(join(directory, 'nothing'), [])).rejects.toThrow('ENOENT');
});
