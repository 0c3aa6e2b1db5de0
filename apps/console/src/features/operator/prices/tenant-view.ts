import type { Item } from '@millrace/sdk';
import { currentPrice, toPriceSubject, type Price, type PriceForm } from './price-form.ts';

/** Where tenants see a machine price, from the fleet and the other current prices. */

type FleetNode = Pick<Item<'adminListNodes'>, 'clusterId' | 'status' | 'region'> & {
  readonly gpus: readonly Pick<Item<'adminListNodes'>['gpus'][number], 'gpuType' | 'state' | 'allocatedTo'>[];
};

export interface SoldFleet {
  readonly nodes: readonly FleetNode[];
  readonly clusters: readonly Pick<
    Item<'adminListClusters'>,
    'id' | 'offer' | 'connectionType' | 'providerId'
  >[];
  readonly providers: readonly Pick<
    Item<'adminListProviders'>,
    'id' | 'mode' | 'enabled' | 'configured' | 'regions'
  >[];
}

export interface OfferPlace {
  readonly region: string;
  readonly network: 'ethernet' | 'infiniband';
  readonly gpus: number;
  readonly free: number;
  /** A more specific price that tenants see here instead. */
  readonly instead: Price | null;
}

/** Regions and networks in which ready nodes offer the form's GPU in live mode. */
export function offerPlaces(
  form: PriceForm,
  fleet: SoldFleet,
  prices: readonly Price[],
): readonly OfferPlace[] {
  const providers = new Map(
    fleet.providers
      .filter(({ mode, enabled, configured }) => enabled && configured && mode === 'live')
      .map((each) => [each.id, each]),
  );
  const clusters = new Map(
    fleet.clusters.filter(({ offer }) => offer === form.machineType).map((each) => [each.id, each]),
  );
  const places = new Map<
    string,
    { region: string; network: OfferPlace['network']; gpus: number; free: number }
  >();
  for (const { clusterId, status, region, gpus } of fleet.nodes) {
    const cluster = clusters.get(clusterId);
    const provider = cluster === undefined ? undefined : providers.get(cluster.providerId);
    const isOpen =
      provider?.regions.some((each) => each.region === region && each.enabled && each.configured) ?? false;
    if (cluster === undefined || !isOpen || status !== 'node_ready') continue;
    const network = cluster.connectionType;
    if (form.region !== '' && form.region !== region) continue;
    if (form.networkType !== '' && form.networkType !== network) continue;
    const fitting = gpus.filter(({ gpuType, state }) => gpuType === form.gpuType && state === 'present');
    if (fitting.length === 0) continue;
    const place = places.get(`${region} ${network}`) ?? { region, network, gpus: 0, free: 0 };
    place.gpus += fitting.length;
    place.free += fitting.filter(({ allocatedTo }) => allocatedTo === null).length;
    places.set(`${region} ${network}`, place);
  }
  return [...places.values()]
    .toSorted((a, b) => a.region.localeCompare(b.region) || a.network.localeCompare(b.network))
    .map((place) => ({ ...place, instead: moreSpecificPrice(form, place, prices) }));
}

/** The most specific price wins: one for the region, then one for the network. */
function moreSpecificPrice(
  form: PriceForm,
  { region, network }: Pick<OfferPlace, 'region' | 'network'>,
  prices: readonly Price[],
): Price | null {
  const narrower: readonly (readonly [string, PriceForm['networkType']])[] = [
    [region, network],
    [region, ''],
    ['', network],
    ['', ''],
  ];
  for (const [inRegion, onNetwork] of narrower) {
    if (inRegion === form.region && onNetwork === form.networkType) return null;
    const found = currentPrice(
      prices,
      toPriceSubject({ ...form, kind: 'gpu', region: inRegion, networkType: onNetwork }),
    );
    if (found !== undefined) return found;
  }
  return null;
}
