import type { OrgId } from '@millrace/platform/ids';
import type { WebhookReceiver } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { PRIVATE_ADDRESS, openWebhookHarness, PUBLIC_ADDRESS } from './webhooks-harness.fixture.ts';

/** Tenants who would have us knock at our own doors. */

let orgId: OrgId;
/** Something of the operator's own. It would even show a certificate that is trusted. */
let inside: WebhookReceiver;
const NOWHERE = 'The name of the receiver stands for no address on the public internet.';

const harness = await openWebhookHarness();
beforeEach(async () => {
  orgId = await harness.newOrganisation();
  inside = await harness.newReceiver(PRIVATE_ADDRESS);
});
afterEach(async () => {
  expect(inside.connections()).toBe(0);
  await harness.stopAll();
});
afterAll(() => harness.close());

it.each([
  ['a name that stands for an address inside', 'inside.example.com'],
  ['an address inside', PRIVATE_ADDRESS],
  ['an address inside in another spelling', '2130706433'],
  ['an address inside dressed as IPv6', '[::ffff:7f00:1]'],
])('%s is never connected to, and says nothing about what is there', async (_what, host) => {
  harness.names.set('inside.example.com', () => PRIVATE_ADDRESS);
  // Planted past the courtesy at the door: what counts is what happens when it is connected to.
  const webhook = await harness.seed(orgId, `https://${host}:${inside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored).toMatchObject({ status: 'pending', attempts: [{ httpStatus: null, error: NOWHERE }] });
});

it('a name that is not there reads the same as one that is inside', async () => {
  const webhook = await harness.seed(orgId, 'https://nowhere.example.com/in');
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored?.attempts).toMatchObject([{ httpStatus: null, error: NOWHERE }]);
});

it('a name that changes its mind between two look-ups reaches nothing inside', async () => {
  const outside = await harness.newReceiver();
  const responses = [PUBLIC_ADDRESS, PRIVATE_ADDRESS, PUBLIC_ADDRESS, PRIVATE_ADDRESS];
  let lookups = 0;
  harness.names.set('turncoat.example.com', () => responses[lookups++ % responses.length] ?? PRIVATE_ADDRESS);
  // The same port on both addresses would be a coincidence; two webhooks cover both.
  const there = await harness.seed(orgId, `https://turncoat.example.com:${outside.port}/in`);
  const here = await harness.seed(orgId, `https://turncoat.example.com:${inside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a', 'b', 'c', 'd']);
  await harness.settled(there.id);
  await harness.settled(here.id);
  const made = [...(await harness.deliveries(there.id)), ...(await harness.deliveries(here.id))].flatMap(
    ({ attempts }) => attempts,
  );
  expect(lookups).toBeGreaterThanOrEqual(made.length);
  expect(made.some(({ error }) => error === NOWHERE)).toBe(true);
  expect(outside.connections()).toBeGreaterThan(0);
});

it('a redirect to the inside is an answer like any other, and not followed', async () => {
  const outside = await harness.newReceiver();
  outside.respond = (_delivery, response) => {
    response.writeHead(307, { location: `https://${PRIVATE_ADDRESS}:${inside.port}/admin` }).end();
    return undefined;
  };
  harness.names.set('hooks.example.com', () => PUBLIC_ADDRESS);
  const webhook = await harness.seed(orgId, `https://hooks.example.com:${outside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored).toMatchObject({ status: 'pending', attempts: [{ httpStatus: 307 }] });
  expect(stored?.attempts[0]?.error).toContain('Redirects are not followed');
  expect(outside.received).toHaveLength(1);
});

it('a receiver whose certificate is for another name gets nothing', async () => {
  const outside = await harness.newReceiver();
  harness.names.set('elsewhere.example.com', () => PUBLIC_ADDRESS);
  const webhook = await harness.seed(orgId, `https://elsewhere.example.com:${outside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored?.attempts[0]?.error).toBe(
    'No secure connection could be made: ERR_TLS_CERT_ALTNAME_INVALID.',
  );
  expect(outside.received).toHaveLength(0);
});
