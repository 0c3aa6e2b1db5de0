import { toUuid } from '@millrace/platform/ids';
import { createRestateEndpoint, createRestateIngress, registerDeployment } from '@millrace/platform/restate';
import { eventually, unregisterDeployment, testEndpoints, testNames } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { reconcileDepsOf } from './reconcile.fixture.ts';
import { startRunningRental, viewOf } from '../lifecycle.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { rentalObject } from '../model/rental-transitions.ts';
import { createRentalHarness, quiet, SECOND_MS } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { createRentalWorkflow } from './rentals.workflow.ts';

/** Tests the object on a real Restate; its rounds are tested without one. */

const { restate } = testEndpoints();
const names = testNames();
const service = names.restateService(rentalObject.service);
const ingress = createRestateIngress({ url: restate.ingressUrl });

const harness = await createRentalHarness();
const workflow = createRentalWorkflow({ ...reconcileDepsOf(harness), service });
const endpoint = await createRestateEndpoint({
  services: [workflow],
  identityKeys: [restate.identityPublicKey],
  port: 0,
  log: quiet,
});
const { deploymentId } = await registerDeployment(restate.adminUrl, endpoint.url, { replace: true });
afterAll(async () => {
  await unregisterDeployment(deploymentId);
  await endpoint.close();
  await harness.drop();
});

/** Half of the time that it takes without a command, so that slow machines pass too. */
const timeoutMs = 30 * SECOND_MS;

let calls = 0;
const reconcile = (rental: Rental): Promise<unknown> =>
  ingress.send({
    service,
    key: toUuid(rental.id),
    handler: rentalObject.handler,
    payload: { orgId: rental.orgId, rentalId: rental.id },
    idempotencyKey: `${names.id}-${(calls += 1)}`,
    envelope: {
      cell: 0,
      mode: 'live',
      actor: { kind: 'system', id: 'test' },
      schemaVersion: 1,
      traceparent: null,
    },
  });

it('a termination is executed at once while the handler waits for the next due action', async () => {
  const tenant = await harness.tenant();
  const rental = await startRunningRental(harness, tenant, { ttlSeconds: 60 });
  const { nextActionAt } = (await viewOf(harness, rental)).rental;
  await reconcile(rental);
  await eventually({ what: 'the handler to wait for the expiry', timeoutMs }, async () => {
    const { rental: now } = await viewOf(harness, rental);
    return now.nextActionAt?.getTime() !== nextActionAt?.getTime();
  });
  await harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, {
      reason: 'done',
      actor: tenant.call('live').cause.actor,
    }),
  );
  await reconcile(rental);
  await eventually({ what: 'the tenant to be disconnected', timeoutMs }, async () => {
    const [machine] = await listMachines(harness.db, tenant.orgId, rental.id, 'all');
    return machine !== undefined && machine.cutAt !== null;
  });
  const [machine] = await listMachines(harness.db, tenant.orgId, rental.id, 'all');
  expect(machine).toMatchObject({ state: 'doomed' });
});
