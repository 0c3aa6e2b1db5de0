import { systemClock } from '@millrace/platform/clock';
import type { BackgroundNatsClient } from '@millrace/platform/nats';

const POLL_MS = 50;
const MAX_POLLS = 40;

/** Waits briefly for the first connection, so that a normal start logs no warnings. */
export async function waitForConnection(
  nats: Pick<BackgroundNatsClient, 'connected'>,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; look < MAX_POLLS && !nats.connected() && !signal.aborted; look += 1) {
    await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
  }
}
