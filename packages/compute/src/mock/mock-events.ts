import type { Clock } from '@millrace/platform/clock';
import { DriverError } from '../driver-error.ts';
import type { EngineEvent } from '../driver.ts';
import type { EngineHealth } from './controls.ts';
import type { MachineStore } from './machine-store.ts';

const pollMs = 1_000;

export interface MockEventSource {
  readonly memory: MachineStore;
  readonly clock: Clock;
  readonly health: EngineHealth;
  readonly closing: AbortSignal;
}

/** Events: at once for changes of this process, within a second for those of others. */
export async function* streamEvents(
  source: MockEventSource,
  signal: AbortSignal,
): AsyncIterable<EngineEvent> {
  const { memory, clock, health, closing } = source;
  const nodes: EngineEvent[] = [];
  let isLost = closing.aborted || health.isSilent;
  let wake = (): void => undefined;
  const onAbort = (): void => wake();
  const endings = [
    memory.onChange(() => wake()),
    health.onChange((change) => {
      if (change === null) isLost = true;
      else nodes.push({ kind: 'node', ...change });
      wake();
    }),
    on(signal, onAbort),
    on(closing, onAbort),
  ];
  const read = async (cursor: bigint | null): ReturnType<MachineStore['changesSince']> => {
    try {
      return await memory.changesSince(cursor);
    } catch (error) {
      throw new DriverError('unavailable', 'The machine store of the mock engine did not respond.', {
        cause: error,
      });
    }
  };
  try {
    let { cursor } = await read(null);
    while (!signal.aborted) {
      if (isLost || closing.aborted) throw new DriverError('unavailable', 'The event connection was lost.');
      // Created before the read, so that changes during the read also resolve it.
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const news = await read(cursor);
      cursor = news.cursor;
      for (const change of news.changes) yield { kind: 'machine', ...toMachineEvent(change) };
      yield* nodes.splice(0);
      const cancel = clock.after(pollMs, () => wake());
      await woken;
      cancel();
    }
  } finally {
    for (const end of endings) end();
  }
}

function toMachineEvent({ externalId, what }: { externalId: string; what: string }): {
  externalId: string;
  what: string;
} {
  return { externalId, what };
}

function on(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener);
  return () => signal.removeEventListener('abort', listener);
}
