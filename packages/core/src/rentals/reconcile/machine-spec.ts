import { DriverError, type MachineSpec } from '@millrace/compute';
import type { ReadinessKey } from '@millrace/compute/readiness';
import { imageForCuda, defaultImageName, tenantImages, type ClusterRecord } from '../../fleet/index.ts';
import { type Rental, type RentalMachine, SSH_PORT } from '../model/rental.ts';

/** Builds the spec of a machine for its engine. */

/** Throws if the cluster does not offer the image to tenants. The marketplace has already checked images of instances. */
export function imageOf(
  { kind, image, cuda }: Pick<Rental, 'kind' | 'image' | 'cuda'>,
  { settings }: Pick<ClusterRecord, 'settings'>,
): string {
  if (image !== null && kind !== 'instance' && !tenantImages(settings).includes(image))
    throw new DriverError('unsupported', `The cluster does not offer the image ${image}.`);
  const withCuda = cuda === null ? null : imageForCuda(settings, cuda);
  return image ?? withCuda ?? defaultImageName(settings);
}

/** Only SSH is open during the readiness check. */
export function verificationPorts(machine: RentalMachine): MachineSpec['ports'] {
  return machine.ports.filter(({ internalPort }) => internalPort === SSH_PORT);
}

export function sshPortOf(machine: RentalMachine): number | null {
  return verificationPorts(machine)[0]?.externalPort ?? null;
}

function hostnameOf({ publicIdentity, wireId, nodeCount }: Rental, { position }: RentalMachine): string {
  if (publicIdentity !== null) return publicIdentity.instanceId;
  return nodeCount === 1 ? `rental-${wireId}` : `rental-${wireId}-${position}`;
}

/** Contains the readiness key and nothing of the tenant, whose keys and user data follow with the hand-over. */
export function machineSpecOf(
  rental: Rental,
  machine: RentalMachine,
  more: { readonly image: string; readonly key: ReadinessKey },
): MachineSpec {
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
    sshKeys: [more.key.publicKey],
    hostKey: { privateKey: more.key.hostKey.privateKey, publicKey: more.key.hostKey.publicKey },
    userData: null,
    ports: verificationPorts(machine),
    labels: { ...rental.labels, 'millrace.rental': String(rental.wireId) },
  };
}
