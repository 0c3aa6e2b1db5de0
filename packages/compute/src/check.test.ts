import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkArgv, checkRef, checkSpec } from './check-spec.ts';
import { isDriverError } from './driver-error.ts';
import type { MachineSpec } from './driver.ts';

const ids = createIdSource({ clock: systemClock, cell: 1 });
const plain: MachineSpec = {
  externalId: ids.nextUuid(),
  orgId: ids.next('org'),
  mode: 'test',
  nodeName: 'gpu-node.rack-3',
  gpuPciAddresses: ['0000:17:00.0'],
  cpuCount: 1,
  ramMb: 1,
  diskGb: 1,
  image: 'images:ubuntu/24.04',
  hostname: 'a.example',
  sshKeys: ['ssh-ed25519 AAAA someone'],
  userData: '#cloud-config\nruncmd: []\n',
  ports: [
    { internalPort: 53, externalPort: 20_000, protocol: 'tcp' },
    { internalPort: 53, externalPort: 20_000, protocol: 'udp' },
  ],
  labels: { 'millrace.rental': '1042', team: 'what ever: "it" is' },
};
const isRefused = (check: () => void): boolean => {
  try {
    check();
    return false;
  } catch (error) {
    return isDriverError(error, 'refused');
  }
};

describe('checks before an engine call', () => {
  it('accept a valid spec', () => {
    expect(() => checkSpec(plain)).not.toThrow();
  });

  it('accept only ids that are one path segment without special characters', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9./%?#-]{1,70}$/)), (externalId) => {
        if (isRefused(() => checkRef({ ...plain, externalId }))) return;
        expect(encodeURIComponent(externalId)).toBe(externalId);
        expect(externalId).toMatch(/^[a-z0-9-]{1,63}$/);
      }),
    );
  });

  it('refuse line breaks, NUL and escapes in every field of a spec', () => {
    const somewhere = fc.constantFrom('nodeName', 'image', 'hostname', 'externalId', 'orgId');
    const bad = fc.constantFrom('\n', '\r', '\0', '\u001b');
    fc.assert(
      fc.property(somewhere, bad, fc.nat(8), (key, character, at) => {
        const text = plain[key as 'hostname'];
        const broken = `${text.slice(0, at)}${character}${text.slice(at)}`;
        expect(isRefused(() => checkSpec({ ...plain, [key]: broken }))).toBe(true);
      }),
    );
    expect(isRefused(() => checkSpec({ ...plain, userData: 'a\0b' }))).toBe(true);
    expect(isRefused(() => checkSpec({ ...plain, orgId: 'org_1/../x' as OrgId }))).toBe(true);
  });

  it('refuse lone surrogates in user data, labels, keys and commands', () => {
    const half = 'a\ud800b';
    const [key = ''] = plain.sshKeys;
    const requests = [{ userData: half }, { labels: { team: half } }, { sshKeys: [`${key} ${half}`] }];
    for (const changes of requests) {
      expect(
        isRefused(() => checkSpec({ ...plain, ...changes })),
        JSON.stringify(changes),
      ).toBe(true);
    }
    const command = { argv: ['echo', half], timeoutMs: 1_000, maxBytes: 1_000 };
    expect(isRefused(() => checkArgv(command))).toBe(true);
  });

  it('refuse sizes that are not integers within bounds, and two ports with the same number', () => {
    for (const size of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      for (const key of ['cpuCount', 'ramMb', 'diskGb']) {
        expect(
          isRefused(() => checkSpec({ ...plain, [key]: size })),
          `${key} ${size}`,
        ).toBe(true);
      }
    }
    const [port] = plain.ports;
    const twice = port === undefined ? [] : [port, { ...port, internalPort: 80 }];
    expect(isRefused(() => checkSpec({ ...plain, ports: twice }))).toBe(true);
  });

  it('refuse a command without a name, with NUL, or without limits', () => {
    const command = { argv: ['true'], timeoutMs: 1_000, maxBytes: 1_000 };
    expect(() => checkArgv(command)).not.toThrow();
    const bad = [{ argv: [] }, { argv: [''] }, { argv: ['a\0b'] }, { timeoutMs: 0 }, { maxBytes: 0 }];
    for (const changes of bad) {
      expect(
        isRefused(() => checkArgv({ ...command, ...changes })),
        JSON.stringify(changes),
      ).toBe(true);
    }
  });
});
