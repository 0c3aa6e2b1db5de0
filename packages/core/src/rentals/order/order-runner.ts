import type { Db } from '@millrace/platform/db';
import type { CellId } from '@millrace/platform/ids';
import { createWireIdAllocator, type WireIdKind } from '@millrace/platform/wire-ids';
import type { TenantRef } from '../../identity/index.ts';
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

/** Has the order carried out with an id that nobody has; `use` is called in the transaction that writes it. */
export type RunOrder = <T>(who: TenantRef, work: (id: number, use: () => void) => Promise<T>) => Promise<T>;

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

/** The same for bare metal, with an id for the new volume that comes with it; null where none does. */
export function createBareMetalRunner(
  ordering: RunOrder,
  { db, cell }: Pick<OrderRunnerDeps, 'db' | 'cell'>,
) {
  const withVolumeId = createIdReuse(createWireIdAllocator({ db, cell, kind: 'volume', chunk: ID_CHUNK }));
  return <T>(
    who: TenantRef,
    storage: StorageChoice | null,
    work: (ids: { readonly wireId: number; readonly volumeId: number | null }, use: () => void) => Promise<T>,
  ): Promise<T> => {
    const order = (volumeId: number | null, useVolume: () => void): Promise<T> =>
      ordering(who, (wireId, useRental) =>
        work({ wireId, volumeId }, () => {
          useRental();
          useVolume();
        }),
      );
    return storage?.isNew === true ? withVolumeId(order) : order(null, () => undefined);
  };
}
