import { ensureUp } from '@millrace/services';
import { dropAbandonedDatabases, ensureTemplate } from './database.ts';
import { dropAbandonedStreams } from './streams.ts';

/** Runs once before the vitest project `int`: real engines up, leftovers of killed runs removed, template built. */
export async function setup(): Promise<void> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  await dropAbandonedDatabases();
  await dropAbandonedStreams();
  await ensureTemplate();
}
