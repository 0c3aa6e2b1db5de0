import { expect, test } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createLogger } from '../log/index.ts';
import { openCredentialFiles } from './credential-source.ts';

async function open() {
  const clock = new SimulatedClock();
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  const log = createLogger({ name: 'test', level: 'info', destination });
  const file = { content: 'first', reads: 0, problem: '', isSilent: false };
  const read = async () => {
    file.reads += 1;
    if (file.isSilent) await new Promise<never>(() => undefined);
    if (file.problem !== '') throw new Error(file.problem);
    return { password: file.content };
  };
  const source = await openCredentialFiles({ name: 'eu-1', read, clock, log });
  return { clock, file, source, log: () => text };
}

test('openCredentialFiles checks the files for changes before a use, at most every ten seconds', async () => {
  const { clock, file, source, log } = await open();
  const first = await source.latest();
  file.content = 'second';
  await clock.advance(9_999);
  expect(await source.latest()).toBe(first);
  await clock.advance(1);
  const both = await Promise.all([source.latest(), source.latest()]);
  expect(both).toEqual([{ password: 'second' }, { password: 'second' }]);
  expect(both[0]).toBe(both[1]);
  expect(file.reads).toBe(2);
  expect(log()).toContain('credential reloaded');
  expect(log()).not.toContain('second');
});

test('openCredentialFiles returns the same object while the files are unchanged', async () => {
  const { clock, source } = await open();
  const first = await source.latest();
  await clock.advance(10_000);
  expect(await source.latest()).toBe(first);
});

test('openCredentialFiles reads the files at the next use after recheck', async () => {
  const { file, source } = await open();
  file.content = 'second';
  source.recheck();
  expect(await source.latest()).toEqual({ password: 'second' });
});

test('openCredentialFiles keeps the earlier credential while the files cannot be used, and logs each problem once', async () => {
  const { file, source, log } = await open();
  const first = await source.latest();
  file.problem = 'The key does not match.';
  for (let use = 0; use < 3; use += 1) {
    source.recheck();
    expect(await source.latest()).toBe(first);
  }
  expect(log().match(/credential not reloaded/g)).toHaveLength(1);
  file.problem = '';
  file.content = 'second';
  source.recheck();
  expect(await source.latest()).toEqual({ password: 'second' });
});

test('openCredentialFiles keeps the earlier credential if the files cannot be read in two seconds', async () => {
  const { clock, file, source, log } = await open();
  const first = await source.latest();
  file.isSilent = true;
  source.recheck();
  const uses = Promise.all([source.latest(), source.latest()]);
  await clock.advance(2_000);
  expect(await uses).toEqual([first, first]);
  expect(log()).toContain('took longer than 2000 ms');
  // The next use tries again only when it is due.
  expect(await source.latest()).toBe(first);
  expect(file.reads).toBe(2);
  // No second read begins before the first one ends.
  await clock.advance(60_000);
  expect(await source.latest()).toBe(first);
  expect(file.reads).toBe(2);
});

test('openCredentialFiles reads the files again if they were refused while it read them', async () => {
  const { file, source } = await open();
  source.recheck();
  const use = source.latest();
  file.content = 'second';
  source.recheck();
  await use;
  file.content = 'third';
  expect(await source.latest()).toEqual({ password: 'third' });
});
