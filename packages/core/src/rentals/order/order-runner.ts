import type { Db } from '@millrace/platform/db';
import type { CellId } from '@millrace/platform/ids';
import { createWireIdAllocator, type WireIdKind } from '@millrace/platform/wire-ids';
import type { TenantRef } from '../../identity/index.ts';
import { retryWithRecalledCredit, type RecallCredit } from '../../ledger/index.ts';
import type { StorageChoice } from '../../volumes/index.ts';
import { createIdReuse } from './reusable-ids.ts';

/** Runs orders with a reusable wire id and with credit recalled from inference if the balance is insufficient. */

export interface OrderRunnerDeps {
  readonly db: Db;
  /** Wire ids are allocated from this cell. */
  readonly cell: CellId;
  /** Recalls missing money from inference. Absent: orders are paid from the balance alone. */
  readonly recallMoney?: RecallCredit | undefined;
}

/** Runs the order with an unused wire id. Call `use` in the transaction that stores it. */
export type RunOrder = <T>(who: TenantRef, work: (id: number, use: () => void) => Promise<T>) => Promise<T>;

/** Wire ids that a process takes from its cell at a time. */
const ID_CHUNK = 50;

/** Rentals and volumes have separate ids. */
export function createOrderRunner(
  { db, cell, recallMoney }: OrderRunnerDeps,
  kind: WireIdKind = 'rental',
): RunOrder {
  const withId = createIdReuse(createWireIdAllocator({ db, cell, kind, chunk: ID_CHUNK }));
  return (who, work) =>
    withId((wireId, use) => retryWithRecalledCredit(who, recallMoney, () => work(wireId, use)));
}

/** For bare metal: adds a wire id for a new volume; null if the order has none. */
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
