import type { MachineWish } from '@millrace/compute';
import { cudaImageOf, type ClusterRecord } from '../fleet/index.ts';
import { SSH_PORT } from './placing.ts';
import type { Rental, RentalMachine } from './rental.ts';

/** What is asked of the engine for a machine. */

/** The image of a cluster that names none: engines of ours always have one of this name. */
const FALLBACK_IMAGE = 'default';

export function imageOf(
  { image, cuda }: Pick<Rental, 'image' | 'cuda'>,
  { settings }: Pick<ClusterRecord, 'settings'>,
): string {
  const { defaultImage } = settings;
  const withCuda = cuda === null ? null : cudaImageOf(settings, cuda);
  return image ?? withCuda ?? (typeof defaultImage === 'string' ? defaultImage : FALLBACK_IMAGE);
}

/** Only SSH is open during the proof. */
export function proofPorts(machine: RentalMachine): MachineWish['ports'] {
  return machine.ports.filter(({ internalPort }) => internalPort === SSH_PORT);
}

/** Where the platform and the tenant log in. */
export function sshPortOf(machine: RentalMachine): number | null {
  return proofPorts(machine)[0]?.externalPort ?? null;
}

function hostnameOf({ toldAs, wireId, nodeCount }: Rental, { position }: RentalMachine): string {
  if (toldAs !== null) return toldAs.instanceId;
  return nodeCount === 1 ? `rental-${wireId}` : `rental-${wireId}-${position}`;
}

/** With the platform's key and nothing of the tenant's: that comes after the proof. */
export function wishOf(
  rental: Rental,
  machine: RentalMachine,
  more: { readonly image: string; readonly platformKey: string },
): MachineWish {
  return {
    externalId: machine.externalId,
    orgId: rental.orgId,
    mode: rental.mode,
    nodeName: machine.nodeName,
    gpuPciAddresses: machine.gpuAddresses,
    cpuCount: machine.cpuCount,
    ramMb: machine.ramMb,
    diskGb: machine.diskGb,
    image: more.image,
    hostname: hostnameOf(rental, machine),
    sshKeys: [more.platformKey],
    userData: null,
    ports: proofPorts(machine),
    labels: { ...rental.labels, 'millrace.rental': String(rental.wireId) },
  };
}
