import { systemClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MachineSpec } from '../driver.ts';
import { nicAddresses } from './incus-addresses.ts';
import { instanceSchema, stateSchema, type IncusInstance } from './api/schemas.ts';
import {
  differenceFromSpec,
  instanceBody,
  isUnreachable,
  isNeverStarted,
  configKeys,
  metricsOf,
  viewOf,
} from './incus-instance.ts';
import { projectName } from './api/incus-names.ts';
import type { IncusSettings } from './incus-settings.ts';

const ids = createIdSource({ clock: systemClock, cell: 1 });
const settings: IncusSettings = {
  instanceType: 'container',
  network: 'bridge0',
  storagePool: 'default',
  sshUser: 'ubuntu',
  owner: 'millrace',
  allowsNesting: false,
  instancesPerOrg: null,
  project: null,
  listenAddress: null,
};
const node = { name: 'm2', address: '10.0.0.2' };
const addresses = nicAddresses('10.20.0.7', 'fd42:64::1/64');
const place = { fingerprint: 'f'.repeat(64), listenAddress: '10.0.0.2', addresses };
const nic = {
  type: 'nic',
  name: 'eth0',
  network: 'bridge0',
  hwaddr: '10:66:6a:14:00:07',
  host_name: 'mr0a140007',
  'ipv4.address': '10.20.0.7',
  'ipv6.address': 'fd42:64:0:0:1266:6aff:fe14:7',
  'security.port_isolation': 'true',
  'security.mac_filtering': 'true',
  'security.ipv4_filtering': 'true',
  'security.ipv6_filtering': 'true',
};

const spec: MachineSpec = {
  externalId: ids.nextUuid(),
  orgId: ids.next('org'),
  mode: 'live',
  nodeName: 'm2',
  gpuPciAddresses: ['0000:82:00.0', '0000:81:00.0'],
  cpuCount: 4,
  ramMb: 2_048,
  diskGb: 20,
  image: 'ubuntu/24.04',
  hostname: 'trainer',
  sshKeys: ['ssh-ed25519 AAAA "quoted" key'],
  userData: '#!/bin/sh\necho hi\n',
  ports: [{ internalPort: 22, externalPort: 2_201, protocol: 'tcp' }],
  labels: { team: 'vision: "a", b', 'millrace.rental': '1042' },
};

/** An instance as Incus returns it after a create. */
function shown(changes: Partial<IncusInstance> = {}): IncusInstance {
  const body = instanceBody(spec, place, settings);
  const config = { ...body.config, 'volatile.uuid': ids.nextUuid(), [configKeys.ready]: '1' };
  return instanceSchema.parse({
    name: body.name,
    project: projectName(spec.orgId),
    location: 'm2',
    status: 'Running',
    status_code: 103,
    created_at: '2026-11-15T06:46:01.976778899Z',
    last_used_at: '2026-11-15T06:46:02.277518525Z',
    profiles: [],
    config,
    devices: body.devices,
    state: null,
    snapshots: null,
    ...changes,
  });
}

/** An instance whose creation is not complete. */
function halfMade(changes: Partial<IncusInstance> = {}): IncusInstance {
  const instance = shown(changes);
  delete instance.config?.[configKeys.ready];
  return instance;
}

describe('instanceBody', () => {
  it('sets name, owner, limits and exactly the devices of the spec', () => {
    const body = instanceBody(spec, place, settings);
    expect(body).toMatchObject({
      name: `mr-${spec.externalId}`,
      type: 'container',
      source: { type: 'image', fingerprint: place.fingerprint },
      profiles: [],
    });
    expect(body.config).toMatchObject({
      'user.millrace.external-id': spec.externalId,
      'user.millrace.org': spec.orgId,
      'user.millrace.label.team': 'vision: "a", b',
      'limits.cpu': '4',
      'limits.memory': '2048MiB',
      'cloud-init.user-data': spec.userData,
    });
    expect(body.devices).toEqual({
      root: { type: 'disk', path: '/', pool: 'default', size: '20GiB' },
      eth0: nic,
      'gpu-0000-81-00-0': { type: 'gpu', gputype: 'physical', pci: '0000:81:00.0' },
      'gpu-0000-82-00-0': { type: 'gpu', gputype: 'physical', pci: '0000:82:00.0' },
      'port-ssh-2201': { type: 'proxy', listen: 'tcp:10.0.0.2:2201', connect: 'tcp:127.0.0.1:22' },
    });
  });

  it('does not let a label change an owner annotation or a setting of Incus', () => {
    const labels = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_.-]{0,62}$/), fc.string());
    const plain = instanceBody({ ...spec, labels: {} }, place, settings).config;
    fc.assert(
      fc.property(labels, (given) => {
        const { config } = instanceBody({ ...spec, labels: given }, place, settings);
        for (const [key, value] of Object.entries(config)) {
          if (!key.startsWith(configKeys.label)) expect(value).toBe(plain[key]);
        }
      }),
    );
  });

  it('passes keys and host name to cloud-init as data, whatever they contain', () => {
    const text = instanceBody(spec, place, settings).config['cloud-init.vendor-data'] ?? '';
    const [first, json] = text.split('\n');
    expect(first).toBe('#cloud-config');
    expect(JSON.parse(json ?? '')).toMatchObject({ hostname: 'trainer', ssh_authorized_keys: spec.sshKeys });
  });

  it('gives a VM a cloud-init disk, and NAT ports to its own address', () => {
    const settingsOfVms: IncusSettings = { ...settings, instanceType: 'virtual-machine' };
    const body = instanceBody({ ...spec, gpuPciAddresses: [] }, place, settingsOfVms);
    expect(body.type).toBe('virtual-machine');
    expect(body.devices).toEqual({
      root: { type: 'disk', path: '/', pool: 'default', size: '20GiB' },
      // Without path and pool, the only form that a restricted project accepts.
      'cloud-init': { type: 'disk', source: 'cloud-init:config' },
      eth0: nic,
      'port-ssh-2201': {
        type: 'proxy',
        listen: 'tcp:10.0.0.2:2201',
        connect: 'tcp:0.0.0.0:22',
        nat: 'true',
      },
    });
    expect(body.config).toMatchObject({
      'security.secureboot': 'false',
      'cloud-init.user-data': spec.userData,
    });
    expect(body.config['cloud-init.vendor-data']).toContain('ssh_authorized_keys');
    const bare = instanceBody({ ...spec, userData: null }, place, settingsOfVms);
    expect(bare.config).not.toHaveProperty('cloud-init.user-data');
  });

  it('gives a container no cloud-init disk, which Incus would refuse', () => {
    const { devices } = instanceBody(spec, place, settings);
    expect(Object.values(devices).filter(({ source }) => source !== undefined)).toEqual([]);
  });

  it('drops all IPv6 of a machine on a network without an IPv6 subnet', () => {
    const withoutIpv6 = { ...place, addresses: nicAddresses('10.20.0.7', 'none') };
    const { devices } = instanceBody(spec, withoutIpv6, settings);
    expect(devices['eth0']).toEqual({ ...nic, 'ipv6.address': 'none' });
  });

  it('gives a container its own range of user ids, and a VM none', () => {
    expect(instanceBody(spec, place, settings).config['security.idmap.isolated']).toBe('true');
    const vm = instanceBody(spec, place, { ...settings, instanceType: 'virtual-machine' });
    expect(vm.config).not.toHaveProperty('security.idmap.isolated');
  });

  it('enables nesting only if the operator does', () => {
    expect(instanceBody(spec, place, settings).config['security.nesting']).toBeUndefined();
    const nested = instanceBody(spec, place, { ...settings, allowsNesting: true });
    expect(nested.config['security.nesting']).toBe('true');
  });
});

const settled = (instance: IncusInstance) => ({ instance, isUnderWay: false });

describe('viewOf and related functions', () => {
  it('return the view with node, GPUs, ports and labels', () => {
    expect(viewOf(settled(shown()), node, settings)).toEqual({
      externalId: spec.externalId,
      orgId: spec.orgId,
      nodeName: 'm2',
      power: 'on',
      detail: null,
      gpuPciAddresses: ['0000:81:00.0', '0000:82:00.0'],
      privateIps: ['10.20.0.7', 'fd42:64:0:0:1266:6aff:fe14:7'],
      address: '10.0.0.2',
      ports: spec.ports,
      sshUser: 'ubuntu',
      labels: spec.labels,
      createdAt: new Date('2026-11-15T06:46:01.976Z'),
    });
  });

  it.each([
    [102, 'Stopped', 'off'],
    [103, 'Running', 'on'],
    [106, 'Starting', 'changing'],
    [110, 'Frozen', 'changing'],
    [112, 'Error', 'error'],
    [999, 'Something new', 'changing'],
  ])('map status %i (%s) to %s', (code, status, power) => {
    expect(viewOf(settled(shown({ status_code: code, status })), node, settings)).toMatchObject({ power });
  });

  it('report an instance without the ready mark as changing', () => {
    expect(viewOf(settled(halfMade()), node, settings)).toMatchObject({ power: 'changing' });
  });

  it('report a stopped instance with an operation in progress as changing', () => {
    const stopped = { status_code: 102, status: 'Stopped' };
    const view = viewOf({ instance: shown(stopped), isUnderWay: true }, node, settings);
    expect(view).toMatchObject({ power: 'changing', detail: 'being started' });
  });

  it('report the assigned private addresses, whatever the tenant configures inside', () => {
    const address = (text: string) => ({
      type: 'broadcast',
      addresses: [{ address: text, scope: 'global' }],
    });
    const network = { docker0: address('172.17.0.1'), eth0: address('10.92.0.120') };
    const state = { status_code: 103, network };
    const view = viewOf(settled(shown({ state })), node, settings);
    expect(view?.privateIps).toEqual(['10.20.0.7', 'fd42:64:0:0:1266:6aff:fe14:7']);
    // Created by a version that assigned no addresses.
    const older = shown({ state, devices: { eth0: { type: 'nic', network: 'bridge0' } } });
    expect(viewOf(settled(older), node, settings)?.privateIps).toEqual(['10.92.0.120', '172.17.0.1']);
  });

  it('report a nic as unfiltered while any filter is missing', () => {
    const isUnfiltered = (devices: IncusInstance['devices']) =>
      viewOf(settled(shown({ devices })), node, settings)?.isUnfiltered;
    expect(isUnfiltered({ eth0: nic })).toBeUndefined();
    expect(isUnfiltered({})).toBeUndefined();
    expect(isUnfiltered({ eth0: { type: 'nic', network: 'bridge0' } })).toBe(true);
    expect(isUnfiltered({ eth0: { ...nic, 'security.mac_filtering': 'false' } })).toBe(true);
  });

  it('return null for instances of other owners', () => {
    expect(viewOf(settled(shown()), node, { ...settings, owner: 'staging' })).toBeNull();
    expect(viewOf(settled(shown({ name: 'web' })), node, settings)).toBeNull();
    expect(viewOf(settled(shown({ project: 'default' })), node, settings)).toBeNull();
  });

  it('distinguish an unreachable member from a broken machine', () => {
    expect(isUnreachable(shown({ status_code: 112, config: null, devices: null }))).toBe(true);
    expect(isUnreachable(shown({ status_code: 112 }))).toBe(false);
  });

  it('compare node, GPUs, size, image, mode and organisation with the spec, and nothing more', () => {
    expect(differenceFromSpec(shown(), spec, 'm2')).toBeNull();
    expect(
      differenceFromSpec(shown(), { ...spec, hostname: 'other', ports: [], labels: {} }, 'm2'),
    ).toBeNull();
    const others: readonly Partial<MachineSpec>[] = [
      { nodeName: 'm3' },
      { gpuPciAddresses: ['0000:81:00.0'] },
      { cpuCount: 5 },
      { ramMb: 2_049 },
      { diskGb: 21 },
      { image: 'ubuntu/22.04' },
      { mode: 'test' },
      { orgId: ids.next('org') },
    ];
    for (const other of others)
      expect(differenceFromSpec(shown(), { ...spec, ...other }, 'm2')).not.toBeNull();
  });

  it('treat an instance as never started only if it never ran and is not ready', () => {
    const never = { status_code: 102, last_used_at: '1970-01-01T00:00:00Z' };
    expect(isNeverStarted(halfMade(never))).toBe(true);
    expect(isNeverStarted(halfMade({ status_code: 102 }))).toBe(false);
    expect(isNeverStarted(halfMade({ ...never, status_code: 103 }))).toBe(false);
    expect(isNeverStarted(shown(never))).toBe(false);
    const started = halfMade(never);
    const config = { ...started.config, 'volatile.last_state.power': 'RUNNING' };
    expect(isNeverStarted({ ...started, config })).toBe(false);
  });

  it('never throw, whatever an engine returns', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const parsed = instanceSchema.safeParse(value);
        if (parsed.success) viewOf(settled(parsed.data), node, settings);
      }),
    );
    const broken = fc.record(
      {
        name: fc.constant(`mr-${spec.externalId}`),
        project: fc.constant(projectName(spec.orgId)),
        status: fc.string(),
        status_code: fc.oneof(fc.integer(), fc.double()),
        created_at: fc.string(),
        config: fc.oneof(
          fc.dictionary(fc.string(), fc.string()),
          fc.constant({ [configKeys.owner]: 'millrace' }),
        ),
        devices: fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.string())),
      },
      { requiredKeys: ['name', 'project', 'status', 'status_code'] },
    );
    fc.assert(
      fc.property(broken, (value) => {
        const parsed = instanceSchema.safeParse(value);
        if (!parsed.success) return;
        const view = viewOf(settled(parsed.data), node, settings);
        if (view?.createdAt) expect(Number.isNaN(view.createdAt.getTime())).toBe(false);
      }),
    );
  });
});

describe('metricsOf', () => {
  const at = new Date('2026-11-15T06:46:23Z');
  const running = {
    status: 'Running',
    status_code: 103,
    cpu: { allocated_time: 1_000_000_000, usage: 8_736_624 },
    disk: { root: { total: 1_073_741_824, usage: 16_384 } },
    memory: { swap_usage: 0, total: 67_108_864, usage: 2_748_416 },
    network: {
      eth0: {
        type: 'broadcast',
        addresses: [{ address: '10.92.0.120', family: 'inet', netmask: '24', scope: 'global' }],
        counters: { bytes_received: 696, bytes_sent: 954 },
      },
      lo: { type: 'loopback', addresses: [], counters: { bytes_received: 934, bytes_sent: 934 } },
    },
  };

  it('returns measured values without the loopback, and null for GPUs', () => {
    expect(metricsOf(stateSchema.parse(running), at)).toEqual({
      at,
      cpuSeconds: 0.008736624,
      ramUsedBytes: 2_748_416,
      diskUsedBytes: 16_384,
      networkInBytes: 696,
      networkOutBytes: 954,
      gpus: null,
    });
  });

  it('returns null for unmeasured values of a VM without agent, for which Incus reports 0', () => {
    const { network } = running;
    const vm = { status_code: 103, cpu: { usage: 0 }, memory: { usage: 0 }, disk: null, network };
    expect(metricsOf(stateSchema.parse(vm), at)).toMatchObject({
      cpuSeconds: null,
      ramUsedBytes: null,
      diskUsedBytes: null,
      networkInBytes: 696,
    });
  });

  it('returns null for a machine that is off, for which Incus reports 0', () => {
    const off = { ...running, status_code: 102, cpu: { usage: 0 }, memory: { usage: 0 }, network: null };
    expect(metricsOf(stateSchema.parse(off), at)).toMatchObject({
      cpuSeconds: null,
      ramUsedBytes: null,
      networkInBytes: null,
      networkOutBytes: null,
    });
  });
});
