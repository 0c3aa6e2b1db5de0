import { expect, test } from 'vitest';

import { portSpan } from '../site.ts';
import { containerCgroups } from './incus-cgroups.ts';
import { gpusOf, renderContainerCli, simulatedGpus } from './incus-gpus.ts';
import { memberAddress, siteBridge } from './incus-namespaces.ts';
import { librariesIn } from './incus-image.ts';

const members = ['incus-1', 'incus-2', 'incus-3'];

test('each member has eight GPUs, four on each NUMA node, at addresses of their own', () => {
  const gpus = gpusOf(17_400, 'incus-1');
  expect(gpus.map(({ minor }) => minor)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(gpus.map(({ numaNode }) => numaNode)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  expect(new Set(gpus.map(({ pciAddress }) => pciAddress)).size).toBe(8);
  for (const { pciAddress } of gpus) expect(pciAddress).toMatch(/^0000:[0-9a-f]{2}:00\.0$/u);
});

test('a GPU keeps its UUID, and shares it with no member of any site', () => {
  const uuids = [17_400, 17_500].flatMap((base) =>
    members.flatMap((name) => gpusOf(base, name).map(({ uuid }) => uuid)),
  );
  expect(new Set(uuids).size).toBe(48);
  expect(gpusOf(17_400, 'incus-1').map(({ uuid }) => uuid)).toEqual(uuids.slice(0, 8));
  for (const uuid of uuids) expect(uuid).toMatch(/^GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
});

test('what Incus is told about a GPU calls it simulated', () => {
  const [first] = gpusOf(17_400, 'incus-1');
  const lines = renderContainerCli(gpusOf(17_400, 'incus-1')).split('\n');
  expect(lines).toContain(`0,0,${simulatedGpus.model},Simulated,${first?.uuid},0000:1b:00.0,9.0`);
  expect(lines.filter((line) => line.includes(',Simulated,'))).toHaveLength(8);
  expect(lines).toContain('550.54.15-simulated,12.4');
});

test('sites that can run at the same time have wires and addresses of their own', () => {
  const bases = Array.from({ length: 316 }, (_, index) => 1024 + index * portSpan);
  const wires = bases.map(siteBridge);
  expect(new Set(wires.map(({ prefix }) => prefix)).size).toBe(bases.length);
  for (const { bridge, prefix } of wires) {
    // A member's cable has two more letters, and the kernel takes 15.
    expect(bridge.length).toBeLessThanOrEqual(13);
    expect(prefix).toMatch(/^198\.1[89]\.\d{1,3}$/u);
  }
  expect(memberAddress(17_400, { name: 'incus-2', index: 2, ports: {} })).toBe('198.19.15.12');
});

test('the cgroups of a container are told from those of everybody else', () => {
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

test('the libraries of a program are those that the loader names, and the loader', () => {
  const text = [
    '\tlinux-vdso.so.1 (0x00007ffc)',
    '\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)',
    '\tlibgone.so => not found',
  ].join('\n');
  expect(librariesIn(text)).toEqual(['/lib/x86_64-linux-gnu/libz.so.1', '/lib64/ld-linux-x86-64.so.2']);
});
