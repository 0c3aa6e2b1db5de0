import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import { replaceFile } from './files.ts';
import { checkConfig, renderConfig, type ServerSettings } from './ganesha-config.ts';
import { findServer, isServerOf, lastLogError, reloadServer, startServer, stopServer } from './ganesha.ts';
import type { Folder } from './pool.ts';
import { probeVolume } from './probe-volume.ts';
import type { VolumeRecord } from './record.ts';

const reloadMs = 5_000;
const startMs = 20_000;
const pollMs = 15;

export interface ServingDeps {
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** A server that was started here ended. */
  readonly onEnd: () => void;
}

/**
 * Brings the server of a volume to its record, and resolves when it was seen to follow it. A server that runs reads its new list
 * and goes on; one that then does not follow it is replaced, so that nobody stays in who is no longer on the list.
 */
export async function serveVolume(folder: Folder, record: VolumeRecord, deps: ServingDeps): Promise<void> {
  const { settings, clock, log } = deps;
  const text = renderConfig(folder, record, settings);
  checkConfig(text, record);
  const before = await readFile(folder.config, 'utf8').catch(() => '');
  if (before !== text) await replaceFile(folder.config, text);
  // What is on disk is what a server reads.
  checkConfig(await readFile(folder.config, 'utf8'), record);
  const running = await findServer(folder);
  if (running !== null && fixedPart(before) === fixedPart(text)) {
    if (before === text && (await probeVolume(record, settings, clock)) === null) return;
    await reloadServer(folder, running);
    const why = await waitUntilServed(reloadMs, { folder, record, pid: running }, deps);
    if (why === null) return;
    log.warn({ volume: folder.id, why }, 'a server did not follow its new list, and is replaced');
  }
  await stopServer(folder, clock);
  const pid = await startServer(folder, randomInt(1, 2 ** 31), deps.onEnd);
  const why = await waitUntilServed(startMs, { folder, record, pid }, deps);
  if (why === null) return;
  const words = await lastLogError(folder);
  throw new DriverError('unavailable', words === '' ? why : `${why} It said last: ${words}`);
}

/** What a running server does not read again. */
function fixedPart(text: string): string {
  return text.split('\n  CLIENT {', 1)[0] ?? '';
}

async function waitUntilServed(
  limitMs: number,
  { folder, record, pid }: { readonly folder: Folder; readonly record: VolumeRecord; readonly pid: number },
  { settings, clock }: ServingDeps,
): Promise<string | null> {
  const startedMs = clock.monotonicMs();
  for (;;) {
    const why = await probeVolume(record, settings, clock);
    if (why === null) return null;
    if (!(await isServerOf(folder, pid))) return 'The server of the volume ended.';
    if (clock.monotonicMs() - startedMs > limitMs) return why;
    await clock.sleep(pollMs);
  }
}
