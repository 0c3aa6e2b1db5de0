import { createNetGuard } from '@millrace/platform/net';
import { expect, test } from 'vitest';
import { originOf, requireDeliverableUrl } from './webhook-url.ts';

const guard = createNetGuard({ allowedNetworks: [] });

test.each([
  'http://hooks.example.com/',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://169.254.169.254/latest/meta-data',
  'https://10.1.2.3:8443/',
  'https://localhost/',
  'https://api.localhost./',
  'https://user:password@hooks.example.com/',
  'https://token@hooks.example.com/',
])('requireDeliverableUrl refuses %s', (url) => {
  expect(() => requireDeliverableUrl(guard, url)).toThrow(
    expect.objectContaining({ reason: 'WEBHOOK_URL_REFUSED' }),
  );
});

test.each(['https://hooks.example.com/', 'https://8.8.8.8:8443/x?y=z', 'https://localhost.example.com/'])(
  'requireDeliverableUrl accepts %s, which the guard checks at each connection',
  (url) => {
    expect(() => requireDeliverableUrl(guard, url)).not.toThrow();
  },
);

test('requireDeliverableUrl accepts loopback addresses if the operator allows them', () => {
  const lenient = createNetGuard({ allowedNetworks: ['127.0.0.0/8'] });
  expect(() => requireDeliverableUrl(lenient, 'https://localhost:8443/')).not.toThrow();
});

test('originOf removes the parts of a URL that may contain a token', () => {
  expect(originOf('https://hooks.example.com/services/T0/secret?token=x')).toBe('https://hooks.example.com');
});
