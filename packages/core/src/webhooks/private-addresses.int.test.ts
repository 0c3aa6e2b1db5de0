import type { OrgId } from '@millrace/platform/ids';
import type { WebhookReceiver } from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  PRIVATE_ADDRESS,
  openWebhookHarness,
  PUBLIC_ADDRESS,
  type WebhookHarness,
} from './webhooks-harness.fixture.ts';

/** Tenants who would have us knock at our own doors. */

let world: WebhookHarness;
let orgId: OrgId;
/** Something of the operator's own. It would even show a certificate that is trusted. */
let inside: WebhookReceiver;
const NOWHERE = 'The name of the receiver stands for no address on the public internet.';

beforeAll(async () => {
  world = await openWebhookHarness();
});
beforeEach(async () => {
  orgId = await world.newOrganisation();
  inside = await world.newReceiver(PRIVATE_ADDRESS);
});
afterEach(async () => {
  expect(inside.connections()).toBe(0);
  await world.tidy();
});
afterAll(() => world.close());

it.each([
  ['a name that stands for an address inside', 'inside.example.com'],
  ['an address inside', PRIVATE_ADDRESS],
  ['an address inside in another spelling', '2130706433'],
  ['an address inside dressed as IPv6', '[::ffff:7f00:1]'],
])('%s is never connected to, and says nothing about what is there', async (_what, host) => {
  world.names.set('inside.example.com', () => PRIVATE_ADDRESS);
  // Planted past the courtesy at the door: what counts is what happens when it is connected to.
  const webhook = await world.plant(orgId, `https://${host}:${inside.port}/in`);
  world.deliverer();
  await world.publish(orgId, ['a']);
  const [kept] = await world.settled(webhook.id);
  expect(kept).toMatchObject({ status: 'pending', attempts: [{ httpStatus: null, error: NOWHERE }] });
});

it('a name that is not there reads the same as one that is inside', async () => {
  const webhook = await world.plant(orgId, 'https://nowhere.example.com/in');
  world.deliverer();
  await world.publish(orgId, ['a']);
  const [kept] = await world.settled(webhook.id);
  expect(kept?.attempts).toMatchObject([{ httpStatus: null, error: NOWHERE }]);
});

it('a name that changes its mind between two look-ups reaches nothing inside', async () => {
  const outside = await world.newReceiver();
  const answers = [PUBLIC_ADDRESS, PRIVATE_ADDRESS, PUBLIC_ADDRESS, PRIVATE_ADDRESS];
  let asked = 0;
  world.names.set('turncoat.example.com', () => answers[asked++ % answers.length] ?? PRIVATE_ADDRESS);
  // The same port on both addresses would be a coincidence; two webhooks cover both.
  const there = await world.plant(orgId, `https://turncoat.example.com:${outside.port}/in`);
  const here = await world.plant(orgId, `https://turncoat.example.com:${inside.port}/in`);
  world.deliverer();
  await world.publish(orgId, ['a', 'b', 'c', 'd']);
  await world.settled(there.id);
  await world.settled(here.id);
  const made = [...(await world.deliveries(there.id)), ...(await world.deliveries(here.id))].flatMap(
    ({ attempts }) => attempts,
  );
  expect(asked).toBeGreaterThanOrEqual(made.length);
  expect(made.some(({ error }) => error === NOWHERE)).toBe(true);
  expect(outside.connections()).toBeGreaterThan(0);
});

it('a redirect to the inside is an answer like any other, and not followed', async () => {
  const outside = await world.newReceiver();
  outside.answer = (_delivery, response) => {
    response.writeHead(307, { location: `https://${PRIVATE_ADDRESS}:${inside.port}/admin` }).end();
    return undefined;
  };
  world.names.set('hooks.example.com', () => PUBLIC_ADDRESS);
  const webhook = await world.plant(orgId, `https://hooks.example.com:${outside.port}/in`);
  world.deliverer();
  await world.publish(orgId, ['a']);
  const [kept] = await world.settled(webhook.id);
  expect(kept).toMatchObject({ status: 'pending', attempts: [{ httpStatus: 307 }] });
  expect(kept?.attempts[0]?.error).toContain('Redirects are not followed');
  expect(outside.received).toHaveLength(1);
});

it('a receiver whose certificate is for another name gets nothing', async () => {
  const outside = await world.newReceiver();
  world.names.set('elsewhere.example.com', () => PUBLIC_ADDRESS);
  const webhook = await world.plant(orgId, `https://elsewhere.example.com:${outside.port}/in`);
  world.deliverer();
  await world.publish(orgId, ['a']);
  const [kept] = await world.settled(webhook.id);
  expect(kept?.attempts[0]?.error).toBe('No secure connection could be made: ERR_TLS_CERT_ALTNAME_INVALID.');
  expect(outside.received).toHaveLength(0);
});
