import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { ClusterMachine, ThreeMachines } from './machines.ts';

/** A load of clients in the network of the machines, and what they saw. */

export const loadKinds = ['chat', 'API read', 'write', 'console', 'rental'] as const;
export type LoadKind = (typeof loadKinds)[number];

export interface LoadOptions {
  readonly addresses: readonly string[];
  readonly caFile: string;
  readonly keys: { readonly live: string; readonly test: string };
  readonly organisationId: string;
  readonly model: string;
  readonly region: string;
}

/** `atMs` is on the clock of process.hrtime. */
export type LoadEvent = { readonly kind: LoadKind; readonly atMs: number } & (
  | { readonly tookMs: number }
  | { readonly repeated: string }
  | { readonly failed: string }
);

export interface Load {
  readonly events: readonly LoadEvent[];
  /** All clients use this machine from now on, until they lose it. */
  use(machine: ClusterMachine): void;
  /** Ends the load, once no request is in progress. */
  end(): Promise<void>;
  [Symbol.dispose](): void;
}

const repository = path.join(import.meta.dirname, '../../..');

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export function startLoad({ host }: ThreeMachines, options: LoadOptions): Load {
  const file = path.join(host.folder, 'load.json');
  writeFileSync(file, JSON.stringify(options), { mode: 0o600 });
  const program = path.join(import.meta.dirname, 'load-program.ts');
  const child = host.start(path.join(repository, 'tools/run'), program, file);
  const events: LoadEvent[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => events.push(JSON.parse(line) as LoadEvent));
  return {
    events,
    use: ({ address }) => void child.stdin.write(`${address}\n`),
    end: async () => {
      const ended = once(lines, 'close');
      child.stdin.end();
      await ended;
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}
