import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { isServerReady, prepareServer, readIncarnation } from './pot-valkey.ts';
import { beginGeneration, readServer } from './pots.store.ts';
import type { PotServer } from './scripts.ts';

/** Knows which run of the pot Valkey is the present one, and makes a new one ready when it is not. */
export interface ServerKeeper {
  /** The present server, made ready first if need be. */
  current(): Promise<PotServer>;
  /** What was thought to be the present server turned out to be another. */
  doubt(): void;
}

export interface ServerKeeperOptions {
  readonly db: Db;
  readonly valkey: Pick<ValkeyClient, 'command'>;
  readonly cell: number;
  readonly log: Pick<Logger, 'warn'>;
}

export function createServerKeeper(options: ServerKeeperOptions): ServerKeeper {
  const { db, valkey, cell, log } = options;
  let known: PotServer | undefined;
  let finding: Promise<PotServer> | undefined;

  /**
   * The book first, then the server: dying in between leaves a generation that no server is ready for, and the next
   * one to look begins another. Of two at once, one begins the generation and the other finds it.
   */
  async function find(): Promise<PotServer> {
    const recorded = await readServer(db, cell);
    if (recorded !== null && (await isServerReady(valkey, recorded))) return recorded;
    const incarnation = await readIncarnation(valkey);
    const after = recorded?.generation ?? 0n;
    const begun = await db.transaction({ name: 'begin pot generation', isolation: 'read committed' }, (tx) =>
      beginGeneration(tx, cell, { after, incarnation }),
    );
    if (begun === null) throw new Error('Another worker is making the pot Valkey ready.');
    if (!(await prepareServer(valkey, begun)))
      throw new Error('The pot Valkey is ready for a newer generation.');
    log.warn({ generation: begun.generation.toString() }, 'the pots of this Valkey begin anew');
    return begun;
  }

  return {
    async current() {
      if (known !== undefined) return known;
      finding ??= find().finally(() => (finding = undefined));
      known = await finding;
      return known;
    },
    doubt() {
      known = undefined;
    },
  };
}
