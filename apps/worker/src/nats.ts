import { systemClock } from '@millrace/platform/clock';
import type { EarlyNatsClient } from '@millrace/platform/nats';

const LOOK_MS = 50;
const LOOKS = 40;

/** Waits a moment for the first connection: while we start, one that is still being made is nothing to warn of. */
export async function soonConnected(
  nats: Pick<EarlyNatsClient, 'connected'>,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; look < LOOKS && !nats.connected() && !signal.aborted; look += 1) {
    await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}
