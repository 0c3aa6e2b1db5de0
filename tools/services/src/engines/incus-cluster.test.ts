import { expect, test } from 'vitest';

import { portSpan } from '../site.ts';
import { containerCgroups } from './incus-cgroups.ts';
import { gpusOf, renderContainerCli, simulatedGpus } from './incus-gpus.ts';
import { memberAddress, siteBridge } from './incus-namespaces.ts';
import { librariesIn } from './incus-image.ts';

const members = ['incus-1', 'incus-2', 'incus-3'];

test('gpusOf: returns eight GPUs per member, four per NUMA node, with distinct PCI addresses', () => {
  const gpus = gpusOf(17_400, 'incus-1');
  expect(gpus.map(({ minor }) => minor)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(gpus.map(({ numaNode }) => numaNode)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  expect(new Set(gpus.map(({ pciAddress }) => pciAddress)).size).toBe(8);
  for (const { pciAddress } of gpus) expect(pciAddress).toMatch(/^0000:[0-9a-f]{2}:00\.0$/u);
});

test('gpusOf: returns stable UUIDs that differ between members and sites', () => {
  const uuids = [17_400, 17_500].flatMap((base) =>
    members.flatMap((name) => gpusOf(base, name).map(({ uuid }) => uuid)),
  );
  expect(new Set(uuids).size).toBe(48);
  expect(gpusOf(17_400, 'incus-1').map(({ uuid }) => uuid)).toEqual(uuids.slice(0, 8));
  for (const uuid of uuids) expect(uuid).toMatch(/^GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
});

test('renderContainerCli: marks each GPU as simulated', () => {
  const [first] = gpusOf(17_400, 'incus-1');
  const lines = renderContainerCli(gpusOf(17_400, 'incus-1')).split('\n');
  expect(lines).toContain(`0,0,${simulatedGpus.model},Simulated,${first?.uuid},0000:1b:00.0,9.0`);
  expect(lines.filter((line) => line.includes(',Simulated,'))).toHaveLength(8);
  expect(lines).toContain('550.54.15-simulated,12.4');
});

test('siteBridge: gives concurrent sites distinct bridges and networks', () => {
  const bases = Array.from({ length: 316 }, (_, index) => 1024 + index * portSpan);
  const wires = bases.map(siteBridge);
  expect(new Set(wires.map(({ prefix }) => prefix)).size).toBe(bases.length);
  for (const { bridge, prefix } of wires) {
    // A member's veth name is two characters longer, and the kernel allows 15.
    expect(bridge.length).toBeLessThanOrEqual(13);
    expect(prefix).toMatch(/^198\.1[89]\.\d{1,3}$/u);
  }
  expect(memberAddress(17_400, { name: 'incus-2', index: 2, ports: {} })).toBe('198.19.15.12');
});

test('containerCgroups: returns the cgroups of containers only', () => {
  const text = [
    '12:pids:/lxc.payload.probe-1',
    '5:cpu,cpuacct:/lxc.payload.probe-1/init.scope',
    '1:name=systemd:/user.slice/lxc.monitor.probe-1',
    '0::/user.slice/session.scope',
    '',
  ].join('\n');
  expect(containerCgroups(text)).toEqual(['/lxc.payload.probe-1', '/user.slice/lxc.monitor.probe-1']);
  expect(containerCgroups('0::/lxc.pivot\n')).toEqual([]);
});

test('librariesIn: returns the found libraries and the loader', () => {
  const text = [
    '\tlinux-vdso.so.1 (0x00007ffc)',
    '\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)',
    '\tlibgone.so => not found',
  ].join('\n');
  expect(librariesIn(text)).toEqual(['/lib/x86_64-linux-gnu/libz.so.1', '/lib64/ld-linux-x86-64.so.2']);
});
