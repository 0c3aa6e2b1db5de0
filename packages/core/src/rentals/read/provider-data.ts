import type { ProviderData, ProviderDataOf, ProviderVariant } from '@millrace/contract';
import { toUuid } from '@millrace/platform/ids';
import { divideWithRemainder } from '@millrace/platform/money';
import { MB_PER_GB } from '../../fleet/index.ts';
import type { RentalRecord, MachineSummary } from './rental-record.ts';
import { type PrivateCloud, type PrivateCloudNode, SSH_PORT } from '../model/rental.ts';

/** Builds `providerData` of a rental in the closed schema of its provider's variant. Pure. */

export function gbOf(mb: number): number {
  return divideWithRemainder(mb, MB_PER_GB)[0];
}

export const UNKNOWN_CPU = 'unknown';

/** SSH endpoint of a machine. Null before the hand-over and after the tenant was disconnected. */
export interface SshAccess {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hostKey: string | null;
}

export function sshAccessOf(machine: MachineSummary): SshAccess | null {
  const ssh = machine.ports.find(({ internalPort }) => internalPort === SSH_PORT);
  const { state, address: host, sshUser: user, hostKey } = machine;
  if (state !== 'open' || host === null || user === null || ssh === undefined) return null;
  return { host, port: ssh.externalPort, user, hostKey };
}

/** Open custom ports. */
export function openPortsOf(
  machine: MachineSummary,
): readonly { readonly host: string; readonly externalPort: number; readonly internalPort: number }[] {
  const { state, address: host } = machine;
  if (state !== 'open' || host === null) return [];
  return machine.ports
    .filter(({ internalPort }) => internalPort !== SSH_PORT)
    .map(({ externalPort, internalPort }) => ({ host, externalPort, internalPort }));
}

function totalSizesOf({ machines }: RentalRecord) {
  const sum = (amountOf: (machine: MachineSummary) => number): number =>
    machines.reduce((total, machine) => total + amountOf(machine), 0);
  return {
    cpuModel: machines[0]?.cpuModel ?? UNKNOWN_CPU,
    gpuCount: sum(({ gpuAddresses }) => gpuAddresses.length),
    ramGb: sum(({ ramMb }) => gbOf(ramMb)),
    storageGb: sum(({ diskGb }) => diskGb),
    cpus: sum(({ cpuCount }) => cpuCount),
  };
}

/** Fields of every variant. Unknown and outdated values are omitted. */
function commonData({ rental, machines }: RentalRecord) {
  const accesses = machines.flatMap((machine) => sshAccessOf(machine) ?? []);
  const reachable = machines.flatMap(({ state, address, privateIp }) =>
    state === 'open' && address !== null && privateIp !== null ? [{ publicIp: address, privateIp }] : [],
  );
  const gpuFormFactor = machines[0]?.gpuFormFactor ?? null;
  return {
    providerId: rental.providerId,
    ...(machines[0] === undefined ? {} : { externalId: machines[0].externalId }),
    ...(accesses.length === 0
      ? {}
      : { sshNetworking: accesses.map(({ host, port, user }) => ({ host, port, user })) }),
    ...(reachable.length === 0 ? {} : { nodeNetworking: reachable }),
    networkType: rental.connectionType,
    ...(gpuFormFactor === null ? {} : { gpuFormFactor }),
  };
}

type Builders = { readonly [Variant in ProviderVariant]: (record: RentalRecord) => ProviderDataOf<Variant> };

function resourcesInVcpus(record: RentalRecord) {
  const { cpus, ...sizes } = totalSizesOf(record);
  return { ...sizes, vcpuCount: cpus };
}

function resourcesInCpus(record: RentalRecord) {
  const { cpus, ...sizes } = totalSizesOf(record);
  return { ...sizes, cpuCount: cpus };
}

/** For variants with both fields: bare metal has CPUs, virtual machines have vCPUs. */
function resourcesByKind(record: RentalRecord) {
  return record.rental.kind === 'bare-metal' ? resourcesInCpus(record) : resourcesInVcpus(record);
}

const providerDataInVcpus = (record: RentalRecord) => ({
  ...commonData(record),
  resources: resourcesInVcpus(record),
});

function withCustomPorts(record: RentalRecord) {
  const { customPorts } = record.rental;
  return customPorts.length === 0 ? {} : { customPorts: [...customPorts] };
}

function portForwardsOf({ machines }: RentalRecord) {
  const forwards = machines.flatMap((machine) =>
    machine.state === 'open'
      ? machine.ports.map(({ externalPort, internalPort }) => ({ externalPort, internalPort }))
      : [],
  );
  return forwards.length === 0 ? {} : { portForwards: forwards };
}

/** Shown as the operator entered it; other properties are unknown. */
function declaredPrivateCloud(record: RentalRecord, cloud: PrivateCloud): ProviderDataOf<'private-cloud'> {
  const { rental } = record;
  const { nodes, sshUser, sshPort, gpuModel, location } = cloud;
  const loginNodes = rental.status === 'Running' ? nodes.filter(isLoginNode) : [];
  const hosts = loginNodes.map(({ publicIp, hostname, privateIp: own }) => publicIp ?? hostname ?? own);
  return {
    providerId: rental.providerId,
    externalId: toUuid(rental.id),
    ...(hosts.length === 0
      ? {}
      : { sshNetworking: hosts.map((host) => ({ host, port: sshPort, user: sshUser })) }),
    resources: { cpuModel: UNKNOWN_CPU, gpuCount: rental.gpuCount, ramGb: 0, storageGb: 0, cpuCount: 0 },
    ...(gpuModel === null ? {} : { gpuModel }),
    ...(location === null ? {} : { location }),
    nodes: nodes.map(({ role, hostname, publicIp, privateIp }) => ({
      role,
      ...(hostname === null ? {} : { hostname }),
      ...(publicIp === null ? {} : { publicIp }),
      privateIp,
    })),
    sshUser,
    sshPort,
  };
}

/** If there are login nodes, tenants log in only there. */
function isLoginNode({ role }: PrivateCloudNode, _: number, nodes: readonly PrivateCloudNode[]): boolean {
  return role === 'login' || nodes.every((node) => node.role !== 'login');
}

function privateCloudOf(record: RentalRecord): ProviderDataOf<'private-cloud'> {
  const { machines, rental } = record;
  if (rental.privateCloud !== null) return declaredPrivateCloud(record, rental.privateCloud);
  const access = machines.map(sshAccessOf).find((found) => found !== null);
  return {
    ...commonData(record),
    resources: resourcesByKind(record),
    nodes: machines.flatMap(({ state, address, privateIp }) =>
      state === 'open' && privateIp !== null
        ? [{ role: 'compute' as const, ...(address === null ? {} : { publicIp: address }), privateIp }]
        : [],
    ),
    // The interface requires a string here, also before a login is possible.
    sshUser: access?.user ?? '',
    ...(access == null ? {} : { sshPort: access.port }),
  };
}

const builders: Builders = {
  V1: providerDataInVcpus,
  V2: (record) => ({ ...commonData(record), resources: resourcesByKind(record), ...portForwardsOf(record) }),
  V3: (record) => ({ ...commonData(record), resources: resourcesInCpus(record) }),
  V4: providerDataInVcpus,
  V5: providerDataInVcpus,
  V6: providerDataInVcpus,
  V7: providerDataInVcpus,
  V8: (record) => ({ ...commonData(record), resources: resourcesByKind(record), ...withCustomPorts(record) }),
  'private-cloud': privateCloudOf,
  mock: (record) => ({ ...providerDataInVcpus(record), ...withCustomPorts(record) }),
};

export function providerDataOf(record: RentalRecord): ProviderData {
  return builders[record.variant](record);
}
