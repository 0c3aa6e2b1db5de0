import type { PortMapping } from '../driver.ts';
import type { IncusDevices } from './api/schemas.ts';
import type { InstanceType } from './incus-settings.ts';

// Converts ports to proxy devices and back. Incus starts these devices one after the other and takes a second for each, so one
// per port would delay a machine with forty ports by most of a minute. A device with several ports restarts as a whole when its
// list changes and breaks its connections. Therefore SSH has its own device, and ports that are opened together share one per
// protocol.

type Device = Readonly<Record<string, string>>;

const sshPort = 22;
const listPattern = /^(tcp|udp):(.+):([0-9,-]{1,4096})$/;
/** A machine has at most 256 ports; an operator may have added more by hand. */
const maxPorts = 4_096;

export function isPort(device: Device): boolean {
  return device['type'] === 'proxy';
}

/** Ports and nics. */
export function isAccess(device: Device): boolean {
  return isPort(device) || device['type'] === 'nic';
}

/** Expands a list such as `80,90-92`; null if it is invalid. */
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

/** Empty for a device that is not a valid port. */
function mappingsOf(device: Device): PortMapping[] {
  const listen = listPattern.exec(device['listen'] ?? '');
  const connect = listPattern.exec(device['connect'] ?? '');
  if (!isPort(device) || listen === null || connect === null) return [];
  const [outside, inside] = [expand(listen[3] ?? ''), expand(connect[3] ?? '')];
  // Several external ports may map to one internal port.
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

/** Returns the devices for these ports. Devices of `current` that need no change are kept, so that their connections continue. */
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

/** Incus connects to a container's loopback, and to a VM's assigned address by NAT. */
function deviceFor(group: readonly PortMapping[], listenAddress: string, instanceType: InstanceType): Device {
  const protocol = group[0]?.protocol ?? 'tcp';
  const outside = group.map(({ externalPort }) => externalPort).join(',');
  const inside = group.map(({ internalPort }) => internalPort).join(',');
  const listen = `${protocol}:${hostText(listenAddress)}:${outside}`;
  return instanceType === 'container'
    ? { type: 'proxy', listen, connect: `${protocol}:127.0.0.1:${inside}` }
    : { type: 'proxy', listen, connect: `${protocol}:0.0.0.0:${inside}`, nat: 'true' };
}
