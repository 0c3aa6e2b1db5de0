import { SimulatedClock } from '@millrace/platform/clock';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from './webhooks.ts';

const clock = new SimulatedClock();
const nowSeconds = Math.floor(clock.nowMs() / 1000);
const secret = `whsec_${Buffer.from('a secret of the test').toString('base64')}`;
const otherSecret = `whsec_${Buffer.from('another secret').toString('base64')}`;
const payload = JSON.stringify({ id: 'evt_1', type: 'rental.running', note: 'größer' });

/** Signed by the reference library, which shares no code with the SDK. */
function signature(by: string, { timestamp = nowSeconds } = {}): string {
  return new Webhook(by).sign('msg_1', new Date(timestamp * 1000), payload);
}

function headersOf(signatures: string, timestamp = nowSeconds): Record<string, string> {
  return {
    'Webhook-Id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures,
  };
}

test('verifyWebhook accepts a signed delivery, as text or bytes, with any form of headers', async () => {
  const headers = headersOf(signature(secret));
  for (const form of [headers, new Headers(headers)]) {
    for (const body of [payload, new TextEncoder().encode(payload)]) {
      const event = await verifyWebhook({ payload: body, headers: form, secret, clock });
      expect(event).toMatchObject({ id: 'evt_1', note: 'größer' });
    }
  }
});

test('verifyWebhook accepts either of two secrets and signatures during a rotation', async () => {
  const both = headersOf(`${signature(otherSecret)} ${signature(secret)}`);
  await expect(verifyWebhook({ payload, headers: both, secret, clock })).resolves.toBeDefined();
  const one = headersOf(signature(otherSecret));
  const secrets = [secret, otherSecret];
  await expect(verifyWebhook({ payload, headers: one, secret: secrets, clock })).resolves.toBeDefined();
});

test('verifyWebhook refuses changed, old and wrongly signed deliveries', async () => {
  const good = headersOf(signature(secret));
  const old = nowSeconds - 301;
  const refused = [
    { payload: `${payload} `, headers: good },
    { payload, headers: { ...good, 'Webhook-Id': 'msg_2' } },
    { payload, headers: headersOf(signature(otherSecret)) },
    { payload, headers: headersOf(signature(secret, { timestamp: old }), old) },
    { payload, headers: headersOf(signature(secret, { timestamp: nowSeconds + 301 }), nowSeconds + 301) },
    { payload, headers: headersOf('v1,') },
    { payload, headers: headersOf('v1,not base64!') },
    { payload, headers: headersOf(signature(secret).replace('v1,', 'v2,')) },
    { payload, headers: { ...good, 'webhook-timestamp': 'soon' } },
    { payload, headers: {} },
  ];
  for (const [at, webhook] of refused.entries()) {
    const result = verifyWebhook({ ...webhook, secret, clock });
    await expect(result, `case ${at}`).rejects.toBeInstanceOf(WebhookVerificationError);
  }
});

test('verifyWebhook with a tolerance of NaN accepts nothing', async () => {
  const old = nowSeconds - 301;
  const headers = headersOf(signature(secret, { timestamp: old }), old);
  const result = verifyWebhook({ payload, headers, secret, clock, toleranceSeconds: Number.NaN });
  await expect(result).rejects.toBeInstanceOf(WebhookVerificationError);
});
