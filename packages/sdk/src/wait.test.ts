import { expect, test } from 'vitest';
import { AbortedError, ConnectionError, TimeoutError, WaitFailedError } from './errors.ts';
import { connectionReset, fakeService, json } from './fake-service.fixture.ts';

const step = (name: string, status: string) => ({
  name,
  status,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: null,
  message: null,
});

const rental = (status: string, steps: readonly unknown[] = [], more: object = {}) =>
  json(200, { id: 7, status, power: 'on', statusReason: null, steps, ...more });

test('waitUntil reports each step once when it starts and once when it ends', async () => {
  const service = fakeService([
    rental('Pending', [step('place', 'done'), step('boot', 'running'), step('prove', 'waiting')]),
    rental('Pending', [step('place', 'done'), step('boot', 'running'), step('prove', 'waiting')]),
    rental('Pending', [step('place', 'done'), step('boot', 'done'), step('prove', 'running')]),
    rental('Running', [step('place', 'done'), step('boot', 'done'), step('prove', 'done')]),
  ]);
  const reported: string[] = [];
  const waited = service.client.rentals.waitUntil({ rentalId: 7 }, 'running', {
    onStep: ({ name, status }) => reported.push(`${name} ${status}`),
  });
  await service.clock.advance(60_000);
  expect(await waited).toMatchObject({ id: 7, status: 'Running' });
  expect(reported).toEqual(['place done', 'boot running', 'boot done', 'prove running', 'prove done']);
});

test('waitUntil rejects with the reason of a failed rental', async () => {
  const service = fakeService([rental('Failed', [], { statusReason: 'the host is lost' })]);
  const error = await service.client.rentals
    .waitUntil({ rentalId: 7 }, 'running')
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WaitFailedError);
  expect(error).toMatchObject({ state: 'Failed', why: 'the host is lost' });
});

test('waitUntil can wait for off and for ended', async () => {
  const off = fakeService([rental('Running'), rental('Running', [], { power: 'off' })]);
  const waited = off.client.rentals.waitUntil({ rentalId: 7 }, 'off');
  await off.clock.advance(10_000);
  expect(await waited).toMatchObject({ power: 'off' });

  const ended = fakeService([rental('Failed'), rental('Terminated')]);
  const ending = ended.client.rentals.waitUntil({ rentalId: 7 }, 'terminated');
  await ended.clock.advance(10_000);
  expect(await ending).toMatchObject({ status: 'Terminated' });
});

test('waitUntil survives a short outage of the service, but not a long one', async () => {
  const away = Array.from({ length: 9 }, () => connectionReset());
  const back = fakeService([rental('Pending'), ...away, rental('Running')]);
  const waited = back.client.rentals.waitUntil({ rentalId: 7 }, 'running');
  await back.clock.advance(60_000);
  expect(await waited).toMatchObject({ status: 'Running' });

  const unreachable = fakeService(Array.from({ length: 500 }, () => connectionReset()));
  const gaveUp = unreachable.client.rentals
    .waitUntil({ rentalId: 7 }, 'running')
    .catch((caught: unknown) => caught);
  await unreachable.clock.advance(5 * 60_000);
  expect(await gaveUp).toBeInstanceOf(ConnectionError);

  const refused = fakeService([json(404, { reason: 'RENTAL_NOT_FOUND', message: 'no such rental' })]);
  await expect(refused.client.rentals.waitUntil({ rentalId: 7 }, 'running')).rejects.toThrow(
    'no such rental',
  );
});

test('waitUntil has a timeout and can be aborted', async () => {
  const pending = Array.from({ length: 20 }, () => rental('Pending'));
  const late = fakeService(pending);
  const waited = late.client.rentals
    .waitUntil({ rentalId: 7 }, 'running', { timeoutMs: 9_000 })
    .catch((caught: unknown) => caught);
  await late.clock.advance(20_000);
  expect(await waited).toBeInstanceOf(TimeoutError);
  expect(late.requests.length).toBeLessThan(8);

  const aborter = new AbortController();
  const given = fakeService(pending);
  const broken = given.client.rentals
    .waitUntil({ rentalId: 7 }, 'running', { signal: aborter.signal })
    .catch((caught: unknown) => caught);
  await given.idle();
  aborter.abort();
  expect(await broken).toBeInstanceOf(AbortedError);
});

test('waitUntil reads instances and volumes from their lists', async () => {
  const instance = (status: string) => json(200, { instances: [{ id: 'frog', instance: { status } }] });
  const market = fakeService([
    instance('creating'),
    instance('starting'),
    instance('online'),
    json(200, { instances: [] }),
  ]);
  const { instances } = market.client.marketplace;
  const states: string[] = [];
  const online = instances.waitUntil({ id: 'frog' }, 'online', { onStep: ({ name }) => states.push(name) });
  await market.clock.advance(10_000);
  expect(await online).toMatchObject({ id: 'frog' });
  expect(states).toEqual(['creating', 'starting', 'online']);
  expect(await instances.waitUntil({ id: 'frog' }, 'terminated')).toBeNull();

  const volumes = fakeService([
    json(200, [{ id: 3, status: 'inactive' }]),
    json(200, [{ id: 3, status: 'active' }]),
    json(200, []),
    json(200, []),
  ]);
  const active = volumes.client.volumes.waitUntil({ storageVolumeId: 3 }, 'active');
  await volumes.clock.advance(10_000);
  expect(await active).toMatchObject({ status: 'active' });
  expect(await volumes.client.volumes.waitUntil({ storageVolumeId: 3 }, 'deleted')).toBeNull();
  await expect(volumes.client.volumes.waitUntil({ storageVolumeId: 3 }, 'active')).rejects.toBeInstanceOf(
    WaitFailedError,
  );
});
