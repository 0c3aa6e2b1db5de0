import type { PortMapping } from '../driver.ts';
import type { IncusDevices } from './api/schemas.ts';
import type { InstanceType } from './incus-settings.ts';

// Ports as proxy devices and back. Incus starts such devices one after the other and takes a second for each, so that a
// device for every port would make a machine with forty of them wait for most of a minute. One device can carry a list of
// ports, but is restarted whole, with what runs through it, when its list changes. So SSH has a device of its own, and
// ports that are opened together share one for each protocol.

type Device = Readonly<Record<string, string>>;

const sshPort = 22;
const listPattern = /^(tcp|udp):(.+):([0-9,-]{1,4096})$/;
/** A machine has at most 256 ports; what an operator added by hand may be more, but not without end. */
const maxPorts = 4_096;

export function isPort(device: Device): boolean {
  return device['type'] === 'proxy';
}

/** Ways in and out: the ports, and the network itself. */
export function isAccess(device: Device): boolean {
  return isPort(device) || device['type'] === 'nic';
}

/** The ports in a list such as `80,90-92`; null if it is not one. */
function expand(list: string): number[] | null {
  const ports: number[] = [];
  for (const part of list.split(',')) {
    const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
    const from = Number(first);
    const to = last === undefined ? from : Number(last);
    if (!(from >= 1 && to >= from && to <= 65_535) || ports.length + to - from >= maxPorts) return null;
    for (let port = from; port <= to; port += 1) ports.push(port);
  }
  return ports;
}

/** What one device leads where; nothing for a device that is no port or makes no sense. */
function mappingsOf(device: Device): PortMapping[] {
  const listen = listPattern.exec(device['listen'] ?? '');
  const connect = listPattern.exec(device['connect'] ?? '');
  if (!isPort(device) || listen === null || connect === null) return [];
  const [outside, inside] = [expand(listen[3] ?? ''), expand(connect[3] ?? '')];
  // Many ports may lead to one.
  if (outside === null || inside === null || ![1, outside.length].includes(inside.length)) return [];
  const protocol: PortMapping['protocol'] = listen[1] === 'udp' ? 'udp' : 'tcp';
  return outside.map((externalPort, index) => ({
    internalPort: inside[index] ?? inside[0] ?? externalPort,
    externalPort,
    protocol,
  }));
}

export function portsOf(devices: IncusDevices): PortMapping[] {
  return Object.values(devices)
    .flatMap(mappingsOf)
    .toSorted(
      (a, b) =>
        a.internalPort - b.internalPort ||
        a.externalPort - b.externalPort ||
        (a.protocol < b.protocol ? -1 : 1),
    );
}

const idOf = ({ protocol, externalPort, internalPort }: PortMapping): string =>
  `${protocol} ${externalPort} ${internalPort}`;

/**
 * The devices for these ports. Those of `current` that lead nowhere else are kept as they are, so that what runs through
 * them goes on; the rest of the ports are opened together.
 */
export function portDevices(
  current: IncusDevices,
  ports: readonly PortMapping[],
  listenAddress: string,
  instanceType: InstanceType,
): IncusDevices {
  const missing = new Map(ports.map((port) => [idOf(port), port]));
  const retained: Record<string, Device> = {};
  for (const [name, device] of Object.entries(current)) {
    const mappings = mappingsOf(device);
    const stays = mappings.length > 0 && mappings.every((mapping) => missing.has(idOf(mapping)));
    const isOwn = device['listen']?.includes(`:${hostText(listenAddress)}:`) ?? false;
    if (!stays || !isOwn) continue;
    retained[name] = device;
    for (const mapping of mappings) missing.delete(idOf(mapping));
  }
  const groups = Map.groupBy(missing.values(), ({ protocol, internalPort }) =>
    protocol === 'tcp' && internalPort === sshPort ? 'ssh' : protocol,
  );
  const added = [...groups].map(([kind, group]) => {
    const first = group[0]?.externalPort ?? 0;
    return [`port-${kind}-${first}`, deviceFor(group, listenAddress, instanceType)] as const;
  });
  return { ...retained, ...Object.fromEntries(added) };
}

function hostText(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** A container is entered through its own loopback, a VM only through its address, which Incus then knows. */
function deviceFor(group: readonly PortMapping[], listenAddress: string, instanceType: InstanceType): Device {
  const protocol = group[0]?.protocol ?? 'tcp';
  const outside = group.map(({ externalPort }) => externalPort).join(',');
  const inside = group.map(({ internalPort }) => internalPort).join(',');
  const listen = `${protocol}:${hostText(listenAddress)}:${outside}`;
  return instanceType === 'container'
    ? { type: 'proxy', listen, connect: `${protocol}:127.0.0.1:${inside}` }
    : { type: 'proxy', listen, connect: `${protocol}:0.0.0.0:${inside}`, nat: 'true' };
}
