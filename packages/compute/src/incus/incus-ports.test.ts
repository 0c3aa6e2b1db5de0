import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PortMapping } from '../driver.ts';
import { portDevices, portsOf } from './incus-ports.ts';

const port = fc.integer({ min: 1, max: 65_535 });
const mapping: fc.Arbitrary<PortMapping> = fc.record({
  internalPort: port,
  externalPort: port,
  protocol: fc.constantFrom('tcp', 'udp'),
});
const mappings = fc.uniqueArray(mapping, {
  selector: ({ protocol, externalPort }) => `${protocol} ${externalPort}`,
  maxLength: 40,
});
const address = fc.constantFrom('10.0.0.2', 'fd00::2');

const sorted = (ports: readonly PortMapping[]): PortMapping[] =>
  ports.toSorted(
    (a, b) =>
      a.internalPort - b.internalPort ||
      a.externalPort - b.externalPort ||
      (a.protocol < b.protocol ? -1 : 1),
  );

it('portDevices opens exactly the requested ports, whatever was open before', () => {
  fc.assert(
    fc.property(mappings, mappings, address, (before, after, host) => {
      const first = portDevices({}, before, host, 'container');
      expect(portsOf(first)).toEqual(sorted(before));
      const second = portDevices(first, after, host, 'container');
      expect(portsOf(second)).toEqual(sorted(after));
      // The same ports again change nothing, so no device restarts.
      expect(portDevices(second, after, host, 'container')).toEqual(second);
    }),
  );
});

it('portDevices keeps open devices unchanged when another port is opened', () => {
  fc.assert(
    fc.property(mappings, mapping, (before, another) => {
      const first = portDevices({}, before, '10.0.0.2', 'container');
      const isTaken = before.some(
        ({ protocol, externalPort }) =>
          protocol === another.protocol && externalPort === another.externalPort,
      );
      fc.pre(!isTaken);
      const second = portDevices(first, [...before, another], '10.0.0.2', 'container');
      for (const [name, device] of Object.entries(first)) expect(second[name]).toEqual(device);
    }),
  );
});

it('portDevices returns at most three devices, because each delays the start by a second', () => {
  fc.assert(
    fc.property(mappings, (ports) => {
      expect(Object.keys(portDevices({}, ports, '10.0.0.2', 'container')).length).toBeLessThanOrEqual(3);
    }),
  );
});

it('portDevices gives SSH its own device, which stays when other ports change', () => {
  const ssh: PortMapping = { internalPort: 22, externalPort: 2_201, protocol: 'tcp' };
  const web: PortMapping = { internalPort: 80, externalPort: 2_202, protocol: 'tcp' };
  const both = portDevices({}, [ssh, web], '10.0.0.2', 'container');
  expect(both).toEqual({
    'port-ssh-2201': { type: 'proxy', listen: 'tcp:10.0.0.2:2201', connect: 'tcp:127.0.0.1:22' },
    'port-tcp-2202': { type: 'proxy', listen: 'tcp:10.0.0.2:2202', connect: 'tcp:127.0.0.1:80' },
  });
  expect(Object.keys(portDevices(both, [ssh], '10.0.0.2', 'container'))).toEqual(['port-ssh-2201']);
});

it('portDevices uses NAT to the address of a VM', () => {
  const web: PortMapping = { internalPort: 80, externalPort: 2_202, protocol: 'tcp' };
  expect(portDevices({}, [web], '10.0.0.2', 'virtual-machine')).toEqual({
    'port-tcp-2202': { type: 'proxy', listen: 'tcp:10.0.0.2:2202', connect: 'tcp:0.0.0.0:80', nat: 'true' },
  });
});

it('portsOf reads foreign devices as far as they are valid, with a limit', () => {
  const device = fc.dictionary(fc.constantFrom('type', 'listen', 'connect', 'pci'), fc.string());
  const proxy = fc.record({
    type: fc.constant('proxy'),
    listen: fc.stringMatching(/^(tcp|udp):[0-9.]{1,8}:[0-9,-]{1,20}$/),
    connect: fc.stringMatching(/^(tcp|udp):[0-9.]{1,8}:[0-9,-]{1,20}$/),
  });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(device, proxy)), (devices) => {
      for (const { internalPort, externalPort } of portsOf(devices)) {
        expect(internalPort >= 1 && internalPort <= 65_535).toBe(true);
        expect(externalPort >= 1 && externalPort <= 65_535).toBe(true);
      }
    }),
  );
  const range = { type: 'proxy', listen: 'tcp:10.0.0.2:80-82', connect: 'tcp:127.0.0.1:90-92' };
  expect(portsOf({ range }).map((open) => open.externalPort)).toEqual([80, 81, 82]);
  const all = { type: 'proxy', listen: 'tcp:10.0.0.2:1-65535', connect: 'tcp:127.0.0.1:1-65535' };
  expect(portsOf({ all })).toEqual([]);
});
