import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkConfig, probeAddress, readConfig, renderConfig } from './ganesha-config.ts';
import type { Folder } from './pool.ts';
import type { VolumeRecord } from './record.ts';

const folder = {
  mount: '/srv/pool/volumes/a/mount',
  recovery: '/srv/pool/volumes/a/recovery',
} as Folder;
const settings = { nfsPort: 2_049, leaseSeconds: 30 };
const record: VolumeRecord = {
  ...{ externalId: 'a', orgId: testIds.next('org'), sizeGb: 1, madeGb: 1, sequence: 0, isLeaving: false },
  ...{ restore: null, restored: [] },
  ...{ vip: '10.8.0.10', clients: ['10.9.0.1', '10.9.0.2'], generation: 1 },
};
const host = fc
  .tuple(fc.integer({ min: 1, max: 223 }), fc.nat(255), fc.nat(255), fc.nat(255))
  .map((octets) => octets.join('.'));

test('renderConfig writes a configuration that readConfig reads back and checkConfig accepts', () => {
  fc.assert(
    fc.property(
      host,
      fc.uniqueArray(host, { maxLength: 50 }),
      fc.integer({ min: 1, max: 1e6 }),
      (vip, clients, generation) => {
        const wanted = { ...record, vip, clients, generation };
        const text = renderConfig(folder, wanted, settings);
        expect(readConfig(text)).toEqual({ vip, clients, probe: probeAddress(generation) });
        expect(() => checkConfig(text, wanted)).not.toThrow();
      },
    ),
  );
});

test('renderConfig gives no access to addresses outside the list, by export and by default', () => {
  const text = renderConfig(folder, { ...record, clients: [] }, settings);
  expect(text.match(/Access_Type = NONE;/g)).toHaveLength(2);
  expect(text).not.toContain('RW');
  expect(text.match(/CLIENT \{/g)).toHaveLength(1);
});

test('checkConfig rejects a text with a missing, extra or truncated line', () => {
  const text = renderConfig(folder, record, settings);
  const lines = text.split('\n');
  const isHarmless = (line: string): boolean => line === '' || line.startsWith('#');
  lines.forEach((line, at) => {
    const matters = /Access_Type|Clients|Bind_addr|[{}]/.test(line);
    if (matters)
      expect(() => checkConfig(lines.toSpliced(at, 1).join('\n'), record), line).toThrow('does not match');
    if (!isHarmless(line) && at < lines.indexOf('LOG {'))
      expect(() => checkConfig(lines.slice(0, at).join('\n'), record), line).toThrow('does not match');
  });
  for (const extra of ['  CLIENT {', '%include "/tmp/x"', 'Clients = *;', '    Clients = *;'])
    expect(() => checkConfig(lines.toSpliced(-4, 0, extra).join('\n'), record), extra).toThrow(
      'does not match',
    );
  expect(() => checkConfig(text, { ...record, clients: ['10.9.0.1'] })).toThrow('does not match');
  expect(() => checkConfig(text, { ...record, generation: 2 })).toThrow('does not match');
  expect(() => checkConfig(text, { ...record, vip: '10.8.0.11' })).toThrow('does not match');
});

test('probeAddress differs for consecutive generations', () => {
  const addresses = Array.from({ length: 1_000 }, (_, at) => probeAddress(at + 65_000));
  expect(new Set(addresses).size).toBe(1_000);
});
