import type { Tx } from '@millrace/platform/db';
import { authorizeCaller, type CallContext } from '../../identity/index.ts';
import { attachAtCreate, lockStorage, type StorageChoice } from '../../volumes/index.ts';
import type { ListPriceOrder } from './order.ts';
import { acceptOrder } from './accept-order.service.ts';
import { scopeOf, type Rental } from '../model/rental.ts';

export interface BareMetalRequest {
  readonly order: ListPriceOrder;
  /** A volume for its machines. */
  readonly storage: StorageChoice | null;
  readonly wireId: number;
  /** Wire id of the new volume; null if none is created. */
  readonly volumeId: number | null;
}

/** Rental and storage are accepted or rejected together. Locks: organisation, storage, then as for every order. */
export async function createBareMetal(tx: Tx, call: CallContext, request: BareMetalRequest): Promise<Rental> {
  const { order, storage, wireId, volumeId } = request;
  const caller = await authorizeCaller(tx, call, scopeOf(order.kind));
  const owner = { orgId: call.orgId, mode: caller.key.mode, region: order.region };
  if (storage !== null) await lockStorage(tx, owner, storage);
  const rental = await acceptOrder(tx, call, caller, order, wireId);
  if (storage !== null) await attachAtCreate(tx, call, caller, rental, storage, volumeId);
  return rental;
}
