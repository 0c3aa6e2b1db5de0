import { afterAll, expect, it } from 'vitest';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { startRentalQueryApi } from '../read/rental-queries.fixture.ts';
import { liveRegion } from '../model/rental.fixture.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

const path = '/v2/on-demand/bare-metal-rentals';
const order = { gpuCount: 16, networkType: 'infiniband', region: liveRegion };

const cluster = {
  name: 'mock-metal',
  region: liveRegion,
  endpoint: 'mock:',
  offer: 'bare-metal',
  connectionType: 'infiniband',
  credential: null,
  ports: { first: 20_000, last: 29_999 },
  settings: { defaultImage: 'ubuntu-24.04' },
} as const;
const mock = { id: 'mock', variant: 'mock', driver: 'mock' } as const;
const more = [{ ...mock, regions: [{ region: liveRegion, customPorts: false }], clusters: [cluster] }];
const api = await startRentalQueryApi({ portListeners: true, more });
const tenant = await api.harness.tenant({ balanceUsd: 0 });
await api.harness.watch();
afterAll(() => api.close());

const post = (to: string, body: object) => api.send(tenant, 'test', { path: to, method: 'POST', body });

it('a test key rents free bare metal from the mock provider, with the checks of a live key', async () => {
  const quote = await post('/v2/on-demand/quote', { ...order, rentalType: 'bare-metal' });
  expect(quote).toMatchObject({ status: 200, json: { available: true, costPerHourNanoUsd: '0' } });
  const refused = {
    VALIDATION_FAILED: { ...order, gpuCount: 12 },
    NETWORK_TYPE_NOT_SUPPORTED: { ...order, networkType: 'ethernet' },
    INSUFFICIENT_CAPACITY: { ...order, gpuCount: 24 },
    REGION_DISABLED: { ...order, region: 'eu-west-4' },
  };
  for (const [reason, body] of Object.entries(refused)) {
    expect(await post(path, body)).toMatchObject({ status: 400, json: { reason } });
  }

  const made = await post(path, order);
  expect(made, made.text).toMatchObject({
    status: 200,
    json: { region: liveRegion, providerData: { providerId: 'mock', networkType: 'infiniband' } },
  });
  const rental = await findRentalByWireId(api.harness.db, tenant.orgId, 'test', made.json.id);
  if (rental === null) expect.fail('The rental does not exist.');
  await reconcileUntil(api.harness, rental, { until: 'Running' });
  const { json } = await api.send(tenant, 'test', { path });
  expect(json).toMatchObject([{ id: made.json.id, status: 'Running', currentTerm: { costPerHour: 0 } }]);
  expect(await api.harness.balance(tenant.orgId)).toMatchObject({ balance: 0n, held: 0n });
});
