import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { mintSecret, signedHeaders } from './signing.ts';

const seconds = (): number => Math.floor(Date.now() / 1_000);

test('signedHeaders produces signatures that the Standard Webhooks library verifies', () => {
  fc.assert(
    fc.property(fc.json(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (payload, bytes) => {
      const secret = mintSecret(() => Buffer.from(bytes));
      const message = { id: 'evt_1', timestampSeconds: seconds(), payload };
      const verified = new Webhook(secret).verify(payload, { ...signedHeaders(message, [secret]) });
      expect(verified).toEqual(JSON.parse(payload));
    }),
  );
});

test('signedHeaders with two secrets verifies with each of them and no other', () => {
  const [one, two, other] = [mintSecret(), mintSecret(), mintSecret()];
  const message = { id: 'evt_1', timestampSeconds: seconds(), payload: '{"a":1}' };
  const headers = { ...signedHeaders(message, [one, two]) };
  for (const secret of [one, two]) {
    expect(new Webhook(secret).verify(message.payload, headers)).toEqual({ a: 1 });
  }
  expect(() => new Webhook(other).verify(message.payload, headers)).toThrow();
  expect(() => new Webhook(one).verify('{"a":2}', headers)).toThrow();
});
