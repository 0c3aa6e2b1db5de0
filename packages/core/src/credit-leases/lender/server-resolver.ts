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

/** Knows which run of the pot Valkey is the present one, and makes a new one ready when it is not. */
export interface ServerResolver {
  /** The present server, made ready first if need be. */
  current(): Promise<LeaseServer>;
  /** What was thought to be the present server turned out to be another. */
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
   * What takes long, removing the pots of the past, comes before the generation is begun: between that and the server's
   * being ready others would begin another, and two slow workers would overtake each other for ever. Dying in between
   * leaves a generation that no server is ready for, and the next one to look begins another.
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
    if (started === null) throw new Error('Another worker is making the pot Valkey ready.');
    await prepareServer(valkey, started);
    // The first of an installation is nothing that anybody has to look at.
    if (recorded !== null) {
      log.warn({ generation: started.generation.toString() }, 'the pots of this Valkey begin anew');
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
