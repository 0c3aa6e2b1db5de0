import type { MachineRef } from '../driver.ts';
import type { MockMachine } from './mock-machine.ts';

/** A record and the version that a change of it must name. */
export interface StoredMachine {
  readonly machine: MockMachine;
  readonly version: bigint;
}

export interface MachineChange {
  readonly externalId: string;
  readonly what: string;
}

/**
 * Where the mock engine of one cluster keeps its machines. Every change is a compare-and-set on the version, so that
 * several drivers, in one process or in many, never overwrite each other.
 */
export interface MachineStore {
  read(machine: MachineRef): Promise<StoredMachine | null>;
  /** All of them. Keys and user data may be left out: they are most of a record, and no list shows them. */
  list(): Promise<readonly StoredMachine[]>;
  /**
   * Writes `next` (null deletes) if the record still has this version (null: if there is none), and gives its new
   * version; null when somebody else was faster. No version is ever had twice.
   * `what` is told to those who listen; null tells nobody.
   */
  write(
    machine: MachineRef,
    version: bigint | null,
    next: MockMachine | null,
    what: string | null,
  ): Promise<bigint | null>;
  /** What changed after the cursor; nothing, and the newest cursor, for null. May miss some: these are hints. */
  changesSince(
    cursor: bigint | null,
  ): Promise<{ readonly cursor: bigint; readonly changes: readonly MachineChange[] }>;
  /**
   * Has this called for each change that is made through this very object, before the writer goes on. Gives back what
   * ends it. Changes by other processes are found by reading.
   */
  onChange(listener: (machine: MachineRef) => Promise<void> | void): () => void;
}

/** Tells those in this process; each memory has one. */
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

/** Kept by this process and gone with it: for tests and for trying things out. */
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
