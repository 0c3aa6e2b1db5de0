import type { MachineRef } from '../driver.ts';
import type { MockMachine } from './mock-machine.ts';

export interface StoredMachine {
  readonly machine: MockMachine;
  readonly version: bigint;
}

export interface MachineChange {
  readonly externalId: string;
  readonly what: string;
}

/** Stores the machines of one mock cluster. Compare-and-set on the version keeps concurrent drivers apart. */
export interface MachineStore {
  read(machine: MachineRef): Promise<StoredMachine | null>;
  /** May omit keys and user data, which are most of a record and which no list shows. */
  list(): Promise<readonly StoredMachine[]>;
  /**
   * Writes `next` (null deletes) if the record still has this version (null: if none exists). Returns the new version, or null
   * after a concurrent change. Versions are never reused. `what` is sent to listeners unless it is null.
   */
  write(
    machine: MachineRef,
    version: bigint | null,
    next: MockMachine | null,
    what: string | null,
  ): Promise<bigint | null>;
  /** Changes after the cursor; none for null. Changes may be missing: events are not reliable. */
  changesSince(
    cursor: bigint | null,
  ): Promise<{ readonly cursor: bigint; readonly changes: readonly MachineChange[] }>;
  /** Called for changes through this object before `write` resolves. Changes by other processes need polling. */
  onChange(listener: (machine: MachineRef) => Promise<void> | void): () => void;
}

export class Listeners {
  readonly #listeners = new Set<(machine: MachineRef) => Promise<void> | void>();

  add(listener: (machine: MachineRef) => Promise<void> | void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async notify(machine: MachineRef): Promise<void> {
    await Promise.all([...this.#listeners].map(async (listener) => listener(machine)));
  }
}

const maxChanges = 10_000;
const keyOf = ({ orgId, externalId }: MachineRef): string => `${orgId} ${externalId}`;

/** Lost when the process ends: for tests and experiments. */
export function createInMemoryStore(): MachineStore {
  const records = new Map<string, StoredMachine>();
  const listeners = new Listeners();
  const hints: (MachineChange & { readonly seq: bigint })[] = [];
  let seq = 0n;
  return {
    async read(machine) {
      return records.get(keyOf(machine)) ?? null;
    },
    async list() {
      return [...records.values()];
    },
    async write(machine, version, next, what) {
      const key = keyOf(machine);
      if ((records.get(key)?.version ?? null) !== version) return null;
      seq += 1n;
      if (next === null) records.delete(key);
      else records.set(key, { machine: next, version: seq });
      if (what !== null) {
        hints.push({ externalId: machine.externalId, what, seq });
        if (hints.length > 2 * maxChanges) hints.splice(0, maxChanges);
      }
      const written = seq;
      await listeners.notify(machine);
      return written;
    },
    async changesSince(cursor) {
      const changes = cursor === null ? [] : hints.filter((hint) => hint.seq > cursor);
      return { cursor: seq, changes };
    },
    onChange: (listener) => listeners.add(listener),
  };
}
