import type { Reader } from '@millrace/platform/db';
import { freezeModelPrice, readPricesOfModels, type FrozenModelPrice } from '../../prices/index.ts';
import type { Model } from './catalog.ts';
import { listPublicModels } from './catalog.store.ts';

export interface PublicModel {
  readonly model: Model;
  /** The current list price, for organisations without a contract. */
  readonly price: FrozenModelPrice;
}

/** The public models with their list prices, for visitors who have not signed in. */
export async function readPublicModels(reader: Reader, now: Date): Promise<readonly PublicModel[]> {
  const models = await listPublicModels(reader);
  if (models.length === 0) return [];
  const names = models.map(({ name }) => name);
  const prices = Map.groupBy(
    await readPricesOfModels(reader, names, { since: now, orgIds: 'all' }),
    ({ subject }) => subject.model,
  );
  return models.map((model) => ({
    model,
    price: freezeModelPrice(
      { orgId: null, mode: 'live', prices: prices.get(model.name) ?? [], now },
      model.name,
    ),
  }));
}
