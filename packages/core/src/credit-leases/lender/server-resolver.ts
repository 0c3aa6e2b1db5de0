import {
  deleteOldLeases,
  isServerReady,
  prepareServer,
  readIncarnation,
  type LeaseServer,
} from '@millrace/credit-leases/protocol';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { beginGeneration, readServer } from './leases.store.ts';

/** Finds the current generation of the lease server, and prepares a new one if the server has changed. */
export interface ServerResolver {
  current(): Promise<LeaseServer>;
  /** Discards the cached server after it turned out to be another one. */
  invalidate(): void;
}

export interface ServerResolverOptions {
  readonly db: Db;
  readonly valkey: Pick<ValkeyClient, 'command'>;
  readonly cell: number;
  readonly log: Pick<Logger, 'warn'>;
}

export function createServerResolver(options: ServerResolverOptions): ServerResolver {
  const { db, valkey, cell, log } = options;
  let known: LeaseServer | undefined;
  let finding: Promise<LeaseServer> | undefined;

  /**
   * The slow step, deleting old leases, precedes the new generation. Otherwise a second worker would begin another generation
   * before the server is ready, and two slow workers could alternate forever. After a crash in between, no server is ready for
   * the generation, and the next worker begins another.
   */
  async function find(): Promise<LeaseServer> {
    const recorded = await readServer(db, cell);
    if (recorded !== null && (await isServerReady(valkey, recorded))) return recorded;
    const incarnation = await readIncarnation(valkey);
    const after = recorded?.generation ?? 0n;
    if (recorded !== null) {
      await deleteOldLeases(valkey, recorded.namespace, async () => (await generationNow()) === after);
    }
    const started = await db.transaction(
      { name: 'begin pot generation', isolation: 'read committed' },
      (tx) => beginGeneration(tx, cell, { after, incarnation }),
    );
    if (started === null) throw new Error('Another worker is preparing the Valkey of the credit leases.');
    await prepareServer(valkey, started);
    // The first generation of an installation is not a warning.
    if (recorded !== null) {
      log.warn(
        { generation: started.generation.toString() },
        'Valkey has changed: credit leases start in a new generation',
      );
    }
    return started;
  }

  const generationNow = async (): Promise<bigint> => (await readServer(db, cell))?.generation ?? 0n;

  return {
    async current() {
      if (known !== undefined) return known;
      finding ??= find().finally(() => (finding = undefined));
      known = await finding;
      return known;
    },
    invalidate() {
      known = undefined;
    },
  };
}
