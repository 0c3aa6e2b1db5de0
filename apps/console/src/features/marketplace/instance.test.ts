import { describe, expect, test } from 'vitest';
import { instanceBilling, instanceRefetchMs, portAddress, provisioningSteps } from './instance.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();

describe('steps', () => {
  test('lists reported steps, then the expected ones while it starts', () => {
    const steps = [
      { name: 'place', status: 'done', startedAt: at(0), endedAt: at(1), message: null },
      { name: 'create', status: 'running', startedAt: at(1), endedAt: null, message: null },
    ] as const;
    const shown = provisioningSteps({ status: 'starting', steps: [...steps] }, 4_000);
    expect(shown.map(({ name, status, elapsedMs }) => [name, status, elapsedMs])).toEqual([
      ['place', 'done', 1_000],
      ['create', 'running', 3_000],
      ['prove', 'waiting', null],
      expect.arrayContaining(['waiting']),
    ]);
    expect(shown[1]?.usual).not.toBeNull();
    expect(provisioningSteps({ status: 'online', steps: [...steps] }, 4_000)).toHaveLength(2);
  });
});

describe('billing', () => {
  test.each([
    ['creating', null, false],
    ['starting', null, false],
    ['online', null, true],
    ['online', at(0), false],
    ['offline', null, true],
    ['offline', at(0), false],
    ['stopping', null, false],
    ['failed', null, false],
    ['terminated', null, false],
  ] as const)('%s with billing paused at %s is billed: %s', (status, billingPausedAt, isBilled) => {
    expect(instanceBilling({ status, billingPausedAt })).toMatchObject({ isBilled });
  });
});

test('instanceRefetchMs polls within two seconds while the instance can change, and stops after its end', () => {
  expect(instanceRefetchMs(undefined)).toBeLessThan(2_000);
  expect(instanceRefetchMs({ status: 'starting' })).toBeLessThan(2_000);
  expect(instanceRefetchMs({ status: 'terminated' })).toBe(false);
});

test('portAddress returns a link only for ports that a browser can open', () => {
  expect(portAddress({ domain: '8080-a-b-c.run.example.com', protocol: 'https', port: 443 })).toEqual({
    text: 'https://8080-a-b-c.run.example.com',
    href: 'https://8080-a-b-c.run.example.com',
  });
  expect(portAddress({ domain: '10.0.0.1', protocol: 'tcp', port: 30_001 }).href).toBeNull();
  expect(portAddress({ domain: 'a/b?x', protocol: 'https', port: 443 }).href).toBeNull();
});
