import { createIdSource } from '@millrace/platform/ids';
import { testClock } from '@millrace/testing';
import type { Rental, RentalMachine, RentalView } from './model/rental.ts';

/** Rentals and machines as plain values, for unit tests of pure decisions. */

const ids = createIdSource({ clock: testClock(), cell: 1 });
export const orgId = ids.next('org');
export const rentalId = ids.next('rnt');
const clusterId = ids.next('cls');

/** 2026-01-01T00:00:00Z plus `ms`. */
export const at = (ms: number): Date => new Date(Date.UTC(2026, 0, 1) + ms);

export function rentalWith(fields: Partial<Rental> = {}): Rental {
  return {
    id: rentalId,
    wireId: 1042,
    orgId,
    mode: 'live',
    kind: 'virtual-machine',
    userId: ids.next('usr'),
    keyId: null,
    providerId: 'provider-v8',
    region: 'us-central-1',
    gpuType: 'h100',
    gpusPerNode: 2,
    nodeCount: 1,
    gpuCount: 2,
    connectionType: 'ethernet',
    cuda: null,
    name: null,
    label: null,
    tags: {},
    image: null,
    userData: null,
    sshKeys: ['ssh-ed25519 AAAA tenant'],
    customPorts: [],
    labels: {},
    monitoring: false,
    convertOnExpiry: true,
    diskPrice: null,
    supplier: null,
    publicIdentity: null,
    privateCloud: null,
    status: 'Pending',
    statusReason: null,
    statusSince: at(0),
    task: 'provision',
    taskOptions: {},
    taskDeadlineAt: at(600_000),
    power: 'changing',
    gpuHeld: true,
    attempt: 1,
    firstAttempt: 1,
    allocationId: ids.next('alc'),
    unhealthySince: null,
    billingPausedAt: null,
    createdAt: at(0),
    updatedAt: null,
    startedAt: null,
    endAcceptedAt: null,
    endedAt: null,
    endReason: null,
    expiresAt: null,
    maxNanoUsd: null,
    idle: null,
    expiryNotifiedAt: null,
    nextActionAt: at(0),
    deadlineAt: at(900_000),
    transitions: 1,
    steps: 0,
    version: 1,
    ...fields,
  };
}

export const running = (fields: Partial<Rental> = {}): Rental =>
  rentalWith({
    status: 'Running',
    task: null,
    taskDeadlineAt: null,
    power: 'on',
    startedAt: at(0),
    ...fields,
  });

export function machineWith(fields: Partial<RentalMachine> = {}): RentalMachine {
  return {
    rentalId,
    attempt: 1,
    position: 1,
    orgId,
    mode: 'live',
    externalId: ids.nextUuid(),
    allocationId: ids.next('alc'),
    clusterId,
    nodeId: ids.next('nod'),
    nodeName: 'node-1',
    gpuAddresses: ['0000:17:00.0', '0000:18:00.0'],
    ports: [{ internalPort: 22, externalPort: 20_000, protocol: 'tcp' }],
    cpuCount: 48,
    ramMb: 512_000,
    diskGb: 7_000,
    state: 'wanted',
    proofKey: null,
    address: null,
    privateIp: null,
    sshUser: null,
    hostKey: null,
    starting: false,
    cutAt: null,
    absentSeen: 0,
    confirmedDeletedAt: null,
    tries: 0,
    nextTryAt: null,
    terminatingSince: null,
    lastError: null,
    ...fields,
  };
}

export const viewOf = (rental: Rental, ...machines: RentalMachine[]): RentalView => ({
  rental,
  machines,
  terms: [],
});
