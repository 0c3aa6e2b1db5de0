import type { Context } from '../framework/context.ts';
import { hasTestKey } from '../framework/profiles.ts';
import type { Item } from '../sdk.ts';

export type Instance = Item<'listMarketplaceInstances'>;
export type Machine = Item<'listMarketplaceMachines'>;

/** The instance with this name; null if there is none. */
export async function findInstance(context: Context, name: string): Promise<Instance | null> {
  const { marketplace } = context.client();
  for await (const instance of marketplace.instances.list({}, { signal: context.signal })) {
    if (instance.id === name) return instance;
  }
  return null;
}

/** The region to list. Machines for test keys are listed only by their region, and test keys can rent no others. */
export function defaultRegion(context: Context, region: string | undefined): string | undefined {
  return region ?? (hasTestKey(context.profile) ? 'mock-region' : undefined);
}
