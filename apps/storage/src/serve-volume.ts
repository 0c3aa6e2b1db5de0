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
  /** A server that this process started has ended. */
  readonly onEnd: () => void;
}

/**
 * Applies the record to the server and resolves when a probe has confirmed it. A running server reloads its list; if it does not
 * use the new list in time, it is replaced, so that removed clients lose access.
 */
export async function serveVolume(folder: Folder, record: VolumeRecord, deps: ServingDeps): Promise<void> {
  const { settings, clock, log } = deps;
  const text = renderConfig(folder, record, settings);
  checkConfig(text, record);
  const before = await readFile(folder.config, 'utf8').catch(() => '');
  if (before !== text) await replaceFile(folder.config, text);
  // The server reads the file on disk, so that is checked.
  checkConfig(await readFile(folder.config, 'utf8'), record);
  const running = await findServer(folder);
  if (running !== null && fixedPart(before) === fixedPart(text)) {
    if (before === text && (await probeVolume(record, settings, clock)) === null) return;
    await reloadServer(folder, running);
    const why = await waitUntilServed(reloadMs, { folder, record, pid: running }, deps);
    if (why === null) return;
    log.warn({ volume: folder.id, why }, 'server does not use its new client list; replacing it');
  }
  await stopServer(folder, clock);
  const pid = await startServer(folder, randomInt(1, 2 ** 31), deps.onEnd);
  const why = await waitUntilServed(startMs, { folder, record, pid }, deps);
  if (why === null) return;
  const words = await lastLogError(folder);
  throw new DriverError('unavailable', words === '' ? why : `${why} Last error of the server: ${words}`);
}

/** The part of the configuration that a running server does not reload. */
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
    if (!(await isServerOf(folder, pid))) return 'The NFS server of the volume ended.';
    if (clock.monotonicMs() - startedMs > limitMs) return why;
    await clock.sleep(pollMs);
  }
}
