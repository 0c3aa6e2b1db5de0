import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { CellId, OrgId } from '@millrace/platform/ids';
import { createWireIdAllocator, type WireIdKind } from '@millrace/platform/wire-ids';
import { retryWithRecalledCredit, type RecallCredit } from '../../ledger/index.ts';
import type { StorageChoice } from '../../volumes/index.ts';
import { createIdReuse } from './reusable-ids.ts';

/** What every order of a process goes through before its transaction, whatever is ordered. */

export interface OrderRunnerDeps {
  readonly db: Db;
  /** Its 32-bit ids are given to what is created here. */
  readonly cell: CellId;
  /** Where what an order lacks may be lent out for inference. Without it an order is paid from what is there. */
  readonly recallMoney?: RecallCredit | undefined;
}

/** Has the order carried out with an id that nobody has; `use` is called where it ends up in a row. */
export type RunOrder = <T>(
  who: { readonly orgId: OrgId; readonly mode: Mode },
  work: (wireId: number, use: () => void) => Promise<T>,
) => Promise<T>;

/** What a process takes of its cell's ids at once. */
const ID_CHUNK = 50;

/** Volumes count for themselves. */
export function createOrderRunner(
  { db, cell, recallMoney }: OrderRunnerDeps,
  kind: WireIdKind = 'rental',
): RunOrder {
  const withId = createIdReuse(createWireIdAllocator({ db, cell, kind, chunk: ID_CHUNK }));
  return (who, work) =>
    withId((wireId, use) => retryWithRecalledCredit(who, recallMoney, () => work(wireId, use)));
}

/** Has the order carried out with an id for the volume that comes with it; null where none does. */
export type WithVolumeId = <T>(
  storage: StorageChoice | null,
  work: (volumeId: number | null, use: () => void) => Promise<T>,
) => Promise<T>;

export function createVolumeIdRunner({ db, cell }: Pick<OrderRunnerDeps, 'db' | 'cell'>): WithVolumeId {
  const withId = createIdReuse(createWireIdAllocator({ db, cell, kind: 'volume', chunk: ID_CHUNK }));
  return (storage, work) => (storage?.isNew === true ? withId(work) : work(null, () => undefined));
}
