import type { OrgId } from '@millrace/platform/ids';
import type { WebhookReceiver } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { PRIVATE_ADDRESS, openWebhookHarness, PUBLIC_ADDRESS } from './webhooks-harness.fixture.ts';

/** Tests that tenants cannot use webhooks to reach internal addresses. */

let orgId: OrgId;
/** A server of the operator, even with a trusted certificate. */
let inside: WebhookReceiver;
const NOWHERE = 'The host name of the receiver has no address on the public internet.';

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
  ['a name with an internal address', 'inside.example.com'],
  ['an internal address', PRIVATE_ADDRESS],
  ['an internal address as one number', '2130706433'],
  ['an internal address mapped to IPv6', '[::ffff:7f00:1]'],
])('deliverer never connects to %s and reports no details about it', async (_what, host) => {
  harness.names.set('inside.example.com', () => PRIVATE_ADDRESS);
  // Inserted without the check of the URL: the test is about the check at each connection.
  const webhook = await harness.seed(orgId, `https://${host}:${inside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored).toMatchObject({ status: 'pending', attempts: [{ httpStatus: null, error: NOWHERE }] });
});

it('deliverer reports an unknown name exactly like an internal one', async () => {
  const webhook = await harness.seed(orgId, 'https://nowhere.example.com/in');
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored?.attempts).toMatchObject([{ httpStatus: null, error: NOWHERE }]);
});

it('deliverer does not connect to an internal address when a name changes between two look-ups', async () => {
  const outside = await harness.newReceiver();
  const responses = [PUBLIC_ADDRESS, PRIVATE_ADDRESS, PUBLIC_ADDRESS, PRIVATE_ADDRESS];
  let lookups = 0;
  harness.names.set('turncoat.example.com', () => responses[lookups++ % responses.length] ?? PRIVATE_ADDRESS);
  // Two webhooks, because the receivers use different ports.
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

it('deliverer does not follow a redirect to an internal address', async () => {
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

it('deliverer does not deliver to a receiver whose certificate is for another name', async () => {
  const outside = await harness.newReceiver();
  harness.names.set('elsewhere.example.com', () => PUBLIC_ADDRESS);
  const webhook = await harness.seed(orgId, `https://elsewhere.example.com:${outside.port}/in`);
  harness.deliverer();
  await harness.publish(orgId, ['a']);
  const [stored] = await harness.settled(webhook.id);
  expect(stored?.attempts[0]?.error).toBe('The TLS connection failed: ERR_TLS_CERT_ALTNAME_INVALID.');
  expect(outside.received).toHaveLength(0);
});
