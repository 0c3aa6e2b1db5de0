import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { CellId, OrgId } from '@millrace/platform/ids';
import { createWireIdAllocator, type WireIdKind } from '@millrace/platform/wire-ids';
import { withRecalledMoney, type RecallMoney } from '../ledger/index.ts';
import type { StorageChoice } from '../volumes/index.ts';
import { createSpareIds } from './spare-ids.ts';

/** What every order of a process goes through before its transaction, whatever is ordered. */

export interface OrderingParts {
  readonly db: Db;
  /** Its 32-bit ids are given to what is created here. */
  readonly cell: CellId;
  /** Where what an order lacks may be lent out for inference. Without it an order is paid from what is there. */
  readonly recallMoney?: RecallMoney | undefined;
}

/** Has the order carried out with an id that nobody has; `use` is called where it ends up in a row. */
export type Ordering = <T>(
  who: { readonly orgId: OrgId; readonly mode: Mode },
  work: (wireId: number, use: () => void) => Promise<T>,
) => Promise<T>;

/** What a process takes of its cell's ids at once. */
const IDS_AT_ONCE = 50;

/** Volumes count for themselves. */
export function createOrdering(
  { db, cell, recallMoney }: OrderingParts,
  kind: WireIdKind = 'rental',
): Ordering {
  const withId = createSpareIds(createWireIdAllocator({ db, cell, kind, chunk: IDS_AT_ONCE }));
  return (who, work) => withId((wireId, use) => withRecalledMoney(who, recallMoney, () => work(wireId, use)));
}

/** Has the order carried out with an id for the volume that comes with it; null where none does. */
export type WithVolumeId = <T>(
  storage: StorageChoice | null,
  work: (volumeId: number | null, use: () => void) => Promise<T>,
) => Promise<T>;

export function createVolumeIds({ db, cell }: Pick<OrderingParts, 'db' | 'cell'>): WithVolumeId {
  const withId = createSpareIds(createWireIdAllocator({ db, cell, kind: 'volume', chunk: IDS_AT_ONCE }));
  return (storage, work) => (storage?.isNew === true ? withId(work) : work(null, () => undefined));
}
